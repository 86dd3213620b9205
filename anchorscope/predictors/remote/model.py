"""The function from texts to rows that asks a server, and the predictor that is made of it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import weakref
import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from anchorscope.asking.answers import batches, brief, shortened
from anchorscope.asking.optional import needed
from anchorscope.errors import AnchorscopeError, InputError, ModelError, clipped
from anchorscope.predictors.encoding import well_formed
from anchorscope.predictors.function import FunctionPredictor
from anchorscope.predictors.labels import given_names
from anchorscope.predictors.options import ModelOptions
from anchorscope.predictors.remote.connection import Answer, Connection, UnreadableAnswer, largest_answer
from anchorscope.predictors.remote.forms import Form, WrongCountError, make_form
from anchorscope.predictors.remote.key import Key
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.predictors.remote.refusals import (
    QUOTED,
    RemoteFailure,
    TooLarge,
    checked_answer,
    other_schema,
    refused_by_proxy,
)
from anchorscope.predictors.remote.traffic import Traffic, close_all
from anchorscope.text.pairs import is_pair
from anchorscope.types import Predictor

CALLS_AT_ONCE = 32
"""Requests that are handed over at once, a task: answers are written down at least so often."""

SECRET = re.compile(r"key|token|secret|passw|sig(nature)?$", re.IGNORECASE)


def from_url(url: str, options: ModelOptions) -> Predictor:
    """The predictor for a model behind an address."""
    remote = options.remote or RemoteOptions()
    labels = None if options.labels is None else given_names(options.labels)
    model = RemoteModel(checked_url(url), make_form(remote, labels), remote)
    described = json.dumps([url, model.form.body(["{text}"]), remote.answer], sort_keys=True)
    return FunctionPredictor(
        model,
        labels,
        name=model.where,
        fingerprint=sha256(described.encode()).hexdigest(),
        at_once=model.at_once,
        learn_from=options.learn_from,
        retry=options.retry,
        max_seconds=options.max_seconds,
        heard=options.heard,
        head=options.head,
    )


class RemoteModel:
    """Texts to rows, each text once; what failed has an exception in place of its row."""

    is_remote = True

    def __init__(self, url: str, form: Form, options: RemoteOptions) -> None:
        httpx = needed("httpx", "http", "a model behind HTTP")
        try:
            httpx.URL(url)
        except (httpx.InvalidURL, ValueError) as error:
            raise InputError(
                f"{shortened(url)} is no address ({error}); write it as in http://localhost:8080/predict."
            ) from error
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it tells of every request
        self.where = url.partition("?")[0]
        self.form = form
        self._url = url
        self._options = options
        self._texts_a_request = form.at_once
        self._traffic = Traffic(options.concurrency)
        self._clients: dict[int, Any] = {}
        self._certificates: Any = None
        self._has_answered = False
        self.n_tokens = 0

    @property
    def at_once(self) -> int:
        """Texts that it is best asked about together."""
        return CALLS_AT_ONCE * self._options.concurrency * self.form.at_once

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_clients": {}, "_certificates": None}  # they hold the key, and belong to one loop

    def __call__(self, texts: list[str]) -> list[Any]:
        """A row a text, or the exception with which asking about it failed."""
        if not self.form.reads_pairs and any(map(is_pair, texts)):
            raise ModelError(
                f"{self.where} is asked in a form that sends one text, and these are pairs; write the request "
                'yourself: --request \'{"premise": "{first}", "hypothesis": "{second}"}\' --answer PATH.'
            )
        requests = list(batches([*map(well_formed, texts)], self._texts_a_request))
        found = self._traffic.all_answers(requests, self._send)
        rows: list[Any] = []
        for request, answer in zip(requests, found):
            rows.extend([answer] * len(request) if isinstance(answer, Exception) else answer)
        return rows

    async def _send(self, texts: Sequence[str], task: int) -> list[Any]:
        """One request and its rows."""
        key = Key.from_environment(self._options)
        body = self.form.body(texts)
        is_text = isinstance(body, str)
        written = body if is_text else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        kind = "text/plain; charset=utf-8" if is_text else "application/json"
        client = self._clients.get(task) or self._connected(task, key)
        try:
            asked = client.post(written.encode("utf-8", "replace"), kind, largest_answer(len(texts)))
            answer = await asyncio.wait_for(asked, self._options.timeout)
        except asyncio.TimeoutError:
            raise RemoteFailure(f"no answer within {self._options.timeout:g} seconds") from None
        except UnreadableAnswer as error:
            told = clipped(key.masked(str(error)), QUOTED)
            raise ModelError(f"An answer of {self.where} {told}; is this the address of the API?") from None
        except zlib.error as error:
            raise RemoteFailure(f"the answer cannot be unpacked ({error})") from None
        except Exception as error:
            raise self._failure(error, key) from None  # what it holds may hold the key
        return self._read(answer, texts, key)

    def _read(self, came: Answer, texts: Sequence[str], key: Key) -> list[Any]:
        try:
            answer = checked_answer(came, self.where, key)
        except TooLarge:
            if len(texts) > 1:
                self._texts_a_request = max(1, min(self._texts_a_request, len(texts) // 2))
            raise
        self.n_tokens += tokens_told(answer)
        try:
            rows = self.form.rows(answer, texts)
        except AnchorscopeError:
            raise
        except WrongCountError as error:
            raise ModelError(
                f"{self.where} answered {error.n_rows} rows for {len(texts)} texts; expected one for each text, in "
                "their order: with --batch-size 1 each is asked by itself."
            ) from None
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            raise other_schema(answer, self.form.expected, self.where, key) from None
        self._has_answered = True
        return rows

    def _failure(self, error: Exception, key: Key) -> Exception:
        """A connection that failed: the address is wrong if none ever was made."""
        import httpx

        told = key.masked(brief(error))
        if isinstance(error, httpx.LocalProtocolError):
            return ModelError(
                f"What {self.where} is asked cannot be sent ({told}); is --key-header the name of a header for keys?"
            )
        if isinstance(error, httpx.ProxyError) and str(error).startswith("407"):
            return refused_by_proxy(self.where, told)
        is_of_connection = not isinstance(error, httpx.TransportError) or isinstance(error, httpx.ConnectError)
        if is_of_connection and not self._has_answered:
            return ModelError(
                f"{self.where} cannot be reached ({told}); is the server running, and are host, port and certificate "
                "right?"
            )
        return RemoteFailure(f"the connection failed ({told})")

    def _connected(self, task: int, key: Key) -> Any:
        """A connection with the key in its headers.

        Each task has its own: a pool of many looks at all of them for every request.
        """
        import httpx

        try:
            if self._certificates is None:
                self._certificates = httpx.create_ssl_context()
        except OSError as error:
            named = [f"{name}={os.environ[name]}" for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if name in os.environ]
            raise ModelError(
                f"The certificates that the environment names ({shortened(' '.join(named))}) cannot be read "
                f"({brief(error)}); name others there, or none."
            ) from None
        try:
            client = Connection(self._url, key.headers, self._certificates)
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise ModelError(
                "The proxy that the environment names (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) cannot be used "
                f"({brief(error)}); name another there, or none."
            ) from None
        if not self._clients:
            weakref.finalize(self, close_all, self._clients)
        self._clients[task] = client
        return client


MOST_TOKENS = 10**9
"""Tokens of one answer: a server that tells of more cannot be believed."""


def tokens_told(answer: Any) -> int:
    """The tokens that an answer says it took, where it says so as OpenAI does.

    >>> tokens_told({"usage": {"total_tokens": 20}}), tokens_told([{"label": "good"}])
    (20, 0)
    >>> tokens_told({"usage": {"total_tokens": 10**4200}})
    0
    """
    usage = answer.get("usage") if isinstance(answer, dict) else None
    told = usage.get("total_tokens") if isinstance(usage, dict) else None
    return told if isinstance(told, int) and 0 < told <= MOST_TOKENS else 0


def checked_url(url: str) -> str:
    """The address, if it can be written down: it holds no password and no key.

    >>> checked_url("https://user:password@host/predict")
    Traceback (most recent call last):
    anchorscope.errors.InputError: The address of a model is written down with the run, and this one holds a password; \
put it into the environment: ANCHORSCOPE_KEY=… (--key-variable, --key-header).
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - looked at when it is asked for
    except ValueError as error:
        raise InputError(
            f"{shortened(url)} is no address ({error}); write it as in http://localhost:8080/predict."
        ) from error
    held = "a password" if parts.username or parts.password else None
    for name, _ in parse_qsl(parts.query):
        held = f"the key {name!r}" if SECRET.search(name) else held
    if held:
        raise InputError(
            f"The address of a model is written down with the run, and this one holds {held}; "
            "put it into the environment: ANCHORSCOPE_KEY=… (--key-variable, --key-header)."
        )
    if not parts.hostname:
        raise InputError(f"{shortened(url)} names no host; write it as in http://localhost:8080/predict.")
    return url

"""A stand-in for a model server: it speaks the documented form of a request and an answer, and fails on purpose.

It serves a predictor of this process on a free port of this machine, from a thread of its own, and counts what it is
asked. A fault comes instead of an answer, by a dice of its own seed: a 429 with Retry-After, a 500, or a connection
that is dropped.

>>> from anchorscope.testing import KeywordPredictor
>>> with StandInServer(KeywordPredictor("great"), "torchserve") as server:
...     server.url.startswith("http://127.0.0.1:")
True
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from threading import Event, Lock, Thread
from types import MappingProxyType
from typing import Any

from anchorscope.types import Predictor

Answer = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The shares of requests that get a 429, a 500 or a dropped connection instead of an answer."""

    too_many: float = 0.0
    internal: float = 0.0
    dropped: float = 0.0
    retry_after: float = 0.0


class StandInServer:
    """Serves ``predictor`` in the form of that name; ``delay`` seconds a request, at most ``limit`` texts in one.

    ``key`` is asked for, if one is given. ``respond`` answers instead, for servers that say something else.
    ``asked`` counts each text that reached it, ``answered`` each that was answered.
    """

    def __init__(
        self,
        predictor: Predictor,
        form: str,
        *,
        delay: float = 0.0,
        faults: Faults | None = None,
        seed: int = 0,
        limit: int | None = None,
        key: str | None = None,
        respond: Callable[[bytes], Answer] | None = None,
    ) -> None:
        self._predictor = predictor
        self._form = form
        self._delay = delay
        self._faults = faults or Faults()
        self._chances = random.Random(seed)
        self._limit = limit
        self._key = key
        self._respond = respond
        self._lock = Lock()
        self._ready = Event()
        self._loop = asyncio.new_event_loop()
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.n_requests = 0
        self.most_in_flight = 0
        self._in_flight = 0
        self.url = ""

    def __enter__(self) -> StandInServer:
        self._thread = Thread(target=self._serve, name="stand-in", daemon=True)
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connection, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/predict"
        self._ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Requests of one connection, one after another."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self._in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self._in_flight)
                await asyncio.sleep(self._delay)
                self._in_flight -= 1
                answer = self._answer(headers, body)
                if answer is None:
                    return
                writer.write(_written(*answer))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.transport.abort()  # what is left of an answer has no reader any more
            return
        finally:
            writer.close()

    def _answer(self, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """What is said; None drops the connection."""
        self.n_requests += 1
        if self._respond is not None:
            return self._respond(body)
        if self._key is not None and headers.get("authorization") != f"Bearer {self._key}":
            said = {"error": f"Incorrect key: {headers.get('authorization', 'none')}"}
            return 401, {}, json.dumps(said).encode()
        read, write = FORMS[self._form]
        request = body.decode() if self._form == "torchserve" else json.loads(body)
        texts = read(request)
        with self._lock:
            self.asked.update(texts)
        dice = self._chances.random()
        faults = self._faults
        if dice < faults.dropped:
            return None
        if dice < faults.dropped + faults.too_many:
            return 429, {"retry-after": f"{faults.retry_after:g}"}, b'{"error": "slow down"}'
        if dice < faults.dropped + faults.too_many + faults.internal:
            return 500, {}, b'{"error": "internal"}'
        if self._limit is not None and len(texts) > self._limit:
            return 413, {}, b'{"error": "too large"}'
        with self._lock:
            self.answered.update(texts)
        rows = self._predictor.predict(texts).tolist()
        return 200, {}, json.dumps(write(request, rows, self._predictor.labels)).encode()


def _written(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    kind = "text/html" if body.startswith(b"<") else "application/json"
    lines = [f"HTTP/1.1 {status} -", f"content-type: {kind}", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


Rows = Sequence[Sequence[float]]


def _chat(request: Any, rows: Rows, labels: Sequence[str]) -> Any:
    """Log-probabilities of the label words where they are asked for, else votes drawn from them."""
    row = rows[0]
    if request.get("logprobs"):
        tokens = [{"token": f" {label[:3]}", "logprob": log(max(p, 1e-30))} for label, p in zip(labels, row)]
        told = {"content": [{"top_logprobs": tokens}]}
        return {"choices": [{"message": {"content": labels[0]}, "logprobs": told}], "usage": {"total_tokens": 20}}
    votes = random.Random(request.get("seed")).choices(labels, row, k=request.get("n", 1))
    return {"choices": [{"message": {"content": vote}} for vote in votes]}


def _kserve(request: Any, rows: Rows, labels: Sequence[str]) -> Any:
    flat = [p for row in rows for p in row]
    return {"outputs": [{"name": "p", "shape": [len(rows), len(labels)], "datatype": "FP64", "data": flat}]}


def _scored(rows: Rows, labels: Sequence[str]) -> Any:
    """Best first, as the servers do."""
    pairs = [sorted(zip(row, labels), reverse=True) for row in rows]
    return [[{"label": label, "score": p} for p, label in pair] for pair in pairs]


FORMS: Mapping[str, tuple[Callable[[Any], list[str]], Callable[[Any, Rows, Sequence[str]], Any]]] = MappingProxyType(
    {
        "openai": (lambda request: [request["messages"][-1]["content"]], _chat),
        "huggingface": (lambda request: [request["inputs"]], lambda request, rows, labels: _scored(rows, labels)),
        "kserve": (lambda request: request["inputs"][0]["data"], _kserve),
        "torchserve": (lambda request: [request], lambda request, rows, labels: dict(zip(labels, rows[0]))),
        "mlflow": (lambda request: request["inputs"], lambda request, rows, labels: {"predictions": rows}),
        "own": (
            lambda request: request["documents"],
            lambda request, rows, labels: {"data": [{"scores": row} for row in rows]},
        ),
    }
)
"""For each form, the texts of a request, and the answer about their rows."""

"""Who may ask the live page, how much and how often.

The address that the server prints holds a token; opening it sets a cookie, and a request with neither is refused. So
are a foreign Host (a name that was made to point here: DNS rebinding) and a foreign Origin (another site's page), a
body that is long or slow, and too many requests. Connections on which nothing is asked are let go.

A cookie knows no ports: another server on 127.0.0.1 that the same browser visits is sent it too. It is named after
the port and holds for as long as the process runs.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

from uvicorn.protocols.http.h11_impl import H11Protocol

LONGEST_REQUEST = 200_000
"""Bytes of a body."""

LONGEST_COOKIES = 16_384
"""Characters of the cookies of a request; longer ones are refused unread."""

REQUEST_SECONDS = 10.0
"""How long a client may take to send a request, and each piece of its body."""

MOST_CONNECTIONS = 256
"""When there are more, those on which nothing was asked are let go. The newest are given a moment, or a request of the
owner's would go with a crowd that came in the same instant; but not where there are four times as many."""

GRACE = 0.2
"""Seconds of that moment."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}

Scope = Mapping[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Guard:
    """Lets a request through to the page if it comes from the one who started it, and is neither long nor too often."""

    def __init__(self, app: Any, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._cookie = f"anchorscope-{port}"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._buckets = {"/try": Bucket(10, 4), "": Bucket(200, 50)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI interface."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, _with_headers(send))
        else:
            await send({"type": "websocket.close"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        if refusal := self._refusal(scope, headers):
            await _answer(send, *refusal)
        elif self._is_entrance(scope):
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            await _answer(send, 303, "", [("location", "/"), ("set-cookie", cookie)])
        else:
            with suppress(Exception):  # the page has answered, and said what failed
                await self._app(scope, _limited(receive), send)

    def _refusal(self, scope: Scope, headers: list[tuple[str, str]]) -> tuple[int, str] | None:
        """The status and the sentence with which a request is turned away, if it is."""
        hosts = [value for name, value in headers if name == "host"]
        origins = [value for name, value in headers if name == "origin"]
        length = next((value for name, value in headers if name == "content-length"), "0")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 403, "This server is known by another name."
        if scope["method"] not in ("GET", "POST"):
            return 405, "GET and POST only."
        if (scope["method"] == "POST" or origins) and origins != [f"http://{hosts[0]}"]:
            return 403, "Another site may not ask."
        if not (self._is_entrance(scope) or self._is_known(headers)):
            return 401, "Open the address that anchorscope serve printed: it holds the token."
        if not length.isdigit() or int(length) > LONGEST_REQUEST:
            return 413, "The request is too long."
        if not self._buckets.get(scope["path"], self._buckets[""]).take():
            return 429, "Too many requests; wait a moment."
        return None

    def _is_entrance(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return scope["path"] == "/" and len(given) == 1 and secrets.compare_digest(given[0].encode(), self._secret)

    def _is_known(self, headers: list[tuple[str, str]]) -> bool:
        """Whether a request brings our cookie. Ours needs no quotes, so whatever is quoted is somebody else's."""
        cookies = [value for name, value in headers if name == "cookie"]
        if sum(map(len, cookies)) > LONGEST_COOKIES:
            return False
        given = (part.strip().partition("=") for value in cookies for part in value.split(";"))
        return any(
            name == self._cookie and secrets.compare_digest(value.encode(), self._secret) for name, _, value in given
        )

    @property
    def _secret(self) -> bytes:
        return self._token.encode()


class Bucket:
    """So many at once, then so many a second.

    >>> bucket = Bucket(2, 0.0)
    >>> [bucket.take() for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, size: int, per_second: float) -> None:
        self._size = size
        self._per_second = per_second
        self._left = float(size)
        self._at = monotonic()

    def take(self) -> bool:
        """Take one, if there is one."""
        now = monotonic()
        self._left = min(self._size, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class PatientProtocol(H11Protocol):
    """HTTP for strangers: whoever has sent no request in time is let go, and sooner where others need the room."""

    def connection_made(self, transport: Any) -> None:
        """Called by asyncio."""
        super().connection_made(transport)
        self._since = monotonic()
        self.loop.call_later(REQUEST_SECONDS, self._let_go)
        if len(self.connections) > MOST_CONNECTIONS:
            spared = GRACE if len(self.connections) <= 4 * MOST_CONNECTIONS else 0.0
            for other in list(self.connections):
                if other is not self and isinstance(other, PatientProtocol) and self._since - other._since >= spared:
                    other._let_go()

    def _let_go(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *ours]}
        await send(message)

    return send_with_headers


def _limited(receive: Receive) -> Receive:
    """A body that is cut off where it gets too long or too slow; the page then sees a client that has gone."""
    n_bytes = 0
    is_whole = False

    async def receive_some() -> Any:
        nonlocal n_bytes, is_whole
        if is_whole:
            return await receive()  # waits for the client to go
        try:
            message = await asyncio.wait_for(receive(), REQUEST_SECONDS)
        except asyncio.TimeoutError:
            return {"type": "http.disconnect"}
        n_bytes += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        return message if n_bytes <= LONGEST_REQUEST else {"type": "http.disconnect"}

    return receive_some


async def _answer(send: Send, status: int, text: str, headers: list[tuple[str, str]] | None = None) -> None:
    fields = [("content-type", "text/plain; charset=utf-8"), *(headers or [])]
    encoded = [(name.encode(), value.encode()) for name, value in fields]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": text.encode()})

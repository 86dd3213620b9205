"""A server of HTTP that says what it likes: raw bytes on real connections, from threads of this process.

It answers well, as MLflow or TorchServe do, until it is told otherwise; what it was sent it remembers. It can speak
TLS, with a certificate that is right or not, and be a proxy: one that passes nothing on, and is the server itself.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any

from reliability.models import keywords

LABELS = ("no", "yes")
HELLO = b"\x16\x03"
"""How TLS begins."""


@dataclass(frozen=True, slots=True)
class Request:
    """What came: head and body, as they were."""

    head: bytes
    body: bytes

    @property
    def texts(self) -> list[str]:
        """The texts that it asks about."""
        said = self.body.decode("utf-8", "replace")
        return list(json.loads(said)["inputs"]) if said.startswith('{"inputs"') else [said]

    @property
    def is_of_many(self) -> bool:
        """Whether it is in the form of MLflow."""
        return self.body.startswith(b'{"inputs"')


Respond = Callable[[Request], Iterable[bytes]]
"""An answer, a piece at a time; it need not come to an end."""


def well(request: Request) -> list[bytes]:
    """The right answer."""
    rows = keywords(request.texts)
    return [answer({"predictions": rows} if request.is_of_many else dict(zip(LABELS, rows[0])))]


def answer(said: Any, status: str = "200 OK", **headers: str) -> bytes:
    """An answer whose body is JSON, or bytes as they are."""
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@dataclass
class HostileServer:
    """Serves ``respond`` from connection number ``begins`` on, and right answers before.

    With ``right`` it speaks TLS: with this certificate before, with ``shown`` from then on, and where there is none, it
    responds to the greeting of TLS itself. A proxy is asked for a tunnel first; ``refuse`` is what it says to that.
    """

    respond: Respond = well
    begins: int = 0
    right: ssl.SSLContext | None = None
    shown: ssl.SSLContext | None = None
    refuse: Respond | None = None
    requests: list[Request] = field(default_factory=list)
    tunnels: list[Request] = field(default_factory=list)
    n_connections: int = 0
    _lock: Any = field(default_factory=Lock)

    def __enter__(self) -> HostileServer:
        server = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError, ValueError):
                    self.request.settimeout(20)
                    server._answer(self.request)

        class Server(ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 64

        self._server = Server(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, args=(0.02,), name="hostile", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http{'s' if self.right else ''}://{self.at}/predict"

    @property
    def at(self) -> str:
        """Its host and port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def mend(self) -> None:
        """Be right from now on."""
        self.respond, self.shown, self.refuse = well, self.right, None

    def _answer(self, connection: socket.socket) -> None:
        """One request and its answer; then the connection is closed."""
        with self._lock:
            self.n_connections += 1
            is_hostile = self.n_connections > self.begins
        if self.right and connection.recv(len(HELLO), socket.MSG_PEEK) != HELLO:
            self._open_tunnel(connection, is_hostile)
        if self.right and (context := self.shown if is_hostile else self.right):
            connection = context.wrap_socket(connection, server_side=True)
        with connection:
            request = _read(connection)
            if request is None:
                return
            self.requests.append(request)
            for piece in (self.respond if is_hostile else well)(request):
                connection.sendall(piece)

    def _open_tunnel(self, connection: socket.socket, is_hostile: bool) -> None:
        """What a proxy says to who wants to speak through it with another server."""
        request = _read(connection)
        if request is None:
            raise OSError("no request")
        self.tunnels.append(request)
        refuse = self.refuse if is_hostile else None
        for piece in (refuse or _opened)(request):
            connection.sendall(piece)
        if refuse:
            raise OSError("no tunnel")


def _opened(_: Request) -> list[bytes]:
    return [b"HTTP/1.1 200 Go\r\n\r\n"]


def _read(connection: socket.socket) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
        if data.startswith(HELLO):
            return Request(data, b"")
    head, _, body = data.partition(b"\r\n\r\n")
    told = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    while told and len(body) < int(told[1]):
        body += connection.recv(65536)
    return Request(head, body)

"""Strangers at the live page: is each turned away, and does the page keep answering its owner?

``anchorscope serve`` runs in a process of its own over a real run. Raw sockets knock: without the token, with a wrong
one, under another Host, from another Origin, with tricks in the path, with methods, bodies and headers that are none;
then a thousand connections at once that say nothing or half a request, clients that send a byte a second, and streams
that nobody reads. Meanwhile the owner asks for the page ten times a second, and the slowest answer counts. At last the
owner ends the server with Ctrl-C while the page is open, and it has to end without a word of complaint.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

from reliability.tables import ROOT, Study, options
from reliability.work import VARIANTS, Work

SLOWEST = 5.0
QUICK = 0.5
TOKENS = ("", "a", "undefined", "null", "../", "%00", "a" * 10_000, "' OR 1=1 --", "é", "\\u0000")
HOSTS = (
    "evil.example",
    "127.0.0.1",
    "localhost:1",
    "127.0.0.1.evil.example:{port}",
    "0.0.0.0:{port}",
    "[::1]:{port}",
    "",
)
ORIGINS = (
    "http://evil.example",
    "null",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1:1",
    "file://",
    "http://localhost",
)
PATHS = (
    *("/page/../../../etc/passwd", "/page/..%2f..%2f..%2fetc%2fpasswd", "/page/%2e%2e/%2e%2e/journal.sqlite"),
    *(
        "/../journal.sqlite",
        "/journal.sqlite",
        "/result.json",
        "/report.html",
        "/lock",
        "//etc/passwd",
        "/page//etc/passwd",
    ),
    *(
        "/page/..\\\\..\\\\x",
        "/page/page.js%00.css",
        "/page/page.js/../../x",
        "/page/....//....//etc/passwd",
        "/%2e%2e/",
    ),
    *(
        "/page/C:\\\\windows",
        "/page/~root",
        "/page/file:///etc/passwd",
        "/docs",
        "/openapi.json",
        "/redoc",
        "/.git/config",
    ),
)
ODD = (
    b"GARBAGE\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"POST /try HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"POST /try HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    b"CONNECT evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
)


@dataclass
class Site:
    """The server, and what its owner knows."""

    port: int
    token: str
    process: subprocess.Popen[str]
    messages: Path
    slowest: float = 0.0
    n_answers: int = 0
    n_failures: int = 0
    over: Event = field(default_factory=Event)

    @property
    def cookie(self) -> str:
        """What the owner's browser sends."""
        return f"anchorscope-{self.port}={self.token}"

    def ask(self, request: bytes, seconds: float = 10.0) -> int:
        """The status of an answer; 0 where the connection was closed without one."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(request)
            head = connection.recv(64)
            return int(head.split()[1]) if head.startswith(b"HTTP/1.1 ") else 0
        return 0

    def get(self, path: str, *, method: str = "GET", cookie: str | None = None, **headers: str) -> int:
        """The status of an ordinary request."""
        fields = {"Host": f"127.0.0.1:{self.port}", "Connection": "close", **headers}
        if cookie is not None:
            fields["Cookie"] = cookie
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        return self.ask("\r\n".join(lines).encode("utf-8"))

    def owner(self) -> None:
        """The owner asks ten times a second."""
        while not self.over.wait(0.1):
            begun = monotonic()
            good = self.get("/view.json", cookie=self.cookie) in (200, 429)
            self.slowest = max(self.slowest, monotonic() - begun)
            self.n_answers, self.n_failures = self.n_answers + good, self.n_failures + (not good)


def main() -> int:
    """Run the study."""
    given = options(__doc__, connections=1000).parse_args()
    study = Study(
        "live_page",
        "no token, wrong token, wrong Host, wrong Origin, path tricks, 1,000 connections, slow clients",
        "refused; the page keeps answering others",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-live-") as scratch, served(Path(scratch)) as site:
        knock(study, site)
        crowd(study, site, 100 if given.quick else given.connections, 2.0 if given.quick else 20.0)
        complaint = end(study, site)
    n_tried, n_refused = (sum(row.get(key, 0) for row in study.rows) for key in ("tried", "refused"))
    crowd_ = next(row for row in study.rows if "connections" in row)
    return study.end(
        reached=n_refused == n_tried and site.n_failures == 0 and site.slowest <= SLOWEST and not complaint,
        found=f"{n_refused} of {n_tried} strangers refused; beside {crowd_['connections']:,} connections the owner was "
        f"answered {site.n_answers} times, {site.n_failures} times not, the slowest in {site.slowest:.2f} s; "
        + ("ended with complaints" if complaint else "ended quietly with the page open"),
        slowest_seconds=round(site.slowest, 3),
    )


def knock(study: Study, site: Site) -> None:
    """One stranger after another."""
    port, cookie = site.port, site.cookie
    everywhere = ("/", "/view.json", "/events", "/page/page.js", "/nowhere")
    origin = f"http://127.0.0.1:{port}"

    def row(kind: str, statuses: list[int], allowed: tuple[int, ...]) -> None:
        study.add(
            kind=kind, tried=len(statuses), refused=sum(s in allowed for s in statuses), statuses=sorted(set(statuses))
        )

    row("no token", [site.get(path) for path in everywhere], (401,))
    row("no token, POST", [site.get(p, method="POST", Origin=origin) for p in ("/try", "/control")], (401,))
    wrong = [site.get(f"/?token={token}") for token in TOKENS]
    wrong += [site.get("/view.json", cookie=f"anchorscope-{port}={token}") for token in TOKENS]
    wrong.append(site.get("/view.json", cookie=f"anchorscope-{port}={site.token[:-1]}"))
    row("wrong token", wrong, (0, 400, 401, 431))
    quoted = f'GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: a="{{}}"\r\n\r\n'
    odd_cookies = [site.ask(quoted.format('\\"' * n).encode(), QUICK) for n in (8_000, 30_000)]
    row("cookies of many quotes, at once", odd_cookies, (401,))
    hosts = [site.get("/view.json", cookie=cookie, Host=host.format(port=port)) for host in HOSTS]
    row("wrong Host", hosts, (400, 403))
    origins = [o.format(port=port) for o in ORIGINS]
    row("wrong Origin", [site.get("/control", method="POST", cookie=cookie, Origin=o) for o in origins], (403,))
    row("no Origin", [site.get(path, method="POST", cookie=cookie) for path in ("/try", "/control")], (403,))
    row("path tricks", [site.get(path, cookie=cookie) for path in PATHS], (0, 400, 404))
    methods = ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD", "PROPFIND")
    row("other methods", [site.get("/", method=method, cookie=cookie) for method in methods], (405,))
    row("no HTTP", [site.ask(odd, 12.0) for odd in ODD], (0, 400, 403, 404, 405, 413, 431))
    long = [
        site.get("/try", method="POST", cookie=cookie, Origin=origin, **{"Content-Length": str(10**n)})
        for n in (6, 9, 18)
    ]
    row("long bodies", long, (413,))


def crowd(study: Study, site: Site, n_connections: int, seconds: float) -> None:
    """All at once, for a while."""
    owner = Thread(target=site.owner)
    owner.start()
    held: list[socket.socket] = []
    unread = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nCookie: {site.cookie}\r\n\r\n".encode()
    for number in range(n_connections):
        with suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", site.port), timeout=10)
            connection.sendall([b"", b"GET / HTTP/1.1\r\nHost: 127", unread if number % 40 == 0 else b"P"][number % 3])
            held.append(connection)
    end = monotonic() + seconds
    while monotonic() < end:  # a byte a second, as slow clients send
        for connection in held[::7]:
            with suppress(OSError):
                connection.send(b"x")
        sleep(1)
    n_gone = sum(is_closed(connection) for connection in held)
    for connection in held:
        connection.close()
    site.over.set()
    owner.join()
    study.add(
        kind="a crowd",
        connections=len(held),
        let_go=n_gone,
        owner_answered=site.n_answers,
        owner_not_answered=site.n_failures,
        slowest=round(site.slowest, 3),
    )


def end(study: Study, site: Site) -> str:
    """Ctrl-C while the page is open: what was complained of."""
    assert site.process.poll() is None, "the server is gone"
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as page:
        asked = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nCookie: {site.cookie}\r\n\r\n"
        page.sendall(asked.encode())
        page.recv(64)
        os.killpg(site.process.pid, signal.SIGINT)
        status = site.process.wait(20)
    said = site.messages.read_text(encoding="utf-8")
    complaint = said[-500:] or (f"status {status}" if status else "")
    study.add(kind="Ctrl-C with the page open", status=status, said=complaint)
    return complaint


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has let go of it."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@contextmanager
def served(scratch: Path) -> Iterator[Site]:
    """The command, in a process of its own."""
    work = Work.make(scratch / "work", 100)
    assert work.finish(scratch / "run", *VARIANTS["scan, total"])[0] == 0
    command = [sys.executable, "-m", "anchorscope.cli", "serve", str(scratch / "run"), "--port", "0", "-q"]
    messages = scratch / "messages.txt"
    with messages.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=work.environment(),
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        base, _, token = address.partition("/?token=")
        site = Site(int(base.rpartition(":")[2]), token, process, messages)
        end = monotonic() + 60
        while site.get("/") != 401 and monotonic() < end:
            sleep(0.1)
        yield site
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        process.wait(20)
        process.stdout.close()


if __name__ == "__main__":
    raise SystemExit(main())

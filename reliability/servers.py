"""Servers that answer with hostile things: does the command end soon, with one sentence, and without its key?

A real server on this machine (``hostile_server.py``) is the model behind HTTP. It says what servers say when they are
broken, misconfigured or somebody else's: bodies and headers without end, a byte at a time, bombs, redirects, other
schemas, numbers that are none, errors that repeat the key, waits of years. It does so at three moments:

    labels   when it is asked what its labels are          status 2, and nothing is left behind
    first    with the first documents                      likewise
    later    in the middle of a run, after right answers   status 1; the same command with --resume, and a server that
                                                           is right again, gives the result of a run without fault

Servers behind TLS show certificates that are right or not, or speak something else; proxies that the environment names
stand before a server that is plain, or behind TLS. A server whose certificate is not right is sent nothing.

The command runs in a process of its own. Its time and its memory are bounded, it says one printable line, and the key
is in nothing that it prints or writes, nor is it sent to another host. What is odd and harmless (a cookie) is taken.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from reliability.certificates import certificates
from reliability.hostile_server import HostileServer, Request, Respond, answer, well
from reliability.tables import ROOT, Study, options
from reliability.work import found

KEY = "very-secret-key-0123456789"
LONGEST = 30.0
"""Seconds that a command may take: its start, and two tries of two seconds each for every way of asking again."""

SHOWN = "the key is there"
TOLD = "the key was told to who should not know it"
FAR = "model.invalid"
"""A host that only a proxy can reach."""

MOST_MEMORY = 400
"""Megabytes beside what a run with a server that is right takes."""

TEXTS = ("a great film", "a bad film", "great great cast", "bad plot", "so great so bad", "film and cast", "a plot")
RUN = (
    *("--preset", "banzhaf", "--perturbator", "corpus", "--min-occurrences", "1", "--stop-words", "none"),
    *("--round-size", "3", "--seed", "1", "--concurrency", "1", "--model-tries", "2", "--model-timeout", "2", "-q"),
)
FORM = {"labels": ("--api", "torchserve"), "first": ("--api", "mlflow", "--labels", "no,yes")}
FORM["later"] = FORM["first"]
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202e\x9b2J"


def said(value: Any, status: str = "200 OK", **headers: str) -> Respond:
    """The same answer to everything."""
    return lambda _: [answer(value, status, **headers)]


def for_each(row: str) -> Respond:
    """The same row about each text, as it is written in JSON."""
    return lambda request: [answer(f'{{"predictions": [{", ".join([row] * len(request.texts))}]}}'.encode())]


def without_end(begin: bytes, piece: bytes, pause: float = 0.0) -> Respond:
    """A beginning, and then the same over and over."""

    def respond(_: Request) -> Iterator[bytes]:
        yield begin
        while True:
            yield piece
            sleep(pause)

    return respond


def repeating_key(status: str, spell: Any = lambda key: key) -> Respond:
    """An error that repeats what it was sent in the header for keys."""

    def respond(request: Request) -> Iterable[bytes]:
        sent = [line for line in request.head.decode("latin-1").split("\r\n") if line.lower().startswith("auth")]
        key = sent[0].split()[-1] if sent else "none"
        return [answer({"error": f"Incorrect key {spell(key)} given, {ESCAPES}"}, status)]

    return respond


def rows_less(request: Request) -> Iterable[bytes]:
    """One row less than there are texts, or none."""
    return [answer({"predictions": [[0.5, 0.5]] * (len(request.texts) - 1)})]


def cut_off(request: Request) -> Iterable[bytes]:
    """The right answer, whose end is missing; its length is said as it should be."""
    return [well(request)[0][:-5]]


def cut_and_closed(request: Request) -> Iterable[bytes]:
    """The same without a length: who reads it cannot see that there was more."""
    return [b"HTTP/1.0 200 OK\r\n\r\n" + well(request)[0].partition(b"\r\n\r\n")[2][:-5]]


def with_cookie(request: Request) -> Iterable[bytes]:
    """The right answer, and a cookie."""
    head, _, body = well(request)[0].partition(b"\r\n\r\n")
    return [head + b"\r\nSet-Cookie: spy=1; Path=/\r\nSet-Cookie: " + b"x" * 3000 + b"=1\r\n\r\n" + body]


def with_bill(request: Request) -> Iterable[bytes]:
    """The right answer, and more tokens than there are; of the form that has no place for them, the answer alone."""
    bill = b', "usage": {"total_tokens": 1' + b"0" * 400 + b"}}"
    return [answer(_rows(request)[:-1] + bill if request.is_of_many else _rows(request))]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a server does, how it is reached, and whether the command takes it: then the result is the right one.

    A server behind TLS shows the ``certificate`` of that name, or none, and a proxy before it may ``refuse`` to help.
    """

    respond: Respond = well
    is_taken: bool = False
    is_secure: bool = False
    is_proxied: bool = False
    certificate: str = ""
    refuse: Respond | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether it may be told the key."""
        return not self.is_secure or self.certificate == "right"


SPACES = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
ROWS = b'{"predictions": [' + b"[0.5, 0.5], " * 4_000_000 + b"[0.5, 0.5]]}"
BACKSLASHES = b'{"error": "' + b"\\" * 20_000_000 + b'"}'


@cache
def bomb() -> bytes:
    """300 MB of zeros, packed."""
    return gzip.compress(bytes(300 << 20))


def too_much(elsewhere: str) -> dict[str, Respond]:
    """Answers that are endless, slow or huge, and addresses that lead elsewhere."""
    return {
        "a body without end, a byte at a time": without_end(CHUNKED, b"1\r\n \r\n", 0.01),
        "a body without end, as fast as it goes": without_end(CHUNKED, SPACES),
        "headers without end": without_end(HEAD, b"X-Header: aaaaaaaaaaaaaaaa\r\n", 0.001),
        "one header without end": without_end(HEAD + b"X-Header: ", b"a" * 4096, 0.001),
        "100 Continue without end": without_end(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
        "a head of one byte a second": without_end(b"", b"H", 1.0),
        "silence": without_end(b"", b"", 0.1),
        "a gzip bomb": said(bomb(), Content_Encoding="gzip"),
        "a gzip bomb as an error": said(bomb(), "500 No", Content_Encoding="gzip"),
        "a packing that nobody asked for": said(b"xx", Content_Encoding=f"br {ESCAPES[:4]}"),
        "gzip that is none": said(b'{"predictions": []}', Content_Encoding="gzip"),
        "48 MB of rows": said(ROWS),
        "20 MB of backslashes": said(BACKSLASHES, "400 No"),
        "20 MB of backslashes as an answer": said(BACKSLASHES.replace(b"\\", b"\\\\")),
        "a megabyte of backslashes": said(BACKSLASHES[:1_000_000], "400 No"),
        "a megabyte of backslashes as an answer": said(b'{"x": "' + b"\\" * 1_000_000 + b'"}'),
        "a megabyte of percents": said(b'{"x": "' + b"%2541" * 200_000 + b'"}', "500 No"),
        "a redirect to itself": said(b"", "307 Round", Location="/predict"),
        "a redirect elsewhere": said(b"", "307 There", Location=elsewhere),
        "a redirect that repeats the key": said(b"", "302 There", Location=f"{elsewhere}?k={KEY}"),
    }


def malformed() -> dict[str, Respond]:
    """Answers that are no rows of probabilities, or no HTTP."""
    return {
        "another schema": said({"answer": "yes"}),
        "a list": said([1, 2, 3]),
        "a number": said(5),
        "nothing": said(b""),
        "204": lambda _: [b"HTTP/1.1 204 No Content\r\n\r\n"],
        "HTML": said(f"<html>{ESCAPES}</html>".encode()),
        "NaN": for_each("[NaN, 1]"),
        "1e999": for_each("[1e999, 0]"),
        "-Infinity": for_each("[-Infinity, 1]"),
        "an integer of 400 digits": for_each(f"[1{'0' * 400}, 0]"),
        "an integer of 5,000 digits": for_each(f"[1{'0' * 5000}, 0]"),
        "brackets, 100,000 deep": said(b"[" * 100_000),
        "brackets, 900 deep and closed": said(b'{"predictions": ' + b"[" * 900 + b"]" * 900 + b"}"),
        "objects, 300 deep and closed": said(b'{"predictions": ' * 300 + b"1" + b"}" * 300),
        "a name twice": lambda request: [
            answer(f'{{"predictions": {[[0.9, 0.1]] * len(request.texts)}, '.encode() + _rows(request)[1:])
        ],
        "a row too few": rows_less,
        "strings for numbers": for_each('["0.5", "0.5"]'),
        "logits": for_each("[3, -2]"),
        "other labels": for_each('{"maybe": 0.5, "perhaps": 0.5}'),
        "labels with escapes": for_each('"\\u001b]0;owned\\u0007"'),
        "half a character": for_each('"\\ud800"'),
        "cut off": cut_off,
        "cut off and closed": cut_and_closed,
        "a length that is none": lambda request: [HEAD + b"Content-Length: -5\r\n\r\n" + _rows(request)],
        "two lengths": lambda request: [HEAD + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\n" + _rows(request)],
        "a chunk of no size": lambda _: [CHUNKED + b"zz\r\nabc\r\n"],
        "a connection that drops": _drops,
        "no HTTP": lambda _: [ESCAPES.encode() + b"\r\n\r\n"],
        "escapes in the reason": said(ESCAPES.encode(), "400 \x1b]0;owned\x07"),
    }


def errors() -> dict[str, Respond]:
    """Statuses that say that something went wrong."""
    return {
        "400": said({"error": ESCAPES}, "400 No"),
        "401": repeating_key("401 Who"),
        "401, the key in escapes": repeating_key("401 Who", lambda key: "".join(f"\\u{ord(c):04x}" for c in key)),
        "403": repeating_key("403 No"),
        "404": repeating_key("404 Where"),
        "413": said({"error": "too large"}, "413 Large"),
        "429": said(b"", "429 Slow"),
        "429, Retry-After -5": said(b"", "429 Slow", Retry_After="-5"),
        "429, Retry-After 10^9": said(b"", "429 Slow", Retry_After="1000000000"),
        "429, Retry-After nan": said(b"", "429 Slow", Retry_After="nan"),
        "429, Retry-After 1e400": said(b"", "429 Slow", Retry_After="1e400"),
        "429, Retry-After in 2099": said(b"", "429 Slow", Retry_After="Wed, 21 Oct 2099 07:28:00 GMT"),
        "500 for ever": repeating_key("500 No"),
        "503, Retry-After 601": said(b"", "503 Later", Retry_After="601"),
        "999": said(b"", "999 What"),
        "500 with megabytes of escapes": said(ESCAPES.encode() * 1_000_000, "500 No"),
    }


def kinds(elsewhere: str) -> dict[str, Kind]:
    """Every kind by name; ``elsewhere`` is the address of another server."""
    refused = {**too_much(elsewhere), **malformed(), **errors()}
    taken: dict[str, Respond] = {
        "a cookie": with_cookie,
        "a right answer with a wait": lambda request: [answer(_rows(request), Retry_After="1000000000")],
        "a right answer, packed": lambda request: [answer(gzip.compress(_rows(request)), Content_Encoding="gzip")],
        "a right answer and a bill": with_bill,
    }
    return {
        **{name: Kind(respond) for name, respond in refused.items()},
        **{name: Kind(respond, is_taken=True) for name, respond in taken.items()},
        **{f"TLS: {name}": kind for name, kind in secure_kinds().items()},
        **{f"a proxy: {name}": kind for name, kind in proxy_kinds(elsewhere).items()},
    }


def secure_kinds() -> dict[str, Kind]:
    """Servers at an address with https."""
    wrong = ("of its own", "of another host", "that has ended", "that has not begun", "of an old TLS")
    spoken: dict[str, Respond] = {
        "none, but HTTP": said({"error": "plain HTTP"}, "400 No"),
        "none, but silence": without_end(b"", b"", 0.1),
        "none, but an alert": lambda _: [b"\x15\x03\x03\x00\x02\x02\x28"],
        "none, but escapes": lambda _: [ESCAPES.encode()],
        "none, but an end": lambda _: [],
        "a greeting without end": without_end(b"\x16\x03\x03\x40\x00\x02\x00\xff\xff", b"\0", 0.01),
        "records without end": without_end(b"", b"\x16\x03\x03\x40\x00" + b"\0" * 16384),
    }
    right = {"cut off and closed": cut_and_closed, "401": repeating_key("401 Who"), "a connection that drops": _drops}
    return {
        **{f"a certificate {name}": Kind(is_secure=True, certificate=name) for name in wrong},
        **{name: Kind(respond, is_secure=True) for name, respond in spoken.items()},
        **{name: Kind(respond, is_secure=True, certificate="right") for name, respond in right.items()},
        "a right answer": Kind(is_taken=True, is_secure=True, certificate="right"),
    }


def proxy_kinds(elsewhere: str) -> dict[str, Kind]:
    """Proxies that the environment names, before a server with http and before one with https."""
    spoken: dict[str, Respond] = {
        "407": said({"error": ESCAPES}, "407 Who", Proxy_Authenticate="Basic"),
        "502": said(ESCAPES.encode(), "502 No"),
        "a redirect elsewhere": said(b"", "307 There", Location=elsewhere),
        "silence": without_end(b"", b"", 0.1),
        "no HTTP": lambda _: [ESCAPES.encode() + b"\r\n\r\n"],
        "headers without end": without_end(HEAD, b"X-Header: aaaaaaaaaaaaaaaa\r\n", 0.001),
        "a connection that drops": _drops,
    }
    through = {"is_secure": True, "is_proxied": True}
    return {
        **{name: Kind(respond, is_proxied=True) for name, respond in spoken.items()},
        **{f"{name}, of a tunnel": Kind(refuse=respond, **through) for name, respond in spoken.items()},
        "a certificate of its own": Kind(certificate="of its own", **through),
        "a tunnel to silence": Kind(without_end(b"", b"", 0.1), **through),
        "a tunnel to HTTP": Kind(said({"error": "plain HTTP"}, "400 No"), **through),
        "a right answer": Kind(is_taken=True, is_proxied=True),
        "a right answer through a tunnel": Kind(is_taken=True, certificate="right", **through),
    }


def _drops(_: Request) -> Iterable[bytes]:
    return []


def _rows(request: Request) -> bytes:
    """The body of the right answer."""
    return well(request)[0].partition(b"\r\n\r\n")[2]


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended: status, what it printed and said, seconds, megabytes at its peak."""

    status: int
    printed: str
    said: str
    seconds: float
    memory: float


@dataclass(frozen=True, slots=True)
class Peace:
    """A run with a server that is right: its result, its requests, its megabytes."""

    result: str
    n_requests: int
    memory: float


def main() -> int:
    """Run the study."""
    given = options(__doc__, processes=2).parse_args()
    study = Study(
        "servers",
        f"{len(kinds(''))} kinds of answers of hostile servers, at three moments",
        f"one sentence and the right status within {LONGEST:.0f} s and {MOST_MEMORY} MB; the key nowhere; resumes",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-servers-") as scratch, HostileServer() as elsewhere:
        write_documents(Path(scratch))
        ask_all(study, Path(scratch), elsewhere.url, ["first"] if given.quick else [*FORM], given.processes)
        n_elsewhere = len(elsewhere.requests)
    n_good = sum(row["as_promised"] for row in study.rows)
    n_shown, n_told = (sum(fault in row.get("faults", ()) for row in study.rows) for fault in (SHOWN, TOLD))
    slowest, most = (max(row[name] for row in study.rows) for name in ("seconds", "memory"))
    return study.end(
        reached=n_good == len(study.rows) and not n_elsewhere,
        found=f"{n_good} of {len(study.rows)} as promised, the slowest in {slowest:.1f} s, the largest with "
        f"{most:.0f} MB more than a right one; the key was shown or written {n_shown} times, and sent elsewhere "
        f"{n_elsewhere + n_told} times",
    )


def ask_all(study: Study, folder: Path, elsewhere: str, moments: Sequence[str], n_processes: int) -> None:
    """Every kind at every moment."""
    peace = peaceful(folder)
    trials = [(name, kind, moment) for name, kind in kinds(elsewhere).items() for moment in moments]
    with ThreadPoolExecutor(n_processes) as pool:
        rows = pool.map(lambda trial: judged(folder, peace, trial[1], trial[2]), trials)
        for (name, _, moment), row in zip(trials, rows):
            study.add(kind=name, moment=moment, **row)


def write_documents(folder: Path) -> None:
    """The documents of every run."""
    (folder / "docs.csv").write_text("text\n" + "".join(f"{text}\n" for text in TEXTS), encoding="utf-8")


def peaceful(folder: Path) -> Peace:
    """What a run gives when nothing is wrong."""
    with HostileServer() as server:
        done = explain(folder, server, Kind(), "first", folder / "peace")
        assert done.status == 0, done.said
        return Peace(result_of(folder / "peace"), len(server.requests), done.memory)


def result_of(run: Path) -> str:
    """What a run has found; where the model was and what it took are other things."""
    values = json.loads(found(run))
    return json.dumps([values[name] for name in ("labels", "documents", "finished", "settled")])


def explain(folder: Path, server: HostileServer, kind: Kind, moment: str, run: Path, *more: str) -> Done:
    """The command, in a process of its own."""
    scheme = "https" if kind.is_secure else "http"
    at = FAR if kind.is_proxied else server.at
    model = ("--model", f"{scheme}://{at}/predict", *FORM[moment], "--out", str(run))
    command = [sys.executable, "-m", "anchorscope.cli", "explain", str(folder / "docs.csv"), *model, *RUN, *more]
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {"ANCHORSCOPE_KEY": KEY, "ANCHORSCOPE_CACHE": "off", "PYTHONPATH": str(ROOT)}
    if kind.is_secure:
        environment["SSL_CERT_FILE"] = str(certificates().authority)
    if kind.is_proxied:
        environment[f"{scheme.upper()}_PROXY"] = f"http://{server.at}"
    begun = monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=errors)
        memory = 0.0
        while process.poll() is None:
            memory = max(memory, _peak(process.pid))
            if monotonic() - begun > 2 * LONGEST:
                process.kill()
            sleep(0.01)
        seconds = monotonic() - begun
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return Done(process.returncode, texts[0], texts[1], seconds, memory)


def _peak(number: int) -> float:
    """The most megabytes that a process has had so far; 0 once it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{number}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def judged(folder: Path, peace: Peace, kind: Kind, moment: str) -> dict[str, Any]:
    """What a server's answers lead to, and whether that is as promised; where it is not, why not."""
    run = Path(tempfile.mkdtemp(prefix="run-", dir=folder)) / "run"
    begins = peace.n_requests * 2 // 3 if moment == "later" else 0
    with serving(kind, begins) as server:
        done = explain(folder, server, kind, moment, run)
        faults = _faults(done, kind, moment, peace)
        told = server.tunnels + ([] if kind.is_trusted else server.requests[begins:])
        if any(KEY.encode() in request.head + request.body for request in told):
            faults.append(TOLD)
        if any(b"cookie:" in request.head.lower() for request in server.requests):
            faults.append("a cookie was sent back")
        if moment != "later" and not kind.is_taken and run.exists():
            faults.append("a folder was left")
        if moment == "later" and not faults:
            server.mend()
            again = explain(folder, server, kind, moment, run, "--resume")
            if again.status or result_of(run) != peace.result:
                faults.append(f"resumed to something else: {again.said[-200:]}")
    if _holds_key(done.printed.encode() + done.said.encode()) or any(_holds_key(data) for data in _files(run.parent)):
        faults.append(SHOWN)
    shutil.rmtree(run.parent)
    row = {"status": done.status, "seconds": round(done.seconds, 1), "memory": round(done.memory - peace.memory)}
    return {
        **row,
        "as_promised": not faults,
        "said": done.said[-300:].strip(),
        **({"faults": faults} if faults else {}),
    }


def serving(kind: Kind, begins: int) -> HostileServer:
    """The server of a kind, which is one from connection number ``begins`` on."""
    if not kind.is_secure:
        return HostileServer(kind.respond, begins)
    shown = certificates().contexts
    return HostileServer(kind.respond, begins, shown["right"], shown.get(kind.certificate), kind.refuse)


def _faults(done: Done, kind: Kind, moment: str, peace: Peace) -> list[str]:
    """What is wrong with how a command ended."""
    found = []
    expected = 0 if kind.is_taken else 1 if moment == "later" else 2
    lines = done.said.splitlines()
    one = len(lines) == 1 and lines[0].startswith("anchorscope: error: ") and lines[0].isprintable()
    if done.status != expected:
        found.append(f"status {done.status} instead of {expected}")
    elif expected and not (one and len(lines[0]) < 1000 and "should not happen" not in done.said):
        found.append("not one sentence")
    if done.seconds > LONGEST:
        found.append("too slow")
    if done.memory > peace.memory + MOST_MEMORY:
        found.append("too large")
    return found


def _holds_key(data: bytes) -> bool:
    """Whether the key is there, as it is or in a common disguise."""
    key = KEY.encode()
    spelled = (key, base64.b64encode(key).rstrip(b"="), KEY.encode("utf-16-le"), b"\\u%04x\\u%04x" % (key[0], key[1]))
    return any(written in data for written in spelled)


def _files(folder: Path) -> Iterator[bytes]:
    return (path.read_bytes() for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    raise SystemExit(main())

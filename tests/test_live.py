"""The live page's server: who is let in, what is refused, and that it goes on answering others."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import httpx
import pytest
from runs import finish, make_run

from anchorscope.errors import AnchorscopeError, InputError, RunFolderError
from anchorscope.report import guard
from anchorscope.report.guard import LONGEST_REQUEST, Bucket
from anchorscope.report.live import LiveRun, Trial, UntilStopped
from anchorscope.report.server import listen, make_server, serve
from anchorscope.settings import preset
from anchorscope.testing import WeightPredictor
from anchorscope.types import Cost


@dataclass
class Site:
    """A server that runs, and a client that may ask it."""

    base: str
    port: int
    token: str
    client: httpx.Client
    live: LiveRun


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("live") / "run"
    finish(make_run(folder=folder))
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    trial = Trial(WeightPredictor({"great": 3.0, "bad": -3.0}), lambda: None, preset("fast"))
    live = LiveRun(folder, trial=trial)
    server, listener, address = make_server(live, port=0)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    live.start()
    base, _, token = address.partition("/?token=")
    with httpx.Client(base_url=base, headers={"Origin": base}, timeout=20) as client:
        wait_for(base)
        assert client.get(f"/?token={token}").status_code == 303
        yield Site(base, int(base.rpartition(":")[2]), token, client, live)
    server.should_exit = True
    live.leave()
    thread.join(10)


def wait_for(base: str) -> None:
    end = monotonic() + 20
    while monotonic() < end:
        try:
            httpx.get(base)
            return
        except httpx.TransportError:
            sleep(0.05)
    raise AssertionError("the server does not answer")


PATHS = ["/", "/view.json", "/events", "/page/page.js", "/nowhere"]


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_told(site: Site, path: str) -> None:
    for cookies in ({}, {f"anchorscope-{site.port}": "guess"}, {"anchorscope-1": site.token}):
        assert httpx.get(site.base + path, cookies=cookies).status_code == 401
    assert httpx.get(f"{site.base}{path}?token={site.token[:-1]}").status_code == 401


def test_the_token_is_taken_once_and_leaves_the_address(site: Site) -> None:
    answer = httpx.get(f"{site.base}/?token={site.token}")
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    assert "HttpOnly" in answer.headers["set-cookie"] and "SameSite=Strict" in answer.headers["set-cookie"]


@pytest.mark.parametrize("moment", ["announcing", "starting"])
def test_who_is_interrupted_at_once_leaves_nobody_behind(
    moment: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the address may end the process while the model's thread is not yet, or only just, there."""
    live = LiveRun(folder)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if moment == "starting":
        begin = live.start
        monkeypatch.setattr(live, "start", lambda: (begin(), interrupt()))
    with pytest.raises(KeyboardInterrupt):
        serve(live, port=0, announce=interrupt if moment == "announcing" else lambda address: None)
    assert not live._thread.is_alive()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:{port}", ""])
def test_another_host_is_refused(site: Site, host: str) -> None:
    """A name that somebody else made to point here."""
    named = host.replace("{port}", str(site.port))
    assert site.client.get("/view.json", headers={"Host": named}).status_code in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_origin_is_refused(site: Site, origin: str) -> None:
    named = origin.replace("{port}", str(site.port))
    for ask in (site.client.get, site.client.post):
        assert ask("/view.json", headers={"Origin": named}).status_code == 403


def test_a_post_needs_an_origin(site: Site) -> None:
    cookies = {f"anchorscope-{site.port}": site.token}
    answer = httpx.post(f"{site.base}/control", cookies=cookies, json={"action": "pause"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/page/../../../etc/passwd",
        "/page/..%2f..%2fjournal.sqlite",
        "/page/%2e%2e/page.py",
        "/page/page.html",
        "/page//etc/passwd",
        "/page/page.js%00.css",
        "/journal.sqlite",
        "/result.json",
        "/docs",
        "/openapi.json",
    ],
)
def test_no_path_leads_to_a_file(site: Site, path: str) -> None:
    """By hand: a client would tidy the path up."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as connection:
        cookie = f"anchorscope-{site.port}={site.token}"
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{site.port}", f"Cookie: {cookie}", "Connection: close"]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert b" 404 " in connection.recv(4096).splitlines()[0]


def test_every_answer_has_its_headers(site: Site) -> None:
    for path in ("/", "/page/page.css", "/view.json", "/nowhere"):
        headers = site.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store" and "server" not in headers
    assert "content-security-policy" in httpx.get(site.base).headers, "refusals too"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(site: Site, method: str) -> None:
    assert site.client.request(method, "/view.json").status_code == 405


def test_long_requests_are_refused(site: Site) -> None:
    """Said to be long, or long without saying so."""
    body = b'{"text": "' + b"a" * LONGEST_REQUEST + b'"}'
    assert site.client.post("/try", content=body).status_code == 413

    def chunks() -> Iterator[bytes]:
        yield from (body[i : i + 50_000] for i in range(0, len(body), 50_000))

    try:
        answer = site.client.post("/try", content=chunks(), headers={"Content-Type": "application/json"})
    except httpx.TransportError:
        return
    assert answer.status_code >= 400


@pytest.mark.parametrize(
    "body", ["{]", "[]", '{"text": 3}', '{"text": null}', json.dumps({"text": "a" * 20_001}), "{}"]
)
def test_what_is_no_question_is_refused(site: Site, body: str) -> None:
    answer = site.client.post("/try", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422 and answer.json()["error"]


def test_try_it_answers(site: Site) -> None:
    """By hand: without "great" the model is at 0.5, with it at 0.95; places count as JavaScript does."""
    sleep(2)  # the bucket fills up again
    answer = site.client.post("/try", json={"text": "😀 great film", "words": True}).json()
    assert answer["label"] == "yes" and answer["probabilities"]["yes"] == pytest.approx(0.952574)
    effects = {(word["start"], word["end"]): word["effect"] for word in answer["words"]}
    assert effects == {(0, 2): 0.0, (3, 8): pytest.approx(0.452574), (9, 13): 0.0}
    assert all(word["deviation"] == 0 and word["anchor"] is None for word in answer["words"])
    predicted = site.client.post("/try", json={"text": "great"}).json()
    assert [(word["effect"], word["deviation"]) for word in predicted["words"]] == [(None, None)]


def test_too_long_a_text_for_its_words_is_said(site: Site) -> None:
    answer = site.client.post("/try", json={"text": "a " * 500, "words": True})
    assert answer.status_code == 422 and "up to 400 words" in answer.json()["error"]


def test_half_a_character_in_an_error_can_be_sent(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON in UTF-8 has no place for a lone surrogate: it is sent as its number."""

    def fail(text: str, *, words: bool) -> None:
        raise AnchorscopeError("bad \ud800 text")

    monkeypatch.setattr(site.live._trial, "answer", fail)
    answer = site.client.post("/try", json={"text": "a film"})
    assert (answer.status_code, answer.content) == (422, b'{"error": "bad \\ud800 text"}')


def test_a_failure_that_nobody_foresaw_is_told_in_a_sentence(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The server says what failed, and its traceback only at the level of -v."""

    def fail() -> bytes:
        raise KeyError("\x1b[2J")

    monkeypatch.setattr(site.live, "view", fail)
    assert site.client.get("/view.json").status_code == 500
    told = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == 1 and told[0].exc_info is None and "KeyError" in told[0].getMessage()


def test_a_kept_run_that_cannot_be_shown_is_refused_before_its_address_is_told(folder: Path, tmp_path: Path) -> None:
    spoilt = Path(shutil.copytree(folder, tmp_path / "run"))
    with closing(sqlite3.connect(spoilt / "journal.sqlite")) as db, db:
        db.execute("UPDATE rounds SET cost = '{\"more\": 1}'")
    announced: list[str] = []
    with pytest.raises(RunFolderError, match="holds what no run has written"):
        serve(LiveRun(spoilt), port=0, announce=announced.append)
    assert not announced


def test_events_say_where_the_run_stands(site: Site) -> None:
    with site.client.stream("GET", "/events") as stream:
        line = next(line for line in stream.iter_lines() if line.startswith("data: "))
    said = json.loads(line.removeprefix("data: "))
    assert said["state"] == "finished" and said["done"] and said["canTry"]


def test_a_thousand_connections_and_slow_clients_hold_up_nobody(site: Site) -> None:
    """Those that say nothing, or half a request, make room; the others are answered meanwhile."""
    held: list[socket.socket] = []
    try:
        for number in range(1000):
            connection = socket.create_connection(("127.0.0.1", site.port), timeout=10)
            if number % 2:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: 127")
            held.append(connection)
            if number % 250 == 249:
                start = monotonic()
                assert site.client.get("/page/page.css").status_code == 200
                assert monotonic() - start < 5
    finally:
        for connection in held:
            connection.close()
    assert site.client.get("/").status_code == 200


def test_a_stream_that_nobody_reads_holds_up_nobody(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as connection:
        cookie = f"anchorscope-{site.port}={site.token}"
        request = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nCookie: {cookie}\r\n\r\n"
        connection.sendall(request.encode())
        assert site.client.get("/view.json").status_code == 200


def test_too_many_requests_are_refused(site: Site) -> None:
    answers = [site.client.post("/try", json={"text": "great"}).status_code for _ in range(30)]
    assert answers[0] in (200, 429) and 429 in answers
    assert site.client.get("/").status_code == 200, "reading goes on"


def test_a_bucket_fills_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(guard, "monotonic", lambda: now[0])
    bucket = Bucket(2, 1.0)
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    now[0] = 1.0
    assert [bucket.take() for _ in range(2)] == [True, False]


def test_a_port_in_use_is_said() -> None:
    with listen(0) as taken, pytest.raises(InputError, match="choose another --port"):
        listen(taken.getsockname()[1])


# --- the thread that owns the model ---


def test_stop_is_asked_for_once() -> None:
    """The rounds end; what comes after them is within the budget again."""
    budget = UntilStopped()
    assert not budget.is_spent(Cost())
    budget.asked.set()
    assert [budget.is_spent(Cost()), budget.is_spent(Cost())] == [True, False]
    assert budget.stopped.is_set()


class Broken(WeightPredictor):
    calls = 0

    def predict(self, texts: Any) -> Any:
        self.calls += 1
        if self.calls > 4:
            raise AnchorscopeError("the model has gone")
        return super().predict(texts)


def test_a_run_that_fails_says_so(tmp_path: Path) -> None:
    live = LiveRun(tmp_path / "run", run=make_run(model=Broken({"great": 2.0}), folder=tmp_path / "run"))
    live.start()
    end = monotonic() + 30
    while not live.is_done and monotonic() < end:
        sleep(0.02)
    said = json.loads(live.event)
    live.leave()
    assert said["state"] == "failed" and "the model has gone" in said["error"]


def test_an_event_says_how_many_documents_are_predicted(tmp_path: Path) -> None:
    """While there is no snapshot yet; what the model sees is what was said last."""
    said: list[Any] = []

    class Watching(WeightPredictor):
        def predict(self, texts):  # type: ignore[no-untyped-def]
            said.append(json.loads(live.event)["predicted"])
            return super().predict(texts)

    model = Watching({"great": 2.0, "bad": -2.0})
    live = LiveRun(tmp_path / "run", run=make_run(model=model, folder=tmp_path / "run"))
    live.start()
    end = monotonic() + 30
    while not live.is_done and monotonic() < end:
        sleep(0.02)
    assert said[:2] == [[0, 30], [2, 30]]
    assert json.loads(live.event)["predicted"] is None
    live.leave()


def test_pause_holds_the_run_and_leaving_ends_it(tmp_path: Path) -> None:
    live = LiveRun(tmp_path / "run", run=make_run(folder=tmp_path / "run", round_size=1), budget=UntilStopped())
    live.control("pause")
    live.start()
    end = monotonic() + 30
    while json.loads(live.event)["state"] != "paused" and monotonic() < end:
        live.control("pause")
        sleep(0.02)
    version = live.version
    sleep(0.3)
    assert live.version == version
    live.leave()
    assert not live._thread.is_alive()


def test_ctrl_c_with_an_open_page_ends_without_a_complaint(folder: Path) -> None:
    """A stream of events has no end of its own: it ends with the server."""
    command = [sys.executable, "-m", "anchorscope", "serve", str(folder), "--port", "0", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        base, _, token = server.stdout.readline().strip().partition("/?token=")
        wait_for(base)
        with httpx.Client(base_url=base, headers={"Origin": base}, timeout=20) as client:
            client.get(f"/?token={token}")
            with client.stream("GET", "/events") as stream:
                lines = stream.iter_lines()  # held: the stream is closed with it
                assert next(lines).startswith("data: ")
                server.send_signal(signal.SIGINT)
                assert server.wait(20) == 0
        assert server.stderr.read() == ""

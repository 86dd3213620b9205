"""What the live page grants: so many event streams and no more, no answer that nobody waits for, a model that fails."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
from runs import finish, make_run
from uvicorn import Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.report.guard import GRACE, MOST_CONNECTIONS, PatientProtocol
from anchorscope.report.live import LiveRun, Trial
from anchorscope.report.server import MOST_STREAMS, make_server
from anchorscope.settings import preset
from anchorscope.testing import WeightPredictor


class Odd(WeightPredictor):
    """Fails as it is asked to, waits where it is told to, and knows what it was asked."""

    def __init__(self) -> None:
        super().__init__({"great": 3.0, "bad": -3.0})
        self.asked: list[str] = []
        self.wait = Event()

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        for text in texts:
            if text == "cancelled":
                raise asyncio.CancelledError
            if text == "ended":
                raise SystemExit(1)
            if text == "slow":
                self.wait.wait(20)
        return super().predict(texts)


class Site:
    def __init__(self, base: str, token: str, model: Odd, server: Server) -> None:
        self.server = server
        self.port = int(base.rpartition(":")[2])
        self.cookie = f"anchorscope-{self.port}={token}"
        self.headers = {"Origin": base, "Cookie": self.cookie}
        self.base = base
        self.model = model

    def try_it(self, text: str) -> httpx.Response:
        return httpx.post(f"{self.base}/try", json={"text": text}, headers=self.headers, timeout=20)

    def begin_to_try(self, text: str) -> socket.socket:
        body = json.dumps({"text": text})
        return self.send("POST /try", f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n", body)

    def send(self, what: str, more: str = "", body: str = "") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        host = f"127.0.0.1:{self.port}"
        head = f"{what} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {self.cookie}\r\n{more}\r\n"
        connection.sendall((head + body).encode())
        return connection


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    finish(make_run(folder=tmp_path / "run"))
    model = Odd()
    retrying = RetryingPredictor(model, Retry(2, sleep=lambda seconds: None))
    live = LiveRun(tmp_path / "run", trial=Trial(retrying, lambda: MaskTokenPerturbator(""), preset("fast")))
    server, listener, address = make_server(live, port=0)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    live.start()
    wait_until(lambda: server.started)
    base, _, token = address.partition("/?token=")
    yield Site(base, token, model, server)
    model.wait.set()
    server.should_exit = True
    live.leave()
    thread.join(10)


def status_of(connection: socket.socket) -> int:
    return int(connection.recv(64).split()[1])


def test_a_text_that_is_tried_is_answered_when_the_server_ends(site: Site) -> None:
    """The model takes twenty seconds; who waits for it is told at once that the page is closed."""
    with site.begin_to_try("slow") as waiting:
        wait_until(lambda: "slow" in site.model.asked)
        site.server.should_exit = True
        assert status_of(waiting) == 503


def test_the_limit_of_streams_holds_for_those_that_ask_at_once(site: Site) -> None:
    """Sixty ask before the first is answered; a place is free again once its client has gone."""
    with ExitStack() as held:
        asked = [held.enter_context(site.send("GET /events")) for _ in range(60)]
        statuses = sorted(map(status_of, asked))
        assert statuses == [200] * MOST_STREAMS + [503] * (60 - MOST_STREAMS)
    end = monotonic() + 10
    while True:
        with site.send("GET /events") as again:
            if status_of(again) == 200:
                return
        assert monotonic() < end
        sleep(0.1)


def test_cookies_of_strangers_cost_nothing(site: Site) -> None:
    """Quotes within quotes took the square of their number, and the owner had to wait for it."""
    request = f'GET / HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nCookie: a="{{}}"\r\n\r\n'
    begun = monotonic()
    for n_quotes in (8_000, 30_000):
        with socket.create_connection(("127.0.0.1", site.port), timeout=20) as stranger:
            stranger.sendall(request.format('\\"' * n_quotes).encode())
            assert status_of(stranger) == 401
    assert monotonic() - begun < 1.0


@pytest.mark.parametrize("around", ["a=1; {}", "{}; a=1", 'a="x\\"y"; {};b', "a ;  {} ;", "anchorscope-1=x;{}"])
def test_our_cookie_is_found_among_others(around: str, site: Site) -> None:
    headers = {"Cookie": around.format(site.cookie)}
    assert httpx.get(f"{site.base}/view.json", headers=headers).status_code == 200


@pytest.mark.parametrize("around", ["a={}", "{}x", "x{}", "{}; " + "a" * 20_000])
def test_what_is_no_cookie_of_ours_is_none(around: str, site: Site) -> None:
    headers = {"Cookie": around.format(site.cookie)}
    assert httpx.get(f"{site.base}/view.json", headers=headers).status_code == 401


def test_a_question_that_nobody_waits_for_is_not_computed(site: Site) -> None:
    with site.begin_to_try("slow"):
        wait_until(lambda: "slow" in site.model.asked)
        with site.begin_to_try("abandoned"):
            sleep(0.3)
        sleep(1.0)  # the server looks now and then whether somebody is still there
        site.model.wait.set()
        assert site.try_it("great").status_code == 200
    assert "abandoned" not in site.model.asked


@pytest.mark.parametrize("text", ["cancelled", "ended"])
def test_a_model_that_raises_what_is_no_usual_exception_goes_on_answering(site: Site, text: str) -> None:
    answer = site.try_it(text)
    assert answer.status_code == 422 and "The model" in answer.json()["error"]
    assert site.model.asked.count(text) >= 2, "tried again, as promised"
    assert site.try_it("great").json()["label"] == "yes"


def test_so_does_one_that_is_not_tried_again(tmp_path: Path) -> None:
    """The thread that owns the model lives on whatever is raised in it."""
    finish(make_run(folder=tmp_path / "run"))
    live = LiveRun(tmp_path / "run", trial=Trial(Odd(), lambda: MaskTokenPerturbator(""), preset("fast")))
    live.start()
    with pytest.raises(BaseException) as raised:
        live.ask("cancelled", words=False).result(10)
    assert "Cancelled" in type(raised.value).__name__ or "Cancelled" in str(raised.value)
    assert live.ask("great", words=False).result(10)["label"] == "yes"
    live.leave()


def wait_until(is_so: Any) -> None:
    end = monotonic() + 10
    while not is_so():
        assert monotonic() < end
        sleep(0.02)


class Connection(PatientProtocol):
    """A connection whose transport notes that it is closed; nothing of HTTP is in it."""

    def __init__(self, others: set[PatientProtocol], since: float) -> None:
        self.connections, self.cycle, self._since = others, None, since
        self.transport = SimpleNamespace(is_closing=lambda: self.is_closed, close=self._note)
        self.loop = SimpleNamespace(call_later=lambda seconds, what: None)
        self.is_closed = False
        others.add(self)

    def _note(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(("n", "young_are_let_go"), [(MOST_CONNECTIONS, False), (4 * MOST_CONNECTIONS, True)])
def test_a_request_does_not_go_with_the_crowd_that_came_with_it(
    n: int, young_are_let_go: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there for a tenth of a second, and its bytes are not read yet; where there are too many, it goes."""
    monkeypatch.setattr(H11Protocol, "connection_made", lambda self, transport: None)
    others: set[PatientProtocol] = set()
    now = monotonic()
    young = Connection(others, since=now - GRACE / 2)
    old = [Connection(others, since=now - 5) for _ in range(n - 1)]
    Connection(others, since=now).connection_made(None)
    assert all(one.is_closed for one in old)
    assert young.is_closed == young_are_let_go

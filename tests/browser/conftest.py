"""A real browser for the tests of the page, and the runs that it looks at.

SHOTS=folder keeps a picture of each state.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

import pytest
from review_run import review_run
from shown import KeepRun

from anchorscope.demo import Reviews, reviews, train
from anchorscope.predictors import as_predictor
from anchorscope.report.live import LiveRun, UntilStopped
from anchorscope.report.page import write_report
from anchorscope.report.server import make_server
from anchorscope.result import Result
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic"),
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail("Chromium is missing: apt-get install chromium fonts-noto-core fonts-noto-cjk")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class Watched:
    """A page of the browser, with everything it said and asked for."""

    def __init__(self, page: Any) -> None:
        self.page, self.faults, self.requests = page, [], []
        page.on(
            "console", lambda message: self.faults.append(message.text) if message.type in ("error", "warning") else 0
        )
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def until(self, condition: str, seconds: float = 15.0) -> None:
        """Wait until an expression is true; wait_for_function would need eval, which the page forbids."""
        end = monotonic() + seconds
        while not self.page.evaluate(condition):
            assert monotonic() < end, f"never true: {condition}"
            self.page.wait_for_timeout(40)

    def shot(self, name: str) -> None:
        if folder := os.environ.get("SHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png")

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()


@pytest.fixture
def open_page(browser: Any, show: Any) -> Iterator[Callable[..., Watched]]:
    """Opens an address in a window of its own; at the end no error and no request elsewhere is left unsaid.

    Windows are closed before the server is (``show``): a stream that breaks off is an error to a browser.
    """
    opened: list[tuple[Any, Watched, str]] = []

    def open_(url: str, *, width: int = 1600, height: int = 1000, dark: bool = False, **options: Any) -> Watched:
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        context.set_default_timeout(15_000)
        watched = Watched(context.new_page())
        watched.page.goto(url)
        watched.page.wait_for_selector("h1")
        opened.append((context, watched, url))
        return watched

    yield open_
    for context, watched, url in opened:
        context.close()
        assert not watched.faults
        here = url.split("?")[0].split("#")[0]
        allowed = (here if url.startswith("file:") else "/".join(here.split("/")[:3]) + "/", "data:", "blob:")
        assert not [asked for asked in watched.requests if not asked.startswith(allowed)]


@pytest.fixture(scope="session")
def data() -> tuple[Any, Reviews]:
    """The reviews' classifier, and reviews that it has not seen."""
    training, explained = reviews(0)
    return train(training), explained


@pytest.fixture(scope="session")
def keep_run(data: tuple[Any, Reviews], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Explains some reviews and keeps the run; it is stopped early, so that not all is known."""
    made: dict[str, Path] = {}

    def make(name: str, *, n: int = 700, rounds: int = 4, **settings: Any) -> Path:
        if name not in made:
            folder = made[name] = tmp_path_factory.mktemp("runs") / name
            budget = UntilStopped()
            run = review_run(data, folder, n=n, budget=budget, top_k=10, **settings)
            for snapshot in run.snapshots():
                if snapshot.round == rounds:
                    budget.asked.set()
        return made[name]

    return make


@pytest.fixture
def show() -> Iterator[Callable[[LiveRun], str]]:
    """Serves a live run from a thread; the address with its token."""
    running: list[tuple[Any, Thread, LiveRun]] = []

    def start(live: LiveRun) -> str:
        server, listener, address = make_server(live, port=0)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        live.start()
        running.append((server, thread, live))
        return address

    yield start
    for server, thread, live in running:
        server.should_exit = True
        live.leave()
        thread.join(10)


@pytest.fixture(scope="session")
def big_run(data: tuple[Any, Reviews], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten thousand documents: the reviews, and pairs of them."""
    model, explained = data
    training, _ = reviews(0)
    texts = [*training.texts, *explained.texts]
    texts += [f"{a} {b}" for a, b in pairwise(texts)]
    folder, budget = tmp_path_factory.mktemp("runs") / "big", UntilStopped()
    run = Run(
        read_texts(texts[:10_000]),
        as_predictor(model),
        None,
        preset("fast", min_occurrences=3),
        folder=folder,
        budget=budget,
    )
    for snapshot in run.snapshots():
        if snapshot.round == 4:
            budget.asked.set()
    return folder


@pytest.fixture(scope="session")
def report(keep_run: KeepRun) -> tuple[str, Result]:
    folder = keep_run("one")
    path = write_report(folder, against=keep_run("two", seed=5))
    return path.as_uri(), Result.load(folder)


@pytest.fixture(scope="session")
def perturbed(keep_run: KeepRun) -> tuple[str, Result]:
    """A run that replaces words, and measures their effect."""
    folder = keep_run("banzhaf", by="banzhaf")
    return write_report(folder).as_uri(), Result.load(folder)


@pytest.fixture(scope="session")
def anchors(keep_run: KeepRun) -> tuple[str, Result]:
    """A run that counts anchors."""
    folder = keep_run("anchors", n=60, rounds=99, strategy="scan", aggregation="sq", score="anchor")
    return write_report(folder).as_uri(), Result.load(folder)

"""The live page in a real browser: a run from its start until it is settled, and everything that can be done to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import sleep
from typing import Any

from hostile import LABELS, HostilePredictor, hostile_run
from review_run import drivers_first, review_run

from anchorscope.demo import Reviews
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.predictors import as_predictor
from anchorscope.report.live import LiveRun, Trial, UntilStopped
from anchorscope.report.view import waiting_data
from anchorscope.result import Result
from anchorscope.settings import preset
from anchorscope.text.words import split

Show = Callable[[LiveRun], str]


class Unhurried:
    """A model that takes its time, so that a run lasts long enough to be paused on the fastest machine."""

    def __init__(self, predictor: Any) -> None:
        self.name, self.labels, self.fingerprint = predictor.name, predictor.labels, predictor.fingerprint
        self.has_probabilities, self._predictor = predictor.has_probabilities, predictor

    def predict(self, texts: Sequence[str]) -> Any:
        sleep(0.25)
        return self._predictor.predict(texts)


def live_run(data: tuple[Any, Reviews], folder: Path, *, n: int, **settings: Any) -> LiveRun:
    budget = UntilStopped()
    model, explained = data
    predictor = Unhurried(as_predictor(model))
    run = review_run((predictor, explained), folder, n=n, budget=budget, top_k=10, **settings)
    perturbator = run.perturbator
    before = waiting_data(
        "reviews",
        model=predictor.name,
        perturbator=perturbator.name if perturbator else "none",
        labels=predictor.labels,
        n_documents=n,
        settings=run._settings,
    )

    trial = Trial(predictor, lambda: run.perturbator, run._settings)
    return LiveRun(folder, run=run, budget=budget, waiting=before, trial=trial)


WATCH_ARROWS = """() => {
    window.arrows = 0;
    const count = () => { window.arrows += document.querySelectorAll(".move.up, .move.down, .move.new").length; };
    new MutationObserver(count).observe(document.body, { childList: true, subtree: true, attributes: true });
}"""


def fact(watched: Any, name: str) -> str:
    return dict(zip(watched.texts(".about dt"), watched.texts(".about dd")))[name]


def test_a_run_from_start_to_settled(open_page: Any, show: Show, data: tuple[Any, Reviews], tmp_path: Path) -> None:
    """The page is there before the first word; pause holds the run, resume lets it go; then all views are full."""
    live = live_run(data, tmp_path / "run", n=260, round_size=8, regret=0.005)
    watched = open_page(show(live))
    assert "token" not in watched.page.url
    watched.page.evaluate(WATCH_ARROWS)
    watched.page.wait_for_selector(".rows .term")
    watched.page.get_by_role("button", name="Pause").click()
    watched.page.get_by_role("button", name="Resume").wait_for()
    watched.shot("live-paused")
    assert watched.text(".keys kbd") == f"1–{watched.page.locator('#tabs a').count()}"
    tests = fact(watched, "tests")
    watched.page.wait_for_timeout(600)
    assert fact(watched, "tests") == tests and fact(watched, "state") == "paused"
    watched.page.get_by_role("button", name="Resume").click()
    watched.page.get_by_role("button", name="Pause").wait_for()
    watched.shot("live-running")
    watched.page.get_by_label("Ranked by").select_option("base")
    watched.page.wait_for_selector(".rows .term")
    watched.page.get_by_label("Ranked by").select_option("total")
    watched.until("page.live.done", 60)
    watched.until("page.data.documents.length > 0")
    assert "settled" in fact(watched, "state")
    assert watched.page.evaluate("window.arrows") > 0
    assert watched.page.locator(".controls").count() == 0
    result = Result.load(tmp_path / "run")
    for number, explanation in enumerate(result.explanations.values()):
        found = watched.texts(f'.panel[data-label="{number}"] .rows .term')
        assert found == [term.written for term in (*drivers_first(explanation), *explanation.against)]
    watched.shot("live-settled")
    for view, selector in [("curves", "polyline"), ("documents", ".document .effect"), ("table", "tbody th")]:
        watched.page.evaluate(f"location.hash = '{view}'")
        watched.page.wait_for_selector(selector)
    watched.page.reload()
    watched.page.wait_for_selector("tbody th")


def test_stop_ends_a_run_with_its_evidence(
    open_page: Any, show: Show, data: tuple[Any, Reviews], tmp_path: Path
) -> None:
    live = live_run(data, tmp_path / "run", n=700, round_size=8, regret=0.0)
    watched = open_page(show(live), width=400, dark=True)
    watched.page.wait_for_selector(".rows .term")
    watched.page.get_by_role("button", name="Stop").click()
    watched.until("page.live.done", 60)
    watched.until("page.data.evidence.length > 0")
    watched.shot("live-stopped-400-dark")
    assert fact(watched, "state") == "0 of 2 settled"
    assert Result.load(tmp_path / "run").settled is False


def test_try_it(open_page: Any, show: Show, data: tuple[Any, Reviews], keep_run: Callable[..., Path]) -> None:
    """The prediction follows the text; words are shaded; a word removed or replaced changes the prediction."""
    model, _ = data
    trial = Trial(as_predictor(model), lambda: None, preset("fast"))
    watched = open_page(show(LiveRun(keep_run("one"), trial=trial)))
    watched.page.get_by_role("link", name="Try it").click()
    watched.page.get_by_label("Your text").fill("a bad and dull film, 😀 bad acting")
    watched.until("document.querySelectorAll('.prediction > div').length === 2")
    watched.until("document.querySelector('#answer .word') !== null")
    assert watched.page.locator("#answer .shades, #answer .effect").count() == 0
    watched.page.get_by_role("button", name="Test every word").click()
    watched.page.wait_for_selector(".word.effect.for")
    watched.shot("try")
    assert {"bad", "dull"} <= set(watched.texts(".word.effect.for"))
    assert watched.text("#answer .shades").startswith("for positive")
    assert "effect +" in watched.page.locator(".word.effect.for").first.get_attribute("title")
    before = float(watched.text(".prediction .score"))
    watched.page.locator(".word", has_text="bad").first.click()
    assert watched.text(".chosen").startswith("bad: effect +0.")
    watched.page.get_by_label("The word in its place").fill("wonderful")
    watched.page.get_by_role("button", name="Replace").click()
    watched.until("document.querySelectorAll('.past li').length >= 2")
    assert watched.page.get_by_label("Your text").input_value() == "a wonderful and dull film, 😀 bad acting"
    watched.until("document.querySelector('#answer .word:nth-of-type(2)')?.textContent === 'wonderful'")
    assert float(watched.text(".prediction .score")) < before
    watched.page.locator(".word", has_text="dull").click()
    watched.page.get_by_role("button", name="Remove").click()
    assert watched.page.get_by_label("Your text").input_value() == "a wonderful and film, 😀 bad acting"


def test_hostile_texts_on_the_live_page(open_page: Any, show: Show, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    hostile_run(folder)
    perturbator = CorpusPerturbator(top_n=20)
    perturbator = perturbator.fit([split("great thanks")])
    watched = open_page(show(LiveRun(folder, trial=Trial(HostilePredictor(), lambda: perturbator, preset("fast")))))
    assert watched.texts(".panel h2") == list(LABELS)
    for view in ["documents", "table", "curves", "try"]:
        watched.page.evaluate(f"location.hash = '{view}'")
        watched.page.wait_for_timeout(100)
    watched.page.get_by_label("Your text").fill("<img src=x onerror=alert(1)> great")
    watched.until("document.querySelectorAll('.prediction > div').length === 2")
    assert watched.page.evaluate("window.pwned") is None
    assert watched.page.locator("main img").count() == 0

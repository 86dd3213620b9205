"""The report in a real browser: every view, narrow and wide, light and dark, and nothing that a text can do to it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import LABELS, PAYLOADS, hostile_run

from anchorscope.cli import main
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.report.page import write_report
from anchorscope.result import Result
from anchorscope.scoring.aggregations import AGGREGATIONS

KeepRun = Callable[..., Path]


@pytest.fixture(scope="session")
def report(keep_run: KeepRun) -> tuple[str, Result]:
    folder = keep_run("one")
    path = write_report(folder, against=keep_run("two", seed=5))
    return path.as_uri(), Result.load(folder)


def shown(watched: Any, label: int) -> list[str]:
    return watched.texts(f'.panel[data-label="{label}"] .row .term')


def test_the_words_are_those_of_the_result(open_page: Any, report: tuple[str, Result]) -> None:
    url, result = report
    watched = open_page(url)
    watched.shot("words-wide-light")
    for number, explanation in enumerate(result.explanations.values()):
        assert shown(watched, number) == [term.term for term in explanation.terms]
    assert watched.page.locator(".whisker:visible").count() == 20
    facts = dict(zip(watched.texts(".about dt"), watched.texts(".about dd")))
    assert facts["documents"] == "700" and facts["strategy"] == "race" and facts["seed"] == "0"
    assert facts["model calls"] == f"{result.cost.predictor_texts:,}"


SCAN = {"strategy": "scan", "aggregation": "pr", "score": "banzhaf", "n": 60, "rounds": 99}


@pytest.mark.parametrize("settings", [{}, SCAN], ids=["race", "scan"])
def test_the_page_has_the_scores_and_the_order_of_the_library(
    open_page: Any, keep_run: KeepRun, settings: Mapping[str, Any], tmp_path: Path
) -> None:
    """Scores and order of all terms, under all aggregations, for both labels."""
    folder = keep_run("scan" if settings else "one", **settings)
    watched = open_page(write_report(folder, out=tmp_path / "report.html").as_uri())
    with closing(RunReader(folder)) as reader:
        standings = Standings(reader, alpha=0.5, k=10)
        assert watched.page.evaluate("page.data.terms.term") == list(reader.terms)
        for one in AGGREGATIONS.values():
            expected = standings.scores(one)
            for label in range(2):
                found = watched.page.evaluate(f"scoresOf(page.data.terms, '{one.name}', {label})")
                np.testing.assert_allclose(found, expected[label], rtol=1e-8)
                order = watched.page.evaluate(f"entries('{one.name}', {label}).map((entry) => entry.number)")
                assert order == standings.ranking(one, label).tolist()


@pytest.mark.parametrize("settings", [{}, SCAN], ids=["race", "scan"])
def test_the_page_shows_the_lists_of_top(
    open_page: Any, keep_run: KeepRun, settings: Mapping[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Whatever the words are ranked by."""
    folder = keep_run("scan" if settings else "one", **settings)
    watched = open_page(write_report(folder, out=tmp_path / "report.html").as_uri())
    for name in AGGREGATIONS:
        watched.page.get_by_label("Ranked by").select_option(name)
        assert main(["top", str(folder), "--aggregation", name, "--format", "json"]) == 0
        top = json.loads(capsys.readouterr().out)["terms"]
        for number, label in enumerate(("negative", "positive")):
            assert shown(watched, number) == [term["term"] for term in top if term["label"] == label]


@pytest.mark.parametrize("name", ["excess", "pr-inverse"])
def test_a_run_by_any_aggregation_is_shown_as_it_is(
    open_page: Any, keep_run: KeepRun, name: str, tmp_path: Path
) -> None:
    """Its scores come with the page, so that the list is that of the result; the others can still be chosen."""
    folder = keep_run(name, strategy="scan", aggregation=name, score="banzhaf")
    watched = open_page(write_report(folder, out=tmp_path / "report.html").as_uri())
    expected = [term.term for term in next(iter(Result.load(folder).explanations.values())).terms]
    assert shown(watched, 0)[: len(expected)] == expected
    assert watched.page.get_by_label("Ranked by").input_value() == name
    watched.page.get_by_label("Ranked by").select_option("total")
    assert watched.page.url.endswith("#words?by=total")


def test_another_aggregation_ranks_anew_and_has_its_own_address(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    before = shown(watched, 0)
    watched.page.get_by_label("Ranked by").select_option("pr")
    assert shown(watched, 0) != before
    assert watched.page.url.endswith("#words?by=pr")
    after = shown(watched, 0)
    again = open_page(watched.page.url)
    assert shown(again, 0) == after
    assert "×10" in again.text(".heads .score")


def test_words_against_a_class_and_the_number_of_terms(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0] + "#words?k=5")
    assert len(shown(watched, 0)) == 5
    watched.page.get_by_label("Words that push").select_option("against")
    assert all(float(score) < 0 for score in watched.texts(".rows .score"))
    watched.shot("words-against")


def test_arrow_keys_walk_through_the_terms(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    watched.page.locator('.panel[data-label="0"] .term').first.focus()
    watched.page.keyboard.press("ArrowDown")
    watched.page.keyboard.press("ArrowRight")
    focused = watched.page.evaluate("document.activeElement.innerText")
    assert focused == shown(watched, 1)[1]
    watched.page.keyboard.press("Enter")
    watched.page.wait_for_selector(".termhead")
    watched.page.keyboard.press("Escape")
    watched.page.wait_for_selector(".panel")


def test_a_term_shows_its_evidence(open_page: Any, report: tuple[str, Result]) -> None:
    url, result = report
    term = result["negative"].terms[0].term
    watched = open_page(url)
    watched.page.locator('.panel[data-label="0"] .term').first.click()
    watched.page.wait_for_selector(".occurrence")
    assert watched.text(".termhead mark") == term
    assert {word.lower() for word in watched.texts(".occurrence > .text mark")} == {term}
    watched.page.locator("summary").first.click()
    watched.shot("term-wide-light")
    perturbed = watched.texts(".occurrence details li")
    assert len(perturbed) > 5
    kept = [text for text in watched.texts(".occurrence .kept_with li") if text]
    assert all(term in text.lower() for text in kept)


def test_documents_with_their_anchors(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0] + "#documents")
    watched.shot("documents-wide-light")
    n = watched.page.locator(".document").count()
    assert n == 40 and watched.page.locator(".document mark.anchor").count() > 20
    watched.page.locator(".more").click()
    assert watched.page.locator(".document").count() > n
    watched.page.get_by_label("Search").fill("film")
    watched.until("location.hash.includes('q=film')")
    assert all("film" in text.lower() for text in watched.texts(".document > .text"))
    assert watched.page.evaluate("document.activeElement.id") == "search"
    watched.page.locator(".document .badge").first.click()
    watched.page.wait_for_selector("table.words")
    assert watched.page.locator(".document").count() == 1
    watched.shot("document")


def test_curves(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0] + "#curves")
    watched.shot("curves-wide-light")
    assert watched.page.locator(".chart svg").count() == 4
    assert watched.page.locator(".chart polyline").count() == 8


def test_the_table_searches_sorts_filters_and_turns_pages(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0] + "#table?label=positive")
    watched.shot("table-wide-light")
    assert set(watched.texts("tbody .is-label")) == {"positive"}
    first = watched.text("tbody th")
    watched.page.get_by_role("button", name="after →").click()
    assert watched.text("tbody th") != first
    watched.page.get_by_role("button", name="occurs").click()
    counts = [int(text.replace(",", "")) for text in watched.texts("tbody .is-occurrences")]
    assert counts == sorted(counts, reverse=True)
    watched.page.get_by_role("button", name="term").click()
    names = watched.texts("tbody th")
    assert names == sorted(names)
    watched.page.get_by_label("Occurs at least").fill("30")
    watched.until("location.hash.includes('least=30')")
    assert all(int(text.replace(",", "")) >= 30 for text in watched.texts("tbody .is-occurrences"))
    watched.page.keyboard.press("Tab")
    watched.page.locator("h1").click()
    watched.page.keyboard.press("/")
    watched.until("document.activeElement.id === 'search'")
    watched.page.keyboard.type("fi")
    watched.until("location.hash.includes('q=fi')")
    assert all("fi" in text for text in watched.texts("tbody th"))


def test_two_runs_side_by_side(open_page: Any, report: tuple[str, Result], keep_run: KeepRun) -> None:
    watched = open_page(report[0] + "#compare")
    watched.shot("compare-wide-light")
    assert "seed: 0 → 5" in watched.text(".lead")
    told = watched.text(".slope .key")
    counts = {word: int(n) for word, n in zip(told.split()[1::3], told.split()[2::3])}
    assert counts["rose"] + counts["fell"] + counts["stayed"] + counts["vanished"] == 10
    assert counts["appeared"] == counts["vanished"]
    alone = open_page(write_report(keep_run("two", seed=5)).as_uri() + "#compare")
    alone.page.set_input_files("input[type=file]", keep_run("one") / "result.json")
    alone.page.wait_for_selector(".slope")
    assert "seed: 5 → 0" in alone.text(".lead")
    alone.page.set_input_files(
        "input[type=file]", files=[{"name": "x.json", "mimeType": "application/json", "buffer": b"{]"}]
    )
    alone.until("document.querySelector('.lead').textContent.includes('cannot be read')")


def test_json_and_csv_of_a_view(open_page: Any, report: tuple[str, Result]) -> None:
    url, result = report
    watched = open_page(url, accept_downloads=True)
    with watched.page.expect_download() as download:
        watched.page.get_by_label("This view as JSON").click()
    rows = json.loads(Path(download.value.path()).read_text("utf-8"))
    assert [row["term"] for row in rows if row["label"] == "positive"] == [t.term for t in result["positive"].terms]
    with watched.page.expect_download() as download:
        watched.page.get_by_label("This view as CSV").click()
    table = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    assert len(table) == len(rows)
    assert watched.page.evaluate("csv([{a: '=1+1', b: 'x,\"y'}])") == 'a,b\n\'=1+1,"x,""y"\n'


VIEWS = ["words", "documents", "curves", "table", "compare", "term?label=negative&term=too"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_every_view_fits_and_is_named(open_page: Any, report: tuple[str, Result], width: int, dark: bool) -> None:
    """Nothing is wider than the window; every control and picture has a name for screen readers."""
    watched = open_page(report[0], width=width, dark=dark)
    for view in VIEWS:
        watched.page.evaluate(f"location.hash = {json.dumps(view)}")
        watched.page.wait_for_timeout(60)
        watched.shot(f"{view.split('?')[0]}-{width}-{'dark' if dark else 'light'}")
        assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        nameless = """[...document.querySelectorAll("a, button, input, select, textarea, [role=img]")].filter((e) =>
            !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)"""
        assert watched.page.evaluate(nameless) == []
    background = watched.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (background == "rgb(21, 23, 27)") == dark
    watched.page.get_by_label("Light or dark").click()
    assert background != watched.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


# --- texts that would like to be more than texts ---


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile") / "<img src=x onerror=alert(1)>"
    hostile_run(folder)
    return write_report(folder, against=folder).as_uri()


FOREIGN = [
    "document.querySelectorAll('main img, main script, main style, iframe, object, embed, base, form')",
    "[...document.querySelectorAll('*')].filter((e) => e.getAttributeNames().some((n) => n.startsWith('on')))",
    "[...document.querySelectorAll('a')].filter((a) => !a.getAttribute('href').startsWith('#'))",
]
"""Elements, listeners and addresses that the page never makes."""


def test_a_hundred_payloads_stay_texts(open_page: Any, hostile: str) -> None:
    """No dialog, no request, no error (the fixture sees to that), and no element that is not ours."""
    assert len(PAYLOADS) >= 100
    watched = open_page(hostile)
    names = watched.texts(".panel h2")
    assert names == list(LABELS)
    seen = 0
    for view in ["words", "documents", "curves", "table", "compare", *terms_of(watched)]:
        watched.page.evaluate(f"location.hash = {json.dumps(view)}")
        watched.page.wait_for_timeout(30)
        if view in ("words", "documents"):
            watched.shot(f"hostile-{view}")
        while watched.page.locator(".more").count():
            watched.page.locator(".more").click()
        for details in watched.page.locator("details").all():
            details.evaluate("(element) => { element.open = true; }")
        assert [watched.page.evaluate(f"{foreign}.length") for foreign in FOREIGN] == [0, 0, 0]
        if view == "documents":
            texts = watched.texts(".document > .text")
            seen = len(texts)
    assert seen >= 40
    assert watched.page.evaluate("window.pwned") is None


def terms_of(watched: Any) -> list[str]:
    found = watched.page.evaluate(
        "[...document.querySelectorAll('.rows .term')].map((a) => a.getAttribute('href').slice(1))"
    )
    return found[:6]


def test_other_scripts_are_shown_as_they_are_written(open_page: Any, hostile: str) -> None:
    watched = open_page(hostile + "#documents?q=" + "شكرا")
    text = watched.page.locator(".document .text").first
    assert text.evaluate("(e) => getComputedStyle(e).direction") == "rtl"
    watched.shot("right-to-left")


# --- size and speed ---


def test_ten_thousand_documents_are_painted_within_a_second(
    open_page: Any, browser: Any, keep_run: KeepRun, big_run: Path
) -> None:
    path = write_report(big_run)
    assert path.stat().st_size < 2_000_000
    best = []
    for _ in range(3):
        watched = open_page(path.as_uri())
        assert watched.page.locator(".row .term").count() == 40
        entries = "performance.getEntriesByName('first-contentful-paint')"
        watched.until(f"{entries}.length > 0")
        best.append(watched.page.evaluate(f"{entries}[0].startTime"))
    print(f"first paint of {path.stat().st_size:,} bytes after {min(best):.0f} ms")
    assert min(best) < 1000


def test_rows_keep_their_places_while_intervals_overlap(open_page: Any, report: tuple[str, Result]) -> None:
    """b overtakes a but their intervals overlap: the rows stay. c is surely better than both: it moves up."""
    watched = open_page(report[0])
    rows = """(entries) => keepRows(["a", "b", "c"], entries.map(([term, low, high], i) =>
        ({ term, low, high, score: (low + high) / 2, rank: i + 1 }))).map((entry) => entry.term)"""
    assert watched.page.evaluate(rows, [["b", 3, 6], ["a", 2, 5], ["c", 1, 4]]) == ["a", "b", "c"]
    assert watched.page.evaluate(rows, [["c", 7, 9], ["b", 3, 6], ["a", 2, 5]]) == ["c", "a", "b"]
    assert watched.page.evaluate(rows, [["b", 5, 6], ["d", 4, 6], ["a", 1, 2]]) == ["b", "d", "a"]

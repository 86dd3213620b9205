"""The other views: curves, table, two runs side by side; every view at every width."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from review_run import drivers_first
from shown import KeepRun

from anchorscope.report.changes import changes
from anchorscope.report.page import write_report
from anchorscope.result import Result


def test_what_the_figures_of_a_term_and_of_all_terms_are_stands_below_them(
    open_page: Any, report: tuple[str, Result]
) -> None:
    """A driver, and each aggregation of the table of ranks; the columns that the run has."""
    watched = open_page(report[0])
    watched.page.locator(".panel .term").first.click()
    watched.page.wait_for_selector(".figures")
    ranks = watched.texts(".figures thead th a")
    assert ranks and watched.texts(".legend.names dt") == ["driver", *ranks]
    watched = open_page(report[0] + "#table")
    heads = {head.rstrip(" ↑↓") for head in watched.texts("table.terms thead th")}
    named = {name for line in watched.texts(".legend.names dt") for name in line.split(", ")}
    assert {"rank", "driver", "score", "low", "high"} <= named <= heads


def test_curves(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0] + "#curves")
    watched.shot("curves-wide-light")
    assert watched.page.locator(".chart svg").count() == 4
    assert watched.page.locator(".chart polyline").count() == 8
    told = watched.texts("figcaption span")
    assert "A running mean: it rises even when the k-th term does nothing" in told[0]
    assert not any("At least" in line for line in told)  # an expectation is no bound


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


def shown_changes(watched: Any) -> list[dict[str, Any]]:
    """The changes of the first label on the page."""
    found: list[dict[str, Any]] = watched.page.evaluate("changes(explained()[0].name)")
    return found


def test_two_runs_side_by_side(open_page: Any, report: tuple[str, Result], keep_run: KeepRun) -> None:
    watched = open_page(report[0] + "#compare")
    watched.shot("compare-wide-light")
    assert "seed: 0 → 5" in watched.text(".lead")
    before, after = Result.load(keep_run("one")), Result.load(keep_run("two", seed=5))
    for label in after.explanations:
        expected = {row["term"]: row for row in changes(before[label], after[label])}
        shown = watched.page.evaluate("(label) => changes(label)", label)
        assert {row["term"]: {key: row[key] for key in expected[row["term"]]} for row in shown} == expected
    told = watched.texts(".slope .key li")
    first = [row for row in shown_changes(watched) if row["remark"] is None or row["change"] == "stayed"]
    rest = len(shown_changes(watched)) - len(first)
    assert f"not told apart {rest}" in told[5] and rest
    assert watched.text(".some").startswith("Ranks in both runs. Grey: the change may be chance")
    assert f"stayed {sum(row['change'] == 'stayed' for row in first)}" in told[4]
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
    lists = [*drivers_first(result["positive"]), *result["positive"].against]
    assert [row["term"] for row in rows if row["label"] == "positive"] == [term.term for term in lists]
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
        small = """[...document.querySelectorAll("button, .download, .badge, summary, #tabs a")].filter((e) =>
            e.getClientRects().length && e.getBoundingClientRect().height < 24).map((e) => e.outerHTML)"""
        assert watched.page.evaluate(small) == [], view
    background = watched.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (background == "rgb(21, 23, 27)") == dark
    watched.page.get_by_label("Light or dark").click()
    assert background != watched.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


def test_what_is_printed_is_light_and_keeps_its_bars(open_page: Any, report: tuple[str, Result]) -> None:
    """Browsers leave out backgrounds when they print, and would write the dark page's light letters on white paper."""
    watched = open_page(report[0], dark=True)
    watched.page.get_by_label("Light or dark").click()
    watched.page.get_by_label("Light or dark").click()
    assert watched.page.evaluate("document.documentElement.dataset.theme") == "dark"
    watched.page.emulate_media(media="print", color_scheme="dark")
    ink, adjust = watched.page.evaluate(
        """[getComputedStyle(document.documentElement).color,
            getComputedStyle(document.querySelector(".bar")).printColorAdjust]"""
    )
    assert (ink, adjust) == ("rgb(29, 31, 36)", "exact")
    assert not watched.page.locator("#tabs, .tools").first.is_visible()

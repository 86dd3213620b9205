"""Texts that would like to be more than texts, and very many of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hostile import LABELS, PAYLOADS, hostile_run
from shown import KeepRun

from anchorscope import Explainer
from anchorscope.report.page import write_report

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
        assert watched.page.locator(".rows:not(.against) .row .term").count() == 40
        entries = "performance.getEntriesByName('first-contentful-paint')"
        watched.until(f"{entries}.length > 0")
        best.append(watched.page.evaluate(f"{entries}[0].startTime"))
    print(f"first paint of {path.stat().st_size:,} bytes after {min(best):.0f} ms")
    assert min(best) < 1000


def test_long_labels_fit_a_narrow_page_and_no_two_of_the_first_share_a_colour(open_page: Any, tmp_path: Path) -> None:
    """Nine labels, one of them long: six colours came over and over, and the select of labels ran off a phone."""
    words = ["great", "fine", "good", "dull", "slow", "bad", "long", "loud", "odd"]
    labels = ["a label whose name goes on and on and on, and then some more of it", *words[1:]]

    def says(texts: list[str]) -> list[list[float]]:
        held = [[5.0 if word in text.split() else 1.0 for word in words] for text in texts]
        return [[value / sum(row) for value in row] for row in held]

    texts = [f"a {word} film of number {number}" for number in range(12) for word in words]
    Explainer(says, labels=labels, top_k=3).explain(texts, out=tmp_path / "run")
    url = write_report(tmp_path / "run").as_uri()
    for view in ("words", "documents", "table", "curves"):
        watched = open_page(f"{url}#{view}", width=400)
        assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        for box in watched.page.locator("select").all():
            assert box.bounding_box()["x"] + box.bounding_box()["width"] <= 400, view
    wide = open_page(url, width=1600)
    colours = wide.page.evaluate("[...document.querySelectorAll('.panel h2')].map((h) => getComputedStyle(h).color)")
    assert len(colours) == 9 and len({*colours[:7]}) == 7 and len({*colours}) == 8

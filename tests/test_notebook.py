"""Results and snapshots in a notebook, and pictures."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from runs import finish, make_run

from anchorscope.errors import InputError
from anchorscope.report.notebook import html, watch
from anchorscope.report.plot import plot
from anchorscope.types import Explanation, Snapshot, Term

NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "$\\frac{1}$",
    "a$b",
    "\\",
    "x\u202ey",
    "شكرا",
    "谢谢",
]


def nasty() -> dict[str, Explanation]:
    terms = tuple(Term(text, 3.0 - i / 4, (1.0, 4.0), 0.5, 2, 1, 0, 5) for i, text in enumerate(NASTY))
    open_ = Term("open", 1.0, (float("-inf"), float("inf")), None, 0, 0, 0, 1)
    return {label: Explanation(label, 3, 1, False, 0.1, (*terms, open_), "<b>note</b>") for label in NASTY[:2]}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_texts_are_texts() -> None:
    page = Tags()
    page.feed(html(nasty(), level=0.9))
    assert page.tags == {"div", "span", "b", "bdi", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.attributes == {"style"}
    assert NASTY[0] in page.texts and "<b>note</b>" in page.texts and "x\ufffdy" in page.texts


def test_a_result_and_a_snapshot_show_the_same() -> None:
    run = make_run()
    last = finish(run)[-1]
    assert run.result()._repr_html_() == last._repr_html_()
    assert all(term.term in last._repr_html_() for term in last["yes"].terms)


def test_bars_stay_within_their_place() -> None:
    shares = [float(share) for share in re.findall(r"width:([\d.]+)%", html(nasty(), level=1.0))]
    assert shares and max(shares) <= 100


class Handle:
    def __init__(self) -> None:
        self.shown: list[Any] = []

    def update(self, thing: Any) -> None:
        self.shown.append(thing)


def test_watch_follows_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Handle()

    def display(thing: Any, *, display_id: bool) -> Handle:
        assert display_id
        handle.update(thing)
        return handle

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    last = watch(make_run().snapshots())
    assert isinstance(last, Snapshot) and last.finished and handle.shown[-1] is last and len(handle.shown) > 2
    with pytest.raises(InputError, match="no snapshot"):
        watch([])


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_pictures_of_any_words(tmp_path: Path, ending: str) -> None:
    """Words that look like formulas or markup are drawn as they are written."""
    path = tmp_path / f"words.{ending}"
    figure = plot(nasty(), title="$x <b>")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()][3] == r"a\$b"
    figure.savefig(path)
    drawn = path.read_bytes()
    assert len(drawn) > 2000 and (ending == "png" or b"<script" not in drawn)


def test_a_result_plots_itself() -> None:
    run = make_run()
    finish(run)
    figure = run.result().plot()
    assert [axes.get_title() for axes in figure.axes] == ["no", "yes"]
    assert figure.axes[0].xaxis_inverted() and not figure.axes[1].xaxis_inverted()

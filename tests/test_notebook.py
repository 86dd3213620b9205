"""Results and snapshots in a notebook, and pictures."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from runs import finish, make_run

from anchorscope.errors import InputError
from anchorscope.local import LocalExplanation, LocalWord
from anchorscope.report.lists import NOT_TOLD_APART
from anchorscope.report.notebook import COLOURS, MORE, html, watch
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
    terms = tuple(term(text, 3.0 - i / 4, driver=i < 4) for i, text in enumerate(NASTY))
    open_ = replace(term("open", 1.0), interval=(float("-inf"), float("inf")), membership=None)
    against = tuple(term(f"not {text}", -2.0) for text in NASTY)
    return {
        label: Explanation(label, 3, 3, 1, 3, False, 0.1, (*terms, open_), against, "<b>note</b>")
        for label in NASTY[:2]
    }


def term(text: str, score: float, *, driver: bool = True) -> Term:
    ends = sorted((score - 1, score + 1))
    return Term(text, text, score, (ends[0], ends[1]), 0.5, driver, 3, 2, 0, 5)


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
    assert page.attributes == {"style", "colspan"}
    assert NASTY[0] in page.texts and "<b>note</b>" in page.texts and "x\ufffdy" in page.texts


def test_a_result_and_a_snapshot_show_the_same() -> None:
    run = make_run()
    last = finish(run)[-1]
    assert run.result()._repr_html_() == last._repr_html_()
    assert last["yes"].terms and all(term.written in last._repr_html_() for term in last["yes"].terms)


def test_a_label_by_itself_is_drawn_as_its_table_and_printed_in_a_line() -> None:
    one = Explanation(
        "a", 9, 9, None, 0, True, 0.0, (term("x\x1b", 2.0), term("y", 1.0, driver=False)), (term("z", -1.0),)
    )
    page = Tags()
    page.feed(one._repr_html_())
    assert "table" in page.tags and {"a", "y", "z"} <= {*page.texts} and "Whiskers: intervals." in " ".join(page.texts)
    assert repr(one) == "<Explanation of 'a': terms 'x\\x1b' 2, 'y' 1; against 'z' -1>"
    many = replace(one, terms=tuple(term(f"w{i}", 9.0 - i) for i in range(9)), against=(), note="Few.")
    assert repr(many).endswith("'w7' 2 and 1 more; Few.>")


def test_a_term_is_printed_in_a_line() -> None:
    assert repr(replace(term("y", 1.0), tested=3, occurrences=1262)).startswith("<Term 'y': score 1 (")
    assert repr(replace(term("y", 1.0), tested=3, occurrences=1262)).endswith("), driver, tested 3 of 1,262>")


def labels_of(rows: str) -> list[str]:
    page = Tags()
    page.feed(rows)
    return page.texts


def test_a_list_ends_where_the_evidence_ends() -> None:
    """Drivers, the line, the rest, then what speaks against the label."""
    shown = {
        "a": Explanation(
            "a", 9, 9, None, 0, True, 0.0, (term("x", 2.0), term("y", 1.0, driver=False)), (term("z", -1.0),)
        )
    }
    texts = labels_of(html(shown, level=0.9))
    places = [texts.index(text) for text in ("x", f"{NOT_TOLD_APART} so far:", "y", "against a:", "z")]
    assert places == sorted(places)
    none = {"a": Explanation("a", 9, 9, None, 0, False, 0.4, (term("y", 1.0, driver=False),), (), "nothing told apart")}
    assert "nothing told apart" in labels_of(html(none, level=0.9)) and "y" not in labels_of(html(none, level=0.9))


def test_function_words_can_be_hidden() -> None:
    shown = {"a": Explanation("a", 9, 9, None, 0, True, 0.0, (term("of", 2.0), term("great", 1.0)))}
    texts = labels_of(html(shown, level=0.9, hide_function_words=True))
    assert "hidden: of (1)" in texts and "of" not in texts and texts[texts.index("great") - 1] == "2"
    assert "of" in labels_of(html(shown, level=0.9))


def document(*words: LocalWord, score: str = "occlusion", text: str = "<b> great film") -> str:
    return LocalExplanation(text, "<i>", {"<i>": 0.9, "b": 0.1}, score, words)._repr_html_()


def styles_of(page: str) -> dict[str, str]:
    """The style of each word of a document, up to its legend."""
    drawn = re.findall(r'<span style="border-radius:3px;([^"]*)" title="([^"]*)">([^<]*)</span>', page)
    return {word: style for style, _, word in drawn}


def test_a_word_that_does_nothing_is_plain_and_not_hatched() -> None:
    """A score without noise is sure of its 0."""
    page = document(LocalWord("great", (4, 9), 0.0, 0.0), LocalWord("film", (10, 14), 0.2, 0.0))
    assert styles_of(page)["great"] == "" and 'title="effect 0.000"' in page and "told apart" not in page


def test_what_speaks_against_a_label_has_the_colour_of_the_other_and_starts_from_the_other_side() -> None:
    against = Explanation("a", 9, 9, None, 0, True, 0.0, (), (term("z", -1.0),))
    of_two = html({"a": against, "b": Explanation("b", 9, 9, None, 0, True, 0.0, ())}, level=0.9)
    assert f"inset:0 0 0 auto;width:50.0%;background:{COLOURS[1]}" in of_two
    assert "Bars from the right: lowers the label." in of_two
    assert f"background:{COLOURS[1]}" not in html({"a": against}, level=0.9)


def test_a_document_is_shaded_by_the_effects_of_its_words() -> None:
    """Twice the effect is the deeper shade; against the label it has another colour; a text is a text."""
    page = document(
        LocalWord("b", (1, 2), -0.1, 0.0), LocalWord("great", (4, 9), 0.4, 0.0), LocalWord("film", (10, 14), 0.2, 0.0)
    )
    styles = styles_of(page)
    assert "0,103,163,0.50" in styles["great"] and "0,103,163,0.29" in styles["film"] and "184,80,0" in styles["b"]
    assert "inset 0 -2px" in styles["great"] and "inset 0 2px" in styles["b"]
    assert 'title="effect +0.400"' in page and "for &lt;i&gt;</span>" in page and "against it" in page
    assert "A shade is an effect: the probability that the label loses" in page and "the fullest here is 0.400." in page
    tags = Tags()
    tags.feed(page)
    assert tags.tags == {"div", "b", "span"} and "<" in "".join(tags.texts)


def test_what_a_document_cannot_tell_apart_is_hatched() -> None:
    page = document(
        LocalWord("great", (4, 9), 0.2, 0.1), LocalWord("film", (10, 14), 0.9, float("nan")), score="banzhaf"
    )
    assert all("repeating-linear-gradient" in style for style in styles_of(page).values())
    assert "effect +0.200 ± 0.200, not told apart from 0" in page and "± unknown" in page
    assert "the fullest" not in page  # no effect has a shade


def test_the_anchors_of_a_document_are_marked() -> None:
    yes = LocalWord("great", (4, 9), 1.0, 0.1, anchor=True, decided=True, agreements=19, samples=20)
    page = document(yes, LocalWord("film", (10, 14), 0.0, 0.1, anchor=False, decided=True, samples=20), score="anchor")
    styles = styles_of(page)
    assert "0,103,163" in styles["great"] and not styles["film"] and "anchor: kept in 19 of 20" in page


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


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")  # which fonts there are is the machine's affair
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_pictures_of_any_words(tmp_path: Path, ending: str) -> None:
    """Words that look like formulas or markup are drawn as they are written."""
    path = tmp_path / f"words.{ending}"
    figure = plot(nasty(), title="$x <b>")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()][3] == r"a\$b"
    told = [text.get_text().strip() for text in figure.axes[0].texts]
    assert told == [f"{NOT_TOLD_APART} so far", f"against {NASTY[0]}"]
    figure.savefig(path)
    drawn = path.read_bytes()
    assert len(drawn) > 2000 and (ending == "png" or b"<script" not in drawn)


def test_a_result_plots_itself() -> None:
    run = make_run()
    finish(run)
    figure = run.result().plot()
    assert [axes.get_title() for axes in figure.axes] == ["no", "yes"]
    assert figure.axes[0].xaxis_inverted() and not figure.axes[1].xaxis_inverted()


def test_a_label_by_itself_is_drawn_as_it_is_in_the_result() -> None:
    """In the colour of the second label of two, and with the level of the intervals."""
    run = make_run(score="occlusion", aggregation="total", test="fixed", top_k=6, strategy="race", regret=0.3)
    last = finish(run)[-1]
    result = run.result()
    for shown in (result, last):
        whole, alone = shown._repr_html_(), shown["yes"]._repr_html_()
        assert [*result.explanations] == ["no", "yes"]
        assert f'<b style="color:{COLOURS[1]}"><bdi>yes' in whole and f'<b style="color:{COLOURS[1]}"><bdi>yes' in alone
        assert "Whiskers: 90% intervals." in whole and "Whiskers: 90% intervals." in alone
        assert result["yes"].drivers and "Bold: drivers, shown to do more than any other term." in alone
    assert result["yes"] == result.explanations["yes"]


def test_labels_beyond_the_colours_have_one_that_is_nobodys() -> None:
    many = {f"label {i}": Explanation(f"label {i}", 9, 9, None, 0, True, 0.0, ()) for i in range(10)}
    colours = re.findall(r'<b style="color:(#\w+)">', html(many, level=0.9))
    assert colours == [*COLOURS, MORE, MORE, MORE] and MORE not in COLOURS and len({*COLOURS}) == 7

"""Results and snapshots in a notebook: static HTML without scripts, and a display that follows a run.

    from anchorscope.report.notebook import watch
    last = watch(explainer.stream(texts))

    explainer.effects("one great film")  # a document draws itself
    HTML(html(result.explanations, level=result.interval_level, hide_function_words=True))

Every text is escaped; there are no styles but those on the elements themselves, as notebooks sanitise what they show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from math import isfinite
from typing import Any

from anchorscope import registry
from anchorscope.errors import InputError, MissingPackageError
from anchorscope.local import LocalExplanation, LocalWord
from anchorscope.report.figures import figure, fixed, percent, signed
from anchorscope.report.lists import NOTHING_HIDDEN, Listed, Row, listed, parts, standing
from anchorscope.report.local import DEVIATIONS, is_told_apart, strongest
from anchorscope.report.table import BY_SCORE, safe
from anchorscope.result import not_tested
from anchorscope.settings import score_is_graded
from anchorscope.text.words import function_words
from anchorscope.types import Explanation, Placed, Snapshot, Term

COLOURS = ("#0067a3", "#b85000", "#007a5a", "#a8457c", "#8a6a00", "#4a5a9e", "#7b4a2d")
"""Okabe and Ito's, a little darker, and a brown: those of the page."""

MORE = "#3d3f46"
"""What labels beyond these share: a colour that is no other label's."""

_GREY = "#888"
_AGAINST_ONE = "#9f1239"
"""Not told apart; and against a label that is one of several."""

_QUIET = "opacity:.65;font-size:90%"

_FOR, _AGAINST = "0,103,163", "184,80,0"
_HATCHED = "background:repeating-linear-gradient(135deg,rgba(128,128,128,.4) 0 1.5px,transparent 1.5px 5px)"
"""The shades of words: blue for the label, orange against it, hatched where nothing can be told."""


def html(
    explanations: Mapping[str, Explanation],
    *,
    level: float | None = None,
    hide_function_words: bool = False,
    documents: Mapping[str, Any] | None = None,
    among: Placed | None = None,
) -> str:
    """The labels side by side, where there is room: ranked bars with whiskers at the level of the intervals.

    Function words can be hidden: no score and no rank changes, and a line names them. ``documents`` are those of the
    result, whose words the model may not have seen. A label by itself does not know its ``level``, nor the labels
    ``among`` which it stands, unless it was taken out of a result.
    """
    hide = function_words() if hide_function_words else NOTHING_HIDDEN
    terms = [term for explanation in explanations.values() for _, term in listed(explanation, hide).rows]
    scale = _scale(terms)
    first, n_labels = (among.place, among.n_labels) if among else (0, len(explanations))
    blocks = "".join(
        _block(explanation, _colours(i, n_labels), scale, hide)
        for i, explanation in enumerate(explanations.values(), start=first)
    )
    told = _legend(terms, level) + _not_tested(documents or {})
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px 40px">{blocks}</div>{told}'


def _colours(number: int, n_labels: int) -> tuple[str, str]:
    """The colour of a label, and of what speaks against it: of two labels, that of the other one."""
    return colour_of(number), COLOURS[1 - number] if n_labels == 2 else _AGAINST_ONE


def colour_of(number: int) -> str:
    """The colour of a label.

    >>> colour_of(0) == COLOURS[0], colour_of(7) == colour_of(100) == MORE
    (True, True)
    """
    return COLOURS[number] if number < len(COLOURS) else MORE


def _not_tested(documents: Mapping[str, Any]) -> str:
    """What of the documents is not tested."""
    return "".join(f'<div style="{_QUIET}">{escape(told)}</div>' for told in not_tested(documents))


def _legend(terms: Sequence[Term], level: float | None) -> str:
    """What the bars, whiskers and columns say."""
    told = []
    if any(term.driver and term.anchors is None for term in terms):
        told.append("Bold: drivers, shown to do more than any other term.")
    if any(_is_open(term) for term in terms):
        intervals = "intervals" if level is None else f"{level:.0%} intervals"
        told.append("Whiskers: what the score can still become." if level == 1 else f"Whiskers: {intervals}.")
    if any(term.membership is not None for term in terms):
        told.append("Member: the probability of being among the top terms.")
    if any(term.score < 0 for term in terms):
        told.append("Bars from the right: lowers the label.")
    return f'<div style="{_QUIET}">{" ".join(told)}</div>' if told else ""


def document_html(explanation: LocalExplanation) -> str:
    """One document, its words shaded by what they do for the label that the model says, and a legend.

    Where words are tested for anchors, these are marked instead.
    """
    shade = _effect_style if score_is_graded(explanation.score) else _anchor_style
    reach = strongest(explanation)
    pieces = []
    done = 0
    for word in explanation.words:
        start, end = word.span
        style, told = shade(word, reach)
        pieces.append(_text(explanation.text[done:start]))
        pieces.append(
            f'<span style="border-radius:3px;{style}" title="{told}">{_text(explanation.text[start:end])}</span>'
        )
        done = end
    pieces.append(_text(explanation.text[done:]))
    head = f"<b>{_text(explanation.label)}</b> · probability {fixed(explanation.probability, 3)}"
    text = f'<div dir="auto" style="line-height:1.8">{"".join(pieces)}</div>'
    return f"<div>{head}{text}{_document_legend(explanation)}</div>"


def _effect_style(word: LocalWord, reach: float) -> tuple[str, str]:
    """The shade of a word, and its effect in words."""
    if not isfinite(word.effect):
        return "", "not tested"
    off = fixed(DEVIATIONS * word.deviation, 3) if isfinite(word.deviation) else "unknown"
    told = f"effect {signed(word.effect, 3)}" + (f" ± {off}" if word.deviation != 0 else "")
    if word.effect == 0 and word.deviation == 0:
        return "", told
    if not is_told_apart(word):
        return _HATCHED, f"{told}, not told apart from 0"
    colour, line = (_FOR, "-2px") if word.effect > 0 else (_AGAINST, "2px")
    depth = 0.08 + 0.42 * min(1.0, abs(word.effect) / reach)
    return f"background:rgba({colour},{depth:.2f});box-shadow:inset 0 {line} rgba({colour},.8)", told


def _anchor_style(word: LocalWord, reach: float) -> tuple[str, str]:
    """A mark if the word was found to be an anchor, and its test in words."""
    told = f"{'anchor' if word.anchor else 'no anchor'}: kept in {word.agreements} of {word.samples}"
    return (f"background:rgba({_FOR},.3)" if word.anchor else ""), told


def _document_legend(explanation: LocalExplanation) -> str:
    if not score_is_graded(explanation.score):
        return f'<div style="{_QUIET}">Shaded: anchors. With one kept and others replaced, the prediction stays.</div>'
    label = _text(explanation.label)
    meaning = registry.resolve("score", explanation.score).help
    full = (
        f"; the fullest here is {fixed(strongest(explanation), 3)}"
        if any(map(is_told_apart, explanation.words))
        else ""
    )
    told = f"A shade is an effect: {escape(meaning)}{full}."
    hatched = any(_effect_style(word, 1.0)[0] == _HATCHED for word in explanation.words)
    swatches = (
        f'<span style="background:rgba({_FOR},.5);box-shadow:inset 0 -2px rgba({_FOR},.8)">for {label}</span> '
        f'<span style="background:rgba({_AGAINST},.5);box-shadow:inset 0 2px rgba({_AGAINST},.8)">against it</span> '
        + (f'<span style="{_HATCHED}">not told apart from 0</span>' if hatched else "")
    )
    return f'<div style="font-size:90%">{swatches}</div><div style="{_QUIET}">{told}</div>'


def watch(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Show every snapshot in the place of the one before, and give the last one."""
    try:
        display = import_module("IPython.display").display
    except ImportError as error:
        raise MissingPackageError("ipython", "notebook", "a display in a notebook") from error
    handle = None
    last = None
    for last in snapshots:
        if handle is None:
            handle = display(last, display_id=True)
        else:
            handle.update(last)
    if last is None:
        raise InputError("There is no snapshot to show.")
    return last


def _block(explanation: Explanation, colours: tuple[str, str], scale: float, hide: Collection[str]) -> str:
    """One label; its colour is the first, the other one is that of what speaks against it."""
    shown = listed(explanation, hide)
    colour, _ = colours
    head = (
        f'<div style="border-bottom:2px solid {colour};margin-bottom:4px"><b style="color:{colour}">'
        f'<bdi>{_text(explanation.label)}</bdi></b> <span style="{_QUIET}">{" · ".join(standing(explanation))}</span>'
        "</div>"
    )
    note = f'<div style="{_QUIET}">{_text(explanation.note)}</div>' if explanation.note else ""
    table = _table(explanation, shown, colours, scale) if shown.rows else ""
    return f'<div style="min-width:340px">{head}{note}{table}</div>'


def _table(explanation: Explanation, shown: Listed, colours: tuple[str, str], scale: float) -> str:
    """The rows of a label with the lines between them; the names of the columns stand right above the first row."""
    drawn = [
        (_line(f"{line}:") if line else "", "".join(_row(row, colours, scale) for row in rows))
        for line, rows in parts(explanation, shown)
    ]
    columns = "".join(
        f'<th style="padding:1px 6px;text-align:{side};font-weight:normal;{_QUIET}">{name}</th>'
        for name, side in _columns(shown.rows)
    )
    (first, rows), *others = drawn
    rows += "".join(line + more for line, more in others) + (_line(shown.hidden) if shown.hidden else "")
    return f"<table><thead>{first}<tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"


def _columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The names of the columns, and to which side they stand."""
    counts = "anchors/tested" if any(term.anchors is not None for _, term in rows) else "tested/of"
    right = ("score", "member", counts)
    return [(f"# {BY_SCORE}", "right"), ("term", "left"), ("", "left"), *((name, "right") for name in right)]


def _line(text: str) -> str:
    """A line between the rows."""
    style = f"padding:4px 6px;text-align:left;font-style:italic;{_QUIET}"
    return f'<tr><td colspan="6" style="{style}">{_text(text)}</td></tr>'


def _row(row: Row, colours: tuple[str, str], scale: float) -> str:
    """A term; a score below 0 is drawn from the other side, and has the other colour."""
    rank, term = row
    is_against = term.score < 0
    colour = colours[is_against] if term.driver else _GREY
    sides, corners = ("0 0 0 auto", "3px 0 0 3px") if is_against else ("0 auto 0 0", "0 3px 3px 0")
    bar = (
        f'<div style="position:relative;width:160px;height:12px">'
        f'<div style="position:absolute;inset:{sides};width:{_share(abs(term.score), scale)};background:{colour};'
        f'opacity:.4;border-radius:{corners}"></div>{_whisker(term, colour, scale)}</div>'
    )
    written = f"<bdi>{_text(term.written)}</bdi>"
    cells = (
        (str(rank), f"text-align:right;{_QUIET}"),
        (f"<b>{written}</b>" if term.driver else written, "text-align:left"),
        (bar, "text-align:left"),
        (figure(term.score), "text-align:right"),
        ("" if term.membership is None or term.score < 0 else percent(term.membership), "text-align:right"),
        (_counts(term), f"text-align:right;{_QUIET}"),
    )
    drawn = "".join(f'<td style="padding:1px 6px;{style}">{cell}</td>' for cell, style in cells)
    return f"<tr>{drawn}</tr>"


def _counts(term: Term) -> str:
    """Anchors of those tested; or, where none are looked for, how many were tested."""
    if term.anchors is None:
        return f"{term.tested:,}/{term.occurrences:,}"
    return f"{term.anchors:,}/{term.tested:,}"


def _whisker(term: Term, colour: str, scale: float) -> str:
    if not _is_open(term):
        return ""
    sign, side, far = (-1, "right", "left") if term.score < 0 else (1, "left", "right")
    ends = sorted(sign * end / scale for end in term.interval)
    low, high = (max(0.0, min(1.0, end)) for end in ends)
    # An end beyond 0 or beyond the scale is left open.
    near_end, far_end = ("0" if is_cut else "1.5px" for is_cut in (ends[0] < 0, ends[1] > 1))
    return (
        f'<div style="position:absolute;top:3px;height:6px;{side}:{low:.1%};width:{high - low:.1%};'
        f"box-sizing:border-box;border:0 solid {colour};border-{side}-width:{near_end};border-{far}-width:{far_end};"
        f'background:linear-gradient({colour},{colour}) center/100% 1.5px no-repeat"></div>'
    )


def _is_open(term: Term) -> bool:
    low, high = term.interval
    return isfinite(low) and isfinite(high) and high > low


def _scale(terms: Iterable[Term]) -> float:
    """The end of the bars: the farthest whisker, unless it is far behind the longest bar."""
    longest = max((abs(term.score) for term in terms), default=0.0) or 1.0
    farthest = max((abs(end) for term in terms if _is_open(term) for end in term.interval), default=0.0)
    return min(max(longest, farthest), 2 * longest)


def _share(score: float, scale: float) -> str:
    return f"{max(0.0, min(1.0, score / scale)):.1%}"


def _text(value: Any) -> str:
    return escape(safe(str(value)))

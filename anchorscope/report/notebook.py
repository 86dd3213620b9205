"""Results and snapshots in a notebook: static HTML without scripts, and a display that follows a run.

    from anchorscope.report.notebook import watch
    last = watch(explainer.stream(texts))

Every text is escaped; there are no styles but those on the elements themselves, as notebooks sanitise what they show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from importlib import import_module
from math import isfinite
from typing import Any

from anchorscope.errors import InputError, MissingPackageError
from anchorscope.report.table import safe
from anchorscope.types import Explanation, Snapshot, Term

COLOURS = ("#0067a3", "#c25400", "#007a5a", "#a8457c", "#8a6a00", "#4a5a9e")
"""Okabe and Ito's, a little darker: they can be told apart by colour-blind readers."""

_QUIET = "opacity:.65;font-size:90%"


def html(explanations: Mapping[str, Explanation], *, level: float) -> str:
    """The labels side by side, where there is room: ranked bars with whiskers at the level of the intervals."""
    terms = [term for explanation in explanations.values() for term in explanation.terms]
    scale = _scale(terms)
    blocks = "".join(
        _block(explanation, COLOURS[i % len(COLOURS)], scale) for i, explanation in enumerate(explanations.values())
    )
    whiskers = f"Whiskers: {level:.0%} intervals." if level < 1 else "Whiskers: what the score can still become."
    note = f'<div style="{_QUIET}">{whiskers}</div>' if any(_is_open(term) for term in terms) else ""
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px 40px">{blocks}</div>{note}'


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


def _block(explanation: Explanation, colour: str, scale: float) -> str:
    about = [f"{explanation.documents:,} documents"]
    if explanation.robust:
        about.append(f"{explanation.robust:,} robust")
    if explanation.regret is not None:
        about.append(f"regret {explanation.regret:.1%}")
    about.append("settled" if explanation.settled else "not settled")
    head = (
        f'<div style="border-bottom:2px solid {colour};margin-bottom:4px"><b style="color:{colour}">'
        f'<bdi>{_text(explanation.label)}</bdi></b> <span style="{_QUIET}">{" · ".join(about)}</span></div>'
    )
    note = f'<div style="{_QUIET}">{_text(explanation.note)}</div>' if explanation.note else ""
    rows = "".join(_row(rank, term, colour, scale) for rank, term in enumerate(explanation.terms, start=1))
    columns = "".join(
        f'<th style="padding:1px 6px;text-align:{side};font-weight:normal;{_QUIET}">{name}</th>'
        for name, side in (("#", "right"), ("term", "left"), ("", "left"), ("score", "right"), ("", "right"))
    )
    table = f"<table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div style="min-width:340px">{head}{note}{table}</div>'


def _row(rank: int, term: Term, colour: str, scale: float) -> str:
    bar = (
        f'<div style="position:relative;width:160px;height:12px">'
        f'<div style="position:absolute;inset:0 auto 0 0;width:{_share(term.score, scale)};background:{colour};'
        f'opacity:.4;border-radius:0 3px 3px 0"></div>{_whisker(term, colour, scale)}</div>'
    )
    cells = (
        (str(rank), f"text-align:right;{_QUIET}"),
        (
            f"<b><bdi>{_text(term.written)}</bdi></b>" if term.driver else f"<bdi>{_text(term.written)}</bdi>",
            "text-align:left",
        ),
        (bar, "text-align:left"),
        (f"{term.score:.3g}", "text-align:right"),
        (_counts(term), f"text-align:right;{_QUIET}"),
    )
    drawn = "".join(f'<td style="padding:1px 6px;{style}">{cell}</td>' for cell, style in cells)
    return f"<tr>{drawn}</tr>"


def _counts(term: Term) -> str:
    """Anchors of those tested; or, where none are looked for, how many were tested."""
    if term.anchors is None:
        return f"{term.tested:,} of {term.occurrences:,} tested"
    return f"{term.anchors:,} of {term.tested:,}"


def _whisker(term: Term, colour: str, scale: float) -> str:
    if not _is_open(term):
        return ""
    low, high = (max(0.0, min(1.0, end / scale)) for end in term.interval)
    return (
        f'<div style="position:absolute;top:3px;height:6px;left:{low:.1%};width:{high - low:.1%};box-sizing:border-box;'
        f"border:solid {colour};border-width:0 1.5px;background:linear-gradient({colour},{colour}) center/100% 1.5px "
        f'no-repeat"></div>'
    )


def _is_open(term: Term) -> bool:
    low, high = term.interval
    return isfinite(low) and isfinite(high) and high > low


def _scale(terms: Iterable[Term]) -> float:
    """The end of the bars: the farthest whisker, unless it is far behind the longest bar."""
    longest = max((abs(term.score) for term in terms), default=0.0) or 1.0
    farthest = max((term.interval[1] for term in terms if _is_open(term)), default=0.0)
    return min(max(longest, farthest), 2 * longest)


def _share(score: float, scale: float) -> str:
    return f"{max(0.0, min(1.0, score / scale)):.1%}"


def _text(value: Any) -> str:
    return escape(safe(str(value)))

"""Pictures for papers: ranked bars with their intervals, as a matplotlib figure; SVG and PNG by the file's name.

result.plot().savefig("words.svg")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from anchorscope.errors import MissingPackageError
from anchorscope.report.lists import listed, parts
from anchorscope.report.notebook import colour_of
from anchorscope.report.table import safe
from anchorscope.types import Explanation, Term

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FONTS = ("DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Devanagari")
"""For words in any script, those that are installed."""

ROW = 0.24
"""Inches a term."""


def plot(explanations: Mapping[str, Explanation], *, level: float = 1.0, title: str | None = None) -> Figure:
    """A figure with a chart a label, all of one scale; two labels face each other."""
    try:
        from matplotlib import font_manager, rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError("matplotlib", "plot", "pictures") from error

    shown = [explanation for explanation in explanations.values() if explanation.terms]
    longest = max((_n_lines(explanation) for explanation in shown), default=1)
    installed = set(font_manager.get_font_names())
    with rc_context({"font.family": [font for font in FONTS if font in installed], "svg.fonttype": "none"}):
        figure = Figure(figsize=(4.2 * max(1, len(shown)), 0.9 + ROW * longest), layout="constrained")
        every: Any = figure.subplots(1, max(1, len(shown)), squeeze=False)[0]
        rows = [term for one in shown for _, term in listed(one).rows]
        farthest = max((abs(term.score) + _reach(term)[1] for term in rows), default=1.0)
        for number, (axes, explanation) in enumerate(zip(every, shown)):
            _chart(axes, explanation, colour_of(number))
            axes.set_ylim(longest - 0.4, -0.6)
            axes.set_xlim(min(0.0, *axes.get_xlim()), max(1.05 * farthest, 1e-9))
            if len(shown) == 2 and number == 0:
                axes.invert_xaxis()
                axes.yaxis.tick_right()
                axes.spines[["left"]].set_visible(False)
                axes.spines[["right"]].set_visible(True)
        if title:
            figure.suptitle(_plain(title))
    return figure


def _n_lines(explanation: Explanation) -> int:
    """The rows of a chart: a term each, and one for each line between them."""
    divided = parts(explanation, listed(explanation))
    return max(1, sum(bool(line) + len(rows) for line, rows in divided))


def _chart(axes: Axes, explanation: Explanation, colour: str) -> None:
    """Drivers, the other terms below a line, and what speaks against the label: its bars say how much."""
    places: list[tuple[float, Term]] = []
    end = 0
    for line, rows in parts(explanation, listed(explanation)):
        if line:
            across = axes.get_yaxis_transform()  # from the edge of the chart, at the height of a row
            axes.text(0.02, end, _plain(line), transform=across, style="italic", fontsize=7.5, va="center")
            end += 1
        places += [(end + place, term) for place, (_, term) in enumerate(rows)]
        end += len(rows)
    if not places:
        axes.text(0.5, 0.5, _plain(explanation.note or ""), transform=axes.transAxes, ha="center", wrap=True)
    _bars(axes, places, colour)
    axes.set_title(_plain(explanation.label), color=colour, fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _bars(axes: Axes, places: Sequence[tuple[float, Term]], colour: str) -> None:
    at = [place for place, _ in places]
    sizes = [abs(term.score) for _, term in places]
    reach = [_reach(term) for _, term in places]
    axes.barh(at, sizes, color=[colour if term.driver else "#888888" for _, term in places], alpha=0.4, height=0.72)
    axes.errorbar(
        sizes,
        at,
        xerr=[[below for below, _ in reach], [above for _, above in reach]],
        fmt="none",
        ecolor=colour,
        elinewidth=1.2,
        capsize=2.5,
    )
    axes.set_yticks(at, [_plain(term.written) for _, term in places])


def _reach(term: Term) -> tuple[float, float]:
    """How far the whiskers reach below and above the end of the bar."""
    low, high = term.interval
    if not (isfinite(low) and isfinite(high)):
        return 0.0, 0.0
    reach = max(0.0, term.score - low), max(0.0, high - term.score)
    return reach if term.score >= 0 else reach[::-1]


def _plain(text: str) -> str:
    """A text that is not read as a formula."""
    return safe(text).replace("\\", "\\\\").replace("$", r"\$") if "$" in text else safe(text)

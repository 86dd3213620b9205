"""The paper's figures, drawn from the rows of the summary, as SVG and PNG.

intro          quality over time for sum (G_sq), average (G_av) and G_pr with all optimisations, one task
aggregations   AOPC^k by aggregation and k, a box a task and class, bands over seeds
deltas         AOPC^20 over measured time for the deltas and for all optimisations together
optimisations  the same for each optimisation alone
samples        the same for shares of the documents
shared         the ratio of shared terms over time, beside the overlap of two seeds
lengths        seconds a document by the bound on the length
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorscope.errors import MissingPackageError
from anchorscope.files import write_whole
from anchorscope.reproduction import grid
from anchorscope.reproduction.summary import UNOPTIMISED, Box, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0b5fa5", "#b3541e", "#3a7d34", "#7a3f98", "#8c6d1f", "#c2185b", "#555555")
CREATOR = "Anchorscope"
OURS = re.compile(
    rb"\x89PNG\r\n\x1a\n.{25}.{4}tEXtSoftware\0Anchorscope.{4}"
    rb"|<\?xml [^>]*>\s*<!DOCTYPE svg [^>]*>\s*<svg [^>]*>\s*<metadata>\s*"
    rb"((?!<!--|<dc:title>).)*<dc:creator>\s*<cc:Agent>\s*<dc:title>Anchorscope</dc:title>",
    re.DOTALL,
)
"""How a figure of ours begins: its maker is in the first chunk of a PNG, and in the metadata of an SVG."""

SIGN = {"positive": "+", "negative": "−", "spam": "+", "non-spam": "−"}


def draw_all(summary: Summary, folder: Path, *, prefix: str = "", png: bool = True) -> list[Path]:
    """Write every figure that the records have something for; the paths."""
    written = []
    with _style():
        for name, figure in _figures(summary):
            folder.mkdir(parents=True, exist_ok=True)
            written.append(folder / f"{prefix}{name}.svg")
            _write(figure, written[-1], {"Date": None, "Creator": CREATOR})
            if png:
                written.append(folder / f"{prefix}{name}.png")
                _write(figure, written[-1], {"Software": CREATOR}, dpi=110)
    return written


def _write(figure: Figure, path: Path, metadata: Mapping[str, str | None], **how: Any) -> None:
    """A figure that says in its first bytes who made it."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], metadata=dict(metadata), **how)
    write_whole(path, drawn.getvalue(), is_ours=lambda head: OURS.match(head) is not None)


def _figures(summary: Summary) -> Iterator[tuple[str, Figure]]:
    for model in summary.models:
        boxes = [box for box in summary.boxes if box.model == model]
        for name, draw in _DRAWN.items():
            figure = _grid(summary, boxes, draw)
            if figure is not None:
                yield f"{name}_{model}", figure


Draw = Callable[["Axes", Summary, Box], bool]


def _grid(summary: Summary, boxes: Sequence[Box], draw: Draw) -> Figure | None:
    """A chart a box, those with something to show, in rows of four."""
    figure = _new_figure()
    drawn = []
    for box in boxes:
        axes = figure.add_subplot()
        if draw(axes, summary, box):
            axes.set_title(f"{box.task} {SIGN.get(box.label, box.label)}", fontsize=9)
            axes.tick_params(labelsize=7)
            axes.spines[["top", "right"]].set_visible(False)
            drawn.append(axes)
        else:
            axes.remove()
    if not drawn:
        return None
    columns = min(4, len(drawn))
    rows = -(-len(drawn) // columns)
    figure.set_size_inches(3.0 * columns, 2.5 * rows + 0.6)
    spec = figure.add_gridspec(rows, columns)
    for number, axes in enumerate(drawn):
        axes.set_subplotspec(spec[number // columns, number % columns])
    handles, labels = drawn[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2 * columns, fontsize=8)
    return figure


def _style() -> Any:
    """Text stays text in an SVG, and two drawings of the same records are the same file."""
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise MissingPackageError("matplotlib", "plot", "the figures") from error
    return rc_context({"svg.fonttype": "none", "svg.hashsalt": "anchorscope"})


def _new_figure() -> Figure:
    from matplotlib.figure import Figure

    return Figure(layout="constrained")


def _aggregations(axes: Axes, summary: Summary, box: Box) -> bool:
    if not summary.runs(box.task, box.model, "unoptimised"):
        return False
    for name, colour in zip(grid.AGGREGATIONS, COLOURS):
        table = summary.curves(box, name)
        if table is not None:
            _band(axes, np.arange(1, table.shape[1] + 1), table.mean(axis=0), _sd(table), f"G_{name}", colour)
    axes.set_xlabel("k", fontsize=8)
    axes.set_ylabel("AOPC$^k$", fontsize=8)
    return True


def _over_time(settings: Sequence[str], what: str) -> Draw:
    """AOPC or shared terms of several settings over measured time."""

    def draw(axes: Axes, summary: Summary, box: Box) -> bool:
        some = False
        for setting, colour in zip(settings, COLOURS):
            rows = [row for row in summary.over_time(box, setting) if row[what] is not None]
            if rows:
                seconds, middle, spread = (np.array([row[n] for row in rows]) for n in ("seconds", what, f"{what}_sd"))
                _band(axes, seconds, middle, spread, setting, colour)
                some = True
        if what == "shared" and some and (overlap := summary.seed_overlap(box)) is not None:
            axes.axhline(overlap, color="#555555", linestyle=":", label=f"two seeds of {UNOPTIMISED}")
        _logarithmic(axes)
        axes.set_xlabel("seconds", fontsize=8)
        axes.set_ylabel("AOPC$^{20}$" if what == "aopc" else "shared terms", fontsize=8)
        return some

    return draw


def _intro(axes: Axes, summary: Summary, box: Box) -> bool:
    if box.task != summary.tasks[0] or not summary.runs(box.task, box.model, "unoptimised"):
        return False
    drawn = (("sum", "unoptimised", "sq"), ("average", "unoptimised", "av"), ("G_pr, optimised", "optimised", None))
    for (label, setting, aggregation), colour in zip(drawn, ("#000000", "#0f6c7c", "#8c0800")):
        rows = summary.over_time(box, setting, aggregation)
        if rows:
            seconds, middle, spread = (np.array([row[n] for row in rows]) for n in ("seconds", "aopc", "aopc_sd"))
            _band(axes, seconds, middle, spread, label, colour)
    axes.set_xlabel("seconds", fontsize=8)
    axes.set_ylabel("AOPC$^{20}$", fontsize=8)
    return True


def _lengths(axes: Axes, summary: Summary, box: Box) -> bool:
    points = [
        (bound, run["seconds"] / run["n_documents"])
        for setting, bound in grid.LENGTHS.items()
        for run in summary.runs(box.task, box.model, setting)
    ]
    if len({bound for bound, _ in points}) < 2 or box.label != next(
        other.label for other in summary.boxes if (other.task, other.model) == (box.task, box.model)
    ):
        return False
    axes.plot(*zip(*sorted(points)), "o", color=COLOURS[0], label="a run")
    axes.set_xlabel("longest document, characters", fontsize=8)
    axes.set_ylabel("seconds a document", fontsize=8)
    axes.set_ylim(bottom=0)
    return True


def _logarithmic(axes: Axes) -> None:
    """Seconds by powers of ten, written out."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _band(axes: Axes, x: Any, middle: Any, spread: Any, label: str, colour: str) -> None:
    axes.plot(x, middle, color=colour, label=label, linewidth=1.4)
    axes.fill_between(x, middle - spread, middle + spread, color=colour, alpha=0.15, linewidth=0)


def _sd(table: Any) -> Any:
    return table.std(axis=0, ddof=1) if len(table) > 1 else np.zeros(table.shape[1])


_DRAWN: dict[str, Draw] = {
    "intro": _intro,
    "aggregations": _aggregations,
    "deltas": _over_time(grid.DELTAS, "aopc"),
    "optimisations": _over_time(grid.OPTIMISATIONS, "aopc"),
    "samples": _over_time(grid.SAMPLES, "aopc"),
    "shared": _over_time(grid.OPTIMISATIONS[1:], "shared"),
    "shared-deltas": _over_time(grid.DELTAS[1:5], "shared"),
    "lengths": _lengths,
}

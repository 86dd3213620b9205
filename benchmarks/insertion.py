"""Where is the default below simpler rivals in insertion? The table of docs/method.md, from the rows of the yardsticks.

    python -m benchmarks.insertion

The default was to be nowhere below plain occlusion, and in no class below ``banzhaf``, the default before it. In
insertion it is: the table says in how many cells (a class at a number of calls, means over seeds), at which numbers of
calls it is so in the mean over classes, which of these means are told apart (a t-test over the classes, Holm's
correction over the numbers of calls, as in the lines below the tables of docs/yardsticks.md), and in which cell by
most. A cell in which a rival has no list cannot be one where the default is below it: how many there are is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import written
from benchmarks.yardsticks_page import (
    LEVEL,
    REFERENCE,
    TITLES_OF_MODELS,
    Cells,
    Row,
    class_of,
    differences,
    figures,
    holm,
    p_value,
    read,
)

RIVALS = ("occlusion", "banzhaf")
HEADS = ("models", "rival", "below it in", "mean over classes below it at", "told apart", "the furthest below")


def table(folder: Path = written.DATA) -> str:
    """A row a kind of models and rival."""
    lines = [[*HEADS], ["---"] * len(HEADS)]
    for model, title in TITLES_OF_MODELS.items():
        rows = read(folder / f"yardsticks_{model}.csv")
        cells = figures(rows, "insertion")
        lines += [[title, f"`{rival}`", *_compared(cells, rival, _without(rows, rival))] for rival in RIVALS]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _without(rows: Sequence[Row], rival: str) -> int:
    """In how many cells a rival has no word in any of its lists."""
    listed: dict[tuple[str, str], bool] = {}
    for row in rows:
        if row["method"] == rival and row["calls"].isdigit():
            cell = (row["calls"], class_of(row))
            listed[cell] = listed.get(cell, False) or bool(row["terms"])
    return sum(not has for has in listed.values())


def _compared(cells: Cells, rival: str, n_without: int) -> Iterator[str]:
    all_calls = sorted({calls for method, calls in cells if method == rival and calls.isdigit()}, key=int)
    apart = {
        (calls, name): cells[REFERENCE, calls][name] - theirs
        for calls in all_calls
        for name, theirs in cells[rival, calls].items()
        if name in cells[REFERENCE, calls]
    }
    by_calls = [differences(cells, (REFERENCE, calls), (rival, calls)) for calls in all_calls]
    corrected = holm([p_value(values) for values in by_calls])
    below = [(calls, p) for calls, values, p in zip(all_calls, by_calls, corrected) if np.mean(values) < 0]
    without = f" (in {n_without} `{rival}` has no list)" if n_without else ""
    yield f"{sum(value < 0 for value in apart.values())} of {len(apart)} cells{without}"
    yield ", ".join(f"{int(calls):,}" for calls, _ in below) or "none"
    yield ", ".join(f"{int(calls):,}" for calls, p in below if p < LEVEL) or "none"
    calls, name = min(apart, key=lambda cell: apart[cell])
    yield f"{apart[calls, name]:+.3f}: {name}, {int(calls):,}"


if __name__ == "__main__":
    print(table())

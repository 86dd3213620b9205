"""The tables of docs/scale.md, from the rows in docs/data: nothing is run again.

    python -m benchmarks.scale_page

Each stands between two marks, with the commit that its rows are of: ``<!-- scale: NAME -->`` and ``<!-- end -->``, NAME
being that of the rows. Rows that were not made yet leave the place empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.written import DATA, NEW_RULE, OF_FORMER_RULE, is_former

PAGE = DATA.parent / "scale.md"
FORMER = ("9e0c4be", "00f2bdd")
"""Commits of rows on this page that came before NEW_RULE, beside those that all pages know."""

Row = dict[str, Any]
Line = Callable[[Row, Sequence[Row]], list[str]]


def _held(row: Row, _: Sequence[Row]) -> list[str]:
    return [
        *(f"{row['documents']:,}", f"{row['linear_cpu']:.1f}", f"{row['cpu'] - row['linear_cpu']:.1f}"),
        *(f"{row['tests']:,}", f"{row['rounds']}", f"{row['peak_mb']:,.0f}", f"{row['beside_mb']:,.0f}"),
    ]


def _drawn(row: Row, _: Sequence[Row]) -> list[str]:
    seconds = (row["read_seconds"], row["linear_seconds"], row["beyond_seconds"])
    return [
        *(f"{row['documents']:,}", *(f"{value:.0f}" for value in seconds), f"{row['cpu']:.1f}"),
        *(f"{row['peak_mb']:,.0f}", f"{row['beside_mb']:,.0f}", f"{row['tests']:,}", f"{row['rounds']}"),
    ]


def _drawn_here(row: Row, _: Sequence[Row]) -> list[str]:
    memory = (f"{row['peak_mb']:,.0f}", f"{row['beside_mb']:,.0f}")
    return [f"{row['documents']:,}", f"{row['varied']:,}", f"{row['cpu']:.1f}", *memory, f"{row['tests']:,}"]


def _compared(row: Row, rows: Sequence[Row]) -> list[str]:
    first = next(one for one in rows if one["documents"] == row["documents"])
    whole, before = (one["linear_seconds"] + one["beyond_seconds"] for one in (row, first))
    times = (first["linear_seconds"] / row["linear_seconds"], before / whole)
    return [
        *(f"{row['documents']:,}", row["by"], f"{row['linear_seconds']:.1f}", f"{times[0]:.2f}"),
        *(f"{whole:.1f}", f"{times[1]:.2f}", f"{row['linear_cpu']:.1f}", f"{row['workers_cpu']:.1f}"),
        "yes" if row["result"] == first["result"] else "NO",
    ]


COMPARED = (
    *("documents", "by", "linear pass, s", "times as fast", "whole run, s", "times as fast"),
    *("CPU s of the linear pass in this process", "CPU s of the workers that are its children", "same result"),
)
TABLES: dict[str, tuple[Sequence[str], Line]] = {
    "scale": (
        (
            *("documents", "linear pass, CPU s", "race, CPU s", "tests", "rounds", "peak, MB"),
            "of it beside what it held before, MB",
        ),
        _held,
    ),
    "scale_drawn": (
        (
            *("documents", "until all is counted, s", "linear pass, s", "race, s", "CPU of the driver, s"),
            *("peak of the driver, MB", "of it beside what it held before, MB", "tests", "rounds"),
        ),
        _drawn,
    ),
    "scale_drawn_here": (
        ("documents", "varied", "CPU s, all", "peak, MB", "of it beside what it held before, MB", "tests"),
        _drawn_here,
    ),
    "scale_workers": (COMPARED, _compared),
    "scale_busy": (COMPARED, _compared),
}


def drawn(name: str) -> str:
    """The table of some rows, and where they are from."""
    path = DATA / f"{name}.json"
    if not path.exists():
        return "*Not measured yet.*"
    kept = json.loads(path.read_text(encoding="utf-8"))
    heads, line = TABLES[name]
    rows = [line(row, kept["rows"]) for row in kept["rows"]]
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (heads, *rows))
    table = "\n".join([head, f"|{'---|' * len(heads)}", *lines])
    commit = kept["commit"][: len(NEW_RULE)]
    before = f"; {OF_FORMER_RULE}" if is_former(commit) or commit.startswith(FORMER) else ""
    load = f"load {kept['load'][0]:g} on {kept['cores']} cores"
    return f"{table}\n\nCommit {commit}, {kept['date']}, {kept['machine']}, {load}{before}."


def redrawn(page: str) -> str:
    """The page with its tables as the rows have them.

    >>> redrawn("a <!-- scale: no_such_rows --> b <!-- end --> c").replace(chr(10), "/")
    'a <!-- scale: no_such_rows -->//*Not measured yet.*//<!-- end --> c'
    """
    marks = r"(<!-- scale: (\w+) -->).*?(<!-- end -->)"
    return re.sub(marks, lambda found: f"{found[1]}\n\n{drawn(found[2])}\n\n{found[3]}", page, flags=re.DOTALL)


def main() -> None:
    """Write the page."""
    PAGE.write_text(redrawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

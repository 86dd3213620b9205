"""The first screen of docs/yardsticks.md: the reference beside the best of all others, wherever they were compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

Cells = Mapping[tuple[str, str], Mapping[str, float]]
Arrows = Mapping[tuple[str, str], str]

LOOP = "surrogate, then tests"
SHORT = {LOOP: "loop"}
"""What a method is called where there is little room."""


class Compared(NamedTuple):
    """One yardstick of one kind of models: its cells, which of them are told apart from the reference, its digits."""

    models: str
    yardstick: str
    cells: Cells
    arrows: Arrows
    digits: int


def lines(tables: Sequence[Compared], reference: str, left_out: Sequence[str]) -> Iterator[list[str]]:
    """A line a yardstick and kind of models, a cell a number of calls."""
    all_calls = [*dict.fromkeys(calls for table in tables for calls in calls_of(table.cells, reference))]
    for table in tables:
        there = calls_of(table.cells, reference)
        told = [_cell(table, reference, calls, left_out) if calls in there else "" for calls in all_calls]
        yield [table.models, table.yardstick, *told]


def calls_of(cells: Cells, method: str) -> list[str]:
    """The numbers of calls that a method was given, the least first."""
    return sorted({calls for name, calls in cells if name == method and calls.isdigit()}, key=int)


def best_other(cells: Cells, reference: str, calls: str, left_out: Sequence[str]) -> str:
    """The method with the highest mean, of those that have as many classes as the reference.

    >>> cells = {("fast", "500"): {"a": 0.5}, ("lime", "500"): {"a": 0.4}, ("shap", "500"): {"a": 0.1}}
    >>> best_other(cells, "fast", "500", [])
    'lime'
    """
    n_classes = len(cells[reference, calls])
    others = [
        method
        for method, of in cells
        if of == calls and method not in (reference, *left_out) and len(cells[method, of]) == n_classes
    ]
    return max(others, key=lambda method: _mean(cells, method, calls))


def _cell(table: Compared, reference: str, calls: str, left_out: Sequence[str]) -> str:
    """The reference, and the best of the others with its name; the better of the two is bold."""
    other = best_other(table.cells, reference, calls, left_out)
    mine, theirs = (_mean(table.cells, method, calls) for method in (reference, other))
    told = [f"{value:.{table.digits}f}" for value in (mine, theirs)]
    first, second = (f"**{text}**" if value == max(mine, theirs) else text for text, value in zip(told, (mine, theirs)))
    return f"{first}; {named(other)} {second}{table.arrows.get((other, calls), '')}"


def named(method: str) -> str:
    """A method's name where there is little room.

    >>> named("surrogate, then tests"), named("shapiq Shapley, regression"), named("lime")
    ('loop', 'shapiq', 'lime')
    """
    return SHORT.get(method, method.partition(" ")[0])


def _mean(cells: Cells, method: str, calls: str) -> float:
    return float(np.mean([*cells[method, calls].values()]))


def counted(tables: Sequence[Compared], reference: str, rivals: Sequence[str]) -> Iterator[list[str]]:
    """For each rival and yardstick, in how many cells the reference is ahead, and in how many they are told apart."""
    for rival in rivals:
        told = []
        for yardstick in dict.fromkeys(table.yardstick for table in tables):
            mine = [table for table in tables if table.yardstick == yardstick]
            both = [(t, n) for t in mine for n in calls_of(t.cells, reference) if (rival, n) in t.cells]
            ahead = sum(_mean(t.cells, reference, n) > _mean(t.cells, rival, n) for t, n in both)
            arrows = [t.arrows.get((rival, n), "") for t, n in both]
            apart = ", ".join(f"{arrows.count(arrow)}{arrow}" for arrow in "↓↑" if arrow in arrows)
            told.append(f"{ahead} of {len(both)}{f' ({apart})' if apart else ''}")
        yield [f"`{rival}`", *told]


def behind(tables: Sequence[Compared], reference: str, left_out: Sequence[str]) -> str:
    """By yardstick, in how many cells some other method has the higher mean."""
    found: dict[str, list[bool]] = {}
    for table in tables:
        for calls in calls_of(table.cells, reference):
            other = best_other(table.cells, reference, calls, left_out)
            lost = _mean(table.cells, other, calls) > _mean(table.cells, reference, calls)
            found.setdefault(table.yardstick, []).append(lost)
    return ", ".join(f"{name} {sum(of)} of {len(of)}" for name, of in found.items())

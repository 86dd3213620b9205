"""Does a race notice a surrogate that misleads? The default with its surrogate as it is, spoilt, and without one.

    python -m benchmarks.misleading --data FOLDER [--tasks corona dilemma] [--calls 1000 2000 4000] [--seeds 12]

    none        no surrogate
    fitted      as a run fits it
    permuted    the weights of the terms changed about at random: it says much, and nothing that is true
    flipped     the weights with their signs turned: whatever speaks for a label is expected to speak against it
    loud        permuted, and three times as large

A row is a list's replacement (what replacing its words takes from the label) as a share of that of the list that an
oracle makes, for one task, label, surrogate, number of calls (predictions included) and seed. The table in
docs/method.md is drawn from the rows (``--draw``, which runs nothing).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.budget import Budget
from anchorscope.evaluation.yardsticks import Yardsticks, aopc_of_lists
from anchorscope.run import Run
from anchorscope.scoring.surrogate import Surrogate
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from benchmarks import written
from benchmarks.arenas import TASKS, Arena, arena
from benchmarks.yardsticks_page import band, read

PAGE = written.DATA.parent / "method.md"
GOAL = 0.02
"""How far below no surrogate a spoilt one may be in any class."""
K = 20
LOUD = 3.0
Floats = NDArray[np.float64]


def _permuted(weights: Floats, seed: int) -> Floats:
    """The same change of places in both halves and for all labels, so that halves agree with each other."""
    return weights[..., np.random.default_rng([seed, 11]).permutation(weights.shape[-1])]


SPOILT: Mapping[str, Callable[[Floats, int], Floats]] = {
    "fitted": lambda weights, seed: weights,
    "permuted": _permuted,
    "flipped": lambda weights, seed: -weights,
    "loud": lambda weights, seed: LOUD * _permuted(weights, seed),
}
KINDS = ("none", *SPOILT)


class MisledRun(Run):
    """A run whose surrogate is spoilt after it was fitted."""

    def __init__(self, *given: Any, spoil: Callable[[Floats], Floats], **named: Any) -> None:
        super().__init__(*given, **named)
        self._spoil = spoil

    def _surrogate(self, *given: Any) -> Surrogate | None:
        fitted = super()._surrogate(*given)
        return None if fitted is None else replace(fitted, weights=self._spoil(fitted.weights))


def main() -> None:
    """Race, measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["corona", "dilemma", "amazon"], choices=TASKS)
    parser.add_argument("--calls", nargs="+", type=int, default=[1000, 2000, 4000])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.draw:
        PAGE.write_text(redrawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    rows = []
    for task in arguments.tasks:
        rows += measured(arena(task, "linear", arguments.data, None, arguments.documents), arguments)
    print(table(rows))
    print(written.write("misleading", arguments, rows))


def measured(place: Arena, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a label, surrogate, number of calls and seed."""
    yards = place.yardsticks()
    best = {label: _replacement(yard, yard.replacement.oracle()) for label, yard in yards.items() if yard.replacement}
    rows = []
    for kind, calls in product(KINDS, arguments.calls):
        for seed in range(arguments.seeds):
            found = listed(place, kind, calls, seed)
            fixed = {"task": place.task, "surrogate": kind, "calls": calls, "seed": seed}
            rows += [
                {**fixed, "label": label, "replacement": _replacement(yard, found[label]) / best[label]}
                for label, yard in yards.items()
            ]
    return rows


def listed(place: Arena, kind: str, calls: int, seed: int) -> dict[str, list[str]]:
    """The top terms of every label."""
    settings = preset("fast", seed=seed, surrogate=kind != "none")
    spoil = SPOILT.get(kind, SPOILT["fitted"])
    run = MisledRun(
        read_texts(place.texts),
        place.predictor,
        None,
        settings,
        budget=Budget(max_model_calls=calls),
        spoil=lambda weights: spoil(weights, seed),
    )
    *_, last = run.snapshots()
    return {label: [term.term for term in one.terms] for label, one in last.explanations.items()}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line a surrogate: the mean share at each number of calls, and of the class that is furthest below no surrogate
    how far; below it the classes in which the goal is missed, with the band of the difference over seeds."""
    all_calls = sorted({int(row["calls"]) for row in rows})
    lines = [f"| calls, predictions included | {' | '.join(f'{n:,}' for n in all_calls)} |"]
    lines.append("|---" * (len(all_calls) + 1) + "|")
    for kind in KINDS:
        cells = []
        for calls in all_calls:
            share = mean(value for one in _by_class(rows, kind, calls).values() for value in one.values())
            apart = [mean(values) for values in below_none(rows, kind, calls).values()]
            cells.append(f"{share:.3f}" + (f" ({min(apart):+.3f})" if kind != "none" else ""))
        lines.append(f"| {'no surrogate' if kind == 'none' else kind} | {' | '.join(cells)} |")
    missed = list(_missed(rows, all_calls))
    told = "; ".join(missed) if missed else "none"
    n_seeds = len({row["seed"] for row in rows})
    lines += ["", f"Classes more than {GOAL} below no surrogate, with the 95% band over {n_seeds} seeds: {told}."]
    return "\n".join(lines)


def below_none(rows: Sequence[Mapping[str, Any]], kind: str, calls: int) -> dict[str, list[float]]:
    """What each class has more with a surrogate than without, seed by seed."""
    without = _by_class(rows, "none", calls)
    return {
        name: [share - without[name][seed] for seed, share in by_seed.items()]
        for name, by_seed in _by_class(rows, kind, calls).items()
    }


def _missed(rows: Sequence[Mapping[str, Any]], all_calls: Sequence[int]) -> Iterator[str]:
    for kind, calls in product(SPOILT, all_calls):
        for name, values in below_none(rows, kind, calls).items():
            if mean(values) < -GOAL:
                yield f"{name}, {kind}, {calls:,} calls {mean(values):+.3f} ± {band(values):.3f}"


def _by_class(rows: Sequence[Mapping[str, Any]], kind: str, calls: int) -> dict[str, dict[int, float]]:
    """The shares of each class, by seed."""
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        if (row["surrogate"], int(row["calls"])) == (kind, calls):
            found.setdefault(f"{row['task']} {row['label']}", {})[int(row["seed"])] = float(row["replacement"])
    return found


def redrawn(page: str) -> str:
    """The page with the table of the rows that are kept."""
    drawn = table(read(written.DATA / "misleading.csv"))
    marks = r"(<!-- misleading: [^>]*-->).*?(<!-- end of misleading -->)"
    return re.sub(marks, lambda found: f"{found[1]}\n\n{drawn}\n\n{found[2]}", page, flags=re.DOTALL)


def _replacement(yard: Yardsticks, words: list[str]) -> float:
    assert yard.replacement is not None
    return aopc_of_lists(yard.replacement, [words], K)[0]


if __name__ == "__main__":
    main()

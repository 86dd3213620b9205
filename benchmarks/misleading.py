"""Does a race notice a surrogate that misleads? The default with its surrogate as it is, spoilt, and without one.

    python -m benchmarks.misleading --data FOLDER [--tasks corona dilemma] [--calls 1000 2000 4000] [--seeds 3]

    none        no surrogate
    fitted      as a run fits it
    permuted    the weights of the terms changed about at random: it says much, and nothing that is true
    flipped     the weights with their signs turned: whatever speaks for a label is expected to speak against it
    loud        permuted, and three times as large

A row is the mean over seeds of a list's replacement (what replacing its words takes from the label) as a share of that
of the list that an oracle makes, for one task, label, surrogate and number of calls, predictions included.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.budget import Budget
from anchorscope.evaluation.falls import aopc_of_lists
from anchorscope.evaluation.yardsticks import Yardsticks
from anchorscope.run import Run
from anchorscope.scoring.surrogate import Surrogate
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from benchmarks import written
from benchmarks.arenas import TASKS, Arena, arena

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
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    for task in arguments.tasks:
        rows += measured(arena(task, "linear", arguments.data, None, arguments.documents), arguments)
    for kind, calls in product(KINDS, arguments.calls):
        shares = [row["replacement"] for row in rows if (row["surrogate"], row["calls"]) == (kind, calls)]
        print(f"{kind:9} {calls:6,} calls: {mean(shares):.3f}, least {min(shares):.3f}")
    print(written.write("misleading", arguments, rows, differences=differences(rows, arguments.calls)))


def measured(place: Arena, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a label, surrogate and number of calls."""
    yards = place.yardsticks()
    best = {label: _replacement(yard, yard.replacement.oracle()) for label, yard in yards.items() if yard.replacement}
    rows = []
    for kind, calls in product(KINDS, arguments.calls):
        lists = [listed(place, kind, calls, seed) for seed in range(arguments.seeds)]
        for label, yard in yards.items():
            share = mean(_replacement(yard, found[label]) / best[label] for found in lists)
            rows.append({"task": place.task, "label": label, "surrogate": kind, "calls": calls, "replacement": share})
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


def differences(rows: list[dict[str, Any]], calls: list[int]) -> dict[str, float]:
    """How far each surrogate is from none, on average over tasks and labels, by number of calls."""
    found = {}
    for kind, n in product(SPOILT, calls):
        spoilt, without = (
            mean(row["replacement"] for row in rows if (row["surrogate"], row["calls"]) == (one, n))
            for one in (kind, "none")
        )
        found[f"{kind}, {n}"] = round(spoilt - without, 4)
    return found


def _replacement(yard: Yardsticks, words: list[str]) -> float:
    assert yard.replacement is not None
    return aopc_of_lists(yard.replacement, [words], K)[0]


if __name__ == "__main__":
    main()

"""How much does a verdict depend on the bank that its samples draw from?

    OMP_NUM_THREADS=1 python -m benchmarks.banks [--documents 150] [--perturbator embedded]

The same tokens of the same documents (Rotten Tomatoes, a linear classifier) are judged twice: with the same masks and
chances but another bank; and, for comparison, with another stream altogether. For 1, 2 and 4 pairs of half-masks a
bank, drawn from by position or by sample:

    verdicts   the share of tokens with the same answer (sprt, tau 0.95, delta 0.1)
    values     the correlation of the values (24 balanced samples)

Prints a table, writes docs/data/banks.json and .csv.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from anchorscope.local import tested_positions
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.sampling.engine import Engine, Sampling, _Session
from anchorscope.sampling.fills import Bank
from anchorscope.sampling.sequential_test import SequentialTest
from anchorscope.text.words import split
from anchorscope.types import Perturbator, Predictor, Unit
from benchmarks import classifiers, tasks, written

TAU = 0.95
SPRT = SequentialTest("sprt", delta=0.1, epsilon=0.05, look=10, max_samples=1000)
FIXED = SequentialTest("fixed", delta=0.1, epsilon=0.05, look=10, max_samples=24)
PAIRS, DRAWS = (1, 2, 4), ("position", "sample")


class OtherBank(Engine):
    """An engine whose banks come from another seed than its samples."""

    bank_seed = 0

    def _session(self) -> _Session:
        session, s = super()._session(), self._sampling
        session.filling = Bank(self._perturbator, seed=self.bank_seed, n_pairs=s.bank_pairs, draw=s.bank_draw)
        return session


def judged(
    models: tuple[Predictor, Perturbator], sampling: Sampling, test: SequentialTest, units: list[Unit], bank: int
) -> Any:
    """Anchor and value of every token."""
    engine = OtherBank(*models, sampling, test)
    engine.bank_seed = bank
    found, _ = engine.measure(units)
    return found.anchor, found.value


def rows(models: tuple[Predictor, Perturbator], units: list[Unit]) -> list[dict[str, Any]]:
    """One row for each kind of bank."""
    found = []
    for pairs, draw in product(PAIRS, DRAWS):
        if pairs == 1 and draw == "sample":
            continue  # one pair leaves nothing to choose
        shared = Sampling(0, "shared", "bank", "kept", pairs, draw)
        balanced = replace(shared, keep="balanced")
        first, other_bank, other_stream = ((0, 0), (0, 1), (1, 1))
        anchors = {
            key: judged(models, replace(shared, seed=key[0]), SPRT, units, key[1])[0]
            for key in (first, other_bank, other_stream)
        }
        values = {
            key: judged(models, replace(balanced, seed=key[0]), FIXED, units, key[1])[1]
            for key in (first, other_bank, other_stream)
        }
        row: dict[str, Any] = {"pairs": pairs, "draw": draw, "tokens": len(values[first])}
        for name, key in (("other_bank", other_bank), ("other_stream", other_stream)):
            row[f"verdicts_{name}"] = round(float((anchors[first] == anchors[key]).mean()), 4)
            row[f"values_{name}"] = round(float(np.corrcoef(values[first], values[key])[0, 1]), 4)
        row["anchors"] = round(float(anchors[first].mean()), 4)
        found.append(row)
        Console(stderr=True).print(row)
    return found


def main() -> None:
    """Judge, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=150)
    parser.add_argument("--perturbator", default="embedded")
    arguments = parser.parse_args()
    task = tasks.load("rotten-tomatoes", None, arguments.documents)
    predictor = classifiers.train("linear", task.train)
    perturbator = named_perturbator(arguments.perturbator, top_n=50)
    perturbator = perturbator.fit([split(text) for text in task.texts])
    labels = predictor.predict(task.texts).argmax(axis=1).tolist()
    units = []
    for number, (text, label) in enumerate(zip(task.texts, labels)):
        positions = tuple(tested_positions(text))
        units.append(Unit(number, text, label, positions, (TAU,) * len(positions)))
    found = rows((predictor, perturbator), units)
    shown = Table(*found[0])
    for row in found:
        shown.add_row(*map(str, row.values()))
    Console(width=160).print(shown)
    written.write("banks", arguments, found)


if __name__ == "__main__":
    main()

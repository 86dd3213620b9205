"""How often does each test call a token of a known precision an anchor, and after how many samples?

    python benchmarks/acceptance.py            # prints the table and writes docs/data/tests.csv

Nothing is simulated: the agreements after n samples are a Markov chain, so every path is followed with its
probability from one look to the next, and the figures are exact. (The tests compare them with a simulation.)
A row is a test, its delta and a true precision p, always with tau = 0.95, epsilon = 0.05 and a look every 10 samples:

    accepted   the probability that the token is called an anchor
    undecided  the probability that the cap of 1,000 samples ends the test
    samples    the mean number of samples

An error is accepting p < tau or refusing p >= tau. The delta of ``sprt`` bounds it at p <= tau - epsilon and
p >= tau + 0.6 (1 - tau), here 0.90 and 0.98; the delta of ``kl`` and ``kl-one-step`` bounds nothing.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from anchorscope.sampling.sequential_test import SequentialTest

TESTS = ("kl", "kl-one-step", "sprt")
TAU, EPSILON, LOOK, CAP = 0.95, 0.05, 10, 1000
DELTAS = (0.1, 0.3, 0.5)
PRECISIONS = (0.5, 0.7, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 1.0)
CSV = Path(__file__).parents[1] / "docs" / "data" / "tests.csv"


@dataclass(frozen=True, slots=True)
class Row:
    """What a test does to tokens of one true precision."""

    test: str
    delta: float
    precision: float
    accepted: float
    undecided: float
    samples: float


def row(test: SequentialTest, precision: float, *, tau: float = TAU) -> Row:
    """The exact behaviour of a test on tokens of one precision.

    >>> kl = SequentialTest("kl", delta=0.1, epsilon=0.05, look=10, max_samples=1000)
    >>> row(kl, 1.0).accepted, row(kl, 1.0).samples     # 0.9 ** n <= 0.1 from n = 22 on, so at the third look
    (1.0, 30.0)
    """
    step = _binomial(test.look, precision)
    paths, n_samples = np.ones(1), 0
    accepted = undecided = samples = 0.0
    while paths.sum() > 0:
        paths, n_samples = np.convolve(paths, step), n_samples + test.look
        agreements = np.arange(n_samples + 1)
        decisions = test.decide(agreements, np.full(n_samples + 1, n_samples), np.full(n_samples + 1, tau))
        ends = decisions != 0
        if n_samples >= test.max_samples:
            undecided = float(paths[~ends].sum())
            decisions = np.where(ends, decisions, np.where(agreements / n_samples >= tau, 1, -1))
            ends[:] = True
        accepted += float(paths[decisions == 1].sum())
        samples += n_samples * float(paths[ends].sum())
        paths = np.where(ends, 0.0, paths)
    return Row(test.name, test.delta, precision, accepted, undecided, samples)


def table(
    tests: Iterable[str] = TESTS, deltas: Iterable[float] = DELTAS, precisions: Iterable[float] = PRECISIONS
) -> list[Row]:
    """A row for each test, delta and precision."""
    deltas, precisions = list(deltas), list(precisions)
    return [
        row(SequentialTest(name, delta, EPSILON, LOOK, CAP), precision)
        for name in tests
        for delta in deltas
        for precision in precisions
    ]


def write(rows: Iterable[Row], path: Path = CSV) -> None:
    """Write the rows as CSV, rounded to what a page needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(Row.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        for one in rows:
            writer.writerow({key: round(v, 4) if isinstance(v, float) else v for key, v in asdict(one).items()})


def _binomial(n: int, p: float) -> np.ndarray:
    """The probabilities of 0 to n successes."""
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, [1 - p, p])
    return law


def main() -> None:
    """Print the table, and write it."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rows = table()
    print(f"{'test':12} {'delta':>5} {'p':>5} {'accepted':>9} {'undecided':>10} {'samples':>8}")
    for r in rows:
        print(f"{r.test:12} {r.delta:5} {r.precision:5} {r.accepted:9.3f} {r.undecided:10.3f} {r.samples:8.1f}")
    write(rows)
    print(f"written to {CSV}")


if __name__ == "__main__":
    main()

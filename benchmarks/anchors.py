"""Is what is called an anchor one, and is it called one again?

    OMP_NUM_THREADS=1 python -m benchmarks.anchors [--data FOLDER] [--documents 150]

Every word of some documents (film reviews; with --data, tweets of corona too; logistic regressions, fills of the
embedded masked language model) is tested for an anchor under the seeds 0 and 1. Whatever is marked is judged by 2,000
samples or so that keep the word, of seed 2, which has masks and a bank of its own.

    anchors     what Explainer.anchors, --document --score anchor and --aggregation sq do (settings.ANCHOR_TEST)
    former      what they did before: sprt at delta 0.1, fills from one pair of half-masked passes
    paper       the paper's plain test, kl at delta 0.1, on the fills of the former one
    24 samples  what --preset banzhaf reads: 24 balanced samples, half of which keep the word, and blind fills, which
                its judge has too

``precise`` is the share of the marks of both seeds whose precision is tau - epsilon or more, ``at_tau`` tau or more,
``again`` the share that the other seed marks too; each with a range at 90% over drawings of the documents, as the words
of one share its samples. Prints a line each, writes docs/data/anchors.json and .csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.local import tested_positions
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.sampling.engine import Engine
from anchorscope.settings import ANCHOR_TEST, Settings, preset_for_one_document
from anchorscope.text.words import split
from anchorscope.types import Cost, Perturbator, Predictor, Unit
from benchmarks import classifiers, tasks, written

SEEDS = (0, 1)
JUDGE = 2
JUDGED_BY = 4000
"""Samples of the judge: a word is kept in half of them."""

FORMER = {"delta": 0.1, "bank_pairs": 1, "max_samples": 1000}
PAPER = {**FORMER, "test": "kl"}
FEW = {"test": "fixed", "keep": "balanced", "fill": "blind", "max_samples": 24}
RULES: dict[str, dict[str, Any]] = {"anchors": {}, "former": FORMER, "paper": PAPER, "24 samples": FEW}

DRAWINGS = 2000
LEVELS = (5, 95)

Columns = tuple[NDArray[np.bool_], NDArray[np.float64], Cost]
"""Of the words of a document: which are anchors, the share of samples that agree; and what it took."""


def measured(models: tuple[Predictor, Perturbator], units: Sequence[Unit], settings: Settings) -> list[Columns]:
    """What a test says of every document, each by itself, as Explainer.anchors asks."""
    predictor, perturbator = models
    found = []
    for unit in units:
        engine = Engine(predictor, perturbator.fit([split(unit.text)]), settings.sampling, settings.anchor_test)
        told, cost = engine.measure([unit])
        found.append((told.anchor, told.agreements / np.maximum(1, told.samples), cost))
    return found


def judge(fill: str) -> Settings:
    """As many samples for every word, of another seed."""
    return preset_for_one_document("fast", seed=JUDGE, test="fixed", fill=fill, max_samples=JUDGED_BY)


def rows(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a rule."""
    task = tasks.load(name, arguments.data, arguments.documents)
    predictor = classifiers.train("linear", task.train)
    models = predictor, named_perturbator("embedded", top_n=Settings().top_n)
    units = []
    for number, (text, answer) in enumerate(zip(task.texts, predictor.predict(task.texts))):
        positions = tuple(tested_positions(text))
        if positions:
            units.append(Unit(number, text, int(answer.argmax()), positions, (Settings().tau,) * len(positions)))
    precisions: dict[str, list[NDArray[np.float64]]] = {}
    found = []
    for rule, given in RULES.items():
        tested = [measured(models, units, preset_for_one_document("fast", seed=seed, **given)) for seed in SEEDS]
        fill = str(given.get("fill", ANCHOR_TEST["fill"]))
        if fill not in precisions:
            precisions[fill] = [precision for _, precision, _ in measured(models, units, judge(fill))]
        found.append({"task": task.name, "rule": rule, **summary(tested, precisions[fill])})
        print("  ".join(f"{key} {value}" for key, value in written.rounded(found[-1]).items()), flush=True)
    return found


def summary(tested: Sequence[Sequence[Columns]], precisions: Sequence[NDArray[np.float64]]) -> dict[str, Any]:
    """What is marked, how much of it is one, how much is marked again, and what a document costs."""
    settings = Settings()
    # A row a document: words, marks of either seed, those of both, those that are precise, those that reach tau.
    counts = np.array(
        [
            (
                len(precision),
                first.sum(),
                second.sum(),
                (first & second).sum(),
                *((first & enough).sum() + (second & enough).sum() for enough in _reached(precision, settings)),
            )
            for (first, *_), (second, *_), precision in zip(*tested, precisions)
        ],
        np.int64,
    )
    chances = np.random.default_rng(0)
    drawn = np.array([shares(counts[chances.integers(len(counts), size=len(counts))]) for _ in range(DRAWINGS)])
    ranges = np.nanpercentile(drawn, LEVELS, axis=0)
    found: dict[str, Any] = {"documents": len(counts), "words": int(counts[:, 0].sum())}
    found |= {f"marked_{seed}": int(n) for seed, n in zip(SEEDS, counts[:, 1:3].sum(axis=0))}
    for name, share, low, high in zip(("precise", "at_tau", "again"), shares(counts), *ranges):
        found |= {name: share, f"{name}_low": float(low), f"{name}_high": float(high)}
    costs = [cost for columns in tested for _, _, cost in columns]
    found["calls"] = float(np.mean([cost.predictor_texts for cost in costs]))
    found["passes"] = float(np.mean([cost.perturbator_passes for cost in costs]))
    return found


def _reached(precision: NDArray[np.float64], settings: Settings) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    return precision >= settings.tau - settings.epsilon, precision >= settings.tau


def shares(counts: NDArray[np.int64]) -> tuple[float, float, float]:
    """Precise, at tau and marked again, of all marks of both seeds.

    >>> shares(np.array([[9, 2, 2, 1, 3, 2]]))
    (0.75, 0.5, 0.5)
    """
    _, first, second, both, precise, at_tau = counts.sum(axis=0).tolist()
    n = first + second
    return (precise / n, at_tau / n, 2 * both / n) if n else (np.nan,) * 3


def main() -> None:
    """Test, judge, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with corona_train_3class.csv.gz, for tweets too")
    parser.add_argument("--documents", type=int, default=150)
    parser.add_argument("--out", type=Path, help="the folder for the results (docs/data)")
    arguments = parser.parse_args()
    names = ("rotten-tomatoes", *(("corona",) if arguments.data else ()))
    with ProcessPoolExecutor(len(names)) as pool:  # a process a task
        found = [row for of_task in pool.map(partial(rows, arguments=arguments), names) for row in of_task]
    seeds = {"seeds": SEEDS, "judge_seed": JUDGE, "judge_samples": JUDGED_BY, "settings": dict(ANCHOR_TEST)}
    print(written.write("anchors", arguments, found, **seeds))


if __name__ == "__main__":
    main()

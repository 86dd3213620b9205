"""What is known of a slow model after so many calls, and how good is it?

    python -m benchmarks.slow

A model at one second a call answers 100 questions in less than two minutes. Film reviews and a linear model, for which
everything can be computed: after 100, 300 and 1,000 calls (``--max-model-calls``), the drivers that were told apart,
how many of them lower their label when they are removed from all its documents (``true``), and the share of the AOPC^10
of the one-at-a-time oracle, which asks about every word of every document, that the ten best words reach.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from anchorscope import Explainer
from anchorscope.asking.removals import Removals
from anchorscope.demo import reviews, train
from anchorscope.predictors import as_predictor
from benchmarks.written import write

BUDGETS = (100, 300, 1000)
TOP = 10


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="where to write, instead of docs/data")
    given = parser.parse_args()
    training, held_out = reviews(seed=0)
    predictor = as_predictor(train(training))
    texts = list(held_out.texts[: given.documents])
    removals = {label: Removals(predictor, texts, label) for label in predictor.labels}
    drops = {label: found.further_drops(()) for label, found in removals.items()}
    rows = [row(calls, predictor, texts, removals, drops, given.seeds) for calls in BUDGETS]
    for one in rows:
        print("  ".join(f"{name} {value:.3g}" for name, value in one.items()))
    write("slow", given, rows)
    return 0


def row(
    calls: int, predictor: Any, texts: list[str], removals: dict[str, Removals], drops: Any, seeds: int
) -> dict[str, float]:
    """The mean over seeds and labels."""
    found = []
    for seed in range(seeds):
        result = Explainer(predictor, top_k=TOP, random_state=seed, max_model_calls=calls).explain(texts)
        for label, explanation in result.explanations.items():
            best = sorted(drops[label], key=drops[label].__getitem__, reverse=True)[:TOP]
            listed = [term.term for term in explanation.terms[:TOP]]
            share = removals[label].aopc(listed) / removals[label].aopc(best) if listed else 0.0
            drivers = [term.term for term in explanation.drivers]
            true = sum(drops[label].get(term, 0.0) > 0 for term in drivers)
            found.append((result.cost.predictor_texts, len(drivers), true, share, float(not drivers)))
    mean = np.mean(found, axis=0).tolist()
    names = ("calls", "drivers", "of them true", "share of the oracle's AOPC^10", "lists that tell nothing apart")
    return dict(zip(names, mean))


if __name__ == "__main__":
    sys.exit(main())

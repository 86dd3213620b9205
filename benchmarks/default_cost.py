"""What the default takes, against the one before it, at the same stated regret.

    OMP_NUM_THREADS=1 python -m benchmarks.default_cost [--data FOLDER] [--tasks rotten-tomatoes corona] [--seeds 3]

Preset fast (words left out one at a time) and preset banzhaf (blocks of samples, the default before) explain the same
documents by the same linear classifier until their lists are settled at a regret of 2%. Reported are the texts that the
model was asked about, predictions of the documents included, the seconds of the processor, and the ratio of both to
banzhaf's: what each takes to its own end, as the two seek different scores. Prints a line each, writes
default_cost.json and .csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from anchorscope import Explainer
from benchmarks import classifiers, tasks, written

PRESETS = ("banzhaf", "fast")


def measured(model: Any, texts: list[str], preset: str, seeds: int) -> dict[str, float]:
    """Means over seeds."""
    found = []
    for seed in range(seeds):
        begun = process_time()
        result = Explainer(model, preset=preset, random_state=seed).explain(texts)
        regret = max(explanation.regret or 0.0 for explanation in result.explanations.values())
        found.append((result.cost.predictor_texts, process_time() - begun, regret))
    return dict(zip(("calls", "seconds", "largest regret"), np.mean(found, axis=0).tolist()))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["rotten-tomatoes"], choices=tasks.NAMES)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.tasks:
        task = tasks.load(name, arguments.data, arguments.documents)
        model = classifiers.classifier("linear", task, None, "cpu")
        former: dict[str, float] = {}
        for preset in PRESETS:
            now = measured(model, task.texts, preset, arguments.seeds)
            former = former or now
            ratios = {f"{what} / banzhaf's": now[what] / former[what] for what in ("calls", "seconds")}
            row = {"task": name, "documents": len(task.texts), "preset": preset, **now, **ratios}
            print(", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
            rows.append(row)
    print(written.write("default_cost", arguments, rows))


if __name__ == "__main__":
    main()

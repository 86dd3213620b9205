"""How long does a run take, against the bare model on the same texts? scikit-learn pipelines, the default settings.

    python -m benchmarks.own_time --data FOLDER [--tasks corona] [--documents 1000 10000] [--repeats 3]

    run     CPU seconds from the documents to the last snapshot, in one process
    model   CPU seconds that the model itself takes for the very texts that the run asked about, each as often as it was
            asked, in the batches that suit it best (of several sizes)
    own     run / model
    a call  microseconds of the run beyond the model, for each call: a model that takes three times as long for a text
            is within 1.3

CPU seconds, and the least of the repeats of both, as other work on the machine can only add to either. A regret
of 0 tests everything.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.run import Run
from anchorscope.settings import Settings, preset
from anchorscope.text.read import read_texts
from anchorscope.types import Predictor
from benchmarks import written
from benchmarks.arenas import TASKS, arena

BATCHES = (256, 1024, 4096, 16384)


class Recording:
    """A predictor that remembers what it was asked."""

    has_probabilities = True

    def __init__(self, predictor: Predictor) -> None:
        self.inner = predictor
        self.name, self.labels, self.fingerprint = predictor.name, predictor.labels, predictor.fingerprint
        self.texts: list[str] = []

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """As the model does."""
        self.texts += texts
        return self.inner.predict(texts)


def seconds_of_run(predictor: Predictor, texts: Sequence[str], settings: Settings) -> float:
    """From documents to the last snapshot."""
    documents = read_texts(texts)
    start = process_time()
    for _ in Run(documents, predictor, None, settings).snapshots():
        pass
    return process_time() - start


def seconds_of_model(predictor: Predictor, texts: Sequence[str], size: int) -> float:
    """The bare model, in batches of a size, the texts in the order of their length."""
    ordered = sorted(texts, key=len)
    start = process_time()
    for begin in range(0, len(ordered), size):
        predictor.predict(ordered[begin : begin + size])
    return process_time() - start


def measured(task: str, predictor: Predictor, texts: Sequence[str], regret: float, repeats: int) -> dict[str, Any]:
    """One row."""
    settings = preset("fast", regret=regret)
    recording = Recording(predictor)
    seconds_of_run(recording, texts, settings)
    run = min(seconds_of_run(predictor, texts, settings) for _ in range(repeats))
    model, size = min(
        (min(seconds_of_model(predictor, recording.texts, size) for _ in range(repeats)), size) for size in BATCHES
    )
    n_calls = len(recording.texts)
    row = {"task": task, "documents": len(texts), "regret": regret, "calls": n_calls, "run": run, "model": model}
    return {**row, "batch": size, "own": run / model, "a call": 1e6 * (run - model) / n_calls}


def main() -> None:
    """A row a task and number of documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["corona"], choices=TASKS)
    parser.add_argument("--documents", nargs="+", type=int, default=[1000, 10_000])
    parser.add_argument("--regrets", nargs="+", type=float, default=[0.02, 0.0], help="0 tests everything")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    for task in arguments.tasks:
        place = arena(task, "linear", arguments.data, None, max(arguments.documents))
        for n in arguments.documents:
            for regret in arguments.regrets:
                rows.append(measured(task, place.predictor, place.texts[:n], regret, arguments.repeats))
                print("  ".join(f"{name} {value}" for name, value in written.rounded(rows[-1]).items()), flush=True)
    print(written.write("own_time", arguments, rows))


if __name__ == "__main__":
    main()

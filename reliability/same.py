"""Batch sizes, threads, workers and the order of the input: is it one and the same result?

The default and Banzhaf values x batches of 1, 64 and 256 x threads 1, 2 x workers 1, 2 x two orders of the input, with
models whose answer about a text does not depend on the texts beside it: a scikit-learn pipeline and the embedded masked
language model on onnxruntime. (torch differs in the sixth digit from batch to batch: near-ties may fall otherwise
there.) Each combination is a process of its own, since the number of threads is read when a process starts. The
classifier is trained once, for all of them: how many threads train it shows in the last digits of its weights.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reliability.tables import ROOT, Study, options

PRESETS = ("fast", "banzhaf")
BATCHES, THREADS, WORKERS, ORDERS = (1, 64, 256), (1, 2), (1, 2), (0, 1)


class Batched:
    """A predictor that asks its model about so many texts at a time."""

    def __init__(self, predictor: Any, size: int) -> None:
        self.predictor, self.size = predictor, size
        self.name, self.labels, self.fingerprint = predictor.name, predictor.labels, predictor.fingerprint
        self.has_probabilities = True

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels)."""
        parts = [self.predictor.predict(texts[i : i + self.size]) for i in range(0, len(texts), self.size)]
        return np.concatenate(parts)


def explain(preset: str, batch: int, threads: int, workers: int, order: int, *, n_documents: int, model: Path) -> str:
    """The digest of what a run finds, but for its cost."""
    from anchorscope import Explainer
    from anchorscope.demo import reviews
    from anchorscope.perturbators.embedded import EmbeddedPerturbator
    from anchorscope.predictors import as_predictor

    texts = reviews(seed=0)[1].texts[:n_documents]
    if order:
        random.Random(order).shuffle(texts)
    explainer = Explainer(
        Batched(as_predictor(pickle.loads(model.read_bytes())), batch),
        top_k=10,
        preset=preset,
        perturbator=EmbeddedPerturbator(batch_size=batch, threads=threads) if preset == "banzhaf" else None,
        settings={"round_size": 32},
        workers=workers,
    )
    values = explainer.explain(texts).to_dict()
    del values["cost"]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def main() -> int:
    """Run the study; or, with a preset and four numbers, one combination of it."""
    parser = options(__doc__, documents=40)
    parser.add_argument("--one", nargs=5, help="preset, batch, threads, workers, order: print the digest only")
    parser.add_argument("--model", type=Path, help="the pickled classifier for --one")
    given = parser.parse_args()
    if given.one:
        preset, *numbers = given.one
        print(explain(preset, *map(int, numbers), n_documents=given.documents, model=given.model))
        return 0
    study = Study(
        "same",
        "two presets x batch sizes 1, 64, 256 x threads 1, 2 x workers 1, 2 x permutations of the input",
        "one and the same result of each preset",
        given.seed,
        not given.in_full,
    )
    combinations = list(itertools.product(PRESETS, BATCHES, THREADS, WORKERS, ORDERS))
    with tempfile.TemporaryDirectory(prefix="anchorscope-same-") as scratch:
        model = trained(Path(scratch))
        for combination in combinations[:: 11 if given.quick else 1]:
            digest = in_a_process(combination, 20 if given.quick else given.documents, model)
            study.add(**dict(zip(("preset", "batch", "threads", "workers", "order"), combination)), result=digest)
    return verdict(study)


def verdict(study: Study) -> int:
    """Each preset has one result, and no run has none."""
    results = {preset: {row["result"] for row in study.rows if row["preset"] == preset} for preset in PRESETS}
    n_failed = sum(row["result"] is None for row in study.rows)
    counts = ", ".join(f"{preset} {len(found)}" for preset, found in results.items())
    return study.end(
        reached=n_failed == 0 and all(len(found) == 1 for found in results.values()),
        found=f"{len(study.rows)} combinations, {n_failed} failed; distinct results: {counts}",
    )


def trained(folder: Path) -> Path:
    """The demo's classifier, in a file."""
    from anchorscope.demo import reviews, train

    path = folder / "model.pkl"
    path.write_bytes(pickle.dumps(train(reviews(seed=0)[0])))
    return path


def in_a_process(combination: tuple[str, int, int, int, int], n_documents: int, model: Path) -> str | None:
    """The digest of one combination, computed with so many threads; None where the run failed."""
    threads = str(combination[2])
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    command = [sys.executable, "-m", "reliability.same", "--documents", str(n_documents), "--model", str(model)]
    command += ["--one", *map(str, combination)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr)
        return None
    return done.stdout.strip()[:16]


if __name__ == "__main__":
    raise SystemExit(main())

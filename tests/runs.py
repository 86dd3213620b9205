"""Small whole runs for the tests of run, journal and laws: a known model over thirty short reviews."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anchorscope.asking.budget import Budget
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.result import Result
from anchorscope.run import Run
from anchorscope.settings import Settings, score_perturbs
from anchorscope.testing import WeightPredictor
from anchorscope.text.read import read_texts
from anchorscope.types import Snapshot

WEIGHTS = {"great": 2.0, "fine": 1.0, "bad": -2.0, "dull": -1.2, "slow": -0.7, "not": -0.4, "film": 0.1}


def reviews(n: int = 30, seed: int = 0) -> list[str]:
    """Short texts over twelve words, some of them twice."""
    chances = np.random.default_rng(seed)
    words = ["great", "fine", "bad", "dull", "slow", "not", "film", "cast", "the", "plot", "and", "so"]
    return [" ".join(chances.choice(words, chances.integers(2, 8))) for _ in range(n)]


def predictor() -> WeightPredictor:
    return WeightPredictor(WEIGHTS, bias=-0.05)


PLAIN = {
    "aggregation": "pr",
    "test": "kl",
    "keep": "shared",
    "fill": "bank",
    "stop_words": "none",
    "min_occurrences": 1,
    "top_k": 4,
    "tau": 0.8,
    "max_samples": 60,
    "round_size": 4,
    "strategy": "scan",
}


def make_run(
    texts: Sequence[str] | None = None,
    *,
    model: Any = None,
    perturbator: Any = None,
    folder: Path | None = None,
    resume: bool = False,
    backend: str = "local",
    workers: int | None = None,
    budget: Budget | None = None,
    training_texts: Sequence[str] | None = None,
    keep_texts: bool = True,
    **settings: Any,
) -> Run:
    chosen = Settings(**{**PLAIN, **settings})
    return Run(
        read_texts(reviews() if texts is None else texts),
        model or predictor(),
        perturbator or (CorpusPerturbator(top_n=12) if score_perturbs(chosen) else None),
        chosen,
        folder=folder,
        resume=resume,
        backend=backend,
        workers=workers,
        budget=budget,
        training_texts=training_texts,
        keep_texts=keep_texts,
    )


def finish(run: Run, *, rounds: int | None = None) -> list[Snapshot]:
    """The snapshots of a run, or of its first rounds: it is then left as a user leaves it who stops watching."""
    stream, seen = run.snapshots(), []
    for snapshot in stream:
        seen.append(snapshot)
        if rounds is not None and snapshot.round >= rounds:
            stream.close()
            break
    return seen


def outcome(run: Run) -> dict[str, Any]:
    """All of the result but its cost: what the laws say must be the same."""
    result: Result = run.result()
    return {key: value for key, value in result.to_dict().items() if key != "cost"}


def explained(**given: Any) -> dict[str, Any]:
    run = make_run(**given)
    finish(run)
    return outcome(run)

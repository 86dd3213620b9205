"""What every contender reads and writes, so that all of them do the same work on the same models.

A folder holds ``task.json``: documents as words, the positions to judge, the weights of a logistic regression on word
counts; beside it lies ``mlm``, a Hugging Face masked language model. A contender reads both, judges, and writes one
JSON with its times, its counts and its verdicts. This file runs in the environments of the peers: numpy and
scikit-learn only.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Judged:
    """A document as all contenders see it: its text, the words in it, and the positions to judge."""

    text: str
    words: list[str]
    positions: list[int]


class Classifier:
    """Logistic regression on word counts, by scikit-learn; counts the texts that it is asked."""

    def __init__(self, labels: Sequence[str], vocabulary: dict[str, int], weights: list[float], intercept: float):
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        regression = LogisticRegression()
        regression.coef_, regression.intercept_ = np.array([weights]), np.array([intercept])
        regression.classes_, regression.n_features_in_ = np.array(labels), len(weights)
        self.labels = list(labels)
        self.model = make_pipeline(CountVectorizer(vocabulary=vocabulary), regression)
        self.n_texts = 0

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """Probabilities (texts, 2)."""
        self.n_texts += len(texts)
        return self.model.predict_proba(texts)

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """The number of the label of each text."""
        return self.probabilities(texts).argmax(axis=1)


def write_task(folder: Path, labels: Sequence[str], documents: Sequence[Judged], model: Any) -> None:
    """Write the task of a fitted pipeline of CountVectorizer and LogisticRegression."""
    vectoriser, regression = (step for _, step in model.steps)
    assert type(vectoriser).__name__ == "CountVectorizer" and regression.coef_.shape[0] == 1, "two labels, word counts"
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "labels": list(labels),
        "documents": [vars(document) for document in documents],
        "vocabulary": {word: int(column) for word, column in vectoriser.vocabulary_.items()},
        "weights": regression.coef_[0].tolist(),
        "intercept": float(regression.intercept_[0]),
    }
    (folder / "task.json").write_text(json.dumps(content), encoding="utf-8")


def read_task(folder: Path) -> tuple[list[Judged], Classifier]:
    """The documents and the classifier of a folder."""
    content = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    names = ("labels", "vocabulary", "weights", "intercept")
    documents = [Judged(**document) for document in content["documents"]]
    return documents, Classifier(*(content[name] for name in names))


class Meter:
    """Seconds on the clock and seconds of CPU, those of ended children included, between ``with`` and its end."""

    def __enter__(self) -> Meter:
        self._cpu, self._wall = _cpu_seconds(), perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds, self.cpu_seconds = perf_counter() - self._wall, _cpu_seconds() - self._cpu


def write_answer(path: Path, meter: Meter, *, texts: int, passes: int, **more: Any) -> None:
    """Write what a contender found, and what it took."""
    took = {"seconds": meter.seconds, "cpu_seconds": meter.cpu_seconds, "texts": texts, "passes": passes}
    path.write_text(json.dumps({**took, **more}), encoding="utf-8")


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)

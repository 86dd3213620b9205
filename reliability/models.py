"""The classifier of the studies, as the command line loads it: ``--model reliability.models:reviews``.

It is the demo's (TF-IDF and logistic regression), trained by scikit-learn when the work load is made and computed here
from its weights: importing scikit-learn and skops would take longer than a run. Every call is written to ``calls.log``
before it is made, so that what was asked twice can be counted after a kill.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = "RELIABILITY_WORK"
"""The environment variable that names the folder of the work load."""

WORD = re.compile(r"(?u)\b\w\w+\b")


class Counted:
    """A predictor that writes down how many texts it is asked about."""

    name = "reviews"
    labels: tuple[str, ...] = ("negative", "positive")
    has_probabilities = True
    fingerprint = "the demo's classifier"

    def __init__(self) -> None:
        self._weights: dict[str, tuple[float, float]] = {}
        self._bias = 0.0

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, 2)."""
        folder = Path(os.environ[FOLDER])
        if not self._weights:
            self._weights, self._bias = json.loads((folder / "weights.json").read_text(encoding="utf-8"))
        with open(folder / "calls.log", "a", encoding="ascii") as log:
            log.write(f"{len(texts)}\n")
        positive = np.array([1 / (1 + math.exp(-self._score(text))) for text in texts])
        return np.stack([1 - positive, positive], axis=1)

    def _score(self, text: str) -> float:
        """The logit: the sum of tf x idf x weight over the words, over the norm of tf x idf."""
        counts = Counter(word for word in WORD.findall(text.lower()) if word in self._weights)
        terms = [(n * self._weights[word][0], self._weights[word][1]) for word, n in sorted(counts.items())]
        norm = math.sqrt(sum(value * value for value, _ in terms)) or 1.0
        return self._bias + sum(value * weight for value, weight in terms) / norm


def write_weights(pipeline: Any, folder: Path) -> None:
    """Write down what a fitted pipeline of TF-IDF and logistic regression knows."""
    vectoriser, classifier = pipeline[0], pipeline[-1]
    weights = {
        word: (float(vectoriser.idf_[column]), float(classifier.coef_[0, column]))
        for word, column in vectoriser.vocabulary_.items()
    }
    (folder / "weights.json").write_text(json.dumps([weights, float(classifier.intercept_[0])]), encoding="utf-8")


reviews = Counted()


def keywords(texts: Sequence[str]) -> list[list[float]]:
    """A classifier that knows two words, for studies in which the model is not the question."""
    scores = [2.0 * text.count("great") - 2.0 * text.count("bad") + 0.1 for text in texts]
    return [[1 / (1 + math.exp(score)), 1 / (1 + math.exp(-score))] for score in scores]

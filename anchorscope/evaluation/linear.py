"""The oracle of a linear model: count x weight, read from the model itself.

Where a scikit-learn pipeline counts words and weighs them (CountVectorizer, then a linear classifier with ``coef_``),
what a word brings to a label over a collection is its count in the label's documents times its weight. No
text is asked. Any other model has no such oracle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from anchorscope.asking.removals import ordered
from anchorscope.asking.retry import RetryingPredictor
from anchorscope.text.rule import PLAIN
from anchorscope.text.terms import terms_of_all
from anchorscope.types import Predictor


def count_times_weight(
    predictor: Predictor, texts: Sequence[str], label: str, candidates: Iterable[str], *, kinds: str = PLAIN
) -> list[str] | None:
    """The candidates by count x weight in the texts of a label; None where the model is not linear in counts."""
    inner = predictor.predictor if isinstance(predictor, RetryingPredictor) else predictor
    weights = _weights(getattr(inner, "model", None), predictor.labels.index(label), len(predictor.labels))
    if weights is None:
        return None
    counts = Counter(word for found in terms_of_all(texts, kinds) for word, _ in found)
    return ordered({word: counts[word] * weights.get(word, 0.0) for word in candidates if counts[word]})


def _weights(model: Any, label: int, n_labels: int) -> dict[str, float] | None:
    """The weight of each word for a label, if the model is a pipeline of a counter of words and a linear classifier."""
    steps = [step for _, step in getattr(model, "steps", [])]
    if len(steps) != 2 or type(steps[0]).__name__ != "CountVectorizer" or not hasattr(steps[1], "coef_"):
        return None
    if steps[0].ngram_range != (1, 1) or steps[0].analyzer != "word" or steps[0].binary:
        return None
    coefficients = np.asarray(steps[1].coef_, np.float64)
    if coefficients.shape[0] == 1 and n_labels == 2:
        row = coefficients[0] if label == 1 else -coefficients[0]
    else:
        row = coefficients[label] - coefficients.mean(axis=0)
    return {word: float(row[number]) for word, number in steps[0].vocabulary_.items()}

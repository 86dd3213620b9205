"""A model in which some words matter by known amounts: the wrapper that ``planted.py`` tests a run with.

A planted term shifts the log-odds of one label wherever it stands, however often; those of one text add up. The other
labels keep their proportions. Terms are those of the run (its setting ``terms``): to a run that knows hashtags and
links, the 4 of *#4u* and of *4.5* is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answered
from anchorscope.asking.retry import RetryingPredictor
from anchorscope.text.rule import PLAIN
from anchorscope.text.terms import terms_of_all
from anchorscope.types import Predictor

LEAST = 1e-6
"""Probabilities are kept away from 0 and 1 by so much before they are shifted."""


class PlantedModel:
    """A model around another: where a planted term stands, it is surer of one label by the term's shift in logits."""

    def __init__(self, predictor: Predictor, shifts: Mapping[str, float], label: str, *, kinds: str = PLAIN) -> None:
        self._inner = predictor.predictor if isinstance(predictor, RetryingPredictor) else predictor
        self._shifts = dict(shifts)
        self._label = predictor.labels.index(label)
        self.kinds = kinds
        self.labels = tuple(predictor.labels)
        self.has_probabilities = predictor.has_probabilities
        self.name = f"{predictor.name}, with {len(self._shifts)} planted words"
        self.fingerprint = f"{predictor.fingerprint} {label} {sorted(self._shifts.items())} {kinds}"

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels).

        >>> from anchorscope.testing import WeightPredictor
        >>> model = PlantedModel(WeightPredictor({"great": 1.0}), {"film": 2.0}, "yes")
        >>> yes = model.predict(["great", "great film", "film film"])[:, 1]
        >>> np.log(yes / (1 - yes)).round(6).tolist()
        [1.0, 3.0, 2.0]
        """
        rows = answered(self._inner.predict, texts, self.labels).copy()
        shift = np.array([sum(map(self._shifts.__getitem__, held)) for held in self._held(texts)], np.float64)
        changed = np.flatnonzero(shift)
        # The log-odds of the label move by the shift; the other labels share what is left as they did before.
        before = np.clip(rows[changed, self._label], LEAST, 1 - LEAST)
        after = 1 / (1 + np.exp(-(np.log(before / (1 - before)) + shift[changed])))
        rows[changed] *= ((1 - after) / (1 - before))[:, None]
        rows[changed, self._label] = after
        rows[changed] /= rows[changed].sum(axis=1, keepdims=True)
        return rows

    def _held(self, texts: Sequence[str]) -> list[list[str]]:
        """The planted terms of each text, in one order whatever the text: so that sums are the same."""
        found = [{term for term, _ in terms} for terms in terms_of_all(texts, self.kinds)]
        return [[term for term in self._shifts if term in held] for held in found]

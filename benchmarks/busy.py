"""A model that keeps one core busy: what another one says, and so many milliseconds of work for each text besides."""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from anchorscope.types import Predictor


class BusyPredictor:
    """The answers of a predictor, at a cost: it counts until the processor has worked so long, whoever else does."""

    def __init__(self, predictor: Predictor, milliseconds: float) -> None:
        self._predictor = predictor
        self._seconds = milliseconds / 1000
        self.labels = tuple(predictor.labels)
        self.has_probabilities = predictor.has_probabilities
        self.name = f"{predictor.name}, {milliseconds:g} ms a text"
        self.fingerprint = predictor.fingerprint

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels), after that much work of this thread."""
        end = thread_time() + self._seconds * len(texts)
        rows = self._predictor.predict(texts)
        while thread_time() < end:
            pass
        return rows

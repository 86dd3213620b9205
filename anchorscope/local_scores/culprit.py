"""Which document a text came from that a model fails on: its texts are made again, and the model is not asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.asking.budget import CallsSpentError
from anchorscope.errors import AnchorscopeError, ModelError
from anchorscope.settings import Settings
from anchorscope.types import LocalScore, Perturbator, Predictor, Unit


def unit_of(
    text: str | None, units: Sequence[Unit], predictor: Predictor, perturbator: Perturbator | None, settings: Settings
) -> Unit | None:
    """The unit of a round for which ``text`` was made: its texts are made again, and the model is not asked about it.

    Nor about the others where a unit always takes the same texts, whatever the model says.
    """
    if text is None:
        return None
    make = registry.resolve("score", str(settings.score))
    watching = _Watching(predictor, text, asks=settings.anchor_test.may_stop_early)
    score: LocalScore = make(watching, perturbator, settings)
    for unit in units:
        try:
            score.measure([unit])
        except _MetError:
            return unit
        except ModelError:  # at fault with other texts, too
            continue
        except CallsSpentError:
            break
    return None


class _MetError(AnchorscopeError):
    """The text that was looked for is about to be asked about."""


class _Watching:
    """A predictor that stops at one text."""

    def __init__(self, predictor: Predictor, text: str, *, asks: bool) -> None:
        self._predictor = predictor
        self._text = text
        self._asks = asks
        self.name = predictor.name
        self.labels = predictor.labels
        self.fingerprint = predictor.fingerprint
        self.has_probabilities = predictor.has_probabilities

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """What the model says, or the same of all, unless the text is among them."""
        if self._text in texts:
            raise _MetError
        if self._asks:
            return self._predictor.predict(texts)
        return np.full((len(texts), len(self.labels)), 1 / len(self.labels))

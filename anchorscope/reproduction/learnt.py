"""A perturbator that has learnt from a task once, so that all settings of the task share their samples.

A run lets its perturbator learn from its own documents, and those of a sample or of another length are others: their
words would be replaced by other words, and the setting would differ in more than its name says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.text.words import split
from anchorscope.types import Perturbator, Words


def learnt(perturbator: Perturbator, texts: Sequence[str]) -> Perturbator:
    """The perturbator as these texts make it, whatever a run lets it learn from; most learn nothing."""
    return LearntCorpus(perturbator, texts) if isinstance(perturbator, CorpusPerturbator) else perturbator


class LearntCorpus:
    """Words of a task's own documents, of all of them in every setting."""

    cased = CorpusPerturbator.cased
    knows_originals = CorpusPerturbator.knows_originals

    def __init__(self, perturbator: CorpusPerturbator, texts: Sequence[str]) -> None:
        self._fitted = perturbator.fit([split(text) for text in texts])
        self.name = perturbator.name
        self.vocabulary = self._fitted.vocabulary
        self.fingerprint = self._fitted.fingerprint
        self.propose = self._fitted.propose

    def fit(self, texts: Sequence[Words]) -> Perturbator:
        """Nothing more is learnt."""
        return self

    def draw(
        self,
        texts: Sequence[Words],
        masks: Sequence[NDArray[np.bool_]],
        rows: NDArray[np.intp],
        chances: NDArray[np.float64],
    ) -> NDArray[np.int32]:
        """As the fitted one draws."""
        return self._fitted.draw(texts, masks, rows, chances)

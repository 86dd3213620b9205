"""A perturbator that is not asked any more when time is up.

Filling the masks of one document by the paper's method takes a pass of a masked language model for every word of every
sample: tens of seconds on a CPU. The meter of the model (``budget.py``) is looked at before each pass as before each
call of the model, so that a budget of seconds holds within one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.budget import Meter
from anchorscope.types import DrawingPerturbator, Perturbator, Proposals, Words


class TimedPerturbator:
    """The same perturbator, which raises TimeUpError instead of an answer when the time of a meter is up."""

    def __init__(self, perturbator: Perturbator, meter: Meter) -> None:
        self._perturbator = perturbator
        self._meter = meter
        self.name = perturbator.name
        self.vocabulary = perturbator.vocabulary
        self.cased = perturbator.cased
        self.knows_originals = perturbator.knows_originals
        self.fingerprint = perturbator.fingerprint
        if isinstance(perturbator, DrawingPerturbator):
            self.draw = partial(self._draw, perturbator)

    def fit(self, texts: Sequence[Words]) -> TimedPerturbator:
        """The one that has learnt, timed as well."""
        return TimedPerturbator(self._perturbator.fit(texts), self._meter)

    def propose(self, texts: Sequence[Words], masks: Sequence[NDArray[np.bool_]]) -> Proposals:
        """As the perturbator does, in time."""
        self._meter.check_time()
        return self._perturbator.propose(texts, masks)

    def _draw(
        self,
        perturbator: DrawingPerturbator,
        texts: Sequence[Words],
        masks: Sequence[NDArray[np.bool_]],
        rows: NDArray[np.intp],
        chances: NDArray[np.float64],
    ) -> NDArray[np.int32]:
        self._meter.check_time()
        return perturbator.draw(texts, masks, rows, chances)

"""What a verdict counts for, in the light of its document's empty anchor.

A document that keeps its prediction though no token is kept for sure makes an anchor of any token. Its *empty
precision* p0, the share of samples that keep the prediction with nothing forced, tells how little a passed test means:

    robust=drop     no token is an anchor where the empty anchor passes tau
    lift=X          an anchor of precision p must also end the share X of the failures: 1 - p <= (1 - X) (1 - p0)
    weight=fragile  the values of a document count 1 - p0 times: those of documents that nothing can shake count nothing

Verdicts are written down as they were found; this is applied whenever they are counted.

>>> half = EmptyAnchorRule("keep", lift=0.5, weight="equal")
>>> half.anchors(np.ones(2, bool), precision=np.full(2, 0.95), robust=np.zeros(2, bool), empty=np.array([0.9, 0.92]))
array([ True, False])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROBUST = ("keep", "drop")
WEIGHTS = ("equal", "fragile")

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

ROUNDING = 1e-9
"""Precisions are quotients: a lift that is reached exactly is reached."""


@dataclass(frozen=True, slots=True)
class EmptyAnchorRule:
    """The rules that a run counts by; ``robust`` and ``empty`` say of each verdict's document what is known of it."""

    robust: str
    lift: float
    weight: str

    @property
    def is_read(self) -> bool:
        """Whether anything depends on the empty anchor."""
        return self.robust == "drop" or self.lift > 0 or self.weight == "fragile"

    def anchors(self, anchor: Bools, precision: Floats, robust: Bools, empty: Floats) -> Bools:
        """Which verdicts count as anchors."""
        if self.robust == "drop":
            anchor = anchor & ~robust
        if self.lift:
            anchor = anchor & (1 - precision <= (1 - self.lift) * (1 - empty) + ROUNDING)
        return anchor

    def values(self, value: Floats, empty: Floats) -> Floats:
        """What the values count for."""
        return value * (1 - empty) if self.weight == "fragile" else value

    def noise(self, variance: Floats, empty: Floats) -> Floats:
        """The variance of what the values count for; 0 where it is not known."""
        known = np.nan_to_num(variance)
        return known * (1 - empty) ** 2 if self.weight == "fragile" else known

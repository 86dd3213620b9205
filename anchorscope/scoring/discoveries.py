"""Which words are told apart: as many as can be named while the false discovery rate stays within 5%."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DISCOVERY_RATE = 0.05
"""The share of the named words that may be wrong."""

FEWEST_TESTS = 2
"""No word is named on the strength of fewer tests."""


def discoveries(doubt: NDArray[np.float64], tested: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The words that can be named together while no more than a share of them is expected to be wrong.

    ``doubt`` is the probability of each to be wrong; the least doubtful are taken while their mean doubt is within the
    rate (Bayesian false discovery rate).

    >>> discoveries(np.array([0.2, 0.0, 0.08, 0.9, 0.0]), tested=np.array([9, 9, 9, 9, 1])).tolist()
    [False, True, True, False, False]
    """
    doubt = np.where(tested >= FEWEST_TESTS, doubt, 1.0)
    # From the least doubtful on: the mean doubt of the first m is the rate at which these m would be wrong. It only
    # rises, so those within the rate are the first ones.
    order = np.argsort(doubt, kind="stable")
    mean = np.cumsum(doubt[order]) / np.arange(1, len(doubt) + 1)
    found = np.zeros(len(doubt), bool)
    found[order[mean <= DISCOVERY_RATE]] = True
    return found

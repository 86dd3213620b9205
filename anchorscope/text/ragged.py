"""Rows of different lengths in one flat array, one after another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ranges(starts: NDArray[np.integer], lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """The numbers from each start on, as many as its length says: where some of the rows stand.

    >>> ranges(np.array([10, 20]), np.array([3, 2])).tolist()
    [10, 11, 12, 20, 21]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))

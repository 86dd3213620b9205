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


def distinct(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Each of some numbers once, in their order.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    # By sorting: numpy's own way, where no index is asked for, is to hash, which takes many times as long.
    return np.unique(numbers, return_index=True)[0].astype(np.int64, copy=False)

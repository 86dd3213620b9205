"""Models whose answer about a text depends on the padding beside it, and batches that hold none.

Texts of a batch are padded to the longest of them, and a mask says what is padding. Some models read past the mask:
FNet has none, the convolutions of ConvBERT take in what stands beside a piece. Asked about a text alone and in a batch,
such a model answers two things, so what it says would depend on which texts come together. Whether one does is asked
of the model itself: about a text alone, and beside a longer one. If it does, texts of equal length are asked about
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

SHORT = ("bad", "good film", "a text of some words")
"""Texts that are asked about alone and together: the shorter one is, the more padding reaches its first piece."""

LONG = "and another one, which is longer, " * 6
"""A text beside which they are padded."""


def depends_on_padding(alone: ArrayLike, padded: ArrayLike, rounding: float) -> bool:
    """Whether answers (texts, labels) differ by more than ``rounding``, the smallest step of the numbers, explains.

    Half of the digits of a row have to agree, as seen from its largest number.

    >>> depends_on_padding([[2.0, 1.0]], [[2.0000002, 1.0]], 1e-7), depends_on_padding([[2.0, 1.0]], [[2.1, 1.0]], 1e-7)
    (False, True)
    """
    first, second = np.asarray(alone, float), np.asarray(padded, float)
    largest = np.maximum(abs(first), abs(second)).max(axis=1, keepdims=True)
    return bool((abs(first - second) > rounding**0.5 * largest).any())


def of_equal_length(lengths: Sequence[int] | NDArray[np.intp], size: int) -> Iterator[NDArray[np.intp]]:
    """The numbers of texts of equal length together, ``size`` at a time at most.

    >>> [group.tolist() for group in of_equal_length([3, 2, 3, 3], 2)]
    [[1], [0, 2], [3]]
    """
    known = np.asarray(lengths)
    for length in np.unique(known):
        group = np.flatnonzero(known == length)
        for start in range(0, len(group), size):
            yield group[start : start + size]

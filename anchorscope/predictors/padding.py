"""Padding: models whose answer about a text depends on it, batches that hold none, and batches that hold little.

Texts of a batch are padded to the longest of them, and a mask says what is padding. Some models read past the mask:
FNet has none, the convolutions of ConvBERT take in what stands beside a piece. Asked about a text alone and in a batch,
such a model answers two things, so what it says would depend on which texts come together. Whether one does is asked
of the model itself: about a text alone, and beside a longer one. If it does, texts of equal length are asked about
together. To all others padding is only work: where a round of texts is small, batches of one size would be a third
padding, so they are cut where that saves more than one more batch costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

SHORT = ("bad", "good film", "a text of some words")
"""Texts that are asked about alone and together: the shorter one is, the more padding reaches its first piece."""

LONG = "and another one, which is longer, " * 6
"""A text beside which they are padded."""


def sees_padding(answers: Callable[[Sequence[str]], NDArray[np.floating]], rounding: float) -> bool:
    """Whether a model, which ``answers`` texts in one batch, says of a text something else beside a longer one.

    >>> sees_padding(lambda texts: np.array([[len(max(texts, key=len)), 1.0]] * len(texts)), 1e-7)
    True
    """
    padded = answers([*SHORT, LONG])
    alone = {}
    for number, text in enumerate(SHORT):
        with suppress(Exception) if text != SHORT[-1] else nullcontext():  # Funnel reads no text of one word
            alone[number] = answers([text])[0]
    return depends_on_padding([*alone.values()], padded[[*alone]], rounding)


def depends_on_padding(alone: ArrayLike, padded: ArrayLike, rounding: float) -> bool:
    """Whether answers (texts, labels) differ by more than ``rounding``, the smallest step of the numbers, explains.

    Half of the digits of a row have to agree, as seen from its largest number.

    >>> depends_on_padding([[2.0, 1.0]], [[2.0000002, 1.0]], 1e-7), depends_on_padding([[2.0, 1.0]], [[2.1, 1.0]], 1e-7)
    (False, True)
    """
    first, second = np.asarray(alone, float), np.asarray(padded, float)
    largest = np.maximum(abs(first), abs(second)).max(axis=1, keepdims=True)
    return bool((abs(first - second) > rounding**0.5 * largest).any())


def of_like_length(
    lengths: Sequence[int] | NDArray[np.intp], size: int, overhead: float | None = None
) -> Iterator[NDArray[np.intp]]:
    """The numbers of texts of like length together, ``size`` at a time; at most, and cut where the least work is left,
    where an overhead is known.

    The work of a batch is its number of texts times the longest of them, and ``overhead`` beside it. The least work of
    the first n texts by length is that of the first m, and of one batch of the others, for the best m.

    >>> [group.tolist() for group in of_like_length([2, 9, 2, 9, 9], 8, overhead=5)]
    [[0, 2], [1, 3, 4]]
    >>> [group.tolist() for group in of_like_length([2, 9, 2, 9, 9], 8, overhead=50)]
    [[0, 2, 1, 3, 4]]
    >>> [group.tolist() for group in of_like_length([2, 9, 2, 9, 9], 3)]
    [[0, 2, 1], [3, 4]]
    """
    known = np.asarray(lengths)
    order = np.argsort(known, kind="stable")
    if overhead is None:
        yield from (order[start : start + size] for start in range(0, len(order), size))
        return
    least = np.zeros(len(order) + 1)
    starts = np.zeros(len(order) + 1, np.intp)  # where the last batch of the first n texts begins
    for n, longest in enumerate(known[order].tolist(), 1):
        first = max(0, n - size)
        work = least[first:n] + longest * np.arange(n - first, 0, -1)
        best = int(work.argmin())
        starts[n] = first + best
        least[n] = work[best] + overhead
    ends = [len(order)]
    while ends[-1]:
        ends.append(int(starts[ends[-1]]))
    for start, end in pairwise(reversed(ends)):
        yield order[start:end]


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

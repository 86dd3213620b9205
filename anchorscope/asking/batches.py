"""Many things, some at a time: what a model or a perturbator is asked about, and what is handed to workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answered
from anchorscope.types import Predictor

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in turn, so many at a time.

    >>> list(batches("abcde", 2))
    ['ab', 'cd', 'e']
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]


def answers_in_batches(predictor: Predictor, texts: Sequence[str], size: int) -> NDArray[np.float64]:
    """What the model says of each text, (texts, labels), asked about so many texts at a time."""
    parts = [answered(predictor.predict, some, predictor.labels) for some in batches(texts, size)]
    return np.concatenate(parts) if parts else np.zeros((0, len(predictor.labels)))

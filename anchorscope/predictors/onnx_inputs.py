"""The arrays that an ONNX model reads, made of what its tokenizer gives.

Texts of a batch are padded to the longest of them. A model that was exported for one shape alone (torch does so where
nobody names what may vary) reads that shape: texts are padded to its length, and a batch is filled up with copies of
its last text, whose answers are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
"""What tokenizers give."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Texts in a batch, and pieces in a text, where a model reads no other number of them.

    >>> Shape.of(["batch", 128]), Shape.of([1, "length"])
    (Shape(n_texts=None, n_pieces=128), Shape(n_texts=1, n_pieces=None))
    """

    n_texts: int | None = None
    n_pieces: int | None = None

    @classmethod
    def of(cls, dimensions: Sequence[Any]) -> Shape:
        """The same of the shape that a file gives an input: a number is fixed, a name or None is not."""
        fixed = [size if isinstance(size, int) and size > 0 else None for size in dimensions]
        return cls(*fixed) if len(fixed) == len(cls.__slots__) else cls()


def inputs_of(encoded: Sequence[Any], names: Sequence[str], shape: Shape) -> dict[str, NDArray[np.int64]]:
    """The inputs of these names, (texts, pieces) each, of some texts as ``tokenizers`` gives them."""
    filled = [*encoded, *[encoded[-1]] * ((shape.n_texts or 0) - len(encoded))]
    width = shape.n_pieces or max(1, *(len(one.ids) for one in encoded))
    numbers = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
    found = {}
    for name in names:
        rows = [getattr(one, numbers[name]) for one in filled]
        found[name] = np.array([row + [0] * (width - len(row)) for row in rows], np.int64)
    return found

"""Positions that do not give away the order of the words, for runs that keep no texts.

A journal says which term stands at which position of which document: that is most of a text. So a run that keeps no
texts writes other numbers for the positions: a permutation of each document's own, which only its text can tell.
Whoever has the texts can undo it, as a run does that goes on; whoever has not, finds the tested words of a document
without their order.

>>> hidden = [Hidden(["so good and so bad"]).hide(0, position) for position in range(5)]
>>> sorted(hidden), [Hidden(["so good and so bad"]).show(0, number) for number in hidden]
([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

import numpy as np

from anchorscope.types import EMPTY
from anchorscope.words import split


class Hidden:
    """The positions in some texts, told by their numbers in ``texts``; the empty anchor has no place to hide."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def hide(self, document: int, position: int) -> int:
        """The number that is written for a position."""
        return position if position == EMPTY else _permutation(self._texts[document])[position]

    def show(self, document: int, number: int) -> int:
        """The position for which a number was written."""
        return number if number == EMPTY else _permutation(self._texts[document]).index(number)


@lru_cache(maxsize=1024)
def _permutation(text: str) -> tuple[int, ...]:
    # Not the hash that is the document's key: that one is in the journal.
    digest = sha256(b"the order of the words\0" + text.encode("utf-8", "surrogatepass")).digest()
    chances = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
    return tuple(chances.permutation(len(split(text))).tolist())

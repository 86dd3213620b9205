"""A word as the longest pieces that a vocabulary has, from the left: WordPiece.

Pieces inside a word carry ``##``. A word that cannot be cut without a rest is unknown as a whole:

>>> pieces = WordPieces({"[UNK]": 0, "play": 1, "##ing": 2, "##in": 3})
>>> pieces["playing"], pieces["play"], pieces["plays"]
([1, 2], [1], [0])
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

LONGEST_WORD = 100
"""A word of more characters is unknown, as everywhere that WordPiece is used: cutting it would take long."""


def fold(word: str) -> str:
    """The form of a word that the embedded model has learned: lower case, NFC, the straight apostrophe.

    >>> fold("Don’t")
    "don't"
    """
    return unicodedata.normalize("NFC", word.lower()).replace("’", "'")


class WordPieces(dict[str, list[int]]):
    """The pieces of every word met so far, by the word as written; a new word is cut when it is first asked for."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self.numbers = numbers

    def __missing__(self, word: str) -> list[int]:
        self[word] = pieces = self._cut(fold(word))
        return pieces

    def _cut(self, word: str) -> list[int]:
        pieces: list[int] = []
        start = 0
        while start < len(word) <= LONGEST_WORD:
            end = self._end_of_longest(word, start)
            if end == start:
                break
            pieces.append(self.numbers["##" * (start > 0) + word[start:end]])
            start = end
        return pieces if start == len(word) else [self.numbers["[UNK]"]]

    def _end_of_longest(self, word: str, start: int) -> int:
        ends = range(len(word), start, -1)
        return next((end for end in ends if "##" * (start > 0) + word[start:end] in self.numbers), start)

"""Text to words to word pieces, as the embedded model sees them.

A text is cut into words (letters, digits and inner apostrophes; any other visible character is a word of its own), each
word is folded (lower case, NFC, one kind of apostrophe) and then cut into the longest pieces the vocabulary holds, from
the left. A piece that continues a word starts with '##'. With the vocabulary {play, ##ing, don't}:

    "Don’t play!"  ->  don't  play  !   ->  [don't] [play] [UNK]
    "playing"      ->  playing          ->  [play] [##ing]

Left out on purpose: accents are kept, and nothing is done for scripts without spaces. The package has code of its own
for this (numpy and regex only); the two are compared by `training/check_export.py`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from unicodedata import normalize

import numpy as np
import regex

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(5)
WORD = regex.compile(r"[\p{L}\p{M}\p{N}_]+(?:['’][\p{L}\p{M}\p{N}]+)*|\S")
LONGEST_WORD = 100
"""A longer word is [UNK], as in BERT."""


def split_words(text: str) -> list[str]:
    """The words of a text as they stand in it.

    >>> split_words("Don’t panic, R2D2!")
    ['Don’t', 'panic', ',', 'R2D2', '!']
    """
    return WORD.findall(text)


def fold(word: str) -> str:
    """The form under which a word is looked up.

    >>> fold("Don’t")
    "don't"
    """
    return normalize("NFC", word.lower()).replace("’", "'")


@dataclass(frozen=True)
class Vocabulary:
    """Pieces by number: the five specials first, then whole words, then continuations.

    >>> Vocabulary((*SPECIALS, "play", "##ing")).encode("playing")
    (5, 6)
    """

    pieces: tuple[str, ...]
    numbers: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", {piece: number for number, piece in enumerate(self.pieces)})

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """The vocabulary of a file with one piece a line."""
        return cls(tuple(path.read_text(encoding="utf-8").removesuffix("\n").split("\n")))

    def write(self, path: Path) -> None:
        """One piece a line, in order of number."""
        path.write_text("".join(f"{piece}\n" for piece in self.pieces), encoding="utf-8")

    def __len__(self) -> int:
        return len(self.pieces)

    @cached_property
    def is_continuation(self) -> np.ndarray:
        """For each piece: does it continue a word?"""
        return np.array([piece.startswith("##") and len(piece) > 2 for piece in self.pieces])

    @cached_property
    def is_fill(self) -> np.ndarray:
        """For each piece: is it a whole word that may be proposed at a mask?"""
        fill = ~self.is_continuation
        fill[: len(SPECIALS)] = False
        return fill

    def encode(self, word: str) -> tuple[int, ...]:
        """Numbers of the longest pieces that spell a folded word, or [UNK] alone."""
        if word in self.numbers:
            return (self.numbers[word],)
        numbers: list[int] = []
        start = 0
        while start < len(word) <= LONGEST_WORD:
            number, start = self._longest(word, start)
            numbers.append(number)
        return tuple(numbers) if numbers and UNK not in numbers else (UNK,)

    def _longest(self, word: str, start: int) -> tuple[int, int]:
        """The longest piece at `start` and where it ends; [UNK] ends the word."""
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            number = self.numbers.get(mark + word[start:end])
            if number is not None:
                return number, end
        return UNK, len(word)

"""The words of many texts at once, as numbers.

``words_of`` takes one text, and makes a string of every word in it. Of a whole collection the distinct words are
enough, so texts in the letters of western Europe, for which the rule is a simple one, are joined and cut as one row
of bytes: a word is a run of letters, with the apostrophes between two of them, or any other visible character by
itself. Up to sixteen letters of a word are two whole numbers, by which equal words are found. Longer words, and those
whose two numbers mix into the same one as another word's, stand for themselves. All other texts go to ``words_of``.

>>> found = cut(["So good, so", "Don't!"])
>>> [found.words[number] for number in found.numbers], found.sizes.tolist()
(['So', 'good', ',', 'so', "Don't", '!'], [4, 2])
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from anchorscope.text.words import words_of

LONGEST = 1 << 20
"""Characters of a text that is cut together with others."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""How the two numbers of a word are mixed into one, modulo 2^64."""

HALF = 8
"""Letters in a whole number."""

ENCODING = "cp1252"
"""A byte for each of these letters, and for the quotation marks and dashes of typesetters."""

SPACE, SYMBOL, APOSTROPHE, LETTER = range(4)
_LETTERS = "0-9A-Za-zÀ-ÖØ-öø-ÿ"
_IS_WESTERN = re.compile(rf"[{_LETTERS}\t\n\r -~‘’“”…–—]*")


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Every word of some texts, by its number among ``words``, and how many each text has."""

    words: list[str]
    numbers: NDArray[np.int64]
    sizes: NDArray[np.int64]


def cut(texts: Sequence[str]) -> Cut:
    """The words of some texts: those of one text stand together, in its order."""
    western = [len(text) <= LONGEST and _IS_WESTERN.fullmatch(text) is not None for text in texts]
    quick = _cut_western([text for text, is_western in zip(texts, western) if is_western])
    others = _cut_one_by_one([text for text, is_western in zip(texts, western) if not is_western])
    is_quick, sizes = np.array(western, bool), np.empty(len(texts), np.int64)
    sizes[is_quick], sizes[~is_quick] = quick.sizes, others.sizes
    of_quick, numbers = np.repeat(is_quick, sizes), np.empty(sizes.sum(), np.int64)
    numbers[of_quick], numbers[~of_quick] = quick.numbers, others.numbers + len(quick.words)
    return Cut(quick.words + others.words, numbers, sizes)


def _cut_one_by_one(texts: Sequence[str]) -> Cut:
    """The words of any texts, each as often as it is met."""
    rows = [words_of(text) for text in texts]
    words = list(chain.from_iterable(rows))
    return Cut(words, np.arange(len(words)), np.array([len(row) for row in rows], np.int64))


def _cut_western(texts: Sequence[str]) -> Cut:
    """The words of texts that are nothing but western letters, space and common signs; most of them once."""
    joined = "".join([f"{text}\n" for text in texts])
    letters = joined.encode(ENCODING)
    starts, ends = _bounds(np.frombuffer(letters.translate(_KINDS), np.uint8))
    examples, numbers = _distinct(letters, starts, ends - starts)
    words = [joined[start:end] for start, end in zip(starts[examples].tolist(), ends[examples].tolist())]
    text_ends = np.cumsum([len(text) + 1 for text in texts])
    return Cut(words, numbers, np.diff(np.searchsorted(starts, text_ends), prepend=0))


def _bounds(kinds: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where words start and end; a space is the last character."""
    is_letter = kinds == LETTER
    marks = np.flatnonzero(kinds[1:-1] == APOSTROPHE) + 1
    is_letter[marks] = is_letter[marks - 1] & is_letter[marks + 1]
    goes_on = is_letter[1:] & is_letter[:-1]  # from each character to the next
    starts, ends = kinds != SPACE, kinds != SPACE
    starts[1:] &= ~goes_on
    ends[:-1] &= ~goes_on
    return np.flatnonzero(starts), np.flatnonzero(ends) + 1


def _distinct(
    letters: bytes, starts: NDArray[np.intp], lengths: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Words of which every other one is a copy, and for each word the number of the one that it is a copy of."""
    eights = np.ndarray(len(letters) + 1, "<u8", letters + bytes(2 * HALF), strides=(1,))  # from every letter on
    first = eights[starts] & _FIRST_BYTES[np.minimum(lengths, HALF)]
    second = eights[np.minimum(starts + HALF, len(letters))] & _FIRST_BYTES[np.clip(lengths - HALF, 0, HALF)]
    mixed = (first ^ (first >> np.uint64(29))) * FACTOR + second
    order = np.argsort(mixed)
    is_new = np.diff(mixed[order], prepend=mixed[order[:1]] + np.uint64(1)) != 0
    examples, numbers = order[is_new], np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    example = examples[numbers]
    is_copy = (first == first[example]) & (second == second[example]) & (lengths == lengths[example])
    alone = np.flatnonzero(~is_copy | (lengths > 2 * HALF))
    numbers[alone] = len(examples) + np.arange(len(alone))
    return np.concatenate([examples, alone]), numbers


def _kind(character: str) -> int:
    if re.fullmatch(f"[{_LETTERS}]", character):
        return LETTER
    if character in "'’":
        return APOSTROPHE
    return SPACE if character.isspace() else SYMBOL


_KINDS = bytes(_kind(bytes([code]).decode(ENCODING, "replace")) for code in range(256))
"""What each byte is."""

_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(HALF + 1)], np.uint64)

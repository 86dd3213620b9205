"""The words of many texts at once, as numbers.

Of a whole collection the distinct words are enough, so texts in the letters of western Europe, for which the rule of
what a word is has a form for bytes, are joined and cut as one row of bytes. Up to sixteen letters of a word are two
whole numbers, by which equal words are found (a hash table in numpy, by sorting). Longer words, and those whose two
numbers mix into the same one as another word's, stand for themselves. All other texts are cut one by one.

>>> found = cut(["So good, so", "Don't!"])
>>> [found.words[number] for number in found.numbers], found.sizes.tolist()
(['So', 'good', ',', 'so', "Don't", '!'], [4, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from anchorscope.text.rule import APOSTROPHE, KIND_OF_BYTE, LETTER, SPACE, WESTERN_ENCODING, is_western, words_in

LONGEST = 1 << 20
"""Characters of a text that is cut together with others."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""How the two numbers of a word are mixed into one, modulo 2^64."""

HALF = 8
"""Letters in a whole number."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Every word of some texts, by its number among ``words``, and how many each text has."""

    words: list[str]
    numbers: NDArray[np.int64]
    sizes: NDArray[np.int64]


def cut(texts: Sequence[str]) -> Cut:
    """The words of some texts: those of one text stand together, in its order."""
    western = [len(text) <= LONGEST and is_western(text) for text in texts]
    quick = _cut_western([text for text, is_quick in zip(texts, western) if is_quick])
    others = _cut_one_by_one([text for text, is_quick in zip(texts, western) if not is_quick])
    is_quick = np.array(western, bool)
    # The two kinds are put back into the order of the texts: first how many words each has, then the words.
    sizes = np.empty(len(texts), np.int64)
    sizes[is_quick] = quick.sizes
    sizes[~is_quick] = others.sizes
    of_quick = np.repeat(is_quick, sizes)
    numbers = np.empty(len(of_quick), np.int64)
    numbers[of_quick] = quick.numbers
    numbers[~of_quick] = others.numbers + len(quick.words)
    return Cut(quick.words + others.words, numbers, sizes)


def _cut_one_by_one(texts: Sequence[str]) -> Cut:
    """The words of any texts, each as often as it is met."""
    rows = [words_in(text) for text in texts]
    words = list(chain.from_iterable(rows))
    return Cut(words, np.arange(len(words)), np.array([len(row) for row in rows], np.int64))


def _cut_western(texts: Sequence[str]) -> Cut:
    """The words of texts that are nothing but western letters, space and common signs; most of them once."""
    joined = "".join([f"{text}\n" for text in texts])
    letters = joined.encode(WESTERN_ENCODING)
    starts, ends = _bounds(np.frombuffer(letters.translate(KIND_OF_BYTE), np.uint8))
    examples, numbers = _distinct(letters, starts, ends - starts)
    words = [joined[start:end] for start, end in zip(starts[examples].tolist(), ends[examples].tolist())]
    text_ends = np.cumsum([len(text) + 1 for text in texts])
    return Cut(words, numbers, np.diff(np.searchsorted(starts, text_ends), prepend=0))


def _bounds(kinds: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where words start and end; a space is the last character."""
    is_letter = kinds == LETTER
    # An apostrophe between two letters is one of them; others are signs.
    marks = np.flatnonzero(kinds[1:-1] == APOSTROPHE) + 1
    is_letter[marks] = is_letter[marks - 1] & is_letter[marks + 1]
    goes_on = is_letter[1:] & is_letter[:-1]  # from each character to the next
    # Every visible character begins and ends a word, but where a run of letters goes on.
    starts = kinds != SPACE
    starts[1:] &= ~goes_on
    ends = kinds != SPACE
    ends[:-1] &= ~goes_on
    return np.flatnonzero(starts), np.flatnonzero(ends) + 1


def _distinct(
    letters: bytes, starts: NDArray[np.intp], lengths: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Words of which every other one is a copy, and for each word the number of the one that it is a copy of."""
    # The eight letters from every place on, read as one whole number: a view with a stride of one byte.
    eights = np.ndarray(len(letters) + 1, "<u8", letters + bytes(2 * HALF), strides=(1,))
    # A word of up to sixteen letters is two such numbers, the bytes beyond its end masked out.
    first = eights[starts] & _FIRST_BYTES[np.minimum(lengths, HALF)]
    second = eights[np.minimum(starts + HALF, len(letters))] & _FIRST_BYTES[np.clip(lengths - HALF, 0, HALF)]
    mixed = (first ^ (first >> np.uint64(29))) * FACTOR + second
    # Sorted by the mixture, equal words stand together; the first of each group is its example.
    order = np.argsort(mixed)
    is_new = np.diff(mixed[order], prepend=mixed[order[:1]] + np.uint64(1)) != 0
    examples = order[is_new]
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    example = examples[numbers]
    # A word that is no copy of its example after all (another mixture collided) stands for itself, as long ones do.
    is_copy = (first == first[example]) & (second == second[example]) & (lengths == lengths[example])
    alone = np.flatnonzero(~is_copy | (lengths > 2 * HALF))
    numbers[alone] = len(examples) + np.arange(len(alone))
    return np.concatenate([examples, alone]), numbers


_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(HALF + 1)], np.uint64)

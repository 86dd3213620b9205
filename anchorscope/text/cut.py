"""The words of many texts at once, as numbers; plain ones, or with those merged that are one term.

Of a whole collection the distinct words are enough, so texts in the letters of western Europe, for which the rule of
what a word is has a form for bytes, are joined and cut as one row of bytes. Up to sixteen letters of a word are two
whole numbers, by which equal words are found (a hash table in numpy, by sorting). Longer words, and those whose two
numbers mix into the same one as another word's, stand for themselves. All other texts are cut one by one.

A term may take up several words that stand together (``rule.py``): they become one, and it is kept where the first of
them stands and how many they are. The words of a pair of texts are marked by their side (``pairs.py``).

>>> found = cut(["So good, so", "Don't!!!"])
>>> [found.words[number] for number in found.numbers], found.sizes.tolist()
(['So', 'good', ',', 'so', "Don't", '!', '!', '!'], [4, 4])
>>> found = cut(["So good, so", "Don't!!!"], merged=True)
>>> [found.words[number] for number in found.numbers], found.first.tolist(), found.n_words.tolist()
(['So', 'good', ',', 'so', "Don't", '!!!'], [0, 1, 2, 3, 0, 1], [1, 1, 1, 1, 1, 3])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from anchorscope.text.pairs import SEPARATOR, marked
from anchorscope.text.rule import (
    APOSTROPHE,
    KIND_OF_BYTE,
    LETTER,
    SPACE,
    WESTERN_ENCODING,
    compounds,
    is_western,
    word_spans,
    words_in,
)
from anchorscope.text.segmenters import segments

LONGEST = 1 << 20
"""Characters of a text that is cut together with others."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""How the two numbers of a word are mixed into one, modulo 2^64."""

HALF = 8
"""Letters in a whole number."""


Places = NDArray[np.intp]
"""Places in a text, in characters."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Every word of some texts, by its number among ``words``, and how many each text has.

    ``first`` is where in its text a word stands, counted in plain words, and ``n_words`` how many of them it takes up.
    """

    words: list[str]
    numbers: NDArray[np.int64]
    sizes: NDArray[np.int64]
    first: NDArray[np.int64]
    n_words: NDArray[np.int64]


def cut(texts: Sequence[str], *, merged: bool = False) -> Cut:
    """The words of some texts: those of one text stand together, in its order; ``merged``: as terms take them up."""
    western = [len(text) <= LONGEST and is_western(text) for text in texts]
    quick = _cut_western([text for text, is_quick in zip(texts, western) if is_quick], merged)
    others = _cut_one_by_one([text for text, is_quick in zip(texts, western) if not is_quick], merged)
    is_quick = np.array(western, bool)
    # The two kinds are put back into the order of the texts: first how many words each has, then the words.
    sizes = np.empty(len(texts), np.int64)
    sizes[is_quick] = quick.sizes
    sizes[~is_quick] = others.sizes
    of_quick = np.repeat(is_quick, sizes)

    def put_back(of_western: NDArray[np.int64], of_others: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.empty(len(of_quick), np.int64)
        found[of_quick] = of_western
        found[~of_quick] = of_others
        return found

    return Cut(
        quick.words + others.words,
        put_back(quick.numbers, others.numbers + len(quick.words)),
        sizes,
        put_back(quick.first, others.first),
        put_back(quick.n_words, others.n_words),
    )


def _cut_one_by_one(texts: Sequence[str], merged: bool) -> Cut:
    """The words of any texts, each as often as it is met."""
    rows: list[list[str]] = []
    n_words = [np.empty(0, np.int64)]
    for text in texts:
        together = sorted([*compounds(text), *segments(text)]) if merged else []
        if not together:
            rows.append(_by_side(words_in(text)))
            n_words.append(np.ones(len(rows[-1]), np.int64))
            continue
        starts, ends, sizes = _merged(*word_spans(text), together)
        rows.append(_by_side([text[start:end] for start, end in zip(starts.tolist(), ends.tolist())]))
        n_words.append(sizes)
    words = list(chain.from_iterable(rows))
    of_texts = np.array([len(row) for row in rows], np.int64)
    joined = np.concatenate(n_words)
    return Cut(words, np.arange(len(words)), of_texts, _first(joined, of_texts), joined)


def _by_side(words: list[str]) -> list[str]:
    return marked(words) if SEPARATOR in words else words


def _cut_western(texts: Sequence[str], merged: bool) -> Cut:
    """The words of texts that are nothing but western letters, space and common signs; most of them once."""
    # One text, a line end between two of them, which is a gap: no word reaches over it.
    joined = "".join([f"{text}\n" for text in texts])
    letters = joined.encode(WESTERN_ENCODING)
    starts, ends = _bounds(np.frombuffer(letters.translate(KIND_OF_BYTE), np.uint8))
    n_words = np.ones(len(starts), np.int64)
    if merged:
        starts, ends, n_words = _merged(starts, ends, compounds(joined))
    examples, numbers = _distinct(letters, starts, ends - starts)
    words = [joined[start:end] for start, end in zip(starts[examples].tolist(), ends[examples].tolist())]
    text_ends = np.cumsum([len(text) + 1 for text in texts])
    sizes = np.diff(np.searchsorted(starts, text_ends), prepend=0)
    return Cut(words, numbers, sizes, _first(n_words, sizes), n_words)


def _first(n_words: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each word stands in its text, counted in plain words."""
    # Plain words before each word, over all texts; less those before its own text.
    before = np.cumsum(n_words) - n_words
    begins = np.cumsum(sizes) - sizes
    is_there = sizes > 0
    return before - np.repeat(before[begins[is_there]], sizes[is_there])


def _merged(starts: Places, ends: Places, together: Sequence[tuple[int, int]]) -> tuple[Places, Places, Places]:
    """The words with those merged that one place takes up, even in part; and of how many each consists.

    Places that overlap go to the one that begins first.
    """
    begins, stops = np.array([*together], np.intp).reshape(-1, 2).T
    # Words in the order of the text: the first that ends behind the beginning of a place, and the first that starts
    # at or behind its end. A place that begins inside the one before it loses what that one has.
    first = np.searchsorted(ends, begins, side="right")
    last = np.maximum.accumulate(np.searchsorted(starts, stops))
    first[1:] = np.maximum(first[1:], last[:-1])
    is_first = np.ones(len(starts), bool)
    # All words of a place but its first are merged into it.
    is_first[ranges(first + 1, np.maximum(last - first - 1, 0))] = False
    kept = np.flatnonzero(is_first)
    after = np.append(kept[1:], len(starts))
    return starts[kept], ends[after - 1] if len(kept) else ends, after - kept


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
    # Fibonacci hashing: the multiplication spreads what differs in few bits over all of them.
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


def distinct(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Each of some numbers once, in their order.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    # By sorting: numpy's own way, where no index is asked for, is to hash, which takes many times as long.
    return np.unique(numbers, return_index=True)[0].astype(np.int64, copy=False)


def ranges(starts: NDArray[np.integer], lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """The numbers from each start on, as many as its length says: where some of the rows stand.

    >>> ranges(np.array([10, 20]), np.array([3, 2])).tolist()
    [10, 11, 12, 20, 21]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))

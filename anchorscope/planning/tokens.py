"""The tokens of many texts: which term each is, and where it stands; found here, or in parts by helpers.

A helper gets some of the texts and numbers their terms by itself; its columns come back and are numbered anew here. So
no more than a row a distinct word is looked at here. Texts whose words a segmenter finds are cut here where they are
few: else every helper would read its dictionaries for a handful of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from anchorscope.planning.vocabulary import NO_TERM, Apart, Vocabulary
from anchorscope.text.cut import cut
from anchorscope.text.rule import PLAIN
from anchorscope.text.segmenters import NEEDED_SHARE, languages
from anchorscope.types import SharingBackend

CUT_AT_ONCE = 1 << 20
"""Characters whose words are held at a time."""

CUT_BY_A_HELPER = 1 << 26
"""Characters that a helper cuts at a time, about: the distinct words of each part come back."""


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Term and place of every token in some documents; how many each document has."""

    term: NDArray[np.int32]
    first: NDArray[np.int32]
    n_words: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @classmethod
    def join(cls, parts: Sequence[Tokens]) -> Tokens:
        """What was found in all parts, one after another."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))

    def within(self, words: NDArray[np.int64]) -> Tokens:
        """What of it stands, at least in part, from one word to another of its document: ``words`` (documents, 2)."""
        # A row a token: the words of its document that the model reads.
        begin, end = np.repeat(words, self.sizes, axis=0).T
        is_there = (self.first + self.n_words > begin) & (self.first < end)
        # How many tokens are there before each place; between the ends of a document, how many it keeps.
        before = np.concatenate([[0], np.cumsum(is_there)])
        sizes = np.diff(before[np.concatenate([[0], np.cumsum(self.sizes)])])
        return Tokens(self.term[is_there], self.first[is_there], self.n_words[is_there], sizes)

    def divided(self, documents: Sequence[int]) -> list[Tokens]:
        """What stands before the first of some documents, from there to the next of them, and so on to the end."""
        edges = [0, *documents, len(self.sizes)]
        ends = np.concatenate([[0], np.cumsum(self.sizes)])[edges].tolist()
        return [
            Tokens(self.term[start:end], self.first[start:end], self.n_words[start:end], self.sizes[one:other])
            for (one, other), (start, end) in zip(pairwise(edges), pairwise(ends))
        ]


def find_tokens(texts: Sequence[str], vocabulary: Vocabulary, helpers: SharingBackend | None = None) -> Tokens:
    """The tokens of all texts; cut by helpers where that is worth the way."""
    n_characters = sum(map(len, texts))
    if helpers is None or n_characters < 2 * CUT_AT_ONCE * helpers.n_workers:
        return _find_here(texts, vocabulary)
    segmented = _segmented(texts, vocabulary.kinds)
    left = list(texts)
    for number in segmented:
        left[number] = ""
    # As many parts for each helper, of like size.
    n_parts = helpers.n_workers * max(1, round(n_characters / (helpers.n_workers * CUT_BY_A_HELPER)))
    parts = list(batches(left, -(-n_characters // n_parts)))
    begun = helpers.map(partial(find_apart, vocabulary.kinds, vocabulary.never), parts)
    here = _find_here([texts[number] for number in segmented], vocabulary) if segmented else None
    found = Tokens.join([replace(part, term=vocabulary.merge(apart)[part.term]) for part, apart in begun])
    return found if here is None else _put_back(found, segmented, here)


def find_apart(kinds: str, never: frozenset[str], texts: Sequence[str]) -> tuple[Tokens, Apart]:
    """The tokens of some texts, with terms numbered by themselves, and what these numbers stand for."""
    vocabulary = Vocabulary(kinds, never)
    found = _find_here(texts, vocabulary)
    return found, vocabulary.apart()


def document_frequencies(texts: Sequence[str], kinds: str) -> dict[str, int]:
    """How many of some texts hold each term.

    >>> sorted(document_frequencies(["so good, so", "Good!"], "words").items())
    [('good', 2), ('so', 1)]
    """
    if not texts:
        return {}
    found, apart = find_apart(kinds, frozenset(), texts)
    holder = np.repeat(np.arange(len(texts)), found.sizes)
    pairs = np.sort(holder * len(apart.terms) + found.term, kind="stable")
    terms = pairs[np.diff(pairs, prepend=-1) > 0] % max(1, len(apart.terms))
    return dict(zip(apart.terms, np.bincount(terms, minlength=len(apart.terms)).tolist()))


def batches(texts: Sequence[str], n_characters: int) -> Iterator[Sequence[str]]:
    """The texts in turn, as many at a time as have so many characters together, or one that has more."""
    reached = np.cumsum([len(text) for text in texts]) // n_characters
    edges = [0, *(np.flatnonzero(np.diff(reached)) + 1).tolist(), len(texts)]
    return (texts[start:end] for start, end in pairwise(edges))


def _segmented(texts: Sequence[str], kinds: str) -> list[int]:
    """The texts whose words a segmenter finds, where they are few."""
    if kinds == PLAIN:
        return []
    found = [number for number, text in enumerate(texts) if not text.isascii() and languages(text)]
    return found if len(found) < NEEDED_SHARE * len(texts) else []


def _put_back(found: Tokens, numbers: Sequence[int], others: Tokens) -> Tokens:
    """What was found in some texts in place of nothing that was found in them."""
    first, *rests = found.divided(numbers)
    mine = others.divided(range(1, len(numbers)))
    # Each of the rests begins with the document in which nothing was found.
    after = [piece for one, rest in zip(mine, rests, strict=True) for piece in (one, *rest.divided([1])[1:])]
    return Tokens.join([first, *after])


def _find_here(texts: Sequence[str], vocabulary: Vocabulary) -> Tokens:
    return Tokens.join([_find(some, vocabulary) for some in batches(texts, CUT_AT_ONCE)])


def _find(texts: Sequence[str], vocabulary: Vocabulary) -> Tokens:
    """The words of some texts that have a term and are no stop words."""
    found = cut(texts, merged=vocabulary.kinds != PLAIN)
    n = np.bincount(found.numbers, minlength=len(found.words))
    # A distinct word is looked up once; by its number each of its copies then has the term.
    term_number = vocabulary.count(found.words, n)[found.numbers]
    there = np.flatnonzero(term_number != NO_TERM)
    ends = np.cumsum(found.sizes)
    sizes = np.diff(np.searchsorted(there, ends), prepend=0)
    first = found.first[there].astype(np.int32)
    return Tokens(term_number[there], first, found.n_words[there].astype(np.int32), sizes)

"""The tokens of many texts: which term each is, and where it stands; found here, or in parts by helpers.

A term is looked for once a distinct word, so a word costs what it takes to look it up (``Vocabulary``). Words are
numbered as they are met, and so are terms. A helper gets some of the texts and numbers their terms by itself; its
columns come back and are merged word by word here, whoever met a word first. So no more than a row a distinct word is
looked at here. Texts whose words a segmenter finds are cut here where they are few: else every helper would read its
dictionaries for a handful of them.

>>> vocabulary = Vocabulary("words", frozenset({"a"}))
>>> vocabulary.count(["A", "Film", "film", "!"], np.array([1, 1, 2, 4])).tolist(), list(vocabulary.terms)
([-1, 0, 0, -1], ['film'])
>>> vocabulary.written(np.array([0])), vocabulary.never_counted()
(('film',), {'a': 1})
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from anchorscope.text.cut import cut
from anchorscope.text.rule import PLAIN, keys_of, shown
from anchorscope.text.segmenters import NEEDED_SHARE, languages
from anchorscope.types import SharingBackend

NO_TERM = -1
"""The number of a word that is never a candidate."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """What was met elsewhere, as columns that can travel: the terms in the order of their numbers there; the words,
    the number of the term of each, and how often each is written."""

    terms: list[str]
    words: list[str]
    term_of: NDArray[np.int32]
    n: NDArray[np.int64]


class Vocabulary(dict[str, int]):
    """The number of every word met so far, by the word as written; ``terms`` has the numbers of the terms."""

    def __init__(self, kinds: str, never: frozenset[str]) -> None:
        super().__init__()
        self.kinds = kinds
        self.never = never
        self.terms: dict[str, int] = {}
        self._key = keys_of(kinds)
        self._term_of = array("i")
        self._n = np.zeros(0, np.int64)

    def __missing__(self, word: str) -> int:
        found = self._key(word)
        is_out = found is None or found in self.never
        self._term_of.append(NO_TERM if is_out else self.terms.setdefault(str(found), len(self.terms)))
        self[word] = number = len(self)
        return number

    def count(self, words: Sequence[str], n: NDArray[np.integer]) -> NDArray[np.int32]:
        """The term of each of some words, which are written so often."""
        places = np.fromiter(map(self.__getitem__, words), np.int64, len(words))
        self._add(places, n)
        return np.array(self._term_of, np.int32)[places]

    def apart(self) -> Apart:
        """What was met, as columns."""
        return Apart(list(self.terms), list(self), np.array(self._term_of, np.int32), self._n[: len(self)])

    def merge(self, apart: Apart) -> NDArray[np.int32]:
        """Add what was met elsewhere; answers the number here of every term that is numbered there."""
        here = np.array([*(self.terms.setdefault(term, len(self.terms)) for term in apart.terms), NO_TERM], np.int32)
        terms = here[apart.term_of]  # the number -1 points to the last one
        # A word that is new here has its term already: its key is not looked for again.
        places = np.fromiter((self.setdefault(word, len(self)) for word in apart.words), np.int64, len(apart.words))
        is_new = places >= len(self._term_of)
        self._term_of.extend(terms[is_new].tolist())
        self._add(places, apart.n)
        return here

    def _add(self, places: NDArray[np.int64], n: NDArray[np.integer]) -> None:
        if len(self) > len(self._n):  # twice as much room as is needed: it grows seldom
            self._n = np.concatenate([self._n, np.zeros(2 * len(self) - len(self._n), np.int64)])
        np.add.at(self._n, places, n)

    def written(self, terms: NDArray[np.intp]) -> tuple[str, ...]:
        """How some terms, given by their numbers, are written most often; of equally frequent ways, the first in the
        alphabet."""
        term_of, n = np.array(self._term_of, np.int32), self._n[: len(self)]
        most = np.zeros(len(self.terms), np.int64)
        there = term_of != NO_TERM
        np.maximum.at(most, term_of[there], n[there])
        best = [""] * len(self.terms)
        words = list(self)
        places = np.flatnonzero(there & (n == most[term_of]))
        for place, number in zip(places.tolist(), term_of[places].tolist()):
            way = shown(words[place])
            best[number] = min(best[number] or way, way)
        return tuple(best[number] for number in terms.tolist())

    def never_counted(self) -> dict[str, int]:
        """How often the terms that are never candidates are met."""
        counts: Counter[str] = Counter()
        for word, number in self.items() if self.never else ():
            found = self._key(word) if self._term_of[number] == NO_TERM else None
            if found in self.never:
                counts[str(found)] += int(self._n[number])
        return dict(counts)


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

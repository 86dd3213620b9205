"""The words of a collection as they are written, how often each, and the terms that they have.

A term is looked for once a distinct word, so a word costs what it takes to look it up. Words are numbered as they are
met, and so are terms; what was met elsewhere is merged word by word, whoever met it first.

>>> vocabulary = Vocabulary("words", frozenset({"a"}))
>>> vocabulary.count(["A", "Film", "film", "!"], np.array([1, 1, 2, 4])).tolist(), list(vocabulary.terms)
([-1, 0, 0, -1], ['film'])
>>> vocabulary.written(np.array([0])), vocabulary.never_counted()
(('film',), {'a': 1})
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorscope.text.rule import keys_of, shown

NO_TERM = -1
"""The number of a word that is never a candidate."""


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

"""Which documents of a label hold a word, in the order of priority: an index that reaches as far as it is needed.

A race asks for the next documents of a word. The words that matter to it are frequent, so their next documents are
near the front of the order, however large the collection: only the documents up to a threshold of priority are
indexed. When a word has used up those of its documents that are, the threshold moves to twice as many documents.
What is answered does not depend on it; run to the end, the index holds everything.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from anchorscope.collection import Collection


class Holders:
    """The documents of one label by the words that they hold.

    ``documents`` are given in the order of priority, ``n_holders`` (terms,) says how many hold each term, and
    ``threshold`` how many documents are indexed at first.
    """

    def __init__(
        self, collection: Collection, documents: NDArray[np.intp], n_holders: NDArray[np.int64], threshold: int
    ) -> None:
        self._collection, self._documents, self._n_holders = collection, documents, n_holders
        self._index(max(1, threshold))

    @property
    def n_indexed(self) -> int:
        """The threshold: so many documents are indexed."""
        return min(self._threshold, len(self._documents))

    def occurrences(self, term: int, number: int) -> list[int] | None:
        """A term's occurrences in its document of the given number, or None if that is behind the last one indexed."""
        at = self._first[term] + number
        if at >= self._first[term + 1]:
            return None
        found: list[int] = self._occurrences[self._starts[at] : self._starts[at + 1]].tolist()
        return found

    def next_documents(self, term: int, start: int, n: int, visited: NDArray[np.bool_]) -> list[int]:
        """The next n documents of a term, from that of number ``start`` on, that were not visited yet."""
        found: list[int] = []
        for document in self._from(term, start):
            if not visited[document]:
                found.append(document)
                if len(found) == n:
                    break
        return found

    def _from(self, term: int, number: int) -> Iterator[int]:
        """The documents of a term from a number on; the threshold moves when it has to."""
        while number < self._n_holders[term]:
            at = self._first[term] + number
            if at < self._first[term + 1]:
                yield int(self._collection.occurrence_document[self._occurrences[self._starts[at]]])
                number += 1
            else:
                self._index(2 * self._threshold)

    def _index(self, threshold: int) -> None:
        """Index the first documents: their occurrences by term, and by document in the order of priority."""
        c = self._collection
        self._threshold = threshold
        documents = self._documents[:threshold]
        firsts = c.first_occurrence[documents]
        sizes = c.first_occurrence[documents + 1] - firsts
        occurrences = np.arange(sizes.sum()) + np.repeat(firsts - (np.cumsum(sizes) - sizes), sizes)
        terms = c.occurrence_term[occurrences]
        order = np.argsort(terms, kind="stable")
        terms, self._occurrences = terms[order], occurrences[order]
        holders = c.occurrence_document[self._occurrences]
        is_first = (np.diff(terms, prepend=-1) != 0) | (np.diff(holders, prepend=-1) != 0)
        starts = np.flatnonzero(is_first)
        self._starts = np.append(starts, len(terms))
        self._first = np.searchsorted(terms[starts], np.arange(len(c.terms) + 1))

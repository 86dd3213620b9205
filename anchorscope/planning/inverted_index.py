"""An inverted index: which documents of a label hold a word, in the order of priority, as far as that is needed.

A race asks for the next documents of a word. The words that matter to it are frequent, so their next documents are
near the front of the order, however large the collection: only the documents up to a threshold of priority are
indexed. When a word has used up those of its documents that are, the threshold moves to twice as many documents.
What is answered does not depend on it; run to the end, the index holds everything.

The *postings* of a word are its documents, each with the occurrences of the word in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anchorscope.planning.collection import Collection
from anchorscope.text.cut import ranges

Numbers = NDArray[np.int64]


class InvertedIndex:
    """The documents of one label by the words that they hold.

    ``documents`` are given in the order of priority, ``frequency`` (terms,) says how many of them hold each term, and
    ``threshold`` how many documents are indexed at first.
    """

    def __init__(self, collection: Collection, documents: NDArray[np.intp], frequency: Numbers, threshold: int) -> None:
        self._collection = collection
        self._documents = documents
        self._frequency = frequency
        self._index(max(1, threshold))

    @property
    def n_indexed(self) -> int:
        """The threshold: so many documents are indexed."""
        return min(self._threshold, len(self._documents))

    def reached(self, terms: Numbers, start: Numbers, measured: NDArray[np.bool_]) -> Numbers:
        """How many postings of each term, the first ``start`` and on from there, are measured before one is not."""
        # A posting is open if its first occurrence is not measured. In the flat array of all postings the next open one
        # from the start of each term on ends what it has reached, and so does the end of its own postings.
        is_open = ~measured[self._occurrences[self._starts[:-1]]]
        gaps = np.append(np.flatnonzero(is_open), len(self._document_of))
        next_gap = gaps[np.searchsorted(gaps, self._first[terms] + start)]
        return np.minimum(next_gap, self._first[terms + 1]) - self._first[terms]

    def occurrences(self, terms: Numbers, start: Numbers, stop: Numbers) -> tuple[Numbers, Numbers]:
        """The occurrences of each term in its postings from one number to another, and how many are in each."""
        # Twice from rows to what is in them: the postings of each term, and the occurrences of each posting.
        places = ranges(self._first[terms] + start, stop - start)
        sizes = self._starts[places + 1] - self._starts[places]
        return self._occurrences[ranges(self._starts[places], sizes)], sizes

    def next_documents(self, term: int, start: int, n: int, visited: NDArray[np.bool_]) -> list[int]:
        """The next n documents of a term, from that of number ``start`` on, that were not visited yet.

        The threshold moves when it has to.
        """
        while True:
            first, end = self._first[term : term + 2].tolist()
            documents = self._document_of[first + start : end]
            found: list[int] = documents[~visited[documents]][:n].tolist()
            if len(found) == n or end - first == self._frequency[term]:
                return found
            self._index(2 * self._threshold)

    def next_occurrences(self, term: int, start: int, n: int, asked: NDArray[np.bool_]) -> Numbers:
        """The occurrences in the next n postings of a term, from number ``start`` on, that were not asked for yet."""
        while True:
            first, end = self._first[term : term + 2].tolist()
            # All that is indexed of the term from its prefix on; what other words have asked for already is left out.
            occurrences = self._occurrences[self._starts[first + start] : self._starts[end]]
            found = occurrences[~asked[occurrences]]
            if len(found) >= n or end - first == self._frequency[term]:
                return found[:n]
            self._index(2 * self._threshold)

    def _index(self, threshold: int) -> None:
        """Index the first documents: their occurrences by term, and by document in the order of priority."""
        # Compressed rows, twice: ``_first[term]`` to ``_first[term + 1]`` are the postings of a term,
        # ``_starts[posting]`` to ``_starts[posting + 1]`` its occurrences in the flat array ``_occurrences``.
        c = self._collection
        self._threshold = threshold
        occurrences = c.occurrences_in(self._documents[:threshold])
        terms = c.occurrence_term[occurrences]
        # Sorted by term; as the sort is stable, the documents of a term stay in the order of priority.
        order = np.argsort(terms, kind="stable")
        terms = terms[order]
        self._occurrences = occurrences[order]
        documents = c.occurrence_document[self._occurrences]
        # A posting begins where the term or the document changes; ``_first`` says where the postings of a term begin.
        is_first = (np.diff(terms, prepend=-1) != 0) | (np.diff(documents, prepend=-1) != 0)
        starts = np.flatnonzero(is_first)
        self._starts = np.append(starts, len(terms))
        self._document_of = documents[starts]
        self._first = np.searchsorted(terms[starts], np.arange(len(c.terms) + 1))

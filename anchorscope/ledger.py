"""The counts of a run as it goes: verdicts in, the tally out.

A strategy says which verdicts count now (a race counts prefixes only); what a verdict counts for is decided here
(``credit.py``), so that the journal holds verdicts as they were found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope.collection import Collection
from anchorscope.credit import Credit
from anchorscope.race import Race
from anchorscope.scan import Round, Scan
from anchorscope.tally import Tally
from anchorscope.types import EMPTY, Verdict

EXAMPLES = 3
"""Documents named for a shown term, and as many in which it is no anchor."""


class Ledger:
    """The counts of a run as it goes: the tally, which documents are robust, and where terms were tested."""

    def __init__(self, collection: Collection, strategy: Scan | Race, credit: Credit) -> None:
        self._strategy = strategy
        self.tally: Tally = collection.tally()
        self.robust = np.zeros(len(collection.documents), bool)
        self._empty = np.ones(len(collection.documents))
        self._credit = credit
        self._collection = collection
        self._examples: dict[tuple[int, int, bool], dict[int, int]] = {}

    def occurrences_of(self, verdicts: Sequence[Verdict]) -> NDArray[np.int64]:
        """The number of the occurrence that each verdict is about, -1 for the empty anchor."""
        answer = np.full(len(verdicts), -1, np.int64)
        documents = np.array([v.document for v in verdicts], np.int64)
        positions = np.array([v.position for v in verdicts], np.int64)
        tested, c = positions != EMPTY, self._collection
        there = c.occurrences_in(np.unique(documents[tested]))
        places = _place(c.occurrence_document[there].astype(np.int64), c.occurrence_position[there])
        answer[tested] = there[np.searchsorted(places, _place(documents[tested], positions[tested]))]
        return answer

    def terms_of(self, verdicts: Sequence[Verdict]) -> NDArray[np.int64]:
        """The term number of each verdict, -1 for the empty anchor."""
        occurrences = self.occurrences_of(verdicts)
        return np.where(occurrences < 0, -1, self._collection.occurrence_term[np.maximum(occurrences, 0)])

    def n_robust(self) -> NDArray[np.int64]:
        """The robust documents of each label, (labels,)."""
        labels = self._collection.predictions.labels[np.flatnonzero(self.robust)]
        return np.bincount(labels, minlength=len(self._collection.labels))

    def add(self, round_: Round, verdicts: Sequence[Verdict]) -> None:
        """Count a round."""
        for v in verdicts:
            if v.position == EMPTY:
                self.robust[v.document], self._empty[v.document] = v.anchor, v.precision
        occurrences = self.occurrences_of(verdicts)
        tested = occurrences >= 0
        documents = np.array([v.document for v in verdicts], np.int64)[tested]
        anchor = np.array([v.anchor for v in verdicts], bool)[tested]
        precision = np.array([v.precision for v in verdicts], np.float64)[tested]
        anchor = self._credit.anchors(anchor, precision, self.robust[documents], self._empty[documents])
        gain = self._credit.gains(np.array([v.gain for v in verdicts], np.float64)[tested], self._empty[documents])
        self._count(*self._strategy.count(occurrences[tested], anchor, gain))
        skips = np.array(round_.skips, np.int64).reshape(-1, 3)
        self.tally = self.tally.skip(skips[:, 0], skips[:, 1], skips[:, 2])

    def _count(self, occurrences: NDArray[np.int64], anchor: NDArray[np.bool_], gain: NDArray[np.float64]) -> None:
        terms = self._collection.occurrence_term[occurrences].astype(np.int64)
        documents = self._collection.occurrence_document[occurrences]
        labels = self._collection.predictions.labels[documents]
        self.tally = self.tally.observe(labels, terms, anchor, gain)
        positions = self._collection.occurrence_position[occurrences]
        rows = (labels, terms, anchor, documents, positions)
        for label, term, yes, document, position in zip(*(row.tolist() for row in rows)):
            places = self._examples.setdefault((label, term, yes), {})
            if len(places) < EXAMPLES:
                places.setdefault(document, position)

    def examples(self, label: int, term: int, anchor: bool) -> list[tuple[int, int]]:
        """The first documents and positions at which the term was found to be an anchor, or none."""
        return list(self._examples.get((label, term, anchor), {}).items())

    def example_keys(self, label: int, term: int) -> tuple[str, ...]:
        """The keys of documents in which the term is an anchor."""
        return tuple(self._collection.documents[d].key for d, _ in self.examples(label, term, True))


def _place(documents: NDArray[np.int64], positions: NDArray[np.integer]) -> NDArray[np.int64]:
    """A document and a position as one number: in the order of documents, then of positions."""
    return (documents << 32) + positions

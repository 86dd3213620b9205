"""Measurements that are written down, to be counted again.

They are written as they were found. What each counts for, in the light of its document's empty anchor, is decided
whenever it is counted (``empty_anchor.py``): by ``ledger.py`` as a run goes, here when it is read. Of a race the first
documents of each word count, as many as its prefix has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorscope.journal.columns import Rows
from anchorscope.scoring.empty_anchor import EmptyAnchorRule
from anchorscope.scoring.running_sums import RunningSums


@dataclass(frozen=True, slots=True, eq=False)
class CountedMeasurements:
    """Measurements as columns, each as it counts."""

    label: NDArray[np.int64]
    term: NDArray[np.int64]
    document: NDArray[np.int64]
    anchor: NDArray[np.bool_]
    value: NDArray[np.float64]
    noise: NDArray[np.float64]
    repeat: NDArray[np.float64]
    expected: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows, predicted: NDArray[np.int64], rule: EmptyAnchorRule) -> CountedMeasurements:
        """From the rows of a journal and the label predicted for each document; in the order of the documents."""
        rows = rows[np.argsort(rows["document"], kind="stable")]
        precision = rows["agreements"] / np.maximum(rows["samples"], 1)
        of_empty = rows["term"] < 0
        tested = rows["term"] >= 0
        documents = rows["document"].astype(np.int64)
        robust = np.zeros(len(predicted), bool)
        empty = np.ones(len(predicted))
        robust[documents[of_empty]] = rows["anchor"][of_empty]
        empty[documents[of_empty]] = precision[of_empty]
        document = documents[tested]
        anchor = rule.anchors(rows["anchor"][tested], precision[tested], robust[document], empty[document])
        value = rule.values(rows["value"][tested], empty[document])
        return cls(
            label=predicted[document],
            term=rows["term"][tested].astype(np.int64),
            document=document,
            anchor=anchor,
            value=value,
            noise=rule.noise(rows["variance"][tested], empty[document]),
            repeat=rule.values(rows["repeat"][tested], empty[document]),
            expected=rows["expected"][tested],
        )

    def within(self, prefixes: Mapping[tuple[int, int], int], order: NDArray[np.uint64]) -> CountedMeasurements:
        """Those about the first documents of each word (label, term), as many as its prefix has, in their order.

        ``order`` is the priority of each document.
        """
        kept = [
            number
            for number, (place, rank) in enumerate(zip(self._words(), self._rank_in_word(order).tolist()))
            if rank < prefixes.get(place, 0)
        ]
        # Sums of floats depend on their order: this is the one in which the race adds them up.
        kept.sort(key=order[self.document].tolist().__getitem__)
        return CountedMeasurements(*(getattr(self, name)[kept] for name in self.__slots__))

    def add_to(self, sums: RunningSums) -> None:
        """Count what each document brought to a word, in the order of the rows."""
        n_terms = sums.documents.shape[1]
        n_documents = int(self.document.max(initial=0)) + 1
        place = (self.label * n_terms + self.term) * n_documents + self.document
        distinct, first, number = np.unique(place, return_index=True, return_inverse=True)
        brought = [
            np.bincount(number, column, minlength=len(distinct)).astype(np.float64)
            for column in (self.value, self.anchor, self.noise, self.repeat, self.expected)
        ]
        # A word's documents are added up in the order in which they came, as the race does.
        order = np.argsort(first, kind="stable")
        label, term = np.divmod(distinct // n_documents, n_terms)
        for one in np.unique(label).tolist():
            rows = order[label[order] == one]
            sums.count(one, term[rows], *(column[rows] for column in brought))

    def _words(self) -> list[tuple[int, int]]:
        return list(zip(self.label.tolist(), self.term.tolist()))

    def _rank_in_word(self, order: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The place of each row's document among those measured for the same word, by priority."""
        sorted_ = np.lexsort((self.document, order[self.document], self.term, self.label))
        label = self.label[sorted_]
        term = self.term[sorted_]
        document = self.document[sorted_]
        # Sorted by word and priority: the rank of a document is how many have begun, less those before its word.
        is_new_word = (np.diff(label, prepend=-1) != 0) | (np.diff(term, prepend=-1) != 0)
        is_new_document = is_new_word | (np.diff(document, prepend=-1) != 0)
        n_documents = np.cumsum(is_new_document)
        before_word = np.maximum.accumulate(np.where(is_new_word, n_documents, 0))
        rank = np.empty(len(sorted_), np.int64)
        rank[sorted_] = n_documents - before_word
        return rank

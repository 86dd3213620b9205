"""Counts per (label, term): zero, add, merge; the order does not matter.

A tally holds, for every label (row) and candidate term (column), how many occurrences in documents of
that label were tested and found to be anchors or not, how many were skipped by a filter, and the sum of
their values (in millionths, whole numbers, so that sums do not depend on their order); and what
is known before any test: occurrences in documents of the label, documents that hold the term, and its
occurrences in the training set (in the collection, where no training set was given). Tallies of
disjoint parts add up, so they can be counted anywhere, in any order.

>>> one = Tally.zero(1, 2)
>>> (one + one).anchors.tolist()
[[0, 0]]
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Scores = NDArray[np.float64]

VALUE_UNIT = 1e-6
"""Values are counted in this unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Counts (labels, terms); ``training`` is (terms,)."""

    anchors: Counts
    non_anchors: Counts
    skipped: Counts
    values: Counts
    occurrences: Counts
    documents: Counts
    training: Counts

    @classmethod
    def zero(cls, n_labels: int, n_terms: int) -> Tally:
        """The tally of nothing."""
        shapes = {field.name: (n_labels, n_terms) for field in fields(cls)} | {"training": (n_terms,)}
        return cls(**{name: np.zeros(shape, np.int64) for name, shape in shapes.items()})

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def observe(
        self, labels: Counts, terms: Counts, anchor: NDArray[np.bool_], value: NDArray[np.float64] | None = None
    ) -> Tally:
        """This tally and one verdict for each (label, term) pair."""
        anchors = self.anchors.copy()
        non_anchors = self.non_anchors.copy()
        values = self.values.copy()
        np.add.at(anchors, (labels[anchor], terms[anchor]), 1)
        np.add.at(non_anchors, (labels[~anchor], terms[~anchor]), 1)
        if value is not None:
            np.add.at(values, (labels, terms), np.rint(value / VALUE_UNIT).astype(np.int64))
        return replace(self, anchors=anchors, non_anchors=non_anchors, values=values)

    def deepen(self, labels: Counts, terms: Counts, change: NDArray[np.float64]) -> Tally:
        """This tally with what further measurements change about values that count already."""
        values = self.values.copy()
        np.add.at(values, (labels, terms), np.rint(change / VALUE_UNIT).astype(np.int64))
        return replace(self, values=values)

    def skip(self, labels: Counts, terms: Counts, n: Counts | int = 1) -> Tally:
        """This tally and ``n`` skipped occurrences for each (label, term) pair (negative: taken up again)."""
        skipped = self.skipped.copy()
        np.add.at(skipped, (labels, terms), n)
        return replace(self, skipped=skipped)

    def with_skipped_as_non_anchors(self) -> Tally:
        """What the paper's own filter counts: an occurrence that it skips is no anchor."""
        return replace(self, non_anchors=self.non_anchors + self.skipped, skipped=np.zeros_like(self.skipped))

    def without_verdicts(self) -> Tally:
        """The same tests, none of them called an anchor: those of a graded local score read too few texts for that."""
        return replace(self, anchors=np.zeros_like(self.anchors), non_anchors=self.non_anchors + self.anchors)

    @property
    def untested(self) -> Counts:
        """Occurrences without a verdict, skipped ones included: r in the bounds."""
        return self.occurrences - self.anchors - self.non_anchors


def ranking(scores: Scores, occurrences: Counts, n: int | None = None) -> NDArray[np.intp]:
    """The terms of one label from best to worst: by score, then occurrences, then term (columns are in term order).

    Terms that do not occur in the label's documents are left out. With ``n``, the first n of them, found without
    sorting the rest.

    >>> ranking(np.array([0.5, 0.7, 0.5, 0.9]), np.array([3, 1, 4, 0])).tolist()
    [1, 2, 0]
    >>> ranking(np.array([0.5, 0.7, 0.5, 0.9]), np.array([3, 1, 4, 0]), 2).tolist()
    [1, 2]
    """
    present = np.flatnonzero(occurrences > 0)
    # Rounded, so that the last bits decide no tie; lexsort reads its keys from the last to the first.
    values = -np.round(scores[present], 14)
    if n is not None and 0 < n < len(present):
        ahead = values <= np.partition(values, n - 1)[n - 1]  # the n best, and those level with the last of them
        present = present[ahead]
        values = values[ahead]
    return present[np.lexsort((present, -occurrences[present], values))][:n]


def ratio(numerator: NDArray[np.generic], denominator: NDArray[np.generic]) -> Scores:
    """numerator / denominator, with 0/0 = 0.

    >>> ratio(np.array([1, 0]), np.array([2, 0])).tolist()
    [0.5, 0.0]
    """
    out: Scores = np.divide(
        numerator, denominator, out=np.zeros(np.broadcast(numerator, denominator).shape), where=denominator != 0
    )
    return out

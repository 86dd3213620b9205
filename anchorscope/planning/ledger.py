"""The counts of a run as it goes: measurements in, the tally out.

A strategy says which measurements count now (a race counts prefixes only); what one counts for, in the light of its
document's empty anchor, is decided here (``empty_anchor.py``), so that the journal holds them as they were found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anchorscope.planning.collection import Collection
from anchorscope.planning.plan import EMPTY_ANCHOR, Counted, Round, Strategy
from anchorscope.scoring.empty_anchor import EmptyAnchorRule
from anchorscope.scoring.tally import Tally
from anchorscope.types import Measurements

EXAMPLES = 3
"""Documents named for a shown term, and as many in which it is no anchor."""


class Ledger:
    """The tally of a run, which documents are robust, and where terms were measured."""

    def __init__(self, collection: Collection, strategy: Strategy, rule: EmptyAnchorRule) -> None:
        self.tally: Tally = collection.tally
        self.greatest = np.full(len(collection.labels), -np.inf)  # value of a test of each label
        self.robust = np.zeros(len(collection.documents), bool)
        self._empty = np.ones(len(collection.documents))  # the precision of each document's empty anchor
        self._visited = np.zeros(len(collection.documents), bool)
        self._collection = collection
        self._strategy = strategy
        self._rule = rule
        self._counted: list[Counted] = []
        self._examples: dict[tuple[int, int, bool], tuple[dict[int, int], int]] = {}  # and of how many rounds

    def n_visited(self) -> NDArray[np.int64]:
        """The documents of each label whose empty anchor was tested, (labels,)."""
        labels = self._collection.predictions.labels[np.flatnonzero(self._visited)]
        return np.bincount(labels, minlength=len(self._collection.labels))

    def n_robust(self) -> NDArray[np.int64]:
        """The robust documents of each label, (labels,)."""
        labels = self._collection.predictions.labels[np.flatnonzero(self.robust)]
        return np.bincount(labels, minlength=len(self._collection.labels))

    def add(self, round_: Round, found: Measurements) -> None:
        """Count a round."""
        documents = round_.documents
        occurrences = round_.occurrences
        is_empty = occurrences == EMPTY_ANCHOR
        # The empty anchors first: what the other rows count for depends on that of their document.
        self._visited[documents[is_empty]] = True
        self.robust[documents[is_empty]] = found.anchor[is_empty]
        self._empty[documents[is_empty]] = found.precision[is_empty]
        # In the order of documents and words, whoever asked: what is shown first does not depend on the plan.
        rows = np.flatnonzero(~is_empty)
        rows = rows[np.argsort(occurrences[rows], kind="stable")]
        empty = self._empty[documents[rows]]
        robust = self.robust[documents[rows]]
        tested = found[rows]
        anchor = self._rule.anchors(tested.anchor, tested.precision, robust, empty)
        value = self._rule.values(tested.value, empty)
        noise = self._rule.noise(tested.variance, empty)
        repeat = self._rule.values(tested.repeat, empty)
        numbers = np.array([unit.number for unit in round_.units for _ in unit.positions], np.int64)
        further = numbers[rows] > 0
        counted = Counted(occurrences[rows], anchor, value, noise, repeat, further, tested.calls)
        self._count(self._strategy.count(counted))
        skips = np.array(round_.skips, np.int64).reshape(-1, 3)
        self.tally = self.tally.skip(skips[:, 0], skips[:, 1], skips[:, 2])

    def _count(self, now: Counted) -> None:
        labels = self._collection.occurrence_label[now.occurrences].astype(np.int64)
        terms = self._collection.occurrence_term[now.occurrences].astype(np.int64)
        new = ~now.further
        self.tally = self.tally.observe(labels[new], terms[new], now.anchor[new], now.value[new])
        self._counted.append(now)
        # What is measured further changes a value that counts; the greatest one may then be another, also a smaller.
        if now.further.any():
            self.tally = self.tally.deepen(labels[now.further], terms[now.further], now.value[now.further])
            self.greatest[:] = -np.inf
            occurrences, values = self._means(np.ones(len(self._collection.occurrence_term), bool))
            np.maximum.at(self.greatest, self._collection.occurrence_label[occurrences], values)
        else:
            np.maximum.at(self.greatest, labels, now.value)

    def examples(self, label: int, term: int, anchor: bool) -> list[tuple[int, int]]:
        """The first documents in which the term was found to be an anchor, or none, and the occurrence in each."""
        # What was read of earlier rounds is remembered: a list is shown after every round, and changes little.
        found, n_read = self._examples.get((label, term, anchor), ({}, 0))
        while n_read < len(self._counted) and len(found) < EXAMPLES:
            part = self._counted[n_read]
            of_term = self._collection.occurrence_term[part.occurrences] == term
            wanted = of_term & (part.anchor == anchor) & ~part.further
            for occurrence in part.occurrences[wanted].tolist():
                document = int(self._collection.occurrence_document[occurrence])
                if self._collection.predictions.labels[document] == label and len(found) < EXAMPLES:
                    found.setdefault(document, occurrence)
            n_read += 1
        self._examples[label, term, anchor] = found, n_read
        return list(found.items())

    def values(self, label: int, term: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The documents of a label in which the term was tested, and what it did there, each (tests,)."""
        c = self._collection
        occurrences, values = self._means((c.occurrence_term == term) & (c.occurrence_label == label))
        return c.occurrence_document[occurrences].astype(np.int64), values

    def _means(self, wanted: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Those of the wanted occurrences that count, in the order in which they came to, and the value of each."""
        occurrences = np.concatenate([part.occurrences for part in self._counted] or [np.zeros(0, np.int64)])
        values = np.concatenate([part.value for part in self._counted] or [np.zeros(0)])
        rows = wanted[occurrences]
        # What further measurements have changed is added to what was found first.
        found, first, number = np.unique(occurrences[rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        summed = np.bincount(number, values[rows], minlength=len(found)).astype(np.float64)
        return found[order], summed[order]

    def example_keys(self, label: int, term: int) -> tuple[str, ...]:
        """The keys of documents in which the term is an anchor, or was tested first where none are looked for."""
        places = self.examples(label, term, True) or self.examples(label, term, False)
        return tuple(self._collection.documents[d].key for d, _ in places)

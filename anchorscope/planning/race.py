"""Our strategy: the words race for the top k, and only those whose place is open are tested on.

The cost of a race does not grow with the collection. Documents have a priority, a hash of seed and key; the
documents of a word are tested in that order, so those tested so far are a simple random sample of them, and as
all words use the same order, a document tested for one word serves the others too. A word counts a document only
when all before it in the order are tested (its *prefix*); measurements ahead of the prefix wait. Only the documents up
to a threshold of priority are indexed by word (``inverted_index.py``), and what is kept of the others is one place in
the order.

How many documents hold a word is known after one prediction a document; what the untested ones may bring is in
``posterior.py``. Each round extends the prefixes of the words whose membership in the top k is least certain and
matters most. A label is settled when the expected regret of its list is below the share that was asked for, or
everything is tested: then the race equals the exhaustive scan exactly.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from anchorscope.planning.collection import Collection
from anchorscope.planning.inverted_index import InvertedIndex
from anchorscope.planning.plan import EMPTY_ANCHOR, Counted, Round, Standing, priorities
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.forecasts import LEVEL, LabelForecast, RunningSums, expected_tally, label_forecasts
from anchorscope.scoring.tally import Tally, ranking
from anchorscope.settings import Settings

START = 256
"""Documents a label that are tested in plain priority order, before the words are told apart."""

FOCUS = 3
"""Words that a round extends, in multiples of k."""


class Race:
    """The race of all labels; its state is a pure function of the measurements counted so far."""

    help = "the documents of the words whose place is open, until the top terms are settled"
    interval_level = LEVEL

    def __init__(self, collection: Collection, settings: Settings) -> None:
        self._collection = collection
        self._settings = settings
        self._aggregation = aggregation(settings.aggregation)
        self._known = collection.tally()
        self._label_of = collection.predictions.labels
        order = np.argsort(priorities(settings.seed, [d.key for d in collection.documents]), kind="stable")
        order = order[np.diff(collection.first_occurrence)[order] > 0]
        by_label = [order[self._label_of[order] == label] for label in range(len(collection.labels))]
        self._start = [documents[:START] for documents in by_label]
        self._index = [InvertedIndex(collection, *row, START) for row in zip(by_label, self._known.documents)]
        self._sums = RunningSums.zero(self._known.documents)
        self._waiting: dict[int, tuple[bool, float]] = {}
        self._visited = np.zeros(len(collection.documents), bool)
        self._n_open = int(self._known.occurrences[collection.explained].sum())
        self._n_rounds = 0
        self._changed: tuple[NDArray[np.int64], NDArray[np.int64]] = (np.empty(0, np.int64), np.empty(0, np.int64))
        self._forecasts = self._look()

    def count(self, measured: Counted) -> Counted:
        """Take what a round measured; answer what counts now: prefixes may have grown over earlier ones too."""
        occurrences = measured.occurrences
        self._waiting.update(zip(occurrences.tolist(), zip(measured.anchor.tolist(), measured.value.tolist())))
        self._n_open -= len(occurrences)
        labels = self._collection.labels_of(occurrences)
        n_terms = len(self._collection.terms)
        terms = self._collection.occurrence_term[occurrences]
        self._changed = np.divmod(np.unique(labels * n_terms + terms), n_terms)
        passed = [self._extend(label, self._changed[1][self._changed[0] == label]) for label in range(len(self._start))]
        self._n_rounds += 1
        self._forecasts = self._look()
        counted = np.concatenate(passed)
        found = [self._waiting.pop(occurrence) for occurrence in counted.tolist()]
        return Counted(counted, np.array([yes for yes, _ in found], bool), np.array([value for _, value in found]))

    def next_round(self, tally: Tally) -> Round | None:
        """Documents for the words whose place is open, or None when every list is settled."""
        open_labels = [label for label in range(len(self._start)) if not self._is_settled(label)]
        quota = max(1, self._settings.round_size // max(1, len(open_labels)))
        chosen = [document for label in open_labels for document in self._choose(label, quota)]
        if not chosen:
            return None
        self._visited[chosen] = True
        tau = self._settings.tau
        return self._collection.round_of(map(self._part, chosen), lambda occurrences: np.full(len(occurrences), tau))

    def counted(self, tally: Tally) -> Tally:
        """The tally that scores are read from: what all documents are expected to give."""
        return expected_tally(self._forecasts, tally, self._aggregation)

    def standing(self, tally: Tally) -> Standing:
        """Intervals, memberships and regret, as the posterior tells."""
        settled = np.array([self._is_settled(label) for label in range(len(self._start))])
        return forecast_standing(self._forecasts, np.flatnonzero(self._collection.explained), settled, tally)

    def prefixes(self) -> list[tuple[int, int, int]]:
        """(label, term, documents counted) of the words that the last round may have moved: for the journal."""
        labels, terms = self._changed
        return list(zip(labels.tolist(), terms.tolist(), self._sums.counted[labels, terms].tolist()))

    def tests_left(self, tally: Tally) -> int:
        """At most so many tests are still to come."""
        return self._n_open

    @property
    def n_indexed(self) -> int:
        """The documents that are indexed by their words: those up to the threshold of each label."""
        return sum(index.n_indexed for index in self._index)

    def _look(self) -> list[LabelForecast]:
        s = self._settings
        return label_forecasts(
            self._sums, self._known, self._aggregation, alpha=s.alpha, k=s.top_k, seed=s.seed, n_rounds=self._n_rounds
        )

    def _is_settled(self, label: int) -> bool:
        if not self._collection.explained[label]:
            return True
        if (self._sums.counted[label] == self._known.documents[label]).all():
            return True
        started = bool(self._visited[self._start[label]].all())
        return started and self._forecasts[label].forecast.regret < self._settings.regret

    def _extend(self, label: int, terms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move the prefixes of some words over every document that is tested by now; the occurrences that they pass.

        All candidates of a document are tested in one round, so what was visited is tested.
        """
        index = self._index[label]
        start = self._sums.counted[label, terms]
        stop = index.reached(terms, start, self._visited)
        passed, sizes = index.occurrences(terms, start, stop)
        rows = iter([self._waiting[occurrence] for occurrence in passed.tolist()])
        for term, n in zip(np.repeat(terms, stop - start).tolist(), sizes.tolist()):
            here = list(islice(rows, n))
            self._sums.count(label, term, sum(value for _, value in here), sum(anchor for anchor, _ in here))
        return passed

    def _choose(self, label: int, quota: int) -> list[int]:
        """The next documents of one label, at most ``quota`` of them; those that several words want come first."""
        waiting = self._start[label][~self._visited[self._start[label]]]
        if len(waiting):
            return waiting[:quota].tolist()
        focus = self._focus(label)
        each = -(-2 * quota // len(focus))
        wanted: dict[int, int] = {}
        for term in focus:
            prefix = int(self._sums.counted[label, term])
            for document in self._index[label].next_documents(term, prefix, each, self._visited):
                wanted[document] = wanted.get(document, 0) + 1
        return sorted(wanted, key=lambda document: (-wanted[document], document))[:quota]

    def _focus(self, label: int) -> list[int]:
        """The unfinished words whose membership is least certain and matters most."""
        now = self._forecasts[label]
        documents = self._known.documents[label]
        unfinished = self._sums.counted[label] < documents
        m = now.forecast.membership
        doubt = np.zeros(len(documents))
        doubt[now.contenders] = np.sqrt(m * (1 - m)) * (now.forecast.high - now.forecast.low)
        return ranking(doubt, np.where(unfinished, documents, 0), FOCUS * self._settings.top_k).tolist()

    def _part(self, document: int) -> tuple[int, NDArray[np.int64]]:
        """All candidates of a document: with a shared stream they cost no more than one."""
        here = self._collection.occurrences_of(document)
        return document, np.concatenate([[EMPTY_ANCHOR], np.arange(here.start, here.stop)])


def forecast_standing(
    forecasts: list[LabelForecast], labels: NDArray[np.intp], settled: NDArray[np.bool_], tally: Tally
) -> Standing:
    """Intervals, memberships and regret of some labels; of the other words nothing is known."""
    shape = tally.anchors.shape
    low = np.full(shape, -np.inf)
    high = np.full(shape, np.inf)
    membership = np.zeros(shape)
    regret = np.zeros(shape[0])
    for label in labels.tolist():
        now = forecasts[label]
        low[label, now.contenders], high[label, now.contenders] = now.shown_interval()
        membership[label, now.contenders] = now.forecast.membership
        regret[label] = now.forecast.regret
    return Standing(low, high, settled, membership, regret)

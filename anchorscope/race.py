"""Our strategy: the words race for the top k, and only those whose place is open are tested on.

The cost of a race does not grow with the collection. Documents have a priority, a hash of seed and key; the
documents of a word are tested in that order, so those tested so far are a simple random sample of them, and as
all words use the same order, a document tested for one word serves the others too. A word counts a document only
when all before it in the order are tested (its *prefix*); verdicts ahead of the prefix wait. Only the documents up to a
threshold of priority are indexed by word (``holders.py``), and what is kept of the others is one place in the order.

How many documents hold a word is known after one prediction a document; what the untested ones may bring is in
``posterior.py``. Each round extends the prefixes of the words whose membership in the top k is least certain and
matters most. A label is settled when the expected regret of its list is below the share that was asked for, or
everything is tested: then the race equals the exhaustive scan exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from anchorscope import scores
from anchorscope.collection import Collection
from anchorscope.holders import Holders
from anchorscope.progress import LEVEL, LabelOutlook, Progress, expected_tally
from anchorscope.scan import Round, Standing
from anchorscope.settings import Settings
from anchorscope.tally import Tally
from anchorscope.types import EMPTY, Unit

START = 256
"""Documents a label that are tested in plain priority order, before the words are told apart."""

FOCUS = 3
"""Words that a round extends, in multiples of k."""


class Race:
    """The race of all labels; its state is a pure function of the verdicts counted so far."""

    interval_level = LEVEL

    def __init__(self, collection: Collection, settings: Settings) -> None:
        self._collection, self._settings = collection, settings
        self._known = collection.tally()
        self._label_of = collection.predictions.labels
        order = np.argsort(priorities(settings.seed, [d.key for d in collection.documents]), kind="stable")
        order = order[np.diff(collection.first_occurrence)[order] > 0]
        by_label = [order[self._label_of[order] == label] for label in range(len(collection.labels))]
        self._start = [documents[:START] for documents in by_label]
        self._holders = [Holders(collection, *row, START) for row in zip(by_label, self._known.documents)]
        self._progress = Progress.zero(self._known.documents)
        self._waiting: dict[int, tuple[bool, float]] = {}
        self._visited = np.zeros(len(collection.documents), bool)
        self._n_open = int(self._known.occurrences[collection.explained].sum())
        self._n_rounds = 0
        self._outlooks: list[LabelOutlook] = []
        self._changed: tuple[NDArray[np.int64], NDArray[np.int64]] = (np.empty(0, np.int64), np.empty(0, np.int64))
        self._look()

    def count(
        self, occurrences: NDArray[np.int64], anchor: NDArray[np.bool_], gain: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64]]:
        """Take new verdicts; answer those that count now: prefixes may have grown over earlier ones too."""
        self._waiting.update(zip(occurrences.tolist(), zip(anchor.tolist(), gain.tolist())))
        self._n_open -= len(occurrences)
        labels = self._label_of[self._collection.occurrence_document[occurrences]]
        terms = self._collection.occurrence_term[occurrences]
        self._changed = np.divmod(np.unique(labels * len(self._collection.terms) + terms), len(self._collection.terms))
        passed = [self._extend(label, self._changed[1][self._changed[0] == label]) for label in range(len(self._start))]
        self._n_rounds += 1
        self._look()
        counted = np.concatenate(passed)
        verdicts = [self._waiting.pop(occurrence) for occurrence in counted.tolist()]
        return counted, np.array([yes for yes, _ in verdicts], bool), np.array([gain for _, gain in verdicts])

    def next_round(self, tally: Tally) -> Round | None:
        """Documents for the words whose place is open, or None when every list is settled."""
        open_labels = [label for label in range(len(self._start)) if not self._is_settled(label)]
        quota = max(1, self._settings.round_size // max(1, len(open_labels)))
        chosen = [document for label in open_labels for document in self._choose(label, quota)]
        return Round(tuple(self._unit(document) for document in chosen), ()) if chosen else None

    def counted(self, tally: Tally) -> Tally:
        """The tally that scores are read from: what all documents are expected to give."""
        return expected_tally(self._outlooks, tally, self._settings.aggregation)

    def standing(self, tally: Tally) -> Standing:
        """Intervals, memberships and regret, as the posterior tells."""
        shape = tally.anchors.shape
        membership, regret = np.zeros(shape), np.zeros(shape[0])
        answer = Standing(
            low=np.full(shape, -np.inf),
            high=np.full(shape, np.inf),
            settled=np.array([self._is_settled(label) for label in range(shape[0])]),
            membership=membership,
            regret=regret,
        )
        for label in np.flatnonzero(self._collection.explained).tolist():
            now = self._outlooks[label]
            answer.low[label, now.contenders], answer.high[label, now.contenders] = now.shown_interval()
            membership[label, now.contenders], regret[label] = now.outlook.membership, now.outlook.regret
        return answer

    def prefixes(self) -> list[tuple[int, int, int]]:
        """(label, term, documents counted) of the words that the last round may have moved: for the journal."""
        labels, terms = self._changed
        return list(zip(labels.tolist(), terms.tolist(), self._progress.counted[labels, terms].tolist()))

    def tests_left(self, tally: Tally) -> int:
        """At most so many tests are still to come."""
        return self._n_open

    @property
    def n_indexed(self) -> int:
        """The documents that are indexed by their words: those up to the threshold of each label."""
        return sum(holders.n_indexed for holders in self._holders)

    def _look(self) -> None:
        s, n = self._settings, len(self._start)
        self._outlooks = [
            LabelOutlook(
                self._progress,
                label,
                self._known,
                s.aggregation,
                alpha=s.alpha,
                k=s.top_k,
                key=(s.seed, self._n_rounds * n + label),
            )
            for label in range(n)
        ]

    def _is_settled(self, label: int) -> bool:
        if (
            not self._collection.explained[label]
            or (self._progress.counted[label] == self._known.documents[label]).all()
        ):
            return True
        started = bool(self._visited[self._start[label]].all())
        return started and self._outlooks[label].outlook.regret < self._settings.regret

    def _extend(self, label: int, terms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move the prefixes of some words over every document that is tested by now; the occurrences that they pass.

        All candidates of a document are tested in one round, so what was visited is tested.
        """
        holders, start = self._holders[label], self._progress.counted[label, terms]
        stop = holders.reached(terms, start, self._visited)
        passed, sizes = holders.occurrences(terms, start, stop)
        rows = iter([self._waiting[occurrence] for occurrence in passed.tolist()])
        for term, n in zip(np.repeat(terms, stop - start).tolist(), sizes.tolist()):
            here = list(islice(rows, n))
            self._progress.count(label, term, sum(gain for _, gain in here), sum(anchor for anchor, _ in here))
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
            prefix = int(self._progress.counted[label, term])
            for document in self._holders[label].next_documents(term, prefix, each, self._visited):
                wanted[document] = wanted.get(document, 0) + 1
        return sorted(wanted, key=lambda document: (-wanted[document], document))[:quota]

    def _focus(self, label: int) -> list[int]:
        """The unfinished words whose membership is least certain and matters most."""
        now, documents = self._outlooks[label], self._known.documents[label]
        unfinished = self._progress.counted[label] < documents
        m = now.outlook.membership
        doubt = np.zeros(len(documents))
        doubt[now.contenders] = np.sqrt(m * (1 - m)) * (now.outlook.high - now.outlook.low)
        return scores.ranking(doubt, np.where(unfinished, documents, 0), FOCUS * self._settings.top_k).tolist()

    def _unit(self, document: int) -> Unit:
        """All candidates of a document: with a shared stream they cost no more than one."""
        self._visited[document] = True
        positions = self._collection.occurrence_position[self._collection.occurrences_of(document)].tolist()
        text, label = self._collection.documents[document].text, int(self._label_of[document])
        return Unit(document, text, label, (EMPTY, *positions), (self._settings.tau,) * (1 + len(positions)))


def priorities(seed: int, keys: Sequence[str]) -> NDArray[np.uint64]:
    """The priority of each document: a hash, so it says nothing about the document."""
    begun, digests = blake2b(f"{seed} race ".encode(), digest_size=8), bytearray()
    for key in keys:
        of_key = begun.copy()
        of_key.update(key.encode())
        digests += of_key.digest()
    return np.frombuffer(digests, ">u8").astype(np.uint64)

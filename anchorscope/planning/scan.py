"""The paper's strategy: walk through the documents in order, and test each candidate token that is not filtered.

Documents are taken in rounds of a fixed number, in a fixed order (descending confidence, then key), and every
decision is read from the tally of the closed rounds: which tokens a filter skips, and the lowered threshold
tau~ of each word. So the plan of a round does not depend on who judges it, and an interrupted run plans the
same rounds again.

Filters:
    none        every candidate occurrence is tested: exhaustive
    optimistic  (the paper's, lossy) skip a word if its pseudo-score with every remaining occurrence counted as an
                anchor is below the least of the current top k; a skipped occurrence counts as a non-anchor
    sound       (lossless) skip a word that cannot enter the top k in any world; at the end skipped occurrences
                are taken up again, until the list is certain; stops early once it is
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from anchorscope.planning.collection import Collection
from anchorscope.planning.plan import EMPTY_ANCHOR, Counted, Round, added_up, mean_of
from anchorscope.sampling.draws import uniforms
from anchorscope.scoring import bounds
from anchorscope.scoring.aggregation import Standing
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.forecasts import forecast_standing, label_forecasts, scan_standing
from anchorscope.scoring.probabilistic import pseudo_counts
from anchorscope.scoring.running_sums import RunningSums
from anchorscope.scoring.tally import Tally, ranking, ratio
from anchorscope.settings import Settings


class Scan:
    """The documents in order; holds no counts of its own, only what it has handed out already."""

    help = "all documents in order, every occurrence that no filter leaves out"
    interval_level = 1.0  # where measuring has noise, that of a race
    draws_documents = False
    uses_surrogate = False
    counts_prefixes = False
    ends_early = False  # but for the sound filter, which says nothing of how much it saves
    reads = ("order", "filter", "tau_tilde")

    def __init__(self, collection: Collection, settings: Settings) -> None:
        self._collection = collection
        self._settings = settings
        self._aggregation = aggregation(settings.aggregation)
        self._order = document_order(collection, settings)
        self._cursor = 0
        self._handed_out = np.zeros(len(collection.occurrence_term), bool)
        self._visited = np.zeros(len(collection.documents), bool)
        self._sums = RunningSums.zero(collection.tally.documents)
        self._n_rounds = 0

    def count(self, measured: Counted) -> Counted:
        """Take what a round measured; all of it counts now."""
        value, noise = mean_of(*added_up(measured.value, measured.noise, measured.repeat))
        if self._aggregation.is_graded:
            if self._n_rounds == 0:
                self._sums.placebo[:] = self._collection.placebo_of_all(measured.occurrences, value)
            self._add_up(measured, value, noise)
        self._n_rounds += 1
        return measured._replace(value=value)

    def _add_up(self, measured: Counted, value: NDArray[np.float64], noise: NDArray[np.float64]) -> None:
        """What each document brought to each of its terms: the sum over the term's occurrences in it."""
        collection = self._collection
        n_terms = len(collection.terms)
        document = collection.occurrence_document[measured.occurrences].astype(np.int64)
        place = document * n_terms + collection.occurrence_term[measured.occurrences]
        # A row a (document, term) pair: the occurrences of a term in a document are one draw of what it brings.
        pair, number = np.unique(place, return_inverse=True)
        brought = [
            np.bincount(number, column, minlength=len(pair)).astype(np.float64)
            for column in (value, measured.anchor, noise, np.zeros(len(number)))
        ]
        labels = collection.predictions.labels[pair // n_terms]
        for label in np.unique(labels).tolist():
            mine = labels == label
            self._sums.count(label, pair[mine] % n_terms, *(column[mine] for column in brought))
        self._sums.compare(
            collection.predictions.labels[document],
            document,
            collection.terms_of(measured.occurrences),
            *(measured.value, measured.noise, measured.repeat),
        )

    def counted(self, tally: Tally) -> Tally:
        """The tally that scores are read from."""
        return tally.with_skipped_as_non_anchors() if self._settings.filter == "optimistic" else tally

    def next_round(self, tally: Tally) -> Round | None:
        """The next tokens to test, or None when there is nothing left to do."""
        if self._settings.filter == "sound" and self._cursor and self.standing(tally).settled.all():
            return None
        if self._cursor < len(self._order):
            documents = self._order[self._cursor : self._cursor + self._settings.round_size]
            self._cursor += len(documents)
            return self._plan(documents, self._skipped_terms(tally), tally)
        return self._certificate_round(tally) if self._settings.filter == "sound" else None

    def standing(self, tally: Tally) -> Standing:
        """The deterministic bounds of what is known, skipped occurrences being unknown, never imputed; and where values
        are graded, what measuring may have wrong."""
        settled = np.array([self._is_settled(tally, label) for label in range(len(tally.anchors))])
        if not self._aggregation.is_graded or self._aggregation.additive is None:
            return Standing(*self._aggregation.interval(tally, self._settings.alpha), settled=settled)
        s = self._settings
        forecasts = label_forecasts(
            self._sums, tally, self._aggregation, alpha=s.alpha, k=s.top_k, seed=s.seed, n_rounds=self._n_rounds
        )
        told = forecast_standing(forecasts, np.flatnonzero(self._collection.explained), settled, tally)
        found, self.interval_level = scan_standing(told, self._sums, tally, self._aggregation, alpha=s.alpha)
        return found

    def prefixes(self) -> list[tuple[int, int, int]]:
        """A scan counts every verdict: there are no prefixes to write down."""
        return []

    def placebo(self) -> NDArray[np.float64]:
        """As the first round tells."""
        return self._sums.placebo

    def tests_left(self, tally: Tally) -> int:
        """At most so many tests are still to come."""
        explained = self._collection.explained[:, None]
        return int((tally.untested * explained).sum() - (tally.skipped * explained).sum())

    def _is_settled(self, tally: Tally, label: int) -> bool:
        if not self._collection.explained[label]:
            return True
        return bounds.is_settled(self._aggregation, tally, label, self._top(tally, label), self._settings.alpha)

    def _contenders(self, tally: Tally, label: int) -> NDArray[np.intp]:
        return bounds.contenders(self._aggregation, tally, label, self._top(tally, label), self._settings.alpha)

    def _top(self, tally: Tally, label: int) -> NDArray[np.intp]:
        """The list of a label that is shown now."""
        scores = self._aggregation.score(self.counted(tally), self._settings.alpha)[label]
        return ranking(scores, tally.occurrences[label], self._settings.top_k)

    def _skipped_terms(self, tally: Tally) -> NDArray[np.bool_]:
        """Which terms the filter skips, (labels, terms)."""
        s = self._settings
        if s.filter == "sound":
            return bounds.out_of_reach(self._aggregation, tally, s.top_k, s.alpha)
        if s.filter == "optimistic":
            return bounds.out_of_optimistic_reach(self._aggregation, self.counted(tally), s.top_k, s.alpha)
        return np.zeros(tally.anchors.shape, bool)

    def _thresholds(self, tally: Tally) -> NDArray[np.float64]:
        """The precision that a token has to reach, (labels, terms)."""
        s = self._settings
        if not s.tau_tilde:
            return np.full(tally.anchors.shape, s.tau)
        return lowered_thresholds(self.counted(tally), tau=s.tau, omega=s.omega, alpha=s.alpha)

    def _plan(self, documents: Iterable[int], skipped: NDArray[np.bool_], tally: Tally) -> Round:
        parts = []
        skips = np.zeros(skipped.shape, np.int64)
        for document in documents:
            label = int(self._collection.predictions.labels[document])
            here = self._collection.occurrences_of(int(document))
            occurrences = np.arange(here.start, here.stop)
            terms = self._collection.occurrence_term[occurrences]
            # What the filter skips is counted, so that it can be taken up again.
            leave_out = skipped[label, terms]
            np.add.at(skips[label], terms[leave_out], 1)
            if not leave_out.all():
                parts.append((int(document), occurrences[~leave_out]))
        return self._round(parts, tally, skips)

    def _round(self, parts: Iterable[tuple[int, NDArray[np.intp]]], tally: Tally, skips: NDArray[np.int64]) -> Round:
        """The given occurrences of some documents; where it is read, the empty anchor of each not visited yet."""
        thresholds = self._thresholds(tally)
        tau = self._settings.tau

        def asked(occurrences: NDArray[np.int64]) -> NDArray[np.float64]:
            real = np.maximum(occurrences, 0)
            of_terms = thresholds[self._collection.occurrence_label[real], self._collection.occurrence_term[real]]
            return np.where(occurrences == EMPTY_ANCHOR, tau, of_terms)

        return self._collection.round_of(map(self._with_empty_anchor, parts), asked, _nonzero(skips))

    def _with_empty_anchor(self, part: tuple[int, NDArray[np.intp]]) -> tuple[int, NDArray[np.int64]]:
        document, occurrences = part
        first = [EMPTY_ANCHOR] if self._settings.tests_empty_anchor and not self._visited[document] else []
        self._visited[document] = True
        self._handed_out[occurrences] = True
        return document, np.concatenate([np.array(first, np.int64), occurrences])

    def _certificate_round(self, tally: Tally) -> Round | None:
        """Skipped occurrences of the terms that can still change a list, those with most of them first."""
        wanted = np.zeros(tally.anchors.shape, bool)
        for label in np.flatnonzero(self._collection.explained):
            contenders = self._contenders(tally, int(label))
            # Where the labels hang together, what is open in any of them matters.
            rows = slice(None) if self._aggregation.joins_labels else slice(label, label + 1)
            most = contenders[np.argsort(-tally.untested[rows, contenders].sum(axis=0), kind="stable")]
            wanted[rows, most[: self._settings.top_k]] = True
        # Occurrences that were skipped before, of terms that can still change a list: taken up again, so skips go down.
        labels = self._collection.predictions.labels[self._collection.occurrence_document]
        open_ = ~self._handed_out & wanted[labels, self._collection.occurrence_term]
        if not open_.any():
            return None
        skips = np.zeros(wanted.shape, np.int64)
        chosen = np.flatnonzero(open_)
        np.subtract.at(skips, (labels[chosen], self._collection.occurrence_term[chosen]), 1)
        documents, starts = np.unique(self._collection.occurrence_document[chosen], return_index=True)
        return self._round(zip(documents.tolist(), np.split(chosen, starts[1:])), tally, skips)


def document_order(collection: Collection, settings: Settings) -> NDArray[np.intp]:
    """The documents that hold a candidate and have an explained label, in the order of the scan."""
    sizes = np.diff(collection.first_occurrence)
    usable = np.flatnonzero((sizes > 0) & collection.explained[collection.predictions.labels])
    keys = [collection.documents[i].key for i in usable.tolist()]
    if settings.order == "length":
        first = sizes[usable].astype(np.float64)
    elif settings.order == "random":
        first = np.array([uniforms(settings.seed, key, 0, 0, 1, 1)[0, 0] for key in keys])
    else:
        sign = 1 if settings.order == "confidence-ascending" else -1
        first = sign * collection.predictions.confidence[usable]
    return usable[sorted(range(len(usable)), key=lambda i: (first[i], keys[i]))]


def lowered_thresholds(tally: Tally, *, tau: float, omega: float, alpha: float) -> NDArray[np.float64]:
    """tau~ = tau - omega * pseudo(w) / N(w), within [tau - omega, tau]: words that were anchors pass more easily."""
    pseudo = pseudo_counts(tally, alpha)
    return np.clip(tau - omega * ratio(pseudo, tally.occurrences.sum(axis=0)), tau - omega, tau)


def _nonzero(skips: NDArray[np.int64]) -> tuple[tuple[int, int, int], ...]:
    labels, terms = np.nonzero(skips)
    return tuple(zip(labels.tolist(), terms.tolist(), skips[labels, terms].tolist()))

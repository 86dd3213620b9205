"""A kept run as the page sees it: what several parts of the view need, read once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.explanations import Shown, explanation
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.scoring.aggregation import Aggregation
from anchorscope.scoring.aggregations import aggregation
from anchorscope.types import Explanation, LocalScore

CELLS = 16_000
"""Labels times terms that a page holds; the terms that rank best under any aggregation stay."""

MOST_TERMS = 4_000
FEWEST_TERMS = 100


class Kept:
    """A run, its counts, its local score, what it keeps of its documents, and the terms that its page holds.

    ``own`` is the aggregation of the run itself; ``rows`` is all that was measured, in the order of documents and
    terms.
    """

    def __init__(self, run: RunReader) -> None:
        self.run = run
        self.settings = run.settings
        self.score: type[LocalScore] = registry.resolve("score", str(run.settings.score))
        self.own = aggregation(run.settings.aggregation)
        self.explained = [i for i, name in enumerate(run.labels) if name in (self.settings.labels or run.labels)]
        self.standings = Standings(run, alpha=self.settings.alpha, k=self.settings.top_k)
        self.rounds = run.closed_rounds()
        self.moments = run.moments()
        self.tests_left = run.tests_left()
        self.texts = run.texts()
        self.samples = run.evidence()
        self.rows = run.measured()
        self.tally = self.standings.tally
        self.chosen = self._chosen()
        self.place = {int(term): i for i, term in enumerate(self.chosen)}
        self._shown: dict[str, Shown] = {}

    @cached_property
    def aggregations(self) -> list[Aggregation]:
        """Those that what was measured can feed; the run's own comes first."""
        every = [aggregation(name) for name in registry.names("aggregation")]
        fed = [one for one in every if one.takes(self.score)]
        return sorted(fed, key=lambda one: (one.name != self.settings.aggregation, one.name))

    @cached_property
    def interval_level(self) -> float:
        """That of the run's own aggregation."""
        return self.standings.interval_level(self.own)

    def shown(self, one: Aggregation) -> Shown:
        """What the explanation of every label is read from, under an aggregation."""
        if one.name not in self._shown:
            self._shown[one.name] = self.standings.shown(one)
        return self._shown[one.name]

    @cached_property
    def explanations(self) -> dict[int, Explanation]:
        """The lists of the run's own aggregation, by the number of the label."""
        own = self.shown(self.own)
        k = self.settings.top_k
        return {label: explanation(own, self.run.labels[label], label, k) for label in self.explained}

    def _chosen(self) -> NDArray[np.intp]:
        """The terms that the page holds, in their own order: those that rank best in any label and aggregation.

        Where values are graded, those that speak most against a label are among them.
        """
        n_terms = len(self.run.terms)
        room = min(MOST_TERMS, max(FEWEST_TERMS, CELLS // len(self.run.labels)))
        if n_terms <= room:
            return np.arange(n_terms)
        best = np.full(n_terms, n_terms)
        for one in self.aggregations:
            for label in self.explained:
                order = self.standings.ranking(one, label)
                for way in (order, order[::-1]) if one.is_graded else (order,):
                    best[way] = np.minimum(best[way], np.arange(len(way)))
        return np.sort(np.argsort(best, kind="stable")[:room])

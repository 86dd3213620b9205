"""Where the words of a kept run stand, by any aggregation: the one reading that the page and ``anchorscope top`` share.

Scores are functions of a tally. Of a scan, that is what was tested; of a race, which tests a sample of the
documents, it is what all of them are expected to give, under every aggregation. Intervals are the posterior's where an
aggregation can be raced, else what the score can still become, whatever the missing tests say.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anchorscope import bounds, scores
from anchorscope.finished import FinishedRun
from anchorscope.progress import RACED, LabelOutlook, Progress, expected_tally
from anchorscope.scan import Standing
from anchorscope.scores import Scores
from anchorscope.settings import Settings
from anchorscope.tally import Tally


class Standings:
    """The counts of a run folder, read once, and what any aggregation makes of them."""

    def __init__(self, run: FinishedRun, *, alpha: float, k: int) -> None:
        self._run, self._alpha, self._k = run, alpha, k
        self._settings = Settings.from_dict(run.meta["settings"])
        self.is_race = self._settings.strategy == "race"
        self.tally = run.tally()
        self._n_rounds = len(run.closed_rounds())
        self._outlooks: dict[str, list[LabelOutlook]] = {}

    @cached_property
    def counted(self) -> Tally:
        """The tally that scores are read from, whatever the aggregation."""
        if self.is_race:
            by_gain = expected_tally(self.outlooks("gain"), self.tally, "gain")
            return replace(expected_tally(self.outlooks("sq"), self.tally, "sq"), gains=by_gain.gains)
        return self.tally.with_skipped_as_non_anchors() if self._settings.filter == "optimistic" else self.tally

    def scores(self, name: str) -> Scores:
        """The scores (labels, terms) under an aggregation."""
        return scores.aggregation(name, alpha=self._alpha)(self.counted)

    def ranking(self, name: str, label: int) -> NDArray[np.intp]:
        """The terms of a label, the best first."""
        return scores.ranking(self.scores(name)[label], self.tally.occurrences[label])

    def standing(self, name: str) -> Standing:
        """How certain the scores are."""
        return self._expected(name) if self.is_race and name in RACED else self._bounded(name)

    def outlooks(self, name: str) -> list[LabelOutlook]:
        """Where the words of a race stand under an aggregation that can be raced, as the race itself sees them."""
        if name not in self._outlooks:
            n = len(self._run.labels)
            keys = [(self._settings.seed, self._n_rounds * n + label) for label in range(n)]
            self._outlooks[name] = [
                LabelOutlook(self._progress, label, self.tally, name, alpha=self._alpha, k=self._k, key=key)
                for label, key in enumerate(keys)
            ]
        return self._outlooks[name]

    @cached_property
    def _progress(self) -> Progress:
        return self._run.progress()

    def _expected(self, name: str) -> Standing:
        """As the posterior tells."""
        shape, outlooks = self.tally.anchors.shape, self.outlooks(name)
        low, high, membership = np.full(shape, -np.inf), np.full(shape, np.inf), np.zeros(shape)
        for label, now in enumerate(outlooks):
            low[label, now.contenders], high[label, now.contenders] = now.shown_interval()
            membership[label, now.contenders] = now.outlook.membership
        regret = np.array([now.outlook.regret for now in outlooks])
        settled = (regret < self._settings.regret) | (self.tally.untested == 0).all(axis=1)
        return Standing(low, high, settled, membership, regret)

    def _bounded(self, name: str) -> Standing:
        """Within deterministic bounds."""
        settled = (self.tally.untested == 0).all(axis=1)
        for label in np.flatnonzero(~settled).tolist() if name in bounds.FILTERED else ():
            best = self.ranking(name, label)[: self._k]
            settled[label] = bounds.is_final(name, self.tally, label, best, alpha=self._alpha)
        return Standing(*bounds.intervals(name, self.tally, alpha=self._alpha), settled=settled)

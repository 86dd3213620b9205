"""Where the words of a kept run stand, by any aggregation: the one reading that the page and ``anchorscope top`` share.

Scores are functions of a tally. Of a scan, that is what was tested; of a race, which tests a sample of the
documents, it is what all of them are expected to give, under every aggregation. Intervals are the posterior's where an
aggregation can be raced, else what the score can still become, whatever the missing tests say, and what measuring may
have wrong.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anchorscope.explanations import Shown
from anchorscope.journal.reader import RunReader
from anchorscope.scoring import bounds, settling
from anchorscope.scoring.aggregation import Aggregation, Standing
from anchorscope.scoring.aggregations import AGGREGATIONS
from anchorscope.scoring.aggregations import aggregation as named_aggregation
from anchorscope.scoring.forecasts import (
    LEVEL,
    LabelForecast,
    expected_tally,
    forecast_standing,
    label_forecasts,
    scan_standing,
)
from anchorscope.scoring.running_sums import RunningSums
from anchorscope.scoring.tally import Scores, Tally, ranking
from anchorscope.settings import score_shares_calls


class Standings:
    """The counts of a run folder, read once, and what any aggregation makes of them."""

    def __init__(self, run: RunReader, *, alpha: float, k: int) -> None:
        self._run = run
        self._alpha = alpha
        self._k = k
        self._settings = run.settings
        self.counts_prefixes = run.counts_prefixes
        self.tally = run.tally()
        self._n_rounds = len(run.closed_rounds())
        self.n_asked = run.documents_per_label()
        self._n_robust = run.robust_per_label()
        self._n_visited = run.visited_per_label()
        self._forecasts: dict[str, list[LabelForecast]] = {}

    @cached_property
    def counted(self) -> Tally:
        """The tally that scores are read from, whatever the aggregation."""
        if self.counts_prefixes:
            total = AGGREGATIONS["total"]
            sq = AGGREGATIONS["sq"]
            of_values = expected_tally(self.forecasts(total), self.tally, total)
            return replace(expected_tally(self.forecasts(sq), self.tally, sq), values=of_values.values)
        return self.tally.with_skipped_as_non_anchors() if self._settings.filter == "optimistic" else self.tally

    def scores(self, aggregation: Aggregation) -> Scores:
        """The scores (labels, terms) under an aggregation."""
        return aggregation.score(self.counted, self._alpha)

    def ranking(self, aggregation: Aggregation, label: int) -> NDArray[np.intp]:
        """The terms of a label, the best first."""
        return ranking(self.scores(aggregation)[label], self.tally.occurrences[label])

    def standing(self, aggregation: Aggregation) -> Standing:
        """How certain the scores are."""
        if self.counts_prefixes and aggregation.can_race:
            return self._expected(aggregation)
        return self._scanned(aggregation)[0]

    def interval_level(self, aggregation: Aggregation) -> float:
        """The probability of its intervals, 1 where they are bounds."""
        return LEVEL if self.counts_prefixes and aggregation.can_race else self._scanned(aggregation)[1]

    def shown(self, aggregation: Aggregation) -> Shown:
        """What the explanation of every label is read from."""
        n_asked = max(1, int(self.n_asked.sum()))
        in_all = int(self._run.meta.get("documents", {}).get("usable", n_asked))
        return Shown(
            terms=self._run.terms,
            written=self._run.written,
            tally=self.tally,
            scores=self.scores(aggregation),
            standing=self.standing(aggregation),
            aggregation=aggregation,
            counts_anchors=self._run.counts_anchors,
            n_documents=np.rint(self.n_asked * (in_all / n_asked)).astype(np.int64),
            n_asked=self.n_asked,
            n_robust=self._n_robust,
            n_robust_of=self._n_visited,
            drawn=self._run.meta.get("limited") is False,
            ended_by=self._run.ended_by,
            takes=self._run.takes,
            greatest=self._run.greatest_per_label(),
        )

    def forecasts(self, aggregation: Aggregation) -> list[LabelForecast]:
        """Where the words of a race stand under an aggregation that can be raced, as the race itself sees them."""
        if aggregation.name not in self._forecasts:
            self._forecasts[aggregation.name] = label_forecasts(
                self.sums,
                self.tally,
                aggregation,
                alpha=self._alpha,
                k=self._k,
                seed=self._settings.seed,
                n_rounds=self._n_rounds,
            )
        return self._forecasts[aggregation.name]

    @cached_property
    def sums(self) -> RunningSums:
        """What the tested documents of each word brought."""
        return self._run.sums()

    def _expected(self, aggregation: Aggregation) -> Standing:
        """As the posterior tells."""
        forecasts = self.forecasts(aggregation)
        n_tested = self._run.tested_per_label() if score_shares_calls(self._settings) else [None] * len(forecasts)
        settled = [
            settling.is_settled(self.sums, label, now, regret=self._settings.regret, n_tested_documents=n)
            for label, (now, n) in enumerate(zip(forecasts, n_tested))
        ]
        spent = np.array(
            [
                settling.is_spent(self.sums, label, now, regret=self._settings.regret)
                for label, now in enumerate(forecasts)
            ]
        )
        found = forecast_standing(forecasts, np.arange(len(forecasts)), np.array(settled) & ~spent, self.tally)
        return replace(found, spent=spent, measured_again=self._run.measured_again_per_label())

    def _bounded(self, aggregation: Aggregation) -> Standing:
        """Within deterministic bounds."""
        best = [ranking(*row, self._k) for row in zip(self.scores(aggregation), self.tally.occurrences)]
        settled = [
            bounds.is_settled(aggregation, self.tally, label, top, self._alpha) for label, top in enumerate(best)
        ]
        return Standing(*aggregation.interval(self.tally, self._alpha), settled=np.array(settled))

    def _scanned(self, aggregation: Aggregation) -> tuple[Standing, float]:
        """Within bounds; graded values also with the noise of measuring, and with drivers if the run has a placebo (one
        that counts anchors learns none)."""
        told = self._bounded(aggregation)
        if self.counts_prefixes or not aggregation.is_graded or not aggregation.can_race:
            return told, 1.0
        if named_aggregation(self._settings.aggregation).is_graded:
            forecasts = self.forecasts(aggregation)
            told = forecast_standing(forecasts, np.arange(len(forecasts)), told.settled, self.tally)
        return scan_standing(told, self.sums, self.tally, aggregation, alpha=self._alpha)

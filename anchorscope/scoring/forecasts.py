"""What a sample of the documents says about every aggregation: sums so far, and what the totals will be.

For every (label, term): how many documents hold it, how many of them are counted (the first ones in the order of
priority, so a simple random sample), and the sums and sums of squares of what these brought: values, and anchors. That
is all that a score under a race rests on, so any aggregation with an additive form can be read from it, with the run
going on or long finished.

The intervals of pr are too short: what rare anchors bring is far from normal, T+ comes out too low, and its error is
one for all words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anchorscope.scoring.aggregation import Additive, Aggregation, Totals
from anchorscope.scoring.posterior import (
    Forecast,
    Prior,
    Sums,
    draw_totals,
    expected_totals,
    pooled_prior,
    summarise,
)
from anchorscope.scoring.tally import VALUE_UNIT, Tally, ranking

LEVEL = 0.9
"""The level of a race's intervals."""

CONTENDERS = 300
"""Words a label whose totals are drawn, at most; the others are too far behind to matter."""

REACH = 3.0
"""Standard deviations by which a word may miss its estimate, when the contenders are chosen."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RunningSums:
    """Documents that hold a term, those counted, and what they brought; each (labels, terms)."""

    documents: NDArray[np.int64]
    counted: NDArray[np.int64]
    values: Floats
    values_squared: Floats
    anchors: Floats
    anchors_squared: Floats

    @classmethod
    def zero(cls, documents: NDArray[np.int64]) -> RunningSums:
        """Nothing counted yet."""
        shape = documents.shape
        return cls(documents, np.zeros(shape, np.int64), *(np.zeros(shape) for _ in fields(cls)[2:]))

    def count(self, label: int, term: int, value: float, anchors: int) -> None:
        """Count one more document of a term."""
        self.counted[label, term] += 1
        self.values[label, term] += value
        self.values_squared[label, term] += value**2
        self.anchors[label, term] += anchors
        self.anchors_squared[label, term] += anchors**2

    def of_label(self, label: int, additive: Additive) -> Sums:
        """What an additive form has to go by."""
        total = getattr(self, additive.quantity)
        squares = getattr(self, f"{additive.quantity}_squared")
        return Sums(self.documents[label], self.counted[label], total[label], squares[label])


class LabelForecast:
    """Where the words of one label stand under one aggregation, at one moment; computed when asked for."""

    def __init__(
        self,
        sums: RunningSums,
        label: int,
        tally: Tally,
        aggregation: Aggregation,
        *,
        alpha: float,
        k: int,
        key: tuple[int, int],
    ) -> None:
        assert aggregation.additive is not None, "the settings refuse a race without it"
        self._additive = aggregation.additive
        self._sums = sums.of_label(label, self._additive)
        self._n = tally.occurrences[label]
        self._training = tally.training
        self._alpha = alpha
        self._k = k
        self._key = key

    @cached_property
    def prior(self) -> Prior:
        """The prior that the words suggest."""
        return pooled_prior(self._sums)

    @property
    def estimates(self) -> Floats:
        """The expected total of every word."""
        return self._expected[0]

    @cached_property
    def _expected(self) -> tuple[Floats, Floats]:
        """The expected total of every word, and how far off it may be."""
        return expected_totals(self._sums, self.prior)

    @cached_property
    def contenders(self) -> NDArray[np.intp]:
        """The words that may matter: those that may reach the k-th best one, or are among the best now."""
        holds = np.flatnonzero(self._sums.documents > 0)
        estimates, deviations = (values[holds] for values in self._expected)
        low, expected, high = (
            self._scores((estimates + reach * deviations)[None], holds, alone=True)[0] for reach in (-REACH, 0.0, REACH)
        )
        best = ranking(expected, self._n[holds], 2 * self._k)
        nearest = ranking(high, self._n[holds], CONTENDERS)
        within_reach = nearest[high[nearest] >= low[best[: self._k]].min(initial=np.inf)]
        return holds[np.union1d(best, within_reach)]

    @cached_property
    def forecast(self) -> Forecast:
        """Intervals and memberships of the contenders, and the regret of the list that is shown now."""
        generator = np.random.Generator(np.random.Philox(key=np.array(self._key, np.uint64)))
        words = self.contenders
        expected = self._scores(self.estimates[None, words], words)[0]
        shown = ranking(expected, self._n[words], self._k)
        draws = draw_totals(self._sums.of(words), self.prior, generator)
        return summarise(self._scores(draws, words), shown, self._k, LEVEL)

    def shown_interval(self) -> tuple[Floats, Floats]:
        """The contenders' intervals in the scale of the scores that are shown."""
        of_all = self._scores(self.estimates[None], np.arange(len(self._n)))
        low = self.forecast.low
        high = self.forecast.high
        return self._additive.shown(low, of_all), self._additive.shown(high, of_all)

    def _scores(self, drawn: Floats, words: NDArray[np.intp], *, alone: bool = False) -> Floats:
        """Scores (draws, words) of drawn totals of some words, all others being at their estimates.

        With ``alone`` the others are all words but the one itself.
        """
        others = np.clip(self.estimates, 0.0, self._n)
        moved = np.clip(drawn, 0.0, self._n[words]) - others[words]
        totals = Totals(
            drawn=drawn,
            occurrences=self._n[words],
            training=self._training[words],
            of_all=others.sum() + (moved if alone else moved.sum(axis=1, keepdims=True)),
            n_of_all=int(self._n.sum()),
            alpha=self._alpha,
        )
        return self._additive.scores(totals)


def label_forecasts(
    sums: RunningSums, tally: Tally, aggregation: Aggregation, *, alpha: float, k: int, seed: int, n_rounds: int
) -> list[LabelForecast]:
    """Where every label stands after so many rounds; the draws are keyed, so whoever asks gets the same answer."""
    n_labels = len(tally.anchors)
    keys = [(seed, n_rounds * n_labels + label) for label in range(n_labels)]
    return [LabelForecast(sums, label, tally, aggregation, alpha=alpha, k=k, key=key) for label, key in enumerate(keys)]


def expected_tally(forecasts: Sequence[LabelForecast], tally: Tally, aggregation: Aggregation) -> Tally:
    """The tally that all documents are expected to give: what the shown scores are read from."""
    totals = np.array([forecast.estimates for forecast in forecasts])
    if aggregation.is_graded:
        return replace(tally, values=np.rint(totals / VALUE_UNIT).astype(np.int64))
    anchors = np.clip(totals, 0.0, tally.occurrences)
    return replace(tally, anchors=anchors, non_anchors=tally.occurrences - anchors)

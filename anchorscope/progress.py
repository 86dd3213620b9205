"""How far the words of a race have come, and what that says about every aggregation.

For every (label, term): how many documents hold it, how many of them are counted (a prefix in the order of priority,
so a simple random sample), and the sums and sums of squares of what these brought: gains, and anchors. That is all
that a score under a race rests on, so any aggregation with a form below can be read from it, with the run going on or
long finished.

    gain      the total of the gains
    sq, av    the square root of the total A of the anchors; A / N
    pr        q~ of A, with the total T+ of the anchors of all words from the same draw

The intervals of pr are too short: what rare anchors bring is far from normal, T+ comes out too low, and its error is
one for all words.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anchorscope import scores
from anchorscope.posterior import Evidence, Outlook, Prior, draw_totals, expected_totals, look_ahead, pooled_prior
from anchorscope.tally import GAIN_UNIT, Tally

RACED = ("gain", "pr", "sq", "av", "av5")
"""The aggregations that can be read from the progress of a race; the others need a scan."""

LEVEL = 0.9
"""The level of a race's intervals."""

CONTENDERS = 300
"""Words a label whose totals are drawn, at most; the others are too far behind to matter."""

REACH = 3.0
"""Standard deviations by which a word may miss its estimate, when the contenders are chosen."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """Documents that hold a term, those counted, and what they brought; each (labels, terms)."""

    documents: NDArray[np.int64]
    counted: NDArray[np.int64]
    gains: Floats
    gains_squared: Floats
    anchors: Floats
    anchors_squared: Floats

    @classmethod
    def zero(cls, documents: NDArray[np.int64]) -> Progress:
        """Nothing counted yet."""
        shape = documents.shape
        return cls(documents, np.zeros(shape, np.int64), *(np.zeros(shape) for _ in fields(cls)[2:]))

    def count(self, label: int, term: int, gain: float, anchors: int) -> None:
        """Count one more document of a term."""
        self.counted[label, term] += 1
        self.gains[label, term] += gain
        self.gains_squared[label, term] += gain**2
        self.anchors[label, term] += anchors
        self.anchors_squared[label, term] += anchors**2

    def evidence(self, label: int, aggregation: str) -> Evidence:
        """What an aggregation has to go by."""
        by_gain = aggregation == "gain"
        total = self.gains if by_gain else self.anchors
        squares = self.gains_squared if by_gain else self.anchors_squared
        return Evidence(self.documents[label], self.counted[label], total[label], squares[label])


class LabelOutlook:
    """Where the words of one label stand under one aggregation, at one moment; computed when asked for."""

    def __init__(
        self,
        progress: Progress,
        label: int,
        tally: Tally,
        aggregation: str,
        *,
        alpha: float,
        k: int,
        key: tuple[int, int],
    ) -> None:
        self._evidence = progress.evidence(label, aggregation)
        self._n, self._training = tally.occurrences[label], tally.training
        self._aggregation, self._alpha, self._k, self._key = aggregation, alpha, k, key

    @cached_property
    def prior(self) -> Prior:
        """The prior that the words suggest."""
        return pooled_prior(self._evidence)

    @property
    def estimates(self) -> Floats:
        """The expected total of every word."""
        return self._expected[0]

    @cached_property
    def _expected(self) -> tuple[Floats, Floats]:
        """The expected total of every word, and how far off it may be."""
        return expected_totals(self._evidence, self.prior)

    @cached_property
    def contenders(self) -> NDArray[np.intp]:
        """The words that may matter: those that may reach the k-th best one, or are among the best now."""
        holds = np.flatnonzero(self._evidence.documents > 0)
        estimates, deviations = (values[holds] for values in self._expected)
        low, expected, high = (
            self._scores((estimates + reach * deviations)[None], holds, alone=True)[0] for reach in (-REACH, 0.0, REACH)
        )
        best = scores.ranking(expected, self._n[holds], 2 * self._k)
        nearest = scores.ranking(high, self._n[holds], CONTENDERS)
        within_reach = nearest[high[nearest] >= low[best[: self._k]].min(initial=np.inf)]
        return holds[np.union1d(best, within_reach)]

    @cached_property
    def outlook(self) -> Outlook:
        """Intervals and memberships of the contenders, and the regret of the list that is shown now."""
        generator = np.random.Generator(np.random.Philox(key=np.array(self._key, np.uint64)))
        words = self.contenders
        expected = self._scores(self.estimates[None, words], words)[0]
        shown = scores.ranking(expected, self._n[words], self._k)
        draws = draw_totals(self._evidence.of(words), self.prior, generator)
        return look_ahead(self._scores(draws, words), shown, self._k, LEVEL)

    def shown_interval(self) -> tuple[Floats, Floats]:
        """The contenders' intervals in the scale of the scores that are shown."""
        low, high = self.outlook.low, self.outlook.high
        if self._aggregation != "pr":
            return low, high
        everything = np.arange(len(self._n))
        least = abs(float(self._scores(self.estimates[None], everything).min()))
        smooth = 1 + len(everything) * least
        return (low + least) / smooth, (high + least) / smooth

    def _scores(self, totals: Floats, words: NDArray[np.intp], *, alone: bool = False) -> Floats:
        """Scores (draws, words) of drawn totals of some words, all others being at their estimates.

        With ``alone`` the others are all words but the one itself.
        """
        if self._aggregation == "gain":
            return totals
        n = self._n[words]
        totals = np.clip(totals, 0.0, n)
        if self._aggregation == "sq":
            return np.sqrt(totals)
        if self._aggregation in ("av", "av5"):
            allowed = self._training[words] >= scores.TRAINING_FLOOR if self._aggregation == "av5" else True
            return np.where(allowed, scores.ratio(totals, n[None]), 0.0)
        others = np.clip(self.estimates, 0.0, self._n)
        moved = totals - others[words]
        anchors = others.sum() + (moved if alone else moved.sum(axis=1, keepdims=True))
        background = scores.ratio(n - totals, self._n.sum() - anchors)
        return scores.ratio(totals, anchors) / self._alpha - (1 / self._alpha - 1) * background


def expected_tally(outlooks: list[LabelOutlook], tally: Tally, aggregation: str) -> Tally:
    """The tally that all documents are expected to give: what the shown scores are read from."""
    totals = np.array([outlook.estimates for outlook in outlooks])
    if aggregation == "gain":
        return replace(tally, gains=np.rint(totals / GAIN_UNIT).astype(np.int64))
    anchors = np.clip(totals, 0.0, tally.occurrences)
    return replace(tally, anchors=anchors, non_anchors=tally.occurrences - anchors)

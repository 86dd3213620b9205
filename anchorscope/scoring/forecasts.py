"""What a sample of the documents says about every aggregation: what the totals will be, and how sure that is.

All that a score under a race rests on is in the running sums of what the counted documents brought
(``running_sums.py``), so any aggregation with an additive form can be read from them, with the run going on or long
finished. In docs/method.md it is *How much the rest will bring* and *Which words are named: drivers*.

Which words are told apart is decided here, too: as many as can be named while the false discovery rate stays within
5% (``discoveries``).

The intervals of pr are too short: what rare anchors bring is far from normal, T+ comes out too low, and its error is
one for all words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anchorscope.scoring.aggregation import Aggregation, DrawnTotals, Standing
from anchorscope.scoring.posterior import (
    Forecast,
    LabelSums,
    MixtureTotals,
    Prior,
    all_totals,
    draw_totals,
    pooled_prior,
    summarise,
)
from anchorscope.scoring.rates import doubts
from anchorscope.scoring.running_sums import RunningSums
from anchorscope.scoring.tally import VALUE_UNIT, Tally, ranking

LEVEL = 0.9
"""The level of a race's intervals, and of a scan's where measuring has noise."""

QUANTILE = 1.645
"""A normal value is within so many standard deviations at that level."""

CONTENDERS = 30
"""Words a label whose totals are drawn, in multiples of k; the others are too far behind to matter."""

LEAST_CHANCE = 0.002
"""The probability of reaching the k-th best word below which a word is not a contender."""

DISCOVERY_RATE = 0.05
"""The share of the named words that may be wrong."""

FEWEST_TESTS = 2
"""No word is named on the strength of fewer tests."""

MARGIN = 1.2
"""A driver does more than so many times what any word like it does."""


LEAST_WORTH = 0.001
"""What the words of a list do together, for each document that holds the most frequent word, if they do anything."""


REACH = 3.0
"""Standard deviations by which a word may miss its estimate, when the contenders are chosen."""

OPTIMISM = 0.5
"""Standard deviations by which a word may be better than expected, when those to be tested are chosen."""

LOUD = 0.5
"""What the last of the best words says for a label, times this, is said against it by a word that is to be heard."""

Floats = NDArray[np.float64]


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
        self._is_graded = self._additive.quantity == "values"
        self._sums = sums.of_label(label, self._additive)
        self._held = np.flatnonzero((self._sums.documents > 0) | (self._sums.beyond > 0))
        self._tests = sums.tests_of_label(label)
        # What the tests alone say on average, with no surrogate and no prior in it.
        self._observed = sums.values[label] / np.maximum(sums.counted[label], 1)
        self._occurrences = tally.occurrences[label]
        self._training = tally.training
        self._alpha = alpha
        self._k = k
        self._key = key

    @cached_property
    def prior(self) -> Prior:
        """The prior that the words suggest."""
        return pooled_prior(self._sums)

    @cached_property
    def estimates(self) -> Floats:
        """The expected total of every word."""
        return self._of_all(self._totals.expected)

    @property
    def hoped(self) -> Floats:
        """The score of every word if its total is somewhat better than expected: the less is known, the better."""
        hoped = self.estimates + OPTIMISM * self._of_all(self._totals.spread)
        return self._scores(hoped[None], np.arange(len(self._occurrences)), alone=True)[0]

    @cached_property
    def _totals(self) -> MixtureTotals:
        """The total of every word that the label's documents may hold, and how far off it may be."""
        return all_totals(self._sums.of(self._held), self.prior)

    def _of_all(self, of_held: Floats) -> Floats:
        """The same of every word: one that no document of the label holds brings nothing, for certain."""
        of_all = np.zeros(len(self._occurrences))
        of_all[self._held] = of_held
        return of_all

    @cached_property
    def contenders(self) -> NDArray[np.intp]:
        """The words that may matter: the best now, those that have a chance to be among them, and those against it."""
        # All words would be too many to draw: the best now, those with a chance to pass the k-th, and the worst.
        holds = np.flatnonzero(self._sums.documents > 0)
        n = self._occurrences[holds]
        expected = self._scores(self.estimates[None, holds], holds, alone=True)[0]
        best = ranking(expected, n, 2 * self._k)
        if self._is_graded:
            least = float(expected[best[: self._k]].min(initial=np.inf))
            # The probability of each word to pass the k-th best one, as it stands now.
            chance = self._of_all(self._totals.chance_above(least))[holds]
            nearest = ranking(chance, n, CONTENDERS * self._k)
            against = ranking(-expected, n, self._k)
            return holds[np.unique(np.concatenate([best, nearest[chance[nearest] > LEAST_CHANCE], against]))]
        estimates = self.estimates[holds]
        deviations = self._of_all(self._totals.spread)[holds]
        low, high = (
            self._scores((estimates + reach * deviations)[None], holds, alone=True)[0] for reach in (-REACH, REACH)
        )
        nearest = ranking(high, n, CONTENDERS * self._k)
        within_reach = nearest[high[nearest] >= low[best[: self._k]].min(initial=np.inf)]
        return holds[np.unique(np.concatenate([best, within_reach]))]

    @cached_property
    def forecast(self) -> Forecast:
        """Intervals and memberships of the contenders, and the regret of the list as it is now."""
        # A key of its own for each label and round: the same draws whoever asks, and in whatever order.
        generator = np.random.Generator(np.random.Philox(key=np.array(self._key, np.uint64)))
        words = self.contenders
        expected = self._scores(self.estimates[None, words], words)[0]
        sums = self._sums.of(words)
        draws, means = draw_totals(sums, self.prior, generator)
        # What any word like it does, as far as that is known: one draw for all, as the survey is one. A word is in
        # doubt as often as its drawn mean is no more than that, with a margin.
        wrong = generator.standard_normal((len(means), 1)) * sums.placebo_error
        usual = self._usual(sums) + wrong
        doubt_for = (means <= MARGIN * np.maximum(usual, 0.0)).mean(axis=0)
        doubt_against = (means >= MARGIN * np.minimum(usual, 0.0)).mean(axis=0)
        if self._is_graded:
            # A model that jumps does so whatever is taken out: what is rare must be told from luck, too.
            doubt_for, doubt_against = (
                np.maximum(doubt, doubts(tests, words, margin=MARGIN, generator=generator))
                for doubt, tests in ((doubt_for, self._tests), (doubt_against, self._tests.against()))
            )
        driver = discoveries(doubt_for, sums.tested)
        against = discoveries(doubt_against, sums.tested)
        # What nothing but the surrogate speaks for is not named: the tests themselves must say so.
        driver &= self._observed[words] > np.maximum(MARGIN * sums.placebo, VALUE_UNIT)
        against &= self._observed[words] < np.minimum(MARGIN * sums.placebo, -VALUE_UNIT)
        best = ranking(expected, self._occurrences[words], self._k)
        # Where no word does anything, regret would be a share of nothing: a list counts as worth so much at least.
        least = LEAST_WORTH * float(self._sums.documents.max(initial=0)) if self._is_graded else 0.0
        scores = self._scores(draws, words)
        return summarise(scores, best, LEVEL, driver=driver, against=against, least_worth=least)

    @property
    def usual(self) -> Floats:
        """What taking out any word like each one does, on average over the documents that hold it."""
        return self._usual(self._sums)

    def _usual(self, sums: LabelSums) -> Floats:
        # The centre is what is found beyond that: an ordinary word has the scale 1, and nobody is asked for more.
        return sums.placebo + self.prior.centre * np.minimum(sums.scale, 1.0)

    @property
    def best(self) -> NDArray[np.intp]:
        """The k words of which most is expected."""
        return ranking(self._expected_scores, self._occurrences, self._k)

    @property
    def worst(self) -> NDArray[np.intp]:
        """The words that seem to speak loudly against the label, k at most."""
        scores = self._expected_scores
        last = max(0.0, float(scores[self.best].min(initial=np.inf)))
        least = ranking(-scores, self._occurrences, self._k)
        return least[scores[least] < -LOUD * last]

    @cached_property
    def _expected_scores(self) -> Floats:
        """The score of every word at its expected total."""
        return self._scores(self.estimates[None], np.arange(len(self._occurrences)))[0]

    def shown_interval(self) -> tuple[Floats, Floats]:
        """The contenders' intervals in the scale of the scores that are shown."""
        low = self.forecast.low
        high = self.forecast.high
        if self._additive.shown is None:
            return low, high
        of_all = self._expected_scores[None]
        return self._additive.shown(low, of_all), self._additive.shown(high, of_all)

    def _scores(self, drawn: Floats, words: NDArray[np.intp], *, alone: bool = False) -> Floats:
        """Scores (draws, words) of drawn totals of some words, all others being at their estimates.

        With ``alone`` the others are all words but the one itself.
        """
        if self._additive.scores is None:
            return drawn
        # The total over all words moves with the drawn ones; all others stand at their estimates.
        others = np.clip(self.estimates, 0.0, self._occurrences)
        moved = np.clip(drawn, 0.0, self._occurrences[words]) - others[words]
        totals = DrawnTotals(
            drawn=drawn,
            occurrences=self._occurrences[words],
            training=self._training[words],
            of_all=others.sum() + (moved if alone else moved.sum(axis=1, keepdims=True)),
            n_of_all=int(self._occurrences.sum()),
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


def forecast_standing(
    forecasts: Sequence[LabelForecast], labels: NDArray[np.intp], settled: NDArray[np.bool_], tally: Tally
) -> Standing:
    """Intervals, memberships and regret of some labels; of the other words nothing is known."""
    shape = tally.anchors.shape
    low = np.full(shape, -np.inf)
    high = np.full(shape, np.inf)
    membership = np.zeros(shape)
    regret = np.zeros(shape[0])
    driver = np.zeros(shape, bool)
    against = np.zeros(shape, bool)
    for label in labels.tolist():
        now = forecasts[label]
        # Of words that are no contenders nothing is drawn: their intervals stay without end, their memberships 0.
        low[label, now.contenders], high[label, now.contenders] = now.shown_interval()
        membership[label, now.contenders] = now.forecast.membership
        regret[label] = now.forecast.regret
        driver[label, now.contenders] = now.forecast.driver
        against[label, now.contenders] = now.forecast.against
    return Standing(low, high, settled, membership, regret, driver, against)


def scan_standing(
    posterior: Standing, sums: RunningSums, tally: Tally, aggregation: Aggregation, *, alpha: float
) -> tuple[Standing, float]:
    """How sure the graded scores of a scan are, and the level of its intervals.

    What is not tested can become anything; what is tested is as sure as its measuring. Drivers are named by the
    ``posterior``, as in a race.
    """
    assert aggregation.additive is not None, "values add up"
    noise = np.stack([sums.of_label(label, aggregation.additive).noise for label in range(len(tally.anchors))])
    wide = QUANTILE * np.sqrt(noise)
    low, high = aggregation.interval(tally, alpha)
    found = Standing(low - wide, high + wide, posterior.settled, driver=posterior.driver, against=posterior.against)
    return found, LEVEL if noise.any() else 1.0


def discoveries(doubt: NDArray[np.float64], tested: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The words that can be named together while no more than a share of them is expected to be wrong.

    ``doubt`` is the probability of each to be wrong; the least doubtful are taken while their mean doubt is within the
    rate (Bayesian false discovery rate).

    >>> discoveries(np.array([0.2, 0.0, 0.08, 0.9, 0.0]), tested=np.array([9, 9, 9, 9, 1])).tolist()
    [False, True, True, False, False]
    """
    # The direct posterior probability approach (Newton et al. 2004): the mean of the doubts is the expected share of
    # wrong names, however they hang together.
    doubt = np.where(tested >= FEWEST_TESTS, doubt, 1.0)
    # From the least doubtful on: the mean doubt of the first m is the rate at which these m would be wrong. It only
    # rises, so those within the rate are the first ones.
    order = np.argsort(doubt, kind="stable")
    mean = np.cumsum(doubt[order]) / np.arange(1, len(doubt) + 1)
    found = np.zeros(len(doubt), bool)
    found[order[mean <= DISCOVERY_RATE]] = True
    return found

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
from anchorscope.scoring.discoveries import discoveries
from anchorscope.scoring.posterior import (
    Forecast,
    Prior,
    Sums,
    all_totals,
    draw_totals,
    pooled_prior,
    summarise,
)
from anchorscope.scoring.posterior import Totals as WordTotals
from anchorscope.scoring.standing import Standing
from anchorscope.scoring.tally import VALUE_UNIT, Tally, ranking

LEVEL = 0.9
"""The level of a race's intervals, and of a scan's where measuring has noise."""

QUANTILE = 1.645
"""A normal value is within so many standard deviations at that level."""

CONTENDERS = 30
"""Words a label whose totals are drawn, in multiples of k; the others are too far behind to matter."""

LEAST_CHANCE = 0.002
"""The probability of reaching the k-th best word below which a word is not a contender."""

MARGIN = 1.2
"""A driver does more than so many times what any word like it does."""

REPEAT_UNIT = 1e-9
"""The unit in which variances of second measurements are added up."""

LEAST_WORTH = 0.001
"""What the words of a list do together, for each document that holds the most frequent word, if they do anything."""

LEARNT_DOCUMENTS = 12
LEARNING = -1 / 3
"""The more documents hold a word, the less its mean is off: (1 + documents / LEARNT_DOCUMENTS) ** LEARNING, relative to
the rarest words."""

REACH = 3.0
"""Standard deviations by which a word may miss its estimate, when the contenders are chosen."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RunningSums:
    """Documents that hold a term, those counted, and what they brought; each (labels, terms).

    ``expected_of_all`` is what a surrogate expects of all documents of a term together; ``expected`` what it expected
    of the counted ones, with its squares and its products with their values, from which its slope is read. ``placebo``
    (2, labels, terms) is what any words like it would do in all its documents together, and by how much that may be
    wrong. ``repeats`` (labels, 2) sums the variances that
    second measurements show, and those that were told of the same rows, in units of ``REPEAT_UNIT``: whole numbers,
    whose sum does not depend on their order.
    """

    documents: NDArray[np.int64]
    beyond: NDArray[np.int64]
    expected_of_all: Floats
    counted: NDArray[np.int64]
    values: Floats
    values_squared: Floats
    noise: Floats
    expected: Floats
    expected_squared: Floats
    products: Floats
    anchors: Floats
    anchors_squared: Floats
    placebo: Floats
    repeats: NDArray[np.int64]

    @classmethod
    def zero(
        cls,
        documents: NDArray[np.int64],
        expected_of_all: Floats | None = None,
        beyond: NDArray[np.int64] | None = None,
    ) -> RunningSums:
        """Nothing counted yet; ``beyond`` (terms,) documents hold each term that the model was not asked about."""
        shape = documents.shape
        expected = np.zeros(shape) if expected_of_all is None else expected_of_all
        others = np.zeros(shape[1], np.int64) if beyond is None else beyond
        nothing = {field.name: np.zeros(shape) for field in fields(cls)[4:-2]}
        counted = np.zeros(shape, np.int64)
        repeats = np.zeros((shape[0], 2), np.int64)
        return cls(documents, others, expected, counted, **nothing, placebo=np.zeros((2, *shape)), repeats=repeats)

    def count(
        self,
        label: int,
        terms: NDArray[np.int64],
        value: Floats,
        anchors: Floats,
        noise: Floats,
        repeat: Floats,
        expected: Floats,
    ) -> None:
        """Count documents of some terms, one a row: what each brought, and what was expected of it.

        ``noise`` is the variance of measuring, as a row tells it; ``repeat`` what a second measurement brought.

        Rows of one term are added in their order, so that a sum of floats does not depend on how they were batched.
        """
        for column, brought in (
            (self.counted, np.ones(len(terms), np.int64)),
            (self.values, value),
            (self.values_squared, value**2),
            (self.noise, noise),
            (self.expected, expected),
            (self.expected_squared, expected**2),
            (self.products, value * expected),
            (self.anchors, anchors),
            (self.anchors_squared, anchors**2),
        ):
            np.add.at(column[label], terms, brought)
        twice = np.isfinite(repeat)
        shown = 0.5 * np.square(value - repeat)[twice]
        self.repeats[label] += [
            np.rint(column / REPEAT_UNIT).astype(np.int64).sum() for column in (shown, noise[twice])
        ]

    def of_label(self, label: int, additive: Additive) -> Sums:
        """What an additive form has to go by."""
        documents, tested = self.documents[label], self.counted[label]
        if additive.quantity == "anchors":
            return Sums.plain(documents, tested, self.anchors[label], self.anchors_squared[label])
        # A test is off by its value less slope times what was expected, less the placebo: e - b s - p. Its sums follow
        # from those of e, s, e^2, s^2 and e s, so that no row is kept.
        b = self.slope(label)
        expected, products = self.expected[label], self.products[label]
        beyond, beyond_variance = self._beyond(label)
        placebo, placebo_error = self.placebo[:, label] / np.maximum(documents, 1)
        total = self.values[label] - b * expected
        squares = self.values_squared[label] - 2 * b * products + b**2 * self.expected_squared[label]
        # Differences of sums: rounding may leave a little less than nothing.
        off = np.maximum(squares - 2 * placebo * total + tested * placebo**2, 0.0)
        return Sums(
            documents=documents,
            tested=tested,
            total=total - tested * placebo,
            squares=off,
            offset=b * self.expected_of_all[label] + documents * placebo,
            noise=self.noise[label] * self._noise_factor(),
            beyond=beyond,
            beyond_variance=beyond_variance,
            scale=self._scale(label, b),
            placebo=placebo,
            placebo_error=placebo_error,
            tilt=self._slope_error(label, float(off.sum())) * self.expected_of_all[label] / np.maximum(documents, 1),
            reach=(1 + self.documents.sum(axis=0) / LEARNT_DOCUMENTS) ** LEARNING,
        )

    def _noise_factor(self) -> float:
        """What second measurements make of the variances that were told, for all rows alike."""
        shown, told = self.repeats.sum(axis=0).tolist()
        return shown / told if told > 0 else 1.0

    def _scale(self, label: int, b: float) -> Floats:
        """How much the values of each word may differ: the more, the more is expected of it; 1 for words on average."""
        documents = self.documents[label]
        # What is expected of a document of the word, against the square that is usual over all documents.
        mean = b * self.expected_of_all[label] / np.maximum(documents, 1)
        usual = float((mean**2 * documents).sum() / max(1, documents.sum()))
        return np.sqrt((mean**2 + usual) / (2 * usual)) if usual > 0 else np.ones(len(documents))

    def _beyond(self, label: int) -> tuple[Floats, Floats]:
        """How many of the documents that the model was not asked about are of the label and hold each term, and give
        or take how many: a share of them as among the others, for which a document of any label speaks, too
        (beta-binomial).
        """
        if not self.beyond.any():
            nothing = np.zeros(len(self.beyond))
            return nothing, nothing
        # A word that n documents hold, some of them of the label, has that share up to a beta distribution; one
        # document's worth of it is the share of the label on the whole.
        asked = self.documents.sum(axis=0)
        of_label = float(self.documents[label].sum() / max(1, asked.sum()))
        n = asked + 1.0
        share = (self.documents[label] + of_label) / n
        spread = share * (1 - share)
        return self.beyond * share, self.beyond * spread * (1 + (self.beyond - 1) / (n + 1))

    def slope(self, label: int) -> float:
        """How much a value, beyond the placebo, rises with what was expected of it: least squares, with a few tests'
        worth of trust in 1."""
        # Least squares through the origin, (e - p) s over s^2, with SLOPE_TESTS rows of average s at slope 1 added.
        squares = float(self.expected_squared[label].sum())
        n = max(1, int(self.counted[label].sum()))
        trust = SLOPE_TESTS * squares / n
        if squares + trust <= 0:
            return 1.0
        placebo = self.placebo[0, label] / np.maximum(self.documents[label], 1)
        products = float((self.products[label] - placebo * self.expected[label]).sum())
        return float(np.clip((products + trust) / (squares + trust), 0.0, STEEPEST))

    def _slope_error(self, label: int, off: float) -> float:
        """By how much the slope may be wrong: a standard deviation."""
        squares = float(self.expected_squared[label].sum())
        n = max(1, int(self.counted[label].sum()))
        return float(np.sqrt(off / n / (squares * (1 + SLOPE_TESTS / n)))) if squares > 0 else 0.0


SLOPE_TESTS = 10
"""The slope of what was expected counts as 1 in so many tests, before any is made."""

STEEPEST = 2.0


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
        self._observed = sums.values[label] / np.maximum(sums.counted[label], 1)
        self._n = tally.occurrences[label]
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
        return self._totals.expected

    @cached_property
    def _totals(self) -> WordTotals:
        """The total of every word, and how far off it may be."""
        return all_totals(self._sums, self.prior)

    @cached_property
    def contenders(self) -> NDArray[np.intp]:
        """The words that may matter: the best now, those that have a chance to be among them, and those against it."""
        # All words would be too many to draw: the best now, those with a chance to pass the k-th, and the worst.
        holds = np.flatnonzero(self._sums.documents > 0)
        n = self._n[holds]
        expected = self._scores(self.estimates[None, holds], holds, alone=True)[0]
        best = ranking(expected, n, 2 * self._k)
        if self._is_graded:
            least = float(expected[best[: self._k]].min(initial=np.inf))
            chance = self._totals.chance_above(least)[holds]
            nearest = ranking(chance, n, CONTENDERS * self._k)
            against = ranking(-expected, n, self._k)
            return holds[np.unique(np.concatenate([best, nearest[chance[nearest] > LEAST_CHANCE], against]))]
        estimates, deviations = self.estimates[holds], self._totals.spread[holds]
        low, high = (
            self._scores((estimates + reach * deviations)[None], holds, alone=True)[0] for reach in (-REACH, REACH)
        )
        nearest = ranking(high, n, CONTENDERS * self._k)
        within_reach = nearest[high[nearest] >= low[best[: self._k]].min(initial=np.inf)]
        return holds[np.unique(np.concatenate([best, within_reach]))]

    @cached_property
    def forecast(self) -> Forecast:
        """Intervals and memberships of the contenders, and the regret of the list that is shown now."""
        generator = np.random.Generator(np.random.Philox(key=np.array(self._key, np.uint64)))
        words = self.contenders
        expected = self._scores(self.estimates[None, words], words)[0]
        sums = self._sums.of(words)
        draws, means = draw_totals(sums, self.prior, generator)
        # What any word like it does, as far as that is known: one draw for all, as the survey is one. A word is in
        # doubt as often as its drawn mean is no more than that, with a margin.
        wrong = generator.standard_normal((len(means), 1)) * sums.placebo_error
        usual = sums.placebo + self.prior.centre * sums.scale + wrong
        driver = discoveries((means <= MARGIN * np.maximum(usual, 0.0)).mean(axis=0), sums.tested)
        against = discoveries((means >= MARGIN * np.minimum(usual, 0.0)).mean(axis=0), sums.tested)
        # What nothing but the surrogate speaks for is not named: the tests themselves must say so.
        driver &= self._observed[words] > VALUE_UNIT
        against &= self._observed[words] < -VALUE_UNIT
        shown = ranking(expected, self._n[words], self._k)
        least = LEAST_WORTH * float(self._sums.documents.max(initial=0)) if self._is_graded else 0.0
        scores = self._scores(draws, words)
        return summarise(scores, shown, self._k, LEVEL, driver=driver, against=against, least_worth=least)

    @property
    def best(self) -> NDArray[np.intp]:
        """The k words of which most is expected."""
        return ranking(self._scores(self.estimates[None], np.arange(len(self._n)))[0], self._n, self._k)

    @property
    def _is_graded(self) -> bool:
        return self._additive.quantity == "values"

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
        # The total over all words moves with the drawn ones; all others stand at their estimates.
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
        low[label, now.contenders], high[label, now.contenders] = now.shown_interval()
        membership[label, now.contenders] = now.forecast.membership
        regret[label] = now.forecast.regret
        driver[label, now.contenders] = now.forecast.driver
        against[label, now.contenders] = now.forecast.against
    return Standing(low, high, settled, membership, regret, driver, against)


def scan_standing(
    told: Standing, sums: RunningSums, tally: Tally, aggregation: Aggregation, *, alpha: float
) -> tuple[Standing, float]:
    """How sure the graded scores of a scan are, and the level of its intervals.

    What is not tested can become anything; what is tested is as sure as its measuring. ``told`` is what the posterior
    says: drivers are named by it, as in a race.
    """
    assert aggregation.additive is not None, "values add up"
    noise = np.stack([sums.of_label(label, aggregation.additive).noise for label in range(len(tally.anchors))])
    wide = QUANTILE * np.sqrt(noise)
    low, high = aggregation.interval(tally, alpha)
    found = Standing(low - wide, high + wide, told.settled, driver=told.driver, against=told.against)
    return found, LEVEL if noise.any() else 1.0

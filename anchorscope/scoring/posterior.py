"""What the documents that are not tested yet may still bring: membership in the top k, and expected regret.

The score of a word rests on a total over the D documents that hold it: of its values, or of its anchors. m of these
documents, a simple random sample, are tested; they brought the sum s. What a document brings has a mean mu and a
variance of its own for each word. The prior of both is pooled over the words, so a word with few tests is taken to
be like the others:

    mu         ~ sum over kinds j of share_j Normal(centre, spread_j): kinds of words from those that hardly differ to
                 those that differ a lot, each with twice the standard deviation of the one before
    variance   ~ scaled inverse chi-squared; the pooled one of its kind counts as much as PRIOR_TESTS tests
    total      = s + (D - m) mu + sqrt(D - m) noise                nothing is uncertain once m = D

Shares, centre and pooled variances are those under which the words are likeliest. (With two kinds alone, ordinary words
and drivers, the words in between are pulled to either side, and intervals of the best words cover 86% instead of 90%.)

Draws of all totals together, and of the scores that follow from them, give for each word the share of draws in which
it is among the k best (its membership), and for the shown list the mean of what it gives away to the best one (its
expected regret, as a share of the best).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_DRAWS = 400
PRIOR_TESTS = 4.0
FLOOR = 1e-9

PRIOR_WORDS = 1000
"""The prior is fitted to at most so many words: the most frequent ones, as those tested most are no random choice."""

DEVIATIONS: Floats = np.exp2(np.arange(-6.0, 3.0))
"""How much the means of the words of each kind differ, in standard deviations of what one document brings."""

SHARE_WORDS = 0.5
"""The words that each kind has before any is looked at."""

FITS = 4
EM_STEPS = 40
"""How often the prior is fitted to its own kinds, and the steps in which their shares are found each time."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What is known of each word of one label: documents that hold it, tested ones, and their sums; each (words,)."""

    documents: NDArray[np.int64]
    tested: NDArray[np.int64]
    total: Floats
    squares: Floats

    def of(self, words: NDArray[np.intp]) -> Sums:
        """The same of some words."""
        return Sums(self.documents[words], self.tested[words], self.total[words], self.squares[words])

    @property
    def left(self) -> NDArray[np.int64]:
        """Documents that are not tested."""
        return self.documents - self.tested

    @property
    def means(self) -> Floats:
        """What a tested document brings, on average; 0 where there is none."""
        return self.total / np.maximum(self.tested, 1)

    @property
    def scatter(self) -> Floats:
        """The squared distances of the tested documents from that mean, summed."""
        return np.maximum(self.squares - self.total * self.means, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What a document brings, over all words: the centre of the words' means, and, each (kinds,), how much the means
    of a kind differ (a variance), the share of the kind, and the variance within one of its words."""

    centre: float
    spread: Floats
    share: Floats
    within: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """Where the words of one label stand: intervals and memberships (words,), and the regret of the shown list."""

    low: Floats
    high: Floats
    membership: Floats
    regret: float


def pooled_prior(sums: Sums) -> Prior:
    """The prior that the words themselves suggest."""
    seen = np.flatnonzero(sums.tested > 1)
    if len(seen) < 3:
        return Prior(0.0, np.ones(1), np.ones(1), np.ones(1))
    known = sums.of(seen[np.lexsort((seen, -sums.documents[seen]))][:PRIOR_WORDS])
    within = max(float(known.scatter.sum() / (known.tested - 1).sum()), FLOOR)
    n = len(DEVIATIONS)
    prior = Prior(float(np.median(known.means)), within * DEVIATIONS**2, np.full(n, 1 / n), np.full(n, within))
    for _ in range(FITS):
        prior = _fitted(prior, known, within)
    return prior


def _fitted(prior: Prior, known: Sums, within: float) -> Prior:
    """The prior under which words, each in part of every kind, are likeliest: expectation and maximisation."""
    likelihood = _likelihood(known, prior)
    share = prior.share
    for _ in range(EM_STEPS):
        n_words = share * (likelihood.T @ (1 / (likelihood @ share)))
        share = (n_words + SHARE_WORDS) / (len(likelihood) + SHARE_WORDS * len(share))
    kinds = _normalised(likelihood * share)
    weight = (kinds / (prior.spread + _noise(known, prior))).sum(axis=1)
    freedom = kinds.T @ (known.tested - 1)
    return Prior(
        centre=float(np.average(known.means, weights=weight)),
        spread=prior.spread,
        share=share,
        within=(kinds.T @ known.scatter + PRIOR_TESTS * within) / (freedom + PRIOR_TESTS),
    )


def draw_totals(sums: Sums, prior: Prior, generator: np.random.Generator, n: int = N_DRAWS) -> Floats:
    """Draws (n, words) of every word's total over all its documents."""
    m = sums.tested
    s = sums.total
    left = sums.left
    shape = (n, len(sums.tested))
    chance = generator.random(shape)
    kind = np.zeros(shape, np.int8)
    for reached in np.cumsum(_kinds(sums, prior), axis=1).T[:-1]:
        kind += chance > reached
    spread = prior.spread[kind]
    squares = PRIOR_TESTS * prior.within[kind] + sums.scatter
    variance = squares / generator.chisquare(_freedom(sums), shape)
    precision = 1 / spread + m / variance
    mu = (prior.centre / spread + s / variance) / precision
    return s + left * mu + np.sqrt(left**2 / precision + left * variance) * generator.standard_normal(shape)


def expected_totals(sums: Sums, prior: Prior) -> tuple[Floats, Floats]:
    """The mean and the standard deviation of every word's total, each (words,).

    Words without a test are all alike, so only the tested ones are looked at one by one.
    """
    tested = np.flatnonzero(sums.tested)
    met = sums.of(tested)
    kinds = _kinds(met, prior)
    variances = _variances(met, prior)
    precision = 1 / prior.spread + met.tested[:, None] / variances
    means = (prior.centre / prior.spread + met.total[:, None] / variances) / precision
    mu, of_mu, within = (
        np.full(len(sums.tested), of_others)
        for of_others in (prior.centre, float(prior.share @ prior.spread), float(prior.share @ prior.within))
    )
    mu[tested] = (kinds * means).sum(axis=1)
    of_mu[tested] = (kinds * (1 / precision + (means - mu[tested][:, None]) ** 2)).sum(axis=1)
    within[tested] = (kinds * variances).sum(axis=1)
    left = sums.left
    return sums.total + left * mu, np.sqrt(left**2 * of_mu + left * within)


def _kinds(sums: Sums, prior: Prior) -> Floats:
    """The probability of each kind for each word, (words, kinds): Bayes' rule; the shares where nothing is tested."""
    likelihood = np.where(sums.tested[:, None] > 0, _likelihood(sums, prior), 1.0)
    return _normalised(likelihood * prior.share)


def _likelihood(sums: Sums, prior: Prior) -> Floats:
    """How likely mean and scatter of each word are under each kind, (words, kinds), up to a factor a word."""
    wide = prior.spread + _noise(sums, prior)
    of_mean = np.log(wide) + (sums.means - prior.centre)[:, None] ** 2 / wide
    pooled = PRIOR_TESTS * prior.within
    freedom = _freedom(sums)[:, None]
    of_scatter = freedom * np.log(pooled + sums.scatter[:, None]) - PRIOR_TESTS * np.log(pooled)
    logs = -0.5 * (of_mean + of_scatter)
    return np.exp(logs - logs.max(axis=1, keepdims=True))


def _noise(sums: Sums, prior: Prior) -> Floats:
    """The variance of each word's mean over its tested documents, if it is of each kind: (words, kinds)."""
    return _variances(sums, prior) / np.maximum(sums.tested, 1)[:, None]


def _variances(sums: Sums, prior: Prior) -> Floats:
    """The variance of what a document brings, for each word, if it is of each kind: (words, kinds)."""
    return (PRIOR_TESTS * prior.within + sums.scatter[:, None]) / _freedom(sums)[:, None]


def _freedom(sums: Sums) -> Floats:
    return PRIOR_TESTS + np.maximum(sums.tested - 1, 0)


def _normalised(weights: Floats) -> Floats:
    return weights / weights.sum(axis=1, keepdims=True)


def summarise(draws: Floats, shown: NDArray[np.intp], k: int, level: float) -> Forecast:
    """Read draws of scores (draws, words): intervals at a level, memberships, and the regret of the shown list."""
    k = min(k, draws.shape[1])
    order = np.argpartition(-draws, k - 1, axis=1)[:, :k]
    membership = np.bincount(order.ravel(), minlength=draws.shape[1]) / len(draws)
    best = np.take_along_axis(draws, order, axis=1).sum(axis=1)
    given_away = best - draws[:, shown].sum(axis=1)
    worth = float(best.mean())
    regret = float(given_away.mean()) / worth if worth > 0 else float(given_away.any())
    # Of n draws, a share (n + 1) p lies below the p-th one: the rule "weibull" covers as stated, whatever n is.
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull")
    return Forecast(low, high, membership, regret)

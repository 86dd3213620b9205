"""What the documents that are not tested yet may still bring: membership in the top k, and expected regret.

The score of a word rests on a total over the D documents that hold it: of its gains, or of its anchors. m of these
documents, a simple random sample, are tested; they brought the sum s. What a document brings has a mean mu and a
variance of its own for each word. The prior of both is pooled over all words, so a word with few tests is taken to
be like the others:

    mu         ~ most words differ little from their mean, a few (the drivers) a lot: two normal distributions,
                 fitted to the words; each word belongs to either with the probability that its tests give
    variance   ~ scaled inverse chi-squared; the pooled one of its kind counts as much as PRIOR_TESTS tests
    total      = s + (D - m) mu + sqrt(D - m) noise                nothing is uncertain once m = D

Draws of all totals together, and of the scores that follow from them, give for each word the share of draws in which
it is among the k best (its membership), and for the shown list the mean of what it gives away to the best one (its
expected regret, as a share of the best).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_DRAWS = 400
PRIOR_TESTS = 4.0
EM_STEPS = 20
FLOOR = 1e-9

ScoreOfTotals = Callable[[Floats], Floats]
"""From totals (draws, words) to scores of the same shape; totals may be compared within a draw."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of each word of one label: documents that hold it, tested ones, and their sums; each (words,)."""

    documents: NDArray[np.int64]
    tested: NDArray[np.int64]
    total: Floats
    squares: Floats


@dataclass(frozen=True, slots=True)
class Prior:
    """What a document brings, over all words: the mean, the variance within a word, and how much words differ.

    Pairs are of ordinary words and of drivers; ``drivers`` is the share of the latter.
    """

    mean: tuple[float, float]
    within: tuple[float, float]
    between: tuple[float, float]
    drivers: float


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """Where the words of one label stand: intervals and memberships (words,), and the regret of the shown list."""

    low: Floats
    high: Floats
    membership: Floats
    regret: float


def pooled_prior(evidence: Evidence) -> Prior:
    """The prior that the words themselves suggest, by a few steps of expectation and maximisation."""
    seen = evidence.tested > 1
    if seen.sum() < 3:
        return Prior((0.0, 0.0), (1.0, 1.0), (1.0, 1.0), 0.5)
    m, s = evidence.tested[seen], evidence.total[seen]
    means = s / m
    scatter = np.maximum(evidence.squares[seen] - s * means, 0.0)
    within = max(float(scatter.sum() / (m - 1).sum()), FLOOR)
    noise, floor = within / m, within / 100
    centre = float(np.average(means, weights=m / (m + 1)))
    squares = (means - centre) ** 2 - noise
    prior = Prior(
        mean=(centre, centre),
        within=(within, within),
        between=(max(float(np.median(squares)), floor), max(10 * float(np.mean(squares)), 10 * floor)),
        drivers=0.1,
    )
    for _ in range(EM_STEPS):
        is_driver = _driver_probability(means, noise, prior)
        prior = _maximise(prior, means, noise, is_driver, floor)
    kinds = (1 - is_driver, is_driver)
    calm, wild = (float((scatter * kind).sum() + within) / float(((m - 1) * kind).sum() + 1) for kind in kinds)
    return replace(prior, within=(calm, max(calm, wild)))


def _maximise(prior: Prior, means: Floats, noise: Floats, is_driver: Floats, floor: float) -> Prior:
    """The prior under which words, each in part a driver, are likeliest; drivers are to differ more than the others."""
    kinds = (1 - is_driver + 1e-9, is_driver + 1e-9)
    spread = tuple(between + noise for between in prior.between)
    centres = [float(np.average(means, weights=kind / wide)) for kind, wide in zip(kinds, spread)]
    ordinary, wide = (
        float(np.average((means - centre) ** 2 - noise, weights=kind)) for centre, kind in zip(centres, kinds)
    )
    return replace(
        prior,
        mean=(centres[0], centres[1]),
        between=(max(ordinary, floor), max(wide, 4 * max(ordinary, floor))),
        drivers=float(np.clip(is_driver.mean(), 1 / (1 + len(means)), 0.5)),
    )


def draw_totals(evidence: Evidence, prior: Prior, generator: np.random.Generator, n: int = N_DRAWS) -> Floats:
    """Draws (n, words) of every word's total over all its documents."""
    m, s, left = evidence.tested, evidence.total, evidence.documents - evidence.tested
    means = np.divide(s, m, out=np.zeros(len(m)), where=m > 0)
    scatter = np.maximum(evidence.squares - s * means, 0.0)
    freedom = PRIOR_TESTS + np.maximum(m - 1, 0)
    is_driver = generator.random((n, len(m))) < _drivers(evidence, prior)
    within = np.where(is_driver, prior.within[1], prior.within[0])
    between = np.where(is_driver, prior.between[1], prior.between[0])
    mean = np.where(is_driver, prior.mean[1], prior.mean[0])
    variance = (PRIOR_TESTS * within + scatter) / generator.chisquare(freedom, (n, len(m)))
    precision = 1 / between + m / variance
    centre = (mean / between + s / variance) / precision
    mu = centre + generator.standard_normal((n, len(m))) / np.sqrt(precision)
    noise = generator.standard_normal((n, len(m))) * np.sqrt(variance)
    return s + left * mu + np.sqrt(left) * noise


def expected_totals(evidence: Evidence, prior: Prior) -> Floats:
    """The mean of every word's total, (words,); what the draws scatter around."""
    m, s = evidence.tested, evidence.total
    ordinary, driver = (
        (mean / between + s / variance) / (1 / between + m / variance)
        for mean, between, variance in zip(prior.mean, prior.between, _variances(evidence, prior))
    )
    weight = _drivers(evidence, prior)
    return s + (evidence.documents - m) * (weight * driver + (1 - weight) * ordinary)


def upper_totals(evidence: Evidence, prior: Prior) -> Floats:
    """Totals that words will hardly exceed, to leave out those that cannot matter."""
    spread = np.sqrt(1 / (1 / prior.between[1] + evidence.tested / _variances(evidence, prior)[1]))
    left = evidence.documents - evidence.tested
    return expected_totals(evidence, prior) + 3 * left * spread


def _variances(evidence: Evidence, prior: Prior) -> tuple[Floats, Floats]:
    """The variance of what a document brings, for each word, if it is ordinary and if it is a driver."""
    m, s = evidence.tested, evidence.total
    scatter = np.maximum(evidence.squares - s * np.divide(s, m, out=np.zeros(len(m)), where=m > 0), 0.0)
    freedom = PRIOR_TESTS + np.maximum(m - 1, 0)
    ordinary, driver = ((PRIOR_TESTS * within + scatter) / freedom for within in prior.within)
    return ordinary, driver


def _drivers(evidence: Evidence, prior: Prior) -> Floats:
    """The probability that each word is a driver."""
    m = np.maximum(evidence.tested, 1)
    known = _driver_probability(evidence.total / m, _variances(evidence, prior)[1] / m, prior)
    return np.where(evidence.tested > 0, known, prior.drivers)


def _driver_probability(means: Floats, noise: Floats, prior: Prior) -> Floats:
    """Bayes' rule for two normal distributions, given the words' means and the variance of their noise."""
    ordinary, driver = (
        np.log(between + noise) + (means - mean) ** 2 / (between + noise)
        for mean, between in zip(prior.mean, prior.between)
    )
    odds = np.log(prior.drivers / (1 - prior.drivers)) + 0.5 * (ordinary - driver)
    return 1 / (1 + np.exp(-np.clip(odds, -500, 500)))


def look_ahead(draws: Floats, shown: NDArray[np.intp], k: int, level: float) -> Outlook:
    """Read draws of scores (draws, words): intervals at a level, memberships, and the regret of the shown list."""
    k = min(k, draws.shape[1])
    order = np.argpartition(-draws, k - 1, axis=1)[:, :k]
    membership = np.bincount(order.ravel(), minlength=draws.shape[1]) / len(draws)
    best = np.take_along_axis(draws, order, axis=1).sum(axis=1)
    given_away = best - draws[:, shown].sum(axis=1)
    worth = float(best.mean())
    regret = float(given_away.mean()) / worth if worth > 0 else float(given_away.any())
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Outlook(low, high, membership, regret)

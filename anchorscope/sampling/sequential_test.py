"""The tests: how often perturbed texts agreed, in; anchor or not, out.

The precision p of a token is the probability that the model keeps its decision while the token is
kept; the token is an anchor iff p >= tau. A test looks at the agreements after every ``look`` samples
and says: anchor, no anchor, or go on. Three tests do so; a fourth never stops early.

``kl`` (the paper's rule, with the exact bound). With mean m over n samples, the Kullback-Leibler
bounds at level ln(1/delta)/n are the q furthest from m with n KL(m, q) <= ln(1/delta). Go on while

    m >= tau and lower < tau - epsilon,    or    m < tau and upper >= tau + epsilon.

Both bounds are compared with a point only, so they need not be computed: lower < x iff
n KL(m, x) < ln(1/delta) for x < m, and alike above. The answer at the stop is m >= tau. Its delta is no
error rate: with tau + epsilon = 1 a single disagreement in the first look ends the test.

``kl-one-step``: the same rule with the bound of the authors' code, which starts from Pinsker's
bound m +- sqrt(level / 2) and halves the way to m once: looser, so it samples longer.

``sprt`` (ours): Wald's sequential probability ratio test between tau - epsilon and the point that is
``SPRT_RISE`` of the way from tau to 1, with the thresholds ln(1/delta), at which both errors are at
most delta for certain (Ville's inequality), unless the cap on samples ends the test first.

``fixed`` (ours): ``max_samples`` samples, no look before; the answer is m >= tau. For aggregations that
need no yes or no: their estimates are then free of the bias of stopping early.

>>> test = SequentialTest("kl", delta=0.1, epsilon=0.05, look=10, max_samples=1000)
>>> test.decide(np.array([0, 9, 10, 50]), np.array([10, 10, 10, 50]), np.full(4, 0.95)).tolist()
[-1, -1, 0, 1]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.integer]

SPRT_RISE = 0.6
"""Where the upper point of the sprt lies between tau (0) and 1: at 0.98 for tau = 0.95."""

LEAST_POINT = 1e-6
"""The lower point of the sprt is at least this, for thresholds below epsilon."""

TESTS = ("kl", "kl-one-step", "sprt", "fixed")


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """A named test and its parameters; ``look`` is the number of samples from one look to the next."""

    __test__ = False  # pytest: this is no test case

    name: str
    delta: float
    epsilon: float
    look: int
    max_samples: int

    @property
    def may_stop_early(self) -> bool:
        """Whether the number of samples depends on what they say."""
        return self.name != "fixed"

    def decide(self, agreements: Counts, samples: Counts, thresholds: Floats) -> NDArray[np.int8]:
        """1 (anchor), -1 (none) or 0 (go on) for each pair of counts, read at the end of a look."""
        mean = agreements / np.maximum(samples, 1)
        above = mean >= thresholds
        go_on, answer = _RULES[self.name](self, agreements, samples, mean, above, thresholds)
        return np.where(go_on, 0, np.where(answer, 1, -1)).astype(np.int8)


def kl_bernoulli(p: Floats, q: Floats) -> Floats:
    """The Kullback-Leibler divergence of Bernoulli(q) from Bernoulli(p).

    >>> float(kl_bernoulli(np.array(0.5), np.array(0.5)))
    0.0
    >>> float(kl_bernoulli(np.array(0.9), np.array(1.0)))
    inf
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(p > 0, p * np.log(p / q), 0.0)
        outside = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return inside + outside


def one_step_bounds(mean: Floats, level: Floats) -> tuple[Floats, Floats]:
    """Lower and upper bounds after one halving step from Pinsker's bounds towards the mean.

    >>> low, high = one_step_bounds(np.array(0.5), np.array(0.02))   # Pinsker: 0.4 and 0.6
    >>> round(float(low), 6), round(float(high), 6)                  # KL(0.5, 0.45) = 0.005 <= 0.02: no step
    (0.4, 0.6)
    """
    reach = np.sqrt(level / 2)
    low = np.maximum(mean - reach, 0.0)
    high = np.minimum(mean + reach, 1.0)
    half_low = (low + mean) / 2
    half_high = (high + mean) / 2
    return (
        np.where(kl_bernoulli(mean, half_low) > level, half_low, low),
        np.where(kl_bernoulli(mean, half_high) > level, half_high, high),
    )


def _kl(
    test: SequentialTest, agreements: Counts, samples: Counts, mean: Floats, above: NDArray[np.bool_], tau: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    # The x with n kl(mean, x) < log(1 / delta) are a confidence region of the precision (Kaufmann and Kalyanakrishnan
    # 2013). With a mean above tau a test goes on while tau - epsilon is in it, else while tau + epsilon is.
    level = np.log(1 / test.delta) / np.maximum(samples, 1)
    floor = np.maximum(tau - test.epsilon, 0.0)
    ceiling = np.minimum(tau + test.epsilon, 1.0)
    low_unsure = kl_bernoulli(mean, floor) < level
    high_unsure = kl_bernoulli(mean, ceiling) <= level
    return np.where(above, low_unsure, high_unsure), above


def _kl_one_step(
    test: SequentialTest, agreements: Counts, samples: Counts, mean: Floats, above: NDArray[np.bool_], tau: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    level = np.log(1 / test.delta) / np.maximum(samples, 1)
    low, high = one_step_bounds(mean, level)
    return np.where(above, low < tau - test.epsilon, high >= tau + test.epsilon), above


def _sprt(
    test: SequentialTest, agreements: Counts, samples: Counts, mean: Floats, above: NDArray[np.bool_], tau: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    p0 = np.maximum(tau - test.epsilon, LEAST_POINT)
    p1 = tau + SPRT_RISE * (1 - tau)
    ratio = agreements * np.log(p1 / p0) + (samples - agreements) * np.log((1 - p1) / (1 - p0))
    return np.abs(ratio) < np.log(1 / test.delta), ratio > 0


def _fixed(
    test: SequentialTest, agreements: Counts, samples: Counts, mean: Floats, above: NDArray[np.bool_], tau: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    return np.ones(above.shape, bool), above


_RULES = {"fixed": _fixed, "kl": _kl, "kl-one-step": _kl_one_step, "sprt": _sprt}

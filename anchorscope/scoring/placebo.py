"""The placebo: what taking out *any* word does to a label.

A model may change its mind whatever is taken out of a document: it counts words, or is so unsure that every change
moves it. A word that does no more than that drives nothing. The words of a run's first round are a random choice (a
survey, or all words of some documents), so a regression on them tells what any word does in document d,

    value  ~  a + b P_d + h_d (c words + e characters)          h_d = P_d (1 - P_d)

P_d being the probability of the label. ``words`` and ``characters`` are what is taken out. Four numbers a label are
little to learn, so a small survey will do.

>>> p = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
>>> x = features(p, np.ones(6), np.array([4, 1, 6, 2, 8, 3]))
>>> (x @ fit(x, p - 0.5)[0]).round(2).tolist()              # whatever is taken out, a coin is thrown again
[0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anchorscope.scoring.rates import NOTHING

Floats = NDArray[np.float64]

N_FEATURES = 4
FLOOR = 1e-9

HUBER = 1.5
HUBER_STEPS = 20
"""Values that are further off than so many standard deviations count the less, the further they are."""

CONVERGED = 1e-5
"""The steps end when no coefficient moves by more."""

PRIOR: Floats = np.array([0.5, 1.0, 0.3, 0.05])
"""How large each coefficient may be, before anything is tested: a standard deviation. A word more or less that is worth
0.3 logits, or a character 0.05, is a lot."""

MOSTLY = 0.9
FEWEST_FOR_NOTHING = 20
"""Where so many tests, and such a share of them, find nothing, any word does as good as nothing: in other documents,
too, be they unlike those of the survey. The few that do something do not count, as elsewhere."""


def features(probability: Floats, words: Floats, characters: Floats) -> Floats:
    """What the effect of any word may depend on, (occurrences, 4)."""
    spread = probability * (1 - probability)
    return np.stack([np.ones(len(probability)), probability, spread * words, spread * characters], axis=1)


def fit(x: Floats, value: Floats) -> tuple[Floats, Floats]:
    """The coefficients, (4,), and their covariance, (4, 4): a normal prior around 0, and the values, of which the few
    that are far off count little (Huber's weights, found in steps).

    What is far from the survey (a word of one sign, one that stands four times in a document) is uncertain, and the
    covariance says so. Not so where the survey finds next to nothing: most documents of a label by default are alike
    (P = 0.5, say), and the few others hold the words that the model goes by.
    """
    found_nothing = len(value) >= FEWEST_FOR_NOTHING and np.mean(np.abs(value) <= NOTHING) >= MOSTLY
    prior = PRIOR * NOTHING if found_nothing else PRIOR
    mean = np.zeros(N_FEATURES)
    covariance: Floats = np.diag(prior**2).copy()
    weight = np.ones(len(value))
    # Iteratively reweighted least squares (Huber 1964, Holland and Welsch 1977): a row beyond ``far`` counts far / off.
    for _ in range(HUBER_STEPS if len(value) else 0):
        off = value - x @ mean
        noise = float(weight @ off**2 / weight.sum()) + FLOOR
        # The posterior of four coefficients, (4, 4): the prior keeps it solvable where all documents are alike.
        weighted = weight[:, None] * x
        covariance[:] = np.linalg.inv(x.T @ weighted / noise + np.diag(prior**-2.0))
        before, mean = mean, covariance @ (weighted.T @ value) / noise
        if np.abs(mean - before).max() < CONVERGED:
            break
        off = np.abs(value - x @ mean)
        far = HUBER * 1.48 * float(np.median(off))  # 1.48 medians are a standard deviation
        weight = np.minimum(1.0, (far + 1e-6) / np.maximum(off, 1e-9))
    return mean, covariance


def effect_of_any(summed: Floats, x: Floats, value: Floats) -> Floats:
    """What any words would do where these features add up to ``summed`` (terms, 4), and its error, (2, terms)."""
    mean, covariance = fit(x, value)
    return np.stack([summed @ mean, np.sqrt(np.einsum("tf,fg,tg->t", summed, covariance, summed))])

"""The placebo: what taking out *any* word does to a label.

A model may change its mind whatever is taken out of a document: it counts words, or is so unsure that every change
moves it. A word that does no more than that drives nothing. The words of a run's first round are a random choice (a
survey, or all words of some documents), so a regression on them tells what any word does in document d,

    value  ~  a + b P_d + h_d (c words + e characters)          h_d = P_d (1 - P_d)

P_d being the probability of the label. ``words`` and ``characters`` are what is taken out. Four numbers a label are
little to learn, so a small survey will do.

>>> p = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
>>> x = features(p, np.ones(6), np.array([4, 1, 6, 2, 8, 3]))
>>> (x @ fit(x, p - 0.5)).round(2).tolist()              # whatever is taken out, a coin is thrown again
[0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_FEATURES = 4

HUBER = 1.5
HUBER_STEPS = 20
"""Values that are further off than so many standard deviations count the less, the further they are."""

RIDGE = 1e-4
"""Added to the squares of each feature, as a share of them: coefficients stay small where nothing asks for more."""


def features(probability: Floats, words: Floats, characters: Floats) -> Floats:
    """What the effect of any word may depend on, (occurrences, 4)."""
    spread = probability * (1 - probability)
    return np.stack([np.ones(len(probability)), probability, spread * words, spread * characters], axis=1)


def fit(x: Floats, value: Floats) -> Floats:
    """The coefficients, (4,), all 0 without any value: least squares with a little ridge, in which the few words that
    do far more than the others count little (Huber's weights, found in steps)."""
    squares = np.square(x).sum(axis=0)
    weight = np.ones(len(value))
    found = np.zeros(x.shape[1])
    # Iteratively reweighted least squares (Huber 1964, Holland and Welsch 1977): a row beyond ``far`` counts far / off.
    for _ in range(HUBER_STEPS if len(value) else 0):
        # The normal equations of four coefficients, (4, 4): the ridge keeps them solvable where all documents are
        # alike.
        weighted = weight[:, None] * x
        found[:] = np.linalg.solve(x.T @ weighted + np.diag(RIDGE * squares + 1e-9), weighted.T @ value)
        off = np.abs(value - x @ found)
        far = HUBER * 1.48 * float(np.median(off))  # 1.48 medians are a standard deviation
        weight = np.minimum(1.0, (far + 1e-6) / np.maximum(off, 1e-9))
    return found

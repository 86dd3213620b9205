"""The paper's aggregation by entropy, h: frequent anchors, discounted where a word is an anchor of several classes.

    h = (1 - (H - H_min) / (H_max - H_min)) sqrt(A+)        H: the entropy of a word's sqrt(A+) over the classes

A word that is an anchor of no class has no entropy: it is out of H_min and H_max, and scores 0. What h can still become
is bounded over all classes jointly, through the least and the greatest entropy of the box in which a word's roots lie.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from anchorscope.scoring.aggregation import Interval
from anchorscope.scoring.tally import Scores, Tally, ratio

ENTROPY_DIGITS = 12
"""Entropies that differ by less are equal, so that H_max = H_min is found where it holds."""

CORNERS_FOR_LABELS = 10
"""Up to this many labels the least entropy is looked up in the corners of the box; beyond, 0 serves."""


def h(tally: Tally, alpha: float = 0.5) -> Scores:
    """The square root of the number of anchors, discounted by how evenly they are spread over the classes."""
    roots = np.sqrt(tally.anchors)
    has_anchor = roots.sum(axis=0) > 0
    if not has_anchor.any():
        return roots
    entropies = np.round(entropy(roots), ENTROPY_DIGITS)
    low = entropies[has_anchor].min()
    high = entropies[has_anchor].max()
    factor = 1 - (entropies - low) / (high - low) if high > low else np.ones_like(entropies)
    return np.where(has_anchor, factor, 0.0) * roots


def entropy(weights: Scores) -> Scores:
    """The Shannon entropy (natural logarithm) of each column of non-negative weights; 0 for a column of zeros.

    >>> entropy(np.array([[1.0, 1.0], [1.0, 0.0]])).round(4).tolist()
    [0.6931, 0.0]
    """
    shares = ratio(weights, weights.sum(axis=0))
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return np.abs(np.sum(shares * logs, axis=0))


def optimistic_roots(tally: Tally, alpha: float) -> tuple[Scores, Scores]:
    """h now, and the root of the anchors with every remaining occurrence counted as one: the discount is 1 at best."""
    return h(tally), np.sqrt(tally.anchors + tally.untested)


def interval(tally: Tally, alpha: float) -> Interval:
    """The interval of h, through the intervals of every word's entropy and of H_min and H_max."""
    a = tally.anchors
    r = tally.untested
    low = np.sqrt(a)
    high = np.sqrt(a + r)
    has_anchor = low.sum(axis=0) > 0
    may_have = high.sum(axis=0) > 0
    if not may_have.any():
        return low, high
    if not (r > 0).any():  # all is known: H_max = H_min makes the factor 1
        exact = h(replace(Tally.zero(*a.shape), anchors=a))
        return exact, exact
    least = _least_entropy(low, high)
    greatest = _greatest_entropy(low, high)
    # H_min and H_max are over the words with an anchor, and which these are is open: bounds on both sides.
    min_low = least[may_have].min()
    min_high = greatest[has_anchor].min() if has_anchor.any() else np.log(len(a))
    max_low = least[has_anchor].max() if has_anchor.any() else 0.0
    max_high = greatest[may_have].max()
    factor_high = np.ones_like(least)
    if max_high > min_high:
        factor_high = np.minimum(1.0, (max_high - least) / (max_high - min_high))
    factor_low = np.zeros_like(least)
    if max_low > min_low:
        factor_low = np.maximum(0.0, (max_low - greatest) / (max_low - min_low))
    return np.where(has_anchor, factor_low, 0.0) * low, factor_high * high


def _least_entropy(low: Scores, high: Scores) -> Scores:
    """The least entropy over each word's box: quasi-concave, so it stands in a corner (other than 0)."""
    if len(low) > CORNERS_FOR_LABELS:
        return np.zeros(low.shape[1])
    best = np.full(low.shape[1], np.inf)
    for corner in product((False, True), repeat=len(low)):
        weights = np.where(np.array(corner)[:, None], high, low)
        best = np.where(weights.sum(axis=0) > 0, np.minimum(best, entropy(weights)), best)
    return np.where(np.isfinite(best), best, 0.0)


def _greatest_entropy(low: Scores, high: Scores) -> Scores:
    """The greatest entropy over each word's box: at clip(lambda, low, high) for some lambda.

    Between two neighbouring ends of the intervals the weights that lambda moves are the same; there the
    entropy is stationary where ln(lambda) is the mean of ln(weight) over the others, weighted by themselves.
    """
    ends: NDArray[np.float64] = np.sort(np.concatenate([low, high]), axis=0)
    candidates = [*ends]
    for left, right in pairwise(ends):
        moved = (low <= left) & (high >= right)
        fixed = np.where(moved, 0.0, np.clip((left + right) / 2, low, high))
        logs = np.sum(fixed * np.log(np.where(fixed > 0, fixed, 1.0)), axis=0)
        candidates.append(np.clip(np.exp(ratio(logs, fixed.sum(axis=0))), left, right))
    greatest: Scores = np.max([entropy(np.clip(x, low, high)) for x in candidates], axis=0)
    return greatest

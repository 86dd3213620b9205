"""Aggregation: tallies in, scores out; a function a formula, each (labels, terms).

A+ and A- count the anchors and non-anchors of a word in the documents of a class.

    sq          sqrt(A+)                                             frequent anchors
    av          A+ / (A+ + A-)                                       the share of anchors
    av5         av of the words with five training occurrences
    h           (1 - (H - H_min) / (H_max - H_min)) sqrt(A+)         H: entropy of a word's sq over the classes
    pr          q~ = A+ / (alpha T+) - (1/alpha - 1) A- / T-         the paper's probabilistic model, smoothed
    gain        sum of P(c | w kept) - P(c | w replaced)             ours: no threshold, every occurrence counts
    excess      gain - N g, g the mean gain of all occurrences       what is beyond the background
    base        documents of the class with w / documents with w     no anchors at all: a baseline
    pr-inverse  pr upside down                                       a sanity check

T+ and T- are the totals over the candidate set; 0/0 is 0. A score is a function of the tally alone, so
any of them can be computed from a finished run. An outside author adds one through the entry point group
``anchorscope.aggregation``: a function from a ``Tally`` to an array (labels, terms).

>>> counts = Tally.zero(1, 2).observe(np.array([0, 0, 0]), np.array([0, 0, 1]), np.array([True, True, False]))
>>> sq(counts).round(3).tolist(), av(counts).tolist()
([[1.414, 0.0]], [[1.0, 0.0]])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.tally import GAIN_UNIT, Tally

Scores = NDArray[np.float64]
Aggregation = Callable[[Tally], Scores]

BY_GAIN = ("gain", "excess")
"""The aggregations of gains; the others count anchors."""

ENTROPY_DIGITS = 12
"""Entropies that differ by less are equal, so that H_max = H_min is found where it holds."""

TRAINING_FLOOR = 5
"""The occurrences below which av5 leaves a word out."""


def aggregation(name: str, *, alpha: float = 0.5) -> Aggregation:
    """The function behind a name; alpha is for the probabilistic ones.

    >>> aggregation("pr", alpha=0.3).keywords
    {'alpha': 0.3}
    """
    function: Aggregation = registry.resolve("aggregation", name)
    return partial(function, alpha=alpha) if function in (pr, pr_inverse) else function


def sq(tally: Tally) -> Scores:
    """The square root of the number of anchors."""
    return np.sqrt(tally.anchors)


def av(tally: Tally) -> Scores:
    """The share of anchors among the tested occurrences."""
    return ratio(tally.anchors, tally.anchors + tally.non_anchors)


def av5(tally: Tally) -> Scores:
    """The share of anchors, of words with at least five occurrences in the training set; 0 for the others."""
    return np.where(tally.training >= TRAINING_FLOOR, av(tally), 0.0)


def h(tally: Tally) -> Scores:
    """sq, discounted where a word is an anchor of several classes.

    A word that is an anchor of no class has no entropy: it is out of H_min and H_max and scores 0.
    """
    roots = sq(tally)
    has_anchor = roots.sum(axis=0) > 0
    if not has_anchor.any():
        return roots
    entropies = np.round(entropy(roots), ENTROPY_DIGITS)
    low, high = entropies[has_anchor].min(), entropies[has_anchor].max()
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


def anchor_probability(tally: Tally, *, alpha: float = 0.5) -> Scores:
    """q~, the maximum of the likelihood where it is nowhere negative."""
    anchors = ratio(tally.anchors, tally.anchors.sum(axis=1, keepdims=True))
    non_anchors = ratio(tally.non_anchors, tally.non_anchors.sum(axis=1, keepdims=True))
    return anchors / alpha - (1 / alpha - 1) * non_anchors


def smoothed(q: Scores) -> Scores:
    """Laplace smoothing by the absolute value of the least entry of each row: keeps the order, ends negative values.

    >>> smoothed(np.array([[1.5, -0.5]])).tolist()
    [[1.0, 0.0]]
    """
    least = np.abs(q.min(axis=1, keepdims=True, initial=np.inf, where=np.isfinite(q)))
    least = np.where(np.isfinite(least), least, 0.0)
    return (q + least) / (1 + q.shape[1] * least)


def pr(tally: Tally, *, alpha: float = 0.5) -> Scores:
    """The paper's probabilistic aggregation: the smoothed probability that an anchor of the class is this word."""
    return smoothed(anchor_probability(tally, alpha=alpha))


def pr_inverse(tally: Tally, *, alpha: float = 0.5) -> Scores:
    """pr ranked the other way round (negated: its reciprocal has a pole where pr is 0)."""
    return -pr(tally, alpha=alpha)


def gain(tally: Tally) -> Scores:
    """The probability of the class that the word brings to all its occurrences together.

    An anchor is a yes or no at a threshold; this asks how much. For one occurrence, it is the mean probability of the
    predicted class over the samples that keep the word, less that over the samples that replace it.
    """
    return np.asarray(tally.gains * GAIN_UNIT, np.float64)


def excess(tally: Tally) -> Scores:
    """The gain beyond what as many occurrences of an average word bring."""
    n = tally.occurrences
    return gain(tally) - n * ratio(gain(tally).sum(axis=1, keepdims=True), n.sum(axis=1, keepdims=True))


def base(tally: Tally) -> Scores:
    """The share of the class among the documents that hold the word."""
    return ratio(tally.documents, tally.documents.sum(axis=0))


def pseudo_counts(tally: Tally, *, alpha: float = 0.5) -> Scores:
    """q~ in counts, A+ - (1 - alpha) (T+ / T-) A-, both totals started at 1: q~ times a factor that words share."""
    background = (1 + tally.anchors.sum(axis=1, keepdims=True)) / (1 + tally.non_anchors.sum(axis=1, keepdims=True))
    return tally.anchors - (1 - alpha) * background * tally.non_anchors


def ranking(scores: Scores, occurrences: NDArray[np.int64], n: int | None = None) -> NDArray[np.intp]:
    """The terms of one label from best to worst: by score, then occurrences, then term (columns are in term order).

    Terms that do not occur in the label's documents are left out. With ``n``, the first n of them, found without
    sorting the rest.

    >>> ranking(np.array([0.5, 0.7, 0.5, 0.9]), np.array([3, 1, 4, 0])).tolist()
    [1, 2, 0]
    >>> ranking(np.array([0.5, 0.7, 0.5, 0.9]), np.array([3, 1, 4, 0]), 2).tolist()
    [1, 2]
    """
    present = np.flatnonzero(occurrences > 0)
    values = -np.round(scores[present], 14)
    if n is not None and 0 < n < len(present):
        ahead = values <= np.partition(values, n - 1)[n - 1]  # the n best, and those level with the last of them
        present, values = present[ahead], values[ahead]
    return present[np.lexsort((present, -occurrences[present], values))][:n]


def ratio(numerator: NDArray[np.generic], denominator: NDArray[np.generic]) -> Scores:
    """numerator / denominator, with 0/0 = 0.

    >>> ratio(np.array([1, 0]), np.array([2, 0])).tolist()
    [0.5, 0.0]
    """
    out: Scores = np.divide(
        numerator, denominator, out=np.zeros(np.broadcast(numerator, denominator).shape), where=denominator != 0
    )
    return out

"""What a score can still become, whatever the untested occurrences turn out to be; the sound filter.

For a class, a word has a tested anchors, b tested non-anchors and r untested occurrences, n = a + b + r.
T, L and U are the sums over the candidate set of n, a and a + r: the final number of anchors is somewhere
between L and U. Nothing here is a guess: the final score of a finished run lies within its interval.

    sq    [sqrt(a), sqrt(a + r)]
    av    [a / n, (a + r) / n]
    pr    hi = (a+r) / (alpha (L+r)) - (1/alpha - 1) b / (T-L-r)
          lo = a / (alpha (U-r)) - (1/alpha - 1) (b+r) / (T-U+r)          (before smoothing; both are attained)
    gain  [g - r, g + r]                                                  (one occurrence brings -1 to 1)
    h     over all classes jointly, through the least and the greatest entropy of the word's box

To compare two words under pr, bounds on values mix two worlds; in one world they share the number
kappa(t) = (1-alpha) t / (T - alpha t) of the final total t, and w beats v iff A_w - A_v > kappa (n_w - n_v).
``advantage`` is the largest that A_w - A_v - kappa (n_w - n_v) can become. Ties: occurrences, then term.

>>> counts = Tally(*(np.array([[x]]) for x in (1, 1, 0, 0, 4, 1)), np.array([4]))     # a = 1, b = 1, r = 2
>>> [bound.round(3).tolist() for bound in intervals("sq", counts)]
[[[1.0]], [[1.732]]]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from anchorscope import scores
from anchorscope.scores import Scores, ratio
from anchorscope.tally import Tally

FILTERED = ("sq", "av", "av5", "h", "pr", "gain")
"""The aggregations that the sound filter knows."""

BOUNDED = (*FILTERED, "excess", "base", "pr-inverse")
"""The aggregations whose intervals say something; those of any other are without end."""

SLACK = 1e-9
"""Differences of counts smaller than this are rounding, so they are ties."""

CORNERS_FOR_LABELS = 10
"""Up to this many labels the least entropy is looked up in the corners of the box; beyond, 0 serves."""


def intervals(name: str, tally: Tally, *, alpha: float = 0.5) -> tuple[Scores, Scores]:
    """The least and the greatest final score of every term, each (labels, terms)."""
    a, r, n = tally.anchors, tally.untested, tally.occurrences
    if name == "sq":
        return np.sqrt(a), np.sqrt(a + r)
    if name in ("av", "av5"):
        counts = np.where(tally.training >= scores.TRAINING_FLOOR, 1.0, 0.0) if name == "av5" else 1.0
        return counts * ratio(a, n), counts * ratio(a + r, n)
    if name == "gain":
        return scores.gain(tally) - r, scores.gain(tally) + r
    if name == "excess":  # an untested gain moves its word's total by 1 at most, and the background by 1 / T
        reach = r + n * ratio(r.sum(axis=1, keepdims=True), n.sum(axis=1, keepdims=True))
        return scores.excess(tally) - reach, scores.excess(tally) + reach
    if name == "base":
        exact = scores.base(tally)
        return exact, exact
    if name == "h":
        return _entropy_intervals(a, r)
    if name in ("pr", "pr-inverse"):
        low, high = _smoothed_interval(*anchor_probability_interval(tally, alpha=alpha))
        return (low, high) if name == "pr" else (-high, -low)
    return np.full(a.shape, -np.inf), np.full(a.shape, np.inf)


def anchor_probability_interval(tally: Tally, *, alpha: float) -> tuple[Scores, Scores]:
    """The interval of q~, before smoothing."""
    a, b, r = tally.anchors, tally.non_anchors, tally.untested
    total, least, most = (x.sum(axis=1, keepdims=True) for x in (tally.occurrences, a, a + r))
    penalty = 1 / alpha - 1
    high = ratio(a + r, least + r) / alpha - penalty * ratio(b, total - least - r)
    low = ratio(a, most - r) / alpha - penalty * ratio(b + r, total - most + r)
    return low, high


def _smoothed_interval(low: Scores, high: Scores) -> tuple[Scores, Scores]:
    """Bounds after smoothing: (q + m) / (1 + W m) rises in q and, for a fixed q, is monotone in m = |q_min|."""
    n_terms = low.shape[1]
    if n_terms == 0:
        return low, high
    q_min = [side.min(axis=1, keepdims=True) for side in (low, high)]
    straddles = (q_min[0] < 0) & (q_min[1] > 0)
    ends = [np.where(straddles, 0.0, np.abs(q_min[0])), np.abs(q_min[0]), np.abs(q_min[1])]
    lows, highs = (np.stack([(q + m) / (1 + n_terms * m) for m in ends]) for q in (low, high))
    return lows.min(axis=0), highs.max(axis=0)


def out_of_reach(name: str, tally: Tally, k: int, *, alpha: float = 0.5) -> NDArray[np.bool_]:
    """Which terms can no longer enter the top k of a label, (labels, terms): the sound filter.

    Under h the classes hang together, so a term is out only where it is out in every class.
    """
    if name == "pr":
        return np.stack([_beaten_by_k(tally, label, k, alpha) for label in range(len(tally.anchors))])
    low, high = (np.round(side, 14) for side in intervals(name, tally, alpha=alpha))
    if low.shape[1] <= k:
        return np.zeros(low.shape, bool)
    # The k-th largest lower bound of the others: for a word that is itself among the k best, its hi >= its lo.
    low = np.where(tally.occurrences > 0, low, -np.inf)
    threshold = -np.partition(-low, k - 1, axis=1)[:, k - 1 : k]
    out = high < threshold
    return np.broadcast_to(out.all(axis=0), out.shape).copy() if name == "h" else out


def is_final(name: str, tally: Tally, label: int, top: NDArray[np.intp], *, alpha: float = 0.5) -> bool:
    """Whether the shown list is certain, order included: each word beats all that come after it in any world."""
    return not len(contenders(name, tally, label, top, alpha=alpha))


def contenders(name: str, tally: Tally, label: int, top: NDArray[np.intp], *, alpha: float = 0.5) -> NDArray[np.intp]:
    """The untested terms that can still change the shown list: as one of it, as its rival, or through the totals.

    Empty iff every shown word beats every word after it with the skipped occurrences still open.
    """
    present = tally.occurrences[label] > 0
    open_counts = tally.untested.sum(axis=0) if name == "h" else tally.untested[label]
    open_terms = np.flatnonzero(open_counts > 0)
    if len(open_terms) == 0:
        return open_terms
    involved = np.zeros(len(present), bool)
    may_beat = _comparison(name, tally, label, alpha)
    for place, v in enumerate(top):
        rivals = present.copy()
        rivals[top[: place + 1]] = False
        threat = rivals & may_beat(int(v))
        if threat.any():
            involved |= threat
            involved[v] = True
    if not involved.any():
        return open_terms[:0]
    direct = open_terms[involved[open_terms]]
    return direct if len(direct) else open_terms


def _comparison(name: str, tally: Tally, label: int, alpha: float) -> Callable[[int], NDArray[np.bool_]]:
    """A function of v that tells which terms can still come out before v."""
    occurrences = tally.occurrences[label]
    low, high = (np.round(side[label], 14) for side in intervals(name, tally, alpha=alpha))

    def by_counts(v: int) -> NDArray[np.bool_]:
        gap = advantage(tally, label, v, alpha=alpha)
        leads = (gap > SLACK) | ((np.abs(gap) <= SLACK) & _first_among_ties(occurrences, v))
        if tally.anchors[label].any():
            return leads
        # In the world without any anchor q~ is -A-/T-, so the rarer word leads.
        rarer = (occurrences < occurrences[v]) | ((occurrences == occurrences[v]) & _first_among_ties(occurrences, v))
        return leads | rarer if tally.untested[label].any() else rarer

    def by_values(v: int) -> NDArray[np.bool_]:
        return (high > low[v]) | ((high == low[v]) & _first_among_ties(occurrences, v))

    return by_counts if name == "pr" else by_values


def advantage(tally: Tally, label: int, v: int, *, alpha: float) -> Scores:
    """D(w, v) for every word w: the most that w can lead v by under pr, in counts."""
    a, n, r = tally.anchors[label], tally.occurrences[label], tally.untested[label]
    total, least, most = n.sum(), a.sum(), (a + r).sum()

    def kappa(t: NDArray[np.generic] | float) -> Scores:
        return ratio((1 - alpha) * np.asarray(t), total - alpha * np.asarray(t))

    lead, difference = a + r - a[v], n - n[v]
    exact = lead - np.where(difference >= 0, kappa(least + r), kappa(np.full(len(n), most - r[v]))) * difference
    sound = np.maximum(lead - kappa(np.float64(least)) * difference, lead - kappa(np.float64(most)) * difference)
    gap: Scores = np.where(np.abs(difference) <= (1 - alpha) * total, exact, sound)
    gap[v] = 0.0
    return gap


def _beaten_by_k(tally: Tally, label: int, k: int, alpha: float) -> NDArray[np.bool_]:
    """Which words lose to at least k words in every world; only strong words are tried as winners."""
    present = tally.occurrences[label] > 0
    pseudo = scores.pseudo_counts(tally, alpha=alpha)[label]
    strong = scores.ranking(pseudo, tally.occurrences[label])[: 4 * k]
    may_beat = _comparison("pr", tally, label, alpha)
    losses = np.zeros(len(present), np.int64)
    for v in strong:
        losses += ~may_beat(int(v)) & (np.arange(len(present)) != v)
    return present & (losses >= k)


def _first_among_ties(occurrences: NDArray[np.int64], v: int) -> NDArray[np.bool_]:
    """Which terms come before v where scores are equal: more occurrences, then the earlier term."""
    number = np.arange(len(occurrences))
    return (occurrences > occurrences[v]) | ((occurrences == occurrences[v]) & (number < v))


def _entropy_intervals(a: NDArray[np.int64], r: NDArray[np.int64]) -> tuple[Scores, Scores]:
    """The interval of h, through the intervals of every word's entropy and of H_min and H_max."""
    low, high = np.sqrt(a), np.sqrt(a + r)
    has_anchor, may_have = low.sum(axis=0) > 0, high.sum(axis=0) > 0
    if not may_have.any():
        return low, high
    least, greatest = _least_entropy(low, high), _greatest_entropy(low, high)
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
    if not (r > 0).any():  # all is known: H_max = H_min makes the factor 1
        exact = scores.h(_known(a))
        return exact, exact
    return np.where(has_anchor, factor_low, 0.0) * low, factor_high * high


def _known(a: NDArray[np.int64]) -> Tally:
    return replace(Tally.zero(*a.shape), anchors=a, occurrences=a)


def _least_entropy(low: Scores, high: Scores) -> Scores:
    """The least entropy over each word's box: quasi-concave, so it stands in a corner (other than 0)."""
    if len(low) > CORNERS_FOR_LABELS:
        return np.zeros(low.shape[1])
    best = np.full(low.shape[1], np.inf)
    for corner in product((False, True), repeat=len(low)):
        weights = np.where(np.array(corner)[:, None], high, low)
        best = np.where(weights.sum(axis=0) > 0, np.minimum(best, scores.entropy(weights)), best)
    return np.where(np.isfinite(best), best, 0.0)


def _greatest_entropy(low: Scores, high: Scores) -> Scores:
    """The greatest entropy over each word's box: at clip(lambda, low, high) for some lambda.

    Between two neighbouring ends of the intervals the weights that lambda moves are the same; there the
    entropy is stationary where ln(lambda) is the mean of ln(weight) over the others, weighted by themselves.
    """
    ends = np.sort(np.concatenate([low, high]), axis=0)
    candidates = [*ends]
    for left, right in pairwise(ends):
        moved = (low <= left) & (high >= right)
        fixed = np.where(moved, 0.0, np.clip((left + right) / 2, low, high))
        logs = np.sum(fixed * np.log(np.where(fixed > 0, fixed, 1.0)), axis=0)
        candidates.append(np.clip(np.exp(ratio(logs, fixed.sum(axis=0))), left, right))
    greatest: Scores = np.max([scores.entropy(np.clip(x, low, high)) for x in candidates], axis=0)
    return greatest

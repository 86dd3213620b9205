"""The paper's probabilistic aggregation, pr: how likely an anchor of the class is to be this word.

With A+ and A- the anchors and non-anchors of a word, T+ and T- their totals over the candidate set, and alpha the share
of anchors that come from the words of the class,

    q~ = A+ / (alpha T+) - (1/alpha - 1) A- / T-

is the maximum of the likelihood where it is nowhere negative. Additive smoothing by the absolute value of the least q~
ends negative values and keeps the order.

What q~ can still become: for a word with a tested anchors, b tested non-anchors and r untested occurrences, with T, L
and U the sums over the candidates of n = a + b + r, a, and a + r,

    hi = (a+r) / (alpha (L+r)) - (1/alpha - 1) b / (T-L-r)
    lo = a / (alpha (U-r)) - (1/alpha - 1) (b+r) / (T-U+r)                 (before smoothing; both are attained)

To compare two words, bounds on values mix two worlds; in one world they share the number kappa(t) = (1-alpha) t /
(T - alpha t) of the final total t, and w beats v iff A_w - A_v > kappa (n_w - n_v).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anchorscope.scoring.aggregation import DrawnTotals, Interval, MayBeat
from anchorscope.scoring.tally import Scores, Tally, ratio

SLACK = 1e-9
"""Differences of counts smaller than this are rounding, so they are ties."""


def pr(tally: Tally, alpha: float = 0.5) -> Scores:
    """The smoothed probability that an anchor of the class is this word."""
    return smoothed(anchor_probability(tally, alpha))


def pr_inverse(tally: Tally, alpha: float = 0.5) -> Scores:
    """pr ranked the other way round (negated: its reciprocal has a pole where pr is 0)."""
    return -pr(tally, alpha)


def anchor_probability(tally: Tally, alpha: float = 0.5) -> Scores:
    """q~, the maximum of the likelihood where it is nowhere negative."""
    anchors = ratio(tally.anchors, tally.anchors.sum(axis=1, keepdims=True))
    non_anchors = ratio(tally.non_anchors, tally.non_anchors.sum(axis=1, keepdims=True))
    return anchors / alpha - (1 / alpha - 1) * non_anchors


def smoothed(q: Scores) -> Scores:
    """Additive smoothing by the absolute value of the least entry of each row.

    >>> smoothed(np.array([[1.5, -0.5]])).tolist()
    [[1.0, 0.0]]
    """
    least = np.abs(q.min(axis=1, keepdims=True, initial=np.inf, where=np.isfinite(q)))
    least = np.where(np.isfinite(least), least, 0.0)
    return (q + least) / (1 + q.shape[1] * least)


def smoothed_like(values: Scores, of_all: Scores) -> Scores:
    """Values of q~ as they are shown, smoothed by the least q~ of all words of the label."""
    least = abs(float(of_all.min()))
    return (values + least) / (1 + of_all.shape[-1] * least)


def pseudo_counts(tally: Tally, alpha: float = 0.5) -> Scores:
    """q~ in counts, A+ - (1 - alpha) (T+ / T-) A-, both totals started at 1: q~ times a factor that words share."""
    background = (1 + tally.anchors.sum(axis=1, keepdims=True)) / (1 + tally.non_anchors.sum(axis=1, keepdims=True))
    return tally.anchors - (1 - alpha) * background * tally.non_anchors


def optimistic_pseudo_counts(tally: Tally, alpha: float) -> tuple[Scores, Scores]:
    """The pseudo-score now, and with every remaining occurrence counted as an anchor, all else as it is."""
    now = pseudo_counts(tally, alpha)
    return now, now + tally.untested


def scores_of_totals(totals: DrawnTotals) -> Scores:
    """q~ of drawn totals of anchors, with T+ of the same draw."""
    anchors = np.clip(totals.drawn, 0.0, totals.occurrences)
    background = ratio(totals.occurrences - anchors, totals.n_of_all - totals.of_all)
    return ratio(anchors, totals.of_all) / totals.alpha - (1 / totals.alpha - 1) * background


def interval(tally: Tally, alpha: float) -> Interval:
    """The least and the greatest final score of every term."""
    return _smoothed_interval(*anchor_probability_interval(tally, alpha))


def inverse_interval(tally: Tally, alpha: float) -> Interval:
    """That of pr upside down."""
    low, high = interval(tally, alpha)
    return -high, -low


def anchor_probability_interval(tally: Tally, alpha: float) -> Interval:
    """The interval of q~, before smoothing."""
    a = tally.anchors
    b = tally.non_anchors
    r = tally.untested
    # T+ lies between the anchors there are and those with every open occurrence one. For the highest q~ of a word its
    # own open ones are anchors and no other's; for the lowest it is the other way round.
    total, least, most = (x.sum(axis=1, keepdims=True) for x in (tally.occurrences, a, a + r))
    penalty = 1 / alpha - 1
    high = ratio(a + r, least + r) / alpha - penalty * ratio(b, total - least - r)
    low = ratio(a, most - r) / alpha - penalty * ratio(b + r, total - most + r)
    return low, high


def _smoothed_interval(low: Scores, high: Scores) -> Interval:
    """Bounds after smoothing: (q + m) / (1 + W m) rises in q and, for a fixed q, is monotone in m = |q_min|."""
    n_terms = low.shape[1]
    if n_terms == 0:
        return low, high
    # The extremes over m are at its own extremes: the ends of |q_min|, and 0 where q_min may change its sign.
    q_min = [side.min(axis=1, keepdims=True) for side in (low, high)]
    straddles = (q_min[0] < 0) & (q_min[1] > 0)
    ends = [np.where(straddles, 0.0, np.abs(q_min[0])), np.abs(q_min[0]), np.abs(q_min[1])]
    lows, highs = (np.stack([(q + m) / (1 + n_terms * m) for m in ends]) for q in (low, high))
    return lows.min(axis=0), highs.max(axis=0)


def may_beat(tally: Tally, label: int, alpha: float) -> MayBeat:
    """Which words can still come out before a word, in some world."""
    occurrences = tally.occurrences[label]

    def before(v: int) -> NDArray[np.bool_]:
        gap = advantage(tally, label, v, alpha)
        leads = (gap > SLACK) | ((np.abs(gap) <= SLACK) & first_among_ties(occurrences, v))
        if tally.anchors[label].any():
            return leads
        # In the world without any anchor q~ is -A-/T-, so the rarer word leads.
        rarer = (occurrences < occurrences[v]) | ((occurrences == occurrences[v]) & first_among_ties(occurrences, v))
        return leads | rarer if tally.untested[label].any() else rarer

    return before


def advantage(tally: Tally, label: int, v: int, alpha: float) -> Scores:
    """For every word w the most that w can lead v by, in counts: the maximum of A_w - A_v - kappa (n_w - n_v)."""
    a = tally.anchors[label]
    n = tally.occurrences[label]
    r = tally.untested[label]
    total = n.sum()
    least = a.sum()
    most = (a + r).sum()

    def kappa(t: NDArray[np.generic] | float) -> Scores:
        return ratio((1 - alpha) * np.asarray(t), total - alpha * np.asarray(t))

    # All open occurrences of w are anchors, none of v. kappa rises with T+, which the open ones of other words can
    # still move: where w is the more frequent word a small T+ serves it (L + r_w), else a large one (U - r_v). That is
    # the maximum where frequencies differ by (1 - alpha) T at most; beyond, the larger of both ends is a bound.
    lead = a + r - a[v]
    difference = n - n[v]
    exact = lead - np.where(difference >= 0, kappa(least + r), kappa(np.full(len(n), most - r[v]))) * difference
    sound = np.maximum(lead - kappa(np.float64(least)) * difference, lead - kappa(np.float64(most)) * difference)
    gap: Scores = np.where(np.abs(difference) <= (1 - alpha) * total, exact, sound)
    gap[v] = 0.0
    return gap


def first_among_ties(occurrences: NDArray[np.int64], v: int) -> NDArray[np.bool_]:
    """Which terms come before v where scores are equal: more occurrences, then the earlier term."""
    number = np.arange(len(occurrences))
    return (occurrences > occurrences[v]) | ((occurrences == occurrences[v]) & (number < v))

"""The aggregations: tallies in, scores out, each (labels, terms); one definition each, in the table at the end.

A+ and A- count the anchors and non-anchors of a word in the documents of a class, N its occurrences there; r of them
are not tested yet. e is the value of an occurrence under the run's local score.

    total       sum of e over its occurrences                        reach times strength: every occurrence counts
    excess      total - N m, m the mean value of all occurrences     what is beyond the background
    sq          sqrt(A+)                                             frequent anchors
    av          A+ / (A+ + A-)                                       the share of anchors
    av5         av of the words with five training occurrences
    h           sq, less where the classes share the word            ``entropy.py``
    pr          the paper's probabilistic model, smoothed            ``probabilistic.py``
    base        documents of the class with w / documents with w     no anchors at all: a baseline
    pr-inverse  pr upside down                                       a sanity check

0/0 is 0. A score is a function of the tally alone, so any of them can be computed from a finished run.

>>> counts = Tally.zero(1, 2).observe(np.array([0, 0, 0]), np.array([0, 0, 1]), np.array([True, True, False]))
>>> sq(counts).round(3).tolist(), av(counts).tolist()
([[1.414, 0.0]], [[1.0, 0.0]])
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.errors import InputError
from anchorscope.scoring import entropy, probabilistic
from anchorscope.scoring.aggregation import Additive, Aggregation, DrawnTotals, Interval
from anchorscope.scoring.tally import VALUE_UNIT, Scores, Tally, ratio

TRAINING_FLOOR = 5
"""The occurrences below which av5 leaves a word out."""


@cache
def aggregation(name: str) -> Aggregation:
    """The aggregation behind a name.

    >>> aggregation("sq").help
    'the square root of the number of anchors'
    """
    found = registry.resolve("aggregation", name)
    if not isinstance(found, Aggregation):
        raise InputError(
            f"The aggregation {name!r} is no Aggregation but a {type(found).__name__}; define it as one "
            "(anchorscope.scoring.aggregation)."
        )
    return found


def total(tally: Tally, alpha: float = 0.5) -> Scores:
    """What the word brings to all its occurrences together."""
    return np.asarray(tally.values * VALUE_UNIT, np.float64)


def excess(tally: Tally, alpha: float = 0.5) -> Scores:
    """The total beyond what as many occurrences of an average word bring."""
    n = tally.occurrences
    return total(tally) - n * ratio(total(tally).sum(axis=1, keepdims=True), n.sum(axis=1, keepdims=True))


def sq(tally: Tally, alpha: float = 0.5) -> Scores:
    """The square root of the number of anchors."""
    return np.sqrt(tally.anchors)


def av(tally: Tally, alpha: float = 0.5) -> Scores:
    """The share of anchors among the tested occurrences."""
    return ratio(tally.anchors, tally.anchors + tally.non_anchors)


def av5(tally: Tally, alpha: float = 0.5) -> Scores:
    """The share of anchors, of words with at least five occurrences in the training set; 0 for the others."""
    return np.where(_is_trained(tally.training), av(tally), 0.0)


def base(tally: Tally, alpha: float = 0.5) -> Scores:
    """The share of the class among the documents that hold the word."""
    return ratio(tally.documents, tally.documents.sum(axis=0))


# --- what a score can still become: for an open occurrence, an anchor or none; a value lies between -1 and 1 ---


def _total_interval(tally: Tally, alpha: float) -> Interval:
    return total(tally) - tally.untested, total(tally) + tally.untested


def _excess_interval(tally: Tally, alpha: float) -> Interval:
    """An open value moves its word's total by 1 at most, and the background by 1 / T."""
    r = tally.untested
    n = tally.occurrences
    reach = r + n * ratio(r.sum(axis=1, keepdims=True), n.sum(axis=1, keepdims=True))
    return excess(tally) - reach, excess(tally) + reach


def _sq_interval(tally: Tally, alpha: float) -> Interval:
    return np.sqrt(tally.anchors), np.sqrt(tally.anchors + tally.untested)


def _av_interval(tally: Tally, alpha: float) -> Interval:
    a = tally.anchors
    r = tally.untested
    n = tally.occurrences
    return ratio(a, n), ratio(a + r, n)


def _av5_interval(tally: Tally, alpha: float) -> Interval:
    low, high = _av_interval(tally, alpha)
    return np.where(_is_trained(tally.training), low, 0.0), np.where(_is_trained(tally.training), high, 0.0)


def _base_interval(tally: Tally, alpha: float) -> Interval:
    return base(tally), base(tally)


# --- the paper's filter: the score now, and with every open occurrence counted as an anchor ---


def _optimistic_av(tally: Tally, alpha: float) -> tuple[Scores, Scores]:
    open_ = tally.untested
    return av(tally), ratio(tally.anchors + open_, tally.anchors + tally.non_anchors + open_)


def _optimistic_av5(tally: Tally, alpha: float) -> tuple[Scores, Scores]:
    return av5(tally), np.where(_is_trained(tally.training), _optimistic_av(tally, alpha)[1], 0.0)


def _optimistic_sq(tally: Tally, alpha: float) -> tuple[Scores, Scores]:
    return _sq_interval(tally, alpha)


# --- scores of drawn totals, for a race ---


def _sq_of_totals(totals: DrawnTotals) -> Scores:
    return np.sqrt(np.clip(totals.drawn, 0.0, totals.occurrences))


def _av_of_totals(totals: DrawnTotals) -> Scores:
    return ratio(np.clip(totals.drawn, 0.0, totals.occurrences), totals.occurrences[None])


def _av5_of_totals(totals: DrawnTotals) -> Scores:
    return np.where(_is_trained(totals.training), _av_of_totals(totals), 0.0)


def _is_trained(training: NDArray[np.int64]) -> NDArray[np.bool_]:
    return training >= TRAINING_FLOOR


AGGREGATIONS = MappingProxyType(
    {
        one.name: one
        for one in (
            Aggregation(
                name="total",
                help="the sum of a term's effects over its occurrences",
                reads="values",
                score=total,
                interval=_total_interval,
                additive=Additive("values"),
                prunes=True,
            ),
            Aggregation(
                name="excess",
                help="the total beyond what as many occurrences of an average term bring",
                reads="values",
                score=excess,
                interval=_excess_interval,
            ),
            Aggregation(
                name="pr",
                help="the paper's probabilistic model: how likely an anchor of the label is to be this word",
                reads="verdicts",
                score=probabilistic.pr,
                interval=probabilistic.interval,
                additive=Additive("anchors", probabilistic.scores_of_totals, probabilistic.smoothed_like),
                may_beat=probabilistic.may_beat,
                optimistic=probabilistic.optimistic_pseudo_counts,
                prunes=True,
            ),
            Aggregation(
                name="sq",
                help="the square root of the number of anchors",
                reads="verdicts",
                score=sq,
                interval=_sq_interval,
                additive=Additive("anchors", _sq_of_totals),
                optimistic=_optimistic_sq,
                prunes=True,
            ),
            Aggregation(
                name="av",
                help="the share of anchors among the occurrences",
                reads="verdicts",
                score=av,
                interval=_av_interval,
                additive=Additive("anchors", _av_of_totals),
                optimistic=_optimistic_av,
                prunes=True,
            ),
            Aggregation(
                name="av5",
                help="av of the words with five occurrences in the training texts",
                reads="verdicts",
                score=av5,
                interval=_av5_interval,
                additive=Additive("anchors", _av5_of_totals),
                optimistic=_optimistic_av5,
                prunes=True,
            ),
            Aggregation(
                name="h",
                help="sq, discounted where a word is an anchor of several labels",
                reads="verdicts",
                score=entropy.h,
                interval=entropy.interval,
                optimistic=entropy.optimistic_roots,
                prunes=True,
                joins_labels=True,
            ),
            Aggregation(
                name="base",
                help="the share of the label among the documents that hold the term: a baseline",
                reads="counts",
                score=base,
                interval=_base_interval,
            ),
            Aggregation(
                name="pr-inverse",
                help="pr upside down: a sanity check",
                reads="verdicts",
                score=probabilistic.pr_inverse,
                interval=probabilistic.inverse_interval,
            ),
        )
    }
)

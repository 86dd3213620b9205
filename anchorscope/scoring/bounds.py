"""Which words can still enter the top k, whatever the untested occurrences turn out to be: the sound filter.

An aggregation knows what its scores can still become (``Aggregation.interval``), and some know more of two words than
their two intervals say (``Aggregation.may_beat``). Nothing here is a guess: the final list of a finished run is among
what is left. Ties: occurrences, then term.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anchorscope.scoring.aggregation import Aggregation, MayBeat
from anchorscope.scoring.probabilistic import first_among_ties
from anchorscope.scoring.tally import Tally, ranking

STRONG = 4
"""Words that are tried as winners, in multiples of k, where words are compared one by one."""


def out_of_reach(aggregation: Aggregation, tally: Tally, k: int, alpha: float) -> NDArray[np.bool_]:
    """Which terms can no longer enter the top k of a label, (labels, terms).

    Where the labels hang together, a term is out only where it is out in every one of them.
    """
    if aggregation.may_beat is not None:
        return np.stack([_beaten_by_k(aggregation, tally, label, k, alpha) for label in range(len(tally.anchors))])
    low, high = (np.round(side, 14) for side in aggregation.interval(tally, alpha))
    if low.shape[1] <= k:
        return np.zeros(low.shape, bool)
    # The k-th largest lower bound of the others: for a word that is itself among the k best, its hi >= its lo.
    low = np.where(tally.occurrences > 0, low, -np.inf)
    threshold = -np.partition(-low, k - 1, axis=1)[:, k - 1 : k]
    out = high < threshold
    return np.broadcast_to(out.all(axis=0), out.shape).copy() if aggregation.joins_labels else out


def out_of_optimistic_reach(aggregation: Aggregation, tally: Tally, k: int, alpha: float) -> NDArray[np.bool_]:
    """The paper's filter (no bound): terms whose optimistic pseudo-score is below the least of the current top k."""
    assert aggregation.optimistic is not None, "the settings refuse it otherwise"
    current, optimistic = aggregation.optimistic(tally, alpha)
    met = (tally.anchors + tally.non_anchors) > 0
    answer = np.zeros(current.shape, bool)
    for label in range(len(current)):
        group = np.sort(current[label, met[label]])[::-1]
        if len(group) >= k:
            answer[label] = optimistic[label] < group[k - 1]
    return answer


def is_settled(aggregation: Aggregation, tally: Tally, label: int, top: NDArray[np.intp], alpha: float) -> bool:
    """Whether the shown list of a scan is settled: nothing is open, or nothing that could still change it."""
    open_ = tally.untested if aggregation.joins_labels else tally.untested[label]
    if not open_.any():
        return True
    return aggregation.prunes and is_final(aggregation, tally, label, top, alpha)


def is_final(aggregation: Aggregation, tally: Tally, label: int, top: NDArray[np.intp], alpha: float) -> bool:
    """Whether the shown list is certain, order included: each word beats all that come after it in any world."""
    return not len(contenders(aggregation, tally, label, top, alpha))


def contenders(
    aggregation: Aggregation, tally: Tally, label: int, top: NDArray[np.intp], alpha: float
) -> NDArray[np.intp]:
    """The untested terms that can still change the shown list: as one of it, as its rival, or through the totals.

    Empty iff every shown word beats every word after it with the skipped occurrences still open.
    """
    present = tally.occurrences[label] > 0
    open_counts = tally.untested.sum(axis=0) if aggregation.joins_labels else tally.untested[label]
    open_terms = np.flatnonzero(open_counts > 0)
    if len(open_terms) == 0:
        return open_terms
    involved = np.zeros(len(present), bool)
    may_beat = _may_beat(aggregation, tally, label, alpha)
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


def _may_beat(aggregation: Aggregation, tally: Tally, label: int, alpha: float) -> MayBeat:
    """Which words can still come out before a word: as the aggregation knows, or else by the two intervals."""
    if aggregation.may_beat is not None:
        return aggregation.may_beat(tally, label, alpha)
    occurrences = tally.occurrences[label]
    low, high = (np.round(side[label], 14) for side in aggregation.interval(tally, alpha))
    return lambda v: (high > low[v]) | ((high == low[v]) & first_among_ties(occurrences, v))


def _beaten_by_k(aggregation: Aggregation, tally: Tally, label: int, k: int, alpha: float) -> NDArray[np.bool_]:
    """Which words lose to at least k words in every world; only strong words are tried as winners."""
    present = tally.occurrences[label] > 0
    strong = ranking(aggregation.score(tally, alpha)[label], tally.occurrences[label])[: STRONG * k]
    may_beat = _may_beat(aggregation, tally, label, alpha)
    losses = np.zeros(len(present), np.int64)
    for v in strong:
        losses += ~may_beat(int(v)) & (np.arange(len(present)) != v)
    return present & (losses >= k)

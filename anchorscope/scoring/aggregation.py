"""What an aggregation is: one value with all that belongs to it, from the formula to the line of help; and a standing,
how sure its scores are at a moment.

Tallies go in, scores (labels, terms) come out. Whatever asks for an aggregation (settings, strategies, tables, pages)
reads its fields and never compares its name, so a new one is one definition (``aggregations.py``), or an entry point of
the group ``anchorscope.aggregation`` in a package of its own:

>>> from anchorscope.scoring.tally import ratio
>>> shares = Aggregation(name="share", help="anchors a document", reads="verdicts",
...                      score=lambda tally, alpha: ratio(tally.anchors, tally.documents))
>>> shares.score(Tally.zero(1, 2), 0.5).tolist(), shares.can_race
([[0.0, 0.0]], False)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anchorscope.scoring.tally import Scores, Tally
from anchorscope.types import LocalScore, counts_anchors

Interval: TypeAlias = tuple[Scores, Scores]

Reads = Literal["values", "verdicts", "counts"]
"""What of a tally a formula looks at: the values of a graded score, the verdicts of anchor tests, or neither."""

MayBeat: TypeAlias = Callable[[int], NDArray[np.bool_]]
"""A word v -> which words can still come out before v."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTotals:
    """Drawn totals of some words of one label, and what else a score may depend on.

    ``drawn`` (draws, words) are the totals over all documents; ``occurrences`` and ``training`` (words,) are known.
    ``of_all`` is the total of all words of the label in the same draw, ``n_of_all`` their occurrences.
    """

    drawn: Scores
    occurrences: NDArray[np.int64]
    training: NDArray[np.int64]
    of_all: Scores
    n_of_all: int
    alpha: float


@dataclass(frozen=True, slots=True)
class Additive:
    """How scores follow from totals over documents: what a race, which tests a sample of them, has to go by.

    ``quantity`` is what adds up; ``scores`` makes scores of drawn totals (None: the totals are the scores); ``shown``
    brings values into the scale of the scores that are shown, given those of all words of the label (None: they are).
    """

    quantity: Literal["values", "anchors"]
    scores: Callable[[DrawnTotals], Scores] | None = None
    shown: Callable[[Scores, Scores], Scores] | None = None


def _unbounded(tally: Tally, alpha: float) -> Interval:
    return np.full(tally.anchors.shape, -np.inf), np.full(tally.anchors.shape, np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """A function from the tally to scores, and what is known about it.

    ``score``       the formula: (tally, alpha) -> (labels, terms)
    ``interval``    what the score can still become, whatever the missing tests say; without end if nobody knows
    ``additive``    how scores follow from totals over documents; None where a race cannot serve it
    ``may_beat``    which words can still come out before a word, where comparing two says more than two intervals
    ``optimistic``  the paper's filter: its pseudo-score now, and with every open occurrence counted as an anchor
    ``prunes``      whether the intervals are good enough to leave words out for certain
    ``joins_labels``  whether the score of a word for one label depends on the others
    ``can_race``    whether a sample of the documents will do: it has an additive form
    ``is_bounded``  whether its intervals say something
    ``is_graded``   whether it adds up values instead of counting verdicts
    """

    name: str
    help: str
    reads: Reads
    score: Callable[[Tally, float], Scores]
    interval: Callable[[Tally, float], Interval] = _unbounded
    additive: Additive | None = None
    may_beat: Callable[[Tally, int, float], MayBeat] | None = None
    optimistic: Callable[[Tally, float], tuple[Scores, Scores]] | None = None
    prunes: bool = False
    joins_labels: bool = False
    can_race: bool = field(init=False)
    is_bounded: bool = field(init=False)
    is_graded: bool = field(init=False)

    def __post_init__(self) -> None:
        """What follows from the others, worked out once."""
        object.__setattr__(self, "can_race", self.additive is not None)
        object.__setattr__(self, "is_bounded", self.interval is not _unbounded)
        object.__setattr__(self, "is_graded", self.reads == "values")

    def takes(self, score: type[LocalScore] | LocalScore) -> bool:
        """Whether a local score can feed it: values need a graded one, verdicts one that counts anchors."""
        return {"values": score.is_graded, "verdicts": counts_anchors(score), "counts": True}[self.reads]


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How sure the scores are: intervals and (in a race) memberships (labels, terms); settled and regret (labels,).

    ``driver`` and ``against`` (labels, terms) say, where values are graded, which terms are told apart from what any
    word does for a label, and which do something against it. ``spent`` (labels,) says where everything is tested, and
    more regret is left than was asked for; what is spent is not settled. ``measured_again`` (labels,) counts the
    documents that were measured further, because noise was what the list lacked.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    settled: NDArray[np.bool_]
    membership: NDArray[np.float64] | None = None
    regret: NDArray[np.float64] | None = None
    driver: NDArray[np.bool_] | None = None
    against: NDArray[np.bool_] | None = None
    spent: NDArray[np.bool_] | None = None
    measured_again: NDArray[np.int64] | None = None

"""What a plan is made of: rounds of occurrences to measure, how sure the scores are, and who decides on both.

A strategy plans a round from the tally of the closed ones, takes the measurements back, says which of them count now,
and how sure the scores are. It asks for occurrences; which documents that touches follows from them. Its plan is a pure
function of what was counted, so an interrupted run plans the same rounds again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from anchorscope.scoring.aggregation import Standing
from anchorscope.scoring.tally import Tally
from anchorscope.settings import StrategyTraits
from anchorscope.types import Unit

if TYPE_CHECKING:
    from anchorscope.planning.collection import Collection
    from anchorscope.settings import Settings

VALUE_DIGITS = 6
"""Those of the unit in which the tally counts values."""

EMPTY_ANCHOR = -1
"""The number of the empty anchor, which is no occurrence of a term."""

Skips = tuple[tuple[int, int, int], ...]
"""(label, term, how many occurrences)"""


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """What to measure next, and how many occurrences of which (label, term) are skipped (negative: taken up again).

    ``occurrences`` are the numbers in the collection of what the units ask for, in their order.
    """

    units: tuple[Unit, ...]
    occurrences: NDArray[np.int64]
    skips: Skips = ()

    def split(self, n_rows: int) -> tuple[Round, Round | None] | None:
        """The first so many occurrences, and the rest, if there is one; None if there are not so many.

        A unit of which only a part could be afforded is in both.
        """
        ends = np.cumsum([0, *(len(unit.positions) for unit in self.units)])
        if n_rows > ends[-1]:
            return None
        n = int(np.searchsorted(ends, n_rows, side="right")) - 1
        first, rest = self.units[:n], self.units[n:]
        if n_rows > ends[n]:
            n_first = int(n_rows - ends[n])
            first, rest = (*first, rest[0].first(n_first)), (rest[0].rest(n_first), *rest[1:])
        others = Round(rest, self.occurrences[n_rows:]) if rest else None
        return Round(first, self.occurrences[:n_rows], self.skips), others

    @property
    def documents(self) -> NDArray[np.int64]:
        """The document of each occurrence."""
        return np.repeat([unit.document for unit in self.units], [len(unit.positions) for unit in self.units]).astype(
            np.int64
        )

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The threshold of each occurrence."""
        return np.array([threshold for unit in self.units for threshold in unit.thresholds], np.float64)


class Counted(NamedTuple):
    """Measurements as they count: number of the occurrence, whether it is an anchor, its value, the variance of the
    value's noise, the value of a second measurement (NaN where there is none), whether they are further ones, of
    occurrences that were measured before, and the calls that one measurement was read from."""

    occurrences: NDArray[np.int64]
    anchor: NDArray[np.bool_]
    value: NDArray[np.float64]
    noise: NDArray[np.float64]
    repeat: NDArray[np.float64]
    further: NDArray[np.bool_]
    calls: NDArray[np.int64]


def added_up(
    value: NDArray[np.float64], noise: NDArray[np.float64], repeat: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """How many measurements each row is (two, where a second one stands beside the first), and what their values and
    variances add up to."""
    n = 1.0 + np.isfinite(repeat)
    return n, value + np.nan_to_num(repeat), n * noise


def mean_of(
    n: NDArray[np.float64], values: NDArray[np.float64], noise: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of n measurements whose values and variances add up to these, and the variance of that mean.

    Of several it is rounded to the unit in which the tally counts, so that differences of means add up to the last one.

    >>> mean_of(np.array([1.0, 2.0]), np.array([0.5, 0.5]), np.array([0.04, 0.04]))
    (array([0.5 , 0.25]), array([0.04, 0.01]))
    """
    return np.where(n > 1, np.round(values / n, VALUE_DIGITS), values), noise / n**2


class Strategy(StrategyTraits, Protocol):
    """Which occurrences to measure next. What makes one is called with a collection and the settings, and says of
    itself what ``StrategyTraits`` asks for."""

    def __init__(self, collection: Collection, settings: Settings) -> None: ...

    def next_round(self, tally: Tally) -> Round | None:
        """The next occurrences to measure, or None when there is nothing left to do."""
        ...

    def count(self, measured: Counted) -> Counted:
        """Take what a round measured, as it counts; answer what counts now, be it of earlier rounds.

        Of what counted before and was measured further, the value that is answered is by how much it has changed.
        """
        ...

    def counted(self, tally: Tally) -> Tally:
        """The tally that scores are read from."""
        ...

    def standing(self, tally: Tally) -> Standing:
        """How sure the scores are."""
        ...

    def prefixes(self) -> list[tuple[int, int, int]]:
        """(label, term, documents counted) of the words whose count of documents the last round may have changed."""
        ...

    def placebo(self) -> NDArray[np.float64]:
        """What any words like it would do in the documents of each term, and by how much that may be wrong, (2, labels,
        terms); 0 where nobody knows."""
        ...

    def tests_left(self, tally: Tally) -> int:
        """At most so many occurrences are still to be measured."""
        ...

"""What every strategy promises. What makes one takes a collection and settings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anchorscope.planning.ledger import Ledger
from anchorscope.planning.plan import EMPTY_ANCHOR, Round, Strategy
from anchorscope.settings.strategies import checked
from anchorscope.testing import work
from anchorscope.types import Measurements

MOST_ROUNDS = 500

Make = Callable[..., Strategy]


SCORES = ("occlusion", "banzhaf")
"""A local score that takes a call for each occurrence, and one whose calls serve a document."""


def has_what_the_contract_names(make: Make) -> None:
    """A line of help, the level of its intervals, and what other rooms ask of it before it is made."""
    strategy = make(work.collection(work.settings()), work.settings())
    assert strategy.help and "\n" not in strategy.help
    for one in (make, strategy):
        checked(one, strategy.help)


def asks_for_each_occurrence_once_and_ends(make: Make) -> None:
    """What a round asks for exists, its units say the same as its numbers, and nothing is asked for twice."""
    for score in SCORES:
        collection = work.collection(work.settings(score=score))
        asked: set[int] = set()
        for round_ in _played(make, score):
            assert len(round_.occurrences) == sum(len(unit) for unit in round_.units)
            places = [place for unit in round_.units for place in unit.positions]
            assert places == collection.positions_of(round_.occurrences)
            real = [number for number in round_.occurrences.tolist() if number != EMPTY_ANCHOR]
            assert not asked & {*real} and len(real) == len({*real})
            asked |= {*real}
        assert asked, "nothing was asked for at all"


def plans_the_same_from_the_same(make: Make) -> None:
    """Its plan is a function of what was counted, so that an interrupted run goes on."""
    for score in SCORES:
        one = _played(make, score)
        other = _played(make, score)
        assert len(one) == len(other)
        assert all(np.array_equal(a.occurrences, b.occurrences) for a, b in zip(one, other))


def says_how_sure_every_score_is(make: Make) -> None:
    """Intervals of every label and term, the lower end not above the upper one."""
    chosen = work.settings()
    collection = work.collection(chosen)
    strategy = make(collection, chosen)
    ledger = Ledger(collection, strategy, chosen.empty_anchor_rule)
    standing = strategy.standing(ledger.tally)
    shape = ledger.tally.anchors.shape
    assert standing.low.shape == standing.high.shape == shape and standing.settled.shape == shape[:1]
    assert (standing.low <= standing.high).all()
    assert strategy.tests_left(ledger.tally) >= 0


def _played(make: Make, score: str) -> list[Round]:
    """The rounds of a whole run, in which a value is a hash of its occurrence."""
    chosen = work.settings(score=score)
    collection = work.collection(chosen)
    strategy = make(collection, chosen)
    ledger = Ledger(collection, strategy, chosen.empty_anchor_rule)
    rounds = []
    while (round_ := strategy.next_round(ledger.tally)) is not None:
        rounds.append(round_)
        assert len(rounds) <= MOST_ROUNDS, "it does not end"
        value = np.round(np.sin(round_.occurrences * 12.9898), 6)
        nothing = np.zeros(len(value))
        ledger.add(round_, Measurements.of_values(value, nothing, nothing.astype(np.int64)))
    return rounds


CHECKS = (
    has_what_the_contract_names,
    asks_for_each_occurrence_once_and_ends,
    plans_the_same_from_the_same,
    says_how_sure_every_score_is,
)

"""What a strategy says of itself before one is made: all that other rooms need to know of it, so that its name is
compared nowhere.

>>> strategy("race").counts_prefixes, strategy("scan").reads
(True, ('order', 'filter', 'tau_tilde'))
"""

from __future__ import annotations

from functools import cache
from typing import Protocol, cast

from anchorscope import registry
from anchorscope.errors import InputError


class StrategyTraits(Protocol):
    """The attributes of what makes a strategy (``registry.resolve("strategy", name)``).

    ``help``              what it does, in a line
    ``interval_level``    the probability of its intervals, 1 where they are bounds
    ``draws_documents``   where the calls do not suffice, documents are drawn by priority, and the others only counted
    ``uses_surrogate``    it reads what the documents' own predictions say of every term (``Collection.expected``)
    ``counts_prefixes``   it counts the documents of a word by priority, up to the first that is not tested: its scores
                          are estimates for all documents, with memberships and a regret, and need an additive form
    ``ends_early``        it may end before every occurrence is tested
    ``reads``             those of ``OWN_SETTINGS`` that it reads; the others are refused with it
    """

    help: str
    interval_level: float
    draws_documents: bool
    uses_surrogate: bool
    counts_prefixes: bool
    ends_early: bool
    reads: tuple[str, ...]


OWN_SETTINGS = ("order", "filter", "tau_tilde", "regret")
"""The settings that belong to a strategy, and not to every one."""

_YES_OR_NO = ("draws_documents", "uses_surrogate", "counts_prefixes", "ends_early")


@cache
def strategy(name: str) -> StrategyTraits:
    """What makes the strategy of a name; one that does not say what it has to is refused.

    >>> strategy("scan").interval_level
    1.0
    """
    return checked(registry.resolve("strategy", name), name)


def checked(found: object, name: str) -> StrategyTraits:
    """What makes a strategy, or one that is made, if it says all that it has to."""
    for attribute in _YES_OR_NO:
        if not isinstance(getattr(found, attribute, None), bool):
            raise InputError(
                f"The strategy {name!r} lacks an attribute {attribute}; give what makes it one, True or False "
                "(anchorscope.settings.strategies says what it means)."
            )
    reads = getattr(found, "reads", None)
    if not isinstance(reads, tuple) or not {*reads} <= {*OWN_SETTINGS}:
        raise InputError(
            f"The strategy {name!r} lacks an attribute reads; give what makes it a tuple of those of the settings "
            f"{', '.join(OWN_SETTINGS)} that it reads, () for none."
        )
    level = getattr(found, "interval_level", None)
    if not isinstance(level, int | float) or not 0 < level <= 1:
        raise InputError(
            f"The strategy {name!r} lacks an attribute interval_level; give what makes it the probability of its "
            "intervals, above 0, and 1 where they are bounds."
        )
    return cast(StrategyTraits, found)

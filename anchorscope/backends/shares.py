"""How a round is dealt out to workers: which units each share holds, and how many calls it may take.

A share answers all of its rows or, where the calls run out, those of its first units. What comes back of a round are
the rows up to the first that is missing; the cost of all shares counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite

from anchorscope.asking.answers import batches
from anchorscope.local_scores.metered import MeteredScore, affordable
from anchorscope.types import Cost, Measurements, Unit


@dataclass(frozen=True, slots=True)
class Share:
    """Some units, the calls that they may take, and those that they take where no try fails (inf: nobody knows)."""

    units: Sequence[Unit]
    allowed: float = inf
    expected: float = inf


def shares(score: MeteredScore, units: Sequence[Unit], n: int, max_calls: float = inf) -> list[Share]:
    """The units in turn, in n shares of as many each; what is left of the calls is divided evenly, for tries that fail.

    Where the costs are known, units beyond the calls are in no share.
    """
    is_known = all(isfinite(score.calls(unit)) for unit in units)
    paid = affordable(score, units, max_calls) if is_known and isfinite(max_calls) else units
    parts = list(batches(paid, max(1, -(-len(units) // max(1, n)))))
    if not is_known:
        return [Share(part, max_calls / len(parts)) for part in parts]
    expected = [float(sum(map(score.calls, part))) for part in parts]
    if not isfinite(max_calls):
        return [Share(part, inf, calls) for part, calls in zip(parts, expected)]
    left = (max_calls - sum(expected)) // max(1, len(parts))
    return [Share(part, calls + left, calls) for part, calls in zip(parts, expected)]


def joined(dealt: Sequence[Share], answers: Iterable[tuple[Measurements, Cost]]) -> tuple[Measurements, Cost]:
    """The rows up to the first that is missing, and what all shares took."""
    complete: list[Measurements] = []
    total = Cost()
    is_whole = True
    for share, (found, cost) in zip(dealt, answers):
        total += cost
        if is_whole:
            complete.append(found)
        is_whole = is_whole and len(found) == sum(map(len, share.units))
    return Measurements.join(complete), total

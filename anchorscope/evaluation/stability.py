"""How much of a list another seed would show again.

The words that two lists share, as a share of the longer one, in the mean over all pairs of seeds: 1 where every seed
shows the same words, in whatever order.

>>> shared_words([["good", "fine"], ["fine", "good"], ["fine", "film"]], k=2)
0.6666666666666666
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import mean


def shared_words(lists: Sequence[Sequence[str]], k: int) -> float | None:
    """The mean share of words that two of the lists have in common; None where there are no two lists."""
    tops = [{*words[:k]} for words in lists]
    if len(tops) < 2:
        return None
    return mean(_overlap(one, other) for one, other in combinations(tops, 2))


def _overlap(one: set[str], other: set[str]) -> float:
    longer = max(len(one), len(other))
    return len(one & other) / longer if longer else 1.0

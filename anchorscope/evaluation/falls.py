"""How far the label falls when the words of a list go: AOPC^k of lists of equal length.

A list is cut to its first k words. One that ends early is scored as it is: it removes nothing more from there on, so
what it has removed stays removed until step k, and nothing is divided by its own length.

    AOPC^k = 1/(k+1) * (fall_1 + … + fall_m + (k - m) * fall_m)          m <= k words in the list

What "go" means is up to the documents that are handed over (``Removals``): words deleted or replaced, documents that
were explained or others.

>>> from anchorscope.testing import KeywordPredictor
>>> removals = Removals(KeywordPredictor("great"), ["a great film", "great"], "yes")
>>> aopc_of_lists(removals, [["great"], ["film", "great"], []], k=3)        # falls: 1 1 1; 0 1 1; none
[0.75, 0.5, 0.0]
"""

from __future__ import annotations

from collections.abc import Sequence

from anchorscope.asking.removals import Removals


def aopc_of_lists(removals: Removals, lists: Sequence[Sequence[str]], k: int) -> list[float]:
    """AOPC^k of each list, the model being asked about all of them together."""
    found = []
    for falls in removals.all_drops([words[:k] for words in lists]):
        after_the_end = (k - len(falls)) * falls[-1] if len(falls) else 0.0
        found.append(float((falls.sum() + after_the_end) / (k + 1)))
    return found

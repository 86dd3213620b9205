"""A greedy search for the words whose removal, together, costs a label most probability: a second yardstick.

The one-at-a-time oracle ignores that words overlap: once "great" is gone, "best" may matter more. The search takes the
word whose removal adds most to what is removed already, and so on. Words wait in the order of their last known drop
and only the first is looked at again (lazy greedy); one that stays first is taken. A look costs two texts for each
document that holds the word; when ``budget`` texts are spent, the words that wait are taken as they stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace

from anchorscope.asking.removals import Removals


def greedy(removals: Removals, candidates: Iterable[str], k: int = 20, *, budget: int = 200_000) -> list[str]:
    """The k terms of a greedy search, in the order in which they were taken.

    >>> from anchorscope.testing import KeywordPredictor
    >>> texts = ["great best", "great best film", "superb film"]
    >>> removals = Removals(KeywordPredictor("superb"), texts, "yes")
    >>> greedy(removals, ["great", "superb", "film"], 2)
    ['superb', 'film']
    """
    limit = removals.n_texts + budget
    waiting = [(-round(drop, 9), word) for word, drop in removals.further_drops((), candidates).items()]
    heapify(waiting)
    taken: list[str] = []
    looked = dict.fromkeys((word for _, word in waiting), 0)
    while waiting and len(taken) < k:
        _, word = waiting[0]
        if looked[word] < len(taken) and removals.n_texts < limit:
            drop = removals.further_drops(taken, [word]).get(word, 0.0)
            looked[word] = len(taken)
            heapreplace(waiting, (-round(drop, 9), word))
        else:
            taken.append(heappop(waiting)[1])
    return taken

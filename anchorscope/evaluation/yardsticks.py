"""Lists of words under several yardsticks at once, for one label of one model.

    deletion      AOPC^k, listed words deleted                      (its oracle is occlusion: other rows are fairer)
    replacement   AOPC^k, listed words replaced by other words
    held out      AOPC^k by deletion, in documents that were not explained
    insertion     mean rise where one listed word is put into a document of another label

Where words are removed, a list can be read as a share of the oracle: the AOPC^k of one-at-a-time removal in the very
documents of the column. All lists are taken to the same length: a list is cut to its first k words, and one that ends
early is scored as it is. It removes nothing more from there on, so what it has removed stays removed until step k, and
nothing is divided by its own length:

    AOPC^k = 1/(k+1) * (fall_1 + … + fall_m + (k - m) * fall_m)          m <= k words in the list

Stability over seeds (``shared_words``), planted words (``planted.py``, ``shortcuts.py``) and rules with a known answer
(``known_answers.py``) need further runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import mean

from anchorscope.asking.removals import Removals, Substitutes
from anchorscope.evaluation.insertion import DOCUMENTS, Insertions
from anchorscope.text.rule import PLAIN
from anchorscope.text.terms import terms_of_all
from anchorscope.types import Predictor

BY_REMOVAL = ("deletion", "replacement", "held_out")
"""The columns that have an oracle."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What the yardsticks say of one list; None where there was nothing to measure with."""

    deletion: float
    replacement: float | None
    held_out: float | None
    insertion: float | None

    def to_dict(self) -> dict[str, float | None]:
        """Plain values, for JSON."""
        return asdict(self)

    def of_oracle(self, oracle: Columns) -> dict[str, float | None]:
        """The columns by removal as shares of the oracle's; None where there is none, or nothing falls by it.

        >>> Columns(0.1, None, 0.2, 0.3).of_oracle(Columns(0.2, None, 0.0, None))
        {'deletion': 0.5, 'replacement': None, 'held_out': None}
        """
        mine = asdict(self)
        best = asdict(oracle)
        return {
            name: mine[name] / best[name] if mine[name] is not None and (best[name] or 0.0) > 0 else None
            for name in BY_REMOVAL
        }


class Yardsticks:
    """The documents of one label, ready to measure lists with; ``kinds`` says what a term is, as the run's setting."""

    def __init__(
        self,
        predictor: Predictor,
        texts: Sequence[str],
        label: str,
        *,
        held_out: Sequence[str] = (),
        substitutes: Substitutes | None = None,
        inserted_into: int = DOCUMENTS,
        kinds: str = PLAIN,
    ) -> None:
        self.deletion = Removals(predictor, texts, label, kinds=kinds)
        self.replacement = (
            Removals(predictor, texts, label, substitutes=substitutes, kinds=kinds) if substitutes else None
        )
        self.held_out = Removals(predictor, held_out, label, kinds=kinds) if held_out else None
        self.insertions = Insertions(predictor, texts, label, documents=inserted_into)

    def columns(self, lists: Sequence[Sequence[str]], k: int) -> list[Columns]:
        """What every yardstick says of every list."""
        by_removal = [
            aopc_of_lists(removals, lists, k) if removals else [None] * len(lists)
            for removals in (self.deletion, self.replacement, self.held_out)
        ]
        inserted = [self.insertions.score(words, k) if len(self.insertions) else None for words in lists]
        return [Columns(*row) for row in zip(*by_removal, inserted)]

    def oracle(self, candidates: Collection[str], k: int) -> Columns:
        """What one-at-a-time removal of every candidate reaches, in each column by a list of its own."""

        def best(removals: Removals) -> float:
            return aopc_of_lists(removals, [removals.oracle(candidates)], k)[0]

        return Columns(
            deletion=best(self.deletion),
            replacement=best(self.replacement) if self.replacement else None,
            held_out=best(self.held_out) if self.held_out else None,
            insertion=None,
        )

    @property
    def n_texts(self) -> int:
        """What the model was asked about so far."""
        parts = (self.deletion, self.replacement, self.held_out, self.insertions)
        return sum(part.n_texts for part in parts if part)


def aopc_of_lists(removals: Removals, lists: Sequence[Sequence[str]], k: int) -> list[float]:
    """AOPC^k of each list, the model being asked about all of them together.

    What a removal is, is up to the documents that are handed over: words deleted or replaced, documents that were
    explained or others.

    >>> from anchorscope.testing import KeywordPredictor
    >>> removals = Removals(KeywordPredictor("great"), ["a great film", "great"], "yes")
    >>> aopc_of_lists(removals, [["great"], ["film", "great"], []], k=3)        # falls: 1 1 1; 0 1 1; none
    [0.75, 0.5, 0.0]
    """
    found = []
    for falls in removals.all_drops([words[:k] for words in lists]):
        after_the_end = (k - len(falls)) * falls[-1] if len(falls) else 0.0
        found.append(float((falls.sum() + after_the_end) / (k + 1)))
    return found


def shared_words(lists: Sequence[Sequence[str]], k: int) -> float | None:
    """Stability: how much of a list another seed would show again. The words that two lists share, as a share of the
    longer one, in the mean over all pairs of seeds; None where there are no two lists.

    >>> shared_words([["good", "fine"], ["fine", "good"], ["fine", "film"]], k=2)        # 1, 1/2, 1/2
    0.6666666666666666
    """
    tops = [{*words[:k]} for words in lists]
    if len(tops) < 2:
        return None
    return mean(_overlap(one, other) for one, other in combinations(tops, 2))


def _overlap(one: set[str], other: set[str]) -> float:
    longer = max(len(one), len(other))
    return len(one & other) / longer if longer else 1.0


def n_changes(texts: Sequence[str], lists: Sequence[Sequence[str]], kinds: str = PLAIN) -> int:
    """The changed texts that removing lists word by word gives: one for each listed word of each text.

    >>> n_changes(["a great film!", "great"], [["great", "film"], ["dull", "!"]])
    3
    >>> n_changes(["a great film!", "great"], [["great", "film"], ["dull", "!"]], "words,signs")
    4
    """
    held = _held(texts, kinds)
    return sum(len(words & {*listed}) for words in held for listed in lists)


def n_oracle(texts: Sequence[str], candidates: Collection[str], k: int, kinds: str = PLAIN) -> int:
    """The changed texts that the oracle takes, at most: one for each candidate of each text, then its list's.

    >>> n_oracle(["a great film", "great"], ["great", "film"], 1)       # great, film and great; the best of each
    5
    """
    wanted = {*candidates}
    sizes = [len(words & wanted) for words in _held(texts, kinds)]
    return sum(size + min(size, k) for size in sizes)


def _held(texts: Sequence[str], kinds: str) -> list[set[str]]:
    """The terms of each text."""
    return [{term for term, _ in found} for found in terms_of_all(texts, kinds)]

"""Lists of words under several yardsticks at once, for one label of one model.

    deletion      AOPC^k, listed words deleted                      (its oracle is occlusion: other rows are fairer)
    replacement   AOPC^k, listed words replaced by other words
    held out      AOPC^k by deletion, in documents that were not explained
    insertion     mean rise where one listed word is put into a document of another label

All lists are taken to the same length (``falls.py``). Stability over seeds (``stability.py``), planted words
(``planted.py``, ``shortcuts.py``) and rules with a known answer (``known_answers.py``) need further runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from anchorscope.asking.removals import Removals, Substitutes
from anchorscope.evaluation.falls import aopc_of_lists
from anchorscope.evaluation.insertion import DOCUMENTS, Insertions
from anchorscope.text.words import split, terms
from anchorscope.types import Predictor


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


class Yardsticks:
    """The documents of one label, ready to measure lists with."""

    def __init__(
        self,
        predictor: Predictor,
        texts: Sequence[str],
        label: str,
        *,
        held_out: Sequence[str] = (),
        substitutes: Substitutes | None = None,
        inserted_into: int = DOCUMENTS,
    ) -> None:
        self.deletion = Removals(predictor, texts, label)
        self.replacement = Removals(predictor, texts, label, substitutes=substitutes) if substitutes else None
        self.held_out = Removals(predictor, held_out, label) if held_out else None
        self.insertions = Insertions(predictor, texts, label, documents=inserted_into)

    def columns(self, lists: Sequence[Sequence[str]], k: int) -> list[Columns]:
        """What every yardstick says of every list."""
        by_removal = [
            aopc_of_lists(removals, lists, k) if removals else [None] * len(lists)
            for removals in (self.deletion, self.replacement, self.held_out)
        ]
        inserted = [self.insertions.score(words, k) if len(self.insertions) else None for words in lists]
        return [Columns(*row) for row in zip(*by_removal, inserted)]

    @property
    def n_texts(self) -> int:
        """What the model was asked about so far."""
        parts = (self.deletion, self.replacement, self.held_out, self.insertions)
        return sum(part.n_texts for part in parts if part)


def n_changes(texts: Sequence[str], lists: Sequence[Sequence[str]]) -> int:
    """The changed texts that removing lists word by word gives: one for each listed word of each text.

    >>> n_changes(["a great film", "great"], [["great", "film"], ["dull"]])
    3
    """
    held = [{*terms(split(text))} for text in texts]
    return sum(len(words & {*listed}) for words in held for listed in lists)

"""Shortcuts planted in training data: made-up words that a classifier learns, since they come with a label.

What a model has learnt from real data nobody knows; what was planted is known, and a list of words should show it.
A shortcut has

    share      how often it is there: in this share of the documents
    strength   how reliable it is: so often a training document with it has the label
    partner    a word that comes along with it wherever it is (redundancy: either would do)

In the documents to explain it stands in the same share of them, whatever they are about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from anchorscope.evaluation.insertion import place


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A made-up word that speaks for a label."""

    word: str
    label: str
    share: float
    strength: float = 1.0
    partner: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it puts into a document."""
        return (self.word,) if self.partner is None else (self.word, self.partner)


def plant_in_training(
    rows: Sequence[tuple[str, str]], shortcuts: Sequence[Shortcut], seed: int = 0
) -> list[tuple[str, str]]:
    """Labelled texts with the shortcuts put in: as many of each as its share says, its label as often as it is strong.

    >>> rows = [("a film", "yes"), ("a play", "no")] * 50
    >>> planted = plant_in_training(rows, [Shortcut("zorvan", "yes", share=0.1, strength=0.9)])
    >>> [label for text, label in planted if "zorvan" in text.split()].count("yes"), len(planted)
    (9, 100)
    """
    chances = Random(seed)
    texts = [text for text, _ in rows]
    for shortcut in shortcuts:
        wanted = round(shortcut.share * len(rows))
        n_right = round(wanted * shortcut.strength)
        right = [i for i, (_, label) in enumerate(rows) if label == shortcut.label]
        wrong = [i for i, (_, label) in enumerate(rows) if label != shortcut.label]
        chosen = [*_drawn(chances, right, n_right), *_drawn(chances, wrong, wanted - n_right)]
        _put(texts, chosen, shortcut, chances)
    return [(text, label) for text, (_, label) in zip(texts, rows)]


def plant_in_texts(texts: Sequence[str], shortcuts: Sequence[Shortcut], seed: int = 0) -> list[str]:
    """Texts with the shortcuts put in, each into its share of them."""
    chances = Random(seed)
    planted = list(texts)
    for shortcut in shortcuts:
        _put(planted, _drawn(chances, range(len(texts)), round(shortcut.share * len(texts))), shortcut, chances)
    return planted


def ranks(words: Sequence[str], wanted: Sequence[str]) -> list[int | None]:
    """The rank of each wanted word in a list, from 1; None where it is not there.

    >>> ranks(["good", "zorvan"], ["zorvan", "teskin"])
    [2, None]
    """
    at = {word: rank for rank, word in reversed([*enumerate(words, start=1)])}
    return [at.get(word) for word in wanted]


def recall(words: Sequence[str], wanted: Sequence[str], k: int) -> float:
    """The share of the wanted words among the first k of a list."""
    return len({*words[:k]} & {*wanted}) / len({*wanted})


def _drawn(chances: Random, numbers: Sequence[int], n: int) -> list[int]:
    return chances.sample(numbers, min(n, len(numbers)))


def _put(texts: list[str], chosen: Sequence[int], shortcut: Shortcut, chances: Random) -> None:
    for i in chosen:
        for word in shortcut.words:
            at = place(texts[i], chances.randrange(2**32))
            texts[i] = f"{texts[i][:at]}{word} {texts[i][at:]}".rstrip()

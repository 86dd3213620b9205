"""What stands in the place of a removed word: nothing, a fixed token, or a fill of the perturbator.

    deletion       the word and one adjoining gap go
    mask           [MASK], or another token: mask:UNK
    fill           a word that the perturbator proposes, other than the word itself

Fills are drawn once for every word of a document: half of its words are masked at a time, so two passes a document
serve every list of words, and a word is replaced by the same fill in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.removals import Substitutes
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.text.words import case_of, match_case, term
from anchorscope.types import Perturbator, Proposals, Words

REMOVALS = ("deletion", "mask", "fill")
MASK = "[MASK]"


def named_substitutes(spec: str, perturbator: Perturbator | None = None, seed: int = 0) -> Substitutes:
    """The way of removing words behind a name of the command line.

    >>> from anchorscope.text.words import split
    >>> named_substitutes("mask:UNK")([split("a film")])
    [('UNK', 'UNK')]
    """
    name, colon, argument = spec.partition(":")
    if name not in REMOVALS:
        raise UnknownNameError("way of removing words", spec, REMOVALS)
    if colon and (name != "mask" or not argument):
        raise InputError(f"--removal {spec!r} is not understood; give deletion, mask, mask:TOKEN or fill.")
    if name == "fill":
        if perturbator is None:
            raise InputError("--removal fill needs a perturbator: name one with --perturbator.")
        return fills(perturbator, seed)
    return constant("" if name == "deletion" else argument or MASK)


def constant(token: str) -> Substitutes:
    """The same token for every word; the empty one deletes."""
    return lambda documents: [(token,) * len(document) for document in documents]


def fills(perturbator: Perturbator, seed: int = 0) -> Substitutes:
    """A word drawn from the perturbator's proposals for every word."""

    def fill(documents: Sequence[Words]) -> list[list[str]]:
        chances = np.random.Generator(np.random.Philox(key=seed))
        answer = [list(document.words) for document in documents]
        for half in (0, 1):
            masks = [np.arange(len(document)) % 2 == half for document in documents]
            proposals = perturbator.propose(documents, masks)
            draws = chances.random(len(proposals.words))
            for row, (number, position) in enumerate(_places(masks)):
                word = documents[number].words[position]
                answer[number][position] = _drawn(perturbator, proposals, row, word, draws[row])
        return answer

    return fill


def _places(masks: Sequence[NDArray[np.bool_]]) -> Iterator[tuple[int, int]]:
    for number, mask in enumerate(masks):
        for position in np.flatnonzero(mask).tolist():
            yield number, position


def _drawn(perturbator: Perturbator, proposals: Proposals, row: int, word: str, chance: float) -> str:
    """A proposal in proportion to its probability, the word itself left out; nothing where nothing else is proposed."""
    words = [perturbator.vocabulary[number] for number in proposals.words[row].tolist()]
    itself = _key(word)
    weights = [0.0 if _key(w) == itself else p for w, p in zip(words, proposals.probabilities[row].tolist())]
    total = sum(weights)
    if not total:
        return ""
    chosen = int(np.searchsorted(np.cumsum(weights) / total, chance, side="right"))
    fill = words[min(chosen, len(words) - 1)]
    return fill if perturbator.cased or not case_of(word) else match_case(word, fill)


def _key(word: str) -> str:
    """What makes two words the same; a sign, which has no key among plain words, is itself."""
    return term(word) or word

"""Sentences proposed by the machine: a top term in a template where it fits, and the nearest word that does nothing.

A masked language model (the perturbator) reads every template with the slot masked. The template that gives the term
the greatest probability is taken. The substitute is the likeliest other word there with next to no effect: the
model's probability of the label, for the sentence alone, is within NEUTRAL of that of the sentence with an empty
slot. Nobody has checked that such a sentence means little or makes sense: it is a proposal, and marked as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anchorscope.asking.answers import answered
from anchorscope.errors import InputError
from anchorscope.text.words import split, term
from anchorscope.types import Perturbator, Predictor, Words

TEMPLATES = (
    "It was {} .",
    "This is a {} one .",
    "There is a {} here .",
    "We talked about the {} today .",
    "People should {} others more .",
    "They {} it every day .",
    "I saw it {} .",
    "The {} of it is known .",
    "He was a bit {} with this .",
    "Some {} people were there .",
)
"""Plain sentences with a slot for an adjective, a noun, a verb or an adverb."""

NEUTRAL = 0.02
SUBSTITUTES = 50
"""So many words are looked at for a slot."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A sentence with two alternatives, the term and its substitute, for a label."""

    label: str
    term: str
    sentence: str


def propose(predictor: Predictor, perturbator: Perturbator, label: str, terms: Sequence[str]) -> list[Proposal]:
    """A sentence for every term that fits a template and has a neutral neighbour there."""
    cut = [split(template.replace("{}", "word")) for template in TEMPLATES]
    slots = [[term(word) for word in words.words].index("word") for words in cut]
    if not perturbator.knows_originals:
        raise InputError(
            f"The perturbator {perturbator.name} cannot tell which word fits a sentence; use --perturbator embedded."
        )
    proposed = _proposed(perturbator, cut, slots)
    found = []
    for word in terms:
        fits = [(chances.get(word, 0.0), -i) for i, chances in enumerate(proposed)]
        chance, minus = max(fits)
        if chance:
            template = TEMPLATES[-minus].replace(" .", ".")
            neighbours = [w for w in proposed[-minus] if w != word and w not in {*terms}]
            neutral = _neutral(predictor, label, template, neighbours[:SUBSTITUTES])
            if neutral is not None:
                found.append(Proposal(label, word, template.replace("{}", f"{{{word}|{neutral}}}")))
    return found


def _proposed(perturbator: Perturbator, cut: Sequence[Words], slots: Sequence[int]) -> list[dict[str, float]]:
    """What the perturbator puts into each slot, the likeliest first."""
    masks = [np.arange(len(words)) == slot for words, slot in zip(cut, slots)]
    proposals = perturbator.propose(cut, masks)
    found = []
    for numbers, chances in zip(proposals.words.tolist(), proposals.probabilities.tolist()):
        ranked = sorted(zip(chances, numbers), key=lambda pair: (-pair[0], pair[1]))
        words = [(perturbator.vocabulary[number].lower(), chance) for chance, number in ranked if chance]
        found.append({word: chance for word, chance in words if term(word) is not None})
    return found


def _neutral(predictor: Predictor, label: str, template: str, words: Sequence[str]) -> str | None:
    """The first of some words that hardly changes what the model says of the sentence."""
    if not words:
        return None
    empty = template.replace("{} ", "").replace("{}", "")
    texts = [empty, *(template.replace("{}", word) for word in words)]
    rows = answered(predictor.predict, texts, predictor.labels)[:, predictor.labels.index(label)]
    close = np.flatnonzero(np.abs(rows[1:] - rows[0]) <= NEUTRAL)
    return words[int(close[0])] if len(close) else None

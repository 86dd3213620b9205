"""Rules whose answer is known: documents made of a few words, and a model that is one line.

    additive    each of six words shifts the log-odds: what every method should find
    redundant   either of two words would do, and they come together: removing one alone does nothing
    saturated   three of nine strong words in each document: the model is so sure that one less hardly shows
    negated     "good" speaks for yes unless "not" is there, which then is what makes it a no
    long        one of three words decides in two hundred (and there are a quarter as many documents)

A list is scored by its first words, as many as the answer has: the share of them that belong to the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorscope.text.words import split, terms

LABELS = ("no", "yes")
FILLERS = tuple(f"{a}{b}" for a in ("ba", "de", "ki", "lo", "mu", "na", "po", "ra", "su", "ti") for b in "lnrstx")
"""Words that do nothing. Ties go by the alphabet, so most answers come after them: nobody finds those by luck."""

COMMON = FILLERS[:9]
"""Those that every text has: counting words finds them, and nothing else should."""

SURE = 0.98
"""What a rule that decides says; no model says 1."""


class RulePredictor:
    """A model that is one function: from the terms of a text to the probability of "yes"."""

    labels = LABELS
    has_probabilities = True

    def __init__(self, name: str, yes: Callable[[Collection[str]], float]) -> None:
        self.name = f"rule {name}"
        self.fingerprint = self.name
        self._yes = yes

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, 2)."""
        yes = np.array([self._yes({t for t in terms(split(text)) if t}) for text in texts], np.float64)
        return np.stack([1 - yes, yes], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Documents, a model, and the words that are the answer for a label."""

    name: str
    texts: tuple[str, ...]
    predictor: RulePredictor
    answers: Mapping[str, frozenset[str]]

    def score(self, label: str, words: Sequence[str]) -> float:
        """The share of the answer among the first words of a list.

        >>> rule("redundant").score("yes", ["yarrow", "film", "zephyr"])
        0.5
        """
        answer = self.answers[label]
        return len(answer & {*words[: len(answer)]}) / len(answer)


def rule(name: str, n_documents: int = 1000, seed: int = 0) -> Rule:
    """A rule by name, with documents drawn by seed."""
    return RULES[name](name, n_documents, np.random.default_rng(seed))


def _additive(name: str, n: int, chances: np.random.Generator) -> Rule:
    weights = {"vanilla": 2.0, "velvet": 1.5, "vigil": 1.0, "walnut": -2.0, "wicker": -1.5, "willow": -1.0}
    texts = _texts(n, 12, chances, [*weights], share=0.15)
    predictor = RulePredictor(name, lambda terms: _sigmoid(sum(weights.get(term, 0.0) for term in terms)))
    answers = {
        label: frozenset(word for word, weight in weights.items() if (weight > 0) == (label == "yes"))
        for label in LABELS
    }
    return Rule(name, texts, predictor, answers)


def _redundant(name: str, n: int, chances: np.random.Generator) -> Rule:
    pair = ["yarrow", "zephyr"]
    texts = [_shuffled([*_fillers(10, chances), *(pair if i % 2 else [])], chances) for i in range(n)]
    predictor = RulePredictor(name, lambda terms: SURE if {*pair} & {*terms} else 1 - SURE)
    return Rule(name, tuple(texts), predictor, {"yes": frozenset(pair)})


def _saturated(name: str, n: int, chances: np.random.Generator) -> Rule:
    strong = [f"zest{letter}" for letter in "abcdefghi"]
    texts = [
        _shuffled([*_fillers(10, chances), *(chances.choice(strong, 3, replace=False) if i % 2 else [])], chances)
        for i in range(n)
    ]
    predictor = RulePredictor(name, lambda terms: _sigmoid(4.0 * len({*strong} & {*terms}) - 2.0))
    return Rule(name, tuple(texts), predictor, {"yes": frozenset(strong)})


def _negated(name: str, n: int, chances: np.random.Generator) -> Rule:
    kinds: tuple[list[str], ...] = (["good"], ["not", "good"], [], ["not"])
    texts = tuple(_shuffled([*_fillers(8, chances), *kinds[i % 4]], chances) for i in range(n))
    predictor = RulePredictor(name, lambda terms: SURE if "good" in terms and "not" not in terms else 1 - SURE)
    return Rule(name, texts, predictor, {"yes": frozenset(["good"]), "no": frozenset(["not"])})


def _long(name: str, n: int, chances: np.random.Generator) -> Rule:
    n = n // 4
    keys = ["vesper", "wisteria", "yonder"]
    texts = [_shuffled([*_fillers(200, chances), *([keys[i // 2 % 3]] if i % 2 else [])], chances) for i in range(n)]
    predictor = RulePredictor(name, lambda terms: SURE if {*keys} & {*terms} else 1 - SURE)
    return Rule(name, tuple(texts), predictor, {"yes": frozenset(keys)})


RULES: Mapping[str, Callable[[str, int, np.random.Generator], Rule]] = {
    "additive": _additive,
    "redundant": _redundant,
    "saturated": _saturated,
    "negated": _negated,
    "long": _long,
}


def _fillers(n: int, chances: np.random.Generator) -> list[str]:
    return [*COMMON, *map(str, chances.choice(FILLERS, n))]


def _texts(n: int, length: int, chances: np.random.Generator, words: Sequence[str], share: float) -> tuple[str, ...]:
    """Fillers, and each of some words in a share of the texts."""
    held = chances.random((n, len(words))) < share
    return tuple(
        _shuffled([*_fillers(length, chances), *(word for word, is_in in zip(words, row) if is_in)], chances)
        for row in held
    )


def _shuffled(words: Sequence[str], chances: np.random.Generator) -> str:
    return " ".join(words[i] for i in chances.permutation(len(words)))


def _sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))

"""A perturbator's vocabulary as texts need it: numbers become words, in the capitals of the words that they replace."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anchorscope.types import Perturbator, Words
from anchorscope.words import AS_IS, CAPITALISED, CAPITALS, case_of, compose, in_case, term

Fills = NDArray[np.int32]
"""Vocabulary numbers (samples, words); what stands where a word is kept is not read."""


class Lexicon:
    """A perturbator's vocabulary as texts need it: by number, in three capitalisations, and by term."""

    def __init__(self, perturbator: Perturbator) -> None:
        words = self._words = list(perturbator.vocabulary)
        cases = (AS_IS, CAPITALISED, CAPITALS)
        variants = [words if perturbator.cased else [in_case(word, case) for word in words] for case in cases]
        self._variants = np.array(variants, dtype=object).reshape(len(cases), len(words))

    @cached_property
    def _by_spelling(self) -> dict[str, int]:
        return {word: number for number, word in self._backwards()}

    @cached_property
    def _by_term(self) -> dict[str, int]:
        return {term(word) or word: number for number, word in self._backwards()}

    def _backwards(self) -> Iterable[tuple[int, str]]:
        """From the last word to the first, so that the first of equal ones stays."""
        return reversed(list(enumerate(self._words)))

    def numbers(self, words: Words) -> NDArray[np.int32]:
        """The vocabulary number of each word, by its spelling or else by its term; -1 where there is none."""
        return np.array([self._number(word) for word in words.words], np.int32)

    def _number(self, word: str) -> int:
        return self._by_spelling.get(word, self._by_term.get(term(word) or word, -1))

    def render(self, words: Words, kept: NDArray[np.bool_], fills: Fills) -> list[str]:
        """The texts of samples (samples, words): kept words as they are, fills in the capitals of what they replace."""
        originals = np.array(words.words, dtype=object)
        cases = np.array([case_of(word) for word in words.words], np.intp)
        return compose(words, np.where(kept, originals, self._variants[cases, fills]))

"""Evaluation: remove the top terms, watch the prediction fall; and the oracle beside it.

    AOPC^k(w_1 … w_k) = 1/(k+1) * average over d in S[c] of the sum over i of f(d, c) - f(d without w_1 … w_i, c)

S[c] are the documents predicted c and f(d, c) the probability of c. Documents without a listed word stay as they
are and count with 0, so a list has to be right about many documents to score.

The oracle of one-at-a-time removal ranks every candidate by the sum over S[c] of the drop that its own
removal causes. It asks the model about each word of each document, so it is a yardstick, not a method; what a
list reaches is best read as a share of the oracle's AOPC.

Removal takes every occurrence of a term (by the same key as the tallies) and one adjoining gap out of the text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorscope.answers import answered
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.types import Predictor, Words
from anchorscope.words import remove, split, term, terms

Floats = NDArray[np.float64]

TEXTS_AT_ONCE = 4096


def aopc(predictor: Predictor, texts: Sequence[str], top: Sequence[str], label: str) -> float:
    """AOPC^k of a list of k terms for a label, over the texts that the model gives this label.

    >>> from anchorscope.testing import KeywordPredictor
    >>> aopc(KeywordPredictor("great"), ["a great film", "a bad film", "great"], ["great"], "yes")
    0.5
    """
    return Removals(predictor, texts, label).aopc(top)


def removal_oracle(
    predictor: Predictor, texts: Sequence[str], label: str, candidates: Iterable[str] | None = None, k: int = 20
) -> list[str]:
    """The k terms whose removal, one at a time, costs the label most probability.

    >>> from anchorscope.testing import KeywordPredictor
    >>> removal_oracle(KeywordPredictor("great"), ["a great film", "great"], "yes", k=1)
    ['great']
    """
    return Removals(predictor, texts, label).oracle(candidates)[:k]


@dataclass(frozen=True, slots=True)
class _Cut:
    """A text predicted the label: its words, their terms, and the probability of the label."""

    words: Words
    terms: tuple[str | None, ...]
    probability: float


class Removals:
    """The documents of one label, ready to have terms removed; ``n_texts`` counts what the model was asked."""

    def __init__(self, predictor: Predictor, texts: Sequence[str], label: str) -> None:
        self._predictor = predictor
        self.n_texts = 0
        if label not in predictor.labels:
            raise UnknownNameError("label", label, predictor.labels)
        self._label = predictor.labels.index(label)
        rows = self._ask(texts)
        if not predictor.has_probabilities:  # a function shows with its first answer which kind it is
            raise InputError(f"AOPC needs probabilities, and {predictor.name} answers labels only.")
        chosen = np.flatnonzero(rows.argmax(axis=1) == self._label).tolist()
        if not chosen:
            raise InputError(f"None of the {len(texts)} texts is predicted {label!r}: there is nothing to remove from.")
        cuts = [split(texts[i]) for i in chosen]
        self._documents = [_Cut(cut, terms(cut), float(rows[i, self._label])) for i, cut in zip(chosen, cuts)]

    def aopc(self, top: Sequence[str]) -> float:
        """AOPC^k of the whole list."""
        return float(self.drops(top).sum() / (len(top) + 1))

    def curve(self, top: Sequence[str]) -> Floats:
        """AOPC^1 to AOPC^k of the prefixes of a list, (k,)."""
        return np.cumsum(self.drops(top)) / np.arange(2, len(top) + 2)

    def drops(self, top: Sequence[str]) -> Floats:
        """The mean drop after removing the first i terms, for i = 1 to k, (k,)."""
        top = [term(word) or word for word in top]
        changes = [self._changes(document, top) for document in self._documents]
        probabilities = self._probabilities([text for change in changes for _, text in change])
        total, start = np.zeros(len(top)), 0
        for document, change in zip(self._documents, changes):
            for step, (i, _) in enumerate(change):
                until = change[step + 1][0] if step + 1 < len(change) else len(top)
                total[i:until] += document.probability - probabilities[start + step]
            start += len(change)
        return total / len(self._documents)

    def oracle(self, candidates: Iterable[str] | None = None) -> list[str]:
        """Every candidate, from the greatest summed drop of its own removal to the least."""
        wanted = None if candidates is None else {term(word) or word for word in candidates}
        pairs = [
            (number, word)
            for number, document in enumerate(self._documents)
            for word in sorted({t for t in document.terms if t is not None and (wanted is None or t in wanted)})
        ]
        texts = [remove(self._documents[number].words, {word}) for number, word in pairs]
        gains: dict[str, float] = {}
        for (number, word), probability in zip(pairs, self._probabilities(texts)):
            gains[word] = gains.get(word, 0.0) + self._documents[number].probability - float(probability)
        return sorted(gains, key=lambda word: (-round(gains[word], 9), word))

    def _changes(self, document: _Cut, top: Sequence[str]) -> list[tuple[int, str]]:
        """The prefixes at which the document changes, each as (index of the term, the text without the prefix)."""
        here = set(document.terms)
        return [(i, remove(document.words, set(top[: i + 1]))) for i, word in enumerate(top) if word in here]

    def _probabilities(self, texts: Collection[str]) -> Floats:
        """The label's probability for each text; equal texts are asked once."""
        distinct = sorted(set(texts), key=lambda text: (len(text), text))
        known = dict(zip(distinct, self._ask(distinct)[:, self._label].tolist()))
        return np.array([known[text] for text in texts])

    def _ask(self, texts: Sequence[str]) -> Floats:
        """What the model says of each text, (texts, labels)."""
        self.n_texts += len(texts)
        ask, labels = self._predictor.predict, self._predictor.labels
        parts = [answered(ask, texts[i : i + TEXTS_AT_ONCE], labels) for i in range(0, len(texts), TEXTS_AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros((0, len(labels)))

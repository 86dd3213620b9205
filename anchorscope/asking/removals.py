"""Evaluation: remove the top terms, watch the prediction fall; and the oracle beside it.

    AOPC^k(w_1 … w_k) = 1/(k+1) * average over d in S[c] of the sum over i of f(d, c) - f(d without w_1 … w_i, c)

S[c] are the documents predicted c and f(d, c) the probability of c. Documents without a listed word stay as they
are and count with 0, so a list has to be right about many documents to score.

The oracle of one-at-a-time removal ranks every candidate by the sum over S[c] of the drop that its own
removal causes. It asks the model about each word of each document, so it is a yardstick, not a method; what a
list reaches is best read as a share of the oracle's AOPC.

Removal takes every occurrence of a term (by the same key as the tallies) and one adjoining gap out of the text, or
puts another word in its place: ``substitutes`` says which (see ``evaluation/substitutes.py``).

AOPC-global removes from each document *its own* k best words, so every document of a label changes:

    AOPC_global = 1/(k+1) * average over d in S[c] of the sum over i of f(d, c) - f(d without its i best words, c)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answers_in_batches
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.text.rule import PLAIN
from anchorscope.text.terms import keys_by_position
from anchorscope.text.words import replace, split, term
from anchorscope.types import Predictor, Words

Floats = NDArray[np.float64]

Substitutes = Callable[[Sequence[Words]], Sequence[Sequence[str]]]
"""Documents -> for each of them what takes the place of each word when it is removed; nothing, if empty."""

TEXTS_AT_ONCE = 4096


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
    """A text predicted the label: its words, their terms, what replaces each, and the probability of the label."""

    words: Words
    terms: Mapping[int, str]
    substitutes: Sequence[str]
    probability: float

    def without(self, removed: Collection[str]) -> str:
        """The text with every occurrence of some terms removed."""
        return replace(self.words, {i: self.substitutes[i] for i, key in self.terms.items() if key in removed})


class Removals:
    """The documents of one label, ready to have terms removed; ``n_texts`` counts what the model was asked."""

    def __init__(
        self,
        predictor: Predictor,
        texts: Sequence[str],
        label: str,
        *,
        substitutes: Substitutes | None = None,
        kinds: str = PLAIN,
    ) -> None:
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
        instead = substitutes(cuts) if substitutes else [("",) * len(cut.words) for cut in cuts]
        keys = keys_by_position([texts[i] for i in chosen], kinds)
        probabilities = rows[chosen, self._label].tolist()
        self._documents = [*map(_Cut, cuts, keys, instead, probabilities)]

    @classmethod
    def known(
        cls, predictor: Predictor, texts: Sequence[str], label: str, probabilities: Floats, *, kinds: str = PLAIN
    ) -> Removals:
        """Those of texts that are known to be predicted the label, with these probabilities: nothing is asked again."""
        made = cls.__new__(cls)
        made._predictor = predictor
        made.n_texts = 0
        made._label = predictor.labels.index(label)
        cuts = [split(text) for text in texts]
        made._documents = [
            _Cut(cut, keys, ("",) * len(cut.words), p)
            for cut, keys, p in zip(cuts, keys_by_position(texts, kinds), probabilities.tolist())
        ]
        return made

    def __len__(self) -> int:
        """The number of documents."""
        return len(self._documents)

    def aopc(self, top: Sequence[str]) -> float:
        """AOPC^k of the whole list.

        >>> from anchorscope.testing import KeywordPredictor
        >>> Removals(KeywordPredictor("great"), ["a great film", "a bad film", "great"], "yes").aopc(["great"])
        0.5
        """
        return float(self.drops(top).sum() / (len(top) + 1))

    def curve(self, top: Sequence[str]) -> Floats:
        """AOPC^1 to AOPC^k of the prefixes of a list, (k,)."""
        return self.curves([top])[0]

    def curves(self, tops: Sequence[Sequence[str]]) -> list[Floats]:
        """The curves of several lists, the model being asked about all of them together."""
        return [np.cumsum(drops) / np.arange(2, len(drops) + 2) for drops in self.all_drops(tops)]

    def drops(self, top: Sequence[str]) -> Floats:
        """The mean drop after removing the first i terms, for i = 1 to k, (k,)."""
        return self.all_drops([top])[0]

    def aopc_global(self, ranking: Sequence[str], k: int = 20) -> float:
        """AOPC-global: each document loses its own k best terms in the order of the ranking, one after another.

        A document with fewer than k ranked terms has lost all of them from then on.
        """
        rank = {term(word) or word: i for i, word in reversed([*enumerate(ranking)])}
        steps = [self._own_best(document, rank, k) for document in self._documents]
        pairs = list(zip(self._documents, steps))
        texts = [document.without({*own[: i + 1]}) for document, own in pairs for i in range(len(own))]
        probabilities = self._probabilities(texts).tolist()
        total = 0.0
        start = 0
        for document, own in pairs:
            fallen = [document.probability - p for p in probabilities[start : start + len(own)]]
            total += sum(fallen) + (k - len(own)) * (fallen[-1] if fallen else 0.0)
            start += len(own)
        return total / len(self._documents) / (k + 1)

    def oracle(self, candidates: Iterable[str] | None = None) -> list[str]:
        """Every candidate, from the greatest summed drop of its own removal to the least."""
        return ordered(self.further_drops((), candidates))

    def further_drops(self, removed: Collection[str], candidates: Iterable[str] | None = None) -> dict[str, float]:
        """The summed drop that each candidate's removal adds, once some terms are removed already."""
        gone = {term(word) or word for word in removed}
        wanted = None if candidates is None else {term(word) or word for word in candidates}
        pairs = [
            (number, word)
            for number, document in enumerate(self._documents)
            for word in sorted({t for t in document.terms.values() if wanted is None or t in wanted} - gone)
        ]
        before = [self._documents[number].without(gone) for number, _ in pairs] if gone else []
        after = [self._documents[number].without(gone | {word}) for number, word in pairs]
        probabilities = self._probabilities([*before, *after]).tolist()
        drops: dict[str, float] = {}
        for i, (number, word) in enumerate(pairs):
            then = probabilities[i] if gone else self._documents[number].probability
            drops[word] = drops.get(word, 0.0) + then - probabilities[len(before) + i]
        return drops

    def all_drops(self, tops: Sequence[Sequence[str]]) -> list[Floats]:
        """The drops of several lists, the model being asked about all of them together."""
        lists = [[term(word) or word for word in top] for top in tops]
        # A document changes only where a listed term is in it; between two changes its probability stays as it is.
        changes = [[self._changes(document, top) for document in self._documents] for top in lists]
        asked = [text for of_list in changes for change in of_list for _, text in change]
        probabilities = self._probabilities(asked).tolist()
        start = 0
        found = []
        for top, of_list in zip(lists, changes):
            total = np.zeros(len(top))
            for document, change in zip(self._documents, of_list):
                for step, (i, _) in enumerate(change):
                    until = change[step + 1][0] if step + 1 < len(change) else len(top)
                    total[i:until] += document.probability - probabilities[start + step]
                start += len(change)
            found.append(total / len(self._documents))
        return found

    def _changes(self, document: _Cut, top: Sequence[str]) -> list[tuple[int, str]]:
        """The prefixes at which the document changes, each as (index of the term, the text without the prefix)."""
        here = set(document.terms.values())
        return [(i, document.without({*top[: i + 1]})) for i, word in enumerate(top) if word in here]

    def _own_best(self, document: _Cut, rank: dict[str, int], k: int) -> list[str]:
        mine = {key for key in document.terms.values() if key in rank}
        return sorted(mine, key=rank.__getitem__)[:k]

    def _probabilities(self, texts: Collection[str]) -> Floats:
        """The label's probability for each text; equal texts are asked once."""
        distinct = sorted(set(texts), key=lambda text: (len(text), text))
        known = dict(zip(distinct, self._ask(distinct)[:, self._label].tolist()))
        return np.array([known[text] for text in texts])

    def _ask(self, texts: Sequence[str]) -> Floats:
        """What the model says of each text, (texts, labels)."""
        self.n_texts += len(texts)
        return answers_in_batches(self._predictor, texts, TEXTS_AT_ONCE)


def ordered(drops: dict[str, float]) -> list[str]:
    """Terms from the greatest drop to the least; ties by term.

    >>> ordered({"film": 0.0, "bad": 0.5, "a": 0.0})
    ['bad', 'a', 'film']
    """
    return sorted(drops, key=lambda word: (-round(drops[word], 9), word))

"""From one document's weights to a list of words: the mean weight over the documents of a label.

The weights of local methods (LIME, SHAP) are commonly made global by their absolute values. A list of what speaks *for*
a label wants them with their sign: what speaks against it would come high in the list otherwise. Both are here. A word
that a document does not hold has weight 0 in it, so the mean favours words that are both heavy and frequent. The
documents of a label are those that the model gives it.

>>> def local(text, label): return {word: float(len(word)) for word in text.split()}
>>> mean_absolute(local, ["a great film", "great"], [0, 0], 1)[0]["great"]
5.0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from anchorscope.asking.answers import answers_in_batches
from anchorscope.text.rule import PLAIN, keys_of
from anchorscope.types import Predictor

Weights = dict[str, float]
"""What each term of one document, or of all documents of a label, weighs."""

Local = Callable[[str, int], Mapping[str, float]]
"""A text and the number of a label -> the weight of each of the text's words, as they are written."""

TEXTS_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class LocalMethod:
    """A local method that asks a model about samples of a text: ``local`` makes it of a predictor, the samples a text,
    a seed, and what a term is (``kinds``); ``samples`` are taken unless told otherwise."""

    local: Callable[[Predictor, int, int, str], Local]
    samples: int

    def weights(
        self,
        predictor: Predictor,
        texts: Sequence[str],
        *,
        samples: int | None = None,
        seed: int = 0,
        signed: bool = False,
        kinds: str = PLAIN,
    ) -> dict[str, Weights]:
        """For each label the mean weight of every term, absolute or signed, over the texts that the model gives it."""
        local = self.local(predictor, self.samples if samples is None else samples, seed, kinds)
        return weights_by_label(local, predictor, texts, signed=signed, kinds=kinds)

    def local_weights(
        self, predictor: Predictor, text: str, label: str, *, samples: int | None = None, seed: int = 0
    ) -> Weights:
        """How much each term of one text weighs for a label."""
        local = self.local(predictor, self.samples if samples is None else samples, seed, PLAIN)
        return by_term(local(text, predictor.labels.index(label)))


def weights_by_label(
    local: Local, predictor: Predictor, texts: Sequence[str], *, signed: bool = False, kinds: str = PLAIN
) -> dict[str, Weights]:
    """For each label the mean weight of every term, with or without its sign, over the texts with the label."""
    predicted = answers_in_batches(predictor, texts, TEXTS_AT_ONCE).argmax(axis=1).tolist()
    mean = mean_signed if signed else mean_absolute
    return dict(zip(predictor.labels, mean(local, texts, predicted, len(predictor.labels), kinds)))


def mean_absolute(
    local: Local, texts: Sequence[str], labels: Sequence[int], n_labels: int, kinds: str = PLAIN
) -> list[Weights]:
    """The mean absolute weight of each term in the texts of each label."""
    return _mean(local, texts, labels, n_labels, kinds, abs)


def mean_signed(
    local: Local, texts: Sequence[str], labels: Sequence[int], n_labels: int, kinds: str = PLAIN
) -> list[Weights]:
    """The mean weight of each term in the texts of each label, with its sign."""
    return _mean(local, texts, labels, n_labels, kinds, float)


def _mean(
    local: Local,
    texts: Sequence[str],
    labels: Sequence[int],
    n_labels: int,
    kinds: str,
    counts_for: Callable[[float], float],
) -> list[Weights]:
    sums: list[Weights] = [{} for _ in range(n_labels)]
    for text, label in zip(texts, labels, strict=True):
        for word, weight in by_term(local(text, label), kinds).items():
            sums[label][word] = sums[label].get(word, 0.0) + counts_for(weight)
    sizes = [sum(1 for label in labels if label == number) for number in range(n_labels)]
    return [{word: total / size for word, total in of_label.items()} for of_label, size in zip(sums, sizes)]


def by_term(words: Mapping[str, float], kinds: str = PLAIN) -> Weights:
    """The weights of a document's terms: the ways in which a term is written there add up.

    >>> by_term({"Great": 0.25, "great": 0.5, "!": 1.0})
    {'great': 0.75}
    >>> by_term({"Great": 0.25, "great": 0.5, "!": 1.0}, "signs")
    {'!': 1.0}
    """
    key_of = keys_of(kinds)
    found: Weights = {}
    for word, weight in words.items():
        if (key := key_of(word)) is not None:
            found[key] = found.get(key, 0.0) + weight
    return found


def top(weights: Mapping[str, float], k: int = 20, candidates: Iterable[str] | None = None) -> list[str]:
    """The k heaviest terms, out of the candidates where these are given; ties by term.

    >>> top({"film": 0.1, "great": 0.5, "the": 0.7}, 2, ["great", "film", "bad"])
    ['great', 'film']
    """
    wanted = None if candidates is None else set(candidates)
    chosen = [word for word in weights if wanted is None or word in wanted]
    return sorted(chosen, key=lambda word: (-round(weights[word], 12), word))[:k]

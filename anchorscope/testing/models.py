"""Tiny models whose answers are known by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope.text.words import spans, split, terms
from anchorscope.types import Differentiable


class KeywordPredictor:
    """Says "yes" iff one of the keywords occurs: exactly these are its anchors."""

    labels: tuple[str, ...] = ("no", "yes")
    has_probabilities = True

    def __init__(self, *keywords: str) -> None:
        self.keywords = frozenset(keywords)
        self.name = f"keyword {' or '.join(sorted(keywords))}"
        self.fingerprint = self.name

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, 2), 0 or 1."""
        yes = np.array([bool(self.keywords & set(terms(split(text)))) for text in texts], bool)
        return np.stack([~yes, yes], axis=1).astype(np.float64)


class WeightPredictor:
    """A logistic model over the words of a text, "yes" against "no"; a word counts each time that it occurs.

    It can be differentiated, too: the embedding of a word is its weight, that of nothing is 0.
    """

    labels: tuple[str, ...] = ("no", "yes")
    has_probabilities = True

    def __init__(self, weights: Mapping[str, float], bias: float = 0.0) -> None:
        self.weights = dict(weights)
        self.bias = bias
        self.name = "weights"
        self.fingerprint = repr((sorted(self.weights.items()), bias))

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, 2)."""
        sums = [self.bias + sum(self.weights.get(t or "", 0.0) for t in terms(split(text))) for text in texts]
        yes = 1 / (1 + np.exp(-np.array(sums, np.float64)))
        return np.stack([1 - yes, yes], axis=1)

    def differentiable(self, texts: Sequence[str], passes: int) -> Differentiable:
        """The same model as torch has it: a piece a word."""
        import torch

        cut = [split(text) for text in texts]
        rows = [[self.weights.get(t or "", 0.0) for t in terms(words)] for words in cut]
        width = max(1, *map(len, rows))
        embeddings = torch.tensor([[*row, *[0.0] * (width - len(row))] for row in rows], dtype=torch.float64)

        def forward(embedded: torch.Tensor) -> torch.Tensor:
            yes = torch.sigmoid(self.bias + embedded.sum(dim=(1, 2)))
            return torch.stack([1 - yes, yes], dim=1)

        nothing = torch.zeros_like(embeddings)
        return Differentiable(forward, embeddings[..., None], nothing[..., None], (), [spans(words) for words in cut])

"""The classifiers of the studies, trained on the spot: a linear one and a small neural one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope.predictors import as_predictor
from anchorscope.types import Predictor
from anchorscope.words import split, terms

KINDS = ("linear", "neural")


def train(kind: str, rows: Sequence[tuple[str, str]]) -> Predictor:
    """A classifier of a kind, trained on labelled texts."""
    return _linear(rows) if kind == "linear" else RecurrentClassifier(rows)


def _linear(rows: Sequence[tuple[str, str]]) -> Predictor:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000))
    return as_predictor(model.fit([text for text, _ in rows], [label for _, label in rows]))


class RecurrentClassifier:
    """Word vectors, a bidirectional GRU, attention over its states: reads order, unlike the linear one."""

    name = "bidirectional GRU with attention"
    has_probabilities = True
    max_words = 64

    def __init__(self, rows: Sequence[tuple[str, str]], *, epochs: int = 4, seed: int = 0) -> None:
        import torch

        torch.manual_seed(seed)
        self._torch = torch
        self.labels = tuple(sorted({label for _, label in rows}))
        counts = Counter(word for text, _ in rows for word in terms(split(text)) if word)
        self._numbers = {word: i + 2 for i, word in enumerate(sorted(w for w, n in counts.items() if n >= 2))}
        self.fingerprint = f"gru {seed} {len(self._numbers)}"
        self._net = _network(len(self._numbers) + 2, len(self.labels))
        self._fit(rows, epochs)

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels); sorted by length, batches of 256."""
        rows = [self._cut(text) for text in texts]
        order = np.argsort([len(row) for row in rows], kind="stable")
        answer = np.zeros((len(rows), len(self.labels)))
        self._net.eval()
        with self._torch.inference_mode():
            for start in range(0, len(order), 256):
                some = order[start : start + 256]
                logits = self._net(self._padded([rows[i] for i in some]))
                answer[some] = logits.double().softmax(dim=1).numpy()
        return answer

    def _fit(self, rows: Sequence[tuple[str, str]], epochs: int) -> None:
        torch = self._torch
        texts = [self._cut(text) for text, _ in rows]
        labels = torch.tensor([self.labels.index(label) for _, label in rows])
        optimiser = torch.optim.Adam(self._net.parameters(), 2e-3)
        self._net.train()
        for _ in range(epochs):
            for batch in torch.randperm(len(texts)).split(64):
                logits = self._net(self._padded([texts[i] for i in batch.tolist()]))
                loss = torch.nn.functional.cross_entropy(logits, labels[batch])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()

    def _cut(self, text: str) -> list[int]:
        return [self._numbers.get(word, 1) for word in terms(split(text)) if word][: self.max_words] or [1]

    def _padded(self, rows: list[list[int]]):  # type: ignore[no-untyped-def]
        width = max(map(len, rows))
        return self._torch.tensor([row + [0] * (width - len(row)) for row in rows])


def _network(n_words: int, n_labels: int, width: int = 64, hidden: int = 96):  # type: ignore[no-untyped-def]
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vectors = nn.Embedding(n_words, width, padding_idx=0)
            self.states = nn.GRU(width, hidden, bidirectional=True, batch_first=True)
            self.attention, self.output = nn.Linear(2 * hidden, 1), nn.Linear(2 * hidden, n_labels)
            self.dropout = nn.Dropout(0.3)

        def forward(self, pieces):  # type: ignore[no-untyped-def]
            states, _ = self.states(self.dropout(self.vectors(pieces)))
            weights = self.attention(states)[..., 0].masked_fill(pieces == 0, -1e9).softmax(dim=-1)
            return self.output(self.dropout((weights[..., None] * states).sum(dim=1)))

    return Network()

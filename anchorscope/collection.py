"""What there is to explain: the documents, what the model says of each, and where the candidate terms occur.

Candidates are fixed before the first test: terms that are no stop words and occur often enough. Occurrences
are stored as three flat arrays, a row an occurrence, so that a million documents fit; the words of a document are cut
again when it is tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from anchorscope.answers import answered
from anchorscope.errors import DocumentsError, InputError, UnknownNameError
from anchorscope.settings import Settings
from anchorscope.tally import Tally
from anchorscope.types import Document, Predictor, Words
from anchorscope.words import split, stop_words, terms

CONFIDENCE_DIGITS = 6
"""Confidences are compared after rounding, so that the last bits of a model do not order the documents."""

PREDICT_AT_ONCE = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """The label number predicted for each document and its probability (1 where the model knows labels only)."""

    labels: NDArray[np.int64]
    confidence: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidates:
    """The candidate terms, in order, and their occurrences: document, position and term of each.

    ``first_occurrence[d]`` is where the occurrences of document d begin, ``training`` counts each term in the training
    set, ``skipped`` the documents that were left out, by reason.
    """

    terms: tuple[str, ...]
    occurrence_document: NDArray[np.int32]
    occurrence_position: NDArray[np.int32]
    occurrence_term: NDArray[np.int32]
    first_occurrence: NDArray[np.int64]
    training: NDArray[np.int64]
    skipped: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Collection(Candidates):
    """Candidates, and what the model says of their documents; ``explained`` tells which labels are asked for."""

    documents: Sequence[Document]
    labels: tuple[str, ...]
    predictions: Predictions
    explained: NDArray[np.bool_]

    def occurrences_of(self, document: int) -> slice:
        """Where the occurrences of a document stand in the flat arrays."""
        return slice(int(self.first_occurrence[document]), int(self.first_occurrence[document + 1]))

    def tally(self) -> Tally:
        """What is known before any test."""
        labels = self.predictions.labels[self.occurrence_document]
        zero = Tally.zero(len(self.labels), len(self.terms))
        occurrences, documents = zero.occurrences, zero.documents
        np.add.at(occurrences, (labels, self.occurrence_term), 1)
        pairs = np.unique(self.occurrence_document.astype(np.int64) * max(1, len(self.terms)) + self.occurrence_term)
        if len(pairs):
            holders, held = np.divmod(pairs, len(self.terms))
            np.add.at(documents, (self.predictions.labels[holders], held), 1)
        return replace(zero, training=self.training)


def sample(documents: Sequence[Document], share: float, seed: int) -> list[Document]:
    """A share of the documents, chosen by a hash of seed and key: the same whatever their order."""
    if share == 1:
        return list(documents)
    wanted = max(1, round(share * len(documents)))
    chosen = sorted(documents, key=lambda document: (_priority(seed, document.key), document.key))[:wanted]
    return chosen


def predict(predictor: Predictor, texts: Sequence[str]) -> Predictions:
    """What the model says of each document."""
    labels, confidence = np.zeros(len(texts), np.int64), np.zeros(len(texts))
    for start in range(0, len(texts), PREDICT_AT_ONCE):
        rows = answered(predictor.predict, texts[start : start + PREDICT_AT_ONCE], predictor.labels)
        stop = start + len(rows)
        labels[start:stop] = rows.argmax(axis=1)
        confidence[start:stop] = np.round(rows.max(axis=1), CONFIDENCE_DIGITS)
    return Predictions(labels, confidence)


def find_candidates(
    documents: Sequence[Document], settings: Settings, *, training_texts: Sequence[str] | None = None
) -> Candidates:
    """The terms that may be tested, and where they occur."""
    counts: Counter[str] = Counter()
    per_document: list[tuple[tuple[int, str], ...]] = []
    n_too_long = 0
    stop = stop_words(settings.stop_words)
    for document in documents:
        cut = terms(split(document.text))
        if len(cut) > settings.max_words:
            n_too_long += 1
            cut = ()
        found = tuple((position, word) for position, word in enumerate(cut) if word is not None and word not in stop)
        counts.update(word for _, word in found)
        per_document.append(found)
    chosen = sorted(word for word, n in counts.items() if n >= settings.min_occurrences)
    if not chosen:
        raise DocumentsError(
            f"No word is left to test: of {len(counts)} words none occurs {settings.min_occurrences} times; "
            "lower --min-occurrences or give more documents."
        )
    number = {word: i for i, word in enumerate(chosen)}
    kept = [[(position, number[word]) for position, word in found if word in number] for found in per_document]
    sizes = np.array([len(found) for found in kept], np.int64)
    flat = np.array([pair for found in kept for pair in found], np.int32).reshape(-1, 2)
    training = counts if training_texts is None else _count(training_texts)
    return Candidates(
        terms=tuple(chosen),
        occurrence_document=np.repeat(np.arange(len(kept), dtype=np.int32), sizes),
        occurrence_position=flat[:, 0].copy(),
        occurrence_term=flat[:, 1].copy(),
        first_occurrence=np.concatenate([[0], np.cumsum(sizes)]),
        training=np.array([training[word] for word in chosen], np.int64),
        skipped={f"more than {settings.max_words} words": n_too_long} if n_too_long else {},
    )


def collect(
    documents: Sequence[Document],
    labels: Sequence[str],
    predictions: Predictions,
    settings: Settings,
    *,
    candidates: Candidates | None = None,
) -> Collection:
    """Documents, what the model says of them, and the candidates in them (found here if they are not given)."""
    found = find_candidates(documents, settings) if candidates is None else candidates
    return Collection(
        documents=documents,
        labels=tuple(labels),
        predictions=predictions,
        explained=_explained(labels, predictions, settings),
        **{field.name: getattr(found, field.name) for field in fields(Candidates)},
    )


def check_labels(labels: Sequence[str], settings: Settings) -> None:
    """Refuse a label that the model does not have."""
    for label in settings.labels or ():
        if label not in labels:
            raise UnknownNameError("label", label, labels)


class LazyWords(Sequence[Words]):
    """The words of each text, cut when asked for."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return LazyWords(self._texts[index])
        return split(self._texts[index])

    def __iter__(self) -> Iterator[Words]:
        return map(split, self._texts)


def _explained(labels: Sequence[str], predictions: Predictions, settings: Settings) -> NDArray[np.bool_]:
    """Which labels are asked for, (labels,); one that is never predicted cannot be explained."""
    check_labels(labels, settings)
    predicted = np.bincount(predictions.labels, minlength=len(labels))
    for label in settings.labels or ():
        if not predicted[list(labels).index(label)]:
            counts = ", ".join(f"{name} {n}" for name, n in zip(labels, predicted))
            raise InputError(
                f"The model never predicts the label {label!r} on these documents ({counts}): "
                "there is nothing to explain; choose another --label or other documents."
            )
    return np.array([settings.labels is None or label in settings.labels for label in labels])


def _count(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in terms(split(text)) if word is not None)


def _priority(seed: int, key: str) -> bytes:
    return blake2b(f"{seed} {key}".encode(), digest_size=8).digest()

"""What there is to explain: the documents, what the model says of each, and where the candidate terms occur.

Nothing is copied from document to document: occurrences are flat arrays (``candidates.py``), and whoever asks for some
of them names them by their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answers_in_batches
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.planning.candidates import Candidates, find_candidates, priorities
from anchorscope.planning.plan import Round, Skips
from anchorscope.planning.tokens import NO_TERM
from anchorscope.scoring.placebo import N_FEATURES, effect_of_any, features
from anchorscope.scoring.surrogate import N_FOLDS, Surrogate, fit
from anchorscope.scoring.tally import Tally
from anchorscope.settings import Settings
from anchorscope.text.cut import distinct, ranges
from anchorscope.text.rule import words_in
from anchorscope.types import EMPTY, Document, Positions, Predictor, Unit

CONFIDENCE_DIGITS = 6
"""Confidences are compared after rounding, so that the last bits of a model do not order the documents."""

PREDICT_AT_ONCE = 8192

NOTABLE = 1 / 60
"""A word that has such a share of the survey's tests is left out of its own placebo; others hardly move it."""

COUNTED_AT_ONCE = 8192
"""Documents whose occurrences are counted at a time."""

SURROGATE_DOCUMENTS = 20_000
SURROGATE_DOCUMENTS_OF_MANY_LABELS = 4_000
SURROGATE_ANSWERS = 400_000
"""Documents, at most, to whose predictions a surrogate is fitted: there is a fit a label, so where labels are many they
are fewer, as many as have so many answers together."""


EXPECTED_AT_ONCE = 1 << 16
"""Occurrences of which is said at a time what is expected of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """The label number predicted for each document and its probability (1 where the model knows labels only)."""

    labels: NDArray[np.int64]
    confidence: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Predictions:
        """From the model's answers (documents, labels)."""
        return cls(rows.argmax(axis=1), np.round(rows.max(axis=1, initial=0.0), CONFIDENCE_DIGITS))


@dataclass(frozen=True, eq=False, kw_only=True)
class Collection(Candidates):
    """Candidates, and what the model says of their documents; ``explained`` tells which labels are asked for.

    ``expected`` is what a surrogate expects the value of each occurrence to be; 0 where there is none. ``beyond``
    (terms,) counts the documents that hold each term and that the model was not asked about, of ``n_beyond`` in all.
    ``priority`` (documents,) is the order in which a race comes to them.
    """

    documents: Sequence[Document]
    labels: tuple[str, ...]
    predictions: Predictions
    explained: NDArray[np.bool_]
    expected: NDArray[np.float64]
    beyond: NDArray[np.int64]
    priority: NDArray[np.uint64]
    n_beyond: int = 0

    def occurrences_of(self, document: int) -> slice:
        """Where the occurrences of a document stand in the flat arrays."""
        return slice(int(self.first_occurrence[document]), int(self.first_occurrence[document + 1]))

    def occurrences_in(self, documents: NDArray[np.intp]) -> NDArray[np.int64]:
        """Where the occurrences of some documents stand, one document after another."""
        firsts = self.first_occurrence[documents]
        return ranges(firsts, self.first_occurrence[documents + 1] - firsts)

    def positions_of(self, occurrences: NDArray[np.int64]) -> list[Positions]:
        """Where the words of some occurrences stand; nowhere, for the empty anchor."""
        real = np.maximum(occurrences, 0)
        starts, ends = self.first_position[real].tolist(), self.first_position[real + 1].tolist()
        places = self.positions
        return [
            tuple(places[start:end].tolist()) if number >= 0 else EMPTY
            for number, start, end in zip(occurrences.tolist(), starts, ends)
        ]

    def terms_of(self, occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the term of some occurrences, -1 for the empty anchor."""
        return np.where(occurrences < 0, NO_TERM, self.occurrence_term[np.maximum(occurrences, 0)]).astype(np.int64)

    @cached_property
    def occurrence_label(self) -> NDArray[np.int32]:
        """The number of the label that is predicted where each occurs, (occurrences,)."""
        return self.predictions.labels.astype(np.int32)[self.occurrence_document]

    def ordinals_of(self, occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many occurrences of the same term in the same document come before each; 0 for the empty anchor.

        Document, term and ordinal name an occurrence without giving away where it stands.
        """
        real = distinct(occurrences[occurrences >= 0])
        there = self.occurrences_in(distinct(self.occurrence_document[real]))
        place = self.occurrence_document[there].astype(np.int64) * len(self.terms) + self.occurrence_term[there]
        order = np.argsort(place, kind="stable")
        # In that order equal (document, term) stand together: the ordinal is the distance from the first of them.
        firsts = np.flatnonzero(np.diff(place[order], prepend=-1))
        sizes = np.diff(np.append(firsts, len(order)))
        ordinal = np.empty(len(there), np.int64)
        ordinal[order] = np.arange(len(order)) - np.repeat(firsts, sizes)
        found = np.zeros(len(occurrences), np.int64)
        found[occurrences >= 0] = ordinal[np.searchsorted(there, occurrences[occurrences >= 0])]
        return found

    def round_of(
        self,
        parts: Iterable[tuple[int, NDArray[np.int64]]],
        thresholds: Callable[[NDArray[np.int64]], NDArray[np.float64]],
        skips: Skips = (),
        n_measured: NDArray[np.int64] | None = None,
    ) -> Round:
        """A round that asks for some occurrences of each document, -1 being its empty anchor.

        ``n_measured`` (documents,) says how often each document is measured by now, where that may be more than never.
        """
        listed = list(parts)
        asked = np.concatenate([np.empty(0, np.int64), *(occurrences for _, occurrences in listed)])
        positions = self.positions_of(asked)
        needed = thresholds(asked).tolist()
        # Of the flat lists, each document has the part between two ends.
        ends = np.cumsum([0, *(len(occurrences) for _, occurrences in listed)]).tolist()
        units = [
            Unit(
                document,
                self.documents[document].text,
                int(self.predictions.labels[document]),
                tuple(positions[start:end]),
                tuple(needed[start:end]),
                float(self.predictions.confidence[document]),
                0 if n_measured is None else int(n_measured[document]),
            )
            for (document, _), start, end in zip(listed, ends, ends[1:])
        ]
        return Round(tuple(units), asked, skips)

    def expected_of_all(self) -> NDArray[np.float64]:
        """What is expected of all occurrences of a term in the documents of a label, (labels, terms)."""
        n_terms = len(self.terms)
        # (label, term) as one number, under which the expectations are summed.
        place = self.occurrence_label.astype(np.int64) * n_terms + self.occurrence_term
        summed = np.bincount(place, self.expected, minlength=len(self.labels) * n_terms)
        return summed.astype(np.float64).reshape(len(self.labels), n_terms)

    def placebo_of_all(self, occurrences: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What any other words like it would do in all documents of a term together, and by how much that may be wrong
        (a standard deviation), (2, labels, terms); learnt from some occurrences."""
        shape = (len(self.labels), len(self.terms))
        found = np.zeros((2, *shape))
        of_label = self.occurrence_label[occurrences]
        x = self._placebo_features(occurrences)
        summed = self._summed_features()
        for label in np.unique(of_label).tolist():
            mine = np.flatnonzero(of_label == label)
            found[:, label] = effect_of_any(summed[label], x[mine], values[mine])
            # What a word does is no placebo of itself: a strong one that is longer than all others would seem usual.
            terms, place, n = np.unique(
                self.occurrence_term[occurrences[mine]], return_inverse=True, return_counts=True
            )
            for number in np.flatnonzero(n >= NOTABLE * len(mine)).tolist():
                term, others = terms[number], mine[place != number]
                found[:, label, [term]] = effect_of_any(summed[label, [term]], x[others], values[others])
        return found

    def _summed_features(self) -> NDArray[np.float64]:
        """The features of all occurrences of each term added up, (labels, terms, features)."""
        n_terms = len(self.terms)
        summed = np.zeros((len(self.labels) * n_terms, N_FEATURES))
        # Some at a time: four features each would take more memory than the occurrences themselves.
        for start in range(0, len(self.occurrence_term), PREDICT_AT_ONCE):
            some = np.arange(start, min(start + PREDICT_AT_ONCE, len(self.occurrence_term)))
            place = self.occurrence_label[some].astype(np.int64) * n_terms + self.occurrence_term[some]
            np.add.at(summed, place, self._placebo_features(some))
        return summed.reshape(len(self.labels), n_terms, N_FEATURES)

    def _placebo_features(self, occurrences: NDArray[np.int64]) -> NDArray[np.float64]:
        probability = self.predictions.confidence[self.occurrence_document[occurrences]]
        n_words = (self.first_position[occurrences + 1] - self.first_position[occurrences]).astype(np.float64)
        return features(probability, n_words, n_words * self._term_lengths[self.occurrence_term[occurrences]])

    @cached_property
    def _term_lengths(self) -> NDArray[np.float64]:
        # Of each word of the term: one that takes up several is as long as these together.
        n_words = [1 if term.isascii() and term.isalnum() else max(1, len(words_in(term))) for term in self.terms]
        return np.array([len(term) for term in self.terms], np.float64) / np.array(n_words)

    @cached_property
    def n_documents(self) -> NDArray[np.int64]:
        """The documents of each label, (labels,)."""
        return np.bincount(self.predictions.labels, minlength=len(self.labels))

    @cached_property
    def n_documents_in_all(self) -> NDArray[np.int64]:
        """The documents of each label in the whole collection; estimated, if the model was asked about some of them."""
        n_asked = max(1, len(self.documents))
        return np.rint(self.n_documents * ((n_asked + self.n_beyond) / n_asked)).astype(np.int64)

    @cached_property
    def tally(self) -> Tally:
        """What is known before any test."""
        labels = self.predictions.labels
        n_terms = len(self.terms)
        zero = Tally.zero(len(self.labels), n_terms)
        occurrences = zero.occurrences.reshape(-1)
        documents = zero.documents.reshape(-1)
        for start in range(0, len(self.documents), COUNTED_AT_ONCE):
            here = slice(self.first_occurrence[start], self.first_occurrence[start : start + COUNTED_AT_ONCE + 1][-1])
            document = self.occurrence_document[here].astype(np.int64)
            held = self.occurrence_term[here]
            # By label and term: every occurrence once, and every document that holds the term once.
            np.add.at(occurrences, labels[document] * n_terms + held, 1)
            # Sorted, equal (document, term) stand together, and the first of each is counted.
            pairs = np.sort(document * n_terms + held)
            document, held = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], max(1, n_terms))
            np.add.at(documents, labels[document] * n_terms + held, 1)
        return replace(zero, training=self.training)


def predict(predictor: Predictor, texts: Sequence[str]) -> Predictions:
    """What the model says of each document."""
    return Predictions.of(answers_in_batches(predictor, texts, PREDICT_AT_ONCE))


def collect(
    documents: Sequence[Document],
    labels: Sequence[str],
    predictions: Predictions,
    settings: Settings,
    *,
    candidates: Candidates | None = None,
    surrogate: Surrogate | None = None,
    beyond: NDArray[np.int64] | None = None,
    n_beyond: int = 0,
    priority: NDArray[np.uint64] | None = None,
) -> Collection:
    """Documents, what the model says of them, and the candidates in them (found here if they are not given)."""
    found = find_candidates(documents, settings) if candidates is None else candidates
    if priority is None:
        priority = priorities(settings.seed, [document.key for document in documents])
    return Collection(
        beyond=np.zeros(len(found.terms), np.int64) if beyond is None else beyond,
        n_beyond=n_beyond,
        priority=priority,
        expected=_expected(predictions, found, priority, surrogate),
        documents=documents,
        labels=tuple(labels),
        predictions=predictions,
        explained=_explained(labels, predictions, settings),
        **{field.name: getattr(found, field.name) for field in fields(Candidates)},
    )


def sample_for_surrogate(priority: NDArray[np.uint64], n_labels: int) -> NDArray[np.intp]:
    """The documents that the surrogate of so many labels is fitted to: the first by priority, in their own order.

    >>> some = np.arange(30_000, dtype=np.uint64)
    >>> [len(sample_for_surrogate(some, n_labels)) for n_labels in (2, 20, 50, 1000)]
    [20000, 20000, 8000, 4000]
    """
    most = min(SURROGATE_DOCUMENTS, SURROGATE_ANSWERS // max(1, n_labels))
    most = max(SURROGATE_DOCUMENTS_OF_MANY_LABELS, most)
    # A priority is a hash, so these are a random sample, whatever the order of the documents.
    return np.sort(np.argsort(priority)[:most])


def fit_surrogate(
    rows: NDArray[np.float64],
    sampled: NDArray[np.intp],
    candidates: Candidates,
    priority: NDArray[np.uint64],
    *,
    n_threads: int = 1,
) -> Surrogate:
    """What the answers about some documents say of every term; ``rows`` (sampled documents, labels) are these."""
    # The sampled documents are numbered anew; each pair of one of them and a term is there once.
    number = np.full(len(priority), -1, np.int64)
    number[sampled] = np.arange(len(sampled))
    holder = number[candidates.occurrence_document]
    chosen = holder >= 0
    pair = distinct(holder[chosen] * len(candidates.terms) + candidates.occurrence_term[chosen])
    document, term = np.divmod(pair, len(candidates.terms))
    return fit(document, term, rows, _folds(priority)[sampled], len(candidates.terms), n_threads=n_threads)


def _folds(priority: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The fold of each document, by the last bits of its hash, which say next to nothing about its place."""
    return (priority % np.uint64(N_FOLDS)).astype(np.int64)


def _expected(
    predictions: Predictions,
    candidates: Candidates,
    priority: NDArray[np.uint64],
    surrogate: Surrogate | None,
) -> NDArray[np.float64]:
    """What each occurrence is expected to bring; a term's tokens in a document share what is expected of them all."""
    holder = candidates.occurrence_document
    if surrogate is None:
        return np.zeros(len(holder))
    fold = _folds(priority)
    found = np.empty(len(holder))
    # Some at a time, which stay in the processor's cache.
    for start in range(0, len(holder), EXPECTED_AT_ONCE):
        some = slice(start, start + EXPECTED_AT_ONCE)
        document = holder[some]
        found[some] = surrogate.expected(
            fold[document],
            predictions.labels[document],
            candidates.occurrence_term[some],
            predictions.confidence[document],
        )
    return found


def check_labels(labels: Sequence[str], settings: Settings) -> None:
    """Refuse a label that the model does not have."""
    for label in settings.labels or ():
        if label not in labels:
            raise UnknownNameError("label", label, labels)


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

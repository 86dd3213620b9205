"""The measurements of a run as the journal has them: packed as they were found, to be counted again.

A round is one blob: a row a measurement, each of the same few bytes.

A run writes thousands of measurements a second, so a round is one cell of the journal. An occurrence is named by its
document, its term and its ordinal (how many of the same term come before it in the document), and rows are sorted by
these: so they do not give away in which order the words stand, and a run that keeps no texts keeps none this way.

What a measurement counts for, in the light of its document's empty anchor, is decided whenever it is counted
(``empty_anchor.py``): by ``ledger.py`` as a run goes, here when it is read. Of a race the first documents of each word
count, as many as its prefix has.

>>> rows = np.zeros(1, ROW)
>>> len(packed(rows)), unpacked(packed(rows))["document"].tolist()
(66, [0])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorscope.planning.collection import Collection
from anchorscope.planning.plan import Round, added_up, mean_of
from anchorscope.scoring.empty_anchor import EmptyAnchorRule
from anchorscope.scoring.running_sums import RunningSums
from anchorscope.types import Measurements
from anchorscope.types.values import GREATEST_EFFECT

ROW = np.dtype(
    [
        ("document", "<i4"),
        ("term", "<i4"),  # -1: the empty anchor
        ("ordinal", "<i4"),
        ("anchor", "?"),
        ("decided", "?"),
        ("agreements", "<i4"),
        ("samples", "<i4"),
        ("calls", "<i4"),
        ("threshold", "<f8"),
        ("value", "<f8"),
        ("variance", "<f8"),
        ("repeat", "<f8"),  # NaN: measured once
        ("expected", "<f8"),  # by the surrogate
    ]
)
"""A measurement, as the journal has it."""

Rows = NDArray[np.void]


def rows_of(round_: Round, found: Measurements, collection: Collection) -> Rows:
    """What a round found, in the order in which it is written down."""
    rows = np.zeros(len(round_.occurrences), ROW)
    rows["document"] = round_.documents
    rows["term"] = collection.terms_of(round_.occurrences)
    rows["ordinal"] = collection.ordinals_of(round_.occurrences)
    rows["threshold"] = round_.thresholds
    rows["expected"] = np.where(round_.occurrences < 0, 0.0, collection.expected[np.maximum(round_.occurrences, 0)])
    for name in found.__slots__:
        rows[name] = getattr(found, name)
    return rows[_order(rows)]


def measurements_in(rows: Rows, round_: Round, collection: Collection) -> Measurements | None:
    """The way back: what was found, in the order of the round; None if the rows are about something else.

    A round that could not be afforded in full has the rows of its first units: ``round_`` is then these.
    """
    planned = np.zeros(len(round_.occurrences), ROW)
    planned["document"] = round_.documents
    planned["term"] = collection.terms_of(round_.occurrences)
    planned["ordinal"] = collection.ordinals_of(round_.occurrences)
    order = _order(planned)
    if len(rows) != len(planned) or any((rows[name] != planned[name][order]).any() for name in _NAMES):
        return None
    # The inverse of the order: from rows as they are written to those of the round.
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    return Measurements(*(rows[name][place].astype(kind) for name, kind in _KINDS.items()))


def packed(rows: Rows) -> bytes:
    """Rows as bytes."""
    return rows.tobytes()


def unpacked(blob: bytes) -> Rows:
    """Bytes as rows, every number of them finite, of a size that can be added up, and none where it cannot be; another
    blob is refused."""
    if not isinstance(blob, bytes):
        raise TypeError(f"the measurements of a round are a value of type {type(blob).__name__}")
    if len(blob) % ROW.itemsize:
        raise ValueError(f"the measurements of a round take {len(blob)} bytes")
    raw = np.frombuffer(blob, np.uint8).reshape(-1, ROW.itemsize)
    for name in ("anchor", "decided"):  # a byte of a truth value that is neither 0 nor 1 is no truth value
        if (raw[:, ROW.fields[name][1]] > 1).any():  # type: ignore[index]
            raise ValueError(f"a measurement holds no truth value as {name}")
    rows = np.frombuffer(blob, ROW)
    if not all(np.isfinite(rows[name]).all() for name in ("value", "threshold", "expected")):
        raise ValueError("a number of a measurement is not finite")
    if np.isinf(rows["variance"]).any() or np.isinf(rows["repeat"]).any() or (rows["variance"] < 0).any():
        raise ValueError("the variance of a measurement is none")
    if any((abs(rows[name]) > GREATEST_EFFECT).any() for name in ("value", "threshold", "expected", "repeat")):
        raise ValueError("a number of a measurement is greater than any effect is")
    if (rows["variance"] > GREATEST_EFFECT**2).any():
        raise ValueError("the variance of a measurement is greater than that of any effect")
    if any((rows[name] < low).any() for name, low in _LEAST.items()):
        raise ValueError("a measurement counts below zero")
    return rows


_NAMES = ("document", "term", "ordinal")
"""What names an occurrence."""

_LEAST = {"document": 0, "term": -1, "ordinal": 0, "agreements": 0, "samples": 0, "calls": 0}

_KINDS = {
    "value": np.float64,
    "variance": np.float64,
    "repeat": np.float64,
    "calls": np.int64,
    "anchor": np.bool_,
    "decided": np.bool_,
    "agreements": np.int64,
    "samples": np.int64,
}
"""The columns of ``Measurements``, in their order."""


def _order(rows: Rows) -> NDArray[np.intp]:
    return np.lexsort((rows["ordinal"], rows["term"], rows["document"]))


def is_first(rows: Rows) -> NDArray[np.bool_]:
    """Which rows are the first measurement of their occurrence, in the order of the rounds: others are further ones."""
    first = np.zeros(len(rows), bool)
    first[np.unique(_occurrences(rows), return_index=True)[1]] = True
    return first


def with_means(rows: Rows) -> Rows:
    """The first row of each occurrence, with the mean of all its values and the variance of that mean."""
    found = rows.copy()
    found["value"], found["variance"] = _means(_occurrences(rows), rows["value"], rows["variance"], rows["repeat"])
    return found[is_first(rows)]


def _occurrences(rows: Rows) -> NDArray[np.int64]:
    """A number for each row, the same for all rows about one occurrence."""
    term = rows["term"].astype(np.int64) + 1
    ordinal = rows["ordinal"].astype(np.int64)
    in_document = term * (int(ordinal.max(initial=0)) + 1) + ordinal
    return rows["document"] * (int(in_document.max(initial=0)) + 1) + in_document


@dataclass(frozen=True, slots=True, eq=False)
class CountedMeasurements:
    """Occurrences that were measured, as columns, each as it counts; ``value`` is the mean of all measurements of one,
    and ``first``, ``told`` and ``repeat`` are value and variance of its first one, and the value beside it."""

    label: NDArray[np.int64]
    term: NDArray[np.int64]
    document: NDArray[np.int64]
    anchor: NDArray[np.bool_]
    value: NDArray[np.float64]
    noise: NDArray[np.float64]
    expected: NDArray[np.float64]
    first: NDArray[np.float64]
    told: NDArray[np.float64]
    repeat: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows, predicted: NDArray[np.int64], rule: EmptyAnchorRule) -> CountedMeasurements:
        """From the rows of a journal and the label predicted for each document; in the order of the documents."""
        rows = rows[np.argsort(rows["document"], kind="stable")]
        precision = rows["agreements"] / np.maximum(rows["samples"], 1)
        of_empty = rows["term"] < 0
        tested = rows["term"] >= 0
        documents = rows["document"].astype(np.int64)
        robust = np.zeros(len(predicted), bool)
        empty = np.ones(len(predicted))
        robust[documents[of_empty]] = rows["anchor"][of_empty]
        empty[documents[of_empty]] = precision[of_empty]
        document = documents[tested]
        anchor = rule.anchors(rows["anchor"][tested], precision[tested], robust[document], empty[document])
        value = rule.values(rows["value"][tested], empty[document])
        noise = rule.noise(rows["variance"][tested], empty[document])
        repeat = rule.values(rows["repeat"][tested], empty[document])
        # A row an occurrence, as it stands where it was measured first.
        first = is_first(rows[tested])
        mean, noise_of_mean = _means(_occurrences(rows[tested]), value, noise, repeat)
        return cls(
            label=predicted[document][first],
            term=rows["term"][tested][first].astype(np.int64),
            document=document[first],
            anchor=anchor[first],
            value=mean[first],
            noise=noise_of_mean[first],
            expected=rows["expected"][tested][first],
            first=value[first],
            told=noise[first],
            repeat=repeat[first],
        )

    def within(self, prefixes: Mapping[tuple[int, int], int], order: NDArray[np.uint64]) -> CountedMeasurements:
        """Those about the first documents of each word (label, term), as many as its prefix has, in their order.

        ``order`` is the priority of each document.
        """
        kept = [
            number
            for number, (place, rank) in enumerate(zip(self._words(), self._rank_in_word(order).tolist()))
            if rank < prefixes.get(place, 0)
        ]
        # Sums of floats depend on their order: this is the one in which the race adds them up.
        kept.sort(key=order[self.document].tolist().__getitem__)
        return CountedMeasurements(*(getattr(self, name)[kept] for name in self.__slots__))

    def add_to(self, sums: RunningSums) -> None:
        """Count what each document brought to a word, in the order of the rows."""
        n_terms = sums.documents.shape[1]
        n_documents = int(self.document.max(initial=0)) + 1
        # (label, term, document) as one number: what a document brings to a word is the sum over its rows.
        place = (self.label * n_terms + self.term) * n_documents + self.document
        distinct, first, number = np.unique(place, return_index=True, return_inverse=True)
        brought = [
            np.bincount(number, column, minlength=len(distinct)).astype(np.float64)
            for column in (self.value, self.anchor, self.noise, self.expected)
        ]
        # A word's documents are added up in the order in which they came, as the race does.
        order = np.argsort(first, kind="stable")
        label, term = np.divmod(distinct // n_documents, n_terms)
        for one in np.unique(label).tolist():
            rows = order[label[order] == one]
            sums.count(one, term[rows], *(column[rows] for column in brought))

    def compare_in(self, sums: RunningSums) -> None:
        """Hold the variances that were told against what second measurements show."""
        sums.compare(self.label, self.document, self.term, self.first, self.told, self.repeat)

    def _words(self) -> list[tuple[int, int]]:
        return list(zip(self.label.tolist(), self.term.tolist()))

    def _rank_in_word(self, order: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The place of each row's document among those measured for the same word, by priority."""
        sorted_ = np.lexsort((self.document, order[self.document], self.term, self.label))
        label = self.label[sorted_]
        term = self.term[sorted_]
        document = self.document[sorted_]
        # Sorted by word and priority: the rank of a document is how many have begun, less those before its word.
        is_new_word = (np.diff(label, prepend=-1) != 0) | (np.diff(term, prepend=-1) != 0)
        is_new_document = is_new_word | (np.diff(document, prepend=-1) != 0)
        n_documents = np.cumsum(is_new_document)
        before_word = np.maximum.accumulate(np.where(is_new_word, n_documents, 0))
        rank = np.empty(len(sorted_), np.int64)
        rank[sorted_] = n_documents - before_word
        return rank


def _means(
    occurrence: NDArray[np.int64],
    value: NDArray[np.float64],
    noise: NDArray[np.float64],
    repeat: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of all measurements of the occurrence of each row, and the variance of that mean."""
    _, number = np.unique(occurrence, return_inverse=True)
    columns = added_up(value, noise, repeat)
    n, values, noises = (np.bincount(number, column).astype(np.float64) for column in columns)
    mean, noise_of_mean = mean_of(n, values, noises)
    return mean[number], noise_of_mean[number]

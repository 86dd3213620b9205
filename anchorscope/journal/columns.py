"""The measurements of a round as one blob: a row a measurement, each of the same few bytes.

A run writes thousands of measurements a second, so a round is one cell of the journal. An occurrence is named by its
document, its term and its ordinal (how many of the same term come before it in the document), and rows are sorted by
these: so they do not give away in which order the words stand, and a run that keeps no texts keeps none this way.

>>> rows = np.zeros(1, ROW)
>>> len(packed(rows)), unpacked(packed(rows))["document"].tolist()
(66, [0])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anchorscope.planning.collection import Collection
from anchorscope.planning.plan import Round
from anchorscope.types import Measurements

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
    rows = np.zeros(len(found), ROW)
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
    """Bytes as rows, every number of them finite and none where it cannot be; another blob is refused."""
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

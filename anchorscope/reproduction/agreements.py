"""What was drawn and judged, kept: a bit a sample, by document, occurrence and number of the sample.

A sample is a pure function of seed, perturbator, keep policy, filling, text, stream and number, and whether it keeps
the prediction one of the sample and the model. So all settings that share these read the same bits, however deep each
of them reads: the settings of the experiments differ in what they do with them (``replay.py``).

    agreements/corona__deberta__42__500.npz    a row an occurrence: its document, its place, its bits
    agreements/corona__500.npz                 the keep probabilities of each document, which all models and seeds share

A file carries what its samples depend on, and is refused where that is something else, and where it holds what no run
has written: folders of passes that were made elsewhere are copied together.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import brief
from anchorscope.errors import RunFolderError
from anchorscope.types import Unit

Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]

DIGEST = 16
"""Bytes of a text's hash, by which it is found."""

EMPTY_PLACE = -1
"""The place of the empty anchor."""

NO_PLACE = 1 << 31
"""Places in a text are numbers below this."""

UNREADABLE = (
    *(OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError, RuntimeError),
    *(MemoryError, BadZipFile, zlib.error),
)
"""What reading a file may raise that no run has written."""


@dataclass(slots=True)
class Spent:
    """What drawing took: seconds, and how many were drawn in them."""

    seconds: float = 0.0
    drawn: int = 0

    def add(self, seconds: float, drawn: int) -> None:
        """Some more."""
        self.seconds += seconds
        self.drawn += drawn

    def each(self) -> float:
        """Seconds for one; 0 where none was drawn."""
        return self.seconds / self.drawn if self.drawn else 0.0


class Agreements:
    """The bits of one task, model, seed and number of proposals; ``drawn`` (rows,) says how many each row has."""

    def __init__(self, path: Path, identity: Mapping[str, Any], most: int) -> None:
        self._path = path
        self._identity = dict(identity)
        self._n_bytes = -(-most // 8)
        self._documents: dict[bytes, int] = {}
        self._rows: dict[tuple[int, int], int] = {}
        self._bits = np.zeros((0, self._n_bytes), np.uint8)
        self.drawn = np.zeros(0, np.int32)
        self.spent = Spent()
        self._is_new = False
        if path.is_file():
            with _reading(path):
                self._load(_read(path, self._identity))

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, units: Sequence[Unit]) -> Rows:
        """The row of each occurrence of some units, in their order; those that are not known yet get one."""
        found = []
        for unit in units:
            document = self._documents.setdefault(digest(unit.text), len(self._documents))
            for positions in unit.positions:
                place = positions[0] if positions else EMPTY_PLACE
                found.append(self._rows.setdefault((document, place), len(self._rows)))
        if len(self._rows) > len(self.drawn):  # room for twice as many, so that growing takes no time
            more = 2 * len(self._rows) - len(self.drawn)
            self.drawn = np.concatenate([self.drawn, np.zeros(more, np.int32)])
            self._bits = np.concatenate([self._bits, np.zeros((more, self._n_bytes), np.uint8)])
        return np.array(found, np.intp)

    def read(self, rows: Rows) -> Bools:
        """The bits of some rows, (rows, samples of the deepest); what a row lacks is False."""
        deepest = int(self.drawn[rows].max(initial=0))
        bits = self._bits[rows, : -(-deepest // 8)]
        return np.unpackbits(bits, axis=1, count=deepest, bitorder="little").astype(bool)

    def add(self, rows: Rows, agreed: Bools) -> None:
        """The next samples of some rows, (rows, n)."""
        bits = np.unpackbits(self._bits[rows], axis=1, bitorder="little")
        places = self.drawn[rows][:, None] + np.arange(agreed.shape[1])
        np.put_along_axis(bits, places, agreed.astype(np.uint8), axis=1)
        self._bits[rows] = np.packbits(bits, axis=1, bitorder="little")
        self.drawn[rows] += agreed.shape[1]
        self._is_new = True

    def save(self) -> None:
        """Write down what is there, if something is new."""
        if not self._is_new:
            return
        where = np.array([*self._rows], np.int32).reshape(-1, 2)
        n_bytes = -(-int(self.drawn.max(initial=0)) // 8)
        columns: dict[str, NDArray[Any]] = {
            "documents": np.frombuffer(b"".join(self._documents), np.uint8).reshape(-1, DIGEST),
            "where": where,
            "drawn": self.drawn[: len(where)],
            "bits": self._bits[: len(where), :n_bytes],
        }
        _write(self._path, {**self._identity, "spent": asdict(self.spent)}, columns)
        self._is_new = False

    def _load(self, stored: Mapping[str, Any]) -> None:
        documents = _column(stored, "documents", "u", (None, DIGEST))
        where = _column(stored, "where", "i", (None, 2))
        drawn = _column(stored, "drawn", "i", (len(where),))
        bits = _column(stored, "bits", "u", (len(where), None))
        _check(len({row.tobytes() for row in documents}) == len(documents), "a document is there twice")
        _check(len({*map(tuple, where.tolist())}) == len(where), "an occurrence is there twice")
        _check(((where >= (0, EMPTY_PLACE)) & (where < (len(documents), NO_PLACE))).all(), "an occurrence is nowhere")
        _check(bits.itemsize == 1 and bits.shape[1] <= self._n_bytes, "it holds more samples than are drawn")
        _check(((drawn >= 0) & (drawn <= 8 * bits.shape[1])).all(), "samples are counted that are not there")
        self._documents = {row.tobytes(): number for number, row in enumerate(documents)}
        self._rows = {(document, place): row for row, (document, place) in enumerate(where.tolist())}
        self.drawn = drawn.astype(np.int32)
        self._bits = np.zeros((len(self.drawn), self._n_bytes), np.uint8)
        self._bits[:, : bits.shape[1]] = bits
        self.spent = _spent(stored)


class KeptProbabilities(MutableMapping[str, NDArray[np.float64]]):
    """The keep probabilities of documents by their texts, in a file of their own; ``spent`` counts words."""

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self._path = path
        self._identity = dict(identity)
        self._values: dict[bytes, NDArray[np.float64]] = {}
        self.spent = Spent()
        self._is_new = False
        if path.is_file():
            with _reading(path):
                self._load(_read(path, self._identity))

    def _load(self, stored: Mapping[str, Any]) -> None:
        documents = _column(stored, "documents", "u", (None, DIGEST))
        n_words = _column(stored, "n_words", "i", (len(documents),))
        keep = _column(stored, "keep", "f", (None,))
        _check((n_words >= 0).all() and int(n_words.sum()) == len(keep), "it has not a probability for each word")
        _check(((keep >= 0) & (keep <= 1)).all(), "a probability is none")
        parts = np.split(keep, np.cumsum(n_words)[:-1])
        self._values = {row.tobytes(): part for row, part in zip(documents, parts)}
        self.spent = _spent(stored)

    def __getitem__(self, text: str) -> NDArray[np.float64]:
        return self._values[digest(text)]

    def __setitem__(self, text: str, keep: NDArray[np.float64]) -> None:
        self._values[digest(text)] = keep
        self._is_new = True

    def __delitem__(self, text: str) -> None:
        del self._values[digest(text)]

    def __iter__(self) -> Iterator[str]:
        raise TypeError("Texts are known by their hashes only.")

    def __contains__(self, text: object) -> bool:
        return digest(str(text)) in self._values

    def __len__(self) -> int:
        return len(self._values)

    def save(self) -> None:
        """Write down what is there, if something is new."""
        if not self._is_new:
            return
        columns: dict[str, NDArray[Any]] = {
            "documents": np.frombuffer(b"".join(self._values), np.uint8).reshape(-1, DIGEST),
            "n_words": np.array([len(keep) for keep in self._values.values()], np.int32),
            "keep": np.concatenate([*self._values.values()]),
        }
        _write(self._path, {**self._identity, "spent": asdict(self.spent)}, columns)
        self._is_new = False


def digest(text: str) -> bytes:
    """A text's short hash."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST]


def _read(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a file, if it was made with what is wanted."""
    with np.load(path) as file:
        stored: dict[str, Any] = {name: file[name] for name in file.files}
    stored["identity"] = json.loads(str(stored["identity"]))
    for name, value in identity.items():
        if stored["identity"].get(name) != value:
            raise RunFolderError(
                f"{path} holds samples of another {name} ({stored['identity'].get(name)}, not {value}): give another "
                "--out, or take the file out."
            )
    return stored


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever is wrong with what a file holds becomes one sentence."""
    try:
        yield
    except UNREADABLE as error:
        raise RunFolderError(f"{path} cannot be read ({brief(error)}); take it out of the folder.") from error


def _column(stored: Mapping[str, Any], name: str, kind: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """A column, if it is of its kind and shape."""
    column: NDArray[Any] = stored[name]
    fits = len(column.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, column.shape))
    _check(fits and column.dtype.kind == kind, f"{name} is {column.dtype} of shape {column.shape}")
    return column


def _spent(stored: Mapping[str, Any]) -> Spent:
    spent = Spent(**stored["identity"]["spent"])
    _check(isfinite(spent.seconds) and spent.seconds >= 0 and spent.drawn >= 0, "it took less than no time")
    return spent


def _check(is_sound: Any, fault: str) -> None:
    if not is_sound:
        raise ValueError(fault)


def _write(path: Path, identity: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> None:
    """Write a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.stem}.{os.getpid()}.part.npz")
    np.savez_compressed(draft, identity=json.dumps(identity), **columns)  # type: ignore[arg-type]  # a str becomes an array
    os.replace(draft, path)

"""The rows of a journal, read with distrust: a journal may come from elsewhere.

SQLite keeps anything in any column, so a cell may hold a value of any kind, and a number may be none that a run
writes: all of a run's are finite. Whatever is wrong with the rows is a RunFolderError of one sentence: ``reading`` says
it for a block, ``defensive`` for a method.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from anchorscope.errors import RunFolderError
from anchorscope.journal.columns import ROW, Rows, unpacked
from anchorscope.types import Cost

P = ParamSpec("P")
T = TypeVar("T")

UNREADABLE = (
    *(sqlite3.Error, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError),
)
"""What reading a journal may raise that no run has written."""


class _InFolder(Protocol):
    _folder: Path


Reader = TypeVar("Reader", bound=_InFolder)


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Whatever is wrong with what a journal holds becomes one sentence."""
    try:
        yield
    except UNREADABLE as error:
        raise RunFolderError(
            f"The journal in {folder} holds what no run has written ({type(error).__name__}: {error}); "
            "start afresh in another --out."
        ) from error


def defensive(read: Callable[Concatenate[Reader, P], T]) -> Callable[Concatenate[Reader, P], T]:
    """A method that reads what may come from elsewhere."""

    @wraps(read)
    def read_defensively(self: Reader, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with reading(self._folder):
            return read(self, *args, **kwargs)

    return read_defensively


def of_kinds(rows: Iterable[tuple[Any, ...]], *kinds: Any) -> Iterator[tuple[Any, ...]]:
    """The rows, each cell of its kind, and finite.

    >>> list(of_kinds([(0, "a film"), (1, b"a film")], int, str))
    Traceback (most recent call last):
    TypeError: a cell holds a value of type bytes
    """
    for row in rows:
        for value, kind in zip(row, kinds, strict=True):
            if not isinstance(value, kind):
                raise TypeError(f"a cell holds a value of type {type(value).__name__}")
            if isinstance(value, float):
                finite(value)
        yield row


def finite(number: float | str) -> float:
    """A number, or the digits of one, that is neither infinite nor NaN.

    >>> finite("1e999")
    Traceback (most recent call last):
    ValueError: a number is inf
    """
    value = float(number)
    if not isfinite(value):
        raise ValueError(f"a number is {value}")
    return value


def read_json(text: str) -> Any:
    """The values of a cell that holds JSON, every number of them finite."""
    return json.loads(text, parse_constant=finite, parse_float=finite)


def read_meta(db: sqlite3.Connection) -> dict[str, Any]:
    """What a run is, by name."""
    return {key: read_json(value) for key, value in db.execute("SELECT key, value FROM meta")}


def read_costs(db: sqlite3.Connection) -> dict[int, Cost]:
    """What each closed round took, by number."""
    rows = db.execute("SELECT number, cost FROM rounds ORDER BY number")
    return {number: Cost(**read_json(cost)) for number, cost in rows}


def read_round(db: sqlite3.Connection, number: int) -> Rows:
    """What a closed round measured."""
    (blob,) = db.execute("SELECT rows FROM measurements WHERE round = ?", (number,)).fetchone()
    return unpacked(blob)


def read_all_rounds(db: sqlite3.Connection) -> Rows:
    """What all closed rounds measured, one after another."""
    blobs = [blob for (blob,) in db.execute("SELECT rows FROM measurements ORDER BY round")]
    return np.concatenate([np.empty(0, ROW), *map(unpacked, blobs)])

"""The file of a journal: one SQLite database, its tables and their version, opened and read with distrust.

    meta       settings, fingerprints of documents, model and perturbator, versions
    labels     number, name
    documents  number, key, label that came with it, predicted label, confidence, all probabilities
    terms      number, term, how it is written, occurrences in the training set, documents with it not asked about
    counts     label, term: occurrences and documents that hold it, what the surrogate expects of them
    surrogate  fold, label: the weights of all terms, as they were fitted
    placebo    label: what any words like each term would do in its documents, as the first round tells, and by
               how much that may be wrong
    rounds     number, cost
    measurements  round, what it measured, packed (``measurements.py``)
    skips      round, label, term, how many
    prefixes   label, term: the documents that a race has counted, in the order of priority
    evidence   label, term, document, ordinal, anchor, perturbed text, whether the word is in it, whether it agreed
    texts      document, text: the documents of the evidence
    moments    round, what was shown then: cost, and for each label its terms, regret and the mean width of intervals

A journal may come from elsewhere. It is read only if it has the tables above and nothing else: no view or trigger can
stand in for them. SQLite keeps anything in any column, so a cell may hold a value of any kind, and a number may be none
that a run writes: all of a run's are finite. Whatever is wrong with what is read is a RunFolderError of one sentence:
``reading`` says it for a block, ``defensive`` for a method.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from anchorscope.errors import RunFolderError, in_a_line
from anchorscope.files import schema_made_by, schema_of
from anchorscope.journal.measurements import ROW, Rows, unpacked
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


JOURNAL_SCHEMA = 2

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE labels (number INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, label TEXT, predicted INTEGER NOT NULL, confidence REAL NOT NULL,
    probabilities BLOB NOT NULL
);
CREATE TABLE terms (
    number INTEGER PRIMARY KEY, term TEXT NOT NULL, written TEXT NOT NULL, training INTEGER NOT NULL,
    beyond INTEGER NOT NULL
);
CREATE TABLE counts (
    label INTEGER, term INTEGER, occurrences INTEGER NOT NULL, documents INTEGER NOT NULL, expected REAL NOT NULL,
    PRIMARY KEY (label, term)
) WITHOUT ROWID;
CREATE TABLE surrogate (
    fold INTEGER, label INTEGER, explained REAL NOT NULL, weights BLOB NOT NULL, PRIMARY KEY (fold, label)
);
CREATE TABLE placebo (label INTEGER PRIMARY KEY, of_terms BLOB NOT NULL, error BLOB NOT NULL);
CREATE TABLE rounds (number INTEGER PRIMARY KEY, cost TEXT NOT NULL);
CREATE TABLE measurements (round INTEGER PRIMARY KEY, rows BLOB NOT NULL);
CREATE TABLE skips (round INTEGER, label INTEGER, term INTEGER, n INTEGER NOT NULL, PRIMARY KEY (round, label, term))
WITHOUT ROWID;
CREATE TABLE prefixes (label INTEGER, term INTEGER, documents INTEGER NOT NULL, PRIMARY KEY (label, term))
WITHOUT ROWID;
CREATE TABLE evidence (
    label INTEGER, term INTEGER, document INTEGER, ordinal INTEGER, anchor INTEGER, text TEXT, present INTEGER,
    agreed INTEGER
);
CREATE TABLE texts (document INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE moments (round INTEGER PRIMARY KEY, moment TEXT NOT NULL);
"""


def make_tables(db: sqlite3.Connection) -> None:
    """Make the tables, all or none, if they are not there."""
    if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0]:
        with db:
            db.executescript("BEGIN;" + _TABLES)
            db.execute("INSERT INTO meta VALUES ('schema', ?)", (str(JOURNAL_SCHEMA),))


def check_tables(db: sqlite3.Connection, folder: Path) -> None:
    """Refuse another version, and whatever else than the tables of a run; nothing is read from other tables."""
    try:
        tables = schema_of(db)
        meta = next(one for one in schema_made_by(_TABLES) if one[1] == "meta")
        found = _values(db).get("schema") if meta in tables else None
    except (sqlite3.DatabaseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise unopened(folder, error) from error
    if found is not None and found != JOURNAL_SCHEMA:
        raise RunFolderError(
            f"The journal in {folder} has schema {in_a_line(found)}, this version reads {JOURNAL_SCHEMA}; "
            "start afresh in another --out."
        )
    if found is None or tables != schema_made_by(_TABLES):
        raise RunFolderError(
            f"The journal in {folder} has other tables than a run writes; start afresh in another --out."
        )
    _check_pages(db, folder)


def _check_pages(db: sqlite3.Connection, folder: Path) -> None:
    """Refuse a file in which a page belongs to two cells: a megabyte could say of each cell that it holds all of it,
    and ask for terabytes. SQLite looks at every page once, and ends where it finds the first fault."""
    try:
        (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        raise unopened(folder, error) from error
    if found != "ok":
        raise unopened(folder, sqlite3.DatabaseError("its pages are not those of its tables"))


def unopened(folder: Path, error: Exception) -> RunFolderError:
    """A journal that cannot be opened: for want of room or rights, or because it is none."""
    if "full" in str(error) or "I/O" in str(error) or "readonly" in str(error):
        return RunFolderError(f"The journal in {folder} cannot be opened ({error}); make room or check the rights.")
    return RunFolderError(f"The journal in {folder} cannot be read ({error}); start afresh in another --out.")


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Whatever is wrong with what a journal holds becomes one sentence."""
    try:
        yield
    except UNREADABLE as error:
        raise unreadable(folder, error) from error


def defensive(read: Callable[Concatenate[Reader, P], T]) -> Callable[Concatenate[Reader, P], T]:
    """A method that reads what may come from elsewhere."""

    @wraps(read)
    def read_defensively(self: Reader, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(self, *args, **kwargs)
        except UNREADABLE as error:
            raise unreadable(self._folder, error) from error

    return read_defensively


def unreadable(folder: Path, error: Exception) -> RunFolderError:
    """A journal with something in it that no run has written."""
    return RunFolderError(
        f"The journal in {folder} holds what no run has written ({type(error).__name__}: {error}); "
        "start afresh in another --out."
    )


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
                refuse_endless(value)
        yield row


def refuse_endless(number: float | str) -> float:
    """A number, or the digits of one, that is neither infinite nor NaN.

    >>> refuse_endless("1e999")
    Traceback (most recent call last):
    ValueError: a number is inf
    """
    value = float(number)
    if not isfinite(value):
        raise ValueError(f"a number is {value}")
    return value


def read_json(text: str) -> Any:
    """The values of a cell that holds JSON, every number of them finite."""
    return json.loads(text, parse_constant=refuse_endless, parse_float=refuse_endless)


COUNTED = ("drawn", "asked", "tokens", "kept")
"""What a run counts before its first round: documents drawn, texts and tokens asked about, answers that were kept."""


def read_meta(db: sqlite3.Connection) -> dict[str, Any]:
    """What a run is, by name; what is counted there are counts, and what are names are strings."""
    meta = _values(db)
    counts = {name: meta[name] for name in COUNTED if name in meta}
    if "documents" in meta:
        counts["usable"] = meta["documents"]["usable"]
    for name, value in counts.items():
        if type(value) is not int or not 0 <= value < LARGEST_COUNT:
            raise ValueError(f"{name} is no count")
    columns = meta.get("columns")
    if columns is not None and not (isinstance(columns, list) and all(isinstance(name, str) for name in columns)):
        raise ValueError("the columns of the model are no names")
    return meta


LARGEST_COUNT = 1 << 63


def _values(db: sqlite3.Connection) -> dict[str, Any]:
    """The rows of ``meta``, whatever they hold."""
    return {key: read_json(value) for key, value in db.execute("SELECT key, value FROM meta")}


def read_costs(db: sqlite3.Connection) -> dict[int, Cost]:
    """What each closed round took, by number."""
    rows = db.execute("SELECT number, cost FROM rounds ORDER BY number")
    return {number: _cost(read_json(cost)) for number, cost in rows}


LARGEST_COST = 1 << 53
"""What no round takes of anything: beyond it, whole numbers are no longer told apart in JSON and on a page."""


def _cost(told: Mapping[str, Any]) -> Cost:
    """What a round took, as a run writes it: a budget goes by it, so none of it is below zero.

    >>> _cost({"tests": -3})
    Traceback (most recent call last):
    ValueError: the tests of a round are no count
    """
    cost = Cost(**told)
    for name in Cost.__slots__:
        value = getattr(cost, name)
        kinds: tuple[type, ...] = (int, float) if name == "seconds" else (int,)
        if type(value) not in kinds or not 0 <= value < LARGEST_COST:
            raise ValueError(f"the {name} of a round are no count")
    return cost


def read_round(db: sqlite3.Connection, number: int) -> Rows:
    """What a closed round measured."""
    (blob,) = db.execute("SELECT rows FROM measurements WHERE round = ?", (number,)).fetchone()
    return unpacked(blob)


def read_all_rounds(db: sqlite3.Connection) -> Rows:
    """What all closed rounds measured, one after another."""
    blobs = [blob for (blob,) in db.execute("SELECT rows FROM measurements ORDER BY round")]
    return np.concatenate([np.empty(0, ROW), *map(unpacked, blobs)])

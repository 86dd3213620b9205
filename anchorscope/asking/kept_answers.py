"""Answers that were paid for are kept: on disk, outside of run folders, for every run that asks the same of a model.

An answer is found by a hash of the model's fingerprint, its labels and the text; no text is in the file. What is found
there is not asked for, though a budget counts it. Kept are the answers of models behind HTTP, and of models in files
that take more than a millisecond a text; below that, asking again is as quick as looking. ``kept_for`` says what else
can be.

    ~/.cache/anchorscope/answers.sqlite      or the folder that ANCHORSCOPE_CACHE names; "off" keeps nothing

What a model calls its columns is kept beside its answers, which are read by position: an order that turns between two
runs is refused as one that turns within a run is.

The file grows to a limit; then the oldest answers go. A file that cannot be read or written, or is not surely our own
(``answers_file.py``), is done without, and told once; a row in it that is no answer is not found. A model that changes
behind the same address keeps its fingerprint, so its old answers are found: --no-cache asks.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import are_distributions, batches
from anchorscope.asking.answers_file import ANSWERS, open_answers
from anchorscope.types import Predictor

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
T = TypeVar("T")

VARIABLE = "ANCHORSCOPE_CACHE"
LIMIT = 512
"""Megabytes that the file may take: some four million answers."""

SLOW = 1e-3
"""Seconds a text from which on answers are kept."""

SURELY_SLOW = 20e-3
"""Seconds a text that even the first call of a model, which may have to warm up, takes for no other reason."""

AT_ONCE = 500
"""Keys in one question to the file."""


def cache_folder() -> Path | None:
    """Where answers are kept; None where they are not to be."""
    named = os.environ.get(VARIABLE)
    if named == "off":
        return None
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anchorscope"


def kept_for(predictor: Predictor, wanted: bool | None = None, megabytes: float = LIMIT) -> KeptAnswers | None:
    """Where the answers of a model are kept; None where they are not.

    Unless they are ``wanted``, only those of models whose fingerprint is all that they depend on: a file, an address. A
    function or a class of one's own may be changed without a sign of it, and old answers would be taken for new ones.
    """
    folder = cache_folder()
    whole = getattr(predictor, "is_fully_fingerprinted", False)
    if folder is None or wanted is False or not (whole or wanted):
        return None
    always = bool(wanted) or getattr(predictor, "is_remote", False)
    return KeptAnswers(folder, predictor.fingerprint, predictor.labels, always=always, megabytes=megabytes)


class KeptAnswers:
    """The answers of one model; ``always`` keeps them however quick it is."""

    def __init__(
        self, folder: Path, fingerprint: str, labels: Sequence[str], *, always: bool = False, megabytes: float = LIMIT
    ) -> None:
        self._file = folder / ANSWERS
        self._model = sha256("\0".join([fingerprint, *labels]).encode("utf-8", "surrogatepass")).digest()
        self._width = len(labels)
        self._bytes = megabytes * 1e6
        self._lock = Lock()
        self._database: sqlite3.Connection | None = None
        self._is_broken = False
        self._n_calls = 0
        self._seconds = 0.0
        self._n_texts = 0
        self.has_probabilities: bool | None = None
        self.columns: list[str] | None = None  # what the model called them, where its answers are
        self.is_used = always or bool(self._safely(self._knows_model, False))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_database": None}  # a connection belongs to its process

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()

    def timed(self, n_texts: int, seconds: float) -> None:
        """Take note of how long a call took: answers are kept once the model is found to be slow."""
        self._n_calls += 1
        if self._n_calls == 1:
            self.is_used |= seconds > SURELY_SLOW * n_texts
            return
        self._seconds += seconds
        self._n_texts += n_texts
        self.is_used |= self._seconds > SLOW * self._n_texts

    def find(self, texts: Sequence[str]) -> dict[int, Floats]:
        """The rows that are kept, by the place of their text."""
        if not self.is_used or self._is_broken:
            return {}
        keys = [self._key(text) for text in texts]
        nothing: dict[bytes, Floats] = {}
        rows = self._safely(lambda database: self._rows(database, keys), nothing)
        return {place: rows[key] for place, key in enumerate(keys) if key in rows}

    def keep(
        self, texts: Sequence[str], rows: Floats, has_probabilities: bool, columns: Sequence[str] | None = None
    ) -> None:
        """Write answers down; where those that are kept have other ``columns``, these stay, and nothing is written."""
        if not self.is_used or self._is_broken or not len(texts):
            return
        self.has_probabilities = has_probabilities
        values = [(self._key(text), row.tobytes()) for text, row in zip(texts, np.asarray(rows, np.float64))]

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.execute("INSERT OR REPLACE INTO models VALUES (?, ?)", (self._model, has_probabilities))
                if columns is not None:
                    written = (self._model, json.dumps([*columns]))
                    database.execute("INSERT OR IGNORE INTO columns VALUES (?, ?)", written)
                self._read_columns(database)
                if columns in (None, self.columns):
                    database.executemany("INSERT OR REPLACE INTO answers (key, row) VALUES (?, ?)", values)
            self._shrink(database)

        self._safely(write, None)

    def _key(self, text: str) -> bytes:
        return sha256(self._model + text.encode("utf-8", "surrogatepass")).digest()

    def _knows_model(self, database: sqlite3.Connection) -> bool:
        asked = "SELECT has_probabilities FROM models WHERE model = ? AND has_probabilities IN (0, 1)"
        found = database.execute(asked, (self._model,)).fetchone()
        if found is not None:
            self.has_probabilities = bool(found[0])
        return found is not None

    def _read_columns(self, database: sqlite3.Connection) -> None:
        """What the model's columns were called in the answers that are kept, if they said it."""
        found = database.execute("SELECT names FROM columns WHERE model = ?", (self._model,)).fetchone()
        if found is not None:
            self.columns = _names(found[0])

    def _rows(self, database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The rows by their keys; what lies there and is no distribution over the labels is passed over."""
        self._read_columns(database)
        found: list[tuple[bytes, bytes]] = []
        for some in batches(keys, AT_ONCE):
            asked = (
                f"SELECT key, row FROM answers WHERE key IN ({','.join('?' * len(some))}) "
                "AND typeof(row) = 'blob' AND length(row) = ?"
            )
            found += database.execute(asked, (*some, 8 * self._width)).fetchall()
        rows = np.frombuffer(b"".join(row for _, row in found)).reshape(len(found), self._width)
        return {key: row for (key, _), row, good in zip(found, rows, are_distributions(rows)) if good}

    def _shrink(self, database: sqlite3.Connection) -> None:
        """Let the oldest quarter go, where the file is larger than it may be."""
        pages = ("page_count", "freelist_count", "page_size")
        n_pages, n_free, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in pages)
        if (n_pages - n_free) * size <= self._bytes:
            return
        with database:
            least, most = database.execute("SELECT min(number), max(number) FROM answers").fetchone()
            if least is not None:  # the names of many models fill a small file, too
                database.execute("DELETE FROM answers WHERE number <= ?", (least + (most - least) // 4,))

    def _safely(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """What ``work`` gives; where the file fails, it is done without from then on."""
        if self._is_broken:
            return otherwise
        try:
            with self._lock:
                if self._database is None:
                    self._database = open_answers(self._file)
                return work(self._database)
        except (sqlite3.Error, OSError, ValueError) as error:
            self._is_broken = True
            log.warning("Answers are not kept: %s cannot be used (%s).", self._file, error)
            return otherwise


def _names(written: Any) -> list[str]:
    """Names of columns as they were written down; a ValueError where that is something else."""
    try:
        names = json.loads(written)
    except (TypeError, ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("names of columns in it are none")
    return names

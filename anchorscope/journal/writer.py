"""What a run writes down, and how it goes on: one transaction a round into the tables of ``database.py``.

A kill at any point loses at most the round in flight, or the piece of predictions. A lock file lets one process write
at a time; readers (``reader.py``) need none. No text of a document is stored, but for the evidence of shown terms and
the documents that it comes from; and not even those where the run was asked to keep no texts.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.errors import RunFolderError, StorageError
from anchorscope.files import JOURNAL, refuse_foreign, refuse_irregular, remove_drafts
from anchorscope.journal.database import (
    defensive,
    of_kinds,
    read_costs,
    read_meta,
    read_round,
)
from anchorscope.journal.measurements import Rows, packed
from anchorscope.journal.opening import INDEX, LOG, open_for_writing
from anchorscope.planning.collection import Collection, Predictions
from anchorscope.planning.plan import Skips
from anchorscope.scoring.surrogate import N_FOLDS, Surrogate
from anchorscope.types import Cost, Document

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = "journal.lock"
"""The file that one process holds while it writes."""

LOOKING_SECONDS = 0.1
"""A lock that is held for longer is held by a writer."""


class Journal:
    """The journal of one run, open for writing."""

    def __init__(self, folder: Path) -> None:
        """Open or create; refuse at once if another process writes here."""
        self._folder = folder
        self._meta: dict[str, Any] | None = None  # not read yet
        # What is not there yet is what this run makes: bad input takes that away again, and nothing of anybody else's.
        self._made_folders = [path for path in (folder, *folder.parents) if not path.exists()]
        self._made_lock = not (folder / LOCK).exists()
        self._lock = _locked(folder)  # first: what follows must be the only writer's
        self._held = _file_of(folder / LOCK)
        remove_drafts(folder)
        self.is_new = not (folder / JOURNAL).exists()
        try:
            self._db = open_for_writing(folder)
        except BaseException:
            self._lock.release()
            self._tidy()
            raise

    def close(self) -> None:
        """Close the file and let the next writer in."""
        self._db.close()  # what a full disk leaves in the write-ahead log is read from there
        with suppress(OSError):  # a model has closed it: whoever has no file has no lock
            self._lock.release()

    def discard(self) -> None:
        """Remove the journal, its lock and the folders that were made for them: bad input leaves nothing behind."""
        is_there = self.is_there()  # while the lock is held nobody else's file can be taken for it
        self.close()
        if is_there:
            for name in (JOURNAL, LOG, INDEX):
                (self._folder / name).unlink(missing_ok=True)
            self._tidy()

    def withdraw(self) -> None:
        """Close a journal that was there before and was refused: its folder may be somebody else's."""
        is_there = self.is_there()
        self.close()
        if is_there:
            self._tidy()

    def _tidy(self) -> None:
        """Remove the lock and the folders, where they were made here."""
        with suppress(OSError):
            if self._made_lock:
                (self._folder / LOCK).unlink()
        for folder in self._made_folders:
            with suppress(OSError):  # somebody has put something there
                folder.rmdir()

    def is_there(self) -> bool:
        """Whether its folder is still the one in which it lies, and not gone, or made anew by another run."""
        return _file_of(self._folder / LOCK) == self._held

    def check_place(self) -> None:
        """Refuse to write where this run's folder is no more: what lies there by now is another run's."""
        if not self.is_there():
            raise StorageError(
                f"{self._folder} is not the folder any more in which this run began (it was moved, removed or made "
                "anew meanwhile), so nothing more is written there; a folder that was moved goes on with --resume."
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All that is written inside, or nothing of it."""
        self.check_place()
        try:
            with self._db:
                yield
        except sqlite3.OperationalError as error:
            raise StorageError(
                f"The journal in {self._folder} cannot be written ({error}); "
                "what it held is kept: make room, then go on with --resume."
            ) from error
        except sqlite3.Error as error:
            raise RunFolderError(
                f"The journal in {self._folder} does not take what this run writes ({error}): "
                "it holds what no run has written; start afresh in another --out."
            ) from error

    @defensive
    def meta(self) -> dict[str, Any]:
        """What was written by ``begin``: empty for a new journal."""
        if self._meta is None:
            self._meta = read_meta(self._db)
        return self._meta

    def begin(self, meta: Mapping[str, Any]) -> None:
        """Write down what this run is."""
        with self._transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", [(k, json.dumps(v)) for k, v in meta.items()]
            )
        self._meta = None

    @defensive
    def holds_predictions(self) -> bool:
        """Whether the model's answers about the documents are written down."""
        return bool(self._db.execute("SELECT count(*) FROM documents").fetchone()[0])

    @defensive
    def read_predictions(self, n_documents: int, n_labels: int) -> NDArray[np.float64] | None:
        """The model's answers (documents, labels), if they were written down."""
        query = "SELECT number, predicted, confidence, probabilities FROM documents ORDER BY number"
        rows = [*of_kinds(self._db.execute(query), int, int, float, bytes)]
        if not rows:
            return None
        numbers, labels, confidence, blobs = zip(*rows)
        if len(rows) > n_documents or numbers != (*range(len(rows)),):
            raise LookupError("its documents are not the first ones of the run, one after another")
        if any(len(blob) != 8 * n_labels for blob in blobs):
            raise LookupError("it knows labels that there are not")
        # Little-endian doubles, bit for bit as they were: a run that goes on plans the same.
        found = np.frombuffer(b"".join(blobs), "<f8").reshape(len(rows), n_labels)
        said = Predictions.of(found)
        if (said.labels != labels).any() or (said.confidence != confidence).any() or not (found >= 0).all():
            raise LookupError("what it says of a document is not what its probabilities say")
        return found

    def write_predictions(self, start: int, documents: Sequence[Document], rows: NDArray[np.float64]) -> None:
        """Write down what the model says of some documents, which are numbered from ``start``."""
        predictions = Predictions.of(rows)
        said = zip(
            documents, predictions.labels.tolist(), predictions.confidence.tolist(), rows.astype("<f8", copy=False)
        )
        with self._transaction():
            self._db.executemany(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (i, d.key, d.label, label, confidence, row.tobytes())
                    for i, (d, label, confidence, row) in enumerate(said, start)
                ),
            )

    def write_collection(self, collection: Collection) -> None:
        """Write down the labels, the candidates, and what is known of them (once)."""
        if self._holds_terms():
            return
        tally = collection.tally
        labels, terms = np.nonzero(tally.occurrences)  # most terms are in the documents of a few labels only
        known = (tally.occurrences, tally.documents, collection.expected_of_all())
        counts = (labels, terms, *(column[labels, terms] for column in known))
        with self._transaction():
            self._db.executemany("INSERT INTO labels VALUES (?, ?)", enumerate(collection.labels))
            self._db.executemany(
                "INSERT INTO terms VALUES (?, ?, ?, ?, ?)",
                enumerated(
                    collection.terms, collection.written, collection.training.tolist(), collection.beyond.tolist()
                ),
            )
            self._db.executemany("INSERT INTO counts VALUES (?, ?, ?, ?, ?)", zip(*(c.tolist() for c in counts)))

    @defensive
    def read_surrogate(self, n_labels: int, n_terms: int) -> Surrogate | None:
        """The surrogate as it was fitted, if it was."""
        rows = [*of_kinds(self._db.execute("SELECT * FROM surrogate ORDER BY fold, label"), int, int, float, bytes)]
        if not rows:
            return None
        places = [(fold, label) for fold, label, _, _ in rows]
        n_folds = len({fold for fold, _ in places})
        if places != [(fold, label) for fold in range(n_folds) for label in range(n_labels)]:
            raise LookupError("its surrogate is not complete")
        if n_folds != N_FOLDS:
            raise RunFolderError(
                f"The surrogate of the run in {self._folder} was fitted by another version, in {n_folds} folds where "
                f"this one has {N_FOLDS}; begin a new run in another --out."
            )
        weights = np.frombuffer(b"".join(blob for *_, blob in rows), "<f8").reshape(N_FOLDS, n_labels, n_terms)
        if not np.isfinite(weights).all():
            raise ValueError("a weight of its surrogate is not finite")
        return Surrogate(weights, np.array([explained for _, _, explained, _ in rows[:n_labels]]))

    def write_surrogate(self, surrogate: Surrogate) -> None:
        """Write down the surrogate, which is not fitted again when the run goes on."""
        with self._transaction():
            self._db.executemany(
                "INSERT INTO surrogate VALUES (?, ?, ?, ?)",
                (
                    (fold, label, float(surrogate.explained[label]), weights.astype("<f8").tobytes())
                    for fold, of_fold in enumerate(surrogate.weights)
                    for label, weights in enumerate(of_fold)
                ),
            )

    def write_placebo(self, placebo: NDArray[np.float64]) -> None:
        """Write down what any words would do in the documents of each term, and its error, (2, labels, terms)."""
        packed = placebo.astype("<f8")
        with self._transaction():
            rows = ((label, packed[0, label].tobytes(), packed[1, label].tobytes()) for label in range(packed.shape[1]))
            self._db.executemany("INSERT OR REPLACE INTO placebo VALUES (?, ?, ?)", rows)

    @defensive
    def _holds_terms(self) -> bool:
        return bool(self._db.execute("SELECT count(*) FROM terms").fetchone()[0])

    @defensive
    def closed_rounds(self) -> dict[int, Cost]:
        """The costs of the rounds that are complete, by number."""
        return read_costs(self._db)

    @defensive
    def read_round(self, number: int) -> Rows:
        """What a closed round measured."""
        return read_round(self._db, number)

    def write_round(
        self, number: int, rows: Rows, skips: Skips, prefixes: Iterable[tuple[int, int, int]], cost: Cost
    ) -> None:
        """Close a round, whole or not at all: what it measured, what it skipped, and its cost.

        A round that could not be afforded in full is written again when it can.
        """
        # One transaction: a kill leaves the round before it, never a half of this one.
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO measurements VALUES (?, ?)", (number, packed(rows)))
            self._db.executemany("INSERT OR REPLACE INTO skips VALUES (?, ?, ?, ?)", ((number, *s) for s in skips))
            self._db.executemany("INSERT OR REPLACE INTO prefixes VALUES (?, ?, ?)", prefixes)
            self._db.execute("INSERT OR REPLACE INTO rounds VALUES (?, ?)", (number, json.dumps(asdict(cost))))

    def write_moment(self, number: int, moment: Mapping[str, Any]) -> None:
        """Write down what was shown after a round, for the curves."""
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO moments VALUES (?, ?)", (number, json.dumps(moment)))

    def write_texts(self, texts: Iterable[tuple[int, str]]) -> None:
        """Replace the texts of the documents that the evidence comes from: (document, text) a row."""
        with self._transaction():
            self._db.execute("DELETE FROM texts")
            self._db.executemany(
                "INSERT INTO texts VALUES (?, ?)", ((document, _storable(text)) for document, text in texts)
            )

    def write_evidence(self, rows: Iterable[tuple[int, int, int, int, bool, str, bool, bool]]) -> None:
        """Replace the evidence: (label, term, document, ordinal, anchor, text, present, agreed) a row."""
        with self._transaction():
            self._db.execute("DELETE FROM evidence")
            self._db.executemany(
                "INSERT INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                ((*row[:5], _storable(row[5]), *row[6:]) for row in rows),
            )


def enumerated(*columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of some columns, each with its number in front."""
    return ((number, *row) for number, row in enumerate(zip(*columns, strict=True)))


def refuse_busy(folder: Path) -> None:
    """Refuse a folder that another process writes to, before anything heavy is loaded; what a kill left there goes."""
    if (folder / JOURNAL).exists() and refuse_irregular(folder / LOCK):  # without a lock nobody writes
        lock = _locked(folder)
        remove_drafts(folder)
        lock.release()


def _file_of(path: Path) -> tuple[int, int] | None:
    """Which file lies at a path, if any: as long as it is held open no other has its number."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _locked(folder: Path) -> BaseFileLock:
    """The lock of a folder, made if need be; whoever only looks holds it too briefly to be in the way."""
    from filelock import FileLock, Timeout

    refuse_foreign(folder / LOCK, is_ours=lambda content: not content)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK)
        lock.acquire(timeout=LOOKING_SECONDS)
    except Timeout as error:  # an OSError too
        raise RunFolderError(
            f"Another process is writing to {folder}; wait for it to end, or choose another --out."
        ) from error
    except OSError as error:
        raise RunFolderError(f"{folder} cannot be written to ({error}); choose another --out.") from error
    return lock


def _storable(text: str) -> str:
    """The text without halves of characters, which no file can hold.

    >>> _storable("great \\ud83d")
    'great ?'
    """
    return text.encode("utf-8", "replace").decode()

"""What a run writes down, and how it goes on: one SQLite file, one transaction a round.

    meta       settings, fingerprints of documents, model and perturbator, versions
    labels     number, name
    documents  number, key, label that came with it, predicted label, confidence
    terms      number, term, occurrences in the training set
    counts     label, term: occurrences and documents that hold it
    rounds     number, cost
    verdicts   document, position, term, anchor, decided, agreements, samples, threshold, gain, round
    skips      round, label, term, how many
    prefixes   label, term: the documents that a race has counted, in the order of priority
    evidence   label, term, document, position, anchor, perturbed text, whether the token is in it, whether it agreed
    texts      document, text: the documents of the evidence
    moments    round, what was shown then: cost, and for each label its terms, regret and the mean width of intervals

A kill at any point loses at most the round in flight, or the piece of predictions. A lock file lets one process write
at a time; readers need none. No text of a document is stored, but for the evidence of shown terms and the documents
that it comes from; and not even those where the run was asked to keep no texts.

A journal may come from elsewhere. It is read only if it has the tables above and nothing else (no view or trigger can
stand in for them), and whatever is wrong with its rows is a RunFolderError.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, wraps
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from anchorscope.collection import Collection, Predictions
from anchorscope.credit import Credit
from anchorscope.errors import RunFolderError, StorageError
from anchorscope.progress import Progress
from anchorscope.race import priority
from anchorscope.scan import Round
from anchorscope.settings import Settings
from anchorscope.tally import Tally
from anchorscope.types import EMPTY, Cost, Document, Verdict

if TYPE_CHECKING:
    from filelock import BaseFileLock

SCHEMA = 1
FILE = "journal.sqlite"

LOOKING_SECONDS = 0.1
"""A lock that is held for longer is held by a writer."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE labels (number INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, label TEXT, predicted INTEGER NOT NULL, confidence REAL NOT NULL
);
CREATE TABLE terms (number INTEGER PRIMARY KEY, term TEXT NOT NULL, training INTEGER NOT NULL);
CREATE TABLE counts (
    label INTEGER, term INTEGER, occurrences INTEGER NOT NULL, documents INTEGER NOT NULL, PRIMARY KEY (label, term)
) WITHOUT ROWID;
CREATE TABLE rounds (number INTEGER PRIMARY KEY, cost TEXT NOT NULL);
CREATE TABLE verdicts (
    document INTEGER, position INTEGER, term INTEGER, anchor INTEGER NOT NULL, decided INTEGER NOT NULL,
    agreements INTEGER NOT NULL, samples INTEGER NOT NULL, threshold REAL NOT NULL, gain REAL NOT NULL,
    round INTEGER NOT NULL,
    PRIMARY KEY (document, position)
) WITHOUT ROWID;
CREATE INDEX verdicts_by_round ON verdicts (round);
CREATE TABLE skips (round INTEGER, label INTEGER, term INTEGER, n INTEGER NOT NULL, PRIMARY KEY (round, label, term))
WITHOUT ROWID;
CREATE TABLE prefixes (label INTEGER, term INTEGER, documents INTEGER NOT NULL, PRIMARY KEY (label, term))
WITHOUT ROWID;
CREATE TABLE evidence (
    label INTEGER, term INTEGER, document INTEGER, position INTEGER, anchor INTEGER, text TEXT, present INTEGER,
    agreed INTEGER
);
CREATE TABLE texts (document INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE moments (round INTEGER PRIMARY KEY, moment TEXT NOT NULL);
"""


P = ParamSpec("P")
T = TypeVar("T")

VERDICT = (int, int, int, int, int, int, float, float)
"""document, position, anchor, decided, agreements, samples, threshold, gain"""

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


def _defensive(read: Callable[Concatenate[Reader, P], T]) -> Callable[Concatenate[Reader, P], T]:
    """A method that reads what may come from elsewhere."""

    @wraps(read)
    def read_defensively(self: Reader, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with reading(self._folder):
            return read(self, *args, **kwargs)

    return read_defensively


def _of_kinds(rows: Iterable[tuple[Any, ...]], *kinds: Any) -> Iterator[tuple[Any, ...]]:
    """The rows, each cell of its kind: SQLite keeps anything in any column."""
    for row in rows:
        for value, kind in zip(row, kinds, strict=True):
            if not isinstance(value, kind):
                raise TypeError(f"a cell holds a value of type {type(value).__name__}")
        yield row


class Journal:
    """The journal of one run, open for writing."""

    def __init__(self, folder: Path) -> None:
        """Open or create; refuse at once if another process writes here."""
        self._folder = folder
        self.is_new = not (folder / FILE).exists()
        self._lock = _locked(folder)
        try:
            self._db = _open(folder)
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Close the file and let the next writer in."""
        self._db.close()  # what a full disk leaves in the write-ahead log is read from there
        self._lock.release()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All that is written inside, or nothing of it."""
        try:
            with self._db:
                yield
        except sqlite3.OperationalError as error:
            raise StorageError(
                f"The journal in {self._folder} cannot be written ({error}); "
                "what it held is kept: make room, then go on with --resume."
            ) from error

    @_defensive
    def holds_predictions(self) -> bool:
        """Whether the model's answers about the documents are written down."""
        return bool(self._db.execute("SELECT count(*) FROM documents").fetchone()[0])

    def discard(self) -> None:
        """Remove the journal: bad input leaves nothing behind."""
        self._db.close()
        for name in (FILE, FILE + "-wal", FILE + "-shm"):
            (self._folder / name).unlink(missing_ok=True)

    @_defensive
    def meta(self) -> dict[str, Any]:
        """What was written by ``begin``: empty for a new journal."""
        return _meta(self._db)

    def begin(self, meta: Mapping[str, Any]) -> None:
        """Write down what this run is."""
        with self._transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", [(k, json.dumps(v)) for k, v in meta.items()]
            )

    @_defensive
    def read_predictions(self) -> Predictions | None:
        """The predictions, if they were written down."""
        rows = self._db.execute("SELECT predicted, confidence FROM documents ORDER BY number").fetchall()
        if not rows:
            return None
        return Predictions(np.array([p for p, _ in rows], np.int64), np.array([c for _, c in rows]))

    def write_predictions(self, start: int, documents: Sequence[Document], predictions: Predictions) -> None:
        """Write down what the model says of some documents, which are numbered from ``start``."""
        said = zip(documents, predictions.labels.tolist(), predictions.confidence.tolist())
        with self._transaction():
            self._db.executemany(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
                ((i, d.key, d.label, label, confidence) for i, (d, label, confidence) in enumerate(said, start)),
            )

    def write_collection(self, collection: Collection) -> None:
        """Write down the labels, the candidates, and what is known of them (once)."""
        if self._db.execute("SELECT count(*) FROM terms").fetchone()[0]:
            return
        tally = collection.tally()
        labels, terms = np.nonzero(tally.occurrences)
        counts = (labels, terms, tally.occurrences[labels, terms], tally.documents[labels, terms])
        with self._transaction():
            self._db.executemany("INSERT INTO labels VALUES (?, ?)", enumerate(collection.labels))
            self._db.executemany(
                "INSERT INTO terms VALUES (?, ?, ?)",
                ((i, t, n) for i, (t, n) in enumerate(zip(collection.terms, collection.training.tolist()))),
            )
            self._db.executemany("INSERT INTO counts VALUES (?, ?, ?, ?)", zip(*(c.tolist() for c in counts)))

    @_defensive
    def closed_rounds(self) -> dict[int, Cost]:
        """The costs of the rounds that are complete, by number."""
        rows = self._db.execute("SELECT number, cost FROM rounds ORDER BY number")
        return {number: Cost(**json.loads(cost)) for number, cost in rows}

    @_defensive
    def read_round(self, number: int) -> list[Verdict]:
        """The verdicts of a closed round."""
        rows = self._db.execute(
            "SELECT document, position, anchor, decided, agreements, samples, threshold, gain FROM verdicts "
            "WHERE round = ? ORDER BY document, position",
            (number,),
        )
        checked = _of_kinds(rows, *VERDICT)
        return [Verdict(d, p, bool(a), bool(c), n, s, t, g) for d, p, a, c, n, s, t, g in checked]

    def write_round(
        self,
        number: int,
        round_: Round,
        verdicts: Iterable[tuple[Verdict, int]],
        prefixes: Iterable[tuple[int, int, int]],
        cost: Cost,
    ) -> None:
        """Close a round, whole or not at all: its verdicts (each with its term's number, or -1), skips and cost."""
        with self._transaction():
            self._db.executemany(
                "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        v.document,
                        v.position,
                        t,
                        v.anchor,
                        v.decided,
                        v.agreements,
                        v.samples,
                        v.threshold,
                        v.gain,
                        number,
                    )
                    for v, t in verdicts
                ),
            )
            self._db.executemany("INSERT INTO skips VALUES (?, ?, ?, ?)", ((number, *skip) for skip in round_.skips))
            self._db.executemany("INSERT OR REPLACE INTO prefixes VALUES (?, ?, ?)", prefixes)
            self._db.execute("INSERT INTO rounds VALUES (?, ?)", (number, json.dumps(asdict(cost))))

    def write_moment(self, number: int, moment: Mapping[str, Any]) -> None:
        """Write down what was shown after a round, for the curves."""
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO moments VALUES (?, ?)", (number, json.dumps(moment)))

    def write_texts(self, texts: Iterable[tuple[int, str]]) -> None:
        """Replace the texts of the documents that the evidence comes from: (document, text) a row."""
        with self._transaction():
            self._db.execute("DELETE FROM texts")
            self._db.executemany(
                "INSERT INTO texts VALUES (?, ?)",
                ((document, text.encode("utf-8", "replace").decode()) for document, text in texts),
            )

    def write_evidence(self, rows: Iterable[tuple[int, int, int, int, bool, str, bool, bool]]) -> None:
        """Replace the evidence: (label, term, document, position, anchor, text, present, agreed) a row."""
        with self._transaction():
            self._db.execute("DELETE FROM evidence")
            self._db.executemany(
                "INSERT INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                ((*row[:5], row[5].encode("utf-8", "replace").decode(), *row[6:]) for row in rows),
            )


class FinishedRun:
    """A reader of a run folder: labels, terms and the tally, without documents or model."""

    def __init__(self, folder: Path) -> None:
        if not (folder / FILE).is_file():
            raise RunFolderError(
                f"{folder} is no run folder: it holds no {FILE}; make one with: explain … --out {folder}"
            )
        self._folder = folder
        self._db = _connect(folder / FILE)
        try:
            _check_schema(self._db, folder)
            self._begin_reading()
        except BaseException:
            self._db.close()
            raise

    def _begin_reading(self) -> None:
        with reading(self._folder):
            self.meta = _meta(self._db)
            self.labels = tuple(str(name) for (name,) in self._db.execute("SELECT name FROM labels ORDER BY number"))
            terms = self._db.execute("SELECT term, training FROM terms ORDER BY number").fetchall()
        if not self.labels or not terms:
            raise RunFolderError(
                f"The run in {self._folder} was interrupted before its first test; go on with --resume."
            )
        with reading(self._folder):
            self.terms = tuple(str(term) for term, _ in terms)
            self._training = np.array([training for _, training in terms], np.int64)
            _check_meta(self.meta)

    @_defensive
    def tally(self) -> Tally:
        """The tally of all closed rounds, as the run's own settings count it."""
        tally = self._before_any_test()
        rows = self._counted_verdicts()
        tally = tally.observe(rows.label, rows.term, rows.anchor, rows.gain)
        skips = np.array(self._db.execute("SELECT label, term, n FROM skips").fetchall(), np.int64).reshape(-1, 3)
        return tally.skip(skips[:, 0], skips[:, 1], skips[:, 2])

    @_defensive
    def progress(self) -> Progress:
        """How far the words of a race have come."""
        progress = Progress.zero(self._before_any_test().documents)
        rows = self._counted_verdicts()
        brought: dict[tuple[int, int, int], tuple[float, int]] = {}
        for key, gain, anchor in zip(rows.places(), rows.gain.tolist(), rows.anchor.tolist()):
            total, anchors = brought.get(key, (0.0, 0))
            brought[key] = total + gain, anchors + anchor
        for (label, term, _), (total, anchors) in brought.items():
            progress.count(label, term, total, anchors)
        return progress

    def _before_any_test(self) -> Tally:
        zero = Tally.zero(len(self.labels), len(self.terms))
        for label, term, occurrences, documents in self._db.execute("SELECT * FROM counts"):
            zero.occurrences[label, term], zero.documents[label, term] = occurrences, documents
        return replace(zero, training=self._training)

    def _counted_verdicts(self) -> _Verdicts:
        """All verdicts of a scan; of a race, those within the prefix of their word."""
        rows = self._db.execute(
            "SELECT d.predicted, v.term, v.document, v.anchor, v.gain, 1.0 * v.agreements / max(v.samples, 1), "
            "e.anchor, 1.0 * e.agreements / max(e.samples, 1) "
            "FROM verdicts v JOIN documents d ON d.number = v.document "
            "JOIN verdicts e ON e.document = v.document AND e.position = ? "
            "WHERE v.position != ? ORDER BY v.document, v.position",
            (EMPTY, EMPTY),
        ).fetchall()
        verdicts = _Verdicts.of(rows, Settings.from_dict(self.meta["settings"]).credit)
        return self._within_prefixes(verdicts) if self.meta["settings"]["strategy"] == "race" else verdicts

    def _within_prefixes(self, verdicts: _Verdicts) -> _Verdicts:
        """The verdicts about the first documents of each word, as many as its prefix has."""
        seed = self.meta["settings"]["seed"]
        keys = self._db.execute("SELECT number, key FROM documents WHERE number IN (SELECT document FROM verdicts)")
        order = {number: priority(seed, key) for number, key in keys}
        prefixes = {(label, term): n for label, term, n in self._db.execute("SELECT * FROM prefixes")}
        met: dict[tuple[int, int], set[int]] = {}
        for label, term, document in verdicts.places():
            met.setdefault((label, term), set()).add(document)
        within = {
            (*word, document)
            for word, documents in met.items()
            for document in sorted(documents, key=order.__getitem__)[: prefixes.get(word, 0)]
        }
        return verdicts.only(np.array([place in within for place in verdicts.places()], bool))

    @_defensive
    def closed_rounds(self) -> dict[int, Cost]:
        """The rounds that are written down, and what each took."""
        rows = self._db.execute("SELECT number, cost FROM rounds ORDER BY number")
        return {number: Cost(**json.loads(cost)) for number, cost in rows}

    @_defensive
    def moments(self) -> list[dict[str, Any]]:
        """What was shown after each round."""
        return [json.loads(moment) for (moment,) in self._db.execute("SELECT moment FROM moments ORDER BY round")]

    @_defensive
    def texts(self) -> dict[int, str]:
        """The texts of the documents that the evidence comes from, by number; none if they were not to be kept."""
        rows = self._db.execute("SELECT document, text FROM texts ORDER BY document")
        return dict(_of_kinds(rows, int, str))

    @_defensive
    def documents(self, numbers: Iterable[int]) -> dict[int, tuple[str, str | None, int, float]]:
        """Key, label that came with it, number of the predicted label and confidence of some documents."""
        query = "SELECT key, label, predicted, confidence FROM documents WHERE number = ?"
        found = {}
        for number in numbers:
            rows = self._db.execute(query, (number,)).fetchall()
            if not rows or not 0 <= rows[0][2] < len(self.labels):
                raise LookupError(f"there is no document {number} with a label")
            found[number] = next(_of_kinds(rows, str, (str, NoneType), int, float))
        return found

    @_defensive
    def verdicts_of(self, document: int) -> list[Verdict]:
        """All verdicts about one document, in the order of its words; the empty anchor comes first."""
        rows = self._db.execute(
            "SELECT document, position, anchor, decided, agreements, samples, threshold, gain FROM verdicts "
            "WHERE document = ? ORDER BY position",
            (document,),
        )
        checked = _of_kinds(rows, *VERDICT)
        return [Verdict(d, p, bool(a), bool(c), n, s, t, g) for d, p, a, c, n, s, t, g in checked]

    @_defensive
    def evidence(self) -> list[tuple[int, int, int, int, bool, str, bool, bool]]:
        """(label, term, document, position, anchor, perturbed text, present, agreed) a row, in the order written."""
        rows = self._db.execute(
            "SELECT label, term, document, position, anchor, text, present, agreed FROM evidence ORDER BY rowid"
        )
        checked = _of_kinds(rows, int, int, int, int, int, str, int, int)
        return [(*row[:4], bool(row[4]), row[5], bool(row[6]), bool(row[7])) for row in checked]

    @_defensive
    def robust_per_label(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """How many documents of each label keep their prediction with no token forced."""
        return self._per_label(
            "SELECT d.predicted, count(*) FROM verdicts v JOIN documents d ON d.number = v.document "
            f"WHERE v.position = {EMPTY} AND v.anchor GROUP BY d.predicted"
        )

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @_defensive
    def documents_per_label(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """How many documents were predicted each label."""
        return self._per_label("SELECT predicted, count(*) FROM documents GROUP BY predicted")

    def _per_label(self, query: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        counts = np.zeros(len(self.labels), np.int64)
        for label, n in self._db.execute(query):
            counts[label] = n
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class _Verdicts:
    """Verdicts as columns."""

    label: NDArray[np.int64]
    term: NDArray[np.int64]
    document: NDArray[np.int64]
    anchor: NDArray[np.bool_]
    gain: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Sequence[tuple[float, ...]], credit: Credit) -> _Verdicts:
        """From (label, term, document, anchor, gain, precision) and the empty anchor's verdict and precision."""
        table = np.array(rows, np.float64).reshape(-1, 8)
        label, term, document = (table[:, i].astype(np.int64) for i in range(3))
        anchor, gain, precision, robust, empty = table[:, 3:].T
        anchors = credit.anchors(anchor.astype(bool), precision, robust.astype(bool), empty)
        return cls(label, term, document, anchors, credit.gains(gain, empty))

    def places(self) -> list[tuple[int, int, int]]:
        return list(zip(self.label.tolist(), self.term.tolist(), self.document.tolist()))

    def only(self, kept: NDArray[np.bool_]) -> _Verdicts:
        return _Verdicts(*(getattr(self, name)[kept] for name in self.__slots__))


def refuse_busy(folder: Path) -> None:
    """Refuse a folder that another process writes to, before anything heavy is loaded."""
    if (folder / FILE).exists():
        _locked(folder).release()


def _locked(folder: Path) -> BaseFileLock:
    """The lock of a folder, made if need be; whoever only looks holds it too briefly to be in the way."""
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock")
        lock.acquire(timeout=LOOKING_SECONDS)
    except Timeout as error:  # an OSError too
        raise RunFolderError(
            f"Another process is writing to {folder}; wait for it to end, or choose another --out."
        ) from error
    except OSError as error:
        raise RunFolderError(f"{folder} cannot be written to ({error}); choose another --out.") from error
    return lock


def _open(folder: Path) -> sqlite3.Connection:
    """The journal of a folder, made if there is none."""
    db = _connect(folder / FILE)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        if not _has_tables(db):
            with db:
                db.executescript("BEGIN;" + _TABLES)
                db.execute("INSERT INTO meta VALUES ('schema', ?)", (str(SCHEMA),))
        _check_schema(db, folder)
    except sqlite3.Error as error:
        db.close()
        raise _unopened(folder, error) from error
    except RunFolderError:
        db.close()
        raise
    return db


def _unopened(folder: Path, error: Exception) -> RunFolderError:
    """A journal that cannot be opened: for want of room or rights, or because it is none."""
    if "full" in str(error) or "I/O" in str(error) or "readonly" in str(error):
        return RunFolderError(f"The journal in {folder} cannot be opened ({error}); make room or check the rights.")
    return RunFolderError(f"The journal in {folder} cannot be read ({error}); start afresh in another --out.")


def _connect(path: Path) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(path, isolation_level="DEFERRED")
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA cell_size_check=ON")
        return db
    except sqlite3.Error as error:
        raise RunFolderError(f"{path} cannot be opened: {error}.") from error


def _has_tables(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0])


def _meta(db: sqlite3.Connection) -> dict[str, Any]:
    return {key: json.loads(value) for key, value in db.execute("SELECT key, value FROM meta")}


def _check_schema(db: sqlite3.Connection, folder: Path) -> None:
    try:
        found = _meta(db).get("schema")
        tables = _described(db)
    except (sqlite3.DatabaseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _unopened(folder, error) from error
    if found != SCHEMA:
        raise RunFolderError(
            f"The journal in {folder} has schema {found}, this version writes {SCHEMA}; start afresh in another --out."
        )
    if tables != _expected_tables():
        raise RunFolderError(
            f"The journal in {folder} has other tables than a run writes; start afresh in another --out."
        )


def _described(db: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Everything in a database but its rows: (kind, name, statement that made it)."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {(str(kind), str(name), str(sql)) for kind, name, sql in rows}


@cache
def _expected_tables() -> frozenset[tuple[str, str, str]]:
    db = sqlite3.connect(":memory:")
    db.executescript(_TABLES)
    described = frozenset(_described(db))
    db.close()
    return described


def _check_meta(meta: Mapping[str, Any]) -> None:
    """What everybody reads of a run is there, and of its kind."""
    Settings.from_dict(meta["settings"])
    if not isinstance(meta["texts"], bool):
        raise TypeError("whether texts are kept is neither true nor false")
    for part in ("model", "perturbator"):
        for field in ("name", "sha256"):
            if not isinstance(meta[part][field], str):
                raise TypeError(f"the {field} of the {part} is no string")

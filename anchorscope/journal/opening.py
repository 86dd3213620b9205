"""Opening the file of a journal in a folder that may be somebody else's.

SQLite repairs what it opens for writing. A rollback journal that somebody planted beside the file would be rolled back,
and the file that it names as its super-journal deleted, wherever that is; so would links be followed. Therefore

    reading   opens read-only and immutable: no lock, no file beside it is looked at or made, so a run on a read-only
              medium can be read. Where a write-ahead log holds rows that are not in the file yet (the run goes on, or
              was killed), file and log are copied to a private folder first, and SQLite repairs the copy. It has
              no name any more once it is open, so that nothing is left of it, whatever ends the process.
    writing   refuses a folder in which one of the files is a link (hard ones, too), a pipe or the like, or a rollback
              journal, or a log without its file: a run leaves none. A new file is made under a name that nobody can
              foresee, whole, and then takes its place; the next writer removes what a kill left under such a name.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from anchorscope.errors import RunFolderError
from anchorscope.files import JOURNAL, copy_regular, open_database, read_regular, refuse_irregular
from anchorscope.journal.database import check_tables, make_tables, unopened

LOG = JOURNAL + "-wal"
INDEX = JOURNAL + "-shm"
ROLLBACK = JOURNAL + "-journal"

COPIES = 20
"""How often a file that is being written to is copied before it is given up."""

LARGEST_COPY = 16 << 30
"""Bytes of a journal, or of its log, beyond which no copy is made."""

SALT = slice(16, 24)
"""Where the header of a write-ahead log says which log it is; it changes when the log is begun anew."""


class Opened:
    """A database that is read. Nobody may write to the file meanwhile: who closes it is told if somebody did."""

    def __init__(self, db: sqlite3.Connection, folder: Path, moment: Moment | None = None) -> None:
        self.db = db
        self._folder = folder
        self._moment = moment

    def close(self) -> None:
        """Close the file; one that has changed since it was opened was read in two states, and is refused."""
        self.db.close()
        before = self._moment
        self._moment = None
        if before is None:
            return
        with suppress(OSError):  # it has gone: what was read is still what it was
            now = _moment(self._folder)
            if now.file == before.file and now != before:
                raise RunFolderError(f"The journal in {self._folder} was written to while it was read; try again.")


def open_for_reading(folder: Path) -> Opened:
    """The journal of a folder, in which nothing is touched."""
    refuse_irregular(folder / JOURNAL)
    try:
        moment = _moment(folder)
        if moment.log:
            opened = Opened(_of_a_copy(folder), folder)
        else:
            opened = Opened(_connected(folder / JOURNAL, "mode=ro&immutable=1"), folder, moment)
    except OSError as error:
        raise RunFolderError(f"The journal in {folder} cannot be read ({error.strerror}).") from error
    try:
        check_tables(opened.db, folder)
    except BaseException:
        opened.close()
        raise
    return opened


def _of_a_copy(folder: Path) -> sqlite3.Connection:
    """File and log, copied and put together; the copy has no name any more."""
    copy = Path(mkdtemp(prefix="anchorscope-"))
    try:
        _copy(folder, copy)
        db = _connected(copy / JOURNAL, "mode=rw")
        with suppress(sqlite3.Error):  # whatever is wrong with it is said when its tables are looked at
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log
        return db
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """The journal of a folder, made if there is none; whoever calls holds the folder's lock."""
    refuse_planted(folder)
    path = folder / JOURNAL
    if not path.exists():
        _make(path)
    with suppress(FileNotFoundError):
        (folder / INDEX).unlink()  # an index of the log, made anew by whoever opens it; nobody else does
    db = _connected(path, "mode=rw")
    try:
        db.execute("PRAGMA synchronous=NORMAL")
        check_tables(db, folder)
        db.execute("PRAGMA journal_mode=WAL")  # a file from elsewhere may be kept otherwise
    except (sqlite3.Error, UnicodeError) as error:  # SQLite quotes what it cannot read
        db.close()
        raise unopened(folder, error) from error
    except RunFolderError:
        db.close()
        raise
    return db


def refuse_planted(folder: Path) -> None:
    """Refuse a folder that holds what no run writes in the place of its files."""
    for name in (JOURNAL, LOG, INDEX):
        if refuse_irregular(folder / name) and os.lstat(folder / name).st_nlink > 1:
            raise RunFolderError(
                f"{folder / name} has a second name elsewhere (a hard link), and what is written here would be written "
                "there; go on with a copy of the folder (cp -r), or start afresh in another --out."
            )
    if not os.path.lexists(folder / JOURNAL) and any(os.path.lexists(folder / name) for name in (LOG, INDEX)):
        raise RunFolderError(
            f"The folder {folder} holds the log of a journal and no journal, which no run leaves behind; move the log "
            "away, or choose another --out."
        )
    if os.path.lexists(folder / ROLLBACK):
        raise RunFolderError(
            f"The folder {folder} holds {ROLLBACK}, which no run writes and which could make SQLite delete other "
            "files; if the folder is your own, remove that file, or start afresh in another --out."
        )


def _connected(path: Path, how: str) -> sqlite3.Connection:
    try:
        return open_database(path, how)
    except (sqlite3.Error, ValueError, UnicodeError) as error:
        raise RunFolderError(f"{path} cannot be opened: {error}.") from error


def _make(path: Path) -> None:
    """A journal without rows, whole or not at all."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        db = sqlite3.connect(draft, isolation_level="DEFERRED")
        try:
            make_tables(db)
            db.execute("PRAGMA journal_mode=WAL")  # not before: on a full disk the tables would stay in the draft's log
        finally:
            db.close()
        os.rename(draft, path)
    except sqlite3.Error as error:
        raise unopened(path.parent, error) from error
    finally:
        for name in (draft, *(draft.with_name(draft.name + end) for end in ("-wal", "-shm", "-journal"))):
            with suppress(FileNotFoundError):
                name.unlink()


def _copy(folder: Path, target: Path) -> None:
    """File and log as they were at one moment: the file unchanged meanwhile, and the log the same, if longer."""
    for _ in range(COPIES):
        before = _moment(folder)
        for name in (JOURNAL, LOG):  # the log of an earlier try would be put over the file
            (target / name).unlink(missing_ok=True)
        copy_regular(folder / JOURNAL, target / JOURNAL, at_most=LARGEST_COPY)
        with suppress(FileNotFoundError):  # the writer has just ended, and taken it in
            copy_regular(folder / LOG, target / LOG, at_most=LARGEST_COPY)
        if _moment(folder) == before:
            return
    raise RunFolderError(f"The journal in {folder} is being written to all the time; try again in a moment.")


@dataclass(frozen=True, slots=True)
class Moment:
    """What changes when rows go from the log to the file; more rows in the log change nothing."""

    file: int
    size: int
    changed: int
    log: bytes


def _moment(folder: Path) -> Moment:
    """The file by its number, its size and time, and which log there is: empty if there is none with rows."""
    stat = os.lstat(folder / JOURNAL)
    try:
        log = read_regular(folder / LOG, at_most=LARGEST_COPY, first=SALT.stop)
    except FileNotFoundError:
        log = b""
    return Moment(stat.st_ino, stat.st_size, stat.st_mtime_ns, log and (log[SALT] or b"-"))

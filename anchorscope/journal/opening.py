"""Opening the file of a journal in a folder that may be somebody else's.

SQLite repairs what it opens for writing. A rollback journal that somebody planted beside the file would be rolled back,
and the file that it names as its super-journal deleted, wherever that is; so would links be followed. Therefore

    reading   opens read-only and immutable: no lock, no file beside it is looked at or made, so a run on a read-only
              medium can be read. Where a write-ahead log holds rows that are not in the file yet (the run goes on, or
              was killed), file and log are copied to a private folder first, and SQLite repairs the copy.
    writing   refuses a folder in which one of the files is a link, a pipe or the like, or in which there is a rollback
              journal: a run writes none. A new file is made under a name that nobody can foresee, whole, and then takes
              its place; so a kill leaves none behind either.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote
from weakref import finalize

from anchorscope.errors import RunFolderError
from anchorscope.files import read_regular, refuse_irregular
from anchorscope.journal.database import FILE, check_tables, make_tables, unopened

LOG = FILE + "-wal"
INDEX = FILE + "-shm"
ROLLBACK = FILE + "-journal"

COPIES = 20
"""How often a file that is being written to is copied before it is given up."""

SALT = slice(16, 24)
"""Where the header of a write-ahead log says which log it is; it changes when the log is begun anew."""


class Opened:
    """A database that is read; closing it removes the private copy, if there is one."""

    def __init__(self, db: sqlite3.Connection, copy: Path | None = None) -> None:
        self.db = db
        self._remove = finalize(self, shutil.rmtree, copy, ignore_errors=True) if copy else None

    def close(self) -> None:
        """Close the file."""
        self.db.close()
        if self._remove is not None:
            self._remove()


def open_for_reading(folder: Path) -> Opened:
    """The journal of a folder, in which nothing is touched."""
    path = folder / FILE
    refuse_irregular(path)
    has_log = refuse_irregular(folder / LOG) and (folder / LOG).stat().st_size > 0
    if not has_log:
        opened = Opened(_connected(path, "mode=ro&immutable=1"))
    else:
        copy = Path(mkdtemp(prefix="anchorscope-"))
        try:
            _copy(folder, copy)
            opened = Opened(_connected(copy / FILE, "mode=rw"), copy)
        except BaseException:
            shutil.rmtree(copy, ignore_errors=True)
            raise
    try:
        check_tables(opened.db, folder)
    except BaseException:
        opened.close()
        raise
    return opened


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """The journal of a folder, made if there is none; whoever calls holds the folder's lock."""
    refuse_planted(folder)
    path = folder / FILE
    if not path.exists():
        _make(path)
    with suppress(FileNotFoundError):
        (folder / INDEX).unlink()  # an index of the log, made anew by whoever opens it; nobody else does
    db = _connected(path, "mode=rw")
    try:
        db.execute("PRAGMA synchronous=NORMAL")
        check_tables(db, folder)
    except (sqlite3.Error, UnicodeError) as error:  # SQLite quotes what it cannot read
        db.close()
        raise unopened(folder, error) from error
    except RunFolderError:
        db.close()
        raise
    return db


def refuse_planted(folder: Path) -> None:
    """Refuse a folder that holds what no run writes in the place of its files."""
    for name in (FILE, LOG, INDEX):
        refuse_irregular(folder / name)
    if os.path.lexists(folder / ROLLBACK):
        raise RunFolderError(
            f"The folder {folder} holds {ROLLBACK}, which no run writes and which could make SQLite delete other "
            "files; if the folder is your own, remove that file, or start afresh in another --out."
        )


def _connected(path: Path, how: str) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", isolation_level="DEFERRED", uri=True)
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA cell_size_check=ON")
        return db
    except (sqlite3.Error, ValueError, UnicodeError) as error:
        raise RunFolderError(f"{path} cannot be opened: {error}.") from error


def _make(path: Path) -> None:
    """A journal without rows, whole or not at all."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        db = sqlite3.connect(draft, isolation_level="DEFERRED")
        try:
            db.execute("PRAGMA journal_mode=WAL")
            make_tables(db)
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
        shutil.copyfile(folder / FILE, target / FILE, follow_symlinks=False)
        with suppress(FileNotFoundError):  # the writer has just ended, and taken it in
            shutil.copyfile(folder / LOG, target / LOG, follow_symlinks=False)
        if _moment(folder) == before:
            return
    raise RunFolderError(f"The journal in {folder} is being written to all the time; try again in a moment.")


def _moment(folder: Path) -> tuple[int, int, bytes]:
    """What changes when rows go from the log to the file; more rows in the log change nothing."""
    stat = (folder / FILE).stat()
    try:
        salt = read_regular(folder / LOG, at_most=1 << 40, first=SALT.stop)[SALT]
    except FileNotFoundError:
        salt = b""
    return stat.st_size, stat.st_mtime_ns, salt

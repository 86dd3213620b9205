"""The file of kept answers, opened with distrust: whoever can put files into its folder must gain nothing by it.

SQLite follows links and repairs what it opens for writing. A rollback journal that somebody planted beside the file
would be rolled back, and the file that it names as its super-journal deleted, wherever that is; a view or a trigger
could compute without end. Therefore

    the folder     is this user's, or the system's, and not everybody may write to it
    the files      are regular ones of this user, to which nobody else may write; there is no rollback journal: the file
                   is kept with a write-ahead log from its first moment on
    the database   holds our three tables and nothing else; none is made in a file that is there already

What is wrong is an OSError or an sqlite3.Error, whose text completes "The file cannot be used (...)".
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path

from anchorscope.files import open_database, schema_made_by, schema_of

ANSWERS = "answers.sqlite"

TABLES = """
CREATE TABLE models (model BLOB PRIMARY KEY, has_probabilities INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE columns (model BLOB PRIMARY KEY, names TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, row BLOB NOT NULL);
"""

LOGS = ("-wal", "-shm")
ROLLBACK = "-journal"

PATIENCE = 10.0
"""Seconds that another process may be writing before the file is given up."""


def open_answers(file: Path) -> sqlite3.Connection:
    """The file of kept answers, made if there is none."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_planted(file)
    if not os.path.lexists(file):
        _make(file)
    database = open_database(file, "mode=rw", timeout=PATIENCE, one_thread=False)
    try:
        if schema_of(database) != schema_made_by(TABLES):
            raise sqlite3.DatabaseError("it holds other tables than ours; move it away")
        database.execute("PRAGMA journal_mode = WAL")  # a file from elsewhere may be kept otherwise
        database.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        database.close()
        raise
    return database


def _refuse_planted(file: Path) -> None:
    """Refuse a folder in which others may have put something in the place of our files."""
    folder = os.stat(file.parent)
    if folder.st_uid not in (os.geteuid(), 0) or folder.st_mode & stat.S_IWOTH:
        raise PermissionError(f"everybody may write to {file.parent}, or it is somebody else's; name another folder")
    if os.path.lexists(_beside(file, ROLLBACK)):
        raise PermissionError(
            f"{_beside(file, ROLLBACK).name} lies beside it, which could make SQLite delete other files; remove both"
        )
    logs = [end for end in LOGS if _is_own(_beside(file, end))]  # looked at first: a log is made after its file
    if not _is_own(file) and logs:
        raise FileNotFoundError("there is its log and not the file; remove the log")


def _is_own(path: Path) -> bool:
    """Whether there is a file; one that is not surely ours is refused."""
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(about.st_mode):
        raise PermissionError(f"{path.name} is no regular file but a link, a pipe or the like; remove it")
    if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{path.name} is somebody else's, or others may write to it; remove it")
    return True


def _make(file: Path) -> None:
    """A file without answers, whole; where another process was quicker, its file stays."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}.part")
    try:
        with closing(sqlite3.connect(draft)) as database:
            database.executescript(TABLES)
            database.execute("PRAGMA journal_mode = WAL")
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        for end in ("", ROLLBACK, *LOGS):
            _beside(draft, end).unlink(missing_ok=True)


def _beside(file: Path, end: str) -> Path:
    return file.with_name(file.name + end)

"""Files in folders that may be other people's: read and written so that nothing else is touched.

A run folder can be handed from person to person, so whatever lies in it is somebody else's until it is looked at. What
is read is a regular file of a sensible size, never a link, a pipe or a device: these could lead anywhere, or never end.
What is written is written whole or not at all: to a draft with a name that nobody can foresee, which is made
exclusively and never followed, and then takes the place of a file of ours, or of none. A database of SQLite is opened
so that its schema can do nothing by itself, and described, so that a schema which is not ours is known.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     path = Path(folder) / "result.json"
...     write_whole(path, "{}", is_ours=lambda before: False)
...     read_regular(path, at_most=10)
b'{}'
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from urllib.parse import quote

from anchorscope.errors import RunFolderError

GIGABYTE = 1 << 30

JOURNAL = "journal.sqlite"
"""The file by which a run folder is known."""

_changing_umask = Lock()


def no_run_folder(folder: Path | str) -> RunFolderError:
    """The error of a folder that is missing, or no run's."""
    return RunFolderError(f"{folder} is no run folder: it holds no {JOURNAL}; make one with: explain … --out {folder}")


def read_regular(path: Path, *, at_most: int = GIGABYTE, first: int | None = None) -> bytes:
    """The bytes of a regular file, or the first of them; whatever else lies there is refused, and so is a larger file.

    A missing file raises the usual FileNotFoundError.
    """
    with open(_opened(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > at_most:
            raise RunFolderError(f"{path} has {size:,} bytes, and no file of a run has more than {at_most:,}.")
        return file.read(size if first is None else min(size, first))  # room for all that is asked for is made at once


def n_bytes_of_data(path: Path, *, at_most: int) -> int:
    """How many bytes of a regular file are no holes, counted until there are enough; 0 if there is no file."""
    found = 0
    with suppress(FileNotFoundError), open(_opened(path), "rb") as file:
        for begin, end in _stretches(file.fileno(), os.fstat(file.fileno()).st_size):
            found += end - begin
            if found >= at_most:
                break
    return found


def copy_regular(path: Path, target: Path, *, at_most: int) -> None:
    """Copy a regular file to one that is new; a larger one is refused, and so is one that does not fit there.

    Holes stay holes: a file that takes no room here takes none there.
    """
    with open(_opened(path), "rb") as source, open(target, "xb") as copy:
        size = os.fstat(source.fileno()).st_size
        free = shutil.disk_usage(target.parent).free
        if size > min(at_most, free):
            raise RunFolderError(
                f"{path} has {size:,} bytes, which are too many to copy to {target.parent}; "
                "end the run that writes it, or make room there."
            )
        for begin, end in _stretches(source.fileno(), size):
            source.seek(begin)
            copy.seek(begin)
            while begin < end and (piece := source.read(min(end - begin, 1 << 20))):
                copy.write(piece)
                begin += len(piece)
        copy.truncate(size)


def _stretches(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Where the data of a file begins and ends that may have holes; all of it, where the file system knows of none."""
    end = 0
    while end < size:
        try:
            begin = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return  # the rest is a hole
        end = min(size, os.lseek(descriptor, begin, os.SEEK_HOLE))
        yield begin, end


def _opened(path: Path) -> int:
    """A descriptor of a regular file; links are not followed, and a pipe is not waited for."""
    if not stat.S_ISREG(os.lstat(path).st_mode):  # to open a device can be to use it
        raise _no_file(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file(path)
    return descriptor


def refuse_irregular(path: Path) -> bool:
    """Whether there is a file; a link, a pipe, a device or a folder in its place is refused."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:  # a ValueError: there is a NUL in the path
        reason = getattr(error, "strerror", error)
        raise RunFolderError(f"{path} cannot be looked at ({reason}); choose another place.") from error
    if not stat.S_ISREG(mode):
        raise _no_file(path)
    return True


def is_path_of_folder(path: Path) -> bool:
    """Whether there is a folder; unlike ``Path.is_dir`` it raises ValueError for what is no path at all.

    >>> is_path_of_folder(Path("nowhere")), is_path_of_folder(Path("/"))
    (False, True)
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def write_whole(path: Path, content: str | bytes, *, is_ours: Callable[[bytes], bool]) -> None:
    """Write a file whole or not at all; a file that is there already is replaced only if it is ours.

    ``is_ours`` is given the first bytes of what lies there. What the disk refuses is the usual OSError.
    """
    refuse_foreign(path, is_ours)
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(draft, 0o666 & ~umask())
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


DRAFTS = re.compile(r"\.(journal\.sqlite|(result|evaluation)\.json|report\.html)\.\w{8,16}\.part(-wal|-shm|-journal)?")
"""The names of drafts in a run folder; nobody else has a use for such a name."""


def remove_drafts(folder: Path) -> None:
    """Remove the drafts that a kill has left in a run folder; whoever calls is the one who writes there."""
    for entry in os.scandir(folder):
        if DRAFTS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                os.unlink(entry.path)


def refuse_foreign(path: Path, is_ours: Callable[[bytes], bool]) -> None:
    """Refuse a file that would have to be overwritten and is not ours; nothing there is no harm."""
    if refuse_irregular(path) and not is_ours(read_regular(path, at_most=1 << 62, first=HEAD)):
        raise RunFolderError(
            f"{path} is there already, and it is no file that a run has written; move it away, or choose another place."
        )


def open_database(path: Path, how: str, *, timeout: float = 5.0, one_thread: bool = True) -> sqlite3.Connection:
    """A database of SQLite, in which no function is called because its schema says so; ``how`` is the URI's query.

    A file that is opened for writing is repaired by what lies beside it: whoever calls has looked at that.
    """
    uri = f"file:{quote(os.fsencode(path.absolute()))}?{how}"
    db = sqlite3.connect(uri, timeout=timeout, check_same_thread=one_thread, uri=True)
    try:
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA cell_size_check=ON")
    except BaseException:
        db.close()
        raise
    return db


def schema_of(db: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Everything in a database but its rows: (kind, name, statement that made it)."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return frozenset((str(kind), str(name), str(sql)) for kind, name, sql in rows)


@cache
def schema_made_by(statements: str) -> frozenset[tuple[str, str, str]]:
    """The same of a database that some statements make.

    >>> schema_made_by("CREATE TABLE texts (text TEXT)")
    frozenset({('table', 'texts', 'CREATE TABLE texts (text TEXT)')})
    """
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(statements)
        return schema_of(db)


HEAD = 1 << 16
"""The bytes by which a file is known to be ours."""

OF_LABELS = rb'\{\n  "schema": \d{1,9},\n  "labels": \{\n    "(?:[^"\\]|\\.)*": \{\n      '
"""How a JSON file of ours begins, up to what it says of its first label: a pattern."""


def umask(new: int | None = None) -> int:
    """The permissions that new files are not given; from now on it is those of ``new``, if that is named.

    They can be read only by changing them, so threads take turns.
    """
    with _changing_umask:
        mask = os.umask(0o077 if new is None else new)
        if new is None:
            os.umask(mask)
        return mask


def _no_file(path: Path) -> RunFolderError:
    return RunFolderError(
        f"{path} is no regular file (it is a link, a pipe, a device or a folder), and runs write nothing else; "
        "a folder that holds one was made by somebody else."
    )

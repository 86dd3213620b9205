"""Documents that stay where they are: a Parquet file, a folder or a pattern, here or on another file system
(``elsewhere.py``), read block by block.

A ``Blocks`` takes a function to the texts of every block and brings back what it answers; the texts stay there. Here it
is this process that reads, one block after another; on a cluster it is whoever is near the file (``backends``). The
blocks come in any order, so what is made of the answers must not depend on it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from anchorscope.errors import DocumentsError, MissingPackageError, UnknownNameError
from anchorscope.text.elsewhere import Elsewhere, found_at, is_uri
from anchorscope.text.formats import TEXT
from anchorscope.text.parquet_batches import batches, cells, n_bytes
from anchorscope.text.unpack import LIMIT

T = TypeVar("T")

ROWS = 8192
"""Rows of a block, at most."""

MOST_BYTES = 1 << 29
"""Bytes of text in a block, at most."""


class Blocks(Protocol):
    """Texts in blocks, of a source that has a name."""

    source: str

    def over(self, function: Callable[[list[str]], T]) -> Iterator[T]:
        """What a function answers to the texts of each block, in any order."""
        ...


class ParquetBlocks:
    """Parquet files, read here; each may hold ``limit`` bytes of text."""

    def __init__(self, paths: Sequence[str | Path], column: str | None = None, limit: int = LIMIT) -> None:
        self.source = ", ".join(map(str, paths))
        self._files = parquet_files(paths)
        self._column = checked_column(self._files, column)
        self._limit = limit

    def over(self, function: Callable[[list[str]], T]) -> Iterator[T]:
        """Block by block."""
        for file in self._files:
            for texts in blocks_of(file, self._column, self._limit):
                yield function(texts)


def blocks_of(
    file: str | Elsewhere, column: str, limit: int, groups: Sequence[int] | None = None
) -> Iterator[list[str]]:
    """The texts of a file, or of some of its groups of rows, some at a time; what cannot be read is told in one
    sentence, and so is more text than ``limit`` bytes."""
    from pyarrow import ArrowException

    try:
        with _opened(file) as data:
            for batch in batches(data, [column], str(file), limit, n_rows=ROWS, groups=groups):
                if n_bytes(batch[column]) > MOST_BYTES:
                    raise DocumentsError(
                        f"{file} holds more than {MOST_BYTES >> 20} MB of text in {ROWS} rows; divide its texts into "
                        "documents."
                    )
                yield _texts(cells(batch[column]), str(file))
    except (ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        told = " ".join(str(error).split())[:200]
        raise DocumentsError(f"{file} cannot be read ({told}); check that it is a whole Parquet file.") from error


def n_groups(file: str | Elsewhere) -> int:
    """The groups of rows of a file, each of which can be read by itself."""
    from pyarrow.parquet import ParquetFile

    with _opened(file) as data:
        return int(ParquetFile(data).metadata.num_row_groups)


def _opened(file: str | Elsewhere) -> Any:
    return file.open() if isinstance(file, Elsewhere) else open(file, "rb")


def parquet_files(paths: Sequence[str | Path]) -> list[str | Elsewhere]:
    """The files that paths, URIs, folders and patterns stand for."""
    found: list[str | Elsewhere] = []
    for path in map(str, paths):
        some = _named_by(path) if path else []
        if not some:
            raise DocumentsError(
                f"There is no Parquet file {path}; name a .parquet file, a folder of them, or a pattern."
            )
        found += some
    if not found:
        raise DocumentsError("No file was named; name a .parquet file, a folder of them, or a pattern.")
    if others := [file for file in found if not str(file).endswith(".parquet")]:
        raise DocumentsError(f"{others[0]} is no .parquet file; --draw reads Parquet, block by block.")
    return found


def _named_by(path: str) -> list[str | Elsewhere]:
    """The files of a path or a URI: one, those in a folder, or those of a pattern."""
    if is_uri(path):
        found = found_at(path)
        return [file for one in found for file in ([one] if isinstance(one, Elsewhere) else _named_by(one))]
    if Path(path).is_dir():
        return [*sorted(map(str, Path(path).rglob("*.parquet")))]
    return [path] if os.path.lexists(path) else [*sorted(glob.glob(path))]


def checked_column(files: Sequence[str | Elsewhere], column: str | None) -> str:
    """The column with the texts, if every file has it."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_schema
    except ImportError as error:
        raise MissingPackageError("pyarrow", "parquet", "reading .parquet files") from error
    name = TEXT if column is None else column
    for file in files:
        if isinstance(file, str) and not Path(file).is_file():
            raise DocumentsError(f"{file} is no regular file; name a .parquet file, a folder of them, or a pattern.")
        try:
            with _opened(file) as data:
                known = read_schema(data).names
        except (OSError, ValueError, ArrowException) as error:  # a name that is no UTF-8, among others
            raise DocumentsError(f"{file} cannot be read ({error}); check that it is a whole Parquet file.") from error
        if known.count(name) > 1:
            raise DocumentsError(f"{file} has {known.count(name)} columns called {name!r}; rename all but one.")
        if name not in known:
            then = "; say which it is: --text-column NAME"
            raise UnknownNameError(f"text column in {file} called", name, known, then)
    return name


def _texts(found: list[Any], source: str) -> list[str]:
    """The texts of a column; a cell without one is an empty text."""
    for cell in found:
        if cell is not None and not isinstance(cell, str):
            raise DocumentsError(
                f"{source}: a text is {cell!r} (a {type(cell).__name__}), not a string; choose another --text-column."
            )
    return [cell or "" for cell in found]

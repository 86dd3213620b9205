"""Columns of a Parquet file in batches of rows, and no more of them than a limit.

A Parquet file is packed twice: its pages are packed, and a cell that occurs a million times is written down once. So
what its pages unpack to is counted before any is unpacked (``parquet_pages.py``), and what its cells hold before they
are written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from anchorscope.errors import DocumentsError, listed
from anchorscope.text.parquet_pages import DELTA, DELTA_LENGTHS, Group, directory, pages
from anchorscope.text.unpack import too_large

ROWS_AT_ONCE = 1024
"""Rows that are unpacked before they are counted: with fewer, reading takes longer."""

OF_A_CELL = 16
"""Bytes beside each cell in a page, at most: its length, its level, its number in a dictionary."""

OF_A_FILE = 1 << 20
"""Bytes beside all cells."""


def batches(
    data: BinaryIO,
    wanted: Sequence[str],
    source: str,
    limit: int,
    *,
    n_rows: int = ROWS_AT_ONCE,
    groups: Sequence[int] | None = None,
) -> Iterator[dict[str, Any]]:
    """The wanted columns of pyarrow by name, ``n_rows`` at a time at most; of some groups of rows, or of all.

    What is written down once may stand for many cells: these are counted (``n_bytes``), and there once until they are
    asked for (``cells``). A file that holds more than ``limit`` bytes in these columns is refused; what is no Parquet
    file is a ValueError or an exception of pyarrow's.
    """
    from pyarrow.parquet import ParquetFile
    from pyarrow.types import is_nested

    plain = ParquetFile(data)
    schema = plain.schema_arrow
    if nested := [name for name in wanted if is_nested(schema.field(name).type)]:
        raise nested_column(source, nested[0], schema.field(nested[0]).type)
    paths = [plain.schema.column(number).path for number in range(len(plain.schema))]
    if twice := [name for name in wanted if paths.count(name) > 1]:
        raise DocumentsError(
            f"{source} has a column called {twice[0]!r}, which names a field inside the column "
            f"{twice[0].partition('.')[0]!r} as well; name them differently, so that it is clear which is meant."
        )
    known = directory(data)
    chosen = [*range(len(known))] if groups is None else [*groups]
    columns = {number: path for number, path in enumerate(paths) if path in wanted}
    n_delta, differences = _checked_pages(data, [known[group] for group in chosen], columns, source, limit)
    # As dictionaries: a value that occurs a million times is there once, until it is known how much that makes.
    file = ParquetFile(data, read_dictionary=[*{*wanted} - differences])
    width = sum(_width(schema.field(name).type) for name in wanted)
    if sum(known[group].n_rows for group in chosen) * width > limit:
        raise too_large(source, limit)
    left = limit
    # A cell that begins as the one before it can be as large as all of them as they stand, and so can the next.
    size = max(1, min(n_rows, limit // max(1, n_delta)))
    for batch in file.iter_batches(size, row_groups=chosen, columns=[*wanted]):
        left -= sum(map(n_bytes, batch.columns))
        if left < 0:
            raise too_large(source, limit)
        yield {name: batch.column(name) for name in wanted}


def nested_column(source: str, name: str, kind: Any) -> DocumentsError:
    """The error of a column whose cells are no texts but hold others."""
    from pyarrow.types import is_struct

    if not is_struct(kind):
        return DocumentsError(f"{source}: the column {name!r} holds lists; choose another column.")
    fields = [kind.field(i).name for i in range(kind.num_fields)]
    return DocumentsError(
        f"{source}: the column {name!r} is nested, with the fields {listed(fields)}; make columns of them "
        f"(pyarrow.parquet.read_table(…).flatten() calls one {'.'.join([name, *fields[:1]])!r}), and write "
        "the file again."
    )


def n_bytes(column: Any) -> int:
    """The bytes of all cells of a column of pyarrow, each as often as it occurs."""
    from pyarrow import compute

    if not hasattr(column, "dictionary"):
        return int(column.nbytes)
    return compute.sum(compute.binary_length(column.dictionary).take(column.indices)).as_py() or 0


def cells(column: Any) -> list[Any]:
    """The cells of a column of pyarrow, as Python knows them."""
    found: list[Any] = (column.dictionary_decode() if hasattr(column, "dictionary") else column).to_pylist()
    return found


def _checked_pages(
    data: BinaryIO, groups: Sequence[Group], columns: Mapping[int, str], source: str, limit: int
) -> tuple[int, set[str]]:
    """Refuse pages that unpack to more than the limit; then the bytes of the largest chunk of which a cell may begin
    as the one before it, and the columns that are written down as differences: pyarrow makes no dictionary of them.

    ``columns`` are those that are wanted, by their numbers in a group.
    """
    n_bytes = n_cells = n_delta = 0
    differences = set()
    for chunk, name in ((group.chunks[number], name) for group in groups for number, name in columns.items()):
        n_cells += max(0, chunk.n_cells)
        of_chunk = 0
        encodings: set[int | None] = set()
        for page in pages(data, chunk):
            of_chunk += page.n_bytes
            encodings.update(page.encodings)
            # How many cells there are is the file's own word: what is around them is believed up to a measure.
            if n_bytes + of_chunk > limit + min(OF_A_CELL * n_cells, OF_A_CELL * limit) + OF_A_FILE:
                raise too_large(source, limit)
        n_bytes += of_chunk
        if DELTA in encodings:
            n_delta = max(n_delta, of_chunk)
        if encodings & {DELTA, DELTA_LENGTHS}:
            differences.add(name)
    return n_delta, differences


def _width(kind: Any) -> int:
    """The bytes of a cell of this type of pyarrow, where all take the same; they may be written down once for all."""
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 0

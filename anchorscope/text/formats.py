"""The formats of documents: a stream of bytes in, the text and the label of each row out.

Tables (.csv, .tsv, .parquet) and JSON lines have a text column and perhaps a label column; a .txt file has a document a
line. What can be read in two ways is refused with a sentence, not resolved: two columns or keys of the name that was
asked for, a row with more fields than its header, a column called ``premise,hypothesis`` beside the two of a pair. A
field inside an object of JSON is named with dots (``doc.body``); where a key has that very name, too, nobody can say
which is meant. A parquet file is packed inside, and what its columns hold is limited as packed files are
(``parquet_batches.py``).
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from anchorscope.errors import DocumentsError, MissingPackageError, UnknownNameError
from anchorscope.text.pairs import paired
from anchorscope.text.parquet_batches import batches, cells, nested_column

ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1252", "gb18030", "shift_jis", "euc_kr", "koi8_r")
"""Some encodings to name where one is unknown; any text encoding of Python is accepted."""

TEXT = "text"
"""The column of the texts, unless told otherwise."""

LARGEST_FIELD = 2**31 - 1

LOOKED_INTO = 100
DEEPEST = 3
"""Lines of JSON, and objects in objects, whose fields are told to who names one that there is not."""

Rows = Iterator[tuple[Any, Any]]
"""The text and the label of each row, as they stand in the file."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that are asked for; ``named_text`` is None where nobody named one, two by a comma are a pair."""

    named_text: str | None
    label: str | None

    @property
    def text(self) -> str:
        """The column with the texts."""
        return TEXT if self.named_text is None else self.named_text

    def texts(self, existing: Container[str]) -> tuple[str, ...]:
        """The column of the texts; or, where two are named by a comma and no column has this name, both.

        >>> Columns("premise,hypothesis", None).texts(["premise", "hypothesis"])
        ('premise', 'hypothesis')
        """
        parts = tuple(part.strip() for part in self.text.split(","))
        return parts if len(parts) == 2 and self.text not in existing else (self.text,)

    def picked(self, cells: Mapping[str, Any]) -> Any:
        """The text of a row, or its pair of texts as one; what is no text as it stands."""
        found = [cells.get(name) for name in self.texts(cells)]
        if len(found) == 1:
            return found[0]
        odd = [cell for cell in found if cell is not None and not isinstance(cell, str)]
        return odd[0] if odd else paired(*(cell or "" for cell in found))

    def check(self, existing: Iterable[str], source: str) -> None:
        """Refuse a column that there is not, or that there is twice, or that may be a pair of others as well."""
        known = list(existing)
        if self.text in known and {*self.texts(())} <= {*known} - {self.text}:
            raise DocumentsError(
                f"{source} has a column called {self.text!r}, and two that this may name as a pair; name them "
                "differently, so that it is clear which is meant."
            )
        for column, kind in (*((name, "text") for name in self.texts(known)), (self.label, "label")):
            if column is None:
                continue
            if column not in known:
                then = f"; say which it is: --{kind}-column NAME"
                if len(known) == 1 and (mark := next((mark for mark in ";\t|" if mark in known[0]), None)):
                    then = f", in which {mark!r} seems to part columns; part them by commas (.csv) or tabs (.tsv)"
                raise UnknownNameError(f"{kind} column in {source} called", column, known, then)
            if known.count(column) > 1:
                raise DocumentsError(
                    f"{source} has {known.count(column)} columns called {column!r}; name them differently, so that "
                    "it is clear which is meant."
                )


@dataclass(frozen=True, slots=True)
class Reading:
    """How a stream is read: what it is called, the columns, the encoding, and how many bytes it may unpack to."""

    source: str
    columns: Columns
    encoding: str
    limit: int


def check_encoding(encoding: str) -> str:
    """The name of the codec; the one of UTF-8 that drops a byte order mark."""
    try:
        "".encode(encoding)
    except (LookupError, ValueError) as error:
        raise UnknownNameError("encoding", encoding, ENCODINGS) from error
    name = codecs.lookup(encoding).name
    return "utf-8-sig" if name == "utf-8" else name


def format_of(head: bytes, columns: Columns, encoding: str) -> str:
    """The format that the first bytes of a stream suggest: how standard input is read unless told otherwise.

    >>> [format_of(head, Columns(None, None), "utf-8") for head in (b'{"text": 1}', b"text,label", b"So, so.")]
    ['.jsonl', '.csv', '.txt']
    """
    if head.startswith(b"PAR1"):
        return ".parquet"
    line = head.decode(encoding, "ignore").lstrip("\ufeff \t\r\n").split("\n")[0].rstrip("\r")
    if line.startswith("{"):
        return ".jsonl"
    for ending, delimiter in ((".csv", ","), (".tsv", "\t")):
        try:
            fields = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        # A header: it names the column that was asked for, or is nothing but short names.
        is_header = {*columns.texts(fields)} <= {*fields} or all(
            re.fullmatch(r"[^\W\d]\w{0,30}", field) for field in fields
        )
        if len(fields) > 1 and is_header:
            return ending
    return ".txt"


def _lines(stream: BinaryIO, how: Reading) -> Iterator[str]:
    """The lines, with their ends as they are."""
    n_lines = 0
    try:
        with io.TextIOWrapper(stream, how.encoding, newline="") as lines:
            for line in lines:
                n_lines += 1
                yield line
    except UnicodeDecodeError as error:
        # Text is decoded a block at a time; the lines of all earlier blocks were handed out.
        line_number = n_lines + error.object[: error.start].count(b"\n") + 1
        raise DocumentsError(
            f"{how.source}, line {line_number}: byte 0x{error.object[error.start]:02x} is not {error.encoding}; "
            "name the encoding of the file with --encoding (often cp1252 or latin-1)."
        ) from error
    except UnicodeError as error:
        raise DocumentsError(
            f"{how.source} is not {how.encoding} ({error}); name the encoding of the file with --encoding."
        ) from error


def _read_lines(stream: BinaryIO, how: Reading) -> Rows:
    if how.columns.label is not None:
        raise DocumentsError(f"{how.source} has no label column: a .txt file holds texts only; use .csv or .jsonl.")
    if how.columns.named_text is not None:
        raise DocumentsError(
            f"{how.source} holds a text a line and has no column {how.columns.named_text!r}; leave out "
            "--text-column, or, if it is a table, say so with --format."
        )
    for line in _lines(stream, how):
        yield line.rstrip("\r\n"), None


def _read_json_lines(stream: BinaryIO, how: Reading) -> Rows:
    source = how.source
    columns = how.columns
    seen: set[str] = set()
    wanted = {columns.text, *columns.texts(()), *([] if columns.label is None else [columns.label])}
    inside = [name for name in wanted if "." in name]
    found_as: dict[str, set[str]] = {name: set() for name in inside}
    wanted |= {part for name in inside for part in name.split(".")}

    def unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            keys = [key for key, _ in pairs]
            if twice := [key for key in record if key in wanted and keys.count(key) > 1]:
                raise ValueError(f"it has the key {twice[0]!r} twice")
        return record

    for number, line in enumerate(_lines(stream, how), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=unambiguous)
        except (ValueError, RecursionError) as error:
            problem = getattr(error, "msg", error)
            raise DocumentsError(f'{source}, line {number} is no JSON ({problem}); expected {{"text": …}}.') from error
        if not isinstance(record, dict):
            kind = type(record).__name__
            raise DocumentsError(f'{source}, line {number} is a {kind}, not an object; expected {{"text": …}}.')
        for name in inside:
            found_as[name] |= _take_out(record, name)
            if len(found_as[name]) > 1:
                raise DocumentsError(
                    f"{source}, line {number}: {name!r} is a key, and names a field inside an object as well; name "
                    "them differently, so that it is clear which is meant."
                )
        seen.update(record)
        if number <= LOOKED_INTO:
            seen.update(_names_inside(record))
        yield columns.picked(record), None if columns.label is None else record.get(columns.label)
    if seen:
        columns.check(seen, source)


def _take_out(record: dict[str, Any], name: str) -> set[str]:
    """Put a field inside an object, which is named with dots, beside the others; how the name was found comes back.

    >>> record = {"doc": {"body": "so good"}}
    >>> _take_out(record, "doc.body"), record["doc.body"]
    ({'inside'}, 'so good')
    >>> sorted(_take_out({"doc": {"body": "so good"}, "doc.body": "so bad"}, "doc.body"))
    ['inside', 'key']
    """
    how = {"key"} if name in record else set()
    found: Any = record
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            return how
        found = found[part]
    record.setdefault(name, found)
    return how | {"inside"}


def _names_inside(record: Mapping[str, Any], depth: int = DEEPEST) -> Iterator[str]:
    """The names of the fields inside the objects of a record.

    >>> [*_names_inside({"id": 1, "doc": {"body": {"de": "gut"}}})]
    ['doc.body', 'doc.body.de']
    """
    for key, value in record.items():
        if isinstance(value, dict) and depth:
            yield from (f"{key}.{name}" for name in (*value, *_names_inside(value, depth - 1)))


def _read_table(stream: BinaryIO, how: Reading, *, delimiter: str) -> Rows:
    source = how.source
    columns = how.columns
    csv.field_size_limit(LARGEST_FIELD)
    table = csv.reader(_lines(stream, how), delimiter=delimiter, strict=True)
    try:
        header = next(filter(None, table), [])
        columns.check(header, source)
        for row in filter(None, table):
            if any(row[len(header) :]):
                raise DocumentsError(
                    f"{source}, line {table.line_num}: {len(row)} fields under a header of {len(header)}; "
                    f"put double quotes around text with {delimiter!r} in it."
                )
            cells = dict(zip(header, row, strict=False))
            yield columns.picked(cells), None if columns.label is None else cells.get(columns.label)
    except csv.Error as error:
        raise DocumentsError(
            f"{source}, line {table.line_num}: {error}; put double quotes around the field and double those inside it."
        ) from error


def _read_parquet(stream: BinaryIO, how: Reading) -> Rows:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
        from pyarrow.types import is_nested
    except ImportError as error:
        raise MissingPackageError("pyarrow", "parquet", "reading .parquet files") from error
    columns = how.columns
    try:
        data = io.BytesIO(stream.read())
        schema = ParquetFile(data).schema_arrow
        existing = schema.names
        for name in (*columns.texts(existing), columns.label or ""):
            outer = name.partition(".")[0]
            if name not in existing and outer in existing and is_nested(schema.field(outer).type):
                raise nested_column(how.source, outer, schema.field(outer).type)
        columns.check(existing, how.source)
        names = columns.texts(existing)
        wanted = [*names] if columns.label is None else [*names, columns.label]
        for batch in batches(data, wanted, how.source, how.limit):
            found = {name: cells(column) for name, column in batch.items()}
            rows = (dict(zip(names, row)) for row in zip(*(found[name] for name in names), strict=True))
            labels = [None] * len(found[names[0]]) if columns.label is None else found[columns.label]
            yield from zip(map(columns.picked, rows), labels, strict=True)
    except (ArrowException, ValueError, ArithmeticError) as error:  # dates that Python does not know, among others
        raise DocumentsError(
            f"{how.source} cannot be read ({error}); check that it is complete and a parquet file."
        ) from error


FORMATS: dict[str, Callable[[Any, Reading], Rows]] = {
    ".csv": partial(_read_table, delimiter=","),
    ".tsv": partial(_read_table, delimiter="\t"),
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
    ".txt": _read_lines,
}
"""By the ending of a file."""

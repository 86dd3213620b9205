"""Files and Python objects -> documents.

    read_files(["a.csv", "b.jsonl.gz"], text_column="review")     .csv .tsv .jsonl .ndjson .parquet .txt
    read_files(["-"])                                             standard input
    read_texts(["a fine film", "a bad one"], ["pos", "neg"])      anything that yields strings

Tables (.csv, .tsv, .parquet) and JSON lines have a text column and perhaps a label column; a .txt file has a
document a line. Each may be compressed (.gz .bz2 .xz .zst). Standard input is read as JSON lines if it starts
with ``{``, else as a document a line; it may be compressed too.

Every document has a key that names it in the journal and the result: a hash of its text, with ``-2``, ``-3`` … for
further copies of the same text. So keys do not depend on the order of the documents, and ``sha256``, a hash
of all keys, identifies the collection however it is ordered or cut into files.

A document without any word is skipped and counted. Anything that cannot be read as it stands is an error that
names the file and the line: rows are never guessed at, and nothing in a file is ever executed.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gc
import gzip
import io
import json
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any, BinaryIO

from anchorscope.errors import DocumentsError, InputError, MissingPackageError, UnknownNameError
from anchorscope.text.rule import has_words
from anchorscope.text.words import clean_tweet
from anchorscope.types import Document

CLEANINGS: Mapping[str, Callable[[str], str]] = {"none": str, "tweets": clean_tweet}
"""What can be done to a text before anything else sees it."""

ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1252", "gb18030", "shift_jis", "euc_kr", "koi8_r")
"""Some encodings to name where one is unknown; any text encoding of Python is accepted."""

LARGEST_FIELD = 2**31 - 1

Rows = Iterator[tuple[Any, Any]]
"""The text and the label of each row, as they stand in the file."""


@dataclass(frozen=True, slots=True)
class Documents:
    """What was read: the documents, how many more were skipped and why, a hash of them all, and where they are from."""

    documents: Sequence[Document]
    skipped: Mapping[str, int]
    sha256: str
    source: str

    def __len__(self) -> int:
        return len(self.documents)


def read_files(
    paths: str | Path | Sequence[str | Path],
    *,
    text_column: str = "text",
    label_column: str | None = None,
    encoding: str = "utf-8",
    clean: str = "none",
) -> Documents:
    """The documents of some files, one after another."""
    sources = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not sources:
        raise DocumentsError("No file was named; name at least one, or - for standard input.")
    columns = _Columns(text_column, label_column)
    codec = _check_encoding(encoding)
    files = [_File.find(source) for source in sources]
    rows = (row for file in files for row in file.rows(columns, codec))
    return _collect(rows, source=", ".join(sources), clean=clean)


def read_texts(texts: Iterable[str], labels: Iterable[Any] | None = None, *, clean: str = "none") -> Documents:
    """The documents of a list, array, pandas Series, ``datasets`` column or anything else that yields strings.

    >>> read_texts(["so good", "so bad", "so good"], ["pos", "neg", "pos"]).documents[2]
    Document(key='db14823610541ee6-2', text='so good', label='pos')
    """
    listed = listed_texts(texts, "texts")
    labelled = [None] * len(listed) if labels is None else _listed(labels, "labels")
    if len(labelled) != len(listed):
        raise InputError(f"There are {len(listed)} texts but {len(labelled)} labels; give one label a text.")
    return _collect(zip(listed, labelled, strict=True), source="Python", clean=clean)


def listed_texts(texts: Iterable[str], argument: str) -> list[str]:
    """The texts as a list, if they are some; ``argument`` is what the caller calls them."""
    listed = _listed(texts, argument)
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(
                f"{argument}[{row}] is {short_repr(text)} (a {type(text).__name__}), not a string; "
                "drop such rows, or pass one column of a table."
            )
    return listed


def _listed(values: Iterable[Any], argument: str) -> list[Any]:
    """The values as a list, unless iterating over them would yield something else than their rows."""
    if isinstance(values, str | bytes):
        raise InputError(f"{argument} is a single {type(values).__name__}; wrap it in a list: [{short_repr(values)}].")
    if isinstance(values, Mapping) or hasattr(values, "columns"):
        raise InputError(f"{argument} is a whole table ({type(values).__name__}); pass one column: table['text'].")
    if not isinstance(values, Iterable):
        raise InputError(f"{argument} is a {type(values).__name__}; pass a list of strings.")
    return list(values)


def _collect(rows: Iterable[tuple[str, Any]], *, source: str, clean: str) -> Documents:
    if clean not in CLEANINGS:
        raise UnknownNameError("cleaning", clean, CLEANINGS)
    cleaned = CLEANINGS[clean]
    documents: list[Document] = []
    copies: dict[str, int] = {}
    n_empty = 0
    with _without_garbage():
        for raw, label in rows:
            text = cleaned(raw)
            if not has_words(text):
                n_empty += 1
                continue
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            copies[digest] = number = copies.get(digest, 0) + 1
            key = digest if number == 1 else f"{digest}-{number}"
            documents.append(Document(key, text, None if _is_missing(label) or label == "" else str(label)))
    if not documents:
        raise DocumentsError(
            f"There is no usable document in {source}: {n_empty} rows, none with a word in it; "
            "check the file and its text column."
        )
    keys = "\n".join(sorted(document.key for document in documents))
    return Documents(
        documents=tuple(documents),
        skipped={"empty": n_empty} if n_empty else {},
        sha256=sha256(keys.encode()).hexdigest(),
        source=source,
    )


@contextmanager
def _without_garbage() -> Iterator[None]:
    """Nothing made in here is garbage, so Python need not look for any: in a million documents, again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _is_missing(value: Any) -> bool:
    """Whether a cell is empty in one of the many ways of Python's tables: None, NaN, pandas' NaT and NA."""
    return value is None or (not isinstance(value, str) and str(value) in {"None", "nan", "NaT", "<NA>"})


@dataclass(frozen=True, slots=True)
class _Columns:
    text: str
    label: str | None

    def check(self, existing: Iterable[str], source: str) -> None:
        known = list(existing)
        if self.text not in known:
            raise UnknownNameError(f"text column in {source} called", self.text, known)
        if self.label is not None and self.label not in known:
            raise UnknownNameError(f"label column in {source} called", self.label, known)


@dataclass(frozen=True, slots=True)
class _File:
    """A file, its format and how it is compressed; standard input has neither until its first bytes are seen."""

    source: str
    format: str = ""
    compression: str = ""

    @classmethod
    def find(cls, source: str) -> _File:
        if source == "-":
            return cls("standard input")
        with _reading(source):
            Path(source).stat()
        if Path(source).is_dir():
            raise DocumentsError(f"{source} is a folder; name the files in it, for instance {source}/*.csv.")
        *_, before_last, last = ["", "", *(suffix.lower() for suffix in Path(source).suffixes)]
        compression, extension = (last, before_last) if last in COMPRESSIONS else ("", last)
        if extension not in FORMATS:
            raise DocumentsError(
                f"{source} is of no known kind: known are {' '.join(FORMATS)}, "
                f"each also compressed ({' '.join(COMPRESSIONS)}); convert or rename it."
            )
        return cls(source, extension, compression)

    def rows(self, columns: _Columns, encoding: str) -> Rows:
        with _reading(self.source), self._open() as compressed:
            compression = self.compression if self.format else _sniff_compression(compressed)
            stream = COMPRESSIONS[compression][1](compressed) if compression else compressed
            if not stream.peek(1):
                raise DocumentsError(f"{self.source} is empty; give a file with documents in it.")
            read = FORMATS[self.format or _sniff_format(stream)]
            for row, (text, label) in enumerate(read(stream, self.source, columns, encoding), 1):
                if not isinstance(text, str) and not _is_missing(text):
                    raise DocumentsError(
                        f"{self.source}, row {row}: the text is {short_repr(text)} (a {type(text).__name__}), "
                        "not a string; choose another text column."
                    )
                yield text if isinstance(text, str) else "", label

    def _open(self) -> io.BufferedReader:
        return open(self.source, "rb") if self.format else open(sys.stdin.fileno(), "rb", closefd=False)


@contextmanager
def _reading(source: str) -> Iterator[None]:
    """Turns what the standard library says of a file that cannot be read into one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise DocumentsError(
            f"There is no file {source}; check the path (the current folder is {Path.cwd()})."
        ) from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DocumentsError(
            f"{source} cannot be read ({error}); check that it is complete and what its name says."
        ) from error


def _sniff_compression(stream: io.BufferedReader) -> str:
    head = stream.peek(8)
    return next((suffix for suffix, (magic, _) in COMPRESSIONS.items() if head.startswith(magic)), "")


def _sniff_format(stream: Any) -> str:
    return ".jsonl" if stream.peek(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ".txt"


def _check_encoding(encoding: str) -> str:
    """The name of the codec; the one of UTF-8 that drops a byte order mark."""
    try:
        "".encode(encoding)
    except (LookupError, ValueError) as error:
        raise UnknownNameError("encoding", encoding, ENCODINGS) from error
    name = codecs.lookup(encoding).name
    return "utf-8-sig" if name == "utf-8" else name


def _lines(stream: BinaryIO, source: str, encoding: str) -> Iterator[str]:
    """The lines, with their ends as they are."""
    n_lines = 0
    try:
        with io.TextIOWrapper(stream, encoding, newline="") as lines:
            for line in lines:
                n_lines += 1
                yield line
    except UnicodeDecodeError as error:
        # Text is decoded a block at a time; the lines of all earlier blocks were handed out.
        line_number = n_lines + error.object[: error.start].count(b"\n") + 1
        raise DocumentsError(
            f"{source}, line {line_number}: byte 0x{error.object[error.start]:02x} is not {error.encoding}; "
            "name the encoding of the file with --encoding (often cp1252 or latin-1)."
        ) from error


def _read_lines(stream: BinaryIO, source: str, columns: _Columns, encoding: str) -> Rows:
    if columns.label is not None:
        raise DocumentsError(f"{source} has no label column: a .txt file holds texts only; use .csv or .jsonl.")
    for line in _lines(stream, source, encoding):
        yield line.rstrip("\r\n"), None


def _read_json_lines(stream: BinaryIO, source: str, columns: _Columns, encoding: str) -> Rows:
    seen: set[str] = set()
    for number, line in enumerate(_lines(stream, source, encoding), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = getattr(error, "msg", error)
            raise DocumentsError(f'{source}, line {number} is no JSON ({problem}); expected {{"text": …}}.') from error
        if not isinstance(record, dict):
            kind = type(record).__name__
            raise DocumentsError(f'{source}, line {number} is a {kind}, not an object; expected {{"text": …}}.')
        seen.update(record)
        yield record.get(columns.text), record.get(columns.label)
    if seen:
        columns.check(seen, source)


def _read_table(stream: BinaryIO, source: str, columns: _Columns, encoding: str, *, delimiter: str) -> Rows:
    csv.field_size_limit(LARGEST_FIELD)
    table = csv.reader(_lines(stream, source, encoding), delimiter=delimiter, strict=True)
    try:
        header = next(filter(None, table), [])
        columns.check(header, source)
        for row in filter(None, table):
            if any(row[len(header) :]):
                raise DocumentsError(
                    f"{source}, line {table.line_num}: {len(row)} fields under a header of {len(header)}; "
                    f"put double quotes around text with {delimiter!r} in it."
                )
            cells: dict[str | None, str] = dict(zip(header, row, strict=False))
            yield cells.get(columns.text), cells.get(columns.label)
    except csv.Error as error:
        raise DocumentsError(
            f"{source}, line {table.line_num}: {error}; put double quotes around the field and double those inside it."
        ) from error


def _read_parquet(stream: BinaryIO, source: str, columns: _Columns, encoding: str) -> Rows:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingPackageError("pyarrow", "parquet", "reading .parquet files") from error
    wanted = [columns.text] if columns.label is None else [columns.text, columns.label]
    try:
        file = ParquetFile(io.BytesIO(stream.read()))
        columns.check(file.schema_arrow.names, source)
        for batch in file.iter_batches(columns=wanted):
            cells = [batch.column(name).to_pylist() for name in wanted]
            yield from zip(cells[0], cells[-1] if len(cells) == 2 else [None] * len(batch), strict=True)
    except (ArrowException, UnicodeDecodeError) as error:
        raise DocumentsError(
            f"{source} cannot be read ({error}); check that it is complete and a parquet file."
        ) from error


class _ZstdStream(io.RawIOBase):
    """A .zst file, decompressed; unlike the reader of ``zstandard``, it notices when the file breaks off."""

    def __init__(self, compressed: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise MissingPackageError("zstandard", "zstd", "reading .zst files") from error
        self._compressed = compressed
        self._error = zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._input = b""
        self._output = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._output:
            self._input = self._input or self._compressed.read(io.DEFAULT_BUFFER_SIZE)
            if not self._input and self._frame:
                raise EOFError("it breaks off in the middle")
            if not self._input:
                return 0
            self._decompress()
        n_bytes = min(len(buffer), len(self._output))
        buffer[:n_bytes] = self._output[:n_bytes]
        self._output = self._output[n_bytes:]
        return n_bytes

    def _decompress(self) -> None:
        frame = self._frame or self._new_frame()
        try:
            self._output = memoryview(frame.decompress(self._input))
        except self._error as error:
            raise OSError(error) from error
        self._input = frame.unused_data
        self._frame = None if frame.eof else frame


FORMATS: dict[str, Callable[[Any, str, _Columns, str], Rows]] = {
    ".csv": partial(_read_table, delimiter=","),
    ".tsv": partial(_read_table, delimiter="\t"),
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
    ".txt": _read_lines,
}

COMPRESSIONS: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    ".gz": (b"\x1f\x8b", gzip.open),
    ".bz2": (b"BZh", bz2.open),
    ".xz": (b"\xfd7zXZ", lzma.open),
    ".zst": (b"\x28\xb5\x2f\xfd", lambda compressed: io.BufferedReader(_ZstdStream(compressed))),
}
"""The first bytes of what is compressed so, and how it is decompressed."""

"""Files and Python objects -> documents.

    read_files(["a.csv", "b.jsonl.gz"], text_column="review")     .csv .tsv .jsonl .ndjson .parquet .txt
    read_files(["-"])                                             standard input
    read_files(["s3://bucket/a.parquet"])                         another file system (elsewhere.py)
    read_texts(["a fine film", "a bad one"], ["pos", "neg"])      anything that yields strings
    read_texts([("a cat", "a pet")])                              or pairs of them (pairs.py)

``formats.py`` has the formats, ``unpack.py`` what may be packed. The format of a file is that of its ending, that of
standard input is guessed from its first bytes, and said; ``format`` decides for both.

Every document has a key that names it in the journal and the result: a hash of its text, with ``-2``, ``-3`` … for
further copies of the same text. So keys do not depend on the order of the documents, and ``sha256``, a hash
of all keys, identifies the collection however it is ordered or cut into files.

A document without any word is skipped and counted. Anything that cannot be read as it stands is an error that
names the file and the line: rows are never guessed at, and nothing in a file is ever executed.
"""

from __future__ import annotations

import gc
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any, BinaryIO, cast

import numpy as np

from anchorscope.errors import DocumentsError, InputError, UnknownNameError
from anchorscope.text.elsewhere import Elsewhere, is_uri, one_file
from anchorscope.text.formats import FORMATS, Columns, Reading, Rows, check_encoding, format_of
from anchorscope.text.pairs import paired
from anchorscope.text.rule import has_words
from anchorscope.text.unpack import LIMIT, PACKINGS, packing_of, unpacked
from anchorscope.text.words import clean_tweet
from anchorscope.types import Beyond, Document

CLEANINGS: Mapping[str, Callable[[str], str]] = {"none": str, "tweets": clean_tweet}
"""What can be done to a text before anything else sees it."""

PYTHON = "Python"
"""Where texts are from that no file holds."""

HEAD = 4096
"""Bytes by which standard input is known."""


@dataclass(frozen=True, slots=True)
class Documents:
    """What was read: the documents, how many more were skipped and why, a hash of them all, and where they are from.

    ``remarks`` are sentences about how they were read, where that was guessed. ``beyond`` is what is known of all
    documents where these are some drawn from many.
    """

    documents: Sequence[Document]
    skipped: Mapping[str, int]
    sha256: str
    source: str
    remarks: tuple[str, ...] = ()
    beyond: Beyond | None = None

    def __len__(self) -> int:
        return len(self.documents)


def read_files(
    paths: str | Path | Sequence[str | Path],
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    encoding: str = "utf-8",
    clean: str = "none",
    format: str | None = None,
    max_unpacked: int = LIMIT,
) -> Documents:
    """The documents of some files, one after another; a packed file may hold ``max_unpacked`` bytes."""
    sources = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not sources:
        raise DocumentsError("No file was named; name at least one, or - for standard input.")
    if format is not None and f".{format}" not in FORMATS:
        raise UnknownNameError("format of documents", format, [ending.removeprefix(".") for ending in FORMATS])
    columns = Columns(text_column, label_column)
    codec = check_encoding(encoding)
    remarks: list[str] = []
    files = [_File.find(source, format) for source in sources]
    rows = (row for file in files for row in file.rows(columns, codec, max_unpacked, remarks))
    source = ", ".join(sources)
    try:
        return _collect(rows, source=source, clean=clean, remarks=remarks)
    except MemoryError as error:
        raise DocumentsError(
            f"{source} does not fit into the memory; explain a part of it, or draw from Parquet files with --draw."
        ) from error


def read_texts(
    texts: Iterable[str | tuple[str, str]], labels: Iterable[Any] | None = None, *, clean: str = "none"
) -> Documents:
    """The documents of a list, array, pandas Series, ``datasets`` column or anything else that yields strings.

    >>> read_texts(["so good", "so bad", "so good"], ["pos", "neg", "pos"]).documents[2]
    Document(key='db14823610541ee6-2', text='so good', label='pos')
    """
    listed = listed_texts(texts, "texts")
    labelled = [None] * len(listed) if labels is None else _listed(labels, "labels")
    if len(labelled) != len(listed):
        raise InputError(f"There are {len(listed)} texts but {len(labelled)} labels; give one label a text.")
    return _collect(zip(listed, labelled, strict=True), source=PYTHON, clean=clean)


def listed_texts(texts: Iterable[str | tuple[str, str]], argument: str) -> list[str]:
    """The texts as a list, if they are some; ``argument`` is what the caller calls them. Pairs of strings become one.

    >>> listed_texts([("a cat", "a pet")], "texts")
    ['a cat ␞ a pet']
    """
    listed = [_as_text(text) for text in _listed(texts, argument)]
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(
                f"{argument}[{row}] is {short_repr(text)} (a {type(text).__name__}), not a string; "
                "drop such rows, or pass one column of a table."
            )
    return listed


def _as_text(text: Any) -> Any:
    is_two = isinstance(text, tuple) and len(text) == 2 and all(isinstance(side, str) for side in text)
    return paired(*text) if is_two else text


def _listed(values: Iterable[Any], argument: str) -> list[Any]:
    """The values as a list, unless iterating over them would yield something else than their rows."""
    if isinstance(values, str | bytes):
        raise InputError(f"{argument} is a single {type(values).__name__}; wrap it in a list: [{short_repr(values)}].")
    if isinstance(values, Mapping) or hasattr(values, "columns"):
        raise InputError(f"{argument} is a whole table ({type(values).__name__}); pass one column: table['text'].")
    n_axes = getattr(values, "ndim", 1)
    if not isinstance(values, Iterable) or n_axes != 1:
        shape = f" of {n_axes} axes" if n_axes != 1 else ""
        raise InputError(f"{argument} is a {type(values).__name__}{shape}; pass a list of strings.")
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise InputError(f"{argument} is an array in which values are masked; leave these out first.")
    return list(values)


def _collect(rows: Iterable[tuple[str, Any]], *, source: str, clean: str, remarks: Sequence[str] = ()) -> Documents:
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
            documents.append(Document(key, text, _label(label, source)))
    if not documents:
        if source == PYTHON:
            raise DocumentsError(f"There is no usable text among the {n_empty} that were given; give some with words.")
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
        remarks=tuple(remarks),
    )


def _label(label: Any, source: str) -> str | None:
    """The label that came with a document, if one did; one that no file can hold is refused."""
    if _is_missing(label) or label == "":
        return None
    name = str(label)
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise DocumentsError(
            f"The label {name!r} in {source} holds half a character, which no file can hold; mend it, or leave out the "
            "label column."
        ) from error
    return name


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
class _File:
    """A file, its format and how it is packed; standard input has neither until its first bytes are seen."""

    source: str
    format: str = ""
    packing: str = ""
    is_input: bool = False
    elsewhere: Elsewhere | None = None

    @classmethod
    def find(cls, source: str, format: str | None) -> _File:
        chosen = f".{format}" if format else ""
        if source == "-":
            return cls("standard input", chosen, is_input=True)
        elsewhere = None
        if is_uri(source):
            file = one_file(source)
            source = str(file)
            elsewhere = file if isinstance(file, Elsewhere) else None
        if elsewhere is None:
            with _reading(source):
                about = os.stat(source)
                if _is_device(about) and not _is_terminal(about):
                    raise DocumentsError(f"{source} is a device and holds no documents; name a file, or pipe them in.")
        if elsewhere is None and Path(source).is_dir():
            raise DocumentsError(f"{source} is a folder; name the files in it, for instance {source}/*.csv.")
        *_, before_last, last = ["", "", *(suffix.lower() for suffix in Path(source).suffixes)]
        packing, extension = (last, before_last) if last in PACKINGS else ("", last)
        if not chosen and extension not in FORMATS:
            raise DocumentsError(
                f"{source} is of no known kind: known are {' '.join(FORMATS)}, "
                f"each also compressed ({' '.join(PACKINGS)}); rename it, or say with --format what it is."
            )
        return cls(source, chosen or extension, packing, elsewhere=elsewhere)

    def rows(self, columns: Columns, encoding: str, max_unpacked: int, remarks: list[str]) -> Rows:
        with _reading(self.source), self._open() as packed:
            packing = packing_of(packed.peek(HEAD)) if self.is_input else self.packing
            stream = unpacked(cast(BinaryIO, packed), packing, self.source, max_unpacked) if packing else packed
            head = stream.peek(HEAD)
            if not head:
                raise DocumentsError(f"{self.source} is empty; give a file with documents in it.")
            ending = self.format or format_of(head, columns, encoding)
            if self.is_input and not self.format and ending != ".txt":
                remarks.append(f"Standard input is read as {ending.removeprefix('.')}; --format says otherwise.")
            how = Reading(self.source, columns, encoding, max_unpacked)
            for row, (text, label) in enumerate(FORMATS[ending](stream, how), 1):
                if not isinstance(text, str) and not _is_missing(text):
                    inside = f"a field inside it is named with dots: --text-column {columns.text}.FIELD"
                    then = inside if isinstance(text, dict) else "choose another text column"
                    raise DocumentsError(
                        f"{self.source}, row {row}: the text is {short_repr(text)} (a {type(text).__name__}), "
                        f"not a string; {then}."
                    )
                yield text if isinstance(text, str) else "", label

    def _open(self) -> io.BufferedReader:
        if self.elsewhere is not None:
            return io.BufferedReader(self.elsewhere.open())
        if not self.is_input:
            return open(self.source, "rb")
        try:
            number = sys.stdin.fileno()
            about = os.fstat(number)
            if _is_device(about) and not os.isatty(number):
                raise DocumentsError("Standard input is a device and holds no documents; name a file, or pipe them in.")
            return open(number, "rb", closefd=False)
        except (AttributeError, ValueError, OSError) as error:
            raise DocumentsError("Standard input is closed; name a file, or pipe documents into it.") from error


def _is_device(about: os.stat_result) -> bool:
    """Whether this is a device, which may never end, or begin something when it is read. One that holds nothing is
    read as an empty file."""
    return (stat.S_ISCHR(about.st_mode) or stat.S_ISBLK(about.st_mode)) and not os.path.samestat(
        about, os.stat(os.devnull)
    )


def _is_terminal(about: os.stat_result) -> bool:
    """Whether this is where somebody types, as /dev/stdin may be: the terminal is a device that ends."""
    try:
        number = sys.stdin.fileno()
        return os.isatty(number) and os.path.samestat(about, os.fstat(number))
    except (AttributeError, ValueError, OSError):
        return False


@contextmanager
def _reading(source: str) -> Iterator[None]:
    """Turns what the standard library says of a file that cannot be read into one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise DocumentsError(f"There is no file {source}; check the path (the current folder is {_here()}).") from error
    except (OSError, EOFError) as error:
        raise DocumentsError(
            f"{source} cannot be read ({error}); check that it is complete and what its name says."
        ) from error
    except UnicodeEncodeError as error:
        raise DocumentsError(f"{source!r} is no path: it holds half a character.") from error
    except ValueError as error:
        if "null" not in str(error):
            raise
        raise DocumentsError(f"{source!r} is no path: it holds a NUL character.") from error


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return "gone"

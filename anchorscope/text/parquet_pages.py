"""What the pages of a Parquet file unpack to, as each says itself: found out before any of them is unpacked.

A column is written down in chunks, one for each group of rows, and a chunk in pages, each packed by itself behind a
header of its own (Thrift's compact protocol):

    field 2   bytes when it is unpacked         field 5, 8   how the cells of a page are written down,
    field 3   bytes that follow the header                   in version 1 and 2 of the format

A reader makes room for what a header says, and unpacks no more than that, whatever the directory at the end of the file
says of the chunk. So the headers are what is to be believed, and of the directory only where chunks are. It is read
here, too: pyarrow ends the process when it is asked about a chunk of a damaged file.

>>> import io
>>> header = bytes([0x15, 0, 0x15, 80, 0x15, 6, 0x2C, 0x15, 2, 0x15, 14, 0, 0])   # 40 bytes when unpacked, 3 as packed
>>> [*pages(io.BytesIO(header + b"..."), Chunk(start=0, end=16, n_cells=1))]
[Page(n_bytes=40, encodings=(7, None))]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import SEEK_END
from typing import Any, BinaryIO

FIRST_PIECE = 1 << 9
LARGEST_HEADER = 1 << 24
"""Bytes of a header that are looked at, first and at most: it may hold the least and the largest cell of its page."""

DELTA_LENGTHS = 6
DELTA = 7
"""Two ways to write down cells: their lengths first; and only what differs from the cell before, so that a small page
can hold large ones."""

LENGTH_AND_MAGIC = 8
"""Bytes behind the directory: how long it is, and a mark."""

DEEPEST = 16
"""Structures inside one another; five are usual."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Where the pages of a chunk begin and end in the file, and how many cells they are said to hold."""

    start: int
    end: int
    n_cells: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group of rows: how many there are said to be, and a chunk for each column."""

    n_rows: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page: the bytes that it is unpacked to, and the ways in which its cells may be written down, by number: what it
    says for version 1 of the format, and for version 2."""

    n_bytes: int
    encodings: tuple[int | None, int | None]


def directory(file: BinaryIO) -> list[Group]:
    """The groups of a file, in their order; a ValueError where it has no directory."""
    end = file.seek(0, SEEK_END) - LENGTH_AND_MAGIC
    file.seek(max(0, end))
    start = end - int.from_bytes(file.read(4), "little")
    if start < 0:
        raise ValueError("it has no directory")
    file.seek(start)
    try:
        found, _ = _structure(file.read(end - start), 0)
    except IndexError:
        raise ValueError("its directory breaks off") from None
    return [_group(group) for group in _list(found.get(4))]


def _group(found: Any) -> Group:
    return Group(_number(found, 3), tuple(_chunk(_field(column, 3)) for column in _list(_field(found, 1))))


def _chunk(found: Any) -> Chunk:
    start = _number(found, 9)
    dictionary = _field(found, 11)
    if isinstance(dictionary, int) and 0 < dictionary < start:
        start = dictionary
    return Chunk(start, start + _number(found, 7), _number(found, 5))


def pages(file: BinaryIO, chunk: Chunk) -> Iterator[Page]:
    """The pages of a chunk; where there are no cells none is read. A ValueError where something else stands there."""
    start = chunk.start
    if not 0 <= start <= chunk.end:
        raise ValueError("its pages are nowhere in the file")
    while start < chunk.end and chunk.n_cells > 0:
        header, length = _header(file, start, chunk.end)
        n_bytes, n_packed = _number(header, 2), _number(header, 3)
        if n_bytes < 0 or n_packed < 0:
            raise ValueError("a page is smaller than nothing")
        yield Page(n_bytes, (_encoding(header.get(5), 2), _encoding(header.get(8), 4)))
        start += length + n_packed


def _header(file: BinaryIO, start: int, end: int) -> tuple[dict[int, Any], int]:
    """The header at a place, and how long it is."""
    size = FIRST_PIECE
    while True:
        file.seek(start)
        piece = file.read(min(size, end - start))
        try:
            return _structure(piece, 0)
        except IndexError:
            is_whole = len(piece) < size
        if is_whole or size >= LARGEST_HEADER:
            raise ValueError("a page has no header")
        size *= 32


def _field(structure: Any, number: int) -> Any:
    return structure.get(number) if isinstance(structure, dict) else None


def _encoding(structure: Any, number: int) -> int | None:
    found = _field(structure, number)
    return found if isinstance(found, int) else None


def _number(structure: Any, number: int) -> int:
    found = _field(structure, number)
    if not isinstance(found, int):
        raise ValueError("it does not say how large it is, or where")
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _structure(data: bytes, place: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a structure by their numbers, and where it ends; an IndexError where the data end before."""
    if depth > DEEPEST:
        raise ValueError("its structures have no end")
    found: dict[int, Any] = {}
    number = 0
    while byte := data[place]:
        place += 1
        if byte >> 4:
            number += byte >> 4
        else:
            number, place = _whole_number(data, place)
        value, place = _value(data, place, byte & 15, depth)
        before = found.get(number)
        # A structure that is there twice is read into itself, as Thrift does.
        found[number] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
    return found, place + 1


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of a kind that these files have, and where it ends; of strings and floats the end alone."""
    if kind in (1, 2):
        return kind == 1, place
    if kind in (3, 7):
        return None, place + (1 if kind == 3 else 8)
    if kind in (4, 5, 6):
        return _whole_number(data, place)
    if kind == 8:
        length, place = _varint(data, place)
        return None, place + length
    if kind in (9, 10):
        return _elements(data, place, depth)
    if kind == 12:
        return _structure(data, place, depth + 1)
    raise ValueError("it holds a value of a kind that there is not")


def _elements(data: bytes, place: int, depth: int) -> tuple[list[Any], int]:
    """The elements of a list, and where it ends; a truth value takes a byte there."""
    n, kind = data[place] >> 4, data[place] & 15
    place += 1
    if n == 15:
        n, place = _varint(data, place)
    found = []
    for _ in range(n):
        value, place = _value(data, place, 3 if kind in (1, 2) else kind, depth)
        if place > len(data):
            raise IndexError
        found.append(value)
    return found, place


def _whole_number(data: bytes, place: int) -> tuple[int, int]:
    """A number with a sign: 0, -1, 1, -2 … are written down as 0, 1, 2, 3 …"""
    number, place = _varint(data, place)
    return (number >> 1) ^ -(number & 1), place


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number in seven bits a byte, the least first; the eighth says that there are more."""
    number = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
    raise ValueError("a number has no end")

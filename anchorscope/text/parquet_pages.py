"""What the pages of a Parquet file unpack to, as each says itself: found out before any of them is unpacked.

A column is written down in chunks, one for each group of rows, and a chunk in pages, each packed by itself behind a
header of its own (Thrift's compact protocol):

    field 2   bytes when it is unpacked         field 5, 8   how the cells of a page are written down,
    field 3   bytes that follow the header                   in version 1 and 2 of the format

A reader makes room for what a header says, and unpacks no more than that, whatever the directory at the end of the file
says of the chunk. So the headers are what is to be believed, and the directory is not.

>>> import io
>>> header = bytes([0x15, 0, 0x15, 80, 0x15, 6, 0x2C, 0x15, 2, 0x15, 14, 0, 0])   # 40 bytes when unpacked, 3 as packed
>>> [*pages(io.BytesIO(header + b"..."), 0, 16)]
[Page(n_bytes=40, encodings=(7, None))]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

FIRST_PIECE = 1 << 9
LARGEST_HEADER = 1 << 24
"""Bytes of a header that are looked at, first and at most: it may hold the least and the largest cell of its page."""

DELTA_LENGTHS = 6
DELTA = 7
"""Two ways to write down cells: their lengths first; and only what differs from the cell before, so that a small page
can hold large ones."""

DEEPEST = 8
"""Structures inside one another in a header; three are usual."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: the bytes that it is unpacked to, and the ways in which its cells may be written down, by number: what it
    says for version 1 of the format, and for version 2."""

    n_bytes: int
    encodings: tuple[int | None, int | None]


def chunk_pages(file: BinaryIO, chunk: Any) -> Iterator[Page]:
    """The pages of a chunk of pyarrow's; where there are no cells none is read."""
    if chunk.num_values <= 0:
        return iter(())
    start = int(chunk.data_page_offset)
    if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < start:
        start = int(chunk.dictionary_page_offset)
    return pages(file, start, start + int(chunk.total_compressed_size))


def pages(file: BinaryIO, start: int, end: int) -> Iterator[Page]:
    """The pages between two places of a file; a ValueError where something else stands there."""
    if not 0 <= start <= end:
        raise ValueError("its pages are nowhere in the file")
    while start < end:
        header, length = _header(file, start, end)
        n_bytes, n_packed = header.get(2), header.get(3)
        if not isinstance(n_bytes, int) or not isinstance(n_packed, int) or n_bytes < 0 or n_packed < 0:
            raise ValueError("a page does not say how large it is")
        yield Page(n_bytes, (_field(header.get(5), 2), _field(header.get(8), 4)))
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


def _structure(data: bytes, place: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a structure by their numbers, and where it ends; an IndexError where the data end before."""
    if depth > DEEPEST:
        raise ValueError("the header of a page has no end")
    found: dict[int, Any] = {}
    number = 0
    while byte := data[place]:
        place += 1
        if byte >> 4:
            number += byte >> 4
        else:
            number, place = _whole_number(data, place)
        found[number], place = _value(data, place, byte & 15, depth)
    return found, place + 1


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of a kind that headers have, and where it ends."""
    if kind in (1, 2):
        return kind == 1, place
    if kind in (4, 5, 6):
        return _whole_number(data, place)
    if kind == 8:
        length, place = _varint(data, place)
        return None, place + length
    if kind == 12:
        return _structure(data, place, depth + 1)
    raise ValueError("the header of a page is none")


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
    raise ValueError("a number in the header of a page has no end")

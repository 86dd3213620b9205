"""The fields of a protobuf message, in which ONNX files are written, without the package that knows their meaning.

A message is fields one after another, each a number and a type in one integer, and then a value. Integers are written
by seven bits a byte, and may be longer than they need be, so that a search for bytes finds nothing for certain.

>>> [*fields(bytes([1 << 3 | VARINT, 5, 4 << 3 | LENGTH, 2, 65, 66]), 0, 6)]
[(1, 0, 5, 1), (4, 2, 2, 4)]
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT = 0
EIGHT_BYTES = 1
LENGTH = 2
FOUR_BYTES = 5
"""The types of fields; groups, the two others, are in no ONNX file."""

LONGEST_VARINT = 10

Field = tuple[int, int, int, int]


def fields(model: bytes, start: int, end: int) -> Iterator[Field]:
    """The fields of a message: number, type, value (of bytes: how many) and, of bytes, where they begin."""
    place = start
    while place < end:
        tag, place = varint(model, place, end)
        number = (tag & 0xFFFFFFFF) >> 3  # protobuf drops what is above
        form = tag & 7
        value = 0
        begin = place
        if form == VARINT:
            value, place = varint(model, place, end)
        elif form == LENGTH:
            value, begin = varint(model, place, end)
            place = begin + value
        elif form in (EIGHT_BYTES, FOUR_BYTES):
            place += 8 if form == EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field at byte {begin:,} is of no known type")
        if place > end:
            raise ValueError("a field is longer than what holds it")
        yield number, form, value, begin


def varint(model: bytes, place: int, end: int) -> tuple[int, int]:
    """An integer by seven bits a byte, the lowest first, and where it ends.

    >>> varint(bytes([0x88, 0x00]), 0, 2), varint(bytes([0xAC, 0x02]), 0, 2)
    ((8, 2), (300, 2))
    """
    value = 0
    for number, byte in enumerate(model[place : min(place + LONGEST_VARINT, end)]):
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return value, place + number + 1
    raise ValueError("an integer has no end")

"""Whether an ONNX file keeps weights in other files: onnxruntime would open whatever these are called.

A file is a message of protobuf: fields one after another, each a number and a type in one integer, and then a value.
Integers are written by seven bits a byte, and may be longer than they need be, so that a search for bytes finds nothing
for certain. Here every field is walked that can hold a tensor, at any depth; what cannot be walked is refused.

    model > graph > initializer
    model > function > node > attribute > sparse_tensor > values
"""

from __future__ import annotations

from collections.abc import Iterator

TENSOR = "TensorProto"
INSIDE = {
    "ModelProto": {7: "GraphProto", 20: "TrainingInfoProto", 25: "FunctionProto"},
    "TrainingInfoProto": {1: "GraphProto", 2: "GraphProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "GraphProto": {1: "NodeProto", 5: TENSOR, 15: "SparseTensorProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {
        **{5: TENSOR, 10: TENSOR, 6: "GraphProto", 11: "GraphProto"},
        **{22: "SparseTensorProto", 23: "SparseTensorProto"},
    },
    "SparseTensorProto": {1: TENSOR, 2: TENSOR},
}
"""The fields of each kind of message in which tensors lie, by number, and what kind of message each holds."""

EXTERNAL_DATA = 13
DATA_LOCATION = 14
"""The fields of a tensor that name another file; the latter is 0 where its values are in this one."""

VARINT = 0
EIGHT_BYTES = 1
LENGTH = 2
FOUR_BYTES = 5
"""The types of fields; groups, the two others, are in no ONNX file."""

LONGEST_VARINT = 10
MOST_FIELDS = 20_000_000
"""Fields beyond which a file is not walked to its end: one that is written well has one for all numbers of a tensor."""

Field = tuple[int, int, int, int]


def names_other_files(model: bytes) -> bool:
    """Whether a tensor in an ONNX file lies in another one; a ValueError says that it is no such file.

    >>> names_other_files(bytes([7 << 3 | LENGTH, 4, 5 << 3 | LENGTH, 2, DATA_LOCATION << 3, 1]))
    True
    """
    left = [("ModelProto", 0, len(model))]
    n_fields = 0
    while left:
        kind, start, end = left.pop()
        inside = INSIDE.get(kind, {})
        for number, form, value, place in _fields(model, start, end):
            n_fields += 1
            if n_fields > MOST_FIELDS:
                raise ValueError(f"it has more than {MOST_FIELDS:,} fields")
            if kind == TENSOR and (number == EXTERNAL_DATA or (number == DATA_LOCATION and value)):
                return True
            if form == LENGTH and number in inside:
                left.append((inside[number], place, place + value))
    return False


def _fields(model: bytes, start: int, end: int) -> Iterator[Field]:
    """The fields of a message: number, type, value (of bytes: how many) and, of bytes, where they begin."""
    place = start
    while place < end:
        tag, place = _varint(model, place, end)
        number = (tag & 0xFFFFFFFF) >> 3  # protobuf drops what is above
        form = tag & 7
        value = 0
        begin = place
        if form == VARINT:
            value, place = _varint(model, place, end)
        elif form == LENGTH:
            value, begin = _varint(model, place, end)
            place = begin + value
        elif form in (EIGHT_BYTES, FOUR_BYTES):
            place += 8 if form == EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field at byte {begin:,} is of no known type")
        if place > end:
            raise ValueError("a field is longer than what holds it")
        yield number, form, value, begin


def _varint(model: bytes, place: int, end: int) -> tuple[int, int]:
    """An integer by seven bits a byte, the lowest first, and where it ends.

    >>> _varint(bytes([0x88, 0x00]), 0, 2), _varint(bytes([0xAC, 0x02]), 0, 2)
    ((8, 2), (300, 2))
    """
    value = 0
    for number, byte in enumerate(model[place : min(place + LONGEST_VARINT, end)]):
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return value, place + number + 1
    raise ValueError("an integer has no end")

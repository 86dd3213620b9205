"""Whether an ONNX file keeps weights in other files: onnxruntime would open whatever these are called.

A file is a message of protobuf (``protobuf.py``). Here every field is walked that can hold a tensor, at any depth; what
cannot be walked is refused.

    model > graph > initializer
    model > function > node > attribute > sparse_tensor > values
"""

from __future__ import annotations

from anchorscope.predictors.protobuf import LENGTH, fields

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

MOST_FIELDS = 20_000_000
"""Fields beyond which a file is not walked to its end: one that is written well has one for all numbers of a tensor."""


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
        for number, form, value, place in fields(model, start, end):
            n_fields += 1
            if n_fields > MOST_FIELDS:
                raise ValueError(f"it has more than {MOST_FIELDS:,} fields")
            if kind == TENSOR and (number == EXTERNAL_DATA or (number == DATA_LOCATION and value)):
                return True
            if form == LENGTH and number in inside:
                left.append((inside[number], place, place + value))
    return False

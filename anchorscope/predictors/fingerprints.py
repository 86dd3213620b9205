"""What makes a model this model: a sha256 that changes when the model does.

It is kept with a run, so that the run goes on with no other model. A file is its bytes. An object in memory is
described as well as it can be, and some changes go unnoticed:

    fingerprint of             is the sha256 of                                    does not notice
    a file                     its bytes
    an ONNX file               its bytes, those of tokenizer and configuration
    a Hugging Face folder      the files that are read: names and bytes
    a Hugging Face model       configuration, vocabulary and weights               other settings of the tokenizer
    an estimator, any object   its class name and its state                        new code in its class
    ... that does not pickle   its class name                                      anything else
    a function                 its module, name and source                         what it calls, reads or closes over

The state is the one that would be pickled, taken by value: dicts and sets sorted, arrays in one memory layout. So a
model that was fitted twice in the same way, or saved and loaded, keeps its fingerprint; an object that counts its
calls does not.
"""

from __future__ import annotations

import copyreg
import inspect
import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, NoneType
from typing import Any

import numpy as np

READ_FROM_FOLDERS = {".json", ".txt", ".model", ".safetensors"}
"""The files that make a Hugging Face folder the model that it is: configuration, vocabulary, weights."""

PLAIN = (str, bytes, int, float, complex, NoneType)
"""Values that are told by how they are written."""


def of_folder(folder: Path) -> str:
    """The fingerprint of a Hugging Face folder, wherever it lies."""
    files = sorted(file for file in folder.iterdir() if file.suffix in READ_FROM_FOLDERS and file.is_file())
    return sha256("".join(f"{_of_file(file)}  {file.name}\n" for file in files).encode()).hexdigest()


def of_transformer(model: Any, tokenizer: Any) -> str:
    """The fingerprint of a Hugging Face model in memory, and of the tokenizer that it reads through."""
    config = model.config.to_dict()
    for about_the_file in ("_name_or_path", "transformers_version"):
        config.pop(about_the_file, None)
    digest = sha256(json.dumps([config, tokenizer.get_vocab()], sort_keys=True, default=str).encode())
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weights.double().cpu().numpy().tobytes())  # numpy has no bfloat16
    return digest.hexdigest()


def of_object(thing: Any) -> str:
    """The fingerprint of an estimator, a function or any other object.

    >>> of_object({"b": 1, "a": {"x", "y"}}) == of_object({"a": {"y", "x"}, "b": 1})
    True
    >>> of_object(len) == of_object(max)
    False
    """
    try:
        description = _by_value(thing)
    except Exception:  # whatever a class raises that will not be pickled
        description = _name(type(thing))
    return sha256(description).hexdigest()


def _of_file(file: Path) -> str:
    digest = sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _by_value(thing: Any, above: tuple[Any, ...] = ()) -> bytes:
    """``thing`` in bytes, the same for equal values whichever objects hold them; ``above`` are those that hold it."""
    if isinstance(thing, PLAIN):
        return repr(thing).encode()
    if isinstance(thing, type | BuiltinFunctionType):
        return _name(thing)
    if isinstance(thing, FunctionType):
        return _name(thing) + _source(thing)
    if any(thing is other for other in above):
        return b"itself"

    around = (*above, thing)

    def inside(parts: Iterable[Any]) -> list[bytes]:
        return [_by_value(part, around) for part in parts]

    match thing:
        case dict():
            # A vectoriser of scikit-learn keeps the address of its stop words: another one in each process.
            keys = [key for key in thing if key != "_stop_words_id"]
            pairs = zip(inside(keys), inside(thing[key] for key in keys), strict=True)
            return b"{%b}" % b",".join(sorted(b"%b:%b" % pair for pair in pairs))
        case set() | frozenset():
            return b"{%b}" % b",".join(sorted(inside(thing)))
        case list() | tuple():
            return b"(%b)" % b",".join(inside(thing))
        case np.ndarray() if thing.dtype != object:
            return b"".join(inside([thing.dtype.str, thing.shape, sha256(thing.tobytes()).digest()]))
        case MethodType():
            return b"".join(inside([thing.__func__, thing.__self__]))
    reduce = copyreg.dispatch_table.get(type(thing))
    reduced = reduce(thing) if reduce else thing.__reduce_ex__(4)
    if isinstance(reduced, str):
        return reduced.encode()
    return b"<%b>" % b"".join(inside([*reduced[:3], *(list(items) for items in reduced[3:5] if items)]))


def _name(thing: Any) -> bytes:
    return f"{thing.__module__}.{thing.__qualname__}".encode()


def _source(function: FunctionType) -> bytes:
    try:
        return inspect.getsource(function).encode()
    except OSError:  # typed into a prompt
        return b""

"""How many nodes an ONNX file becomes when the functions in it are written out: each call is a copy of what it calls.

A function may call others, so a small file can stand for any number of nodes:

    F0 calls F1 twice, F1 calls F2 twice … F29 calls F30 twice      2^30 copies of F30, in a few kilobytes

onnxruntime writes all of them out before it answers, and one that calls itself has no end. So they are counted here
without being written out: a function once, by the nodes in it and the counts of those that it calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from anchorscope.predictors.protobuf import LENGTH, fields

MOST_COPIES = 50_000
"""Nodes of functions, written out: onnxruntime takes half a minute for so many. A large transformer has a tenth."""

DEEPEST = 64
"""Functions in functions; exporters write three."""

FUNCTIONS = 25
"""The field of a model that holds them."""

TO_NODES: Mapping[str, Mapping[int, str]] = {
    "ModelProto": {7: "GraphProto", 20: "TrainingInfoProto"},
    "TrainingInfoProto": {1: "GraphProto", 2: "GraphProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "GraphProto": {1: "NodeProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {6: "GraphProto", 11: "GraphProto"},
}
"""The fields of each kind of message in which nodes lie, at any depth."""

FUNCTION_NAME = (10, 1, 13)
NODE_NAME = (7, 4, 8)
"""The fields that say what a function is called, and which one a node calls: domain, name, overload."""

STANDARD = b"ai.onnx"
"""Another word for the domain without a name."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """How often the nodes of a message call each name, which is that of a function or of an operator; and which of
    them hand it a graph."""

    calls: Counter[bytes] = field(default_factory=Counter)
    handed_graphs: set[bytes] = field(default_factory=set)


def check_functions(model: bytes) -> None:
    """A ValueError where the functions of an ONNX file are too many nodes, or have no end."""
    functions: dict[bytes, Nodes] = {}
    for number, form, length, place in fields(model, 0, len(model)):
        if number == FUNCTIONS and form == LENGTH:
            end = place + length
            inside = functions.setdefault(_name(model, place, end, FUNCTION_NAME), Nodes())
            _add(model, "FunctionProto", place, end, inside)
    if not functions:
        return
    whole = Nodes()
    _add(model, "ModelProto", 0, len(model), whole)
    if any(nodes.handed_graphs & functions.keys() for nodes in (whole, *functions.values())):
        raise ValueError("a function in it is handed a graph, of which it may make any number of copies")
    _n_copies(whole, functions, {}, 0)


def _n_copies(nodes: Nodes, functions: Mapping[bytes, Nodes], known: dict[bytes, int], depth: int) -> int:
    """The nodes that come of some calls, over all functions that they reach."""
    if depth > DEEPEST:
        raise ValueError(f"its functions call each other more than {DEEPEST} deep, or without end")
    total = 0
    for name in nodes.calls.keys() & functions.keys():
        if name not in known:
            inside = functions[name]
            known[name] = inside.calls.total() + _n_copies(inside, functions, known, depth + 1)
        total += nodes.calls[name] * known[name]
    if total > MOST_COPIES:
        raise ValueError(f"its functions, written out, are more than {MOST_COPIES:,} nodes")
    return total


def _add(model: bytes, kind: str, start: int, end: int, found: Nodes) -> None:
    """Add what the nodes of a message call, those in the graphs of others included.

    Where a function holds a graph as what it is handed by default, it is handed one by each who calls it.
    """
    left = [(kind, start, end, _name(model, start, end, FUNCTION_NAME) if kind == "FunctionProto" else b"")]
    while left:
        kind, start, end, name = left.pop()
        inside = TO_NODES[kind]
        if kind == "NodeProto":
            name = _name(model, start, end, NODE_NAME)
            found.calls[name] += 1
        for number, form, length, place in fields(model, start, end):
            if form == LENGTH and number in inside:
                left.append((inside[number], place, place + length, name))
                if kind == "AttributeProto":
                    found.handed_graphs.add(name)


def _name(model: bytes, start: int, end: int, numbers: tuple[int, int, int]) -> bytes:
    """Domain, name and overload, as onnxruntime joins them; where one is written twice, the last counts."""
    said = dict.fromkeys(numbers, b"")
    for number, form, length, place in fields(model, start, end):
        if form == LENGTH and number in said:
            said[number] = model[place : place + length]
    domain, name, overload = (said[number] for number in numbers)
    joined = (b"" if domain == STANDARD else domain) + b":" + name
    return joined + b":" + overload if overload else joined

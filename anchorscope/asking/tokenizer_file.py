"""How much longer a tokenizer.json may make a text before it cuts it: a file of a few lines can ask for gigabytes.

Its normalizer and its pre-tokenizer are steps, one after another, and some write more than they read:

    Replace "a" by "aa", forty times over      2^40 characters for one
    ByteLevel, forty times over                likewise: of a space it makes two bytes, of which each becomes two
    Precompiled                                a table with a string for each character, of any length

So the growth of each is worked out from what it says, and that of all is their product. In the files that are in use it
is fourfold at most (a space becomes ▁, of three bytes), and there is one table at most, whose longest string has 33
bytes, for a ligature of Arabic. What a table makes of usual letters is not looked at: its strings are short or refused.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_GROWTH = 16
"""Bytes that may come of one."""

LONGEST_STRING = 64
"""Bytes of a string in a Precompiled table, or of what is put before a text or a piece."""

MOST_STEPS = 100

STEPS = ("normalizer", "pre_tokenizer")
BEFORE = ("prepend", "continuing_subword_prefix", "end_of_word_suffix")
"""Options that are put before or behind each text or piece."""


def check_growth(tokenizer: bytes) -> None:
    """A ValueError where a tokenizer.json would make texts too long, or is no JSON.

    >>> step = '{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}'
    >>> check_growth(('{"normalizer": {"normalizers": [%s]}}' % ", ".join([step] * 40)).encode())
    Traceback (most recent call last):
    ValueError: its steps make texts up to 1,099,511,627,776 times as long, and at most 16 times is taken
    """
    found = json.loads(tokenizer)
    if not isinstance(found, dict):
        raise ValueError("it holds no options")
    steps = [step for part in STEPS for step in _objects(found.get(part))]
    if len(steps) > MOST_STEPS:
        raise ValueError(f"it has more than {MOST_STEPS} steps")
    _check_tables(steps)
    growth = 1
    for step in steps:
        growth *= _growth(step)
    if growth > MOST_GROWTH:
        shown = f"{growth:,}" if growth < 10**15 else "very many"
        raise ValueError(f"its steps make texts up to {shown} times as long, and at most {MOST_GROWTH} times is taken")
    model = found.get("model")
    for options in (*steps, model if isinstance(model, dict) else {}):
        for name in BEFORE:
            if _n_bytes(options.get(name)) > LONGEST_STRING:
                raise ValueError(f"its {name} has more than {LONGEST_STRING} bytes")


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every step, those inside others included; a step need not say of which kind it is."""
    left = [value]
    while left:
        inside = left.pop()
        if isinstance(inside, dict):
            yield inside
            left += inside.values()
        elif isinstance(inside, list):
            left += inside


def _growth(step: Mapping[str, Any]) -> int:
    """How many bytes a step may make of one, at most."""
    if "content" in step and "pattern" in step:
        return _growth_of_replace(step["pattern"], _n_bytes(step["content"]))
    return 2 if step.get("type") == "ByteLevel" or "trim_offsets" in step else 1


def _growth_of_replace(pattern: Any, n_written: int) -> int:
    """A string becomes another; an empty one, and an expression, may be found between any two characters."""
    string = pattern.get("String") if isinstance(pattern, dict) else pattern
    if isinstance(string, str) and string:
        return max(1, -(-n_written // _n_bytes(string)))
    return 1 + n_written


def _check_tables(steps: Sequence[Mapping[str, Any]]) -> None:
    """One table at most, which is whole and has short strings."""
    tables = [table for step in steps if isinstance(table := step.get("precompiled_charsmap"), str)]
    if len(tables) > 1:
        raise ValueError("it has more than one precompiled table")
    for table in tables:
        _check_table(b64decode(table))


def _check_table(data: bytes) -> None:
    """The size of a tree, the tree in units of four bytes, and strings, each of which ends with a zero."""
    begin = 4 + int.from_bytes(data[:4], "little")
    if begin % 4 or not 4 < begin <= len(data):
        raise ValueError("its precompiled table is not whole")
    strings = data[begin:]
    strings.decode("utf-8")
    if max(map(len, strings.split(b"\0"))) > LONGEST_STRING:
        raise ValueError(f"its precompiled table holds a string of more than {LONGEST_STRING} bytes")


def _n_bytes(value: Any) -> int:
    return len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else 0

"""A request with a hole for the texts, and a path into the answer.

>>> filled({"inputs": "{texts}", "lang": "en"}, ["fine", "dull"])
{'inputs': ['fine', 'dull'], 'lang': 'en'}
>>> filled({"prompt": "Is this good? {text}"}, ["fine"])
{'prompt': 'Is this good? fine'}
>>> filled({"premise": "{first}", "hypothesis": "{second}"}, ["a cat ␞ a pet"])
{'premise': 'a cat', 'hypothesis': 'a pet'}
>>> at_path({"data": [{"p": [0.1, 0.9]}, {"p": [0.8, 0.2]}]}, "data[*].p")
[[0.1, 0.9], [0.8, 0.2]]
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from anchorscope.errors import InputError
from anchorscope.text.pairs import sides

ALL = "{texts}"
ONE = "{text}"
FIRST = "{first}"
SECOND = "{second}"
"""Holes for the sides of a pair."""

DEEPEST = 100
"""The most levels on which lists and objects of a request may lie in each other."""

TOO_DEEP = "--request holds lists in lists in lists …: write what the server expects."

_STEP = re.compile(r"\[(\*|-?\d+)\]|\.?([^.\[\]]+)")


def read_template(text: str) -> Any:
    """The JSON of a request with its hole."""
    try:
        template = json.loads(text)
    except RecursionError as error:
        raise InputError(TOO_DEEP) from error
    except ValueError as error:
        raise InputError(
            f'--request is no JSON ({error}); write it as in --request \'{{"inputs": "{{texts}}"}}\'.'
        ) from error
    if _is_deeper(template, DEEPEST):
        raise InputError(TOO_DEEP)
    written = json.dumps(template, ensure_ascii=False)
    if f'"{ALL}"' not in written and not any(hole in written for hole in (ONE, FIRST)):
        raise InputError(
            f'--request has no hole for the texts; put "{ALL}" where the list of them goes, or {ONE} into the string '
            "that holds one."
        )
    return template


def _is_deeper(template: Any, levels: int) -> bool:
    """Whether lists and objects lie in each other on more than so many levels.

    >>> _is_deeper([["{texts}"]], 2), _is_deeper([[["{texts}"]]], 2)
    (False, True)
    """
    # Level by level: how deep Python lets functions call each other is anybody's to change, and some libraries do.
    level = [template]
    for _ in range(levels + 1):
        held = [[*value.values()] if isinstance(value, dict) else value for value in level]
        level = [item for value in held if isinstance(value, list) for item in value]
    return bool(level)


def takes_many(template: Any) -> bool:
    """Whether a request holds a list of texts."""
    return f'"{ALL}"' in json.dumps(template, ensure_ascii=False)


def filled(template: Any, texts: Sequence[str]) -> Any:
    """The template with the texts in its hole."""
    if template == ALL:
        return list(texts)
    if isinstance(template, str):
        if FIRST not in template and SECOND not in template:
            return template.replace(ONE, texts[0])
        first, second = sides(texts[0])
        return second.join(part.replace(FIRST, first) for part in template.split(SECOND))
    if isinstance(template, dict):
        return {name: filled(value, texts) for name, value in template.items()}
    if isinstance(template, list):
        return [filled(value, texts) for value in template]
    return template


def steps(path: str) -> list[str]:
    """The steps of a path.

    >>> steps("data[0].scores[*]")
    ['data', '0', 'scores', '*']
    """
    if not path.strip() or "".join(match.group() for match in _STEP.finditer(path)) != path:
        raise InputError(
            f"--answer {path!r} is no path; write the names that lead to the rows, as in predictions[*].scores."
        )
    return [match.group(1) or match.group(2) for match in _STEP.finditer(path)]


def at_path(value: Any, path: str) -> Any:
    """What lies at the path; a LookupError where nothing does."""
    return _follow(value, steps(path))


def _follow(value: Any, rest: Sequence[str]) -> Any:
    for number, step in enumerate(rest):
        if step == "*":
            if not isinstance(value, list):
                raise LookupError(step)
            return [_follow(part, rest[number + 1 :]) for part in value]
        if isinstance(value, list) and re.fullmatch(r"-?\d+", step):
            value = value[int(step)]
        elif isinstance(value, dict):
            value = value[step]
        else:
            raise LookupError(step)
    return value

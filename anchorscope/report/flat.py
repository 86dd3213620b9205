"""A row a term: CSV, Markdown and JSON, for other programs."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from anchorscope.report.lists import has_list, not_told_apart
from anchorscope.report.table import safe
from anchorscope.result import rows
from anchorscope.types import Explanation

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet would run as a formula, in full width, too."""


_MARKED = re.compile(r"[\\|\[\]]")
"""What ends a cell of Markdown, or makes a link or an image of what is in it."""

DIGITS = 6
"""Of the numbers in tables: effects are rounded to a millionth, and intervals have two digits that mean something. JSON
has all of them."""


def to_csv(explanations: Mapping[str, Explanation]) -> str:
    """Comma-separated values with a header."""
    table = [{name: cell(value) for name, value in row.items()} for row in rows(explanations)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else ["label", "rank", "term"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def to_markdown(explanations: Mapping[str, Explanation]) -> str:
    """A table in Markdown: drivers, a line, the other terms, and what speaks against the label."""
    numbers = ("score", "low", "high", "membership", "driver", "anchors", "tested", "occurrences")
    names = ("label", "rank", "term", "written", *numbers)
    lines = ["| " + " | ".join(names) + " |", "|" + "|".join("---" for _ in names) + "|"]
    for label, explanation in explanations.items():
        lines += _markdown_lines({label: explanation}, names)
    return "\n".join(lines) + "\n"


def _markdown_lines(explanations: Mapping[str, Explanation], names: Sequence[str]) -> Iterator[str]:
    """The rows of one label, and between them what divides them."""
    ((label, explanation),) = explanations.items()
    if explanation.note:
        yield _divider(label, explanation.note, names)
    below = not_told_apart(explanation)
    part = "drivers"
    for row in sorted(rows(explanations), key=lambda row: (row["side"] == "against", not row["driver"])):
        if row["side"] == "for" and not has_list(explanation):
            continue
        now = f"against {label}" if row["side"] == "against" else "drivers" if row["driver"] else below
        if now != part and now:
            yield _divider(label, now, names)
        part = now
        values = {**row, "driver": "yes" if row["driver"] else "no"}
        yield "| " + " | ".join(_markdown(values[name]) for name in names) + " |"


def _divider(label: str, told: str, names: Sequence[str]) -> str:
    cells = {"label": _markdown(label), "term": f"*{_markdown(told)}*"}
    return "| " + " | ".join(cells.get(name, "") for name in names) + " |"


def to_json(explanations: Mapping[str, Explanation], **about: Any) -> str:
    """The rows as JSON, with what they are ``about`` before them; a bound that is not known is null."""
    terms = [{name: _none_if_endless(value) for name, value in row.items()} for row in rows(explanations)]
    return json.dumps({**about, "terms": terms}, indent=2, allow_nan=False) + "\n"


def cell(value: Any) -> Any:
    """The value of a cell of CSV, numbers to six digits; a text that begins like a formula has an apostrophe before it.

    >>> cell("=1+1"), cell("film"), cell(-0.1 - 0.2)
    ("'=1+1", 'film', -0.3)
    """
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _markdown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    return _MARKED.sub(r"\\\g<0>", escape(safe(str(value)), quote=False))


def _none_if_endless(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value

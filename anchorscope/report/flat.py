"""A row a term: CSV, Markdown and JSON, for other programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from html import escape
from typing import Any

from anchorscope.report.table import safe
from anchorscope.result import rows
from anchorscope.types import Explanation

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would run as a formula."""


def to_csv(explanations: Mapping[str, Explanation]) -> str:
    """Comma-separated values with a header."""
    table = [{name: cell(value) for name, value in row.items()} for row in rows(explanations)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else ["label", "rank", "term"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def to_markdown(explanations: Mapping[str, Explanation]) -> str:
    """A table in Markdown."""
    names = ("label", "rank", "term", "score", "low", "high", "anchors", "tested", "occurrences")
    lines = ["| " + " | ".join(names) + " |", "|" + "|".join("---" for _ in names) + "|"]
    lines += ["| " + " | ".join(_markdown(row[name]) for name in names) + " |" for row in rows(explanations)]
    return "\n".join(lines) + "\n"


def to_json(explanations: Mapping[str, Explanation], **about: Any) -> str:
    """The rows as JSON, with what they are ``about`` before them; a bound that is not known is null."""
    terms = [{name: _finite(value) for name, value in row.items()} for row in rows(explanations)]
    return json.dumps({**about, "terms": terms}, indent=2, allow_nan=False) + "\n"


def cell(value: Any) -> Any:
    """The value of a cell of CSV; a text that begins like a formula has an apostrophe before it.

    >>> cell("=1+1"), cell("film"), cell(-0.5)
    ("'=1+1", 'film', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _markdown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return escape(safe(str(value)), quote=False).replace("\\", "\\\\").replace("|", "\\|")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""``anchorscope compare``: two kept runs side by side: what rose, fell, appeared and vanished."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any, TextIO

from anchorscope.cli import options
from anchorscope.errors import InputError
from anchorscope.report.table import safe
from anchorscope.result import Result
from anchorscope.types import Explanation

SIGNS = {"rose": "▲", "fell": "▼", "appeared": "+", "vanished": "-", "stayed": "="}


DESCRIPTION = (
    "What rose, fell, appeared and vanished from one kept run to another. "
    "anchorscope report RUN --against RUN draws it."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("before", type=options.a_path, metavar="RUN", help="the folder of a run")
    parser.add_argument("after", type=options.a_path, metavar="RUN", help="the folder of another")
    parser.add_argument("--json", action="store_true", help="the changes as JSON instead of a table")


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Print the changes, and give the exit status."""

    before = Result.load(given["before"])
    after = Result.load(given["after"])
    shared = [label for label in before.explanations if label in after.explanations]
    if not shared:
        raise InputError("The two runs share no label: there is nothing to compare.")
    found = {label: changes(before[label], after[label]) for label in shared}
    if "json" in given:
        print(json.dumps(found, indent=2), file=output)
        return 0
    for label, rows in found.items():
        print(f"{safe(label)}\n     before  after  term", file=output)
        for row in rows:
            ranks = f"{row['before'] or '':>9}{row['after'] or '':>7}"
            print(f"  {SIGNS[row['change']]}{ranks}  {safe(row['term'])}", file=output)
        print(file=output)
    return 0


def changes(before: Explanation, after: Explanation) -> list[dict[str, Any]]:
    """Every term of either list, in the order of the second, then the first: its ranks and what became of it."""
    then = {term.term: rank for rank, term in enumerate(before.terms, start=1)}
    now = {term.term: rank for rank, term in enumerate(after.terms, start=1)}
    return [
        {
            "term": term,
            "before": then.get(term),
            "after": now.get(term),
            "change": _change(then.get(term), now.get(term)),
        }
        for term in dict.fromkeys([*now, *then])
    ]


def _change(before: int | None, after: int | None) -> str:
    """
    >>> _change(None, 2), _change(2, None), _change(3, 1), _change(1, 3), _change(1, 1)
    ('appeared', 'vanished', 'rose', 'fell', 'stayed')
    """
    if before is None:
        return "appeared"
    if after is None:
        return "vanished"
    return "stayed" if before == after else "rose" if after < before else "fell"

"""``anchorscope compare``: two kept runs side by side: what rose, fell, appeared and vanished."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.cells import cell_len

from anchorscope.cli import options
from anchorscope.errors import InputError, plural
from anchorscope.report.changes import are_of_one_measure, changes, differences
from anchorscope.report.table import safe
from anchorscope.result import Result

SIGNS = {"rose": "▲", "fell": "▼", "appeared": "+", "vanished": "-", "stayed": "="}


DESCRIPTION = (
    "What rose, fell, appeared and vanished from one kept run to another, what differs between the two, and which "
    "changes are no more than chance. "
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
    differing = differences(before, after)
    comparable = are_of_one_measure(differing)
    found = {label: changes(before[label], after[label], of_one_measure=comparable) for label in shared}
    if "json" in given:
        differs = {name: {"before": then, "after": now} for name, (then, now) in differing.items()}
        print(json.dumps({"differs": differs, "labels": found}, indent=2), file=output)
        return 0
    print(f"{_differing_sentence(differing)}\n", file=output)
    for label, rows in found.items():
        print(f"{safe(label)}\n     before  after  term", file=output)
        width = max((cell_len(safe(row["term"])) for row in rows), default=0)
        for row in rows:
            print(_line(row, width), file=output)
        print(f"{_told_sentence(rows)}\n", file=output)
    return 0


def _differing_sentence(differing: Mapping[str, tuple[Any, Any]]) -> str:
    """What differs between the two runs, and whether their scores are of one measure."""
    if not differing:
        return "Same model, documents and settings."
    named = "; ".join(f"{name} {safe(_told(then))} → {safe(_told(now))}" for name, (then, now) in differing.items())
    if are_of_one_measure(differing):
        return f"What differs: {named}."
    return f"What differs: {named}. Their scores are of different measures: intervals are not compared."


def _told(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _line(row: Mapping[str, Any], width: int) -> str:
    ranks = f"{row['before'] or '':>9}{row['after'] or '':>7}"
    term = safe(row["term"])
    remark = row["remark"] if row["change"] != "stayed" else None
    room = " " * (width - cell_len(term) + 2)
    return f"  {SIGNS[row['change']]}{ranks}  {term}{room + '· ' + remark if remark else ''}"


def _told_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many of the changes are more than chance."""
    moved = [row for row in rows if row["change"] != "stayed"]
    if not moved:
        return "Nothing changed."
    apart = sum(row["told_apart"] is not False for row in moved)
    if any(row["told_apart"] is None for row in moved):
        return f"{len(moved) - apart} of {plural(len(moved), 'change')} are of terms that drive the label in no run."
    return f"{apart} of {plural(len(moved), 'change')} told apart from chance."

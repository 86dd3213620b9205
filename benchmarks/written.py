"""What a benchmark leaves behind: a JSON with machine, commit and parameters inside, and its rows as CSV beside it."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
from argparse import Namespace
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "docs" / "data"

FORMER = ("5c2f1f8", "65e8d4d", "7c6fdbd", "1409f73", "a6335eb", "ee1354c")
"""The commits of rows about ``fast`` on pages that are made from rows, that came before NEW_RULE."""

NEW_RULE = "1365d3d00"
OF_FORMER_RULE = f"measured before {NEW_RULE}, when a race gave out its tests otherwise"

WITH_OUTLIERS = "41843dd"
FORMER_PRIOR = ("09d6fc4", "1365d3d", "7cfa0df", "dc24619")
"""The commits of rows about ``fast`` on pages that came before WITH_OUTLIERS, and not before NEW_RULE."""

OF_FORMER_PRIOR = f"measured before {WITH_OUTLIERS}, when the race had no place for words unlike all others"

TWICE = "740a46a"
IN_TURN = "0f068b6"
FORMER_BLOCKS = ("0d04ec2",)
"""The commits of rows about ``banzhaf`` on the page of calibration that came before both."""

OF_FORMER_BLOCKS = (
    f"measured before {TWICE} and {IN_TURN}, when a race of blocks measured no document again by choice and gave a "
    "round to one label after another"
)


def is_former(commit: str) -> bool:
    """Whether what was measured at a commit is of the race's former rule.

    >>> is_former("7c6fdbd4e"), is_former("1365d3d00")
    (True, False)
    """
    return commit.startswith(FORMER)


def has_former_prior(commit: str) -> bool:
    """Whether what was measured at a commit is of the race's former prior, under today's rule.

    >>> has_former_prior("dc2461904"), has_former_prior("7c6fdbd4e")
    (True, False)
    """
    return commit.startswith(FORMER_PRIOR)


def has_former_blocks(commit: str) -> bool:
    """Whether what was measured of ``banzhaf`` at a commit is of the former race of blocks.

    >>> has_former_blocks("0d04ec2d6"), has_former_blocks("71d0bb9c2")
    (True, False)
    """
    return commit.startswith(FORMER_BLOCKS)


def write(name: str, arguments: Namespace, rows: Sequence[Mapping[str, Any]], **more: Any) -> Path:
    """Write NAME.json and NAME.csv to docs/data (or to ``arguments.out``); where the JSON is."""
    folder = getattr(arguments, "out", None) or DATA
    folder.mkdir(parents=True, exist_ok=True)
    given = {key: value for key, value in vars(arguments).items() if key not in ("data", "lines", "out")}
    content = {**facts(), "parameters": given, **more, "rows": [rounded(row) for row in rows]}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content, indent=1, default=str) + "\n", encoding="utf-8")
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rounded(row) for row in rows)
    return path


def facts() -> dict[str, Any]:
    """The machine, its load, and the commit; BENCHMARK_COMMIT names the commit of a copy that is no checkout."""
    command = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent).stdout.strip()
    return {
        "machine": processor(),
        "cores": os.cpu_count(),
        "load": [round(value, 1) for value in os.getloadavg()],
        "python": platform.python_version(),
        "commit": os.environ.get("BENCHMARK_COMMIT") or commit,
        "date": date.today().isoformat(),
    }


def processor() -> str:
    """The name of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its numbers cut to five digits that count.

    >>> rounded({"share": 0.123456789, "n": 3})
    {'share': 0.12346, 'n': 3}
    """
    return {key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in row.items()}

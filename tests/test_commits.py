"""A figure names the commit at which it was measured: one that can be looked at, or of which it is said why not."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "data"


def history() -> list[str]:
    """Every commit that led here; none where that is not known (an archive, a shallow clone)."""

    def told(*command: str) -> list[str]:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.split() if done.returncode == 0 else []

    return told("rev-list", "HEAD") if told("rev-parse", "--is-shallow-repository") == ["false"] else []


def named() -> Iterator[tuple[str, str]]:
    """Where a commit is named, and the commit."""
    for path in DATA.glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row[column] for row in csv.DictReader(file) for column in ("commit", "lists") if row.get(column)]
        yield from ((path.name, commit) for row in set(rows) for commit in row.split())
    for path in DATA.glob("*.json"):
        found = re.findall(r'"commit": "([^"]*)"', path.read_text(encoding="utf-8"))
        yield from ((path.name, commit) for commit in set(found))
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        found = re.findall(r"\bcommits? `?([0-9a-f]{7,40})\b", path.read_text(encoding="utf-8"))
        yield from ((path.name, commit) for commit in set(found))


def test_every_commit_that_a_figure_names_is_known() -> None:
    known = history()
    if not known:
        pytest.skip("the history is not here")
    told = re.findall(r"\b[0-9a-f]{7}\b", (DATA / "README.md").read_text(encoding="utf-8"))
    unknown = {
        f"{where}: {commit}"
        for where, commit in named()
        if not any(full.startswith(commit) for full in known) and not commit.startswith(tuple(told))
    }
    assert not unknown

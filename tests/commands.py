"""The command as tests call it, what it said and asked the model, and the commands that many tests begin with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PYTHON = [sys.executable, "-m", "anchorscope.cli"]


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


Command = Callable[..., Outcome]


def calls() -> list[int]:
    """How many texts each call of a model had."""
    return [int(line) for line in Path("calls").read_text().split()]


EXPLAIN = ("explain", "docs.csv", "--model", "models:good")

CORPUS = ("--perturbator", "corpus")

BANZHAF = (*EXPLAIN, "--preset", "banzhaf", *CORPUS)

FREQUENT = ("--stop-words", "short", "--min-occurrences", "5")

SCAN = (*EXPLAIN, *CORPUS, "--strategy", "scan", "--aggregation", "pr", *FREQUENT)


# Bad input: one sentence, exit status 2, no call of the model beyond the one that reveals it


def refused(done: Outcome, says: str) -> None:
    assert done.status == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("anchorscope: error: ") and says in line

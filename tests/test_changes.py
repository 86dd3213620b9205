"""What is said of two runs: what differs, what moved, and what may be chance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs import finish, make_run, reviews

from anchorscope.cli import main
from anchorscope.report.changes import NO_DRIVER, WITHIN, changes
from anchorscope.types import Explanation, Term

EFFECTS = {"score": "occlusion", "aggregation": "total", "test": "fixed", "top_k": 6}


def term(name: str, low: float, high: float, *, driver: bool = True) -> Term:
    return Term(name, name, (low + high) / 2, (low, high), None, driver, 5, None, 0, 9)


def listed(*terms: Term) -> Explanation:
    return Explanation("yes", 9, 9, None, 0, True, 0.0, terms)


def test_a_move_is_told_apart_by_intervals_that_do_not_meet_and_by_drivers() -> None:
    """great rises by 5 and more; good falls within 4 to 6; so drives nothing, whatever its intervals; film comes with 7
    to 8 where the other list ends at 2; plot goes with 1 to 3, which the last of the other list (1 to 4) reaches."""
    before = listed(term("good", 4, 7), term("great", 3, 4), term("plot", 1, 3), term("so", 1, 2, driver=False))
    after = listed(term("great", 9, 10), term("film", 7, 8), term("good", 5, 6), term("so", 3, 4, driver=False))
    found = {row["term"]: (row["change"], row["told_apart"], row["remark"]) for row in changes(before, after)}
    assert found == {
        "great": ("rose", True, None),
        "film": ("appeared", True, None),
        "good": ("fell", False, WITHIN),
        "so": ("stayed", False, NO_DRIVER),
        "plot": ("vanished", False, WITHIN),
    }


def test_where_scores_are_of_different_measures_nobody_can_say() -> None:
    before, after = listed(term("good", 4, 7)), listed(term("good", 400, 700))
    (row,) = changes(before, after, of_one_measure=False)
    assert row["told_apart"] is None and row["remark"] is None


def compared(capsys: pytest.CaptureFixture[str], *folders: Path) -> tuple[str, dict[str, Any]]:
    names = [str(folder) for folder in folders]
    assert main(["compare", *names]) == 0
    text = capsys.readouterr().out
    assert main(["compare", *names, "--json"]) == 0
    return text, json.loads(capsys.readouterr().out)


def test_the_command_says_what_differs_and_which_moves_are_chance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One model, two seeds, in a race that ends early: no move is told apart, and the seeds are named."""
    for seed in (0, 1):
        finish(make_run(folder=tmp_path / str(seed), **EFFECTS, seed=seed, strategy="race", regret=0.3))
    text, values = compared(capsys, tmp_path / "0", tmp_path / "1")
    assert text.startswith("What differs: seed 0 → 1.\n")
    assert values["differs"] == {"seed": {"before": 0, "after": 1}}
    moved = [row for row in values["labels"]["yes"] if row["change"] != "stayed"]
    assert moved and not any(row["told_apart"] for row in moved)
    assert text.count("· within the intervals") + text.count("· no driver in either run") >= len(moved)
    assert f"0 of {len(moved)} change" in text


def test_one_run_with_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finish(make_run(folder=tmp_path / "run", **EFFECTS))
    text, values = compared(capsys, tmp_path / "run", tmp_path / "run")
    assert text.startswith("Same model, documents and settings.\n") and values["differs"] == {}
    assert "Nothing changed." in text


def test_other_documents_are_another_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finish(make_run(folder=tmp_path / "one", **EFFECTS))
    finish(make_run(reviews(30, seed=9), folder=tmp_path / "two", **EFFECTS))
    text, values = compared(capsys, tmp_path / "one", tmp_path / "two")
    assert "documents" in values["differs"] and "intervals are not compared" in text
    assert {row["told_apart"] for row in values["labels"]["yes"]} <= {None, False}

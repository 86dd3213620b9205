"""top: other lists of a kept run, from its journal alone."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from pathlib import Path

import pytest
from commands import BANZHAF, CORPUS, EXPLAIN, FREQUENT, SCAN, Command, calls

from anchorscope.scoring.aggregations import AGGREGATIONS
from anchorscope.settings import ANCHOR_TEST

# top: from the journal alone


def test_top_agrees_with_the_run_and_calls_no_model(run: Command) -> None:
    first = json.loads(run(*SCAN, "--out", "run", "--json").out)
    n_calls = len(calls())
    terms = json.loads(run("top", "run", "--format", "json").out)["terms"]
    for label, explanation in first["labels"].items():
        here = [term for term in terms if term["label"] == label]
        assert [(t["term"], t["score"], t["low"]) for t in here] == [
            (t["term"], t["score"], t["interval"][0]) for t in explanation["terms"]
        ]
    assert len(calls()) == n_calls


def test_a_person_is_told_how_to_learn_what_the_columns_say(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*SCAN, "--out", "run").status == 0
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert "What the columns say: the same with -v." in run("top", "run").err
    told = run("top", "run", "-v").err
    assert "\nscore: " in told and "the same with -v" not in told
    assert "-v" not in run("top", "run", "-q").err


@pytest.mark.parametrize("aggregation", sorted(AGGREGATIONS))
def test_top_by_any_aggregation_equals_a_run_by_it(run: Command, aggregation: str) -> None:
    """From a run that counts anchors, or from one that has values to add up."""
    values = (*EXPLAIN, *CORPUS, "--strategy", "scan", "--score", "banzhaf", *FREQUENT)
    explain, own_name = (values, "total") if AGGREGATIONS[aggregation].is_graded else (SCAN, "pr")
    run(*explain, "--aggregation", own_name, "--out", "run")
    again = json.loads(run("top", "run", "--aggregation", aggregation, "--format", "json").out)
    own = json.loads(run(*explain, "--aggregation", aggregation, "--json").out)
    listed = [(t["label"], t["term"], t["score"]) for t in again["terms"] if t["side"] == "for"]
    assert listed == [(label, t["term"], t["score"]) for label, e in own["labels"].items() for t in e["terms"]]


def test_top_of_a_race_agrees_with_the_race(run: Command) -> None:
    for explain, n_calls in ((EXPLAIN, "180"), (BANZHAF, "600")):
        budget = ("--max-model-calls", n_calls, "--round-size", "4", "--out", "run")
        first = json.loads(run(*explain, *budget, "--json").out)["labels"]["yes"]
        again = json.loads(run("top", "run", "--format", "json", "--label", "yes").out)["terms"]
        assert [(t["term"], t["score"], [t["low"], t["high"]], t["membership"], t["side"]) for t in again] == [
            (t["term"], t["score"], t["interval"], t["membership"], side)
            for side, terms in (("for", first["terms"]), ("against", first["against"]))
            for t in terms
        ]
        shutil.rmtree("run")


@pytest.mark.parametrize("aggregation", sorted(AGGREGATIONS))
def test_top_of_a_race_has_intervals_under_any_aggregation(run: Command, aggregation: str) -> None:
    """One that reads no test is known exactly; of one that says no interval, nothing is known."""
    counted = (*EXPLAIN, *CORPUS, "--aggregation", "sq", "--test", "fixed", "--max-samples", "24")
    explain = counted if AGGREGATIONS[aggregation].reads == "verdicts" else BANZHAF
    run(*explain, "--out", "run", "--max-model-calls", "600", "--round-size", "4")
    terms = json.loads(run("top", "run", "--aggregation", aggregation, "--format", "json").out)["terms"]
    one = AGGREGATIONS[aggregation]
    if not one.is_bounded and not one.can_race:
        assert terms and all(t["low"] is t["high"] is None for t in terms)
        return
    assert terms and all(t["low"] <= t["high"] for t in terms)
    assert one.reads == "counts" or any(t["low"] < t["high"] for t in terms)


def test_top_formats(run: Command) -> None:
    run(*SCAN, "--out", "run", "--model", "models:function", "--labels", "=no,yes")
    rows = list(csv.DictReader(io.StringIO(run("top", "run", "--format", "csv", "--top-k", "2").out)))
    assert [row["label"] for row in rows] == ["'=no", "'=no", "yes", "yes"]
    assert run("top", "run", "--format", "md", "--label", "yes").out.splitlines()[2].startswith("| yes | 1 | great |")
    assert run("top", "run", "--label", "yes", "--top-k", "1").out.splitlines()[2].split()[1] == "great"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere",), "no run folder"),
        (("run", "--label", "yess"), "did you mean 'yes'"),
        (("run", "--aggregation", "qp"), "There is no aggregation 'qp'"),
        (("run", "--aggregation", "total"), "--score anchor says yes or no"),
        (("run", "--top-k", "0"), "--top-k must be from 1"),
        (("run", "--format", "cvs"), "did you mean 'csv'"),
    ],
)
def test_top_refuses(run: Command, arguments: tuple[str, ...], says: str) -> None:
    run(*SCAN, "--out", "run")
    done = run("top", *arguments)
    assert done.status == 2 and says in done.err


@pytest.mark.parametrize("aggregation", ["pr", "sq", "av", "h"])
@pytest.mark.parametrize("explain", [EXPLAIN, BANZHAF], ids=["fast", "banzhaf"])
def test_top_counts_no_anchors_of_a_run_that_tested_none(
    run: Command, explain: tuple[str, ...], aggregation: str
) -> None:
    run(*explain, "--out", "run")
    done = run("top", "run", "--aggregation", aggregation)
    assert done.status == 2 and "This run tested no anchors, so it cannot count them" in done.err


def test_where_anchors_are_counted_they_are_tested_as_one_document_is(run: Command) -> None:
    """Not by the 24 samples that are enough for a sum of values."""
    run(*EXPLAIN, *CORPUS, "--aggregation", "sq", "--out", "run")
    settings = json.loads(Path("run/result.json").read_text())["settings"]
    assert ANCHOR_TEST.items() <= settings.items()

"""A kept run by any aggregation: the race itself, the page and ``anchorscope top`` say the same."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import finish, make_run, reviews

from anchorscope.asking.budget import Budget
from anchorscope.cli import main
from anchorscope.files import JOURNAL
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.report.view import page_data
from anchorscope.result import Result
from anchorscope.scoring import settling
from anchorscope.scoring.aggregations import AGGREGATIONS, aggregation
from anchorscope.scoring.tally import ranking

RACE = {
    "strategy": "race",
    "score": "banzhaf",
    "surrogate": False,
    "aggregation": "total",
    "test": "fixed",
    "max_samples": 12,
    "round_size": 16,
}
NAMES = sorted(AGGREGATIONS)
GRADED = [name for name in NAMES if AGGREGATIONS[name].is_graded]
COUNTS = [name for name in NAMES if AGGREGATIONS[name].reads == "verdicts"]
FED = {
    "race": {*NAMES} - {*COUNTS},
    "scan": {*NAMES} - {*COUNTS},
    "optimistic": {*NAMES} - {*GRADED},
    "yes_or_no": {*NAMES} - {*GRADED},
}
"""The aggregations that the measurements of a run can feed."""


def kept(folder: Path, *, rounds: int | None = None, **given: Any) -> Path:
    run = make_run(reviews(400), folder=folder, **given)
    finish(run, rounds=rounds)
    return folder


@pytest.fixture(scope="module")
def race(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A race that has tested about half of what there is."""
    return kept(tmp_path_factory.mktemp("race") / "run", rounds=12, **RACE)


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scan of graded values that was left half way."""
    given = {"aggregation": "total", "score": "banzhaf", "max_samples": 20, "round_size": 16}
    return kept(tmp_path_factory.mktemp("scan") / "run", rounds=5, **given)


@pytest.fixture(scope="module")
def optimistic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scan with the paper's own filter, which counts what it skips as non-anchors."""
    given = {"filter": "optimistic", "max_samples": 20, "round_size": 16}
    return kept(tmp_path_factory.mktemp("optimistic") / "run", **given)


@pytest.fixture(scope="module")
def yes_or_no(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scan whose local score says yes or no: there are no values to add up."""
    return kept(tmp_path_factory.mktemp("yes_or_no") / "run", rounds=5, max_samples=20, round_size=16)


def top(folder: Path, capsys: pytest.CaptureFixture[str], *asked: str) -> list[dict[str, Any]]:
    assert main(["top", str(folder), "--format", "json", *asked]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["terms"]
    return found


def of_the_page(folder: Path, name: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The terms of the page, their scores under an aggregation, and their occurrences; (labels, terms) both."""
    terms = page_data(folder)["terms"]
    scores = np.array([label["scores"][name] for label in terms["labels"]])
    return terms["term"], scores, np.array([label["occurrences"] for label in terms["labels"]])


def test_top_of_a_race_is_the_race_to_the_last_digit(race: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        (t["label"], t["side"], t["term"], t["score"], t["low"], t["high"], t["membership"], t["driver"])
        for t in top(race, capsys)
    ]
    assert found == [
        (label, side, t.term, t.score, *t.interval, t.membership, t.driver)
        for label, explanation in Result.load(race).explanations.items()
        for side, terms in (("for", explanation.terms), ("against", explanation.against))
        for t in terms
    ]


SETTLING = {
    "pairs": ({"strategy": "race", "score": "occlusion", "aggregation": "total", "regret": 0.1}, (50, 100, 300)),
    "blocks": ({**RACE, "regret": 0.2, "max_samples": 4}, (100, 300, 500)),
    "scan": ({"max_samples": 20, "filter": "sound", "aggregation": "pr"}, (900, 9000, 90_000)),
    "joined labels": ({"max_samples": 20, "filter": "sound", "aggregation": "h"}, (900, 9000, 90_000)),
}


@pytest.mark.parametrize("which", SETTLING)
def test_what_a_run_calls_settled_is_settled_in_its_folder(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With too few calls, and with enough: each label is told settled, or not, by the same rule."""
    monkeypatch.setattr(settling, "START_DOCUMENTS", 32)
    settings, budgets = SETTLING[which]
    seen = set()
    for calls in budgets:
        folder = tmp_path / str(calls)
        finish(make_run(reviews(400), folder=folder, budget=Budget(max_model_calls=calls), **{"top_k": 2, **settings}))
        said = {label: one.settled for label, one in Result.load(folder).explanations.items()}
        with closing(RunReader(folder)) as reader:
            standings = Standings(reader, alpha=0.5, k=2)
            standing = standings.standing(aggregation(settings["aggregation"]))
            assert dict(zip(reader.labels, standing.settled.tolist())) == said
        seen |= {*said.values()}
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("which", "name"), [(which, name) for which in ("race", "scan", "optimistic") for name in sorted(FED[which])]
)
def test_top_and_the_page_have_one_list(
    name: str, which: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The columns of the page are rounded to nine digits; else they are the scores."""
    folder = request.getfixturevalue(which)
    terms, values, occurrences = of_the_page(folder, name)
    anchors = np.array([label["anchors"] for label in page_data(folder)["terms"]["labels"]])
    for row, label in enumerate(("no", "yes")):
        found = [t for t in top(folder, capsys, "--aggregation", name, "--label", label) if t["side"] == "for"]
        if not AGGREGATIONS[name].is_graded:
            drivers = {t for t, n in zip(terms, anchors[row]) if n > 0 and AGGREGATIONS[name].reads == "verdicts"}
            assert [t["driver"] for t in found] == [t["term"] in drivers for t in found]
        best = ranking(values[row], occurrences[row])[:4]
        assert [t["term"] for t in found] == [terms[i] for i in best]
        np.testing.assert_allclose([t["score"] for t in found], values[row, best], rtol=1e-8)


@pytest.mark.parametrize("which", ["race", "scan", "optimistic", "yes_or_no"])
def test_the_columns_of_the_page_are_the_scores(which: str, request: pytest.FixtureRequest) -> None:
    """Of all terms and labels, under every aggregation that the page offers; and the run's own comes first."""
    folder = request.getfixturevalue(which)
    with closing(RunReader(folder)) as reader:
        standings = Standings(reader, alpha=0.5, k=4)
        offered = [one["name"] for one in page_data(folder)["terms"]["aggregations"]]
        assert offered[0] == reader.meta["settings"]["aggregation"]
        assert {*offered} == FED[which]
        for name in offered:
            terms, values, _ = of_the_page(folder, name)
            assert terms == list(reader.terms)
            np.testing.assert_allclose(values, standings.scores(aggregation(name)), rtol=1e-8)


@pytest.mark.parametrize("name", GRADED)
def test_there_are_no_values_to_add_up_where_the_score_says_yes_or_no(
    name: str, yes_or_no: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", str(yes_or_no), "--aggregation", name]) == 2
    assert "adds up graded values, and --score anchor says yes or no" in capsys.readouterr().err


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("which", ["race", "scan"])
def test_a_graded_run_counts_no_anchors(
    name: str, which: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its samples are enough for a sum, not for verdicts: neither list nor page has any."""
    folder = request.getfixturevalue(which)
    assert main(["top", str(folder), "--aggregation", name]) == 2
    assert "This run tested no anchors" in capsys.readouterr().err
    assert all(row["anchors"] is None for row in top(folder, capsys))
    data = page_data(folder)
    assert not data["about"]["score"]["anchors"] and "anchors/tested" not in data["about"]["names"]
    assert not any(n for column in data["terms"]["labels"] for n in column["anchors"])
    assert any(n for column in data["terms"]["labels"] for n in column["non_anchors"])


def test_a_run_of_before_that_counted_anchors_of_values_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kept(tmp_path / "run", rounds=2, **RACE)
    with closing(sqlite3.connect(folder / JOURNAL)) as db:
        total, sq = (json.dumps({"aggregation": name})[1:-1] for name in ("total", "sq"))
        assert db.execute("UPDATE meta SET value = replace(value, ?, ?) WHERE key = 'settings'", (total, sq)).rowcount
        db.commit()
    assert main(["top", str(folder)]) == 2
    assert "The aggregation 'sq' counts anchors, and --score banzhaf tests none" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(FED["race"]))
def test_an_expected_score_is_one_that_can_still_be(name: str, race: Path) -> None:
    standings = Standings(RunReader(race), alpha=0.5, k=4)
    standing, values = standings._bounded(aggregation(name)), standings.scores(aggregation(name))
    assert standings.tally.untested.any()
    assert (standing.low <= values + 1e-9).all() and (values <= standing.high + 1e-9).all()


@pytest.mark.parametrize("strategy", ["race", "scan"])
@pytest.mark.parametrize("name", sorted(FED["race"]))
def test_a_run_of_weighted_values_has_every_aggregation(
    name: str, strategy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    finish(make_run(folder=folder, **{**RACE, "strategy": strategy, "weight": "fragile"}))
    assert top(folder, capsys, "--aggregation", name)


SCAN = {**RACE, "strategy": "scan"}


def test_a_kept_scan_of_values_says_what_the_run_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Measured with noise: intervals at 90%, the same drivers, on the page and from ``top``."""
    folder = kept(tmp_path / "run", **SCAN)
    said = Result.load(folder)
    assert said.interval_level == page_data(folder)["about"]["interval_level"] == 0.9
    shown = {(row["label"], row["term"]): row for row in top(folder, capsys)}
    for label, explanation in said.explanations.items():
        assert any(term.driver for term in explanation.terms)
        for term in explanation.terms:
            row = shown[label, term.term]
            assert row["driver"] == term.driver
            assert [row["low"], row["high"]] == pytest.approx(term.interval)
            assert term.interval[0] < term.score < term.interval[1]


def test_another_seed_gives_a_score_within_the_noise(tmp_path: Path) -> None:
    """The mean of six full scans, each with its own samples, is in nine of ten intervals of any of them."""
    runs = [Result.load(kept(tmp_path / str(seed), **SCAN, seed=seed)) for seed in range(6)]
    scores: dict[tuple[str, str], list[float]] = {}
    for one in runs:
        for label, explanation in one.explanations.items():
            for term in explanation.terms:
                scores.setdefault((label, term.term), []).append(term.score)
    covered = [
        term.interval[0] <= np.mean(scores[label, term.term]) <= term.interval[1]
        for one in runs
        for label, explanation in one.explanations.items()
        for term in explanation.terms
        if len(scores[label, term.term]) == len(runs)
    ]
    assert len(covered) > 30
    assert 0.8 <= np.mean(covered) < 1


def test_a_scan_without_noise_is_exact(tmp_path: Path) -> None:
    """Words left out, every one of them: another seed gives the same."""
    given = {"strategy": "scan", "score": "occlusion", "aggregation": "total"}
    one, other = (Result.load(kept(tmp_path / str(seed), **given, seed=seed)) for seed in (1, 2))
    scores = [
        {(label, term.term): term.score for label, e in run.explanations.items() for term in e.terms}
        for run in (one, other)
    ]
    assert one.interval_level == 1.0 and scores[0] == scores[1]
    assert all(term.interval == (term.score, term.score) for e in one.explanations.values() for term in e.terms)

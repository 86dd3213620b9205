"""A kept run by any aggregation: the race itself, the page and ``anchorscope top`` say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from runs import finish, make_run, reviews

from anchorscope import registry
from anchorscope.cli import main
from anchorscope.report.view import page_data
from anchorscope.result import Result
from anchorscope.scoring import aggregations
from anchorscope.scoring.tally import Tally

RACE = {"strategy": "race", "aggregation": "gain", "test": "fixed", "max_samples": 12, "round_size": 16}
NAMES = sorted(registry.BUILT_IN["aggregation"])


def kept(folder: Path, *, rounds: int | None = None, **given: Any) -> Path:
    run = make_run(reviews(400), folder=folder, **given)
    finish(run, rounds=rounds)
    run.result().save(folder)
    return folder


@pytest.fixture(scope="module")
def race(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A race that has tested about half of what there is."""
    return kept(tmp_path_factory.mktemp("race") / "run", rounds=12, **RACE)


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scan that was left half way."""
    return kept(tmp_path_factory.mktemp("scan") / "run", rounds=5, max_samples=20, round_size=16)


@pytest.fixture(scope="module")
def optimistic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scan with the paper's own filter, which counts what it skips as non-anchors."""
    return kept(tmp_path_factory.mktemp("optimistic") / "run", filter="optimistic", max_samples=20, round_size=16)


def top(folder: Path, capsys: pytest.CaptureFixture[str], *asked: str) -> list[dict[str, Any]]:
    assert main(["top", str(folder), "--format", "json", *asked]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["terms"]
    return found


def of_the_page(folder: Path) -> tuple[list[str], Tally]:
    """The terms of the page, and the tally that it computes scores from."""
    terms = page_data(folder)["terms"]
    columns = {name: np.array([label[name] for label in terms["labels"]]) for name in terms["labels"][0]}
    tally = Tally(
        anchors=columns["counted_anchors"],
        non_anchors=columns["counted_non_anchors"],
        training=np.array(terms["training"]),
        **{name: columns[name] for name in ("skipped", "gains", "occurrences", "documents")},
    )
    return terms["term"], tally


def test_top_of_a_race_is_the_race_to_the_last_digit(race: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [(t["label"], t["term"], t["score"], t["low"], t["high"], t["membership"]) for t in top(race, capsys)]
    assert found == [
        (label, t.term, t.score, *t.interval, t.membership)
        for label, explanation in Result.load(race).explanations.items()
        for t in explanation.terms
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["race", "scan", "optimistic"])
def test_top_and_the_page_have_one_list(
    name: str, which: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page computes its scores from rounded columns, so the last digits are its own."""
    folder = request.getfixturevalue(which)
    terms, tally = of_the_page(folder)
    values = aggregations.aggregation(name)(tally)
    for row, label in enumerate(("no", "yes")):
        found = top(folder, capsys, "--aggregation", name, "--label", label)
        best = aggregations.ranking(values[row], tally.occurrences[row])[:4]
        assert [t["term"] for t in found] == [terms[i] for i in best]
        np.testing.assert_allclose([t["score"] for t in found], values[row, best], rtol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_an_expected_score_is_one_that_can_still_be(name: str, race: Path) -> None:
    standings = Standings(RunReader(race), alpha=0.5, k=4)
    standing, values = standings._bounded(name), standings.scores(name)
    assert standings.tally.untested.any()
    assert (standing.low <= values + 1e-9).all() and (values <= standing.high + 1e-9).all()


@pytest.mark.parametrize("strategy", ["race", "scan"])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_weighted_gains_has_every_aggregation(
    name: str, strategy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    finish(make_run(folder=folder, **{**RACE, "strategy": strategy, "weight": "fragile"}))
    assert top(folder, capsys, "--aggregation", name)

"""The result as a value: written and read back whole, in the shape of its schema, in tables."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from runs import finish, make_run

from anchorscope import registry
from anchorscope.errors import RunFolderError, StorageError, UnknownNameError
from anchorscope.report.notebook import html
from anchorscope.result import LARGEST, RESULT, Result, json_schema, rows, snapshot_to_dict
from anchorscope.scoring.aggregation import Aggregation
from anchorscope.types import Explanation, Term


@pytest.fixture(scope="module")
def result() -> Result:
    run = make_run()
    finish(run)
    return run.result()


def test_a_result_is_read_back_as_it_was_written(result: Result, tmp_path: Path) -> None:
    path = result.save(tmp_path)
    assert path == tmp_path / RESULT
    assert Result.load(str(tmp_path)).to_dict() == result.to_dict()
    assert Result.load(tmp_path)["yes"].terms == result["yes"].terms


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"strategy": "race", "aggregation": "total"},
        {"strategy": "race", "aggregation": "total", "score": "banzhaf", "test": "fixed"},
        {"labels": ("yes",)},
    ],
    ids=str,
)
def test_a_result_follows_its_schema(given: dict) -> None:
    run = make_run(**given)
    finish(run)
    jsonschema.validate(json.loads(run.result().to_json()), json_schema())


def test_the_schema_refuses_what_is_no_result(result: Result) -> None:
    """Else the test above would say nothing."""
    values = result.to_dict()
    del values["labels"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, json_schema())


def test_the_json_holds_what_the_design_promises(result: Result) -> None:
    values = json.loads(result.to_json())
    assert values["schema"] == 2 and values["seed"] == 0
    assert {"settled", "interval_level", "settings", "cost", "versions", "model"} <= set(values)
    told = {"documents", "asked", "robust", "robust_of", "settled", "regret", "terms", "against", "note"}
    assert told == set(values["labels"]["yes"])
    term = values["labels"]["yes"]["terms"][0]
    expected = {
        "term",
        "written",
        "score",
        "interval",
        "membership",
        "driver",
        "anchors",
        "skipped",
        "occurrences",
        "tested",
        "examples",
    }
    assert expected == set(term)
    assert 0 <= term["anchors"] <= term["tested"]
    assert {"seconds", "documents", "tests", "samples", "predictor_texts", "perturbator_passes"} <= set(values["cost"])


def test_labels_are_looked_up_by_name(result: Result) -> None:
    assert result["yes"].label == "yes"
    with pytest.raises(UnknownNameError, match="did you mean 'yes'"):
        result["yess"]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"schema": 1}', '{"schema": 2}', "null"])
def test_a_file_that_is_no_result_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / RESULT).write_text(content)
    with pytest.raises(RunFolderError, match=RESULT):
        Result.load(tmp_path)


def test_a_result_beyond_the_limit_is_neither_written_nor_read(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty megabytes of empty lists take more than a gigabyte to read."""
    result.save(tmp_path)
    monkeypatch.setattr("anchorscope.result.LARGEST", 1000)
    with pytest.raises(RunFolderError, match="no file of a run has more than 1,000"):
        Result.load(tmp_path)
    with pytest.raises(StorageError, match="fewer terms with --top-k"):
        result.save(tmp_path)
    monkeypatch.undo()
    assert LARGEST <= 64 << 20


def test_a_result_of_schema_1_is_read(result: Result, tmp_path: Path) -> None:
    """It counted anchors apart from non-anchors, and knew no drivers, no terms against, and no way of writing them."""
    values = json.loads(result.to_json())
    values["schema"] = 1
    for explanation in values["labels"].values():
        for name in ("asked", "robust_of", "against"):
            del explanation[name]
        for term in explanation["terms"]:
            del term["driver"], term["written"]
            term["non_anchors"] = term["tested"] - term["anchors"]
    (tmp_path / RESULT).write_text(json.dumps(values))
    found = Result.load(tmp_path)["yes"]
    counts = [(t.term, t.score, t.interval, t.tested, t.anchors, t.occurrences) for t in result["yes"].terms]
    assert [(t.term, t.score, t.interval, t.tested, t.anchors, t.occurrences) for t in found.terms] == counts
    assert [t.written for t in found.terms] == [t.term for t in found.terms]
    assert not found.drivers and not found.against and found.asked == found.documents == result["yes"].documents


def test_a_missing_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"is no run folder: it holds no journal\.sqlite"):
        Result.load(tmp_path)
    (tmp_path / "journal.sqlite").touch()
    with pytest.raises(RunFolderError, match="--resume"):
        Result.load(tmp_path)


def test_saving_replaces_the_file_at_once(result: Result, tmp_path: Path) -> None:
    """No draft stays, and an older result is replaced."""
    older = result.to_json().replace('"schema": 2', '"schema": 1')
    (tmp_path / RESULT).write_text(older)
    result.save(tmp_path)
    assert (tmp_path / RESULT).read_text() != older
    assert [path.name for path in tmp_path.iterdir()] == [RESULT]


def test_a_run_with_an_aggregation_of_an_outside_author_can_be_saved(tmp_path: Path, monkeypatch) -> None:
    class Entry:
        name = "count"

        @staticmethod
        def load():
            return Aggregation(
                name="count",
                help="the number of anchors",
                reads="verdicts",
                score=lambda counts, alpha: counts.anchors.astype(float),
            )

    monkeypatch.setattr(registry, "entry_points", lambda group: [Entry] if group == "anchorscope.aggregation" else [])
    run = make_run(aggregation="count")
    finish(run)
    run.result().save(tmp_path)


def test_a_race_can_show_more_words_than_it_draws(tmp_path: Path, monkeypatch) -> None:
    """--top-k 400 with a race (here: two words drawn and four shown)."""
    monkeypatch.setattr("anchorscope.scoring.forecasts.CONTENDERS", 2)
    for given in ({"score": "banzhaf", "test": "fixed", "max_samples": 12}, {"score": "occlusion"}):
        run = make_run(strategy="race", aggregation="total", **given)
        finish(run)
        run.result().save(tmp_path)


def test_a_seed_of_numpy_can_be_saved(tmp_path: Path) -> None:
    """random_state=np.random.randint(…) and rows of a grid are numpy's integers."""
    run = make_run(seed=np.int64(3))
    finish(run)
    assert json.loads(run.result().save(tmp_path).read_text())["seed"] == 3


def test_a_table_has_a_row_a_term(result: Result) -> None:
    pandas = pytest.importorskip("pandas")
    table = result.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert len(table) == sum(len(e.terms) + len(e.against) for e in result.explanations.values())
    first = table[(table["label"] == "yes") & (table["rank"] == 1) & (table["side"] == "for")].iloc[0]
    assert first["term"] == result["yes"].terms[0].term
    assert (first["low"], first["high"]) == result["yes"].terms[0].interval


def test_rows_count_ranks_from_one_on_each_side_of_each_label() -> None:
    """The default: terms that speak for a label, and some against it."""
    run = make_run(strategy="race", aggregation="total")
    finish(run)
    explanations = run.result().explanations
    assert all(e.against for e in explanations.values())
    found = [(row["label"], row["side"], row["rank"], row["term"]) for row in rows(explanations)]
    assert found == [
        (label, side, rank, term.term)
        for label, e in explanations.items()
        for side, terms in (("for", e.terms), ("against", e.against))
        for rank, term in enumerate(terms, start=1)
    ]


def test_the_html_table_escapes_what_it_shows() -> None:
    term = Term("<script>", "<script>", 0.5, (0.0, 1.0), None, True, 3, 1, 0, 3)
    page = html({"a & b": Explanation("a & b", 1, 1, 0, 1, True, None, (term,))}, level=0.9)
    assert "<script>" not in page and "&lt;script&gt;" in page and "a &amp; b" in page


def test_a_snapshot_is_a_line_of_plain_values() -> None:
    snapshot = finish(make_run(), rounds=1)[-1]
    values = json.loads(json.dumps(snapshot_to_dict(snapshot), allow_nan=False))
    assert values["round"] == 1 and values["finished"] is False
    assert values["labels"]["yes"]["terms"][0]["term"] == snapshot["yes"].terms[0].term

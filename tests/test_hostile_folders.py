"""Run folders of people who mean harm: nothing of theirs is run, and what only a folder names is asked about."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from anchorscope import cli
from anchorscope.errors import RunFolderError
from anchorscope.result import Result
from reliability import hostile_folders, planted
from reliability.hostile_folders import COMMANDS, MODEL, placed
from reliability.planted import EVALUATION, KINDS, Plant
from reliability.tables import ROOT


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    hostile_folders.make_real(folder)
    return folder


@pytest.fixture
def plant(scratch: Path, tmp_path: Path) -> Iterator[Plant]:
    """A run that nobody has touched yet."""
    KINDS["nothing"] = lambda plant: None
    yield hostile_folders._planted(tmp_path / "one", scratch, "nothing", 0)
    del KINDS["nothing"]


def asked(plant: Plant, scratch: Path, *arguments: str) -> int:
    return cli.main(placed(arguments, plant.folder, scratch))


# --- models that only the folder names ---


@pytest.mark.parametrize("kind", ["a pickle as model", "a shell as model", "a module as model"])
def test_a_model_that_only_the_folder_names_is_not_used(
    kind: str, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    KINDS[kind](plant)
    assert asked(plant, scratch, "evaluate", "RUN") == 2
    assert "a folder may come from anybody" in capsys.readouterr().err
    assert not plant.canary.exists()


def test_yes_to_a_model_is_no_permission(plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder says allow_pickle, and the user yes to its model: that is not yes to pickles."""
    KINDS["a pickle as model"](plant)
    assert asked(plant, scratch, "evaluate", "RUN", "--docs", "DOCS", "--yes") == 2
    assert "add --allow-pickle" in capsys.readouterr().err
    assert not plant.canary.exists()


def test_documents_alone_are_asked_about_too(plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(plant, scratch, "evaluate", "RUN", *MODEL) == 2
    told = capsys.readouterr().err
    assert "--docs" in told and "documents.csv" in told and "the model" not in told.partition(":")[2].partition(";")[0]


def test_what_the_user_says_yes_to_is_used(plant: Plant, scratch: Path) -> None:
    with redirect_stdout(io.StringIO()):
        assert asked(plant, scratch, "evaluate", "RUN", "--yes", "--json") == 0


@pytest.mark.parametrize("said, status", [("y\n", 0), ("yes\n", 0), ("\n", 2), ("no\n", 2), ("", 2)])
def test_in_a_terminal_the_user_is_asked(
    said: str, status: int, plant: Plant, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(said))
    monkeypatch.setattr("sys.stderr", shown)
    with redirect_stdout(io.StringIO()):
        assert asked(plant, scratch, "evaluate", "RUN", "--json", "-q") == status
    assert "reliability.models:keywords" in shown.getvalue() and "Use it? [y/N]" in shown.getvalue()


def test_a_perturbator_that_only_the_folder_names_is_none_of_its_files(
    plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    KINDS["code as perturbator"](plant)
    for name in ("evaluate, refilled", "serve, to try"):
        assert asked(plant, scratch, *COMMANDS[name]) == 2
        assert "perturbator" in capsys.readouterr().err
    assert not plant.canary.exists()


# --- files that are not ours ---


@pytest.mark.parametrize("name", planted.DRAFTS)
def test_a_link_under_the_name_of_a_draft_is_not_written_through(name: str, plant: Plant, scratch: Path) -> None:
    planted.linked(plant, name, "victim")
    with redirect_stdout(io.StringIO()):
        for command in ("report", "evaluate, all named", "resume"):
            assert asked(plant, scratch, *COMMANDS[command]) == 0
    assert plant.victim.read_text() == "precious" and (plant.folder / name).is_symlink()


@pytest.mark.parametrize("name, command", [(EVALUATION, "evaluate, all named"), ("report.html", "report")])
def test_a_file_of_somebody_else_is_not_overwritten(
    name: str, command: str, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted.foreign(plant, name)
    assert asked(plant, scratch, *COMMANDS[command]) == 2
    found = capsys.readouterr()
    assert "no file that a run has written" in found.err and not found.out, "before anything is computed"
    assert (plant.folder / name).read_text() == "a letter"


@pytest.mark.parametrize("content", planted.ALMOST_OURS.values(), ids=planted.ALMOST_OURS)
@pytest.mark.parametrize(
    "name, command", [("result.json", "resume"), (EVALUATION, "evaluate, all named"), ("report.html", "report")]
)
def test_a_file_that_begins_as_ours_is_not_overwritten(
    name: str, command: str, content: str, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted.almost_ours(plant, name, content)
    assert asked(plant, scratch, *COMMANDS[command]) == 2
    assert not capsys.readouterr().out and (plant.folder / name).read_text() == content


@pytest.mark.parametrize("command", ["evaluate, all named", "report"])
def test_what_a_command_wrote_it_writes_again(command: str, plant: Plant, scratch: Path) -> None:
    with redirect_stdout(io.StringIO()):
        assert [asked(plant, scratch, *COMMANDS[command]) for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("name", ["result.json", "report.html", "journal.lock", "lock"])
def test_a_new_run_overwrites_and_removes_no_file_of_somebody_else(name: str, plant: Plant, scratch: Path) -> None:
    """Refused; a file of a name that is not ours is left where it is."""
    there = plant.outside.parent / "theirs"
    there.mkdir()
    (there / name).write_text("a letter")
    explain = [*COMMANDS["resume"][:-3], "--out", str(there), "--model-tries", "1"]
    with redirect_stdout(io.StringIO()):
        assert cli.main(placed(tuple(explain), plant.folder, scratch)) == (0 if name == "lock" else 2)
        bad = [word.replace("models:keywords", "bad_models:logits") for word in explain]
        assert cli.main([*placed(tuple(bad), plant.folder, scratch), "--resume"]) == 2
    assert (there / name).read_text() == "a letter"


# --- what journal and result say ---


def test_a_journal_without_what_a_run_writes_down_is_not_gone_on_with(
    scratch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    KINDS["nothing"] = lambda plant: None
    plant = hostile_folders._planted(tmp_path / "begun", scratch, "nothing", 1)
    del KINDS["nothing"]
    with plant.database() as db:
        db.execute("DELETE FROM meta WHERE key = 'training texts'")
    assert asked(plant, scratch, *COMMANDS["resume"]) == 2
    assert "holds what no run has written" in capsys.readouterr().err


def test_a_result_about_other_terms_than_its_journal_is_refused(
    plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with plant.database() as db:
        db.execute("UPDATE terms SET term = term || 'x'")
    assert asked(plant, scratch, *COMMANDS["evaluate, all named"]) == 2
    assert "other labels or terms than its journal" in capsys.readouterr().err


# --- all of them ---


def test_the_study_finds_nothing_in_its_small_form() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reliability.hostile_folders", "--quick", "--processes", "1"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "0 findings" in done.stdout


# --- numbers and kinds that no run writes ---


@pytest.mark.parametrize("column", ["terms.beyond", "terms.training", "counts.documents", "counts.occurrences"])
@pytest.mark.parametrize("value", [-(2**62), 2**62, -1])
def test_counts_of_terms_are_counts(
    column: str, value: int, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """numpy would warn of some, and make sense of others."""
    table, _, name = column.partition(".")
    with plant.database() as db:
        db.execute(f"UPDATE {table} SET {name} = ?", (value,))
    assert asked(plant, scratch, "top", "RUN") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"{value} is no count" in said


@pytest.mark.parametrize("value", ["5", '"no, yes"', "[1, 2]", '{"no": 1}'])
def test_columns_that_are_no_names_are_refused(
    value: str, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with plant.database() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('columns', ?)", (value,))
    (plant.folder / "result.json").unlink()
    assert asked(plant, scratch, *COMMANDS["resume"]) == 2
    assert "the columns of the model are no names" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["drawn", "asked", "tokens", "kept", "documents"])
@pytest.mark.parametrize("value", ["null", "[]", '"x"', "-1000000000"])
def test_a_count_that_is_none_is_refused(
    key: str, value: str, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Believed, minus a billion texts asked about would let a budget never end."""
    with plant.database() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
    assert asked(plant, scratch, "top", "RUN") == 2
    (plant.folder / "result.json").unlink()  # or the run is over, and nothing is asked
    assert asked(plant, scratch, *COMMANDS["resume"]) == 2
    assert capsys.readouterr().err.count("no run has written") == 2


@pytest.mark.parametrize(
    "change",
    [
        *({"seconds": "x"}, {"seconds": True}, {"seconds": -0.5}, {"samples": []}, {"predictor_texts": 1e308}),
        *({"predictor_texts": -1_000_000_000}, {"kept_answers": 10**30}, {"tests": 2.0}, {"more": 1}),
    ],
    ids=str,
)
def test_a_cost_that_no_round_has_is_refused(
    change: dict[str, object], plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Believed, a round that took minus a billion texts would let a budget never end."""
    with plant.database() as db:
        for number, cost in db.execute("SELECT number, cost FROM rounds").fetchall():
            changed = json.dumps({**json.loads(cost), **change})
            db.execute("UPDATE rounds SET cost = ? WHERE number = ?", (changed, number))
    assert asked(plant, scratch, "report", "RUN") == 2
    (plant.folder / "result.json").unlink()
    assert asked(plant, scratch, *COMMANDS["resume"]) == 2
    assert capsys.readouterr().err.count("no run has written") == 2


@pytest.mark.parametrize("moment", ["5", "{}", '{"labels": {"no": {"terms": [5]}}}'])
def test_a_moment_that_is_none_is_refused(
    moment: str, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with plant.database() as db:
        db.execute("UPDATE moments SET moment = ?", (moment,))
    assert asked(plant, scratch, "evaluate", "RUN", "--docs", "DOCS", *MODEL, "--over-time") == 2
    assert "no run has written" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["top", "report", "resume"])
def test_a_page_that_belongs_to_two_cells_is_refused(
    command: str, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Believed, six thousand texts on the same pages made six gigabytes of a journal of one megabyte."""
    KINDS["two texts on the same pages"](plant)
    (plant.folder / "result.json").unlink()
    assert asked(plant, scratch, *COMMANDS[command]) == 2
    assert "its pages are not those of its tables" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["top", "top, csv", "report", "resume"])
def test_a_label_that_there_is_not_is_refused(
    command: str, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    KINDS["a label that there is not"](plant)
    (plant.folder / "result.json").unlink()
    assert asked(plant, scratch, *COMMANDS[command]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "should not happen" not in told


@pytest.mark.parametrize("number", ["1e999", "1" + "0" * 4000])
def test_a_number_that_no_run_has_is_refused(
    number: str, plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = plant.folder / "result.json"
    path.write_text(re.sub(r'"predictor_texts": \d+', f'"predictor_texts": {number}', path.read_text()))
    assert asked(plant, scratch, "report", "RUN") == 2
    assert "cannot be read (ValueError: a number" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["aggregation", "tau", "regret"])
def test_a_setting_of_another_kind_is_no_result(name: str, plant: Plant) -> None:
    path = plant.folder / "result.json"
    values = json.loads(path.read_text())
    values["settings"][name] = []
    path.write_text(json.dumps(values))
    with pytest.raises(RunFolderError, match="expected a"):
        Result.load(plant.folder)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"finished":', '"finished": false,\n  "finished":', "a name stands twice in one place"),
        (r'"tested": \d+', '"tested": -5', "-5 is no count"),
        (r'"predictor_texts": \d+', '"predictor_texts": 99999999999999999999', "99999999999999999999 is no count"),
        (r'"interval": \[', '"interval": [\n0.5,', "too many values"),
    ],
)
def test_a_result_that_no_run_has_written_is_refused(before: str, after: str, told: str, plant: Plant) -> None:
    """Believed, it would be shown: one of two values, fewer tests than none, two ends of three."""
    path = plant.folder / "result.json"
    text = path.read_text()
    assert Result.load(plant.folder)
    path.write_text(re.sub(before, after, text))
    assert path.read_text() != text
    with pytest.raises(RunFolderError, match=told):
        Result.load(plant.folder)


def test_nothing_is_written_through_a_hard_link(
    plant: Plant, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    KINDS["journal.sqlite has a second name outside"](plant)
    before = plant.victim.read_bytes()
    (plant.folder / "result.json").unlink()
    assert asked(plant, scratch, *COMMANDS["resume"]) == 2
    assert "has a second name elsewhere (a hard link)" in capsys.readouterr().err
    assert plant.victim.read_bytes() == before
    assert asked(plant, scratch, "top", "RUN") == 0

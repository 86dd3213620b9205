"""explain --out and --resume: runs that are kept, killed, interrupted and gone on with."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest
from commands import EXPLAIN, PYTHON, SCAN, Command, calls

from anchorscope.result import json_schema

# Runs that are kept


def test_kept_run_is_refused_without_resume_before_the_model_is_loaded(run: Command) -> None:
    run(*EXPLAIN, "--out", "run")
    done = run("explain", "docs.csv", "--model", "no_such_module:model", "--out", "run")
    assert done.status == 2 and "--resume" in done.err and "no_such_module" not in done.err


@pytest.mark.parametrize("strategy", ["race", "scan"])
def test_resume_of_a_finished_run_prints_its_result_without_computing(run: Command, strategy: str) -> None:
    first = run(*EXPLAIN, "--strategy", strategy, "--out", "run", "--json")
    n_calls = len(calls())
    assert run("explain", "--out", "run", "--resume", "--json").out == first.out
    assert len(calls()) == n_calls


@pytest.mark.parametrize("strategy", [("race", "--label", "yes"), ("race",), ("scan", "--filter", "sound")])
def test_resume_of_a_finished_run_streams_its_last_line(run: Command, strategy: tuple[str, ...]) -> None:
    """With documents and model or without: the line that the run itself ended with."""
    asked = (*EXPLAIN, "--strategy", *strategy, "--top-k", "1", "--out", "run", "--stream")
    *_, last = run(*asked).out.splitlines(keepends=True)
    assert run("explain", "--out", "run", "--resume", "--stream").out == last
    assert run(*asked, "--resume").out == last


def test_resume_of_a_missing_run_starts_afresh(run: Command) -> None:
    assert run(*EXPLAIN, "--out", "run", "--resume").status == 0


def test_resume_with_another_setting_is_refused(run: Command) -> None:
    run(*SCAN, "--out", "run", "--max-model-calls", "300")
    done = run(*SCAN, "--out", "run", "--resume", "--seed", "7")
    assert done.status == 2 and "seed was 0, now 7" in done.err


def _start(workplace: Path) -> subprocess.Popen[str]:
    """A slow run in a process of its own, with at least two rounds on record."""
    command = [*PYTHON, *SCAN, "--round-size", "6", "--out", "run", "--model", "models:slow"]
    process = subprocess.Popen(
        command,
        cwd=workplace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever runs the tests may ignore it
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and _rounds(workplace / "run" / "journal.sqlite") < 2:
        time.sleep(0.02)
    return process


def _rounds(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM rounds").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_killed_run_goes_on_to_the_same_result(run: Command, workplace: Path) -> None:
    process = _start(workplace)
    process.kill()
    process.communicate()
    assert not Path("run/result.json").exists()
    resumed = run(*SCAN, "--round-size", "6", "--out", "run", "--model", "models:slow", "--resume", "--json")
    whole = run(*SCAN, "--round-size", "6", "--out", "other", "--model", "models:slow", "--json")
    assert json.loads(resumed.out)["labels"] == json.loads(whole.out)["labels"]


def test_interrupted_run_shows_what_it_knows_and_how_to_go_on(run: Command, workplace: Path) -> None:
    process = _start(workplace)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "great" in out and "--resume" in err and "Traceback" not in err
    jsonschema.validate(json.loads(Path("run/result.json").read_text()), json_schema())
    done = run(*SCAN, "--round-size", "6", "--out", "run", "--model", "models:slow", "--resume")
    assert done.status == 0 and "At most" not in done.err


@pytest.mark.parametrize("out", ["new/a/b/c", "a/../b"])
def test_folders_made_for_a_run_that_is_refused_go_again(out: str, run: Command, workplace: Path) -> None:
    (workplace / "unsound.py").write_text("def model(texts):\n    return None\n")
    before = {*workplace.iterdir()} | {workplace / "__pycache__"}
    bad = ["--model", "unsound:model", "--labels", "no,yes", "--model-tries", "1"]
    assert run(*EXPLAIN, *bad, "--out", out).status == 2
    assert {*workplace.iterdir()} <= before


def test_a_refused_resume_leaves_no_lock(run: Command, workplace: Path) -> None:
    run(*SCAN, "--out", "run", "--max-model-calls", "300")
    (workplace / "run" / "journal.lock").unlink()
    assert run(*SCAN, "--out", "run", "--resume", "--seed", "7").status == 2
    assert run("explain", "nowhere.csv", *SCAN[2:], "--out", "run", "--resume").status == 2
    assert not (workplace / "run" / "journal.lock").exists()

"""A model that changes the process it runs in: our own answer stays right, and the message names the model."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import explained, finish, make_run, outcome, predictor

from anchorscope.asking.process import CHILD_STATUS
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import ModelFailedError, ModelFileError
from anchorscope.files import umask
from anchorscope.predictors import load_predictor
from anchorscope.testing import WeightPredictor

ROOT = Path(__file__).parents[2]


class Meddling(WeightPredictor):
    """Answers as the other one, and does something besides."""

    def __init__(self, meddle: Any) -> None:
        known = predictor()
        super().__init__(known.weights, bias=known.bias)
        self.meddle = meddle
        self.fingerprint = known.fingerprint

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        self.meddle()
        return super().predict(texts)


@pytest.mark.parametrize(
    "meddle",
    [lambda: np.seterr(all="raise"), lambda: os.chdir("/"), lambda: os.umask(0)],
    ids=["numpy's errors", "the current folder", "the umask"],
)
def test_a_run_is_the_same(meddle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the run is named from where the command was given."""
    monkeypatch.chdir(tmp_path)
    before = np.geterr()
    mask = umask()
    run = make_run(model=Meddling(meddle), folder=Path("run"))
    finish(run)
    assert outcome(run) == explained()
    assert np.geterr() == before and Path.cwd() == tmp_path
    assert (tmp_path / "run" / "result.json").stat().st_mode & 0o777 == 0o666 & ~mask


def take_streams() -> None:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("meddle", "told"),
    [
        (lambda: os.chdir("/"), ["changed the current folder"]),
        (lambda: os.umask(0o777), ["changed the umask"]),
        (take_streams, ["took away sys.stdout", "took away sys.stderr"]),
    ],
)
def test_the_message_names_the_model(meddle: Any, told: list[str], caplog: pytest.LogCaptureFixture) -> None:
    model = Meddling(meddle)
    model.name = "wanderer"
    with caplog.at_level(logging.INFO):
        RetryingPredictor(model, Retry()).predict(["great"])
    assert caplog.messages == [f"wanderer {what}; that is put back." for what in told]
    assert sys.stdout is not None and sys.stderr is not None


@pytest.mark.parametrize("meddle", ["sys.stderr.close()", "sys.stdout.close()", "sys.stderr = sys.stdout = None"])
def test_a_model_that_closes_our_streams_leaves_us_our_voice(meddle: str, tmp_path: Path) -> None:
    """Its second answer is none, and that is said."""
    (tmp_path / "mutes.py").write_text(
        f"import sys\ndef model(texts):\n    {meddle}\n    return [[0.5, 0.6]] * len(texts)\n"
    )
    command = [sys.executable, "-m", "anchorscope", "explain", "--document", "a great film", "--labels", "no,yes"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    done = subprocess.run(
        [*command, "--model", "mutes:model"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "sums to 1.1" in done.stderr


@pytest.mark.parametrize("timeout", [None, 20.0])
def test_a_child_that_a_model_forks_does_not_go_on_as_we_would(timeout: float | None, tmp_path: Path) -> None:
    """It would write our files a second time. What it says after the call of the model would be in the file."""
    children: list[int] = []

    def fork() -> None:
        if child := os.fork():
            children.append(child)

    answer = RetryingPredictor(Meddling(fork), Retry(timeout=timeout)).predict(["great"])
    with open(tmp_path / "said", "a") as file:
        file.write("once ")
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [CHILD_STATUS]
    assert (tmp_path / "said").read_text() == "once " and answer.tolist() == predictor().predict(["great"]).tolist()


class OwnError(BaseException):
    pass


@pytest.mark.parametrize("timeout", [None, 20.0])
@pytest.mark.parametrize("error", [asyncio.CancelledError("stop"), OwnError("mine"), GeneratorExit(), SystemExit(0)])
def test_an_exception_that_is_none_of_the_usual_gets_its_tries_and_a_sentence(
    error: BaseException, timeout: float | None
) -> None:
    """Two failures and then an answer; or failures all the way. A SystemExit is a mistake in code: two tries."""
    failures = [error]

    def fail() -> None:
        if failures:
            raise failures.pop()

    retry = Retry(3, sleep=lambda seconds: None, timeout=timeout)
    retrying = RetryingPredictor(Meddling(fail), retry)
    assert retrying.predict(["great"]).shape == (1, 2) and retrying.n_retries == 1
    failures += [error] * 20
    with pytest.raises(ModelFailedError, match=type(error).__name__):
        retrying.predict(["great"])


def test_the_users_interrupt_is_the_users() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RetryingPredictor(Meddling(interrupt), Retry()).predict(["great"])


# --- while it is loaded ---

MODEL = "\ndef model(texts):\n    return [[0.5, 0.5]] * len(texts)\n"


def test_a_module_that_ends_the_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ends_the_process.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(ModelFileError, match="ends_the_process:model' fails when it is loaded: SystemExit: 0"):
        load_predictor("ends_the_process:model", labels=["no", "yes"])


def test_a_module_that_goes_elsewhere_is_brought_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--out would be made in the root of the disk."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "goes_elsewhere.py").write_text("import os\nos.chdir('/')\n" + MODEL)
    load_predictor("goes_elsewhere:model", labels=["no", "yes"])
    assert Path.cwd() == tmp_path


def test_a_child_of_a_module_ends_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forks_on_import.py").write_text("import os\nchild = os.fork()\n" + MODEL)
    load_predictor("forks_on_import:model", labels=["no", "yes"])
    import forks_on_import

    assert os.waitstatus_to_exitcode(os.waitpid(forks_on_import.child, 0)[1]) == CHILD_STATUS

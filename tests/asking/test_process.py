"""A model that changes the process it runs in: our own answer stays right, and the message names the model."""

from __future__ import annotations

import asyncio
import builtins
import decimal
import inspect
import logging
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import explained, finish, make_run, outcome, predictor

from anchorscope.asking.process import CHILD_STATUS
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import InputError, ModelFailedError, ModelFileError
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
        rows = super().predict(texts)
        self.meddle()
        return rows


@pytest.mark.parametrize(
    "meddle",
    [
        lambda: np.seterr(all="raise"),
        lambda: os.chdir("/"),
        lambda: os.umask(0),
        lambda: sys.path.clear(),
        lambda: sys.setrecursionlimit(len(inspect.stack()) + 30),
        lambda: vars(builtins).update(len=lambda _: 0, sorted=None, open=None),
        lambda: vars(builtins).update(zip=None, getattr=None, isinstance=lambda *_: True),
        lambda: vars(builtins).pop("sum", None),
    ],
    ids=["numpy's errors", "the folder", "the umask", "the path", "the recursion limit", "len", "zip", "sum"],
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
        (take_streams, ["changed sys.stdout", "changed sys.stderr"]),
        (lambda: setattr(sys, "stderr", 5), ["changed sys.stderr"]),
        (lambda: sys.path.clear(), ["changed the path of modules"]),
        (lambda: signal.setitimer(signal.ITIMER_REAL, 60.0), ["changed the alarm"]),
        (lambda: sys.setrecursionlimit(len(inspect.stack()) + 30), ["changed the recursion limit"]),
        (lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN), ["changed what signals do"]),
        (lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]), ["changed what signals do"]),
        (lambda: setattr(sys, "excepthook", None), ["changed how exceptions are shown"]),
        (lambda: logging.disable(logging.CRITICAL), ["changed what is logged"]),
        (lambda: setattr(decimal.getcontext(), "prec", 2), ["changed how decimal numbers are rounded"]),
        (lambda: setattr(builtins, "len", None), ["changed what Python's own names mean"]),
    ],
)
def test_the_message_names_the_model(meddle: Any, told: list[str], caplog: pytest.LogCaptureFixture) -> None:
    model = Meddling(meddle)
    model.name = "wanderer"
    with caplog.at_level(logging.INFO):
        RetryingPredictor(model, Retry()).predict(["great"])
    assert caplog.messages == [f"wanderer {what}; that is put back." for what in told]
    assert sys.stdout is not None and sys.stderr is not None


def test_numbers_that_a_model_adds_up_in_decimals_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """What happened in the context is written down there, and is no other way to round."""
    with decimal.localcontext() as context, caplog.at_level(logging.INFO):
        RetryingPredictor(Meddling(lambda: decimal.Decimal(1) / 3), Retry()).predict(["great"])
        assert context.flags[decimal.Inexact] and not caplog.messages


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_model_that_takes_a_signal_does_not_keep_it(number: signal.Signals) -> None:
    """Nobody could end the run any more: not by Ctrl-C, not by kill."""
    before = signal.getsignal(number)
    RetryingPredictor(Meddling(lambda: signal.signal(number, signal.SIG_IGN)), Retry()).predict(["great"])
    assert signal.getsignal(number) == before
    RetryingPredictor(Meddling(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [number])), Retry()).predict(["great"])
    assert number not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_warnings_that_a_model_makes_errors_of_are_warnings_again(caplog: pytest.LogCaptureFixture) -> None:
    """What it does not want to hear it need not hear."""

    def meddle() -> None:
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "of its own")

    with warnings.catch_warnings(), caplog.at_level(logging.INFO):
        warnings.resetwarnings()
        RetryingPredictor(Meddling(meddle), Retry()).predict(["great"])
        assert [(one[0], one[1] and one[1].pattern) for one in warnings.filters] == [("ignore", "of its own")]
    assert caplog.messages[0].endswith("changed warnings into errors; that is put back.")


def test_what_a_model_adds_to_the_path_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["a", "b"])
    RetryingPredictor(Meddling(lambda: sys.path.__setitem__(slice(None), ["own", "b"])), Retry()).predict(["great"])
    assert sys.path == ["own", "b", "a"]


def test_a_number_of_a_closed_stream_is_given_to_no_file_of_ours(tmp_path: Path) -> None:
    """With its number 0 closed, the next file that is opened would be number 0."""
    code = (
        "import os\nfrom anchorscope.asking.process import called\n"
        "called(lambda _: os.closerange(0, 3), [], 'a model')\n"
        "print(os.open('/', os.O_RDONLY) > 2)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


MUTES = (
    *("sys.stderr.close()", "sys.stdout.close()", "sys.stderr = sys.stdout = None", "sys.stderr = sys.stdout = 5"),
    *("sys.__stderr__.close()", "sys.stderr.detach()", "sys.__stdout__.detach()", "os.close(2)", "os.closerange(0, 3)"),
)


def command_with(tmp_path: Path, code: str, *explained: str) -> subprocess.CompletedProcess[str]:
    """What the command does with a model in a module."""
    (tmp_path / "mutes.py").write_text(
        f"import atexit, os, sys, threading, time\nCALLS, HELD = [], []\ndef model(texts):\n    {code}\n"
    )
    what = explained or ("--document", "a great film")
    command = [sys.executable, "-m", "anchorscope", "explain", *what, "--labels", "no,yes"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    return subprocess.run(
        [*command, "--model", "mutes:model"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("meddle", MUTES)
def test_a_model_that_closes_our_streams_leaves_us_our_voice(meddle: str, tmp_path: Path) -> None:
    """Its second answer is none, and that is said."""
    done = command_with(tmp_path, f"{meddle}\n    return [[0.5, 0.6]] * len(texts)")
    assert done.returncode == 2 and "sums to 1.1" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "meddle", ["sys.__stdout__.close()", "os.closerange(0, 3)", "sys.stderr.detach()", "sys.stderr.buffer.close()"]
)
def test_and_the_place_for_what_is_found(meddle: str, tmp_path: Path) -> None:
    """The model does it when it is asked for the third time, in a run over several documents."""
    code = f"CALLS.append(0)\n    if len(CALLS) == 3:\n        {meddle}\n    return [[0.5, 0.5]] * len(texts)"
    (tmp_path / "docs.csv").write_text("text\n" + "a great film\na bad film\n" * 3)
    done = command_with(tmp_path, code, "docs.csv", "--round-size", "2")
    assert done.returncode == 0 and "no · 6 documents" in done.stdout and "Done in" in done.stderr, done.stderr


@pytest.mark.parametrize("more", ["", "; HELD.extend(open(__file__) for _ in range(200))"], ids=["closed", "and taken"])
def test_a_model_that_closes_our_files_ends_the_run_and_nothing_is_lost(more: str, tmp_path: Path) -> None:
    """The model does it when it is asked for the third time; once it does so no more, the run goes on."""
    (tmp_path / "docs.csv").write_text("text\n" + "a great film\na bad film\n" * 3)
    closing = f"if len(CALLS) == 3 and not os.path.exists('mended'):\n        os.closerange(3, 512){more}"
    code = f"CALLS.append(0)\n    {closing}\n    return [[0.5, 0.5]] * len(texts)"
    started = ("docs.csv", "--round-size", "2", "--out", "run")
    done = command_with(tmp_path, code, *started, "-q")
    assert done.returncode and "closed files of this process that are not its own" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1
    (tmp_path / "mended").touch()
    done = command_with(tmp_path, code, *started, "--resume")
    assert done.returncode == 0 and "no · 6 documents" in done.stdout, done.stderr


def test_last_words_without_end_keep_nobody_waiting(tmp_path: Path) -> None:
    done = command_with(tmp_path, "atexit.register(time.sleep, 1000)\n    return [[0.5, 0.5]] * len(texts)")
    assert done.returncode == 0 and "film" in done.stdout
    assert "at the end that takes long, which nobody waits for" in done.stderr


def test_a_thread_that_a_model_leaves_behind_keeps_nobody_waiting(tmp_path: Path) -> None:
    start = "threading.Thread(target=time.sleep, args=(1000,)).start()"
    done = command_with(tmp_path, f"{start}\n    return [[0.5, 0.5]] * len(texts)")
    assert done.returncode == 0 and "film" in done.stdout
    assert "running, which nobody waits for" in done.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        *(("n_probed", told) for told in ("x", -5, 1.5, None, 10**400)),
        *(("n_probed_tokens", "x"), ("probed_seconds", float("nan")), ("probed_seconds", "soon")),
    ],
)
def test_what_it_took_to_find_the_labels_is_a_number(name: str, told: Any) -> None:
    model = predictor()
    setattr(model, name, told)
    with pytest.raises(InputError, match=f"The {name} of .* is what it took to find the labels, not "):
        RetryingPredictor(model, Retry())


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

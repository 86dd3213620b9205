"""Worker processes end with the process that started them, whatever ended it; what cannot travel to them is named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing import active_children
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
from numpy.typing import NDArray
from runs import explained, finish, make_run, reviews

from anchorscope.asking.budget import Budget
from anchorscope.errors import InputError
from anchorscope.testing import WeightPredictor
from reliability.signals import alive

STUCK = """
import os, sys
sys.path.insert(0, "tests")
from multiprocessing import active_children
from pathlib import Path
from runs import finish, make_run, predictor
from anchorscope.testing import WeightPredictor

class Stuck(WeightPredictor):
    parent = os.getpid()
    asked = sys.argv[1]

    def predict(self, texts):
        if os.getpid() == self.parent:
            return super().predict(texts)
        Path(self.asked, str(os.getpid())).touch()
        while True:
            pass

known = predictor()
finish(make_run(model=Stuck(known.weights), workers=2))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_workers_end_with_their_parent(number: signal.Signals, tmp_path: Path) -> None:
    """Both are inside the model and would never come back; the parent alone gets the signal."""
    (tmp_path / "stuck.py").write_text(STUCK)
    (tmp_path / "asked").mkdir()
    command = ["sh", "-c", 'ulimit -c 0; exec "$@"', "sh", sys.executable, str(tmp_path / "stuck.py")]
    parent = subprocess.Popen(
        [*command, str(tmp_path / "asked")],
        cwd=Path(__file__).parents[2],
        start_new_session=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # whoever runs the tests may ignore it
    )
    try:
        wait_until(lambda: len([*(tmp_path / "asked").glob("*")]) == 2, seconds=30)
        assert len(alive(parent.pid)) >= 3
        parent.send_signal(number)
        parent.wait(5)
        wait_until(lambda: not alive(parent.pid), seconds=5)
    finally:
        for left in alive(parent.pid):
            os.kill(left, signal.SIGKILL)
        parent.wait()


def wait_until(is_so: Callable[[], bool], *, seconds: float) -> None:
    end = monotonic() + seconds
    while not is_so():
        assert monotonic() < end
        sleep(0.05)


def test_a_model_that_cannot_travel_is_named() -> None:
    model = WeightPredictor({"great": 1.0})
    model.lock = __import__("threading").Lock()  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"cannot travel to worker processes .*lock.*use --workers 1"):
        [*make_run(model=model, workers=2).snapshots()]


def test_a_model_that_cannot_travel_is_not_asked_and_leaves_nothing(tmp_path: Path) -> None:
    class Locked(WeightPredictor):
        asked = 0

        def __reduce__(self) -> str | tuple[object, ...]:
            raise ZeroDivisionError("no way")

        def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
            Locked.asked += 1
            return super().predict(texts)

    with pytest.raises(InputError, match=r"cannot travel to worker processes \(ZeroDivisionError: no way\)"):
        [*make_run(model=Locked({"great": 1.0}), workers=2, folder=tmp_path / "a" / "run").snapshots()]
    assert not Locked.asked and not [*tmp_path.iterdir()]


def test_an_interrupt_while_workers_start_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool has not taken note of the first one yet; at the end of the process it would be waited for."""
    from loky.backend.process import LokyProcess

    start = LokyProcess.start

    def interrupted(self: LokyProcess) -> None:
        start(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(LokyProcess, "start", interrupted)
    before = {*active_children()}
    with pytest.raises(KeyboardInterrupt):
        [*make_run(workers=2).snapshots()]
    wait_until(lambda: {*active_children()} <= before, seconds=5)


def test_workers_share_the_linear_pass_and_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms are numbered apart in each part, and as they are met: only the merged ones may come out. Texts that need a
    dictionary are cut in this process, and come to stand where they were: first, last, and side by side."""
    monkeypatch.setattr("anchorscope.planning.tokens.CUT_AT_ONCE", 500)
    monkeypatch.setattr("anchorscope.planning.tokens.CUT_BY_A_HELPER", 700)
    texts = [*reviews(600), "Great GREAT great!!! :-)", "so_called 3.5 #not", "FILM Film, and"] * 2
    texts += ["great 電影很好看", "bad これは映画です", "a great 電影很好看 film"]
    given = {"texts": texts, "strategy": "race", "score": "occlusion", "aggregation": "total", "test": "fixed"}
    assert explained(**given, workers=2) == explained(**given)


def test_workers_predict_within_the_calls_that_are_left() -> None:
    """Of 400 calls 40% draw 160 of the documents, which two workers predict; the others are for tests."""
    run = make_run(reviews(300), workers=2, strategy="race", budget=Budget(max_model_calls=400), round_size=50)
    finish(run)
    assert run.result().cost.predictor_texts <= 400

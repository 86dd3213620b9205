"""The same result on Ray, also where workers are lost; what cannot work is said before any work. One Ray for all."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Sequence
from math import inf
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from runs import explained, finish, make_run, outcome, predictor, reviews

from anchorscope.asking.budget import Budget
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.backends.ray_actors import (
    RayActors,
    _ended_often,
    _Losses,
    _not_started,
    _places,
    _reason,
    ray_backend,
)
from anchorscope.backends.ray_session import _refuse_unreachable, open_session
from anchorscope.backends.shares import Share
from anchorscope.errors import AnchorscopeError, InputError, MissingPackageError, ModelError
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.local_scores.occlusion import OcclusionScore
from anchorscope.testing import WeightPredictor, work


class Elsewhere(WeightPredictor):
    """The usual model, which takes note of who asks it: a file a process, a line a text."""

    def __init__(self, folder: Path, seconds: float = 0.0) -> None:
        known = predictor()
        super().__init__(known.weights, bias=known.bias)
        self.folder = folder
        self.seconds = seconds
        self.driver = os.getpid()

    def predict(self, texts: Sequence[str]) -> Any:
        with open(self.folder / str(os.getpid()), "a", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts)
        sleep(self.seconds)
        return super().predict(texts)


class Deadly(Elsewhere):
    """Ends every worker that asks it."""

    def predict(self, texts: Sequence[str]) -> Any:
        if os.getpid() != self.driver:
            os._exit(9)
        return super().predict(texts)


class Wrong(Elsewhere):
    """Answers no numbers anywhere else."""

    def predict(self, texts: Sequence[str]) -> Any:
        return super().predict(texts) if os.getpid() == self.driver else np.full((len(texts), 2), np.nan)


def backend(model: Any, workers: int = 2) -> RayActors:
    asked = RetryingPredictor(model, Retry())
    made = ray_backend(MeteredScore(OcclusionScore(asked, None, work.settings()), asked), workers)
    assert isinstance(made, RayActors)
    return made


@pytest.mark.parametrize("strategy", ["scan", "race"])
def test_the_result_is_that_of_one_process(strategy: str, local_ray: ModuleType) -> None:
    given = {"texts": reviews(300), "strategy": strategy, "aggregation": "total", "score": "occlusion", "test": "fixed"}
    assert explained(**given, backend="ray", workers=2) == explained(**given)


def test_two_workers_share_predictions_and_rounds(local_ray: ModuleType, tmp_path: Path) -> None:
    """The first two documents are asked about here, to know the model; all others there."""
    run = make_run(reviews(300), model=Elsewhere(tmp_path, seconds=0.02), backend="ray", workers=2, round_size=100)
    finish(run)
    asked = {int(path.name): len(path.read_text().splitlines()) for path in tmp_path.iterdir()}
    assert asked.pop(os.getpid()) < 50  # the probe, and the evidence at the end
    assert len(asked) == 2 and sum(asked.values()) > 400


def test_a_worker_that_is_killed_changes_nothing(local_ray: ModuleType, tmp_path: Path) -> None:
    """Both workers are killed in turn, in the middle of their rounds."""
    given: dict[str, Any] = {"texts": reviews(200), "round_size": 50}
    run = make_run(**given, model=Elsewhere(tmp_path, seconds=0.02), backend="ray", workers=2)
    killed: list[int] = []

    def kill() -> None:
        while len(killed) < 2:
            for number in [int(path.name) for path in tmp_path.iterdir()]:
                if number not in (os.getpid(), *killed) and len(killed) < 2:
                    sleep(0.2)
                    os.kill(number, signal.SIGKILL)
                    killed.append(number)
            sleep(0.05)

    killer = Thread(target=kill)
    killer.start()
    finish(run)
    killer.join()
    assert outcome(run) == explained(**given)


def test_units_that_end_every_worker_are_given_up(
    local_ray: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AnchorscopeError, match=r"5 workers ended over the same units .*--resume"):
        finish(make_run(reviews(20), model=Deadly(tmp_path), backend="ray", workers=1))
    sleep(1)  # Ray has its own word to say about that, a little later
    assert not capsys.readouterr().out


def test_a_budget_is_kept(local_ray: ModuleType, tmp_path: Path) -> None:
    run = make_run(
        reviews(100), model=Elsewhere(tmp_path), backend="ray", workers=2, budget=Budget(max_model_calls=500)
    )
    finish(run)
    assert sum(len(path.read_text().splitlines()) for path in tmp_path.iterdir()) <= 500


def test_lost_calls_are_charged_and_no_try_goes_beyond_what_is_left() -> None:
    """40 calls: two shares of at most 15 leave 10, which is no third 15; one of at most 10 would be tried again."""
    dealt = [Share([], 15, 10), Share([], 15, 10)]
    losses = _Losses(40, dealt)
    assert losses.next_try(0) is not None and losses.charged == 15
    losses = _Losses(40, [Share([], 10, 10)] * 2)
    assert losses.next_try(0) is None and losses.next_try(0) is None and losses.next_try(1) is not None
    assert losses.charged == 30
    endless = _Losses(inf, [Share([], inf, 7)])
    assert endless.next_try(0) is None and endless.charged == 7


def test_an_error_of_the_model_comes_as_it_is(local_ray: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"NaN.*document"):
        finish(make_run(model=Wrong(tmp_path), backend="ray", workers=1, round_size=100))


def test_what_a_worker_maps_comes_in_order(local_ray: ModuleType) -> None:
    made = backend(predictor())
    assert made.map(str.upper, list("anchorscope")) == list("ANCHORSCOPE")
    rows, cost = made.predict(reviews(11))
    assert np.array_equal(rows, predictor().predict(reviews(11))) and cost.predictor_texts == 11
    made.close()
    assert local_ray.is_initialized(), "it was there before"


# --- what cannot work ---


def test_a_model_that_cannot_travel_is_named(local_ray: ModuleType) -> None:
    model = predictor()
    model.lock = __import__("threading").Lock()  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"cannot travel to workers .*lock.*--backend local"):
        finish(make_run(model=model, backend="ray"))


class ReadsFile(WeightPredictor):
    """Reads its weights from a file when it arrives."""

    file = "gone.txt"

    def __setstate__(self, state: dict[str, Any]) -> None:
        Path(self.file).read_text()


def test_a_file_that_a_worker_cannot_see_is_named(local_ray: ModuleType) -> None:
    with pytest.raises(InputError, match=r"cannot load the model \(FileNotFoundError: .*gone.txt.*same place on every"):
        finish(make_run(model=ReadsFile({"great": 1.0}), backend="ray"))


def test_a_second_address_is_refused(local_ray: ModuleType) -> None:
    with pytest.raises(InputError, match=r"connected to Ray already: leave out the address '10.0.0.1:6379'"):
        open_session("10.0.0.1:6379", 1)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("127.0.0.1:1", r"Nobody answers at 127.0.0.1:1 .*ray start --head --port 1"),
        ("nonsense", r"'nonsense' is no address of a Ray cluster; expected HOST:PORT"),
        ("ray://10.0.0.1:10001", r"is no address of a Ray cluster"),
        ("127.0.0.1:99999", r"Nobody answers at"),
    ],
)
def test_a_cluster_that_is_not_there(address: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(InputError, match=told):
        finish(make_run(backend=f"ray:{address}"))


@pytest.mark.parametrize("says", [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["nothing", "closes", "http"])
def test_a_server_that_is_no_cluster(
    says: bytes | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It accepts connections, and says nothing, hangs up, or speaks HTTP/1: Ray itself would wait for minutes."""
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("anchorscope.backends.ray_session.REACHED_WITHIN", 1.0)
    held = []

    def serve() -> None:
        held.append(listener.accept()[0])
        if says is not None:
            held[0].recv(1 << 10)
            held[0].sendall(says)
            held[0].close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=serve, daemon=True).start()
        begun = monotonic()
        with pytest.raises(InputError, match=r"Who answers at 127.0.0.1:\d+ is not the head of a Ray cluster; name"):
            open_session(f"127.0.0.1:{listener.getsockname()[1]}", None)
        assert monotonic() - begun < 4
    assert capfd.readouterr().err == ""
    held[0].close()


def test_a_head_of_a_cluster_is_taken_for_one(local_ray: ModuleType) -> None:
    address = local_ray.get_runtime_context().gcs_address
    _refuse_unreachable(address)


def test_a_replica_that_ran_out_of_memory_is_told_so(local_ray: ModuleType) -> None:
    """Ray's own kind of error: its message, of many lines, is not quoted."""
    told = _reason(local_ray.exceptions.OutOfMemoryError("Task was killed due to the node running low on memory.\n…"))
    assert told == "the memory of its node ran out"
    assert "with more memory" in _not_started(told) and "fewer --workers" in _ended_often(told)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'anchorscope\[ray\]'"):
        finish(make_run(backend="ray"))


def test_an_unknown_backend_and_an_argument_too_many() -> None:
    with pytest.raises(InputError, match=r"There is no backend 'rya'; did you mean 'ray'\?"):
        make_run(backend="rya")
    with pytest.raises(InputError, match="'local' takes nothing behind a colon"):
        make_run(backend="local:8")


def test_a_cluster_without_what_is_needed() -> None:
    with pytest.raises(InputError, match="The cluster has no GPU; add a node with one, or use --device cpu"):
        _places({"CPU": 4}, 2, True)
    with pytest.warns(UserWarning, match="8 workers were asked for, and the cluster has 4 CPUs"):
        assert _places({"CPU": 4}, 8, False) == (8, {"num_cpus": 1})

"""Measuring on Ray: the same units in the same rounds, by replicas of the local score in processes anywhere.

A replica is an actor with a GPU or a CPU of its own (a share of a GPU, where there are more replicas than GPUs), and
loads the model once. A round is dealt out in more shares than there are replicas, each gets its next one before it has
finished the last, and no more are under way than that: a slow node takes fewer, and no queue grows. A row depends on
its own unit alone, so who measured it shows nowhere.

A replica can be lost at any moment, with its process, its node, or for want of memory. Its shares are measured again by
another; only what came back is counted, so every unit counts once. What the lost one had asked the model is not known:
it is charged as all that it was allowed, where that is a number, so a budget of calls is kept even then.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, isfinite
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import batches, brief
from anchorscope.asking.budget import check_workers
from anchorscope.backends.ray_session import Session, open_session
from anchorscope.backends.replica import Replica, versions
from anchorscope.backends.shares import Share, joined, shares
from anchorscope.errors import AnchorscopeError, InputError
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.types import Backend, Cost, Measurements, Unit

SHARES_A_REPLICA = 4
"""Shares of a round for each replica: with a lost one a quarter of its work is lost, and a slow one has fewer."""

PARTS_A_REPLICA = 8
"""The same of the documents that are predicted together."""

FEWEST_UNITS = 64
"""Units of a share, unless there would be less than one for each replica: models are quicker at many texts together."""

PART_SECONDS = 2.0
"""What a share should take at most: where workers come and go, long ones would never be finished."""

UNDER_WAY = 2
"""Shares that a replica holds at a time: the one that it measures, and the next."""

MOST_LOSSES = 5
"""A share over which so many replicas were lost is not given to another."""

STARTED_WITHIN = 300.0
"""Seconds in which at least one replica has to be there."""


def ray_backend(score: MeteredScore, workers: int | None = None, address: str | None = None) -> Backend:
    """Replicas on Ray, as many as asked for, or one for each GPU or CPU of the cluster."""
    if workers is not None:
        check_workers(workers)
    session = open_session(address, workers)
    try:
        return RayActors(session, score, workers)
    except BaseException:
        session.close()
        raise


@dataclass(slots=True)
class Task:
    """A call of a replica, and how often it was lost with one."""

    method: str
    arguments: tuple[Any, ...]
    n_lost: int = 0


class RayActors:
    """The replicas, and who of them does what."""

    def __init__(self, session: Session, score: MeteredScore, workers: int | None) -> None:
        self._session = session
        self._score = score
        ray = session.ray
        self.n_workers, self._needs = _places(ray.cluster_resources(), workers, score.on_card)
        self._loading = (ray.put(_travelling(ray, score)), [str(Path.cwd()), *filter(None, sys.path)], versions())
        self._starting: dict[Any, Any] = {}  # the answer that is waited for -> the replica
        self._ready: dict[Any, int] = {}  # replica -> how many tasks it holds
        self._n_not_started = 0
        self._why = ""
        self._seconds_a_call = 0.0
        for _ in range(self.n_workers):
            self._start()
        self._wait_for_one()

    def measure(self, units: Sequence[Unit], max_calls: float = inf) -> tuple[Measurements, Cost]:
        """As the local score does, each replica its shares of the units."""
        n_shares = self._n_parts(SHARES_A_REPLICA, len(units), sum(map(self._score.calls, units)))
        dealt = shares(self._score, units, n_shares, self._dealt_out(units, max_calls))
        lost = _Losses(max_calls, dealt)
        columns = self._score.columns.names
        tasks = [Task("measure", (share.units, share.allowed, columns)) for share in dealt]
        begun = monotonic()
        answers = self._answers(tasks, lost.next_try)
        found, cost = joined(dealt, answers)
        self._timed(begun, cost.predictor_texts)
        return found, cost + Cost(predictor_texts=lost.charged)

    def _n_parts(self, a_replica: int, n_items: int, n_calls: float) -> int:
        """Into how many parts work is divided: some for each replica, and none that takes long, as far as one knows."""
        by_time = ceil(n_calls * self._seconds_a_call / PART_SECONDS) if isfinite(n_calls) else 0
        return max(self.n_workers, min(self.n_workers * a_replica, n_items // FEWEST_UNITS), min(by_time, n_items))

    def _timed(self, begun: float, n_calls: int) -> None:
        """Take note of what a call takes a replica."""
        if n_calls:
            self._seconds_a_call = (monotonic() - begun) * self.n_workers / n_calls

    def _dealt_out(self, units: Sequence[Unit], max_calls: float) -> float:
        """The calls that are dealt out: half of those that should be left over are kept, for shares that are lost."""
        expected = sum(map(self._score.calls, units))
        return (
            max_calls - max(0.0, max_calls - expected) // 2 if isfinite(max_calls) and isfinite(expected) else max_calls
        )

    def predict(self, texts: Sequence[str], max_calls: float = inf) -> tuple[NDArray[np.float64], Cost]:
        """What the model says of some texts (texts, labels), and what that took."""
        n_parts = self._n_parts(PARTS_A_REPLICA, len(texts), len(texts))
        parts = list(batches(texts, max(1, -(-len(texts) // n_parts))))
        spare = (max_calls - len(texts)) / max(1, len(parts))
        columns = self._score.columns.names
        begun = monotonic()
        answers = self._answers([Task("predict", (part, len(part) + spare, columns)) for part in parts])
        self._timed(begun, len(texts))
        return np.concatenate([rows for rows, _ in answers]), sum((cost for _, cost in answers), Cost())

    def predict_each(self, parts: Sequence[Sequence[str]], ahead: int) -> Iterator[tuple[NDArray[np.float64], Cost]]:
        """One part after the other, each by all replicas: who is lost meanwhile is looked after at once."""
        return map(self.predict, parts)

    def map(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
        """What a function of a module answers to each argument."""
        return self._answers([Task("call", (function, argument)) for argument in arguments])

    def close(self) -> None:
        """End the replicas, and Ray if it was started here."""
        for replica in (*self._ready, *self._starting.values()):
            self._session.ray.kill(replica)
        self._ready.clear()
        self._starting.clear()
        self._session.close()

    def _answers(self, tasks: Sequence[Task], next_try: Callable[[int], Any] | None = None) -> list[Any]:
        """The answer to each task; ``next_try`` is asked before a lost one is tried again: None, or what to answer."""
        ray = self._session.ray
        waiting = deque(range(len(tasks)))
        held: dict[Any, tuple[int, Any]] = {}  # the answer that is waited for -> number of the task, replica
        answers: dict[int, Any] = {}
        while len(answers) < len(tasks):
            self._hand_out(tasks, waiting, held)
            self._refuse_waiting_for_nothing(held)
            done, _ = ray.wait([*held, *self._starting], num_returns=1, timeout=STARTED_WITHIN)
            for answer in done:
                if answer in self._starting:
                    self._started(answer)
                    continue
                if answer not in held:
                    continue  # lost with another one of its replica
                number, replica = held[answer]
                found, error = self._fetch(answer)
                if error is None:
                    del held[answer]
                    answers[number] = found
                    self._ready[replica] -= 1
                    continue
                *others, first = self._lost(replica, error, tasks, held, answers)
                for lost in (*others, first):
                    instead = next_try(lost) if next_try is not None and lost == first else None
                    if instead is None:
                        waiting.appendleft(lost)
                    else:
                        answers[lost] = instead
        return [answers[number] for number in range(len(tasks))]

    def _hand_out(self, tasks: Sequence[Task], waiting: deque[int], held: dict[Any, tuple[int, Any]]) -> None:
        """A task for everybody, then the next for everybody."""
        for most in range(1, UNDER_WAY + 1):
            for replica, n_held in [*self._ready.items()]:
                if waiting and n_held < most:
                    number = waiting.popleft()
                    task = tasks[number]
                    held[getattr(replica, task.method).remote(*task.arguments)] = number, replica
                    self._ready[replica] += 1

    def _fetch(self, answer: Any) -> tuple[Any, BaseException | None]:
        """An answer; or why it was lost with its replica. What the model raised there is raised here."""
        ray = self._session.ray
        try:
            return ray.get(answer), None
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.RayError as error:
            return None, error

    def _lost(
        self,
        replica: Any,
        error: BaseException,
        tasks: Sequence[Task],
        held: dict[Any, tuple[int, Any]],
        answers: dict[int, Any],
    ) -> list[int]:
        """The tasks that are lost with a replica, the last one first; what it had answered before is no loss."""
        self._why = _reason(error)
        del self._ready[replica]
        self._session.ray.kill(replica)
        self._start()
        numbers = []
        for answer in [answer for answer, (_, holder) in held.items() if holder == replica]:
            number, _ = held.pop(answer)
            found, is_lost = self._fetch(answer)
            if is_lost is None:
                answers[number] = found
            else:
                numbers.append(number)
        # It was at work on the first of them when it ended: the others were only waiting.
        tasks[numbers[0]].n_lost += 1
        if tasks[numbers[0]].n_lost >= MOST_LOSSES:
            raise AnchorscopeError(_ended_often(self._why)) from error
        return numbers[::-1]

    def _start(self) -> None:
        replica = self._session.ray.remote(Replica).options(**self._needs).remote()
        self._starting[replica.load.remote(*self._loading)] = replica

    def _started(self, answer: Any) -> None:
        """Take in a replica that has loaded; one that cannot is an error, one that is lost is started again."""
        ray = self._session.ray
        replica = self._starting.pop(answer)
        try:
            ray.get(answer)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.RayError as error:
            self._n_not_started += 1
            self._why = _reason(error)
            if self._n_not_started > MOST_LOSSES * self.n_workers:
                raise AnchorscopeError(_not_started(self._why)) from error
            self._start()
        else:
            self._n_not_started = 0
            self._ready[replica] = 0

    def _wait_for_one(self) -> None:
        """So that a model that cannot be loaded is known before any work."""
        while not self._ready:
            done, _ = self._session.ray.wait([*self._starting], num_returns=1, timeout=STARTED_WITHIN)
            self._refuse_none(done)
            for answer in done:
                self._started(answer)

    def _refuse_waiting_for_nothing(self, held: dict[Any, tuple[int, Any]]) -> None:
        if not held and not self._ready:
            self._wait_for_one()

    def _refuse_none(self, done: Sequence[Any]) -> None:
        if not done:
            free = {kind: n for kind, n in self._session.ray.available_resources().items() if kind in ("CPU", "GPU")}
            raise AnchorscopeError(
                f"No worker has started within {STARTED_WITHIN:.0f} seconds (free there: {free or 'nothing'}): "
                "wait for others to finish, or add nodes, and go on with --resume."
            )


@dataclass(slots=True)
class _Losses:
    """What lost shares may have cost, and whether they can be afforded once more."""

    max_calls: float
    dealt: Sequence[Share]
    charged: int = 0
    _spare: float = field(init=False)

    def __post_init__(self) -> None:
        self._spare = self.max_calls - sum(share.allowed for share in self.dealt) if isfinite(self.max_calls) else inf

    def next_try(self, number: int) -> tuple[Measurements, Cost] | None:
        """None to try again; or that nothing was found, where the calls do not suffice for another try."""
        share = self.dealt[number]
        gone = share.allowed if isfinite(share.allowed) else share.expected
        self.charged += int(gone) if isfinite(gone) else 0
        if self._spare >= share.allowed or not isfinite(self.max_calls):
            self._spare -= share.allowed if isfinite(share.allowed) else 0
            return None
        return Measurements.join(()), Cost()


def _places(resources: dict[str, float], workers: int | None, on_card: bool) -> tuple[int, dict[str, float]]:
    """How many replicas there are, and what each of them is given.

    >>> _places({"CPU": 8.0}, None, False)
    (8, {'num_cpus': 1})
    >>> _places({"CPU": 8.0, "GPU": 2.0}, 4, True)
    (4, {'num_cpus': 0, 'num_gpus': 0.5})
    """
    kind = "GPU" if on_card else "CPU"
    there = int(resources.get(kind, 0))
    if not there:
        raise InputError(f"The cluster has no {kind}; add a node with one{', or use --device cpu' if on_card else ''}.")
    n = there if workers is None else workers
    if on_card:
        share = 1 / -(-n // there)  # of a card: several replicas may live on one
        return n, {"num_cpus": 0, "num_gpus": share}
    if n > there:
        warnings.warn(
            f"{n} workers were asked for, and the cluster has {there} CPUs: the others start when there is room.",
            stacklevel=5,
        )
    return n, {"num_cpus": 1}


def _travelling(ray: Any, score: MeteredScore) -> NDArray[np.uint8]:
    """The score as bytes; as an array, of which all workers of a node see the same copy."""
    try:
        return np.frombuffer(ray.cloudpickle.dumps(score), np.uint8)
    except Exception as error:
        raise InputError(
            f"The model or the perturbator cannot travel to workers ({brief(error)}); use --backend local with "
            "--workers 1, or name a function of a module, which each worker imports."
        ) from error


def _reason(error: BaseException) -> str:
    """Why a replica was lost, in a few words."""
    if type(error).__name__ == "OutOfMemoryError":
        return "the memory of its node ran out"
    return brief(error)


def _ended_often(why: str) -> str:
    return (
        f"{MOST_LOSSES} workers ended over the same units ({why}); the model may have ended them, or their memory ran "
        "out: try fewer --workers or a smaller --batch-size, and go on with --resume."
    )


def _not_started(why: str) -> str:
    return f"Workers end before they have loaded the model ({why}); try fewer --workers, or nodes with more memory."

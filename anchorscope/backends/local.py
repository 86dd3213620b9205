"""Measuring in this process, or in worker processes on this machine.

The same local score measures in either place, and a row depends on no other unit, so the number of workers changes
nothing but the time.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from pickle import PicklingError
from threading import Thread
from time import sleep
from typing import Any, TextIO, cast

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import batches, brief
from anchorscope.asking.budget import check_workers
from anchorscope.asking.printed import HarmlessStream
from anchorscope.backends.shares import joined, shares
from anchorscope.errors import AnchorscopeError, InputError
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.types import Backend, Cost, Measurements, Unit


def local_backend(score: MeteredScore, workers: int | None = None) -> Backend:
    """This process for one worker, or if nobody says how many; a pool of processes for more."""
    n = 1 if workers is None else workers
    check_workers(n)
    return InProcess(score) if n == 1 else Processes(score, n)


class InProcess:
    """The local score itself."""

    def __init__(self, score: MeteredScore) -> None:
        self._score = score

    def measure(self, units: Sequence[Unit], max_calls: float = inf) -> tuple[Measurements, Cost]:
        """As the local score does."""
        return self._score.measure(units, max_calls)

    def close(self) -> None:
        """Nothing to let go."""


class Processes:
    """Worker processes, each with a copy of the local score; a round is dealt out to all of them."""

    def __init__(self, score: MeteredScore, workers: int) -> None:
        from loky import ProcessPoolExecutor
        from loky.backend.context import LokyContext
        from loky.backend.reduction import dump

        started: list[Any] = []

        class Context(LokyContext):  # type: ignore[misc]  # of a package without types
            """Knows every process that it has made, even if an interrupt kept the pool from taking note of it."""

            def Process(self, *args: Any, **kwargs: Any) -> Any:
                started.append(LokyContext.Process(*args, **kwargs))
                return started[-1]

        self._started = started
        self._score = score
        self.n_workers = workers
        try:
            dump(score, _Nowhere())  # before a model is asked that could not be used in the end
        except Exception as error:  # what packs a model is the model's
            raise _cannot_travel(error) from error
        threads = str(max(1, (os.cpu_count() or workers) // workers))
        environment = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        self._pool: Any = ProcessPoolExecutor(
            workers, context=Context(), initializer=_start, initargs=(score, os.getpid()), env=environment
        )

    def measure(self, units: Sequence[Unit], max_calls: float = inf) -> tuple[Measurements, Cost]:
        """As the local score does, each worker its share of the units."""
        dealt = shares(self._score, units, self.n_workers, max_calls)
        columns = [self._score.columns.names] * len(dealt)
        answers = self._answers(_measure, [share.units for share in dealt], [share.allowed for share in dealt], columns)
        return joined(dealt, answers)

    def predict(self, texts: Sequence[str], max_calls: float = inf) -> tuple[NDArray[np.float64], Cost]:
        """What the model says of some texts (texts, labels), and what that took."""
        parts = list(batches(texts, max(1, -(-len(texts) // self.n_workers))))
        spare = (max_calls - len(texts)) / max(1, len(parts))
        columns = [self._score.columns.names] * len(parts)
        answers = self._answers(_predict, parts, [len(part) + spare for part in parts], columns)
        return np.concatenate([rows for rows, _ in answers]), sum((cost for _, cost in answers), Cost())

    def map(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
        """What a function of a module answers to each argument."""
        return self._answers(function, arguments)

    def _answers(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        try:
            return list(self._pool.map(function, *arguments))
        except (PicklingError, TypeError, AttributeError) as error:
            if "pickle" not in str(error).lower() and not isinstance(error, PicklingError):
                raise
            raise _cannot_travel(error) from error
        except RuntimeError as error:  # loky: a worker died, or could not start
            raise AnchorscopeError(
                f"A worker process ended unexpectedly ({brief(error)}); "
                "the model may have ended it, or its memory ran out: try fewer --workers and go on with --resume."
            ) from error

    def close(self) -> None:
        """End the workers; one that the pool does not know would be waited for at the end of the process."""
        self._pool.shutdown(wait=True, kill_workers=True)
        for worker in self._started:
            if worker.is_alive():
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)
                worker.join()


def _cannot_travel(error: Exception) -> InputError:
    return InputError(
        f"The model or the perturbator cannot travel to worker processes ({brief(error)}); use --workers 1, or "
        "name a function of a module, which each worker imports."
    )


class _Nowhere:
    """Takes what is packed only to see whether it can be."""

    def write(self, data: Any) -> int:
        """Forget it."""
        return memoryview(data).nbytes


PR_SET_PDEATHSIG = 1
"""Linux: the signal that a process gets when its parent ends."""

WATCH_SECONDS = 0.5
ORPHANED = 71

_score: MeteredScore | None = None


def _start(score: MeteredScore, parent: int) -> None:
    global _score
    _score = score
    _end_with(parent)
    with suppress(OSError, ValueError, AttributeError):  # closed streams take nothing
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a model prints here is no data either
        if sys.stdout.isatty():
            sys.stdout = cast(TextIO, HarmlessStream(sys.stdout))


def _end_with(parent: int) -> None:
    """End this worker when the process that started it ends, whatever ended it.

    The kernel does so at once, where it can be asked to; a thread that looks now and then is for where it cannot, and
    for a parent that has gone before it was asked.
    """
    with suppress(OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            sleep(WATCH_SECONDS)
        os._exit(ORPHANED)

    Thread(target=watch, name="anchorscope-parent", daemon=True).start()


def _measure(units: Sequence[Unit], max_calls: float, columns: Sequence[str] | None) -> tuple[Measurements, Cost]:
    assert _score is not None, "the pool's initializer sets the local score"
    _score.columns.remember(columns)  # the first worker to start knew of no answer yet
    return _score.measure(units, max_calls)


def _predict(texts: Sequence[str], max_calls: float, columns: Sequence[str] | None) -> tuple[NDArray[np.float64], Cost]:
    assert _score is not None, "the pool's initializer sets the local score"
    _score.columns.remember(columns)
    return _score.predict(texts, max_calls)

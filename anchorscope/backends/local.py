"""Measuring in this process, or in worker processes on this machine.

The same local score measures in either place, and a row depends on no other unit, so the number of workers changes
nothing but the time.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pickle import PicklingError, loads
from threading import Thread
from time import sleep
from typing import Any, TextIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import batches, brief
from anchorscope.asking.budget import check_workers
from anchorscope.asking.printed import HarmlessStream, show_uncaught_harmlessly, speak_harmlessly
from anchorscope.asking.process import called
from anchorscope.backends.shares import joined, shares
from anchorscope.errors import AnchorscopeError, InputError
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.types import Backend, Cost, Measurements, Unit

Begun: TypeAlias = list[Any]
"""Answers that are worked at, in the order of what was asked; the pool's own, a package without types."""


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
        given = (_Packed(score), os.getpid(), logging.root.manager.disable)
        self._pool: Any = ProcessPoolExecutor(
            workers, context=Context(), initializer=_start, initargs=given, env=environment
        )

    def measure(self, units: Sequence[Unit], max_calls: float = inf) -> tuple[Measurements, Cost]:
        """As the local score does, each worker its share of the units."""
        dealt = shares(self._score, units, self.n_workers, max_calls)
        columns = [self._score.columns.names] * len(dealt)
        answers = self._answers(_measure, [share.units for share in dealt], [share.allowed for share in dealt], columns)
        return joined(dealt, answers)

    def predict(self, texts: Sequence[str], max_calls: float = inf) -> tuple[NDArray[np.float64], Cost]:
        """What the model says of some texts (texts, labels), and what that took."""
        return _together(self._read(self._predicting(texts, max_calls)))

    def predict_each(self, parts: Sequence[Sequence[str]], ahead: int) -> Iterator[tuple[NDArray[np.float64], Cost]]:
        """The same of each part in turn; workers need not wait until an answer was read."""
        begun: deque[Begun] = deque()
        for part in parts:
            begun.append(self._predicting(part, inf))
            if len(begun) > ahead:
                yield _together(self._read(begun.popleft()))
        while begun:
            yield _together(self._read(begun.popleft()))

    def _predicting(self, texts: Sequence[str], max_calls: float) -> Begun:
        parts = list(batches(texts, max(1, -(-len(texts) // self.n_workers))))
        spare = (max_calls - len(texts)) / max(1, len(parts))
        columns = [self._score.columns.names] * len(parts)
        return self._begin(_predict, parts, [len(part) + spare for part in parts], columns)

    def map(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterator[Any]:
        """What a function of a module answers to each argument."""
        return self._read(self._begin(function, arguments))

    def _answers(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        return list(self._read(self._begin(function, *arguments)))

    def _begin(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> Begun:
        """Hand out some calls."""
        with _said():
            return [self._pool.submit(function, *some) for some in zip(*arguments, strict=True)]

    def _read(self, begun: Begun) -> Iterator[Any]:
        """The answers, as they are there."""
        for answer in begun:
            with _said():
                found = answer.result()
            yield found

    def close(self) -> None:
        """End the workers; one that the pool does not know would be waited for at the end of the process."""
        self._pool.shutdown(wait=True, kill_workers=True)
        for worker in self._started:
            if worker.is_alive():
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)
                worker.join()


def _together(answers: Iterable[tuple[NDArray[np.float64], Cost]]) -> tuple[NDArray[np.float64], Cost]:
    """The rows of all parts, and what they took."""
    rows, costs = zip(*answers)
    return np.concatenate(rows), sum(costs, Cost())


@contextmanager
def _said() -> Iterator[None]:
    """Turns what the pool says of a call that cannot be made, or of a worker that is gone, into one sentence."""
    try:
        yield
    except (PicklingError, TypeError, AttributeError) as error:
        if "pickle" not in str(error).lower() and not isinstance(error, PicklingError):
            raise
        raise _cannot_travel(error) from error
    except RuntimeError as error:  # loky: a worker died, or could not start
        raise AnchorscopeError(
            f"A worker process ended unexpectedly ({brief(error)}); "
            "the model may have ended it, or its memory ran out: try fewer --workers and go on with --resume."
        ) from error


def _cannot_travel(error: Exception) -> InputError:
    return InputError(
        f"The model or the perturbator cannot travel to worker processes ({brief(error)}); use --workers 1, or "
        "name a function of a module, which each worker imports."
    )


class _Packed:
    """A local score that is not unpacked on its way: to unpack a model is to run code of it, which may print."""

    def __init__(self, score: MeteredScore) -> None:
        self._score = score

    def __reduce__(self) -> tuple[Any, ...]:
        from loky.backend.reduction import dumps

        return bytes, (dumps(self._score),)


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
_fault: InputError | None = None


def _start(packed: bytes, parent: int, disabled: int) -> None:
    global _score, _fault
    _end_with(parent)
    with suppress(OSError, ValueError, AttributeError):  # closed streams take nothing
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a model prints here is no data either
        if sys.stdout.isatty():
            sys.stdout = cast(TextIO, HarmlessStream(sys.stdout))
    speak_harmlessly(disabled)
    show_uncaught_harmlessly()
    try:
        _score = called(lambda _: loads(packed), (), "the model")
    except Exception as error:
        _fault = InputError(
            f"A worker process cannot load the model ({brief(error)}); use --workers 1, or name a function of a "
            "module, which each worker imports."
        )


def _loaded(columns: Sequence[str] | None) -> MeteredScore:
    """The local score of this worker, which is told what the model calls its columns: the first worker to start knew
    of no answer yet."""
    if _fault is not None:
        raise _fault
    assert _score is not None, "the pool's initializer sets the local score"
    _score.columns.remember(columns)
    return _score


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
    return _loaded(columns).measure(units, max_calls)


def _predict(texts: Sequence[str], max_calls: float, columns: Sequence[str] | None) -> tuple[NDArray[np.float64], Cost]:
    return _loaded(columns).predict(texts, max_calls)

"""Judging in this process, or in worker processes on this machine.

The same engine judges in either place, and a verdict depends on no other unit, so the number of workers
changes nothing but the time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from anchorscope.errors import AnchorscopeError, InputError
from anchorscope.schedule import Engine
from anchorscope.types import Backend, Cost, Unit, Verdict


def local_backend(engine: Engine, workers: int) -> Backend:
    """This process for one worker, a pool of processes for more."""
    check_workers(workers)
    return InProcess(engine) if workers == 1 else Processes(engine, workers)


def check_workers(workers: int) -> None:
    """Refuse a number of workers that cannot be."""
    if not isinstance(workers, Integral) or workers < 1:
        raise InputError(f"The number of workers must be a whole number of at least 1, not {workers!r}.")


class InProcess:
    """The engine itself."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def judge(self, units: Sequence[Unit]) -> tuple[list[Verdict], Cost]:
        """The verdicts of all units, in the order of the units, and what they took."""
        return self._engine.judge(units)

    def close(self) -> None:
        """Nothing to let go."""


class Processes:
    """Worker processes, each with an engine of its own; a round is dealt out to all of them."""

    def __init__(self, engine: Engine, workers: int) -> None:
        from loky import ProcessPoolExecutor

        self._workers = workers
        threads = str(max(1, (os.cpu_count() or workers) // workers))
        environment = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        self._pool: Any = ProcessPoolExecutor(workers, initializer=_start, initargs=(engine,), env=environment)

    def judge(self, units: Sequence[Unit]) -> tuple[list[Verdict], Cost]:
        """The verdicts of all units, in the order of the units, and what they took."""
        size = max(1, -(-len(units) // self._workers))
        parts = [units[start : start + size] for start in range(0, len(units), size)]
        try:
            answers = list(self._pool.map(_judge, parts))
        except RuntimeError as error:  # loky: a worker died, or could not start
            raise AnchorscopeError(
                f"A worker process ended unexpectedly ({error}); "
                "it may have run out of memory: try fewer --workers and go on with --resume."
            ) from error
        return [verdict for verdicts, _ in answers for verdict in verdicts], sum((c for _, c in answers), Cost())

    def close(self) -> None:
        """End the workers."""
        self._pool.shutdown(wait=True, kill_workers=True)


_engine: Engine | None = None


def _start(engine: Engine) -> None:
    global _engine
    _engine = engine
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a model prints here is no data either


def _judge(units: Sequence[Unit]) -> tuple[list[Verdict], Cost]:
    assert _engine is not None, "the pool's initializer sets the engine"
    return _engine.judge(units)

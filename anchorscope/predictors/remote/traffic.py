"""Many requests in flight at once, and their answers in the order of the requests.

An event loop runs in a thread of its own, so that a connection lives from one call to the next, and a notebook's loop
is left alone. So many tasks take requests in turn. Where the server says that it is asked too much (429, or 503 with a
Retry-After), all of them wait for as long as it says; where it says so of most, fewer go on.

Each request is made once: what fails is an exception in its place, and asked for again by whoever wanted it. An error
that any request would meet (a wrong key) lets no other begin; what was answered until then is not lost.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread, current_thread
from typing import Any, TypeVar

from anchorscope.predictors.remote.refusals import RemoteFailure

Asked = TypeVar("Asked")

UNSAID_WAIT = 0.5
"""Seconds to wait after a 429 that does not say how long."""

LONGEST_WAIT = 60.0
"""A longer one is left to whoever asks again."""

THREAD = "anchorscope-http"

LOOK = 0.02
"""Seconds after which a task that has to wait its turn looks again."""


class Pace:
    """How many requests may be in flight, and from when on.

    Where most answers are a 429, half as many are sent from then on; where none is, a quarter more, up to ``most``.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._now = most
        self._from = 0.0
        self._n_well = 0
        self._n_refused = 0
        self._chances = random.Random()

    def wait(self, number: int) -> float:
        """The seconds that the task of this number has to wait before it looks again; 0 lets it send."""
        wait = self._from - asyncio.get_running_loop().time()
        if wait > 0:
            return wait * (1 + 0.1 * self._chances.random())
        return 0.0 if number < self._now else LOOK

    def went_well(self) -> None:
        """An answer came."""
        self._n_well += 1
        self._adapt()

    def asked_to_wait(self, seconds: float | None) -> None:
        """The server wants fewer requests."""
        self._n_refused += 1
        now = asyncio.get_running_loop().time()
        self._from = max(self._from, now + (UNSAID_WAIT if seconds is None else seconds))
        self._adapt()

    def _adapt(self) -> None:
        if self._n_well + self._n_refused < self._now:
            return
        if self._n_refused > self._n_well:
            self._now = max(1, self._now // 2)
        elif not self._n_refused:
            self._now = min(self._most, self._now + max(1, self._now // 4))
        self._n_well = 0
        self._n_refused = 0


class Traffic:
    """Sends requests through ``send``, at most ``concurrency`` at once."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._pace = Pace(concurrency)

    def __getstate__(self) -> int:
        return self._concurrency  # the pace belongs to a process

    def __setstate__(self, concurrency: int) -> None:
        self.__init__(concurrency)  # type: ignore[misc]

    def all_answers(self, requests: Sequence[Asked], send: Callable[[Asked, int], Awaitable[Any]]) -> list[Any]:
        """What ``send`` gives for each request, in their order; a RemoteFailure in place of what failed.

        It is called with a request and the number of the task, which has one request in flight at a time.
        """
        future: Future[list[Any]] = asyncio.run_coroutine_threadsafe(self._all(requests, send), running_loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()  # an interrupt: what is in flight is let go
            raise

    async def _all(self, requests: Sequence[Asked], send: Callable[[Asked, int], Awaitable[Any]]) -> list[Any]:
        answers: list[Any] = [None] * len(requests)
        due = deque(enumerate(requests))
        n_tasks = min(self._concurrency, len(requests))
        tasks = [asyncio.create_task(self._work(number, due, send, answers)) for number in range(n_tasks)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return _with_what_ended_it(answers)

    async def _work(
        self,
        number: int,
        due: deque[tuple[int, Asked]],
        send: Callable[[Asked, int], Awaitable[Any]],
        answers: list[Any],
    ) -> None:
        while due:
            if wait := self._pace.wait(number):
                await asyncio.sleep(wait)
                continue
            place, request = due.popleft()
            try:
                answers[place] = await send(request, number)
                self._pace.went_well()
            except RemoteFailure as failure:
                answers[place] = failure
                if failure.slow_down and (failure.retry_after or 0.0) <= LONGEST_WAIT:
                    self._pace.asked_to_wait(failure.retry_after)
                    failure.retry_after = None  # it is waited for here
            except Exception as error:
                answers[place] = error
                due.clear()  # what is in flight comes back, and is paid for


def _with_what_ended_it(answers: list[Any]) -> list[Any]:
    """The answers, with the error that ended all in place of those that were not asked for any more.

    Where there is no answer at all, it is raised.
    """
    for error in answers:
        if isinstance(error, Exception) and not isinstance(error, RemoteFailure):
            if all(answer is None or isinstance(answer, Exception) for answer in answers):
                raise error
            return [error if answer is None else answer for answer in answers]
    return answers


_lock = Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def running_loop() -> asyncio.AbstractEventLoop:
    """The event loop of this process for all traffic, in a thread of its own; a process that was forked has another."""
    with _lock:
        number = os.getpid()
        if number not in _loops:
            _loops[number] = asyncio.new_event_loop()
            Thread(target=_loops[number].run_forever, name=THREAD, daemon=True).start()
        return _loops[number]


def close_all(clients: Mapping[int, Any]) -> None:
    """Close connections that nobody will use again."""

    async def close() -> None:
        for client in [*clients.values()]:
            await client.aclose()

    closing = asyncio.run_coroutine_threadsafe(close(), running_loop())
    if current_thread().name != THREAD:  # the loop cannot wait for itself
        with suppress(Exception):
            closing.result(timeout=1.0)

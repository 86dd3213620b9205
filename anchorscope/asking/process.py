"""A model runs in our process, and may change it: what our own answers depend on is put back after every call.

    numpy's error handling   a model that says np.seterr(all="raise") would make our sums raise
    the current folder       a model that changes it would make relative paths mean something else
    the umask                a model that changes it would have strangers write to our files, or nobody read them
    the standard streams     a model that leaves nothing in their place would leave us without a voice
    the process itself       a model that forks and returns in the child would have the child write our files: the child
                             ends there, and what it had to say is lost with it

A call may be given a time limit: it is then made in a thread of its own, which is left behind when the time is up.

>>> with process_as_it_was("a model"):
...     _ = np.seterr(all="raise")
>>> np.geterr()["divide"] != "raise"
True
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX, Thread
from typing import Any

import numpy as np

from anchorscope.asking.answers import brief
from anchorscope.errors import ModelFailedError
from anchorscope.files import umask

log = logging.getLogger(__name__)

CHILD_STATUS = 70
"""The exit status of a process that a model forked and let go on as if it were ours."""


@contextmanager
def process_as_it_was(model: str) -> Iterator[None]:
    """Put back what a model may change of the process, and say which one did."""
    number = os.getpid()
    errors = np.geterr()
    folder = _current_folder()
    mask = umask()
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    try:
        yield
    finally:
        if os.getpid() != number:
            os._exit(CHILD_STATUS)
        if np.geterr() != errors:
            np.seterr(**errors)
            log.info("%s changed how numpy handles errors; that is put back.", model)
        if folder is not None and _current_folder() != folder:
            with suppress(OSError):
                os.chdir(folder)
            log.info("%s changed the current folder; that is put back.", model)
        if umask(mask) != mask:
            log.info("%s changed the umask; that is put back.", model)
        for name, stream in streams.items():
            if stream is not None and getattr(sys, name) is None:
                setattr(sys, name, stream)
                log.info("%s took away sys.%s; that is put back.", model, name)


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def called(ask: Callable[[Any], Any], texts: Sequence[str], model: str) -> Any:
    """What ``ask`` answers, with the process as it was before; a model that would end it has failed as any other.

    So has one that raises an exception which is none of Python's usual ones (a cancelled task, a class of its own):
    only an interrupt, which is the user's, goes through.
    """
    try:
        with process_as_it_was(model):
            return ask(texts)
    except (Exception, KeyboardInterrupt):
        raise
    except SystemExit as error:
        raise ModelFailedError(f"The model asked the process to end (SystemExit: {error}).") from error
    except BaseException as error:
        raise ModelFailedError(f"The model raised {brief(error)}.") from error


def called_within(seconds: float, ask: Callable[[list[str]], Any], texts: list[str], model: str) -> Any:
    """What ``ask`` answers, or what it raises; a TimeoutError if it does neither in time.

    With no end of time it is asked in this thread.
    """
    if seconds == inf:
        return called(ask, texts, model)
    said: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def call() -> None:
        try:
            said.put((called(ask, texts, model), None))
        except BaseException as error:
            said.put((None, error))

    Thread(target=call, name="anchorscope-model", daemon=True).start()
    try:
        answer, error = said.get(timeout=min(max(0.0, float(seconds)), TIMEOUT_MAX))
    except Empty:
        raise TimeoutError(f"no answer within {seconds:g} seconds") from None
    if error is not None:
        raise error
    return answer

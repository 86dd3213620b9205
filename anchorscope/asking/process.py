"""A model runs in our process, and may change it: what our own answers depend on is put back after every call.

    numpy's error handling   a model that says np.seterr(all="raise") would make our sums raise
    the current folder       a model that changes it would make relative paths mean something else
    the umask                a model that changes it would have strangers write to our files, or nobody read them
    the standard streams     a model that closes them, or puts others in their place, would leave us without a voice;
                             what we open next would get the number of a closed one, and messages would be written to it
    the path of modules      a model that takes folders away would leave us without what we load later
    Python's own names       a model that gives len or open another meaning would have our code mean something else
    limits of Python's       a lower recursion limit, warnings that are errors, an alarm: our code would fail
    what signals do          a model that takes or blocks them would have nobody end the run: Ctrl-C, kill, a terminal
                             that is closed
    hooks and rounding       how exceptions are shown, what is logged, the context of decimal numbers: ours would go
                             unsaid, or be rounded otherwise
    files that we have open  a model that closes them ends the run: a file of its own may have their numbers by now, and
                             what we write would go there
    the process itself       a model that forks and returns in the child would have the child write our files: the child
                             ends there, and what it had to say is lost with it

A call may be given a time limit: it is then made in a thread of its own, which is left behind when the time is up.

>>> with process_as_it_was("a model"):
...     _ = np.seterr(all="raise")
>>> np.geterr()["divide"] != "raise"
True
"""

from __future__ import annotations

import builtins
import decimal
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX, Thread
from typing import Any

import numpy as np

from anchorscope.asking.answers import brief
from anchorscope.errors import ModelError, ModelFailedError
from anchorscope.files import umask

log = logging.getLogger(__name__)

OWN_NAMES = vars(builtins)
"""What Python's own names mean. They are put back first, by none of them; a model may add to them."""

CHILD_STATUS = 70
"""The exit status of a process that a model forked and let go on as if it were ours."""


@contextmanager
def process_as_it_was(model: str) -> Iterator[None]:
    """Put back what a model may change of the process, and say which one did."""
    with _streams_as_they_were(model), _state_as_it_was(model):
        yield


@contextmanager
def _state_as_it_was(model: str) -> Iterator[None]:
    """Put back all but the streams; the child of a fork ends here."""
    number = os.getpid()
    names = OWN_NAMES.copy()
    before = [look() for _, look, _ in KEPT]
    try:
        yield
    finally:
        if os.getpid() != number:
            os._exit(CHILD_STATUS)
        if [name for name, meaning in names.items() if OWN_NAMES.get(name) is not meaning]:
            OWN_NAMES.update(names)
            log.info("%s changed what Python's own names mean; that is put back.", model)
        for (what, _, put_back), value in zip(KEPT, before):
            if put_back(value):
                log.info("%s changed %s; that is put back.", model, what)


@contextmanager
def _streams_as_they_were(model: str) -> Iterator[None]:
    """Put back the standard streams, and open again what was closed of their files; an error where more was closed.

    The copies from which they are opened again are files that a model knows nothing of, and stand for all of ours.
    """
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    copies = {number: copy for number in range(3) if (copy := _copy_of(number)) is not None}
    files = {copy: _file(copy) for copy in copies.values()}
    try:
        yield
    finally:
        kept = {number: copy for number, copy in copies.items() if _file(copy) == files[copy]}
        for number, copy in kept.items():
            if _file(number) is None:
                os.dup2(copy, number)
            os.close(copy)
        for name, stream in streams.items():
            if getattr(sys, name) is not stream:
                setattr(sys, name, stream)
                log.info("%s changed sys.%s; that is put back.", model, name)
        if len(kept) < len(copies):
            raise ModelError(
                f"{model} closed files of this process that are not its own (os.closerange?); have it close what it "
                "opened, or serve it from a process of its own, behind HTTP."
            )


def _copy_of(number: int) -> int | None:
    try:
        return os.dup(number)
    except OSError:  # closed, or there are no more to be had
        return None


def _file(number: int) -> tuple[int, int] | None:
    """Which file has a number; None if it is closed."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _put_back_errors(before: Any) -> bool:
    if np.geterr() == before:
        return False
    np.seterr(**before)
    return True


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def _put_back_folder(before: str | None) -> bool:
    if before is None or _current_folder() == before:
        return False
    with suppress(OSError):
        os.chdir(before)
    return True


def _put_back_umask(before: int) -> bool:
    return umask(before) != before


def _put_back_path(before: list[str]) -> bool:
    """What a model adds it may need; what it takes away is put behind that."""
    if not isinstance(sys.path, list):
        sys.path = []
    lost = [folder for folder in before if folder not in sys.path]
    sys.path += lost
    return bool(lost)


def _put_back_recursion_limit(before: int) -> bool:
    """A higher one does no harm."""
    if sys.getrecursionlimit() >= before:
        return False
    sys.setrecursionlimit(before)
    return True


def _put_back_warnings(before: list[Any]) -> bool:
    """Filters that a model, or what it loads, has added stay, unless they make errors of warnings."""
    now = list(warnings.filters)
    kept = [one for one in now if one[0] != "error" or one in before]
    if len(kept) == len(now):
        return False
    warnings.resetwarnings()  # it also makes Python forget what it has decided by them
    warnings.filters[:] = kept  # type: ignore[index]  # a list, which typeshed calls a sequence
    return True


def _seconds_to_alarm() -> float:
    return signal.getitimer(signal.ITIMER_REAL)[0] if hasattr(signal, "getitimer") else 0.0


def _put_back_alarm(before: float) -> bool:
    """One that was set before goes on."""
    if before or not _seconds_to_alarm():
        return False
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    return True


ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))
"""The signals by which a run is ended."""


def _signals() -> tuple[list[Any], set[int]]:
    """What is done about each of them, and which of them are blocked."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, []) if hasattr(signal, "pthread_sigmask") else set()
    return [signal.getsignal(number) for number in ENDING], {*ENDING} & blocked


def _put_back_signals(before: tuple[list[Any], set[int]]) -> bool:
    """Only the main thread can say what is done about one; each thread has its own that are blocked."""
    now = _signals()
    if now == before:
        return False
    if newly_blocked := now[1] - before[1]:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, newly_blocked)
    if threading.current_thread() is threading.main_thread():
        for number, handler in zip(ENDING, before[0]):
            if handler is not None:  # nobody in Python has set it, so that it cannot be set again
                signal.signal(number, handler)
    return True


def _hooks() -> tuple[Any, ...]:
    return sys.excepthook, sys.unraisablehook, threading.excepthook


def _put_back_hooks(before: tuple[Any, ...]) -> bool:
    if _hooks() == before:
        return False
    sys.excepthook, sys.unraisablehook, threading.excepthook = before
    return True


def _put_back_log(before: int) -> bool:
    if logging.root.manager.disable == before:
        return False
    logging.disable(before)
    return True


def _decimals() -> decimal.Context:
    """The context, without what has happened in it."""
    context = decimal.getcontext().copy()
    context.clear_flags()
    return context


def _put_back_decimals(before: decimal.Context) -> bool:
    if repr(_decimals()) == repr(before):
        return False
    decimal.setcontext(before)
    return True


KEPT: tuple[tuple[str, Callable[[], Any], Callable[[Any], bool]], ...] = (
    ("what is logged", lambda: logging.root.manager.disable, _put_back_log),
    ("what signals do", _signals, _put_back_signals),
    ("the alarm", _seconds_to_alarm, _put_back_alarm),
    ("the recursion limit", sys.getrecursionlimit, _put_back_recursion_limit),
    ("how numpy handles errors", np.geterr, _put_back_errors),
    ("the current folder", _current_folder, _put_back_folder),
    ("the umask", umask, _put_back_umask),
    ("the path of modules", lambda: list(sys.path), _put_back_path),
    ("warnings into errors", lambda: list(warnings.filters), _put_back_warnings),
    ("how exceptions are shown", _hooks, _put_back_hooks),
    ("how decimal numbers are rounded", _decimals, _put_back_decimals),
)
"""What is kept: its name, how it is looked at, and what puts it back and says whether it had to."""


def called(ask: Callable[[Any], Any], texts: Sequence[str], model: str) -> Any:
    """What ``ask`` answers, with the process as it was before; a model that would end it has failed as any other.

    So has one that raises an exception which is none of Python's usual ones (a cancelled task, a class of its own):
    only an interrupt, which is the user's, goes through.
    """
    with _streams_as_they_were(model):
        return _called(ask, texts, model)


def _called(ask: Callable[[Any], Any], texts: Sequence[str], model: str) -> Any:
    """The same, but for the streams."""
    try:
        with _state_as_it_was(model):
            return ask(texts)
    except (Exception, KeyboardInterrupt):
        raise
    except SystemExit as error:
        raise ModelFailedError(f"The model asked the process to end (SystemExit: {error}).") from error
    except BaseException as error:
        raise ModelFailedError(f"The model raised {brief(error)}.") from error


def called_within(seconds: float, ask: Callable[[list[str]], Any], texts: list[str], model: str) -> Any:
    """What ``ask`` answers, or what it raises; a TimeoutError if it does neither in time.

    With no end of time it is asked in this thread. The streams are put back by who waits: a call that is left behind
    does not know which ones there are when it ends.
    """
    if seconds == inf:
        return called(ask, texts, model)
    said: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def call() -> None:
        try:
            said.put((_called(ask, texts, model), None))
        except BaseException as error:
            said.put((None, error))

    with _streams_as_they_were(model):
        Thread(target=call, name="anchorscope-model", daemon=True).start()
        try:
            answer, error = said.get(timeout=min(max(0.0, float(seconds)), TIMEOUT_MAX))
        except Empty:
            raise TimeoutError(f"no answer within {seconds:g} seconds") from None
    if error is not None:
        raise error
    return answer

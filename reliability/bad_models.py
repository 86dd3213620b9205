"""Models that cannot be explained, as the command line names them: ``--model reliability.bad_models:no_axis``."""

from __future__ import annotations

import asyncio
import atexit
import builtins
import decimal
import logging
import os
import signal
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from typing import Any

import numpy as np

from reliability.models import keywords


class OwnError(BaseException):
    """An exception that is none of Python's usual ones."""


class Estimator:
    """A classifier whose labels are what they are."""

    def __init__(self, labels: Any, **more: Any) -> None:
        self.classes_ = labels
        self.more = more

    def predict_proba(self, texts: list[str]) -> Any:
        """Probabilities (texts, labels)."""
        return np.array(keywords(texts))


class Turning:
    """Answers a table whose columns, which are numbers, change their order from call to call."""

    def __init__(self) -> None:
        self.n_calls = 0

    def __call__(self, texts: list[str]) -> Any:
        """A table of probabilities."""
        import pandas

        self.n_calls += 1
        table = pandas.DataFrame(keywords(texts), columns=[0, 1])
        return table if self.n_calls % 2 else table[[1, 0]]


class TurningRows:
    """Answers rows with names, whose order changes from call to call."""

    def __init__(self, row: Callable[..., Any]) -> None:
        self.row = row
        self.n_calls = 0

    def __call__(self, texts: list[str]) -> Any:
        """A row with names for each text."""
        self.n_calls += 1
        names = ["neg", "pos"] if self.n_calls % 2 else ["pos", "neg"]
        return [self.row({name: {"neg": n, "pos": p}[name] for name in names}) for n, p in keywords(texts)]


def series(values: dict[str, float]) -> Any:
    """A row as pandas has it."""
    import pandas

    return pandas.Series(values)


def named_tuple(values: dict[str, float]) -> Any:
    """A row as a named tuple."""
    return namedtuple("Row", [*values])(**values)


def masked_rows(texts: list[str]) -> Any:
    """An array a text, in each of which a value is masked."""
    return [np.ma.masked_array(row, mask=[True, False]) for row in keywords(texts)]


def answering(answer: Callable[[int], Any]) -> Callable[[list[str]], Any]:
    """A model that says the same of any n texts."""
    return lambda texts: answer(len(texts))


def raising(error: BaseException) -> Callable[[list[str]], Any]:
    """A model that fails."""

    def fail(texts: list[str]) -> Any:
        raise error

    return fail


def columns_reversed(texts: list[str]) -> Any:
    """A table whose columns are called like the labels, in another order."""
    import pandas

    return pandas.DataFrame(keywords(texts), columns=["no", "yes"])[["yes", "no"]]


def numbered_reversed(texts: list[str]) -> Any:
    """A table whose columns have numbers, in another order from its first answer on."""
    import pandas

    return pandas.DataFrame(keywords(texts))[[1, 0]]


def exits(texts: list[str]) -> Any:
    """A model that ends the process, or tries to."""
    sys.exit(0)


def forks_and_exits(texts: list[str]) -> Any:
    """A model that forks, ends the child and gives no answer."""
    if os.fork() == 0:
        sys.exit(0)


class EndsWhenRead:
    """An answer that ends the process when it is made an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        sys.exit(0)


class Mute(Exception):
    """An exception that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError


class RaisingLabels(Estimator):
    """A classifier whose labels cannot be asked for."""

    def __init__(self) -> None:
        super().__init__(None)

    def __getattribute__(self, name: str) -> Any:
        return 1 / 0 if name == "classes_" else super().__getattribute__(name)


class ToldNoNumber:
    """A function that says it took many tokens."""

    n_tokens = "many"

    def __call__(self, texts: list[str]) -> Any:
        """Probabilities (texts, labels)."""
        return keywords(texts)


class FewerThanNone:
    """A predictor that wants fewer than no texts at once."""

    name = fingerprint = "fewer"
    labels = ("no", "yes")
    has_probabilities = True
    at_once = -5

    def predict(self, texts: list[str]) -> Any:
        """Probabilities (texts, labels)."""
        return np.array(keywords(texts))


class OddlyProbed(FewerThanNone):
    """A predictor that says it took a word to find its labels."""

    at_once = 5
    n_probed = "many"


def closes_streams(texts: list[str]) -> Any:
    """A model that closes what we speak with, and then answers logits."""
    sys.__stderr__.detach()  # type: ignore[union-attr]
    os.closerange(0, 3)
    sys.path.clear()
    return [[3.0, -2.0]] * len(texts)


def closes_files(texts: list[str]) -> Any:
    """A model that closes every file of the process."""
    os.closerange(3, 512)
    return keywords(texts)


def renames_the_world(texts: list[str]) -> Any:
    """A model that gives Python's own names another meaning, and then answers logits."""
    vars(builtins).update(len=lambda _: 0, open=None, isinstance=None, sorted=None, str=None)
    return [[3.0, -2.0]] * texts.__len__()


def takes_over(texts: list[str]) -> Any:
    """A model that takes the signals, the hooks, the log and the rounding of the process, and then answers logits."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(ValueError):  # a thread may not
            signal.signal(number, signal.SIG_IGN)
    sys.excepthook = sys.unraisablehook = threading.excepthook = None  # type: ignore[assignment]
    logging.disable(logging.CRITICAL)
    decimal.getcontext().prec = 1
    return [[3.0, -2.0]] * len(texts)


def takes_leave(texts: list[str]) -> Any:
    """A model that has much to do when the process ends, and then answers logits."""
    atexit.register(time.sleep, 3600)
    return [[3.0, -2.0]] * len(texts)


def leaves_a_thread(texts: list[str]) -> Any:
    """A model that starts a thread without end, and then answers logits."""
    Thread(target=time.sleep, args=(3600,)).start()
    return [[3.0, -2.0]] * len(texts)


class LongFarewell(Estimator):
    """A classifier that says a page when it is packed for the way to a worker."""

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle this:\n\n" + "a paragraph of reasons\n" * 100)


class ReadsFiles(Estimator):
    """A classifier that opens the file which a text names."""

    input = "filename"

    def build_analyzer(self) -> Any:
        """As vectorisers have it."""


no_axis = answering(lambda n: np.array(0.5))
one_axis = answering(lambda n: np.full(n, 0.5))
three_axes = answering(lambda n: np.zeros((n, 2, 1)))
masked = answering(lambda n: np.ma.masked_array(np.full((n, 2), 0.5), mask=np.eye(n, 2, dtype=bool)))
nothing = answering(lambda n: None)
not_numbers = answering(lambda n: np.full((n, 2), np.nan))
logits = answering(lambda n: [[3.0, -2.0]] * n)
strings = answering(lambda n: [["0.5", "0.5"]] * n)
complex_numbers = answering(lambda n: np.full((n, 2), 0.5j))
one_row_less = answering(lambda n: [[0.5, 0.5]] * (n - 1))
three_columns = answering(lambda n: [[0.2, 0.3, 0.5]] * n)
ragged = answering(lambda n: [[0.5, 0.5]] * (n - 1) + [[1.0]])
other_names = answering(lambda n: ["neither"] * n)
cancelled = raising(asyncio.CancelledError())
own_error = raising(OwnError("mine"))
generator_exit = raising(GeneratorExit())
ends_when_read = answering(lambda n: EndsWhenRead())
long_winded = raising(ValueError("x" * 10_000_000))
mute = raising(Mute())
told_no_number = ToldNoNumber()
raising_labels = RaisingLabels()
fewer_than_none = FewerThanNone()
oddly_probed = OddlyProbed()
long_farewell = LongFarewell(["bad", "good"])
turning = Turning()
turning_series = TurningRows(series)
turning_tuples = TurningRows(named_tuple)
half_a_character = Estimator(["good\ud800", "bad"])
reads_files = ReadsFiles(["bad", "good"])
one_label = Estimator(["good"])
same_labels = Estimator(["good", "good"])
cannot_travel = Estimator(["bad", "good"], lock=Lock())
a_class = Estimator
a_number = 7


def hangs(texts: list[str]) -> None:
    """It does not answer in time."""
    time.sleep(60)

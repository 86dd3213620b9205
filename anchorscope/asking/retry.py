"""A model that fails is tried again: what is retried, with which backoff, and who is at fault in the end.

A retrying predictor stands around another one and answers as it does. A call that raises is made again, after 0.1, 0.2,
0.4 … seconds, and later where the error says so itself (``retry_after``, or a response's Retry-After). Errors that
Python raises for a mistake in code (TypeError, KeyError …) get a second try only; most say the same again.

A batch that does not fit into memory is halved, and so are all after it. A batch that keeps failing is halved as well,
down to the text at fault, which the error then names; where every text fails, it says so of the model instead. A bad
answer (NaN, a row too few) is never asked for again nor repaired: a model that gives one cannot be trusted with the
next.

With a ``timeout``, a call is made in a thread of its own. Python cannot end it: a call that takes too long is left
behind, and goes on using what it uses until it returns or the process ends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import Columns, answered, brief, shortened
from anchorscope.asking.budget import Meter
from anchorscope.asking.process import process_as_it_was
from anchorscope.errors import InputError, ModelError, ModelFailedError
from anchorscope.types import BeginningPredictor, LimitedPredictor, Predictor, Spelled

log = logging.getLogger(__name__)

TRIES = 8
"""At 20% failing calls, one batch in 400,000 fails so often in a row."""

MISTAKES = (
    *(TypeError, ValueError, AttributeError, NameError, UnboundLocalError, KeyError, IndexError),
    *(ZeroDivisionError, AssertionError, NotImplementedError, ImportError, ModuleNotFoundError, RecursionError),
    SystemExit,
)
"""What Python itself raises for a mistake in code; classes derived from these may be anything else."""

MISTAKE_TRIES = 2

LONGEST_ASKED = 600.0
"""A model that asks to be left alone for longer than this is not waited for."""

SPOKEN_OF = 5.0
"""Waits of so many seconds are told."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a call is tried in all, what is waited in between, and after how long a call has failed."""

    tries: int = TRIES
    first_wait: float = 0.1
    longest_wait: float = 30.0
    timeout: float | None = None
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise InputError(f"A call is tried at least once, not {self.tries} times.")
        if self.timeout is not None and not self.timeout > 0:
            raise InputError(f"A timeout is above 0 seconds, not {self.timeout:g}.")

    def tries_after(self, error: BaseException | None) -> int:
        """How often a call is tried that fails so."""
        return min(self.tries, MISTAKE_TRIES) if type(error) in MISTAKES else self.tries

    def wait(self, attempt: int, error: BaseException | None) -> float:
        """The seconds between failure number ``attempt`` and the next try."""
        backoff = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        return max(backoff, asked_wait(error))


class RetryingPredictor:
    """A predictor around another: the same name, labels and answers, tried again where it fails."""

    def __init__(self, predictor: Predictor, retry: Retry) -> None:
        self.predictor = predictor
        self._retry = retry
        self.name = predictor.name
        self.labels = tuple(predictor.labels)
        self.fingerprint = predictor.fingerprint
        self.has_probabilities = predictor.has_probabilities
        self._at_once: int | None = None
        self.n_retries = 0
        self.meter = Meter()
        self._columns = Columns()
        if isinstance(predictor, BeginningPredictor) and retry.timeout is None:
            self.begin = partial(self._begin, predictor)

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels); in pieces, once a batch was too large for the memory."""
        rows = [np.empty((0, len(self.labels)))]
        start = 0
        while start < len(texts):
            some = list(texts[start : start + (self._at_once or len(texts))])
            try:
                rows.append(self._answer(some))
            except _TooLargeError:
                self._at_once = len(some) // 2
                log.info("%s ran out of memory on %d texts; on with %d at once", self.name, len(some), self._at_once)
            else:
                start += len(some)
        self.has_probabilities = self.predictor.has_probabilities  # some know after their first answer
        return np.concatenate(rows)

    def visible(self, texts: Sequence[str]) -> NDArray[np.int64] | None:
        """Where what the model reads of each text begins and ends, in characters, (texts, 2); None if it says nothing.

        What a model says of itself is not asked again if it fails.
        """
        if not isinstance(self.predictor, LimitedPredictor) or not callable(self.predictor.visible):
            return None
        try:
            told = _called(self.predictor.visible, texts, self.name)
        except Exception as error:
            raise ModelFailedError(f"{self.name} cannot say how much of a text it reads ({brief(error)}).") from error
        if told is None:
            return None
        found = np.asarray(told)
        if found.shape != (len(texts), 2) or found.dtype.kind not in "iu":
            raise ModelError(
                f"{self.name} must say of each text where what it reads begins and ends: whole numbers of shape "
                f"({len(texts)}, 2), not {found.dtype} of shape {found.shape}."
            )
        return found.astype(np.int64)

    def _begin(self, predictor: BeginningPredictor, texts: Spelled) -> Callable[[], NDArray[np.float64]]:
        """Begin to answer; a beginning that fails counts for nothing, and the texts are asked about as others are.

        So are more texts than the memory holds.
        """
        if self._at_once is not None and len(texts) > self._at_once:
            return lambda: self.predict(texts)
        self.meter.pass_on(len(texts))
        try:
            begun = _called(predictor.begin, texts, self.name)
        except Exception:
            return lambda: self.predict(texts)

        def answer() -> NDArray[np.float64]:
            try:
                return self._ask(texts, lambda _: _called(lambda _: begun(), texts, self.name))
            except ModelFailedError:
                return self.predict(texts)
            except ModelError as error:
                return self._divide(list(texts), error, 1)

        return answer

    def _answer(self, texts: list[str]) -> NDArray[np.float64]:
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._ask(texts, self._call)
            except ModelError as error:
                cause = error.__cause__
                if is_out_of_memory(cause) and len(texts) > 1:
                    raise _TooLargeError from error
                if not isinstance(error, ModelFailedError) or attempt >= self._retry.tries_after(cause):
                    return self._divide(texts, error, attempt)
                self._pause(attempt, error)

    def _pause(self, attempt: int, error: ModelError) -> None:
        wait = self._retry.wait(attempt, error.__cause__)
        if wait > LONGEST_ASKED:
            raise ModelFailedError(
                f"The model asks to be left alone for {wait:.0f} seconds ({brief(error.__cause__ or error)}); "
                "go on with --resume when it is back."
            ) from error.__cause__
        log.log(
            logging.WARNING if wait >= SPOKEN_OF else logging.INFO,
            "%s failed (%s); try %d of %d in %.1f seconds",
            *(self.name, brief(error.__cause__ or error), attempt + 1, self._retry.tries, wait),
        )
        self.n_retries += 1
        self._retry.sleep(wait)

    def _ask(self, texts: Sequence[str], call: Callable[[Any], Any]) -> NDArray[np.float64]:
        """One call, checked."""
        if tuple(self.predictor.labels) != self.labels:
            raise ModelError(
                f"The model's labels were {', '.join(self.labels)} and are now {', '.join(self.predictor.labels)}: "
                "its earlier answers mean something else; start afresh with a model that does not change."
            )
        return answered(call, texts, self.labels, self._columns)

    def _call(self, texts: list[str]) -> Any:
        self.meter.pass_on(len(texts))
        if self._retry.timeout is None:
            return _called(self.predictor.predict, texts, self.name)
        return _within(self._retry.timeout, self.predictor.predict, texts, self.name)

    def _divide(self, texts: list[str], error: ModelError, attempts: int) -> NDArray[np.float64]:
        """The answers of the halves of a batch that fails; or an error that names the text at fault."""
        if error.text is not None or not error.somewhere:
            raise error
        if len(texts) == 1:
            raise _named(error, texts[0]) from error.__cause__
        if not isinstance(error, ModelFailedError):
            raise self._culprit(texts) or error  # and if each half is right, what is wrong with the whole is wrong
        try:
            return self._in_halves(texts)
        except ModelError as found:
            # A control: a model that fails on any text has no text to blame.
            other = texts[0] if found.text == texts[-1] else texts[-1]
            if found.text is not None and self._answers(other):
                raise
        tried = f", tried {attempts} times" if attempts > 1 else ""
        raise ModelFailedError(f"{str(error).removesuffix('.')}{tried}.") from error.__cause__

    def _in_halves(self, texts: list[str]) -> NDArray[np.float64]:
        rows = []
        for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
            try:
                rows.append(self._ask_twice(half))
            except ModelFailedError as error:
                if error.text is not None:
                    raise
                rows.append(self._in_halves(half))
        return np.concatenate(rows)

    def _culprit(self, texts: list[str]) -> ModelError | None:
        """The bad answer about a single text, if one can be found by halving."""
        while len(texts) > 1:
            for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
                try:
                    self._ask_twice(half)
                except ModelError as error:
                    if error.text is not None:
                        return error
                    texts = half
                    break
            else:
                return None
        return None

    def _ask_twice(self, texts: list[str]) -> NDArray[np.float64]:
        """Two tries, without a wait; of a single text the error names it."""
        try:
            try:
                return self._ask(texts, self._call)
            except ModelFailedError:
                return self._ask(texts, self._call)
        except ModelError as error:
            raise (_named(error, texts[0]) if len(texts) == 1 else error) from error.__cause__

    def _answers(self, text: str) -> bool:
        try:
            self._ask_twice([text])
        except ModelError:
            return False
        return True


def asked_wait(error: BaseException | None) -> float:
    """The seconds that an error asks to wait for: its ``retry_after``, or the Retry-After of its response.

    >>> error = ConnectionError("slow down")
    >>> error.retry_after = 3
    >>> asked_wait(error), asked_wait(ValueError())
    (3.0, 0.0)
    """
    asked = getattr(error, "retry_after", None)
    for holder in (error, getattr(error, "response", None)):
        headers = getattr(holder, "headers", None)
        if asked is None and hasattr(headers, "get"):
            asked = headers.get("retry-after") or headers.get("Retry-After")  # type: ignore[union-attr]
    try:
        seconds = float(asked)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # missing, or a date
        return 0.0
    return seconds if seconds > 0 else 0.0


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether a smaller batch may help: Python's, torch's or any library's way to say that memory is short.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"))
    (True, True)
    """
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "out of memory" in str(error).lower()
    )


class _TooLargeError(Exception):
    """A batch does not fit into memory."""


def _named(error: ModelError, text: str) -> ModelError:
    if isinstance(error, ModelFailedError):
        cause = error.__cause__ or error
        return ModelFailedError(
            f"The model fails on the text {shortened(text)}: {brief(cause)}; ask the model about this text alone.",
            text=text,
        )
    return ModelError(f"{str(error).removesuffix('.')}; the text is {shortened(text)}.", text=text)


def _called(ask: Callable[[Any], Any], texts: Sequence[str], model: str) -> Any:
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


def _within(seconds: float, ask: Callable[[list[str]], Any], texts: list[str], model: str) -> Any:
    """What ``ask`` answers, or what it raises; a TimeoutError if it does neither in time."""
    said: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def call() -> None:
        try:
            said.put((_called(ask, texts, model), None))
        except BaseException as error:
            said.put((None, error))

    Thread(target=call, name="anchorscope-model", daemon=True).start()
    try:
        answer, error = said.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"no answer within {seconds:g} seconds") from None
    if error is not None:
        raise error
    return answer

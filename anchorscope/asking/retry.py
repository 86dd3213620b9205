"""A model that fails is tried again: what is retried, with which backoff, and who is at fault in the end.

A retrying predictor stands around another one and answers as it does. A call that raises is made again, after 0.1, 0.2,
0.4 … seconds, and later where the error says so itself (``retry_after``, or a response's Retry-After). Errors that
Python raises for a mistake in code (TypeError, KeyError …) get a second try only; most say the same again.

A batch that does not fit into memory, or is too large for a server (413), is halved, and so are all after it. One that
fails three times is asked for in halves, and calls stay smaller for a while (``batch_size.py``): what was answered is
kept, and what failed is asked again. A predictor that says itself which texts failed (``SomeFailedError``) is asked
about these alone. After as many failures in a row as there are tries, halving goes on down to the text at fault, which
the error then names; where every text fails, it says so of the model instead. A bad answer (NaN, a row too few) is
never asked for again nor repaired: a model that gives one cannot be trusted with the next.

With a ``timeout``, a call is made in a thread of its own. Python cannot end it: a call that takes too long is left
behind, and goes on using what it uses until it returns or the process ends.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answered, brief, said_by, shortened
from anchorscope.asking.batch_size import BatchSize
from anchorscope.asking.budget import MOST_TOKENS, Meter, tokens_of
from anchorscope.asking.columns import Columns
from anchorscope.asking.kept_answers import KeptAnswers
from anchorscope.asking.process import called, called_within
from anchorscope.errors import InputError, ModelError, ModelFailedError, SomeFailedError, in_a_line, listed
from anchorscope.types import (
    BeginningPredictor,
    Differentiable,
    DifferentiablePredictor,
    LimitedPredictor,
    Predictor,
    Spelled,
)

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

FAILURES_TO_HALVE = 3
"""After so many failures in a row, calls get smaller. At 20% failing calls, one in 125 fails so often by chance."""

LONGEST_ASKED = 600.0
"""A model that asks to be left alone for longer than this is not waited for."""

SPOKEN_OF = 5.0
"""Waits of so many seconds are told."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a call is tried in all, what is waited in between, and after how long a call has failed.

    Waits are longer by a random share of up to ``jitter``, so that many who were refused do not all come back at once.
    """

    tries: int = TRIES
    first_wait: float = 0.1
    longest_wait: float = 30.0
    jitter: float = 0.25
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
        return max(backoff, asked_wait(error)) * (1 + self.jitter * _CHANCES.random())

    def checked_wait(self, attempt: int, error: BaseException, then: str) -> float:
        """The same; a model that asks for too much is not waited for. ``then`` is what to do when it is back."""
        asked = asked_wait(error)
        if asked > LONGEST_ASKED:
            raise ModelFailedError(
                f"The model asks to be left alone for {asked:.0f} seconds ({brief(error)}); {then} when it is back."
            ) from error
        return self.wait(attempt, error)


_CHANCES = random.Random()
"""Of the waits alone: no result depends on it."""


class RetryingPredictor:
    """A predictor around another: the same name, labels and answers, tried again where it fails."""

    def __init__(
        self, predictor: Predictor, retry: Retry, *, batch_size: int | None = None, kept: KeptAnswers | None = None
    ) -> None:
        if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
            raise InputError(f"batch_size must be a whole number of at least 1, or None, not {batch_size!r}.")
        self.predictor = predictor
        self._retry = retry
        self.name = predictor.name
        self.labels = tuple(predictor.labels)
        self.fingerprint = predictor.fingerprint
        self.has_probabilities = predictor.has_probabilities
        self._size = BatchSize(batch_size or _told_at_once(predictor))
        self.heard_names: tuple[str, ...] | None = getattr(predictor, "heard_names", None)  # what it calls its labels
        self.n_probed = int(_told_number(predictor, "n_probed", Integral))  # texts that it took to find the labels
        self.n_probed_tokens = int(_told_number(predictor, "n_probed_tokens", Integral))
        self.probed_seconds = float(_told_number(predictor, "probed_seconds", Real))
        self.n_retries = 0
        self.meter = Meter()
        self.kept = kept
        self.columns = _told_columns(predictor)
        if isinstance(predictor, BeginningPredictor) and retry.timeout is None:
            self.begin = partial(self._begin, predictor)
        if isinstance(predictor, DifferentiablePredictor):
            self.differentiable = partial(self._differentiable, predictor)

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels); in pieces, where one call does not take all texts."""
        rows = np.empty((len(texts), len(self.labels)))
        due = self._due(texts, rows)
        n_failed = 0  # calls in a row in which nothing was answered
        while len(due):
            some = due[: self._size.now(len(due))]
            found, n_failed = self._try([texts[number] for number in some.tolist()], n_failed)
            rows[some[found.places]] = found.rows
            due = np.concatenate([np.delete(some, found.places), due[len(some) :]])
        self._learn_kind()
        return rows

    def _due(self, texts: Sequence[str], rows: NDArray[np.float64]) -> NDArray[np.intp]:
        """The texts whose answers are not kept, by their places; the rows of the others are put into theirs."""
        found = self.kept.find(texts) if self.kept else {}
        self._compare_columns()
        self.meter.find(len(found))
        for place, row in found.items():
            rows[place] = row
        return np.array([place for place in range(len(texts)) if place not in found], np.intp)

    def _learn_kind(self) -> None:
        """Some know after their first answer whether they give probabilities; kept answers know it from then."""
        self.has_probabilities = self.predictor.has_probabilities
        if self.kept and self.kept.has_probabilities is not None:
            self.has_probabilities = self.kept.has_probabilities

    def _keep(self, texts: Sequence[str], rows: NDArray[np.float64]) -> None:
        if self.kept:
            self.kept.keep(texts, rows, self.predictor.has_probabilities, self.columns.names)
            self._compare_columns()

    def _compare_columns(self) -> None:
        """Answers that are kept, from another run perhaps, must have the columns of those that are given now."""
        if self.kept:
            self.columns.remember(self.kept.columns, "in answers that are kept; --no-cache asks anew")

    def _try(self, texts: list[str], n_failed: int) -> tuple[_Found, int]:
        """One call: what it answers, if anything, and how many in a row have answered nothing by now."""
        try:
            rows = self._ask(texts, self._call)
        except ModelError as error:
            return self._failed(texts, error, n_failed)
        self._size.went_well(len(texts))
        return _Found(range(len(texts)), rows), 0

    def _failed(self, texts: list[str], error: ModelError, n_failed: int) -> tuple[_Found, int]:
        """What is still found where a call fails: some rows, after a wait; or those of its halves in the end."""
        cause = error.__cause__
        if is_too_large(cause) and len(texts) > 1:
            now = self._size.too_large(len(texts))
            log.info("%s cannot take %d texts at once; on with %d", self.name, len(texts), now)
            return self._nothing(), n_failed
        found = self._answered_in_part(texts, error)
        if len(found.places):
            self._size.went_well(len(texts))
            n_failed = 1
        else:
            n_failed += 1
        if not isinstance(error, ModelFailedError) or n_failed >= self._retry.tries_after(cause):
            rows = self._divide(texts, error, n_failed)
            return _Found(range(len(texts)), rows), 0
        self._pause(n_failed, error)
        if n_failed % FAILURES_TO_HALVE == 0 and len(texts) > 1:  # one text has no half
            self._size.failed(len(texts))
        return found, n_failed

    def _answered_in_part(self, texts: list[str], error: ModelError) -> _Found:
        if not isinstance(error, SomeFailedError) or len(error.failed) >= len(texts):
            return self._nothing()
        places = sorted({*range(len(texts))} - {*error.failed})
        self._keep([texts[place] for place in places], error.rows)
        return _Found(places, error.rows)

    def _nothing(self) -> _Found:
        return _Found([], np.empty((0, len(self.labels))))

    def visible(self, texts: Sequence[str]) -> NDArray[np.int64] | None:
        """Where what the model reads of each text begins and ends, in characters, (texts, 2); None if it says nothing.

        What a model says of itself is not asked again if it fails.
        """
        if not isinstance(self.predictor, LimitedPredictor) or not callable(self.predictor.visible):
            return None
        try:
            told = called(self.predictor.visible, texts, self.name)
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
        if not self._size.holds(len(texts)) or (self.kept and self.kept.is_used):
            return lambda: self.predict(texts)
        self.meter.pass_on(len(texts))
        try:
            begun = called(predictor.begin, texts, self.name)
        except Exception:
            return lambda: self.predict(texts)

        def answer() -> NDArray[np.float64]:
            try:
                return self._ask(texts, lambda _: called(lambda _: begun(), texts, self.name))
            except ModelFailedError:
                return self.predict(texts)
            except ModelError as error:
                return self._divide(list(texts), error, 1)

        return answer

    def _differentiable(self, predictor: DifferentiablePredictor, texts: Sequence[str], passes: int) -> Differentiable:
        """What gradients are taken of: its passes are counted before they are made, and not made again."""
        self.meter.pass_on(passes * len(texts))
        return predictor.differentiable(texts, passes)

    def _pause(self, attempt: int, error: ModelError) -> None:
        wait = self._retry.checked_wait(attempt, error.__cause__ or error, "go on with --resume")
        self.meter.check_time(wait)
        log.log(
            logging.WARNING if wait >= SPOKEN_OF else logging.INFO,
            "%s failed (%s); try %d of %d in %.1f seconds",
            *(self.name, brief(error.__cause__ or error), attempt + 1, self._retry.tries, wait),
        )
        self.n_retries += 1
        self._retry.sleep(wait)

    def _ask(self, texts: Sequence[str], call: Callable[[Any], Any]) -> NDArray[np.float64]:
        """One call, checked."""
        labels = _told_labels(self.predictor)
        if labels != self.labels:
            raise ModelError(
                f"The model's labels were {listed(self.labels)} and are now {listed(labels)}: "
                "its earlier answers mean something else; start afresh with a model that does not change."
            )
        start = time.perf_counter()
        try:
            rows = answered(call, texts, self.labels, self.columns)
        finally:
            self.meter.tokens = tokens_of(self.predictor)
        if self.kept:
            self.kept.timed(len(texts), time.perf_counter() - start)
            self._keep(texts, rows)
        return rows

    def _call(self, texts: list[str]) -> Any:
        self.meter.pass_on(len(texts))
        seconds = min(self._retry.timeout or inf, self.meter.seconds_to_cut())
        try:
            return called_within(seconds, self.predictor.predict, texts, self.name)
        except TimeoutError:
            self.meter.check_time()
            raise

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
        told = f"{str(error).removesuffix('.')}{tried}; ask the model about this text alone, and mend what fails."
        raise ModelFailedError(told) from error.__cause__

    def _in_halves(self, texts: list[str]) -> NDArray[np.float64]:
        rows = []
        for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
            try:
                rows.append(self._ask_again(half))
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
                    self._ask_again(half)
                except ModelError as error:
                    if error.text is not None:
                        return error
                    texts = half
                    break
            else:
                return None
        return None

    def _ask_again(self, texts: list[str]) -> NDArray[np.float64]:
        """Two tries, without a wait; a single text gets as many as there are, as it is blamed in the end."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._ask(texts, self._call)
            except ModelError as error:
                tries = 2 if len(texts) > 1 else max(2, self._retry.tries_after(error.__cause__))
                if not isinstance(error, ModelFailedError) or attempt >= tries:
                    raise (_named(error, texts[0]) if len(texts) == 1 else error) from error.__cause__

    def _answers(self, text: str) -> bool:
        try:
            self._ask_again([text])
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
    try:
        seconds = float(_asked_for(error))
    except OverflowError:
        return inf
    except Exception:  # missing, or a date; or what it is read from is of somebody else's class, and raises
        return 0.0
    return seconds if seconds > 0 else 0.0


def _asked_for(error: BaseException | None) -> Any:
    """What an error, or its response, says of waiting; None if nothing."""
    asked = _told(error, "retry_after")
    for holder in (error, _told(error, "response")):
        headers = _told(holder, "headers")
        if asked is None and hasattr(headers, "get"):
            asked = headers.get("retry-after") or headers.get("Retry-After")
    return asked


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether a smaller batch may help: Python's, torch's or any library's way to say that memory is short.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"))
    (True, True)
    """
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (error is not None and "out of memory" in said_by(error).lower())
    )


def is_too_large(error: BaseException | None) -> bool:
    """Whether a call held too much at once: for the memory, or for a server, which says so with the status 413.

    >>> error = ConnectionError("413 Payload Too Large")
    >>> error.code = 413
    >>> is_too_large(error)
    True
    """
    sources = (error, _told(error, "response"))
    statuses = [_told(source, name) for source in sources for name in ("code", "status", "status_code")]
    return any(isinstance(status, int) and status == 413 for status in statuses) or is_out_of_memory(error)


def _told(source: Any, name: str) -> Any:
    """An attribute of an error or its response, whose classes are somebody else's; None where it cannot be had."""
    try:
        return getattr(source, name, None)
    except Exception:
        return None


def _told_at_once(predictor: Predictor) -> int | None:
    """How many texts a predictor is best asked about together, if it says so."""
    told = getattr(predictor, "at_once", None)
    if told is None:
        return None
    if not isinstance(told, Integral) or told < 1:
        raise InputError(
            f"The at_once of {predictor.name} is how many texts it is asked about together: a whole number of at least "
            f"1, or None, not {in_a_line(told)}."
        )
    return int(told)


def _told_columns(predictor: Predictor) -> Columns:
    """Where a predictor keeps what its model calls the columns; others' answers are looked at here."""
    told = getattr(predictor, "columns", None)
    return told if isinstance(told, Columns) else Columns(predictor.labels)


def _told_number(predictor: Predictor, name: str, kind: type) -> Any:
    """What a predictor says that it took to find its labels; 0 where it says nothing."""
    told = getattr(predictor, name, 0)
    if not isinstance(told, kind) or not 0 <= told <= MOST_TOKENS:  # type: ignore[operator]  # it is a number by then
        raise InputError(
            f"The {name} of {predictor.name} is what it took to find the labels, not {in_a_line(told)}; make it a "
            f"{'whole number' if kind is Integral else 'number'} of at least 0, or leave it out."
        )
    return told


def _told_labels(predictor: Predictor) -> tuple[str, ...]:
    """The labels that a predictor has now."""
    try:
        return tuple(predictor.labels)
    except Exception as error:
        raise ModelError(f"The model cannot say any more what its labels are ({brief(error)}).") from error


@dataclass(frozen=True, slots=True)
class _Found:
    """Some rows, and the places of their texts in what was asked."""

    places: Sequence[int]
    rows: NDArray[np.float64]


def _named(error: ModelError, text: str) -> ModelError:
    if isinstance(error, ModelFailedError):
        cause = error.__cause__ or error
        return ModelFailedError(
            f"The model fails on the text {shortened(text)}: {brief(cause)}; ask the model about this text alone.",
            text=text,
        )
    return ModelError(f"{str(error).removesuffix('.')}; the text is {shortened(text)}.", text=text)

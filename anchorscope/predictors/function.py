"""A plain function as a predictor: the most general black box.

It takes a list of texts and answers with one row of probabilities a text, or with one label name a text:

>>> shouts = FunctionPredictor(lambda texts: [[0, 1] if text.isupper() else [1, 0] for text in texts], ["calm", "loud"])
>>> shouts.predict(["good", "GOOD"])
array([[1., 0.],
       [0., 1.]])

Which of the two it is shows with its first answer, so ``has_probabilities`` can be relied on from then on: the
function is not called only to find out.

>>> named = FunctionPredictor(lambda texts: ["loud" if text.isupper() else "calm" for text in texts], ["calm", "loud"])
>>> named.predict(["GOOD"]), named.has_probabilities
(array([[0., 1.]]), False)

Where its rows name their labels (``named_rows.py``) they need not be given: they are asked for with two texts.

>>> FunctionPredictor(lambda texts: [{"calm": 0.75, "loud": 0.25} for text in texts], None).labels
('calm', 'loud')

Where it answers label names, these are learnt from its answers about some of the documents that are to be explained
(``learn_from``), in the order of the alphabet. A name that turns up later is an error that says so: the columns of a
run do not change while it goes.

>>> heard = FunctionPredictor(named.function, None, learn_from=["good", "GOOD", "fine"])
>>> heard.labels, heard.n_probed
(('calm', 'loud'), 5)

Pairs of texts (``text/pairs.py``) come as tuples of two strings. Where a function asks a service text by text, it can
put the exception of a text in place of its row: only such texts are asked about again.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answered, batches, brief, one_hot
from anchorscope.asking.budget import tokens_of
from anchorscope.asking.columns import Columns
from anchorscope.asking.process import called_within
from anchorscope.asking.repeated import Repeated
from anchorscope.asking.retry import Retry
from anchorscope.errors import AnchorscopeError, InputError, ModelError, ModelFileError, SomeFailedError
from anchorscope.predictors.fingerprints import of_object
from anchorscope.predictors.heads import chosen_head
from anchorscope.predictors.labels import chosen_labels, joined_names
from anchorscope.predictors.named_rows import are_named, in_columns, labels_named
from anchorscope.text.pairs import as_read, is_pair
from anchorscope.types import HeardLabels

log = logging.getLogger(__name__)

PROBE = ("A first text.", "Another text, to see what comes back.")
"""What a function is asked about whose labels are not given, where there are no documents."""

LEARNT_FROM = 256
"""Documents, at most, from whose answers label names are learnt: a name that one text in 50 gets is missed by one
function in 170."""

AT_ONCE = 32
"""Of these, so many a call."""

GIVE_LABELS = (
    "give the labels in the order of its columns: labels=['negative', 'positive'], or --labels negative,positive"
)

MANY_NAMES = 20
"""Of more names not all are told."""


class FunctionPredictor:
    """A function ``list[str] -> (texts, labels)``, or ``list[str] -> label names``; ``labels`` in column order.

    With a ``head`` it is asked about this label alone (``heads.py``). ``n_probed`` texts were asked about to find the
    labels, those of ``learn_from`` where it answers names, which took ``probed_seconds``, of ``max_seconds`` at most;
    what was ``heard`` before is not asked again. ``heard_names`` are all that it names, of which a head is one.
    ``at_once`` texts are best asked about together.
    """

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        labels: Sequence[str] | None,
        *,
        name: str | None = None,
        fingerprint: str | None = None,
        at_once: int | None = None,
        learn_from: Sequence[str] = (),
        retry: Retry | None = None,
        max_seconds: float = inf,
        heard: HeardLabels | None = None,
        head: str | None = None,
    ) -> None:
        self.function = function
        self.at_once = at_once
        self.is_remote = bool(getattr(function, "is_remote", False))
        self.is_fully_fingerprinted = self.is_remote
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        start = monotonic()
        if labels is not None:
            found = _Labels(None, 0)
        elif heard is not None:
            found = _Labels(heard.names, 0)
        else:
            found = _own_labels(_Probe(function, self.name, retry or Retry(), max_seconds), learn_from)
        self.n_probed = found.n_probed
        self.n_probed_tokens = self.n_tokens
        self.probed_seconds = monotonic() - start if found.n_probed else 0.0
        has_learnt = found.n_probed > len(PROBE)
        answers_names = has_learnt or (heard is not None and heard.has_probabilities is False)
        self.has_learnt_names = has_learnt or (labels is None and heard is not None)
        names = chosen_labels(found.names, labels, self.name)
        self._head = None if head is None else chosen_head(names, head, self.name)
        self._names = names
        self.labels = self._head.labels if self._head else names
        self.heard_names = names if labels is None else None
        self.has_probabilities = not answers_names
        self._has_answered = answers_names
        self.columns = Columns(names)
        self.fingerprint = fingerprint or of_object(function)
        self._repeated = Repeated(self.name, self.labels)
        self._remember(found)

    def _remember(self, found: _Labels) -> None:
        """The answers that named the labels are compared with those about the same documents in a run."""
        if not found.texts:
            return
        with suppress(AnchorscopeError):  # a bad answer is spoken of when it is one of the run's
            texts = list(found.texts)
            rows = answered(lambda some: self._read(found.answer, some), texts, self.labels, self.columns)
            self._repeated.see(found.texts, rows)

    @property
    def n_tokens(self) -> int:
        """The tokens that a server has told so far; 0 of what tells none."""
        return tokens_of(self.function)

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels)."""
        rows = answered(self._rows, texts, self.labels, self.columns)
        self._repeated.see(texts, rows)
        return rows

    def _rows(self, texts: list[str]) -> Any:
        answer = _plain(self.function(_read_by(self.function, texts)))
        failed = _failed(answer, texts)
        if failed:
            raise self._in_part(answer, texts, failed) from answer[failed[0]]
        return self._read(answer, texts)

    def _in_part(self, answer: Sequence[Any], texts: list[str], failed: list[int]) -> SomeFailedError:
        """The error that says which texts failed, and carries the rows of the others."""
        well = [number for number in range(len(texts)) if number not in {*failed}]
        asked = [texts[number] for number in well]
        answers = [answer[number] for number in well]
        rows = answered(lambda some: self._read(answers, some), asked, self.labels, self.columns)
        told = f"The model failed on {len(failed)} of {len(texts)} texts: {brief(answer[failed[0]])}"
        return SomeFailedError(f"{told}.", failed, rows)

    def _read(self, answer: Any, texts: list[str]) -> Any:
        are_names = _are_names(answer)
        if self._has_answered and are_names == self.has_probabilities:
            kinds = ("probabilities", "label names") if are_names else ("label names", "probabilities")
            raise ModelError(f"The model answered {kinds[0]} before and {kinds[1]} now; give the same kind every time.")
        self._has_answered = True
        self.has_probabilities = not are_names
        if are_names:
            rows: Any = one_hot(answer, texts, self._names)
        elif are_named(answer) and len(answer) == len(texts):
            rows = in_columns(answer, texts, self._names)
        else:
            rows = answer
        return rows if self._head is None else self._head.rows(rows, texts, self.columns)


@dataclass(frozen=True, slots=True)
class _Labels:
    """What a function calls its labels, if it names them, how many texts it took to find out, and what it said of the
    first of these."""

    names: tuple[str, ...] | None
    n_probed: int
    texts: tuple[str, ...] = ()
    answer: Any = None


def _own_labels(probe: _Probe, learn_from: Sequence[str]) -> _Labels:
    """The labels that the function's answers name, if they do."""
    try:
        first = _first_texts(learn_from)
        answer = probe(first)
        if _are_names(answer):
            heard = _learnt(probe, answer, _spread(learn_from))
            return _Labels(heard, probe.n_sent, first, answer)
    except AnchorscopeError as error:
        raise InputError(str(error)) from error
    except Exception as error:
        raise ModelFileError(
            f"The labels of {probe.name} are not known, and it fails when asked about a list of two texts "
            f"({brief(error)}); make it answer with a row for each, or {GIVE_LABELS}."
        ) from error
    names = labels_named(answer)
    return _Labels(names, probe.n_sent, () if names is None else first, answer)


def _first_texts(learn_from: Sequence[str]) -> tuple[str, ...]:
    """The texts that a function is asked about first: one that is none of the documents, as some answers are about
    those alone; and a document, whose answer is compared with the one that the run gets. Of pairs, two documents.

    >>> _first_texts(["so good", "so bad"])
    ('A first text.', 'so good')
    """
    if any(map(is_pair, learn_from)):
        return tuple(learn_from[:2])
    return (PROBE[0], learn_from[0]) if learn_from else PROBE


def _learnt(probe: _Probe, first: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    """The names that a function gives to two texts and to others."""
    heard = {*first}
    for some in batches(texts, AT_ONCE):
        answer = probe(some)
        heard.update(answer if _are_names(answer) else ())
    named = ", ".join(sorted(heard)[:MANY_NAMES]) + " …" * (len(heard) > MANY_NAMES)
    if len(heard) < 2:
        raise InputError(
            f"{probe.name} answers label names, and {len(first) + len(texts)} texts show one of them ({named}); give "
            f"all: labels=[{named!r}, 'OTHER'], or --labels {shlex.quote(joined_names([*heard, 'OTHER']))}."
        )
    log.warning("The labels of %s are those of its answers about %d documents: %s.", probe.name, len(texts), named)
    return tuple(sorted(heard))


def _spread(texts: Sequence[str]) -> list[str]:
    """So many texts, from all over the collection: files are often sorted by label.

    >>> _spread(["a", "b"]), len(_spread(["a"] * 1000))
    (['a', 'b'], 256)
    """
    n = min(len(texts), LEARNT_FROM)
    return [texts[number * len(texts) // n] for number in range(n)]


class _Probe:
    """A function that is asked before its labels are known. What it fails on, as services do, is tried again, and
    nothing else is; ``n_sent`` texts were sent in all. When ``max_seconds`` are over it is not waited for any more."""

    def __init__(self, function: Callable[[list[str]], Any], name: str, retry: Retry, max_seconds: float) -> None:
        self._function = function
        self.name = name
        self._retry = retry
        self._max_seconds = max_seconds
        self._end = monotonic() + max_seconds
        self.n_sent = 0

    def __call__(self, texts: Sequence[str]) -> Any:
        """What it answers about some texts."""
        retry = self._retry
        answer = self._sent(texts)
        attempt = 0
        while failed := _failed(answer, texts):
            attempt += 1
            if attempt >= retry.tries:
                raise answer[failed[0]]
            wait = retry.checked_wait(attempt, answer[failed[0]], "ask again")
            self._check_time(wait)
            retry.sleep(wait)
            again = self._sent([texts[number] for number in failed])
            answer = list(answer)
            for number, row in zip(failed, again, strict=True):
                answer[number] = row
        return answer

    def _sent(self, texts: Sequence[str]) -> Any:
        self._check_time()
        self.n_sent += len(texts)
        seconds = min(self._retry.timeout or inf, self._end - monotonic())
        try:
            return _plain(called_within(seconds, self._function, _read_by(self._function, texts), self.name))
        except TimeoutError:
            self._check_time()
            raise

    def _check_time(self, wait: float = 0.0) -> None:
        """Refuse to ask after a wait of so many seconds, if the time is up by then."""
        if monotonic() + wait >= self._end:
            raise InputError(
                f"--max-seconds {self._max_seconds:g} ends before {self.name} has answered the texts that show its "
                f"labels; allow more seconds, or {GIVE_LABELS}."
            )


def _read_by(function: Callable[[Any], Any], texts: Sequence[str]) -> list[Any]:
    """What a function gets: texts, or the two sides of each pair; one that asks a server writes them itself."""
    return list(texts) if getattr(function, "is_remote", False) else list(as_read(texts))


def _plain(answer: Any) -> Any:
    """An answer; of one column of a table, as pandas has them, its values."""
    is_column = getattr(answer, "ndim", None) == 1 and callable(getattr(answer, "to_numpy", None))
    return answer.to_numpy() if is_column else answer


def _failed(answer: Any, texts: Sequence[str]) -> list[int]:
    """The texts for which an exception stands in place of a row."""
    if not isinstance(answer, list | tuple) or len(answer) != len(texts):
        return []
    return [number for number, row in enumerate(answer) if isinstance(row, Exception)]


def _are_names(answer: Any) -> bool:
    return (
        isinstance(answer, list | tuple | np.ndarray)
        and getattr(answer, "shape", None) != ()
        and len(answer) > 0
        and all(isinstance(name, str) for name in answer)
    )

"""What a model says of the documents, piece by piece, within a budget of calls and of seconds.

The first piece is two documents: a model that answers something else than probabilities is found out by them. Pieces
are handed on as they come, so that whoever asked can write them down before the next.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import ceil, inf, isfinite
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import about, answers_in_batches
from anchorscope.asking.budget import Budget, CallsSpentError, TimeUpError, tokens_of
from anchorscope.asking.retry import RetryingPredictor
from anchorscope.errors import ModelError
from anchorscope.types import Backend, Cost, Document, SharingBackend

AT_ONCE = 2048
"""The predictions of so many documents are one piece, at most: of a slow model it is heard before long."""

IN_TIME = 256
"""So many at most, where time is limited: what was asked when it is up is lost."""

PROBE = 2
"""Documents that the model is asked about before all others."""

PREDICTIONS_SHARE = 0.4
"""Where the calls do not suffice for predicting all documents and testing words, this share of them predicts."""

FIRST = 64
"""Documents of the piece after these, for each worker."""

FEWEST_SHARED = 64
"""Documents for each worker from which on predicting is shared among them."""

ANSWERS_AHEAD = 1 << 18
"""Probabilities, about, that helpers are asked for before what they have answered was read."""

Rows = NDArray[np.float64]

OnPredicted: TypeAlias = Callable[[int, int], None]
"""What is told of predicting: so many documents of so many."""


class Predicting:
    """Asks about documents; ``spent`` is what that took, beginning with what was spent before.

    ``so_far`` says how long the run has taken; ``is_kept``, whether what is known is written down. ``on_predicted`` is
    called with the number of documents that are known, and that of all, as answers come.
    """

    def __init__(
        self,
        predictor: RetryingPredictor,
        backend: Backend,
        budget: Budget,
        *,
        spent: Cost,
        so_far: Callable[[], Cost],
        is_kept: bool,
        on_predicted: OnPredicted = lambda n, n_documents: None,
    ) -> None:
        self.spent = spent
        self._predictor = predictor
        self._helpers = backend if isinstance(backend, SharingBackend) else None
        self._budget = budget
        self._so_far = so_far
        self._is_kept = is_kept
        self._on_predicted = on_predicted

    def pieces(self, documents: Sequence[Document], start: int) -> Iterator[tuple[int, int, Rows]]:
        """Where each piece begins and ends, from ``start`` on, and the rows of the model (documents, labels)."""
        n_workers = self._helpers.n_workers if self._helpers else 1
        ends = edges(start, len(documents), n_workers, in_time=isfinite(self._budget.max_seconds))
        n_here = 0
        while n_here < len(ends) - 1 and not self._may_be_ahead(ends[n_here + 1] - ends[n_here]):
            n_here += 1
        for begin, end in pairwise(ends[: n_here + 1]):
            self._on_predicted(begin, len(documents))
            try:
                with self._heard_from(begin, end, len(documents)):
                    rows = self._rows(documents[begin:end], is_probe=begin == start)
            except TimeUpError as error:
                raise self._too_late(begin, len(documents)) from error
            except CallsSpentError as error:
                raise CallsSpentError(
                    f"--max-model-calls {self._budget.max_model_calls:g} ends before the model has said what it "
                    f"predicts for the {len(documents)} documents: allow more calls, or explain a share of them with "
                    "--sample-documents."
                ) from error
            yield begin, end, rows
            self._on_predicted(end, len(documents))
        yield from self._ahead(documents, ends[n_here:])

    def _may_be_ahead(self, n: int) -> bool:
        """Whether helpers are asked about a piece of so many documents, and about the next before it is answered: where
        neither calls nor seconds can run out."""
        limited = isfinite(self._budget.max_model_calls) or isfinite(self._budget.max_seconds)
        return self._helpers is not None and not limited and n >= self._helpers.n_workers * FEWEST_SHARED

    def _ahead(self, documents: Sequence[Document], ends: list[int]) -> Iterator[tuple[int, int, Rows]]:
        """The pieces that are left, of which helpers have more than one at a time."""
        if len(ends) < 2 or self._helpers is None:
            return
        parts = [[document.text for document in documents[begin:end]] for begin, end in pairwise(ends)]
        ahead = max(1, ANSWERS_AHEAD // (max(map(len, parts)) * len(self._predictor.labels)))
        answers = self._helpers.predict_each(parts, ahead)
        for begin, end in pairwise(ends):
            self._on_predicted(begin, len(documents))
            with self._named(documents[begin:end]):
                rows, cost = next(answers)
            self._add(cost)
            yield begin, end, rows
            self._on_predicted(end, len(documents))

    @contextmanager
    def _named(self, documents: Sequence[Document]) -> Iterator[None]:
        """Where the model is at fault, the error names the document."""
        try:
            yield
        except ModelError as error:
            keys = [document.key for document in documents if document.text == error.text]
            raise about(error, f"document {keys[0]}") if keys else error from error.__cause__

    @contextmanager
    def _heard_from(self, begin: int, end: int, n_documents: int) -> Iterator[None]:
        """Where a piece takes several calls of the model, each says how far it has come; what is tried again is no
        step back."""
        meter = self._predictor.meter
        before = meter.answers

        def heard() -> None:
            self._on_predicted(min(end, begin + meter.answers - before), n_documents)

        meter.before_each = heard
        try:
            yield
        finally:
            meter.before_each = None

    def _rows(self, documents: Sequence[Document], *, is_probe: bool) -> Rows:
        """The answers about some documents."""
        left = max(0.0, self._budget.max_model_calls - self.spent.answers)
        seconds = self._budget.seconds_left(self._so_far())
        texts = [document.text for document in documents]
        with self._named(documents):
            if self._helpers and len(texts) >= self._helpers.n_workers * FEWEST_SHARED:
                return self._shared(self._helpers, texts, left, seconds)
            return self._here(texts, left, seconds, is_probe=is_probe)

    def _shared(self, helpers: SharingBackend, texts: list[str], left: float, seconds: float) -> Rows:
        if seconds <= 0:  # what workers have begun is not cut off
            raise TimeUpError
        rows, cost = helpers.predict(texts, left)
        self._add(cost)
        return rows

    def _add(self, cost: Cost) -> None:
        self.spent += Cost(
            predictor_texts=cost.predictor_texts,
            predictor_tokens=cost.predictor_tokens,
            kept_answers=cost.kept_answers,
        )

    def _here(self, texts: list[str], left: float, seconds: float, *, is_probe: bool) -> Rows:
        meter = self._predictor.meter
        before = meter.sent
        found = meter.found
        tokens = meter.tokens = tokens_of(self._predictor.predictor)
        meter.allow(left)
        # A model that hangs shows it with the first texts, and nothing is lost with their answers.
        meter.end_in(seconds, cuts=is_probe)
        try:
            return answers_in_batches(self._predictor, texts, AT_ONCE)
        finally:
            meter.end_in(inf)
            self.spent += Cost(
                predictor_texts=meter.sent - before,
                predictor_tokens=meter.tokens - tokens,
                kept_answers=meter.found - found,
            )

    def _too_late(self, n_known: int, n_documents: int) -> TimeUpError:
        if n_known == 0:
            return TimeUpError(
                f"--max-seconds {self._budget.max_seconds:g} ends before the model has answered about the first of the "
                f"{n_documents} documents: allow more seconds, or ask the model by itself whether it answers."
            )
        kept = "; --resume goes on from there" if self._is_kept else " (with --out, --resume goes on from there)"
        return TimeUpError(
            f"--max-seconds {self._budget.max_seconds:g} ends when the model has said what it predicts for {n_known} "
            f"of the {n_documents} documents{kept}: allow more seconds, or explain a share of them with "
            "--sample-documents."
        )


def n_affordable(n_documents: int, max_calls: float) -> int:
    """How many of the documents are predicted, where documents may be drawn.

    >>> n_affordable(120, 10), n_affordable(120, 1000)
    (4, 120)
    """
    if n_documents <= max_calls * PREDICTIONS_SHARE:
        return n_documents
    return min(n_documents, max(PROBE, int(max_calls * PREDICTIONS_SHARE)))


def least_calls(n_documents: int, n_others: float, *, draws: bool) -> int:
    """The least number of calls that leaves so many others when documents are predicted; all of them are, unless a
    strategy ``draws`` as many as it has calls for.

    >>> least_calls(120, 48, draws=True), least_calls(120, 48, draws=False)
    (79, 168)
    """
    wanted = ceil(n_others)
    if not draws:
        return n_documents + wanted
    # What is left never falls when there are more calls: the first number at which it is enough.
    return bisect_left(range(n_documents + wanted), wanted, key=lambda calls: calls - n_affordable(n_documents, calls))


def edges(start: int, end: int, n_workers: int, *, in_time: bool) -> list[int]:
    """Where pieces begin and end. Each is four times as large as the one before, so that a slow model is soon heard of;
    where time is limited, half as large again, so that little of what was asked is lost when it is up.

    >>> edges(0, 5000, 1, in_time=False), edges(0, 20, 1, in_time=True)
    ([0, 2, 66, 322, 1346, 3394, 5000], [0, 2, 5, 9, 15, 20])
    """
    growth, most = (1.5, IN_TIME * n_workers) if in_time else (4.0, AT_ONCE * n_workers)
    found = [start]
    size = float(PROBE)
    while found[-1] < end:
        found.append(min(end, found[-1] + int(size)))
        is_probe = found[-1] == start + PROBE and not in_time
        size = min(FIRST * n_workers if is_probe else growth * size, most)
    return found

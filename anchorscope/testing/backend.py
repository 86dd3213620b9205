"""What every backend promises. What makes one takes a local score that keeps to a number of calls, and the number of
workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from time import sleep

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import AnchorscopeError
from anchorscope.local_scores.banzhaf import BanzhafScore
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.local_scores.occlusion import OcclusionScore
from anchorscope.testing import work
from anchorscope.types import Backend, Measurements, Predictor

SECONDS_A_CALL = 0.01

Make = Callable[[MeteredScore, int | None], Backend]


class WaitingPredictor(work.CountingPredictor):
    """The same model behind a slow line."""

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, 2), after a while."""
        sleep(SECONDS_A_CALL)
        return super().predict(texts)


def measures_what_the_local_score_measures(make: Make) -> None:
    """The same rows in the same order, and the same cost, whatever the number of workers; None leaves it open."""
    expected, cost = _samples().measure(work.units())
    for workers in (1, 2, None):
        with closing(make(_samples(), workers)) as backend:
            found, spent = backend.measure(work.units())
        _assert_same(found, expected)
        assert spent.predictor_texts == cost.predictor_texts


def counts_each_call_once(make: Make) -> None:
    """Where workers are busy at the same time, too: the model takes a while to answer."""
    expected, cost = _samples().measure(work.units())
    with closing(make(_samples(WaitingPredictor()), 2)) as backend:
        found, spent = backend.measure(work.units())
    _assert_same(found, expected)
    assert spent.predictor_texts == cost.predictor_texts, "a local score is asked by one worker at a time: copy it"


def keeps_to_a_number_of_calls(make: Make) -> None:
    """What comes back are the first rows, and no more texts were asked about than were allowed: where each occurrence
    takes calls of its own, a unit ends where they do."""
    units = work.units(grain="term", empty=False)
    whole, cost = _removals().measure(units)
    with closing(make(_removals(), 1)) as backend:
        for allowed in (0, 1, len(units[0]), cost.predictor_texts // 2, cost.predictor_texts - 1, 10 * len(whole)):
            found, spent = backend.measure(units, allowed)
            assert spent.predictor_texts <= allowed
            _assert_same(found, whole[: len(found)])
    assert len(found) == len(whole), "with calls enough, something is missing"


def refuses_a_number_of_workers_that_cannot_be(make: Make) -> None:
    """In a sentence, before any work."""
    for workers in (0, -1):
        try:
            make(_samples(), workers).close()
        except AnchorscopeError as error:
            assert str(workers) in str(error)
        else:
            raise AssertionError(f"{workers} workers are not refused")


def _samples(model: Predictor | None = None) -> MeteredScore:
    asked = RetryingPredictor(model or work.CountingPredictor(), Retry())
    return MeteredScore(BanzhafScore(asked, work.perturbator(), work.settings()), asked)


def _removals() -> MeteredScore:
    asked = RetryingPredictor(work.CountingPredictor(), Retry())
    return MeteredScore(OcclusionScore(asked, None, work.settings()), asked)


def _assert_same(found: Measurements, expected: Measurements) -> None:
    for name in expected.__slots__:
        assert np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=True), name


CHECKS = (
    measures_what_the_local_score_measures,
    counts_each_call_once,
    keeps_to_a_number_of_calls,
    refuses_a_number_of_workers_that_cannot_be,
)

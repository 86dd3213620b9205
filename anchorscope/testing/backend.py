"""What every backend promises. What makes one takes a local score that keeps to a number of calls, and the number of
workers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import AnchorscopeError
from anchorscope.local_scores.banzhaf import BanzhafScore
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.local_scores.occlusion import OcclusionScore
from anchorscope.testing import work
from anchorscope.types import Backend, Measurements

Make = Callable[[MeteredScore, int | None], Backend]


def measures_what_the_local_score_measures(make: Make) -> None:
    """The same rows in the same order, and the same cost, whatever the number of workers; None leaves it open."""
    expected, cost = _samples().measure(work.units())
    for workers in (1, 2, None):
        with closing(make(_samples(), workers)) as backend:
            found, spent = backend.measure(work.units())
        _assert_same(found, expected)
        assert spent.predictor_texts == cost.predictor_texts


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


def _samples() -> MeteredScore:
    asked = RetryingPredictor(work.CountingPredictor(), Retry())
    return MeteredScore(BanzhafScore(asked, work.perturbator(), work.settings()), asked)


def _removals() -> MeteredScore:
    asked = RetryingPredictor(work.CountingPredictor(), Retry())
    return MeteredScore(OcclusionScore(asked, None, work.settings()), asked)


def _assert_same(found: Measurements, expected: Measurements) -> None:
    for name in expected.__slots__:
        assert np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=True), name


CHECKS = (
    measures_what_the_local_score_measures,
    keeps_to_a_number_of_calls,
    refuses_a_number_of_workers_that_cannot_be,
)

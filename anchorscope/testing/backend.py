"""What every backend promises. What makes one takes a local score and the number of workers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from anchorscope.errors import AnchorscopeError
from anchorscope.local_scores.banzhaf import BanzhafScore
from anchorscope.testing import work
from anchorscope.types import Backend, LocalScore

Make = Callable[[LocalScore, int], Backend]


def measures_what_the_local_score_measures(make: Make) -> None:
    """The same rows in the same order, and the same cost, whatever the number of workers."""
    score = BanzhafScore(work.CountingPredictor(), work.perturbator(), work.settings())
    expected, cost = score.measure(work.units())
    for workers in (1, 2):
        with closing(make(score, workers)) as backend:
            found, spent = backend.measure(work.units())
        for name in expected.__slots__:
            assert np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=True), name
        assert spent.predictor_texts == cost.predictor_texts


def refuses_a_number_of_workers_that_cannot_be(make: Make) -> None:
    """In a sentence, before any work."""
    score = BanzhafScore(work.CountingPredictor(), work.perturbator(), work.settings())
    for workers in (0, -1):
        try:
            make(score, workers).close()
        except AnchorscopeError as error:
            assert str(workers) in str(error)
        else:
            raise AssertionError(f"{workers} workers are not refused")


CHECKS = (measures_what_the_local_score_measures, refuses_a_number_of_workers_that_cannot_be)

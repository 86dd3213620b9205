"""Budgets of measuring: as many units as can be afforded, to the last call."""

from __future__ import annotations

import pytest

from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.local_scores.metered import MeteredScore, affordable
from anchorscope.local_scores.occlusion import OcclusionScore
from anchorscope.settings import Settings
from anchorscope.testing import WeightPredictor
from anchorscope.types import Unit

MODEL = WeightPredictor({"great": 2.0})
TEXTS = ("great film", "great bad film", "great bad old film")


def units() -> list[Unit]:
    """Documents of 2, 3 and 4 words, each of them asked about: 2, 3 and 4 calls."""
    counts = (len(text.split()) for text in TEXTS)
    return [
        Unit(n, text, 1, tuple((place,) for place in range(count)), (0.9,) * count, 0.8)
        for n, (text, count) in enumerate(zip(TEXTS, counts))
    ]


@pytest.mark.parametrize(("max_calls", "n_units"), [(1, 0), (2, 1), (4, 1), (5, 2), (8, 2), (9, 3), (99, 3)])
def test_the_first_units_are_measured_as_far_as_the_calls_go(max_calls: int, n_units: int) -> None:
    predictor = RetryingPredictor(MODEL, Retry())
    score = MeteredScore(OcclusionScore(predictor, None, Settings()), predictor)
    assert len(affordable(score, units(), max_calls)) == n_units
    found, cost = score.measure(units(), max_calls)
    assert len(found) == cost.predictor_texts == sum(len(text.split()) for text in TEXTS[:n_units])

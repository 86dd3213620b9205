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


@pytest.mark.parametrize(
    ("max_calls", "sizes"),
    [(0, []), (1, [1]), (2, [2]), (4, [2, 2]), (5, [2, 3]), (8, [2, 3, 3]), (9, [2, 3, 4]), (99, [2, 3, 4])],
)
def test_words_that_take_a_call_each_are_measured_to_the_last_call(max_calls: int, sizes: list[int]) -> None:
    """The last document is asked about as many of its words as there are calls left."""
    predictor = RetryingPredictor(MODEL, Retry())
    score = MeteredScore(OcclusionScore(predictor, None, Settings()), predictor)
    assert [len(unit) for unit in affordable(score, units(), max_calls)] == sizes
    found, cost = score.measure(units(), max_calls)
    assert len(found) == cost.predictor_texts == sum(sizes)


@pytest.mark.parametrize(("max_calls", "n_units"), [(1, 0), (2, 1), (4, 1), (5, 2), (8, 2), (9, 3), (99, 3)])
def test_a_block_that_serves_all_words_of_a_document_is_not_cut(max_calls: int, n_units: int) -> None:
    """Blocks of 2, 3 and 4 calls, whose words share them."""

    class Block(OcclusionScore):
        shares_calls = True

    predictor = RetryingPredictor(MODEL, Retry())
    score = MeteredScore(Block(predictor, None, Settings()), predictor)
    assert [*affordable(score, units(), max_calls)] == units()[:n_units]

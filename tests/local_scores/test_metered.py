"""Budgets of measuring: as many units as can be afforded, to the last call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from anchorscope import Explainer
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import InputError
from anchorscope.local_scores.metered import MeteredScore, affordable
from anchorscope.local_scores.occlusion import OcclusionScore
from anchorscope.settings import Settings
from anchorscope.testing import WeightPredictor
from anchorscope.types import Cost, Measurements, Unit

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


@pytest.mark.parametrize("value, variance", [(np.nan, 0.0), (np.inf, 0.0), (-2e6, 0.0), (0.5, -1.0), (0.5, np.inf)])
def test_a_score_that_measures_what_cannot_be_is_refused_before_anything_is_written(
    value: float, variance: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measured = OcclusionScore.measure

    def odd(self: OcclusionScore, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        found, cost = measured(self, units)
        found.value[-1], found.variance[-1] = value, variance
        return found, cost

    def model(texts: Sequence[str]) -> list[list[float]]:
        return [[0.9, 0.1] if "great" in text else [0.2, 0.8] for text in texts]

    monkeypatch.setattr(OcclusionScore, "measure", odd)
    explainer = Explainer(model, labels=["good", "bad"])
    expected = f"occlusion measured the value {value:g} with the variance {variance:g}; expected values of"
    with pytest.raises(InputError, match=re.escape(expected)):
        explainer.explain(["a great film", "a poor film"] * 9, out=tmp_path / "run")
    monkeypatch.undo()
    assert explainer.explain(["a great film", "a poor film"] * 9, out=tmp_path / "run", resume=True).cost.tests > 0

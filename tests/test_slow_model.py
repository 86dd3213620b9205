"""A model at a second a call: what is known after 100 calls, by a clock that only the model moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from runs import WEIGHTS, reviews

from anchorscope import Explainer
from anchorscope.testing import WeightPredictor


class Slow(WeightPredictor):
    """Each text takes a second of its own clock."""

    seconds = 0

    def predict(self, texts: Sequence[str]) -> Any:
        self.seconds += len(texts)
        return super().predict(texts)


@pytest.mark.parametrize("n_documents", [60, 400, 5000])
def test_a_list_with_intervals_within_100_calls(n_documents: int) -> None:
    """However many documents there are: words with intervals, or the sentence that nothing is told apart yet."""
    model = Slow(WEIGHTS)
    explainer = Explainer(model, max_model_calls=100)
    first = next(shown for shown in explainer.stream(reviews(n_documents)) if shown.cost.tests)
    assert first.cost.predictor_texts <= model.seconds <= 100
    for explanation in first.explanations.values():
        assert explanation.terms
        assert all(
            np.isfinite(term.interval).all() and term.interval[0] <= term.interval[1] for term in explanation.terms
        )
        if not explanation.drivers:
            assert explanation.note


def test_a_model_that_goes_by_nothing_is_told_so_within_100_calls() -> None:
    model = Slow({}, bias=0.1)
    result = Explainer(model, max_model_calls=100).explain(reviews(400))
    assert model.seconds <= 100
    assert not result["yes"].drivers and result["yes"].note

"""A model that answers otherwise each time is noticed, at no call more."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

from anchorscope import Explainer
from anchorscope.asking.repeated import Repeated
from anchorscope.predictors.function import FunctionPredictor

TEXTS = [f"a {word} film {number}" for number in range(10) for word in ("great", "good", "dull")]


def model(noise: float, asked: list[str]) -> Callable[[list[str]], list[dict[str, float]]]:
    """A model that knows one word, and whose answer moves by the noise from call to call."""
    calls = count()

    def answer(texts: list[str]) -> list[dict[str, float]]:
        asked.extend(texts)
        sign = 1 if next(calls) % 2 else -1
        yes = [(0.7 if "great" in text else 0.3) + sign * noise for text in texts]
        return [{"no": 1 - p, "yes": p} for p in yes]

    return answer


@pytest.mark.parametrize(("noise", "is_told"), [(0.1, True), (1e-5, False), (0.0, False)])
def test_a_run_says_so_once(noise: float, is_told: bool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Explainer(model(noise, [])).explain(TEXTS)
    told = [record.getMessage() for record in caplog.records if "differ from call to call" in record.getMessage()]
    assert len(told) == is_told
    if told:
        assert "scores are those of chance, intervals do not carry it" in told[0]


def test_it_costs_no_call() -> None:
    """A function whose labels are not known is asked about two texts, as ever; one of them is a document."""
    asked: list[str] = []
    predictor = FunctionPredictor(model(0.1, asked), None, learn_from=TEXTS)
    assert len(asked) == 2 == predictor.n_probed and asked[1] == TEXTS[0]
    predictor.predict(TEXTS)
    assert len(asked) == 2 + len(TEXTS)


def test_names_are_compared_as_well(caplog: pytest.LogCaptureFixture) -> None:
    calls = count()

    def answer(texts: list[str]) -> list[str]:
        return ["yes" if next(calls) % 3 else "no" for _ in texts]

    predictor = FunctionPredictor(answer, ["no", "yes"])
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            predictor.predict(["so good"])
    assert sum("differ from call to call" in record.getMessage() for record in caplog.records) == 1


def test_a_copy_in_another_process_begins_anew() -> None:
    seen = Repeated("score", ["no", "yes"])
    seen.see(["so good"], np.array([[0.5, 0.5]]))
    copied: Any = pickle.loads(pickle.dumps(seen))
    copied.see(["so good"], np.array([[0.1, 0.9]]))
    assert copied.greatest_difference == 0.0
    seen.see(["so good"], np.array([[0.1, 0.9]]))
    assert seen.greatest_difference == pytest.approx(0.4)

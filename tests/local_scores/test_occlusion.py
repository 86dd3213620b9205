"""Leave one out: what taking a term out of a document costs the label, one call each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from anchorscope.local_scores.occlusion import OcclusionScore
from anchorscope.settings import Settings
from anchorscope.testing import WeightPredictor
from anchorscope.types import Unit

WEIGHTS = {"great": 2.0, "bad": -1.0}


class Noting(WeightPredictor):
    """Remembers every text that it was asked about, in order."""

    def __init__(self) -> None:
        super().__init__(WEIGHTS)
        self.seen: list[str] = []

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        self.seen += texts
        return super().predict(texts)


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def unit(text: str, *positions: tuple[int, ...], label: int = 1) -> Unit:
    said = WeightPredictor(WEIGHTS).predict([text])[0, label]
    return Unit(0, text, label, positions, (0.9,) * len(positions), float(said))


def values(*units: Unit, model: Noting | None = None) -> list[float]:
    found, _ = OcclusionScore(model or Noting(), None, Settings()).measure(units)
    assert not found.variance.any() and (found.calls == 1).all()
    return found.value.tolist()


def test_a_value_is_the_drop_of_the_probability() -> None:
    """Logits 2 - 1 = 1 with all words; -1 without great, 2 without bad, 1 without film."""
    found = values(unit("great bad film", (0,), (1,), (2,)))
    expected = [sigmoid(1) - sigmoid(-1), sigmoid(1) - sigmoid(2), 0.0]
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_value_is_about_the_label_that_is_asked_for() -> None:
    """What a word does for "yes" it does against "no"."""
    asked = unit("great film", (0,), label=1), unit("great film", (0,), label=0)
    for_yes, for_no = values(*asked)
    assert for_yes == -for_no == pytest.approx(sigmoid(2) - sigmoid(0), abs=1e-6)


def test_all_positions_of_a_term_are_taken_out_together() -> None:
    """Logit 4 with two greats and 0 without any; one call."""
    model = Noting()
    assert values(unit("great, great film", (0, 2)), model=model) == pytest.approx([sigmoid(4) - 0.5], abs=1e-6)
    assert len(model.seen) == 1 and "great" not in model.seen[0] and "film" in model.seen[0]


def test_equal_texts_are_asked_about_once() -> None:
    """Two copies of a document, and a word of which each half is the other: three texts for six occurrences."""
    model = Noting()
    one, other = unit("so so film", (0,), (1,), (2,)), unit("so so film", (0,), (1,), (2,))
    found, cost = OcclusionScore(model, None, Settings()).measure([one, other])
    assert len(found) == cost.tests == 6
    assert len(model.seen) == len({*model.seen}) == cost.predictor_texts == 2


def test_rows_come_in_the_order_asked_whatever_the_lengths() -> None:
    """Texts go to the model sorted by length; the rows come back in the order of the units."""
    units = [unit("a long film with a great many words in it", (5,), (2,)), unit("great", (0,)), unit("bad film", (0,))]
    together = values(*units)
    assert together == [value for one in units for value in values(one)]
    assert together[1] == 0.0 and together[2] > 0 > together[3]


def test_a_unit_costs_a_call_an_occurrence_at_most() -> None:
    score = OcclusionScore(Noting(), None, Settings())
    assert score.calls(unit("great bad film", (0,), (2,))) == 2

"""Banzhaf values: some documents are measured twice, and the second time is written beside the first."""

from __future__ import annotations

import numpy as np

from anchorscope.local_scores.banzhaf import BanzhafScore, is_repeated
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.settings import preset
from anchorscope.testing import WeightPredictor
from anchorscope.text.words import split
from anchorscope.types import Unit

TEXTS = [f"great bad film number {n} of many" for n in range(40)]


def test_second_measurements_stand_beside_the_first_and_are_paid_for() -> None:
    model = WeightPredictor({"great": 2.0, "bad": -1.0})
    noise = CorpusPerturbator().fit([split(text) for text in TEXTS])
    units = [Unit(n, text, 1, ((0,), (1,)), (0.9, 0.9), 0.7) for n, text in enumerate(TEXTS)]
    score = BanzhafScore(model, noise, preset("banzhaf"))
    found, cost = score.measure(units)
    twice = np.repeat([is_repeated(unit) for unit in units], 2)
    assert 0 < twice.sum() < len(twice) / 2
    assert (np.isfinite(found.repeat) == twice).all()
    assert (found.repeat[twice] != found.value[twice]).all()
    # both are estimates of one value: the word that speaks for the label stays the one that does
    assert (found.repeat[twice][::2] > found.repeat[twice][1::2]).mean() > 0.8
    assert cost.predictor_texts <= sum(score.calls(unit) for unit in units)


def test_a_batch_of_measurements_of_any_number_has_its_rows_in_order() -> None:
    """A document that is measured further has samples of its own, whoever stands beside it; none is a further test."""
    model = WeightPredictor({"great": 2.0, "bad": -1.0})
    noise = CorpusPerturbator().fit([split(text) for text in TEXTS])
    score = BanzhafScore(model, noise, preset("banzhaf"))
    units = [
        Unit(n, TEXTS[n % 4], 1, ((0,), (1,)), (0.9, 0.9), 0.7, number) for n, number in enumerate([2, 0, 1, 3] * 2)
    ]
    found, cost = score.measure(units)
    assert found.value.tolist() == [value for unit in units for value in score.measure([unit])[0].value.tolist()]
    assert cost.tests == 2 * 2
    once, again = (score.measure([Unit(0, text, 1, ((0,),), (0.9,), 0.7, n) for text in TEXTS])[0] for n in (0, 1))
    twice = np.isfinite(once.repeat)
    assert twice.any() and (once.repeat[twice] == again.value[twice]).all()

"""What every local score promises. What makes one takes a predictor, a fitted perturbator and settings.

Where no word is replaced, there is no perturbator: it is None then.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from anchorscope.testing import work
from anchorscope.types import LocalScore, Measurements, Unit

NEARLY = 1e-6

SAID_BEFORE = ("grain", "is_graded", "shares_calls", "tests_anchors", "perturbs")

Make = Callable[..., LocalScore]


def has_what_the_contract_names(make: Make) -> None:
    """A name, and in a line each what the value is, what a call is, and whence its variance comes."""
    score = _made(make)
    assert isinstance(score, LocalScore)
    for said in (score.name, score.help, score.call, score.noise):
        assert said and "\n" not in said
    assert score.grain in work.OF_GRAIN
    assert all(isinstance(getattr(score, name), bool) for name in SAID_BEFORE[1:])


def says_what_it_is_before_it_is_made(make: Make) -> None:
    """Settings and plans read these of what makes it, before there is a model."""
    score = _made(make)
    for name in SAID_BEFORE:
        assert getattr(make, name, None) == getattr(score, name), name


def answers_a_row_an_occurrence(make: Make) -> None:
    """In the order asked; values are finite, variances not negative, or NaN where nobody knows."""
    score = _made(make)
    found, _ = score.measure(_units(score))
    assert len(found) == sum(len(unit) for unit in _units(score))
    assert np.isfinite(found.value).all() and (np.abs(found.value) <= 1).all()
    assert (np.isnan(found.variance) | (found.variance >= 0)).all()
    assert (found.calls >= 0).all()


def a_row_depends_on_its_own_unit_alone(make: Make) -> None:
    """Not on the batch, nor on the order of the units."""
    units = _units(_made(make))
    together, _ = _made(make).measure(units)
    alone = Measurements.join(_made(make).measure([unit])[0] for unit in units)
    backwards = Measurements.join(
        reversed([_made(make).measure(units[::-1])[0][_rows(units[::-1], i)] for i in range(len(units))])
    )
    assert np.allclose(together.value, alone.value, atol=NEARLY)
    assert np.allclose(together.value, backwards.value, atol=NEARLY)


def counts_the_texts_that_the_model_reads(make: Make) -> None:
    """The cost is what was asked, not more and not less."""
    predictor = work.CountingPredictor()
    score = _made(make, predictor)
    before = predictor.n_texts
    _, cost = score.measure(_units(score))
    assert cost.predictor_texts == predictor.n_texts - before


def knows_what_a_unit_takes_at_most(make: Make) -> None:
    """So that a budget can be kept to; where nobody knows beforehand, it says that it may take any number."""
    for unit in _units(_made(make)):
        predictor = work.CountingPredictor()
        score = _made(make, predictor)
        said = score.calls(unit)
        score.measure([unit])
        assert said >= predictor.n_texts > 0
        assert not isfinite(said) or said == int(said)


def counts_anchors_where_it_says_so(make: Make) -> None:
    """Else the columns of the test for an anchor stay empty."""
    score = _made(make)
    found, _ = score.measure(_units(score))
    assert found.samples.any() == score.tests_anchors
    assert score.tests_anchors or not found.anchor.any()


def says_nothing_where_nothing_is_asked(make: Make) -> None:
    """No unit, no row, no call."""
    found, cost = _made(make).measure([])
    assert len(found) == 0 and cost.predictor_texts == 0


def _made(make: Make, predictor: work.CountingPredictor | None = None) -> LocalScore:
    perturbator = work.perturbator() if getattr(make, "perturbs", True) else None
    return make(predictor or work.CountingPredictor(), perturbator, work.settings())


def _units(score: LocalScore) -> list[Unit]:
    return work.units(grain=score.grain, empty=score.tests_anchors)


def _rows(units: list[Any], number: int) -> slice:
    start = sum(len(unit) for unit in units[:number])
    return slice(start, start + len(units[number]))


CHECKS = (
    has_what_the_contract_names,
    says_what_it_is_before_it_is_made,
    answers_a_row_an_occurrence,
    a_row_depends_on_its_own_unit_alone,
    counts_the_texts_that_the_model_reads,
    knows_what_a_unit_takes_at_most,
    counts_anchors_where_it_says_so,
    says_nothing_where_nothing_is_asked,
)

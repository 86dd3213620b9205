"""What every local score promises. What makes one takes a predictor, a fitted perturbator and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anchorscope.testing import work
from anchorscope.types import LocalScore, Measurements

NEARLY = 1e-6

Make = Callable[..., LocalScore]


def has_what_the_contract_names(make: Make) -> None:
    """A name, and in a line each what the value is, what a call is, and whence its variance comes."""
    score = _made(make)
    assert isinstance(score, LocalScore)
    for said in (score.name, score.help, score.call, score.noise):
        assert said and "\n" not in said
    assert isinstance(score.is_graded, bool)


def answers_a_row_an_occurrence(make: Make) -> None:
    """In the order asked; values are finite, variances not negative, or NaN where nobody knows."""
    found, _ = _made(make).measure(work.units())
    assert len(found) == sum(len(unit) for unit in work.units())
    assert np.isfinite(found.value).all() and (np.abs(found.value) <= 1).all()
    assert (np.isnan(found.variance) | (found.variance >= 0)).all()
    assert (found.calls >= 0).all()


def a_row_depends_on_its_own_unit_alone(make: Make) -> None:
    """Not on the batch, nor on the order of the units."""
    units = work.units()
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
    score = make(predictor, work.perturbator(), work.settings())
    before = predictor.n_texts
    _, cost = score.measure(work.units())
    assert cost.predictor_texts == predictor.n_texts - before


def says_nothing_where_nothing_is_asked(make: Make) -> None:
    """No unit, no row, no call."""
    found, cost = _made(make).measure([])
    assert len(found) == 0 and cost.predictor_texts == 0


def _made(make: Make, **given: Any) -> LocalScore:
    return make(work.CountingPredictor(), work.perturbator(), work.settings(**given))


def _rows(units: list[Any], number: int) -> slice:
    start = sum(len(unit) for unit in units[:number])
    return slice(start, start + len(units[number]))


CHECKS = (
    has_what_the_contract_names,
    answers_a_row_an_occurrence,
    a_row_depends_on_its_own_unit_alone,
    counts_the_texts_that_the_model_reads,
    says_nothing_where_nothing_is_asked,
)

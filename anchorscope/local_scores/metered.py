"""A local score that keeps to a number of calls: no text more reaches the model, tries that failed included.

Where a score knows what a unit costs, as many of the first units are measured as can be afforded, and of the next one
as many occurrences, where each takes calls of its own. Where it does not (a test that stops when it can tell), they are
measured in small groups, then one by one; the unit in which the calls run out is lost, those before it are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answers_in_batches
from anchorscope.asking.budget import CallsSpentError
from anchorscope.asking.columns import Columns
from anchorscope.asking.predicting import least_calls, n_affordable
from anchorscope.asking.retry import RetryingPredictor
from anchorscope.errors import InputError
from anchorscope.types import Cost, LocalScore, Measurements, Unit
from anchorscope.types.values import GREATEST_EFFECT

GROUPS = 8
"""Where costs are not known, a group of units is to take about this share of what is left."""

NEARLY_ALL = 0.95
"""The share of the documents for one of which a budget has to suffice: not for the longest of all."""


class MeteredScore:
    """The same score, with a promise about its calls; ``predictor`` is the one through which it asks.

    ``on_card`` says that predictor or perturbator compute on a GPU.
    """

    def __init__(self, score: LocalScore, predictor: RetryingPredictor, *, on_card: bool = False) -> None:
        self._score = score
        self._predictor = predictor
        self._meter = predictor.meter
        self.on_card = on_card
        self.name = score.name
        self.help = score.help
        self.call = score.call
        self.noise = score.noise
        self.is_graded = score.is_graded
        self.grain = score.grain
        self.shares_calls = score.shares_calls
        self.tests_anchors = score.tests_anchors
        self.perturbs = score.perturbs

    @property
    def columns(self) -> Columns:
        """What the model calls the columns of its answers."""
        return self._predictor.columns

    def calls(self, unit: Unit) -> float:
        """As the score says."""
        return self._score.calls(unit)

    def measure(self, units: Sequence[Unit], max_calls: float = inf) -> tuple[Measurements, Cost]:
        """The rows of the first units, as many as can be afforded; the cost is what the model was really asked."""
        if not isfinite(max_calls):
            return self._metered(units, max_calls)
        if all(isfinite(self.calls(unit)) for unit in units):
            return self._metered(affordable(self, units, max_calls), max_calls)
        return self._in_groups(units, max_calls)

    def predict(self, texts: Sequence[str], max_calls: float = inf) -> tuple[NDArray[np.float64], Cost]:
        """What the model says of some texts (texts, labels), and what that took."""
        before = self._counts()
        self._meter.allow(max_calls)
        try:
            rows = answers_in_batches(self._predictor, texts, max(1, len(texts)))
        finally:
            self._meter.allow(inf)
        return rows, Cost(**self._since(before))

    def _metered(self, units: Sequence[Unit], max_calls: float) -> tuple[Measurements, Cost]:
        """All rows of some units, or none of them where the calls run out."""
        before = self._counts()
        self._meter.allow(max_calls)
        try:
            found, cost = self._score.measure(units)
        except CallsSpentError:
            found, cost = Measurements.join(()), Cost()
        finally:
            self._meter.allow(inf)
        check_measured(found, self.name)
        return found, replace(cost, **self._since(before))

    def _counts(self) -> dict[str, int]:
        """What the meter has counted, by the names that a cost has for it."""
        meter = self._meter
        return {"predictor_texts": meter.sent, "predictor_tokens": meter.tokens, "kept_answers": meter.found}

    def _since(self, before: Mapping[str, int]) -> dict[str, int]:
        return {name: n - before[name] for name, n in self._counts().items()}

    def _in_groups(self, units: Sequence[Unit], max_calls: float) -> tuple[Measurements, Cost]:
        parts = []
        total = Cost()
        start, size = 0, 1
        while start < len(units) and total.answers < max_calls:
            group = units[start : start + size]
            found, cost = self._metered(group, max_calls - total.answers)
            total += cost
            if len(found) < sum(map(len, group)):
                break
            parts.append(found)
            start += len(group)
            a_unit = max(1.0, total.answers / start)
            size = max(1, int((max_calls - total.answers) / (GROUPS * a_unit)))
        return Measurements.join(parts), total


def refuse_small_budget(
    score: LocalScore, texts: Sequence[str], n_documents: int, max_calls: float, *, draws: bool, n_spent: int = 0
) -> None:
    """Refuse a number of calls that does not suffice for the predictions and for one test.

    ``texts`` are documents that may be tested first, ``n_documents`` are to be predicted; where a strategy ``draws``
    documents, as many of them as the calls suffice for. ``n_spent`` calls are spent already.
    """
    if not isfinite(max_calls) or not texts:
        return
    a_test = _calls_of_a_test(score, texts)
    n_predicted = n_affordable(n_documents, max_calls) if draws else n_documents
    if n_spent + n_predicted + a_test <= max_calls:
        return
    least = least_calls(n_documents, n_spent + a_test, draws=draws)
    raise InputError(
        f"--max-model-calls {max_calls:g} is too small for one test by --score {score.name}, which takes {a_test:,.0f} "
        f"after the predictions of {n_predicted:,} documents: allow more calls, {least:,} at least, or explain fewer "
        "documents with --sample-documents."
    )


def _calls_of_a_test(score: LocalScore, texts: Sequence[str]) -> float:
    """What the first test takes in nearly all of some texts: which of them comes first shows when they are predicted.

    A document that is measured twice counts as such: one in eight is. A test that stops when it can tell counts as 1.
    """
    costs = sorted(score.calls(Unit(0, text, 0, ((0,),), (1.0,))) for text in texts)
    usual = costs[int(NEARLY_ALL * len(costs))]
    return usual if isfinite(usual) else 1.0


def affordable(score: LocalScore, units: Sequence[Unit], max_calls: float) -> Sequence[Unit]:
    """The first units, as many as the calls suffice for; the last one is cut where its occurrences are paid for one by
    one."""
    left = max_calls
    for number, unit in enumerate(units):
        cost = score.calls(unit)
        if cost > left:
            return [*units[:number], *_cut(score, unit, left)]
        left -= cost
    return units


def _cut(score: LocalScore, unit: Unit, max_calls: float) -> list[Unit]:
    """As much of a unit as the calls suffice for: nothing of a block, whose calls serve all of it."""
    if score.shares_calls:
        return []
    parts = (unit.first(n) for n in range(len(unit) - 1, 0, -1))
    return [part for part in parts if score.calls(part) <= max_calls][:1]


def check_measured(found: Measurements, name: str) -> None:
    """Refuse what no score can mean, before it is counted and written down.

    >>> check_measured(Measurements.of_values(np.array([np.nan]), np.zeros(1), np.ones(1, np.int64)), "mine")
    Traceback (most recent call last):
    anchorscope.errors.InputError: The local score mine measured the value nan with the variance 0; expected values of \
at most 1e+06 and variances of 0 or more (NaN: not known); mend the score (anchorscope.testing.score checks it).
    """
    again = np.where(np.isnan(found.repeat), 0.0, found.repeat)
    is_value = np.maximum(abs(found.value), abs(again)) <= GREATEST_EFFECT
    is_bad = ~is_value | (found.variance < 0) | (found.variance > GREATEST_EFFECT**2)
    if is_bad.any():
        first = int(is_bad.argmax())
        raise InputError(
            f"The local score {name} measured the value {found.value[first]:g} with the variance "
            f"{found.variance[first]:g}; expected values of at most {GREATEST_EFFECT:g} and variances of 0 or more "
            "(NaN: not known); mend the score (anchorscope.testing.score checks it)."
        )

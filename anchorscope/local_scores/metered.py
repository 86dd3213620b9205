"""A local score that keeps to a number of calls: no text more reaches the model, tries that failed included.

Where a score knows what a unit costs, as many of the first units are measured as can be afforded. Where it does not (a
test that stops when it can tell), they are measured in small groups, then one by one; the unit in which the calls run
out is lost, those before it are not.
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
from anchorscope.asking.retry import RetryingPredictor
from anchorscope.errors import InputError
from anchorscope.types import Cost, LocalScore, Measurements, Unit

GROUPS = 8
"""Where costs are not known, a group of units is to take about this share of what is left."""


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


def refuse_small_budget(score: LocalScore, texts: Sequence[str], n_predicted: int, max_calls: float) -> None:
    """Refuse a number of calls that does not suffice for so many predictions and for one test in any of the texts."""
    if not isfinite(max_calls) or not texts:
        return
    # The shortest text is the cheapest, as a rule: others are looked at only where it does not fit.
    least = inf
    for text in sorted(texts, key=len):
        cost = score.calls(Unit(0, text, 0, ((0,),), (1.0,)))
        least = min(least, cost if isfinite(cost) else 1.0)
        if n_predicted + least <= max_calls:
            return
    raise InputError(
        f"--max-model-calls {max_calls:g} is too small for one test by --score {score.name}, which takes {least:,.0f} "
        f"after the predictions of {n_predicted:,} documents: allow more calls, or explain fewer documents with "
        "--sample-documents."
    )


def affordable(score: LocalScore, units: Sequence[Unit], max_calls: float) -> Sequence[Unit]:
    """The first units, as many as the calls suffice for."""
    n_calls = 0.0
    for number, unit in enumerate(units):
        n_calls += score.calls(unit)
        if n_calls > max_calls:
            return units[:number]
    return units

"""The paper's local score: is the term an anchor of the document? 1 or 0.

The precision of a term is the conditional expectation

    Pr[ the model keeps its decision | the term is kept, the other words are perturbed ]

and the term is an anchor iff it is at least tau (Ribeiro, Singh and Guestrin 2018: anchors of size one). A sequential
test reads samples until it can tell (``sampling/sequential_test.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import erf

import numpy as np

from anchorscope.sampling.engine import Engine
from anchorscope.settings import Settings
from anchorscope.types import Cost, Measurements, Perturbator, Predictor, Unit


class AnchorScore:
    """1 for an anchor, 0 for none."""

    name = "anchor"
    help = "1 where keeping the term keeps the decision with probability tau, else 0"
    call = "a text in which the other words are kept or replaced at random"
    noise = "the samples: another seed may decide otherwise where the precision is near tau"
    is_graded = False
    grain = "token"
    shares_calls = True
    tests_anchors = True
    perturbs = True
    blind_spot = "a verdict on one document is a test with an error rate"

    def __init__(self, predictor: Predictor, perturbator: Perturbator, settings: Settings) -> None:
        self._engine = Engine(predictor, perturbator, settings.sampling, settings.anchor_test)

    def calls(self, unit: Unit) -> float:
        """As many as its samples, where their number is fixed."""
        return self._engine.calls(unit)

    def measure(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """A row an occurrence; its variance is that of a verdict which goes by the mean of its samples."""
        found, cost = self._engine.measure(units)
        return as_values(found, np.array([threshold for unit in units for threshold in unit.thresholds])), cost


def as_values(found: Measurements, thresholds: np.ndarray) -> Measurements:
    """Verdicts as values, 1 or 0, with their variance."""
    return replace(found, value=found.anchor.astype(np.float64), variance=_variance(found, thresholds))


def _variance(found: Measurements, thresholds: np.ndarray) -> np.ndarray:
    """p (1 - p), p being the chance that as many samples again would say yes, by the normal approximation."""
    n = np.maximum(found.samples, 1)
    mean = (found.agreements + 0.5) / (n + 1)  # one pseudo-count, so that no mean is certain
    z = (mean - thresholds) / np.sqrt(mean * (1 - mean) / n)
    p = np.array([(1 + erf(x / 2**0.5)) / 2 for x in z.tolist()])
    return p * (1 - p)

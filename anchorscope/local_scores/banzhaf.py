"""The Banzhaf value of a term in a document (Banzhaf 1965; for words, each other one kept with probability 1/2).

    E[ P(label) | term kept ] - E[ P(label) | term replaced ]

over samples in which every other word is kept with probability 1/2. One block of samples serves all terms of a
document: each reads the samples that keep it against those that do not. Where the samples are balanced
(``sampling/draws.py``), what one word does falls out of the difference of any other; so the variance between the
samples of a block is no measure of how another block would differ, and some documents are measured by a second block
(``repeats.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from anchorscope.local_scores.repeats import SECOND, is_repeated
from anchorscope.sampling.engine import Engine
from anchorscope.settings import Settings
from anchorscope.types import Cost, Measurements, Perturbator, Predictor, Unit


class BanzhafScore:
    """What keeping the term adds to the probability of the label, where half of the other words are replaced."""

    name = "banzhaf"
    help = "what keeping the term adds to the probability of the label, half of the other words being replaced"
    call = "a text in which every word is kept with probability 1/2, and replaced otherwise"
    noise = "the samples: which other words they keep, and what replaces the rest"
    is_graded = True
    grain = "token"
    shares_calls = True
    tests_anchors = True
    perturbs = True

    def __init__(self, predictor: Predictor, perturbator: Perturbator, settings: Settings) -> None:
        self._engine = Engine(predictor, perturbator, settings.sampling, settings.anchor_test)
        second = replace(settings.sampling, seed=settings.seed ^ SECOND)
        self._second = Engine(predictor, perturbator, second, settings.anchor_test)

    def calls(self, unit: Unit) -> float:
        """As many as its samples, where their number is fixed."""
        return self._engine.calls(unit) * (1 + is_repeated(unit))

    def measure(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """A row an occurrence; those of one document share its samples."""
        found, cost = self._engine.measure(units)
        twice = [unit for unit in units if is_repeated(unit)]
        if twice:
            again, more = self._second.measure(twice)
            rows = np.repeat([is_repeated(unit) for unit in units], [len(unit) for unit in units])
            found.repeat[rows] = again.value
            cost += replace(more, documents=0, tests=0, undecided=0)
        return found, cost

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

from anchorscope.local_scores.repeats import is_repeated, seed_of_measurement
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
    blind_spot = "half of each text is replaced, so what whole texts do is not seen"

    def __init__(self, predictor: Predictor, perturbator: Perturbator, settings: Settings) -> None:
        self._predictor = predictor
        self._perturbator = perturbator
        self._settings = settings
        self._engines: dict[int, Engine] = {}

    def calls(self, unit: Unit) -> float:
        """As many as its samples, where their number is fixed."""
        return self._engine(unit.number).calls(unit) * (1 + is_repeated(unit))

    def measure(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """A row an occurrence; those of one document share its samples."""
        found, cost = self._measured(units)
        twice = [unit for unit in units if is_repeated(unit)]
        if twice:
            again, more = self._measured([replace(unit, number=1) for unit in twice])
            rows = np.repeat([is_repeated(unit) for unit in units], [len(unit) for unit in units])
            found.repeat[rows] = again.value
            cost += more
        return found, cost

    def _measured(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """Each unit by the samples of its number."""
        of_row = [unit.number for unit in units for _ in unit.positions]
        parts, cost = [], Cost()
        for number in sorted({unit.number for unit in units}):
            found, spent = self._engine(number).measure([unit for unit in units if unit.number == number])
            parts.append(found)
            cost += replace(spent, documents=0, tests=0, undecided=0) if number else spent
        # Joined they are in the order of their numbers: from there back to that of the units.
        return Measurements.join(parts)[np.argsort(np.argsort(of_row, kind="stable"))], cost

    def _engine(self, number: int) -> Engine:
        if number not in self._engines:
            sampling = self._settings.sampling
            keyed = replace(sampling, seed=seed_of_measurement(sampling.seed, number))
            self._engines[number] = Engine(self._predictor, self._perturbator, keyed, self._settings.anchor_test)
        return self._engines[number]

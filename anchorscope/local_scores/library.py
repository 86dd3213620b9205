"""What the local scores by other people's libraries have in common: a library plays a document as a game.

The library chooses coalitions of the document's terms (``coalitions.py``) and makes weights of what they are worth. It
is asked document by document, with a seed that belongs to seed and text, so that its weights are a function of both;
and whatever it wants to know goes through the predictor of the run, so that a budget holds. How much weights differ
from one seed to the next no library tells: a share of the documents is played a second time (``repeats.py``).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.optional import needed
from anchorscope.local_scores.coalitions import Game, as_values, n_coalitions, numpy_seeded, players, seed_of
from anchorscope.local_scores.repeats import is_repeated, seed_of_measurement
from anchorscope.settings import Settings
from anchorscope.types import Cost, Measurements, Perturbator, Predictor, Unit

EXTRA = "scores"
"""The extra of the package that brings the libraries."""


class LibraryScore(ABC):
    """A local score by a library: which module it needs, how many texts it asks about, and its weights."""

    name: str
    module: str
    noise = "which coalitions are drawn: a share of the documents is measured by two seeds"
    is_graded = True
    grain = "term"
    shares_calls = True
    tests_anchors = False
    perturbs = False

    def __init__(self, predictor: Predictor, perturbator: Perturbator | None, settings: Settings) -> None:
        self.check(predictor)
        self._predictor = predictor
        self._settings = settings

    @classmethod
    def check(cls, predictor: Predictor) -> None:
        """Refuse where the library is missing."""
        needed(cls.module, EXTRA, f"--score {cls.name}")

    @abstractmethod
    def _most(self, n_terms: int) -> int:
        """The texts that one measurement of a document of so many terms asks about, at most."""

    @abstractmethod
    def _weights(self, game: Game, seed: int) -> NDArray[np.float64]:
        """The weight of every term."""

    def calls(self, unit: Unit) -> float:
        """No coalition is asked about twice."""
        n = len(players(unit.text, str(self._settings.terms)))
        return min(self._most(n) * (1 + is_repeated(unit)), n_coalitions(n))

    def measure(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """A row an occurrence."""
        played = [self._play(unit) for unit in units]
        found = Measurements.join(rows for rows, _ in played)
        n_texts = sum(n for _, n in played)
        n_tests = sum(len(unit) for unit in units if not unit.number)
        return found, Cost(tests=n_tests, samples=n_texts, predictor_texts=n_texts)

    def _play(self, unit: Unit) -> tuple[Measurements, int]:
        """The rows of one document, and how many texts that took."""
        game = Game(self._predictor, unit, str(self._settings.terms))
        value = self._values(game, unit, unit.number)
        n = len(value)
        found = Measurements.of_values(value, np.full(n, game.variance_of_mean()), np.full(n, game.n_calls, np.int64))
        if is_repeated(unit):
            found.repeat[:] = self._values(game, unit, 1)
        return found, game.n_calls

    def _values(self, game: Game, unit: Unit, number: int) -> NDArray[np.float64]:
        keyed = seed_of(seed_of_measurement(self._settings.seed, number), unit.text)
        with warnings.catch_warnings(), numpy_seeded(keyed):
            warnings.simplefilter("ignore")  # of few samples, and of what libraries do with each other
            return as_values(self._weights(game, keyed)[game.asked])

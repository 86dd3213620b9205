"""Banzhaf values by the library shapiq: the linear model that comes nearest to all coalitions alike.

``RegressionFBII`` of first order (Tsai, Yeh and Ravikumar 2023) fits what coalitions are worth by a sum over who is in
them; over all coalitions its coefficients are the Banzhaf values, from a part of them they are an estimate. It is made
from 2n + 2 coalitions of n terms, or from ``--max-samples`` of them if these are more. None of the library's other
approximators of first-order values came out better for few calls (docs/yardsticks.md). A term that is not in a
coalition is left out of the text, where ``--score banzhaf`` has it replaced.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.optional import needed
from anchorscope.local_scores.coalitions import Game
from anchorscope.local_scores.library import EXTRA, LibraryScore

FEWEST_PLAYERS = 3
"""With fewer there is nothing to sample: the values are read from all coalitions."""


class ShapiqScore(LibraryScore):
    """The term's Banzhaf value, estimated by a regression."""

    name = "shapiq"
    module = "shapiq.approximator"
    help = "what keeping the term adds to the label's probability, half of the others left out, by shapiq's regression"
    call = "the document with some of its terms only, about half of them as a rule"

    def _most(self, n_terms: int) -> int:
        return max(self._settings.max_samples, 2 * n_terms + 2)

    def _weights(self, game: Game, seed: int) -> NDArray[np.float64]:
        n = len(game.players)
        if n < FEWEST_PLAYERS:
            return _of_all(game)
        make = needed(self.module, EXTRA, "--score shapiq").RegressionFBII
        found = make(n, max_order=1, random_state=seed).approximate(self._most(n), game.worth)
        return np.array([float(found[(i,)]) for i in range(n)])


def _of_all(game: Game) -> NDArray[np.float64]:
    """The values from all coalitions: the mean worth of those with a term, less that of those without."""
    kept = np.array([*product((False, True), repeat=len(game.players))])
    worth = game.worth(kept)
    return np.array([worth[column].mean() - worth[~column].mean() for column in kept.T])

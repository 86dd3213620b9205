"""Kernel SHAP (Lundberg and Lee 2017), by the library shap: Shapley values by a weighted regression.

The regression of a coalition's worth on who is in it, weighted by Shapley's kernel and held to what all terms do
together, has the Shapley values for its coefficients. It is made from 4n coalitions of n terms, or from
``--max-samples`` of them if these are more (shap's own habit is 2n + 2048): with 2n + 2 of them, one document in twenty
has two terms that no coalition tells apart. No term is dropped to make the regression sparse. A term that is not in a
coalition is left out of the text: the library's background is the empty document.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.optional import needed
from anchorscope.local_scores.coalitions import Game
from anchorscope.local_scores.library import EXTRA, LibraryScore

A_TERM = 4
"""Coalitions a term, at least."""


class ShapScore(LibraryScore):
    """The term's Shapley value, estimated by a regression."""

    name = "shap"
    module = "shap"
    help = "the term's share of what all terms do for the label's probability, by Kernel SHAP"
    call = "the document with some of its terms only, few or nearly all of them as a rule"

    def _most(self, n_terms: int) -> int:
        return self._n_samples(n_terms) + 1  # and the empty document

    def _n_samples(self, n_terms: int) -> int:
        return max(self._settings.max_samples, A_TERM * n_terms)

    def _weights(self, game: Game, seed: int) -> NDArray[np.float64]:
        n = len(game.players)
        explainer = needed(self.module, EXTRA, "--score shap").KernelExplainer(game.worth, np.zeros((1, n)))
        found = explainer.shap_values(np.ones((1, n)), nsamples=self._n_samples(n), l1_reg=0, silent=True)
        weights: NDArray[np.float64] = np.asarray(found, np.float64).reshape(n)
        return weights

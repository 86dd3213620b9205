"""LIME (Ribeiro, Singh and Guestrin 2016), by its library: the weights of a linear model around one document.

Samples leave out terms at random, any number of them alike; a ridge regression of the label's probability on which
terms are kept, in which samples count the more the nearer they are to the document, gives each term its weight.
``--max-samples`` is the number of samples (LIME's own habit is 5,000), the document itself, which is known, being one.
The library is given a text of numbers, one a term, so that its words are our terms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.optional import needed
from anchorscope.local_scores.coalitions import Game
from anchorscope.local_scores.library import EXTRA, LibraryScore

LABEL = 1
"""The library is shown two columns: all other labels together, and the one that is explained."""


class LimeScore(LibraryScore):
    """The term's weight in a linear model of the label's probability around the document."""

    name = "lime"
    module = "lime.lime_text"
    help = "the term's weight in LIME's linear model of the label's probability around the document"
    call = "the document without some of its terms, any number of them"

    def _most(self, n_terms: int) -> int:
        return max(1, self._settings.max_samples - 1)

    def _weights(self, game: Game, seed: int) -> NDArray[np.float64]:
        explainer = needed(self.module, EXTRA, "--score lime").LimeTextExplainer(
            feature_selection="none", split_expression=r"\s+", random_state=seed
        )
        # To LIME a text is the numbers of the players: a sample that leaves some out is the coalition of the others.
        n = len(game.players)

        def ask(texts: Sequence[str]) -> NDArray[np.float64]:
            worth = game.worth(np.array([_kept(text, n) for text in texts]))
            return np.stack([1 - worth, worth], axis=1)

        numbers = " ".join(map(str, range(n)))
        samples = self._most(n) + 1
        found = explainer.explain_instance(numbers, ask, labels=(LABEL,), num_features=n, num_samples=samples)
        weights = np.zeros(n)
        for term, weight in found.as_map()[LABEL]:
            weights[term] = weight
        return weights


def _kept(text: str, n_terms: int) -> NDArray[np.bool_]:
    """The terms whose numbers are left in a text.

    >>> _kept("0   2", 3).tolist()
    [True, False, True]
    """
    kept = np.zeros(n_terms, bool)
    kept[[int(number) for number in text.split()]] = True
    return kept

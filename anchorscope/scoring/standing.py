"""How sure scores are at a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How sure the scores are: intervals and (in a race) memberships (labels, terms); settled and regret (labels,).

    ``for_doubt`` and ``against_doubt`` (labels, terms) are, where values are graded, the probabilities that a term
    does no more for a label than any word does, and that it does nothing against it; 1 where nobody knows.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    settled: NDArray[np.bool_]
    membership: NDArray[np.float64] | None = None
    regret: NDArray[np.float64] | None = None
    for_doubt: NDArray[np.float64] | None = None
    against_doubt: NDArray[np.float64] | None = None

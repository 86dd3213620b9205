"""How sure scores are at a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How sure the scores are: intervals and (in a race) memberships (labels, terms); settled and regret (labels,).

    ``driver`` and ``against`` (labels, terms) say, where values are graded, which terms are told apart from what any
    word does for a label, and which do something against it.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    settled: NDArray[np.bool_]
    membership: NDArray[np.float64] | None = None
    regret: NDArray[np.float64] | None = None
    driver: NDArray[np.bool_] | None = None
    against: NDArray[np.bool_] | None = None

"""A model that goes by nothing has no drivers; benchmarks/calibration.py asks the same of hundreds of runs."""

from __future__ import annotations

import pytest

from anchorscope.demo import reviews
from benchmarks.calibration import NULLS, named

RUNS = 6


@pytest.mark.parametrize("kind", sorted(NULLS))
def test_a_model_that_goes_by_nothing_has_no_drivers(kind: str) -> None:
    """At a rate of 5%, two runs of six with a driver happen once in thirty times."""
    texts = reviews(0)[1].texts
    parts = [texts[start : start + 100] for start in range(0, 100 * RUNS, 100)]
    assert sum(named(kind, part, seed) > 0 for seed, part in enumerate(parts)) <= 1

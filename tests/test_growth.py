"""The benchmarks of growth: larger collections stay what they were, and what was not measured says so."""

from __future__ import annotations

import numpy as np
import pytest

from anchorscope.planning.collection import Predictions, collect
from anchorscope.settings import Settings, preset
from anchorscope.types import Document
from benchmarks import growth, settled


@pytest.fixture
def judged() -> settled.Judged:
    """Forty short documents of two labels; the value of an occurrence is a hundredth of its number."""
    chances = np.random.default_rng(0)
    texts = [" ".join(chances.choice(list("abcdefgh"), chances.integers(1, 6))) for _ in range(40)]
    documents = [Document(f"{number:02}", text) for number, text in enumerate(texts)]
    plain = Settings(score="banzhaf")
    made = collect(documents, ("no", "yes"), Predictions(np.arange(40) % 2, np.ones(40)), plain)
    return settled.Judged(made, np.arange(len(made.occurrence_term)) / 100)


def test_a_grown_collection_has_the_words_and_values_of_its_originals(judged: settled.Judged) -> None:
    small = judged.collection
    large, originals = settled.grown(judged, 2000, seed=1)
    assert abs(len(large.occurrence_term) - 2000) < 200
    assert len({document.key for document in large.documents}) == len(originals)
    totals = np.zeros((2, len(small.terms)))
    for copy, original in enumerate(originals.tolist()):
        here, there = large.occurrences_of(copy), small.occurrences_of(original)
        assert (large.occurrence_term[here] == small.occurrence_term[there]).all()
        label = large.predictions.labels[copy]
        assert label == small.predictions.labels[original]
        np.add.at(totals[label], small.occurrence_term[there], judged.value[there])
    np.testing.assert_allclose(settled.true_totals(judged, originals), totals)
    same, itself = settled.grown(judged, len(small.occurrence_term), seed=1)
    assert itself.tolist() == list(range(40))
    assert (same.occurrence_term == small.occurrence_term).all()


def test_a_simulated_race_without_regret_tests_everything_and_is_right(judged: settled.Judged) -> None:
    large, originals = settled.grown(judged, 500, seed=2)
    rows = settled.race(judged, large, originals, preset("banzhaf", top_k=3, regret=0.0))
    assert sum(row["tests"] for row in rows) == len(large.occurrence_term)
    for row in rows:
        assert (row["regret_true"], row["covered"]) == (pytest.approx(0, abs=1e-9), 1.0)


def test_a_scan_that_was_not_run_is_marked_as_such() -> None:
    """Twice the documents of the largest scan: twice its time beyond the linear pass, which is the race's own."""
    rows = [
        {"strategy": "scan", "documents": 10, "extrapolated": False, "linear_seconds": 1.0, "beyond_seconds": 3.0},
        {"strategy": "race", "documents": 10, "extrapolated": False, "linear_seconds": 1.0, "beyond_seconds": 2.0},
        {"strategy": "race", "documents": 20, "extrapolated": False, "linear_seconds": 2.5, "beyond_seconds": 2.0},
    ]
    (row,) = growth.extrapolated(rows, [10, 20])
    assert (row["strategy"], row["documents"], row["extrapolated"]) == ("scan", 20, True)
    assert (row["linear_seconds"], row["beyond_seconds"]) == (2.5, 6.0)

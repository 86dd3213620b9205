"""What a verdict counts for: by hand, and in a run."""

from __future__ import annotations

import numpy as np
import pytest
from runs import finish, make_run

from anchorscope.errors import InputError
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.scoring.empty_anchor import EmptyAnchorRule
from anchorscope.settings import Settings, preset
from anchorscope.testing import KeywordPredictor


def anchors(rule: EmptyAnchorRule, precision: float, empty: float, *, robust: bool = False) -> bool:
    return bool(rule.anchors(np.array([True]), np.array([precision]), np.array([robust]), np.array([empty]))[0])


@pytest.mark.parametrize(
    ("lift", "precision", "empty", "counts"),
    [
        (0.0, 0.95, 0.99, True),  # nothing asked
        (0.5, 0.95, 0.90, True),  # half of the failures are gone, to the digit
        (0.5, 0.95, 0.91, False),
        (0.5, 1.00, 1.00, True),  # there was nothing to end
        (1.0, 0.99, 0.50, False),  # all of them must be gone
        (1.0, 1.00, 0.50, True),
    ],
)
def test_lift(lift: float, precision: float, empty: float, counts: bool) -> None:
    assert anchors(EmptyAnchorRule("keep", lift, "equal"), precision, empty) is counts


def test_robust_documents_have_no_anchors_where_they_are_dropped() -> None:
    assert anchors(EmptyAnchorRule("keep", 0.0, "equal"), 1.0, 0.97, robust=True)
    assert not anchors(EmptyAnchorRule("drop", 0.0, "equal"), 1.0, 0.97, robust=True)
    assert anchors(EmptyAnchorRule("drop", 0.0, "equal"), 1.0, 0.90, robust=False)


def test_values_of_documents_that_nothing_shakes_count_nothing() -> None:
    values, empty = np.array([0.4, 0.4, -0.2]), np.array([1.0, 0.5, 0.0])
    assert EmptyAnchorRule("keep", 0.0, "fragile").values(values, empty) == pytest.approx([0.0, 0.2, -0.2])
    assert EmptyAnchorRule("keep", 0.0, "equal").values(values, empty) is values


def test_a_lift_leaves_what_carries_the_prediction() -> None:
    """yes iff great occurs, removal: "great" ends every failure of its documents, "film" and "so" end none."""
    texts = ["great film", "so great", "great so film"]
    found = {}
    for lift in (0.0, 0.5):
        run = make_run(texts, model=KeywordPredictor("great"), perturbator=MaskTokenPerturbator(), tau=0.3, lift=lift)
        finish(run)
        found[lift] = {t.term: t.anchors for t in run.result()["yes"].terms}
    assert found[0.0]["film"] + found[0.0]["so"] > 0  # tau = 0.3 is easily passed
    assert found[0.5] == {"great": 3, "film": 0, "so": 0}


def test_weights_are_for_values() -> None:
    with pytest.raises(InputError, match="--weight fragile weighs values"):
        preset("paper", weight="fragile")
    assert Settings(weight="fragile").empty_anchor_rule == EmptyAnchorRule("keep", 0.0, "fragile")


def test_excess_needs_samples_without_the_token() -> None:
    with pytest.raises(InputError, match="'excess' compares samples with and without"):
        Settings(strategy="scan", aggregation="excess", keep="own")

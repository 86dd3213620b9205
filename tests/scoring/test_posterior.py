"""What draws of totals say: memberships and regret of a list."""

from __future__ import annotations

import numpy as np
import pytest

from anchorscope.scoring.posterior import summarise


def test_a_word_as_good_as_the_last_of_the_list_is_a_member() -> None:
    """Two of the words b, c and d have the second and third place, and nobody can say which; e has none."""
    draws = np.tile([3.0, 1.0, 1.0, 1.0 + 1e-15, 0.5], (50, 1))
    nobody = np.zeros(5, bool)
    found = summarise(draws, np.array([0, 1, 2]), 0.9, driver=nobody, against=nobody)
    assert found.membership.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert found.regret == pytest.approx(0.0)


def test_membership_is_the_share_of_draws() -> None:
    """Words a and b change places in one draw of four; the list of one word is a."""
    draws = np.array([[2.0, 1.0]] * 3 + [[1.0, 2.0]])
    nobody = np.zeros(2, bool)
    found = summarise(draws, np.array([0]), 0.9, driver=nobody, against=nobody)
    assert found.membership.tolist() == [0.75, 0.25]
    assert found.regret == pytest.approx(0.25 / 2)  # one draw of four gives away 1 of 2

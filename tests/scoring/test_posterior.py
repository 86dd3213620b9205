"""What draws of totals say: memberships and regret of a list."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anchorscope.scoring.posterior import LabelSums, all_totals, draw_totals, pooled_prior, quantiles, summarise


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


def of_one_word(n_documents: int, tests: list[float]) -> LabelSums:
    """A hundred words that do next to nothing, and one that does what its tests say: the last."""
    chances = np.random.default_rng(0)
    rows = [*chances.normal(0, 0.002, (100, 4)).tolist(), tests]
    return LabelSums.plain(
        np.array([30] * 100 + [n_documents]),
        np.array([len(row) for row in rows]),
        np.array([sum(row) for row in rows]),
        np.array([sum(value**2 for value in row) for row in rows]),
    )


def interval(sums: LabelSums) -> tuple[float, float]:
    """That of 90% for the total of the last word."""
    draws, _ = draw_totals(sums, pooled_prior(sums), np.random.default_rng(1), n=4000)
    low, high = np.quantile(draws[:, -1], [0.05, 0.95])
    return float(low), float(high)


def test_a_word_unlike_all_others_is_not_drawn_towards_them() -> None:
    """Five tests of .85 in 77 documents, where others do a thousandth: 65.45 is expected, and inside."""
    sums = of_one_word(77, [0.85] * 5)
    expected = all_totals(sums, pooled_prior(sums)).expected[-1]
    assert expected == pytest.approx(0.85 * 77, rel=0.01)
    low, high = interval(sums)
    assert low < 0.85 * 77 < high


def test_tests_that_agree_are_no_proof_that_all_documents_do() -> None:
    """A word that does nothing in one of 14 documents shows that in five tests seldom; more tests say more."""
    low, high = interval(of_one_word(77, [0.85] * 5))
    assert low < 0.85 * 77 * 13 / 14 and (high - low) / 2 == pytest.approx(0.13 * 0.85 * 77, rel=0.3)
    surer = interval(of_one_word(77, [0.85] * 40))
    assert (surer[1] - surer[0]) < (high - low) / 5


def test_where_tests_differ_or_all_is_tested_there_is_no_further_doubt() -> None:
    assert of_one_word(77, [0.9, 0.1, 0.0, 0.7, 0.0]).doubt_of_total[-1] == 0
    assert of_one_word(5, [0.85] * 5).doubt_of_total[-1] == 0


def test_a_word_that_came_out_best_by_luck_is_drawn_back() -> None:
    """A word of one document, measured as .3 with a standard deviation of .1 where others differ by no more than that:
    less is expected of it. Where measuring has no noise, it is .3 for certain."""
    chances = np.random.default_rng(0)
    rows = [*chances.normal(0, 0.1, (100, 4)).tolist(), [0.3]]
    tests = np.array([len(row) for row in rows])
    exact = LabelSums.plain(
        tests, tests, np.array([sum(row) for row in rows]), np.array([np.square(row).sum() for row in rows])
    )
    noisy = replace(exact, noise=0.01 * tests)
    assert interval(exact) == pytest.approx((0.3, 0.3))
    expected = all_totals(noisy, pooled_prior(noisy)).expected[-1]
    low, high = interval(noisy)
    assert 0 < expected < 0.2 and low < 0.1 and high > 0.2


def test_words_that_are_measured_without_noise_are_drawn_as_if_no_word_had_any() -> None:
    """The last word is measured with noise, or not: the others, and what is expected of them, stay to the last bit."""
    plain = of_one_word(30, [0.4, 0.5, 0.6])
    noise = np.where(np.arange(101) == 100, 0.3, 0.0)
    noisy = replace(plain, noise=noise)
    prior = pooled_prior(plain)
    draws, _ = draw_totals(plain, prior, np.random.default_rng(1))
    beside, _ = draw_totals(noisy, prior, np.random.default_rng(1))
    assert np.array_equal(draws[:, :100], beside[:, :100])
    assert np.array_equal(all_totals(plain, prior).expected[:100], all_totals(noisy, prior).expected[:100])
    assert not np.array_equal(draws[:, 100], beside[:, 100])


@pytest.mark.parametrize("n", [1, 2, 7, 400])
def test_quantiles_are_those_of_numpy_to_the_last_digit(n: int) -> None:
    """At the ends of an interval, in the middle, and beyond the first and the last draw."""
    draws = np.random.default_rng(n).standard_normal((n, 30))
    shares = [0.05, 0.95, 0.31, 0.5, 0.0001, 0.9999]
    expected = np.quantile(draws, shares, axis=0, method="weibull")
    assert np.array_equal(np.array(quantiles(draws, shares)), expected)

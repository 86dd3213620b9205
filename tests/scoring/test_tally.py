"""Counts add up in any order, and nothing is lost or counted twice."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import tallies, tally

from anchorscope.scoring.tally import Tally


def same(one: Tally, other: Tally) -> bool:
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(Tally))


@given(tallies(), tallies(), tallies())
def test_merging_is_associative_and_commutative(one: Tally, two: Tally, three: Tally) -> None:
    assert same((one + two) + three, one + (two + three))
    assert same(one + two, two + one)


@given(tallies())
def test_zero_changes_nothing(some: Tally) -> None:
    assert same(some + Tally.zero(2, 3), some)


VERDICTS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.booleans()), max_size=30)


def observed(start: Tally, verdicts: list[tuple[int, int, bool]]) -> Tally:
    labels, terms, anchor = (np.array([v[i] for v in verdicts], t) for i, t in enumerate((np.int64, np.int64, bool)))
    return start.observe(labels, terms, anchor)


@given(VERDICTS, st.integers(0, 30), st.randoms())
def test_verdicts_can_be_counted_in_parts_and_in_any_order(verdicts: list, cut: int, chances) -> None:
    whole = observed(Tally.zero(2, 3), verdicts)
    parts = observed(Tally.zero(2, 3), verdicts[:cut]) + observed(Tally.zero(2, 3), verdicts[cut:])
    shuffled = list(verdicts)
    chances.shuffle(shuffled)
    assert same(whole, parts)
    assert same(whole, observed(Tally.zero(2, 3), shuffled))


def test_observe_counts_repeated_pairs() -> None:
    """Term 1 of label 0: two anchors and a non-anchor; term 0 of label 1: a non-anchor."""
    counts = observed(Tally.zero(2, 2), [(0, 1, True), (0, 1, True), (0, 1, False), (1, 0, False)])
    assert counts.anchors.tolist() == [[0, 2], [0, 0]]
    assert counts.non_anchors.tolist() == [[0, 1], [1, 0]]


def test_values_are_summed_in_whole_millionths() -> None:
    """.25 - .5 = -.25, and 4e-7 is less than half a millionth: whole numbers, so no order of sums can matter."""
    labels, terms, anchor = np.array([0, 0, 0]), np.array([1, 1, 0]), np.array([True, False, True])
    counts = Tally.zero(1, 2).observe(labels, terms, anchor, np.array([0.25, -0.5, 4e-7]))
    assert counts.values.tolist() == [[0, -250_000]]


def test_observe_leaves_the_tally_it_came_from_alone() -> None:
    before = Tally.zero(1, 1)
    observed(before, [(0, 0, True)])
    assert before.anchors.tolist() == [[0]]


def test_what_is_skipped_can_be_taken_up_again() -> None:
    """3 skipped, 1 taken up again: 2. Pairs may repeat in one call."""
    counts = Tally.zero(1, 2).skip(np.array([0, 0]), np.array([1, 1]), np.array([2, 1]))
    assert counts.skip(np.array([0]), np.array([1]), np.array([-1])).skipped.tolist() == [[0, 2]]


def test_skipped_occurrences_are_untested() -> None:
    """5 occurrences, 1 anchor, 1 non-anchor, 2 skipped, 1 not met yet: 3 are open, whoever is to blame."""
    assert tally([1], [1], [3], skipped=[2]).untested.tolist() == [[3]]


def test_the_papers_filter_counts_skipped_as_non_anchors() -> None:
    """1 anchor, 1 non-anchor, 2 skipped of 5: 3 non-anchors, one occurrence still open, nothing skipped."""
    counted = tally([1], [1], [3], skipped=[2]).with_skipped_as_non_anchors()
    assert (counted.non_anchors.tolist(), counted.skipped.tolist(), counted.untested.tolist()) == ([[3]], [[0]], [[1]])

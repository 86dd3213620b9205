"""Bounds against the truth: every way in which the untested occurrences can turn out is enumerated.

A case is a small random tally with a few open occurrences; its *worlds* are all completions of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from strategies import completions, random_tally, tally

from anchorscope.scoring import bounds, entropy, probabilistic
from anchorscope.scoring.aggregation import Aggregation
from anchorscope.scoring.aggregations import AGGREGATIONS, aggregation, excess
from anchorscope.scoring.tally import Tally, ranking

ALPHAS = (0.2, 0.5, 0.8)
BOUNDED = [name for name, one in AGGREGATIONS.items() if one.is_bounded]


def cases(
    n: int, *, n_labels: tuple[int, ...] = (1, 2, 3), seed: int = 0, some_anchor: bool = False
) -> Iterator[Tally]:
    """Small tallies with one to five open occurrences; with ``some_anchor``, no label is without one."""
    chances = np.random.default_rng(seed)
    made = 0
    while made < n:
        shape = int(chances.choice(n_labels)), int(chances.integers(2, 5))
        known = random_tally(chances, *shape, int(chances.integers(1, 4)), 0)
        if some_anchor and not known.anchors.any(axis=1).all():
            continue
        open_ = np.zeros(shape, np.int64)
        for _ in range(chances.integers(1, 6)):
            open_[chances.integers(shape[0]), chances.integers(shape[1])] += 1
        made += 1
        yield tally(known.anchors, known.non_anchors, open_)


def top_lists(name: str, case: Tally, label: int, k: int, alpha: float) -> list[list[int]]:
    """The final top k of a label in every world."""
    score = aggregation(name).score
    return [ranking(score(w, alpha)[label], w.occurrences[label])[:k].tolist() for w in completions(case)]


# --- intervals ---


@pytest.mark.parametrize("name", [name for name in BOUNDED if not AGGREGATIONS[name].is_graded])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_final_score_lies_in_its_interval_in_every_world(name: str, alpha: float) -> None:
    """And so does the score shown now. (h: no violation with one, two or three classes; pr: smoothing included.)"""
    made = aggregation(name)
    for case in cases(80):
        low, high = made.interval(case, alpha)
        for world in (case, *completions(case)):
            value = made.score(world, alpha)
            assert (value >= low - 1e-9).all() and (value <= high + 1e-9).all()


@pytest.mark.parametrize("name", ["sq", "av"])
def test_both_ends_are_attained(name: str) -> None:
    for case in cases(80, seed=1):
        low, high = aggregation(name).interval(case, 0.5)
        values = np.stack([aggregation(name).score(world, 0.5) for world in completions(case)])
        assert values.min(axis=0) == pytest.approx(low)
        assert values.max(axis=0) == pytest.approx(high)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_both_ends_of_pr_before_smoothing_are_attained(alpha: float) -> None:
    for case in cases(120, seed=2):
        low, high = probabilistic.anchor_probability_interval(case, alpha=alpha)
        values = np.stack([probabilistic.anchor_probability(world, alpha=alpha) for world in completions(case)])
        assert values.min(axis=0) == pytest.approx(low)
        assert values.max(axis=0) == pytest.approx(high)


def test_pr_interval_by_hand() -> None:
    """alpha = 1/2; a = 1, 1; b = 0, 1; r = 1, 0: T = 4, L = 2, U = 3.

    First word: hi = 2 * 2/3 - 0 = 4/3 (it takes its anchor), lo = 2 * 1/2 - 1/2 = 1/2 (it does not).
    Second word: hi = 2 * 1/2 - 1/(4-2) = 1/2, lo = 2 * 1/3 - 1/(4-3) = -1/3.
    """
    low, high = probabilistic.anchor_probability_interval(tally([1, 1], [0, 1], [1, 0]), alpha=0.5)
    assert low[0] == pytest.approx([1 / 2, -1 / 3])
    assert high[0] == pytest.approx([4 / 3, 1 / 2])


@pytest.mark.parametrize("name", BOUNDED)
def test_the_interval_of_a_finished_run_is_a_point(name: str) -> None:
    counts = tally([[3, 1, 0], [1, 0, 2]], [[1, 2, 5], [0, 4, 2]])
    low, high = aggregation(name).interval(counts, 0.5)
    assert low == pytest.approx(high)
    assert low == pytest.approx(aggregation(name).score(counts, 0.5))


def test_total_interval_by_hand() -> None:
    """A value lies between -1 and 1, so 3 open occurrences move .25 to -2.75 and 3.25."""
    counts = tally([0], [1], [3])
    counts.values[0, 0] = 250_000
    low, high = aggregation("total").interval(counts, 0.5)
    assert (low[0, 0], high[0, 0]) == pytest.approx((-2.75, 3.25))


def test_the_interval_of_excess_holds_its_extremes() -> None:
    """Every open value at -1 or 1: the excess stays inside."""
    counts = tally([[1, 0]], [[1, 2]], [[2, 1]])
    counts.values[0] = [300_000, -100_000]
    low, high = aggregation("excess").interval(counts, 0.5)
    final = [
        excess(replace(counts, values=counts.values + 10**6 * np.array([[a, b]]))) for a in (-2, 2) for b in (-1, 1)
    ]
    assert (np.min(final, axis=0) >= low - 1e-9).all() and (np.max(final, axis=0) <= high + 1e-9).all()


def test_an_aggregation_of_an_outside_author_has_no_interval() -> None:
    made = Aggregation(name="theirs", help="somebody else's", reads="verdicts", score=lambda counts, _: counts.anchors)
    low, high = made.interval(tally([1], [1], [1]), 0.5)
    assert not made.is_bounded
    assert low[0, 0] == -np.inf and high[0, 0] == np.inf


@pytest.mark.parametrize("n_labels", [2, 3])
def test_entropy_is_bounded_over_the_box_of_each_word(n_labels: int) -> None:
    """The least entropy from corners, the greatest from stationary points; against every whole number in the box."""
    chances = np.random.default_rng(5)
    for _ in range(60):
        a, r = chances.integers(0, 4, (n_labels, 1)), chances.integers(0, 4, (n_labels, 1))
        low, high = np.sqrt(a), np.sqrt(a + r)
        grid = np.stack(np.meshgrid(*(np.arange(x, x + y + 1) for x, y in zip(a[:, 0], r[:, 0], strict=True))), axis=0)
        points = np.sqrt(grid.reshape(n_labels, -1))
        points = points[:, points.sum(axis=0) > 0]
        if points.shape[1]:
            entropies = entropy.entropy(points)
            assert entropy._least_entropy(low, high)[0] == pytest.approx(entropies.min())  # a corner is a point
            assert entropy._greatest_entropy(low, high)[0] >= entropies.max() - 1e-12


def test_the_greatest_entropy_is_no_looser_than_a_fine_grid_over_the_box() -> None:
    """Roots in [0, 1] x [1, 2] x [3, 3]: 200 x 200 points come within 1e-4 of the bound, from below."""
    low, high = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [2.0], [3.0]])
    x, y = np.meshgrid(np.linspace(0, 1, 200), np.linspace(1, 2, 200))
    found = entropy.entropy(np.stack([x.ravel(), y.ravel(), np.full(x.size, 3.0)])).max()
    assert entropy._greatest_entropy(low, high)[0] == pytest.approx(found, abs=1e-4)


# --- two words under pr ---


@pytest.mark.parametrize("alpha", ALPHAS)
def test_advantage_is_the_true_maximum_where_it_claims_to_be(alpha: float) -> None:
    """D(w, v) = max over worlds of A_w - A_v - kappa (n_w - n_v) if |n_w - n_v| <= (1 - alpha) T; else above it."""
    n_exact = 0
    for case in cases(120, n_labels=(1,), seed=3):
        n, total = case.occurrences[0], case.occurrences.sum()
        for v in range(len(n)):
            best = np.full(len(n), -np.inf)
            for world in completions(case):
                anchors, t = world.anchors[0], world.anchors.sum()
                kappa = (1 - alpha) * t / (total - alpha * t) if total else 0.0
                best = np.maximum(best, anchors - anchors[v] - kappa * (n - n[v]))
            found = probabilistic.advantage(case, 0, v, alpha)
            exact = np.abs(n - n[v]) <= (1 - alpha) * total
            n_exact += exact.sum() - 1
            assert found[exact] == pytest.approx(best[exact])
            assert (found >= best - 1e-9).all()
    assert n_exact > 200


# --- what is out, and what is certain ---


@pytest.mark.parametrize("name", ["sq", "av", "av5", "h", "pr"])
@pytest.mark.parametrize("k", [1, 2])
def test_what_is_out_of_reach_enters_the_top_k_in_no_world(name: str, k: int) -> None:
    """(pr without any anchor yet is the next test's.) Some terms must be out, or this says nothing."""
    n_out = 0
    for number, case in enumerate(cases(400 if name == "h" else 150, seed=4, some_anchor=True)):
        alpha = ALPHAS[number % 3]
        out = bounds.out_of_reach(aggregation(name), case, k, alpha)
        n_out += out.sum()
        for label in range(len(out)):
            reached = {term for top in top_lists(name, case, label, k, alpha) for term in top}
            assert not reached & set(np.flatnonzero(out[label]).tolist())
    assert n_out >= (5 if name == "h" else 100)


@pytest.mark.parametrize("case", [tally([0, 0], [1, 2]), tally([0, 0], [1, 1], [0, 1])])
def test_pr_bounds_hold_where_no_anchor_was_found(case: Tally) -> None:
    """No anchors, b = 1, 2: q~ = -1/3, -2/3, so the first word is the top 1; and it must not be out of reach.

    With b = 1, 1 and one open occurrence of the second word: either word can be the first.
    """
    out = bounds.out_of_reach(aggregation("pr"), case, 1, 0.5)[0]
    reached = {top[0] for top in top_lists("pr", case, 0, 1, 0.5)}
    assert not reached & set(np.flatnonzero(out).tolist())
    top = ranking(probabilistic.pr(case)[0], case.occurrences[0])
    assert bounds.is_final(aggregation("pr"), case, 0, top, 0.5) == (len(reached) == 1)


def test_total_compares_with_terms_of_the_label_only() -> None:
    """Two terms occur in the label, with values -.5 and -.2; the third occurs elsewhere only. Top 2: both are in."""
    counts = tally([0, 0, 0], [1, 1, 0])
    counts.values[0] = [-500_000, -200_000, 0]
    assert bounds.out_of_reach(aggregation("total"), counts, 2, 0.5).tolist() == [[False, False, False]]


def test_total_is_out_of_reach_by_hand() -> None:
    """Values 2, 1.5 and -1 with 0, 0 and 2 open occurrences, top 1: 1.5 < 2 is out, and -1 + 2 = 1 < 2 as well."""
    counts = tally([2, 2, 0], [0, 0, 1], [0, 0, 2])
    counts.values[0] = [2_000_000, 1_500_000, -1_000_000]
    assert bounds.out_of_reach(aggregation("total"), counts, 1, 0.5).tolist() == [[False, True, True]]


def test_h_skips_a_term_only_where_it_is_out_in_every_class() -> None:
    """Roots (5, 0), (0, 5), (1, 0) with one open in class 0, and (1, 1), whose entropy ln 2 is H_max; H_min = 0.

    Words 0 and 1 score 5 in their own class and 0 in the other's: out in one, so they stay in both. Word 2 reaches
    sqrt 2 at most, word 3 scores 0: out in both.
    """
    counts = tally([[25, 0, 1, 1], [0, 25, 0, 1]], [[1] * 4, [1] * 4], [[0, 0, 1, 0], [0, 0, 0, 0]])
    assert bounds.out_of_reach(aggregation("h"), counts, 1, 0.5).tolist() == [[False, False, True, True]] * 2


def settled_wrongly(name: str, case: Tally, label: int, k: int, alpha: float) -> bool:
    now = aggregation(name).score(case, alpha)[label]
    top = ranking(now, case.occurrences[label])[:k]
    is_true = all(other == top.tolist() for other in top_lists(name, case, label, k, alpha))
    return bounds.is_final(aggregation(name), case, label, top, alpha) and not is_true


@pytest.mark.parametrize("name", ["sq", "av", "pr"])
@pytest.mark.parametrize("k", [1, 2])
def test_a_final_list_is_the_list_of_every_world(name: str, k: int) -> None:
    """Order included. (pr: with some anchor; see above.)"""
    for number, case in enumerate(cases(120, seed=6, some_anchor=True)):
        for label in range(len(case.anchors)):
            assert not settled_wrongly(name, case, label, k, ALPHAS[number % 3])


@pytest.mark.parametrize("name", ["sq", "av", "pr"])
def test_a_list_that_is_the_same_in_every_world_is_nearly_always_found_to_be_final(name: str) -> None:
    """The check is exact for sq and av, and for pr wherever D is; so it must find most of the certain lists."""
    n_certain = n_final = 0
    for case in cases(150, n_labels=(1,), seed=7, some_anchor=True):
        worlds = top_lists(name, case, 0, 2, 0.5)
        if all(world == worlds[0] for world in worlds):
            n_certain += 1
            n_final += bounds.is_final(aggregation(name), case, 0, np.array(worlds[0], np.intp), 0.5)
    assert n_certain > 20
    assert n_final >= 0.95 * n_certain


def test_under_h_a_list_is_not_final_while_another_class_is_open() -> None:
    """Class 0 is fully tested: roots 2 (word 0) and sqrt 3 (word 1), class 1 has nothing but an open word 0.

    If word 0 is an anchor of class 1 too, its entropy is H_max, its factor 0, and word 1 leads class 0.
    """
    case = tally([[4, 3], [0, 0]], [[0, 0], [0, 0]], [[0, 0], [1, 0]])
    assert top_lists("h", case, 0, 1, 0.5) == [[0], [1]]
    assert not bounds.is_final(aggregation("h"), case, 0, np.array([0]), 0.5)


def test_a_final_list_under_h_is_the_list_of_every_world_while_the_label_itself_is_open() -> None:
    for case in cases(120, n_labels=(2, 3), seed=8):
        for label in np.flatnonzero(case.untested.any(axis=1)):
            assert not settled_wrongly("h", case, int(label), 1, 0.5)


def test_contenders_are_the_rival_and_the_word_it_threatens() -> None:
    """sq: word 0 has 4 to 5 anchors, word 1 has 3 to 5, word 2 has 0 to 1: only word 1 can pass word 0."""
    case = tally([4, 3, 0], [0, 0, 5], [1, 2, 1])
    assert bounds.contenders(aggregation("sq"), case, 0, np.array([0]), 0.5).tolist() == [0, 1]


def test_a_word_with_the_same_reach_loses_ties_by_occurrences() -> None:
    """sq, top 1: word 0 has 2 of 2; word 1 can reach 2 as well. With n = 2 it comes after, with n = 3 before."""
    assert bounds.is_final(aggregation("sq"), tally([2, 1], [0, 0], [0, 1]), 0, np.array([0]), 0.5)
    assert not bounds.is_final(aggregation("sq"), tally([2, 1], [0, 1], [0, 1]), 0, np.array([0]), 0.5)

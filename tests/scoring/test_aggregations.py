"""Every formula against values worked out by hand, and G_pr against the maximum of its likelihood.

The tiny corpus of the hand calculations, one label:

    term          great   film   the
    anchors A+      4       1      0        T+ = 5
    non-anchors A-  0       3      7        T- = 10
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from strategies import tally

from anchorscope import registry
from anchorscope.errors import UnknownNameError
from anchorscope.planning.scan import lowered_thresholds
from anchorscope.scoring import aggregations, probabilistic
from anchorscope.scoring.aggregation import Aggregation
from anchorscope.scoring.aggregations import AGGREGATIONS, aggregation
from anchorscope.scoring.bounds import out_of_optimistic_reach
from anchorscope.scoring.entropy import h
from anchorscope.scoring.tally import Tally, ranking

TINY = tally([4, 1, 0], [0, 3, 7])


# --- one class, by hand ---


def test_sq_by_hand() -> None:
    """sqrt(4), sqrt(1), sqrt(0)."""
    assert aggregations.sq(TINY).tolist() == [[2.0, 1.0, 0.0]]


def test_av_by_hand() -> None:
    """4/4, 1/4, 0/7."""
    assert aggregations.av(TINY).tolist() == [[1.0, 0.25, 0.0]]


def test_av_of_what_was_never_tested_is_zero() -> None:
    """0/0 = 0."""
    assert aggregations.av(tally([0], [0], [3])).tolist() == [[0.0]]


def test_av5_leaves_out_words_with_four_training_occurrences() -> None:
    """Floor 5, read from the training counts: 4 is too few, 5 is enough, whatever the collection says."""
    counts = tally([4, 1, 0], [0, 3, 7], training=[4, 5, 100])
    assert aggregations.av5(counts).tolist() == [[0.0, 0.25, 0.0]]


def test_pr_before_smoothing_by_hand() -> None:
    """alpha = 1/2: 2 A+/5 - A-/10 = 1.6, .4 - .3 = .1, -.7; they sum to 1."""
    assert probabilistic.anchor_probability(TINY)[0] == pytest.approx([1.6, 0.1, -0.7])


def test_pr_before_smoothing_with_another_alpha() -> None:
    """alpha = 1/4: 4 A+/5 - 3 A-/10 = 3.2, .8 - .9 = -.1, -2.1."""
    assert probabilistic.anchor_probability(TINY, alpha=0.25)[0] == pytest.approx([3.2, -0.1, -2.1])


def test_pr_by_hand() -> None:
    """q_min = -.7, |W| = 3: (q + .7) / (1 + 2.1) = 2.3/3.1, .8/3.1, 0."""
    assert probabilistic.pr(TINY)[0] == pytest.approx([2.3 / 3.1, 0.8 / 3.1, 0.0])


def test_pr_smooths_by_the_absolute_least_even_where_nothing_is_negative() -> None:
    """A+ = 3, 1 and A- = 1, 1: q = 1.5 - .5 = 1, .5 - .5 = 0: q_min = 0, nothing changes.

    A+ = 2, 2 and A- = 1, 1: q = .5, .5; q_min = .5: (.5 + .5) / (1 + 2 * .5) = .5.
    """
    assert probabilistic.pr(tally([3, 1], [1, 1]))[0] == pytest.approx([1.0, 0.0])
    assert probabilistic.pr(tally([2, 2], [1, 1]))[0] == pytest.approx([0.5, 0.5])


def test_pr_sums_to_one() -> None:
    """(sum q~ + W m) / (1 + W m) with sum q~ = 1."""
    assert probabilistic.pr(TINY).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_smoothing_keeps_the_order(alpha: float) -> None:
    counts = tally([5, 3, 2, 2, 0, 0], [1, 0, 9, 4, 0, 12])
    before, after = probabilistic.anchor_probability(counts, alpha=alpha)[0], probabilistic.pr(counts, alpha=alpha)[0]
    assert np.argsort(before).tolist() == np.argsort(after).tolist()
    assert after.min() >= 0


def test_pr_without_anchors_or_without_non_anchors() -> None:
    """0/0 = 0. No anchors: q = 0 - A-/T- = -.25, -.75; smoothed by .75: .5/2.5, 0. No non-anchors: q = 2 A+/T+."""
    assert probabilistic.pr(tally([0, 0], [1, 3]))[0] == pytest.approx([0.2, 0.0])
    assert probabilistic.anchor_probability(tally([1, 3], [0, 0]))[0] == pytest.approx([0.5, 1.5])


def test_pr_of_a_label_without_any_verdict_is_zero() -> None:
    assert probabilistic.pr(tally([0, 0], [0, 0], [2, 2])).tolist() == [[0.0, 0.0]]


def test_pr_inverse_ranks_the_other_way_round() -> None:
    """great, film, the becomes the, film, great."""
    down = ranking(probabilistic.pr(TINY)[0], TINY.occurrences[0])
    up = ranking(probabilistic.pr_inverse(TINY)[0], TINY.occurrences[0])
    assert down.tolist() == [0, 1, 2]
    assert up.tolist() == [2, 1, 0]


def test_total_by_hand() -> None:
    """Values .5 and .25 of one word, -.125 of another: their sums."""
    labels, terms, anchor = np.array([0, 0, 0]), np.array([0, 0, 1]), np.array([True, False, False])
    counts = Tally.zero(1, 2).observe(labels, terms, anchor, np.array([0.5, 0.25, -0.125]))
    assert aggregations.total(counts)[0] == pytest.approx([0.75, -0.125])


def test_excess_by_hand() -> None:
    """Values of .75 and .25 over 1 and 3 occurrences: a mean of .25, so .5 and -.5 are beyond the background."""
    counts = replace(Tally.zero(1, 2), values=np.array([[750_000, 250_000]]), occurrences=np.array([[1, 3]]))
    assert aggregations.excess(counts)[0] == pytest.approx([0.5, -0.5])


def test_base_counts_documents_and_not_occurrences() -> None:
    """Three classes; the word is in 3, 1 and 0 of their documents (and occurs more often): 3/4, 1/4, 0."""
    counts = tally([[0], [0], [0]], [[9], [1], [0]], documents=[[3], [1], [0]])
    assert aggregations.base(counts).tolist() == [[0.75], [0.25], [0.0]]


def test_base_of_a_word_in_no_document_is_zero() -> None:
    assert aggregations.base(tally([[0], [0]], [[0], [0]])).tolist() == [[0.0], [0.0]]


# --- several classes ---


def test_sq_av_and_pr_read_each_class_by_itself() -> None:
    """Class 1 has A+ = 1, 1 and A- = 0, 1: q = 2/2 - 0 = 1, 1 - 1 = 0, whatever stands in class 0."""
    counts = tally([[4, 0], [1, 1]], [[0, 6], [0, 1]])
    assert aggregations.sq(counts).tolist() == [[2.0, 0.0], [1.0, 1.0]]
    assert aggregations.av(counts).tolist() == [[1.0, 0.0], [1.0, 0.5]]
    assert probabilistic.anchor_probability(counts).tolist() == [[2.0, -1.0], [1.0, 0.0]]


def test_h_by_hand_with_two_classes() -> None:
    """Roots (2, 0), (1, 1), (2, 1) for classes 0 and 1.

    Entropies 0, ln 2 = .6931 and -(2/3 ln 2/3 + 1/3 ln 1/3) = .6365; H_min = 0, H_max = ln 2.
    Factors 1, 0 and 1 - .6365/.6931 = .0817.
    """
    counts = tally([[4, 1, 4], [0, 1, 1]], [[0, 0, 0], [0, 0, 0]])
    third = 1 - (math.log(3) - 2 / 3 * math.log(2)) / math.log(2)
    assert third == pytest.approx(0.0817, abs=1e-4)
    assert h(counts)[0] == pytest.approx([2.0, 0.0, 2 * third])
    assert h(counts)[1] == pytest.approx([0.0, 0.0, third])


def test_h_by_hand_with_three_classes() -> None:
    """Roots (1, 1, 1), (1, 1, 0), (3, 0, 0): entropies ln 3, ln 2, 0; factors 0, 1 - ln 2/ln 3 = .3691, 1."""
    counts = tally([[1, 1, 9], [1, 1, 0], [1, 0, 0]], [[0, 0, 0]] * 3)
    middle = 1 - math.log(2) / math.log(3)
    assert h(counts) == pytest.approx(np.array([[0, middle, 3.0], [0, middle, 0], [0, 0, 0]]))


def test_h_leaves_words_without_anchors_out_of_the_least_entropy() -> None:
    """Roots (1, 1), (2, 1) and (0, 0): the last has no entropy; H_min = .6365 is that of the second: factors 0, 1."""
    counts = tally([[1, 4, 0], [1, 1, 0]], [[0, 0, 5], [0, 0, 5]])
    assert h(counts) == pytest.approx(np.array([[0.0, 2.0, 0.0], [0.0, 1.0, 0.0]]))


def test_h_is_sq_where_all_entropies_are_equal() -> None:
    """H_max = H_min makes the factor 1."""
    counts = tally([[4, 0], [0, 9]], [[1, 1], [1, 1]])
    assert h(counts).tolist() == [[2.0, 0.0], [0.0, 3.0]]


def test_h_is_sq_where_all_entropies_are_equal_but_for_rounding() -> None:
    """Anchors 1 : 2 and 2 : 4 in the two classes have the same entropy, so the factor is 1 for both words."""
    counts = tally([[1, 2], [2, 4]], [[0, 0], [0, 0]])
    assert h(counts) == pytest.approx(aggregations.sq(counts))


def test_h_without_any_anchor_is_zero() -> None:
    assert h(tally([[0], [0]], [[1], [1]])).tolist() == [[0.0], [0.0]]


# --- G_pr is what the paper says it is: the maximum of the likelihood ---


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")  # of an older scipy
@pytest.mark.parametrize(
    ("anchors", "non_anchors", "alpha"),
    [
        ([6, 4, 2], [1, 4, 2], 0.5),
        ([5, 5, 4, 3], [2, 1, 3, 2], 0.7),
        ([4, 4], [3, 5], 0.5),
        ([9, 7, 8], [3, 2, 3], 0.3),
    ],
)
def test_pr_maximises_the_likelihood_inside_the_simplex(anchors: list, non_anchors: list, alpha: float) -> None:
    """Numerically: maximise sum A+ ln(alpha q + (1-alpha) p) + A- ln p over two simplices; q~ must come out.

    Only where q~ is nowhere negative: else the maximum stands on the boundary and q~ is not it.
    """
    a, b = np.array(anchors, float), np.array(non_anchors, float)
    closed = probabilistic.anchor_probability(tally(anchors, non_anchors), alpha=alpha)[0]
    assert (closed > 0).all(), "the case must be inside the simplex"
    n = len(a)

    def loss(x: np.ndarray) -> float:
        p, q = x[:n], x[n:]
        return -float(a @ np.log(alpha * q + (1 - alpha) * p) + b @ np.log(p))

    sums = [{"type": "eq", "fun": lambda x, s=s: x[s].sum() - 1} for s in (slice(0, n), slice(n, 2 * n))]
    best = minimize(
        loss,
        np.full(2 * n, 1 / n),
        bounds=[(1e-9, 1)] * (2 * n),
        constraints=sums,
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    assert best.success
    assert best.x[n:] == pytest.approx(closed, abs=2e-4)
    assert best.x[:n] == pytest.approx(b / b.sum(), abs=2e-4)


# --- pseudo-scores, lowered thresholds, the paper's filter ---


def test_pseudo_counts_by_hand() -> None:
    """A+ - (1 - alpha) (1 + 5)/(1 + 10) A-, alpha = 1/2: 4, 1 - 3 * 3/11 = .1818, -7 * 3/11 = -1.909."""
    assert probabilistic.pseudo_counts(TINY)[0] == pytest.approx([4, 1 - 9 / 11, -21 / 11])


def test_pseudo_counts_rank_as_pr_does_once_the_totals_are_large() -> None:
    """They are q~ times a factor, but for the 1 that both totals start with."""
    counts = tally([400, 100, 50, 0], [10, 300, 90, 700])
    pseudo, exact = probabilistic.pseudo_counts(counts)[0], probabilistic.anchor_probability(counts)[0]
    assert np.argsort(pseudo).tolist() == np.argsort(exact).tolist()


def test_lowered_thresholds_by_hand() -> None:
    """tau~ = .95 - .4 pseudo / N, N = 4, 4, 7: .95 - .4 = .55, .95 - .4 (2/11)/4, and not above tau for the third."""
    found = lowered_thresholds(TINY, tau=0.95, omega=0.4, alpha=0.5)[0]
    assert found == pytest.approx([0.55, 0.95 - 0.1 * 2 / 11, 0.95])


def test_lowered_thresholds_divide_by_the_occurrences_in_the_whole_collection() -> None:
    """4 anchors in class 0, but 16 more occurrences in class 1: .95 - .4 * 4/20 = .87."""
    counts = tally([[4], [0]], [[0], [16]])
    assert lowered_thresholds(counts, tau=0.95, omega=0.4, alpha=0.5)[0] == pytest.approx([0.87])


def test_lowered_thresholds_stay_within_omega_of_tau() -> None:
    """Pseudo-scores 50, -.5 (54/91) 90 and 3 over N = 50, 90, 3: clipped to tau - omega and tau."""
    counts = tally([[50, 0, 3]], [[0, 90, 0]])
    found = lowered_thresholds(counts, tau=0.95, omega=0.4, alpha=0.5)
    assert found[0] == pytest.approx([0.55, 0.95, 0.55])


@pytest.mark.parametrize(
    ("open_", "expected"),
    [([0, 0, 0], [False, True, True]), ([0, 4, 5], [False, False, True]), ([0, 3, 6], [False, True, False])],
)
def test_the_papers_filter_by_hand(open_: list, expected: list) -> None:
    """Top 1: the least pseudo-score of the group is 4 (great). Optimistic scores: 2/11 + r and -21/11 + r.

    With r = 4 for film: 4.18 >= 4 stays; r = 3: 3.18 is out. For the: r = 6 gives 4.09 (stays), r = 5 gives 3.09.
    """
    assert (
        out_of_optimistic_reach(aggregation("pr"), tally([4, 1, 0], [0, 3, 7], open_), 1, 0.5)[0].tolist() == expected
    )


def test_the_papers_filter_waits_until_the_group_is_full() -> None:
    """Three terms were met: a group of four is not full, so nothing is skipped."""
    assert not out_of_optimistic_reach(aggregation("pr"), tally([4, 1, 0, 0], [0, 3, 7, 0], [0, 0, 0, 0]), 4, 0.5).any()


# --- ranking ---


def test_ties_go_to_more_occurrences_and_then_to_the_earlier_term() -> None:
    """Scores .5, .5, .5, .9; occurrences 3, 4, 4, 1: 3 first by score, then 1 and 2 (4 each), then 0."""
    assert ranking(np.array([0.5, 0.5, 0.5, 0.9]), np.array([3, 4, 4, 1])).tolist() == [3, 1, 2, 0]


def test_the_last_bits_of_a_score_are_no_difference() -> None:
    """0.1 + 0.2 is 0.3 for us, so the term with more occurrences goes first."""
    assert ranking(np.array([0.1 + 0.2, 0.3]), np.array([1, 2])).tolist() == [1, 0]


def test_terms_that_do_not_occur_are_not_ranked() -> None:
    assert ranking(np.array([0.9, 0.1]), np.array([0, 1])).tolist() == [1]


# --- names ---


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_every_aggregation_has_a_name_and_answers_labels_by_terms(name: str) -> None:
    found = aggregation(name)
    assert found.name == name and found.help
    assert found.score(tally([[1, 0], [0, 2]], [[1, 1], [1, 1]]), 0.5).shape == (2, 2)


FIELDS = ("can_race", "prunes", "is_bounded", "optimistic", "is_graded", "joins_labels")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("total", {"can_race", "prunes", "is_bounded", "is_graded"}),
        ("excess", {"is_bounded", "is_graded"}),
        ("pr", {"can_race", "prunes", "is_bounded", "optimistic"}),
        ("sq", {"can_race", "prunes", "is_bounded", "optimistic"}),
        ("av", {"can_race", "prunes", "is_bounded", "optimistic"}),
        ("av5", {"can_race", "prunes", "is_bounded", "optimistic"}),
        ("h", {"prunes", "is_bounded", "optimistic", "joins_labels"}),
        ("base", {"is_bounded"}),
        ("pr-inverse", {"is_bounded"}),
    ],
)
def test_what_is_known_about_each_of_the_papers_and_ours(name: str, known: set[str]) -> None:
    assert {field for field in FIELDS if getattr(AGGREGATIONS[name], field)} == known


def test_alpha_reaches_the_probabilistic_aggregations() -> None:
    """alpha = 1/4: q = 3.2, -.1, -2.1; smoothed by 2.1 over three words."""
    assert aggregation("pr").score(TINY, 0.25)[0] == pytest.approx(np.array([5.3, 2.0, 0.0]) / 7.3)
    assert aggregation("pr-inverse").score(TINY, 0.25)[0] == pytest.approx(-np.array([5.3, 2.0, 0.0]) / 7.3)


def test_an_unknown_aggregation_lists_near_misses() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'sq'"):
        aggregation("sqq")


def test_an_outside_author_adds_an_aggregation_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point of the group anchorscope.aggregation: its object is what the name stands for."""

    class Entry:
        name = "count"

        @staticmethod
        def load():
            return Aggregation(
                name="count",
                help="the number of anchors",
                reads="verdicts",
                score=lambda counts, alpha: counts.anchors.astype(float),
            )

    monkeypatch.setattr(registry, "entry_points", lambda group: [Entry] if group == "anchorscope.aggregation" else [])
    assert aggregation("count").score(TINY, 0.5).tolist() == [[4.0, 1.0, 0.0]]
    assert "count" in registry.names("aggregation")


def test_scores_are_functions_of_the_counts_alone() -> None:
    """Two halves counted apart and merged score as the whole does."""
    half, other = tally([3, 1, 0], [0, 1, 4]), tally([1, 0, 0], [0, 2, 3])
    merged: Tally = half + other
    for name in AGGREGATIONS:
        assert aggregation(name).score(merged, 0.5).tolist() == aggregation(name).score(TINY, 0.5).tolist()

"""Luck and words told apart where a model seldom changes its mind, on tests whose rates are known."""

from __future__ import annotations

import numpy as np
import pytest

from anchorscope.scoring.rates import WordTests, doubts

N_WORDS = 300
MARGIN = 1.2


def found_at(rates: np.ndarray, seed: int, expected: np.ndarray | None = None, size: float = 0.9) -> WordTests:
    """Words with 2 to 60 tests each, which find ``size`` at the words' rates, and nothing else."""
    chance = np.random.default_rng(seed)
    n = chance.integers(2, 60, len(rates))
    hits = chance.binomial(n, rates).astype(float)
    foreseen = np.zeros(len(rates)) if expected is None else expected * n
    return WordTests(n, size * hits, np.where(hits > 0, size, 0.0), hits, 0 * hits, foreseen, 0.0)


def doubted(tests: WordTests) -> np.ndarray:
    """The doubts about all words."""
    generator = np.random.default_rng(0)
    return doubts(tests, np.arange(len(tests.n)), margin=MARGIN, generator=generator)


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2])
def test_words_that_are_all_alike_are_all_in_doubt(rate: float) -> None:
    """Some of 300 words are lucky; in at most one of twelve collections one is taken for another than that."""
    least = [doubted(found_at(np.full(N_WORDS, rate), seed)).min() for seed in range(12)]
    assert sum(doubt < 0.05 for doubt in least) <= 1


def test_a_word_that_turns_most_documents_is_found_among_words_that_turn_few() -> None:
    rates = np.full(N_WORDS, 0.03)
    rates[:5] = 0.8
    tests = found_at(rates, 1)
    tests.n[:5] = 40
    tests.above[:5] = 32.0
    tests.total[:5] = 0.9 * 32.0
    found = doubted(tests)
    assert (found[:5] < 0.05).all()
    assert (found[5:] >= 0.05).mean() > 0.98


def test_what_a_surrogate_foresaw_of_many_words_speaks_for_each_of_them() -> None:
    """With the same hits: where words with a high expectation have high rates, another such word is in less doubt."""
    foreseen = np.zeros(N_WORDS)
    foreseen[:100] = np.linspace(0.05, 0.3, 100)
    rates = 0.02 + foreseen
    with_it, without = (doubted(found_at(rates, 2, expected=known)) for known in (foreseen, None))
    assert with_it[50:100].mean() < without[50:100].mean() - 0.1


def test_what_one_word_shows_of_the_surrogate_is_not_believed_of_others() -> None:
    """One strong word that was foreseen makes no case for a word that was foreseen and has one hit of three."""
    foreseen = np.zeros(N_WORDS)
    foreseen[:2] = 0.8
    rates = np.full(N_WORDS, 0.02)
    tests = found_at(rates, 3, expected=foreseen)
    tests.n[:2] = 50, 3
    tests.above[:2] = 45.0, 1.0
    tests.total[:2] = 0.9 * 45, 0.9
    found = doubted(tests)
    assert found[0] < 0.05
    assert found[1] > 0.05


def test_a_model_that_moves_with_every_word_does_not_jump() -> None:
    n = np.full(50, 9)
    moved = n.astype(float)
    tests = WordTests(n, 0.1 * moved, 0.2 * moved, moved, 0 * moved, 0 * moved, 0.0)
    assert doubted(tests).tolist() == [0.0] * 50


def test_where_no_test_finds_anything_every_word_is_in_doubt() -> None:
    nothing = np.zeros(50)
    tests = WordTests(np.full(50, 9), nothing, nothing, nothing, nothing, nothing, 0.0)
    assert doubted(tests).tolist() == [1.0] * 50


def test_what_speaks_against_a_label_is_asked_of_the_other_sign() -> None:
    rates = np.full(N_WORDS, 0.03)
    tests = found_at(rates, 4)
    tests.n[0] = 40
    tests.below[0] = 30.0
    tests.total[0] = -0.9 * 30.0
    assert doubted(tests)[0] == 1.0
    assert doubted(tests.against())[0] < 0.05


def test_small_effects_that_are_frequent_count_beside_one_that_is_huge() -> None:
    """By size 30 effects of .05 beside one of .9 are less than two; by number they are 30."""
    tests = found_at(np.full(N_WORDS, 0.02), 5, size=0.05)
    tests.n[0], tests.above[0], tests.total[0] = 40, 30.0, 30 * 0.05
    tests.n[1], tests.above[1], tests.total[1], tests.greatest[1] = 40, 1.0, 0.9, 0.9
    assert doubted(tests)[0] < 0.05


def test_large_effects_count_beside_small_ones_that_all_words_have() -> None:
    """By number a word with 20 effects of .9 in 50 tests is like any other, whose effects are of .01; by size it is
    not."""
    tests = found_at(np.full(N_WORDS, 0.4), 6, size=0.01)
    tests.n[0], tests.above[0], tests.total[0], tests.greatest[0] = 50, 20.0, 20 * 0.9, 0.9
    assert doubted(tests)[0] < 0.05

"""What any word does: learnt from a survey, and not from the few words that do far more."""

from __future__ import annotations

import numpy as np
import pytest

from anchorscope.scoring.placebo import PRIOR, features, fit


def survey(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Features of n random occurrences, and the probability of each one's document."""
    chance = np.random.default_rng(0)
    p = chance.uniform(0.5, 1.0, n)
    words = chance.integers(1, 4, n).astype(float)
    return features(p, words, words * chance.integers(1, 9, n)), p


def test_a_model_that_goes_by_length_is_all_placebo() -> None:
    x, _ = survey()
    told = 0.1 * x[:, 2] + 0.02 * x[:, 3]
    assert x @ fit(x, told)[0] == pytest.approx(told, abs=1e-3)


def test_a_coin_that_is_thrown_again_is_all_placebo() -> None:
    x, p = survey(400)
    thrown = p - np.random.default_rng(1).random(len(p))
    assert x @ fit(x, thrown)[0] == pytest.approx(p - 0.5, abs=0.1)


def test_the_few_words_that_do_far_more_do_not_count() -> None:
    x, _ = survey()
    value = np.zeros(len(x))
    value[::10] = 0.9
    assert np.abs(x @ fit(x, value)[0]).max() < 0.02


def test_without_a_survey_nothing_is_known() -> None:
    mean, covariance = fit(np.empty((0, 4)), np.empty(0))
    assert mean.tolist() == [0.0] * 4
    assert (np.diag(covariance) == PRIOR**2).all()


def test_what_is_unlike_the_survey_is_uncertain() -> None:
    """A term of eight words in a document, where the survey has one to three; and the more is surveyed, the less."""
    noise = np.random.default_rng(2).normal(0, 0.2, 400)

    def deviation(n: int, n_words: float) -> float:
        x, _ = survey(n)
        _, covariance = fit(x, noise[:n])
        asked = features(np.array([0.6]), np.array([n_words]), np.array([4 * n_words]))[0]
        return float(np.sqrt(asked @ covariance @ asked))

    assert deviation(60, 8.0) > 2 * deviation(60, 2.0)
    assert deviation(400, 8.0) < deviation(60, 8.0)


def test_a_survey_that_finds_nothing_says_so_of_documents_unlike_its_own() -> None:
    """All 30 tests in documents of probability 0.5, none with an effect: a word that moves one of 0.8 by 0.3 is unlike
    any word; so it is if two tests of a strong word are among them. Where a third of the tests find something, or there
    are too few of them, what any word does there is open."""
    words = np.ones(30)
    x = features(np.full(30, 0.5), words, 4 * words)
    asked = features(np.array([0.8]), np.ones(1), np.full(1, 4.0))[0]

    def deviation(value: np.ndarray) -> float:
        _, covariance = fit(x[: len(value)], value)
        return float(np.sqrt(asked @ covariance @ asked))

    assert deviation(np.zeros(30)) < 0.001
    assert deviation(np.repeat([0.4, 0.0], [2, 28])) < 0.001
    assert deviation(np.repeat([0.4, 0.0], [10, 20])) > 0.1
    assert deviation(np.zeros(10)) > 0.1

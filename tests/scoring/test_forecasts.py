"""Sums of a sample of the documents, and what follows from them: noise, drivers, and numbers that stay numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.forecasts import LabelForecast
from anchorscope.scoring.running_sums import RunningSums
from anchorscope.scoring.tally import Tally

N_TERMS = 30
TOTAL = aggregation("total")


def sums_of(values: np.ndarray, *, n_documents: int = 40, **given: np.ndarray) -> RunningSums:
    """Sums of one label in which every term is tested in as many documents as there are rows of values."""
    documents = np.full((1, N_TERMS), n_documents)
    sums = RunningSums.zero(documents, given.pop("expected_of_all", None))
    for row, value in enumerate(values):
        columns = dict.fromkeys(("anchors", "noise", "expected"), np.zeros(N_TERMS))
        columns |= {name: column[row] for name, column in given.items()}
        sums.count(0, np.arange(N_TERMS), value, **columns)
    return sums


def compare(sums: RunningSums, label: int, value: np.ndarray, repeat: np.ndarray, noise: float) -> None:
    """Second measurements of documents that hold every term once; (documents, terms)."""
    document, term = np.indices(value.shape)
    columns = np.full(value.size, label), document.ravel(), term.ravel(), value.ravel(), np.full(value.size, noise)
    sums.compare(*columns, repeat.ravel())


def forecast_of(sums: RunningSums) -> LabelForecast:
    tally = replace(Tally.zero(1, N_TERMS), occurrences=sums.documents, documents=sums.documents)
    return LabelForecast(sums, 0, tally, TOTAL, alpha=0.5, k=5, key=(0, 0))


def test_second_measurements_say_how_good_the_variances_are() -> None:
    """Told 0.04; two measurements differ with a variance of 0.01: a quarter of the noise is left."""
    chance = np.random.default_rng(0)
    value, repeat = chance.normal(0.2, 0.1, (2, 40, N_TERMS))
    sums = sums_of(value, noise=np.full((40, N_TERMS), 0.04))
    compare(sums, 0, value, repeat, noise=0.04)
    assert TOTAL.additive is not None
    assert sums.of_label(0, TOTAL.additive).noise == pytest.approx(np.full(N_TERMS, 40 * 0.01), rel=0.1)


def test_where_all_is_tested_the_interval_is_that_of_the_noise() -> None:
    """Where values differ much more than measuring does: 40 times .01."""
    values = np.random.default_rng(0).normal(0.1, 1.0, (40, N_TERMS))
    exact = forecast_of(sums_of(values)).forecast
    noisy = forecast_of(sums_of(values, noise=np.full((40, N_TERMS), 0.01))).forecast
    assert (exact.high - exact.low).max() < 1e-9
    assert (noisy.high - noisy.low).mean() == pytest.approx(2 * 1.645 * np.sqrt(40 * 0.01), rel=0.1)


def test_a_surrogate_that_is_right_to_the_last_digit_leaves_numbers() -> None:
    """The sums of squares then differ by rounding alone, which may be below 0."""
    expected = np.tile(np.linspace(-0.3, 0.7, N_TERMS) / 3, (7, 1))
    sums = sums_of(expected.copy(), expected=expected, expected_of_all=40 * expected[:1])
    forecast = forecast_of(sums).forecast
    assert np.isfinite(forecast.low).all() and np.isfinite(forecast.high).all()


def test_a_word_is_no_driver_where_only_the_surrogate_speaks_for_it() -> None:
    """Much is expected of nine words; the tests of eight of them say so, those of the other say nothing."""
    chance = np.random.default_rng(0)
    values = chance.normal(0, 0.001, (2, N_TERMS))
    expected = np.zeros((2, N_TERMS))
    expected[:, :9] = 0.3
    values[:, :9] = chance.normal(0.3, 0.1, (2, 9))
    values[:, 1] = -0.001
    now = forecast_of(sums_of(values, expected=expected, expected_of_all=40 * expected[:1]))
    named = now.contenders[now.forecast.driver].tolist()
    assert 0 in named and 1 not in named


def test_where_values_are_seldom_large_few_tests_say_less() -> None:
    """A word whose first five tests bring nothing has a wider interval among words that do a lot in one document of
    eight than among words that always do a little, though the words' means are alike."""
    chance = np.random.default_rng(0)
    seldom = np.where(chance.random((5, N_TERMS)) < 1 / 8, 0.8, 0.0)
    always = chance.normal(0.1, 0.03, (5, N_TERMS))
    seldom[:, 0] = always[:, 0] = 0.0
    normality, widths = [], []
    for values in (seldom, always):
        sums = sums_of(values)
        assert TOTAL.additive is not None
        normality.append(sums.of_label(0, TOTAL.additive).normality[0])
        forecast = forecast_of(sums)
        word = int(np.flatnonzero(forecast.contenders == 0)[0])
        widths.append(forecast.forecast.high[word] - forecast.forecast.low[word])
    assert normality[0] < normality[1] / 3
    assert widths[0] > 2 * widths[1]


def test_the_words_that_do_most_do_not_move_the_centre() -> None:
    """A third of the words does a lot: what is usual is still what the other words do."""
    values = np.random.default_rng(0).normal(0.0, 0.01, (6, N_TERMS))
    values[:, :10] += 0.5
    assert abs(forecast_of(sums_of(values)).prior.centre) < 0.01


def test_a_word_of_which_much_is_expected_has_no_more_to_beat() -> None:
    """Every word does 0.02 more than expected; the first, expected to do 0.05, does 0.07, and is told apart."""
    chance = np.random.default_rng(0)
    expected = np.full((8, N_TERMS), 0.002)
    expected[:, 0] = 0.05
    values = expected + chance.normal(0.02, 0.004, (8, N_TERMS))
    now = forecast_of(sums_of(values, expected=expected, expected_of_all=40 * expected[:1]))
    named = now.contenders[now.forecast.driver].tolist()
    assert 0 in named and len(named) <= 2


def test_second_measurements_of_other_labels_count_half() -> None:
    """Those of the label show a quarter of the noise that was told, those of the other all of it."""
    sums = RunningSums.zero(np.full((2, N_TERMS), 400))
    chance = np.random.default_rng(0)
    for label, deviation in ((0, 0.1), (1, 0.2)):
        value, repeat = chance.normal(0.2, deviation, (2, 200, N_TERMS))
        nothing = np.zeros(N_TERMS)
        for row in value:
            told = {"anchors": nothing, "noise": np.full(N_TERMS, 0.04), "expected": nothing}
            sums.count(label, np.arange(N_TERMS), row, **told)
        compare(sums, label, value, repeat, noise=0.04)
    assert TOTAL.additive is not None
    # (0.25 + (0.25 + 1)) / (1 + 2) and (1 + (0.25 + 1)) / (1 + 2) of what was told, 200 times.
    for label, factor in ((0, 0.5), (1, 0.75)):
        noise = sums.of_label(label, TOTAL.additive).noise
        assert noise == pytest.approx(np.full(N_TERMS, 200 * 0.04 * factor), rel=0.05)

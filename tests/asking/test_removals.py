"""AOPC^k and the oracle against slow versions of their definitions, to the last digits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorscope.asking.removals import Removals, removal_oracle
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.predictors import as_predictor
from anchorscope.testing import KeywordPredictor, WeightPredictor
from anchorscope.types import Predictor

WEIGHTS = {"great": 1.7, "fine": 0.9, "bad": -1.9, "dull": -1.1, "film": 0.21, "so": -0.13}
WORDS = ("great", "Great", "GREAT", "fine", "bad", "dull", "film", "so", "cast", "plot")
TERMS = ("great", "fine", "bad", "dull", "film", "so", "cast", "plot", "never")
LABELS = ("no", "yes")


def model() -> WeightPredictor:
    return WeightPredictor(WEIGHTS, bias=0.05)


def probability(words: Sequence[str], label: str) -> float:
    yes = 1 / (1 + math.exp(-(0.05 + sum(WEIGHTS.get(word.casefold(), 0.0) for word in words))))
    return yes if label == "yes" else 1 - yes


def documents_of(texts: Sequence[str], label: str) -> list[list[str]]:
    return [text.split() for text in texts if (probability(text.split(), "yes") > 0.5) == (label == "yes")]


def slow_aopc(texts: Sequence[str], top: Sequence[str], label: str) -> float:
    """The formula as it stands: 1/(k+1) times the average over S[c] of the sum over i of f(d) - f(d^i)."""
    chosen = documents_of(texts, label)
    total = 0.0
    for words in chosen:
        for i in range(1, len(top) + 1):
            left = [word for word in words if word.casefold() not in top[:i]]
            total += probability(words, label) - probability(left, label)
    return total / len(chosen) / (len(top) + 1)


def slow_oracle(texts: Sequence[str], label: str) -> list[str]:
    drops: dict[str, float] = {}
    for words in documents_of(texts, label):
        for term in {word.casefold() for word in words}:
            left = [word for word in words if word.casefold() != term]
            drops[term] = drops.get(term, 0.0) + probability(words, label) - probability(left, label)
    return sorted(drops, key=lambda term: (-round(drops[term], 9), term))


def aopc(predictor: Predictor, texts: list[str], top: list[str], label: str) -> float:
    return Removals(predictor, texts, label).aopc(top)


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join), min_size=1, max_size=6)
TOP = st.lists(st.sampled_from(TERMS), min_size=1, max_size=6, unique=True)


@given(TEXTS, TOP, st.sampled_from(LABELS))
def test_aopc_is_its_definition(texts: list[str], top: list[str], label: str) -> None:
    if documents_of(texts, label):
        assert aopc(model(), texts, top, label) == pytest.approx(slow_aopc(texts, top, label), abs=1e-14)


def test_aopc_by_hand() -> None:
    """yes iff great occurs. S[yes] = "great film", "great". Removing film, then great: drops 0 and 1 in both.

    AOPC^2 of (film, great) = (0 + 1) / 3; of (great, film) = (1 + 1) / 3.
    """
    texts = ["great film", "bad film", "great"]
    assert aopc(KeywordPredictor("great"), texts, ["film", "great"], "yes") == pytest.approx(1 / 3, abs=1e-15)
    assert aopc(KeywordPredictor("great"), texts, ["great", "film"], "yes") == pytest.approx(2 / 3, abs=1e-15)


def test_aopc_averages_over_the_documents_predicted_the_label() -> None:
    """Three "yes" documents, one of them with another keyword: great's removal costs 1 in two of three: 2/3 / 2."""
    texts = ["great film", "great", "superb", "film"]
    assert aopc(KeywordPredictor("great", "superb"), texts, ["great"], "yes") == pytest.approx(1 / 3, abs=1e-15)


def test_the_order_of_the_texts_changes_the_last_digits_at_most() -> None:
    texts = ["great film", "so fine film", "great so", "fine cast", "film"]
    assert aopc(model(), texts, ["great", "fine"], "yes") == pytest.approx(
        aopc(model(), texts[::-1], ["great", "fine"], "yes"), abs=1e-14
    )


@given(TEXTS, TOP)
def test_the_curve_holds_the_aopc_of_every_prefix(texts: list[str], top: list[str]) -> None:
    if documents_of(texts, "yes"):
        removals = Removals(model(), texts, "yes")
        assert removals.curve(top) == pytest.approx([removals.aopc(top[: i + 1]) for i in range(len(top))], abs=1e-14)


def test_an_empty_list_drops_nothing() -> None:
    assert aopc(model(), ["great film"], [], "yes") == 0.0


@given(TEXTS, st.sampled_from(LABELS))
def test_the_oracle_is_its_definition(texts: list[str], label: str) -> None:
    if documents_of(texts, label):
        assert Removals(model(), texts, label).oracle() == slow_oracle(texts, label)


def test_the_oracle_knows_only_its_candidates_and_the_best_k() -> None:
    texts = ["great fine film", "great cast"]
    assert removal_oracle(model(), texts, "yes", k=2) == ["great", "fine"]
    assert removal_oracle(model(), texts, "yes", candidates=["film", "fine"], k=5) == ["fine", "film"]


@pytest.mark.parametrize("size", [1, 3])
def test_batches_change_nothing(size: int, monkeypatch) -> None:
    texts = ["great film", "so fine film", "great so", "fine cast", "film"]
    whole = Removals(model(), texts, "yes")
    expected = whole.aopc(["great", "film"]), whole.oracle()
    monkeypatch.setattr("anchorscope.asking.removals.TEXTS_AT_ONCE", size)
    parts = Removals(model(), texts, "yes")
    assert (parts.aopc(["great", "film"]), parts.oracle()) == expected


def test_equal_texts_are_asked_once() -> None:
    """Two copies and two removals that leave "film": the model is asked about the three texts, then about one."""

    class Counting(WeightPredictor):
        asked: list = []  # noqa: RUF012

        def predict(self, texts: Sequence[str]) -> np.ndarray:
            self.asked.extend(texts)
            return super().predict(texts)

    counting = Counting(WEIGHTS, bias=0.05)
    aopc(counting, ["great film", "great film", "fine great film"], ["great"], "yes")
    assert sorted(counting.asked) == sorted(["great film", "great film", "fine great film", "film", "fine film"])


def test_punctuation_and_gaps_around_a_removed_word_go_with_it() -> None:
    """ "Great, a GREAT film." without great is ", a film."; the model is asked about that text."""

    class Noting(WeightPredictor):
        def predict(self, texts: Sequence[str]) -> np.ndarray:
            noted.extend(texts)
            return super().predict(texts)

    noted: list[str] = []
    aopc(Noting(WEIGHTS), ["Great, a GREAT film."], ["great"], "yes")
    assert noted[-1] == ", a film."


# --- what is refused ---


def labels_only(texts: list[str]) -> list[str]:
    return ["yes" if "great" in text else "no" for text in texts]


def test_a_predictor_of_labels_only_is_refused() -> None:
    predictor = as_predictor(labels_only, labels=["no", "yes"])
    predictor.predict(["great"])  # shows that it knows labels only
    with pytest.raises(InputError, match="needs probabilities"):
        aopc(predictor, ["great film"], ["great"], "yes")


def test_a_predictor_of_labels_only_is_refused_at_the_first_call() -> None:
    with pytest.raises(InputError, match="needs probabilities"):
        aopc(as_predictor(labels_only, labels=["no", "yes"]), ["great film"], ["great"], "yes")


def test_an_unknown_label_is_refused_with_a_near_miss() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'yes'"):
        aopc(model(), ["great film"], ["great"], "yess")


def test_a_label_that_is_never_predicted_is_refused() -> None:
    with pytest.raises(InputError, match="None of the 1 texts is predicted 'no'"):
        aopc(model(), ["great film"], ["great"], "no")


def test_the_list_matches_by_the_key_of_the_tallies() -> None:
    """NOTES 19: words match by the same key as the tallies, so "Great" stands for great."""
    assert aopc(model(), ["great film"], ["Great"], "yes") == aopc(model(), ["great film"], ["great"], "yes")

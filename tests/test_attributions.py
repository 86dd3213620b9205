"""LIME and SHAP as lists of words: on a model whose weights are known, both find its words and nothing else."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from anchorscope.errors import MissingPackageError
from anchorscope.evaluation.attributions import LocalMethod, mean_absolute, top
from anchorscope.evaluation.lime import LIME
from anchorscope.evaluation.shap import SHAP
from anchorscope.testing import WeightPredictor
from anchorscope.text.words import split, terms

MODEL = WeightPredictor({"great": 2.0, "fine": 0.7, "bad": -2.0, "dull": -1.0})
TEXTS = ["a great film", "Great, a great but dull film!", "a bad film", "a fine film", "so dull", "?!"]

METHODS = pytest.mark.parametrize("method", [LIME, SHAP], ids=["lime", "shap"])


@METHODS
def test_it_finds_the_words_of_the_model(method: LocalMethod) -> None:
    found = method.weights(MODEL, TEXTS, samples=300, seed=1)
    assert top(found["yes"], 2) == ["great", "fine"] or top(found["yes"], 2) == ["great", "dull"]
    assert top(found["no"], 2) == ["bad", "dull"]
    assert max(found["yes"][word] for word in ("a", "film", "but")) < 0.1 * found["yes"]["great"]


@METHODS
def test_terms_are_those_of_the_texts_of_the_label(method: LocalMethod) -> None:
    """Cut and written as in the tallies: no capitals, no punctuation; "bad" is in no text that is predicted yes."""
    found = method.weights(MODEL, TEXTS, samples=100, seed=1)
    predicted = MODEL.predict(TEXTS).argmax(axis=1)
    for number, label in enumerate(MODEL.labels):
        texts = [text for text, row in zip(TEXTS, predicted) if row == number]
        assert set(found[label]) == {t for text in texts for t in terms(split(text)) if t is not None}


@METHODS
def test_the_seed_alone_decides(method: LocalMethod) -> None:
    np.random.seed(5)
    first = method.weights(MODEL, TEXTS, samples=60, seed=3)
    state = np.random.get_state()[1].tolist()
    again = method.weights(MODEL, TEXTS, samples=60, seed=3)
    assert first == again
    assert np.random.get_state()[1].tolist() == state, "the caller's random numbers are left alone"


@METHODS
def test_local_weights_have_the_sign_of_their_effect(method: LocalMethod) -> None:
    found = method.local_weights(MODEL, "a great but dull film", "yes", samples=300, seed=0)
    assert found["great"] > 0.2 and found["dull"] < -0.05 and abs(found["film"]) < 0.05


@METHODS
def test_a_sign_is_a_word_where_it_is_a_term(method: LocalMethod) -> None:
    """The model sees exclamation marks alone; three in a row are one term, and commas are none."""

    class Marks(WeightPredictor):
        def predict(self, texts):
            yes = np.array([0.9 if "!" in text else 0.1 for text in texts])
            return np.stack([1 - yes, yes], axis=1)

    texts = ["so good!", "a film, so good!!!"]
    found = method.weights(Marks({}), texts, samples=100, signed=True, kinds="words,signs")["yes"]
    assert {*found} == {"so", "good", "!", "a", "film", "!!!"}
    assert {*top(found, 2)} == {"!", "!!!"} and min(found["!"], found["!!!"]) > 0.2


def test_shapley_values_of_a_model_that_sees_one_word_are_its_whole_effect() -> None:
    """Only "great" matters: its value is f(text) - f("") = sigmoid(2) - sigmoid(0), all others 0."""
    model = WeightPredictor({"great": 2.0})
    found = SHAP.local_weights(model, "a great film", "yes", samples=200)
    assert found["great"] == pytest.approx(1 / (1 + np.exp(-2)) - 0.5, abs=1e-6)
    assert found["film"] == pytest.approx(0, abs=1e-9)
    assert SHAP.local_weights(model, "great", "yes")["great"] == pytest.approx(found["great"])


@pytest.mark.parametrize("method", ["lime", "shap"])
def test_a_missing_package_is_named(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, method, None)
    monkeypatch.setitem(sys.modules, f"{method}.lime_text", None)
    adapter = {"lime": LIME, "shap": SHAP}[method]
    with pytest.raises(MissingPackageError, match=rf"anchorscope\[{method}\]"):
        adapter.weights(MODEL, TEXTS)


def test_a_text_without_the_word_counts_in_its_mean() -> None:
    """The word weighs 0.5 in one of two texts of its label: 0.25; the label without texts has no weights."""
    found = mean_absolute(lambda text, label: dict.fromkeys(text.split(), -0.5), ["great", "film"], [0, 0], 2)
    assert found == [{"great": 0.25, "film": 0.25}, {}]

"""The local scores by coalitions: what they say of games whose values are known, and how they keep to their calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from runs import finish, make_run, reviews

from anchorscope import registry
from anchorscope.asking.budget import Budget
from anchorscope.errors import InputError, MissingPackageError
from anchorscope.local_scores import coalitions
from anchorscope.local_scores.repeats import is_repeated
from anchorscope.settings import Settings
from anchorscope.testing import KeywordPredictor, WeightPredictor
from anchorscope.types import LocalScore, Unit

OF_COALITIONS = ("shapley", "lime", "shap", "shapiq")
SHARING = (*OF_COALITIONS, "gradient-x-input", "integrated-gradients")
TEXT = "great and fine but not dull"
"""Six terms; "not" turns "dull" round in the model below."""


class Interacting(WeightPredictor):
    """A logistic model with two words that turn each other round."""

    def __init__(self) -> None:
        super().__init__({"great": 1.5, "fine": 1.0, "dull": -1.2})

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        log_odds = np.log(super().predict(texts)[:, 1]) - np.log(super().predict(texts)[:, 0])
        turned = [3.0 if {"not", "dull"} <= {*text.split()} else 0.0 for text in texts]
        yes = 1 / (1 + np.exp(-(log_odds + turned)))
        return np.stack([1 - yes, yes], axis=1)


class Additive(WeightPredictor):
    """Each word adds its weight to the probability itself."""

    def __init__(self) -> None:
        super().__init__({"great": 0.2, "fine": 0.1, "dull": -0.15})

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        yes = np.array([0.5 + sum(self.weights.get(word, 0.0) for word in text.split()) for text in texts])
        return np.stack([1 - yes, yes], axis=1)


def unit(model: WeightPredictor, text: str = TEXT, label: int = 1) -> Unit:
    positions = tuple(coalitions.players(text, "words"))
    return Unit(0, text, label, positions, (0.9,) * len(positions), float(model.predict([text])[0, label]))


def made(name: str, model: Any, **given: Any) -> LocalScore:
    score: LocalScore = registry.resolve("score", name)(model, None, Settings(score=name, terms="words", **given))
    return score


def worth(model: WeightPredictor, kept: Sequence[int]) -> float:
    words = TEXT.split()
    return float(model.predict([" ".join(words[i] for i in sorted(kept))])[0, 1])


def shapley_by_hand(model: WeightPredictor) -> list[float]:
    """The mean of what each word adds over all 720 orders."""
    n = len(TEXT.split())
    added = np.zeros(n)
    for order in permutations(range(n)):
        steps = np.diff([worth(model, order[:i]) for i in range(n + 1)])
        added[list(order)] += steps
    return (added / 720).tolist()


def banzhaf_by_hand(model: WeightPredictor) -> list[float]:
    """The mean of what each word adds to all 32 sets of the others."""
    n = len(TEXT.split())
    sets = [[i for i in range(n) if held[i]] for held in product((False, True), repeat=n)]
    return [
        float(np.mean([worth(model, [*some, i]) - worth(model, some) for some in sets if i not in some]))
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def exact() -> np.ndarray:
    known: dict[tuple[int, ...], float] = {}
    model = Interacting()

    class Known(Interacting):
        def predict(self, texts: Sequence[str]) -> np.ndarray:
            key = tuple(sorted(texts[0].split()))
            known.setdefault(key, float(model.predict(texts)[0, 1]))
            return np.array([[1 - known[key], known[key]]])

    return np.array(shapley_by_hand(Known()))


# --- what is estimated ---


def test_shapley_values_are_unbiased(exact: np.ndarray) -> None:
    """The mean over 400 seeds is within four standard errors of the values from all orders."""
    model = Interacting()
    found = np.array(
        [made("shapley", model, seed=s, max_samples=2).measure([unit(model)])[0].value for s in range(400)]
    )
    error = found.std(axis=0, ddof=1) / 20
    assert (np.abs(found.mean(axis=0) - exact) <= 4 * error + 1e-6).all()


def test_the_values_of_a_document_add_up_to_what_it_says(exact: np.ndarray) -> None:
    model = Interacting()
    whole = worth(model, range(6)) - worth(model, [])
    assert exact.sum() == pytest.approx(whole)
    for name in ("shapley", "shap"):
        assert made(name, model).measure([unit(model)])[0].value.sum() == pytest.approx(whole, abs=1e-5)


@pytest.mark.parametrize("name", ["shapley", "shap", "shapiq"])
def test_where_words_add_up_there_is_nothing_to_estimate(name: str) -> None:
    """Shapley's and Banzhaf's values of an additive game are its weights, whatever was drawn."""
    model = Additive()
    found, _ = made(name, model, max_samples=2).measure([unit(model)])
    assert found.value.tolist() == pytest.approx([0.2, 0.0, 0.1, 0.0, 0.0, -0.15], abs=1e-5)
    if name == "shapley":
        assert found.variance.max() < 1e-12


def test_with_all_coalitions_shap_is_shapley_and_shapiq_banzhaf(exact: np.ndarray) -> None:
    model = Interacting()
    by_shap = made("shap", model, max_samples=64).measure([unit(model)])[0].value
    by_shapiq = made("shapiq", model, max_samples=64).measure([unit(model)])[0].value
    assert by_shap == pytest.approx(exact, abs=1e-4)
    assert by_shapiq == pytest.approx(banzhaf_by_hand(model), abs=1e-4)


def test_two_words_that_stand_in_for_each_other_share() -> None:
    """Either of two words says yes: each order gives all to the first of them, the way back to the other."""
    text = "great film fine"
    positions = ((0,), (1,), (2,))
    asked = Unit(0, text, 1, positions, (0.9,) * 3, 1.0)
    found, _ = made("shapley", KeywordPredictor("great", "fine"), max_samples=2).measure([asked])
    assert found.value.tolist() == [0.5, 0.0, 0.5]


def test_lime_gives_the_weights_of_its_regression() -> None:
    """Many samples of an additive model: nearly its weights, as the ridge pulls them a little towards 0."""
    model = Additive()
    found, _ = made("lime", model, max_samples=4000).measure([unit(model)])
    assert found.value.tolist() == pytest.approx([0.2, 0.0, 0.1, 0.0, 0.0, -0.15], abs=0.01)


# --- how far a value may be off ---


def test_the_variance_of_independent_walks_is_what_it_says(exact: np.ndarray) -> None:
    """Two walks that are no pair, drawn anew for each seed: the told variance is on average that of their mean."""
    model = Interacting()
    told, found = [], []
    for seed in range(300):
        first, second = (made("shapley", model, seed=s, max_samples=2) for s in (seed, seed + 10_000))
        walks = [one._walks(unit(model), 0) for one in (first, second)]  # type: ignore[attr-defined]
        added = []
        for one in walks:
            chances = model.predict(one.texts)[:, 1].reshape(2, 6)[0]
            way = np.append(chances, one.unit.probability)
            added.append(np.diff(way)[one.ranks[0]])
        found.append(np.mean(added, axis=0))
        told.append(np.var(added, axis=0, ddof=1) / 2)
    real = np.var(found, axis=0, ddof=1)
    assert np.mean(told, axis=0).sum() == pytest.approx(real.sum(), rel=0.15)


@pytest.mark.parametrize("name", OF_COALITIONS)
def test_second_measurements_tell_how_far_values_are_off(name: str) -> None:
    """Half of the squared difference of two measurements is on average the variance of one of them."""
    model = Interacting()
    text = next(f"{TEXT} {i}" for i in range(99) if is_repeated(unit(model, f"{TEXT} {i}")))
    shown, found = [], []
    for seed in range(150):
        rows, _ = made(name, model, seed=seed, max_samples=16).measure([unit(model, text)])
        shown.append(np.square(rows.value - rows.repeat) / 2)
        found.append(rows.value)
    assert np.isfinite(shown).all()
    assert np.mean(shown, axis=0).sum() == pytest.approx(np.var(found, axis=0, ddof=1).sum(), rel=0.35)


@pytest.mark.parametrize("name", OF_COALITIONS)
def test_each_measurement_of_a_document_has_samples_of_its_own(name: str) -> None:
    """The one of number 1 is the second that some documents have at first; none is a further test."""
    model = Interacting()
    text = next(f"{TEXT} {i}" for i in range(99) if is_repeated(unit(model, f"{TEXT} {i}")))
    score = made(name, model, seed=3, max_samples=48)
    units = [replace(unit(model, text), number=number) for number in range(4)]
    found = [score.measure([one]) for one in units]
    assert [cost.tests for _, cost in found] == [6, 0, 0, 0]
    rows = [rows for rows, _ in found]
    assert np.array_equal(rows[0].repeat, rows[1].value)
    assert np.isnan([one.repeat for one in rows[1:]]).all()
    assert len({tuple(one.value) for one in rows}) == 4


# --- whole runs ---


@pytest.mark.parametrize("name", SHARING)
@pytest.mark.parametrize("strategy", ["scan", "race"])
def test_a_run_keeps_to_its_calls_and_goes_on_where_it_ended(name: str, strategy: str, tmp_path: Any) -> None:
    """Cut off by its budget and taken up again, a run ends as the one that had enough at once."""
    given = {"score": name, "aggregation": "total", "strategy": strategy, "test": "fixed", "max_samples": 6}
    limit = Budget(max_model_calls=150)
    cut = finish(make_run(folder=tmp_path / "cut", budget=limit, **given))[-1]
    assert 30 < cut.cost.predictor_texts <= 150 and cut.cost.tests > 0
    resumed = make_run(folder=tmp_path / "cut", resume=True, **given)
    last = finish(resumed)[-1]
    whole = finish(make_run(folder=tmp_path / "whole", **given))[-1]
    assert last.explanations == whole.explanations and last.settled == whole.settled
    assert {t.term for t in whole["yes"].terms[:2]} <= {"great", "fine"}


@pytest.mark.parametrize("name", OF_COALITIONS)
def test_two_workers_say_what_one_says(name: str) -> None:
    given = {"score": name, "aggregation": "total", "test": "fixed", "max_samples": 6}
    one, two = (finish(make_run(reviews(12), workers=n, **given))[-1].explanations for n in (1, 2))
    assert one == two


@pytest.mark.parametrize("name", SHARING)
def test_a_budget_too_small_for_one_test_is_refused_before_any_call(name: str) -> None:
    class Never(WeightPredictor):
        def predict(self, texts: Sequence[str]) -> np.ndarray:
            raise AssertionError("asked")

    given = {"score": name, "aggregation": "total", "test": "fixed", "max_samples": 6}
    run = make_run(
        ["great film and cast", "bad film so slow"], model=Never({}), budget=Budget(max_model_calls=2), **given
    )
    with pytest.raises(InputError, match=f"--max-model-calls 2 is too small for one test by --score {name}"):
        finish(run)


@pytest.mark.parametrize("name", ["gradient-x-input", "integrated-gradients"])
def test_a_model_without_gradients_is_refused_before_any_call(name: str) -> None:
    class Never(KeywordPredictor):
        def predict(self, texts: Sequence[str]) -> np.ndarray:
            raise AssertionError("asked")

    with pytest.raises(InputError, match=f"--score {name} needs the gradients of a torch model, and keyword great"):
        make_run(model=Never("great"), score=name, aggregation="total", test="fixed")


@pytest.mark.parametrize("name", ["lime", "shap", "shapiq", "integrated-gradients"])
def test_a_missing_library_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for module in ("lime", "lime.lime_text", "shap", "shapiq", "shapiq.approximator", "captum", "captum.attr"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match=r"pip install 'anchorscope\[scores\]'"):
        make_run(score=name, aggregation="total", test="fixed")


@pytest.mark.parametrize("name", SHARING)
def test_an_aggregation_that_a_score_cannot_feed_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"'sq' counts anchors, and --score {name} tests none: use one of"):
        Settings(score=name, aggregation="sq")

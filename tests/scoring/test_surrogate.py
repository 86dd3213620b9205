"""A ridge regression of the predictions: what it finds, what it may not see, and that a wrong one does no harm."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from runs import explained, finish, make_run, predictor, reviews

from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.planning import collection as module
from anchorscope.scoring.aggregations import AGGREGATIONS
from anchorscope.scoring.surrogate import Surrogate, _Design, _Pairs, fit, logits, sigmoid

N_TERMS = 6
WEIGHTS = np.array([2.0, -1.5, 1.0, 0.5, 0.0, 0.0])


def documents(n: int, seed: int = 0) -> np.ndarray:
    """Which of six terms each document holds, (documents, terms)."""
    return np.random.default_rng(seed).random((n, N_TERMS)) < 0.4


def fitted(held: np.ndarray, logit: np.ndarray, fold: np.ndarray | None = None) -> Surrogate:
    document, term = np.nonzero(held)
    yes = sigmoid(logit)
    halves = np.arange(len(held)) % 8 if fold is None else fold
    return fit(document, term, np.stack([1 - yes, yes], axis=1), halves, N_TERMS)


def test_a_linear_model_is_recovered() -> None:
    """In each fold, for both labels, but for what any word does, which length tells; what is left is the penalty's."""
    held = documents(600)
    found = fitted(held, held @ WEIGHTS - 0.5)
    for fold in (0, 1):
        assert found.weights[fold, 1] == pytest.approx(WEIGHTS - WEIGHTS.mean(), abs=0.05)
        assert (found.weights[fold, 0] == -found.weights[fold, 1]).all()
    assert found.explained == pytest.approx([1, 1], abs=1e-2)


def test_the_weights_solve_the_ridge_regression() -> None:
    """Against the normal equations, solved as they stand: weights, a constant and the length, these two without a
    penalty."""
    chances = np.random.default_rng(3)
    holds = chances.random((80, 12)) < 0.3
    target = holds @ chances.normal(size=12) + chances.normal(size=80)
    half = _Design.of(_Pairs.of(*np.nonzero(holds), 12), np.ones(80, bool))
    design = np.hstack([holds, np.ones((80, 1)), holds.sum(axis=1, keepdims=True)]).astype(float)
    for penalty, found in zip((0.1, 3.0, 100.0), half.ridge_path(target, (0.1, 3.0, 100.0))):
        normal = design.T @ design + np.diag([penalty] * 12 + [0.0, 0.0])
        expected = np.linalg.lstsq(normal, design.T @ target, rcond=None)[0][:12]
        assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("n, n_terms", [(400, 1000), (2000, 3000)])
def test_rounding_does_not_grow(n: int, n_terms: int) -> None:
    """Two processors, or two versions of BLAS, differ in the fifteenth digit of a prediction; the weights may differ by
    little more, or near-ties of a list fall otherwise from machine to machine."""
    chances = np.random.default_rng(0)
    held = chances.random((n, n_terms)) < 0.8 / np.arange(1, n_terms + 1) ** 0.9  # as frequent as words are
    yes = sigmoid(held @ chances.normal(size=n_terms) / 2)
    rows = np.stack([1 - yes, yes], axis=1)
    other = rows * (1 + 1e-14 * chances.normal(size=rows.shape))
    one, two = (fit(*np.nonzero(held), answers, np.arange(n) % 8, n_terms) for answers in (rows, other))
    assert np.abs(one.weights).max() > 1
    assert two.weights == pytest.approx(one.weights, abs=1e-9)


def test_what_is_expected_is_the_drop_of_the_probability() -> None:
    """P = 0.9, and the term's weight is 1: 0.9 - sigmoid(logit(0.9) - 1)."""
    made = Surrogate(np.array([[[0.0, 1.0]], [[0.0, 3.0]]]), np.ones(1))
    one = np.array([1])
    found = made.expected(np.array([0]), np.array([0]), one, np.array([0.9]))
    assert found == pytest.approx(0.9 - sigmoid(logits(np.array([0.9])) - 1))
    assert made.expected(np.array([1]), np.array([0]), one, np.array([0.9])) > found


def test_no_document_is_judged_by_weights_that_were_fitted_to_it() -> None:
    """The weights of a fold do not change when its own predictions do, and do when those of the others do."""
    held = documents(400)
    fold = np.arange(400) % 8
    plain = held @ WEIGHTS
    noise = np.random.default_rng(1).normal(0, 0.1, 400)
    before = fitted(held, plain, fold)
    after = fitted(held, plain + np.where(fold == 0, noise, 0.0), fold)
    assert np.allclose(before.weights[0], after.weights[0])
    assert not np.allclose(before.weights[1], after.weights[1])


def test_where_nothing_can_be_predicted_all_weights_are_nothing() -> None:
    """Predictions that have nothing to do with the words."""
    found = fitted(documents(60), np.random.default_rng(2).normal(0, 1, 60))
    assert not found.weights.any() or found.explained[0] > 0
    assert np.allclose(fitted(documents(60), np.full(60, 0.3)).weights, 0, atol=1e-12)


def test_a_handful_of_documents_is_too_few() -> None:
    assert not fitted(documents(3), np.array([1.0, -1.0, 2.0]), np.array([0, 0, 1])).weights.any()


DEFAULT = {"strategy": "race", "aggregation": "total", "score": "occlusion"}


@pytest.mark.parametrize("factor", [1.0, -1.0, 25.0])
def test_where_all_is_tested_nothing_is_left_of_it(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misleading surrogate, whose weights are upside down or far too large: the sums are those of the scan."""
    honest = module.fit

    def wrong(*given, **options) -> Surrogate:  # type: ignore[no-untyped-def]
        found = honest(*given, **options)
        return Surrogate(factor * found.weights, found.explained)

    monkeypatch.setattr(module, "fit", wrong)
    given = {**DEFAULT, "regret": 0.0, "top_k": 99}
    raced = explained(**given)["labels"]
    scanned = explained(**{**given, "strategy": "scan"})["labels"]
    for label in scanned:
        found, expected = ({t["term"]: t["score"] for t in one[label]["terms"]} for one in (raced, scanned))
        assert found == pytest.approx(expected, abs=2e-6)
        assert all(t["interval"] == pytest.approx([t["score"]] * 2, abs=2e-5) for t in raced[label]["terms"])


def test_it_says_what_the_best_words_are_before_any_test(tmp_path: Path) -> None:
    """With no test: great and fine lead "yes", bad and dull lead "no"; but nothing is named."""
    (first,) = finish(make_run(reviews(200), folder=tmp_path / "run", **DEFAULT), rounds=0)
    assert first.cost.tests == 0 and first.cost.predictor_texts == 200
    assert not first["yes"].terms and not first["no"].terms
    with closing(RunReader(tmp_path / "run")) as run:
        standings = Standings(run, alpha=0.95, k=2)
        best = {
            label: {run.terms[term] for term in standings.ranking(AGGREGATIONS["total"], number)[:2]}
            for number, label in enumerate(run.labels)
        }
    assert best == {"yes": {"great", "fine"}, "no": {"bad", "dull"}}


def test_it_costs_no_call() -> None:
    class Counting(type(predictor())):  # type: ignore[misc]
        n_texts = 0

        def predict(self, texts):  # type: ignore[no-untyped-def]
            self.n_texts += len(texts)
            return super().predict(texts)

    for surrogate in (True, False):
        model = Counting(predictor().weights, predictor().bias)
        next(make_run(reviews(50), model=model, **DEFAULT, surrogate=surrogate).snapshots())
        assert model.n_texts == 50


@pytest.mark.parametrize("n_second", range(2, 12))
def test_where_length_explains_all_there_is_nothing_to_fit(n_second: int) -> None:
    """Two sentences of two lengths, again and again: what constant and length leave is rounding, not a signal."""
    held = np.zeros((2 + n_second, N_TERMS), bool)
    held[:2, :2] = True
    held[2:, 1:5] = True
    logit = np.where(np.arange(len(held)) < 2, 2.2, -1.7)
    assert np.abs(fitted(held, logit).weights).max() < 10


def test_weights_that_are_nearly_right_lead_to_the_same_fit() -> None:
    chances = np.random.default_rng(4)
    held = chances.random((90, 12)) < 0.3
    target = held @ chances.normal(size=12) + chances.normal(size=90)
    part = _Design.of(_Pairs.of(*np.nonzero(held), 12), np.arange(90) % 8 != 3)
    (found,) = part.ridge_path(target, (3.0,))
    for start in (found + chances.normal(0, 0.2, 12), np.zeros(12), found):
        assert part.ridge_from(start, target, 3.0) == pytest.approx(found, abs=2e-3)


def test_with_many_labels_a_fold_has_the_weights_of_the_other_half() -> None:
    held = documents(400)
    document, term = np.nonzero(held)
    rows = np.exp(held @ np.random.default_rng(5).normal(0, 1, (N_TERMS, 12)))
    found = fit(document, term, rows / rows.sum(axis=1, keepdims=True), np.arange(400) % 8, N_TERMS)
    assert found.weights.shape == (8, 12, N_TERMS)
    assert len(np.unique(found.weights.reshape(8, -1), axis=0)) == 2
    assert (found.weights[:4] == found.weights[0]).all() and (found.weights[4:] == found.weights[4]).all()

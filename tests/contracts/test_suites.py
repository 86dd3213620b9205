"""The public suites over everything that is built in; other people's are in ``test_outside_package``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Any

import numpy as np
import pytest

from anchorscope import registry
from anchorscope.backends.shares import joined, shares
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.predictors import as_predictor
from anchorscope.testing import KINDS, KeywordPredictor, WeightPredictor, checks
from anchorscope.testing.work import TEXTS
from anchorscope.types import Cost, Measurements, Unit


def scikit() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CountVectorizer(), LogisticRegression())
    return as_predictor(model.fit(TEXTS, ["yes" if "great" in text else "no" for text in TEXTS]))


MADE: dict[tuple[str, str], Callable[..., Any]] = {
    ("predictor", "keyword"): lambda: KeywordPredictor("great"),
    ("predictor", "weights"): lambda: WeightPredictor({"great": 1.0}),
    ("predictor", "scikit-learn"): scikit,
    ("predictor", "function"): lambda: as_predictor(
        lambda texts: [[0.2, 0.8] if "great" in text else [0.7, 0.3] for text in texts], labels=["no", "yes"]
    ),
    ("predictor", "labels only"): lambda: as_predictor(
        lambda texts: np.array(["yes" if "great" in text else "no" for text in texts]), labels=["no", "yes"]
    ),
    **{
        ("perturbator", name): lambda name=name: registry.resolve("perturbator", name)("", top_n=12, device="cpu")
        for name in ("corpus", "embedded", "mask-token")
    },
    **{
        ("aggregation", name): lambda name=name: registry.resolve("aggregation", name)
        for name in registry.names("aggregation")
    },
    **{
        (kind, name): registry.resolve(kind, name)
        for kind in ("backend", "reporter", "score", "strategy")
        for name in registry.names(kind)
    },
}


@pytest.mark.parametrize(
    ("plug", "check"),
    [pytest.param(plug, check, id=f"{'-'.join(plug)}-{check.__name__}") for plug in MADE for check in checks(plug[0])],
)
def test_what_is_built_in_passes(
    plug: tuple[str, str], check: Callable[[Callable[..., Any]], None], request: pytest.FixtureRequest
) -> None:
    if plug == ("backend", "ray"):
        request.getfixturevalue("local_ray")
    check(MADE[plug])


def test_every_kind_of_plug_has_a_suite_and_a_member() -> None:
    assert {*KINDS} == {*registry.TABLES} - {"drawing"} == {kind for kind, _ in MADE}


class Drifting(KeywordPredictor):
    """Answers otherwise each time."""

    n = 0

    def predict(self, texts):
        Drifting.n += 1
        return np.roll(super().predict(texts), Drifting.n, axis=1)


def test_a_plug_that_breaks_its_promise_is_found_out() -> None:
    with pytest.raises(AssertionError):
        for check in checks("predictor"):
            check(lambda: Drifting("great"))


class Threads:
    """Threads that ask one and the same local score, whose meter counts what all of them ask."""

    def __init__(self, score: MeteredScore, workers: int | None = None) -> None:
        self._score = score
        self._pool = ThreadPoolExecutor(workers or 2)

    def measure(self, units: Sequence[Unit], max_calls: float = inf) -> tuple[Measurements, Cost]:
        dealt = shares(self._score, units, 2, max_calls)
        return joined(dealt, self._pool.map(lambda share: self._score.measure(share.units, share.allowed), dealt))

    def close(self) -> None:
        self._pool.shutdown()


def test_threads_that_share_a_local_score_are_found_out() -> None:
    (check,) = (check for check in checks("backend") if check.__name__ == "counts_each_call_once")
    with pytest.raises(AssertionError, match="one worker at a time"):
        check(Threads)

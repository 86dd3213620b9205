"""A small collection that all suites share: short reviews, a logistic model over their words, corpus noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.planning.collection import Collection, collect, predict
from anchorscope.planning.plan import EMPTY_ANCHOR
from anchorscope.scoring.tally import Tally
from anchorscope.settings import Settings, preset
from anchorscope.testing.models import WeightPredictor
from anchorscope.text.read import read_texts
from anchorscope.text.words import LazyWords
from anchorscope.types import Cost, Differentiable, Explanation, Snapshot, Term, Unit

TEXTS = tuple(
    f"{first} {noun} with a {second} plot, {end}"
    for first in ("A great", "A dull", "Not a bad", "The slow")
    for noun in ("film", "cast", "story")
    for second in ("fine", "bad", "thin")
    for end in ("so I left.", "so fine!")
)
OF_GRAIN = {"token": "banzhaf", "term": "occlusion"}
"""A local score for whose sake the occurrences of a collection are tokens, or terms."""

WEIGHTS = {"great": 2.0, "fine": 1.0, "bad": -2.0, "dull": -1.2, "slow": -0.7, "not": 0.9, "film": 0.1}


class CountingPredictor(WeightPredictor):
    """The model of the suites; counts the texts that it is asked about."""

    def __init__(self) -> None:
        super().__init__(WEIGHTS, bias=-0.05)
        self.n_texts = 0

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, 2)."""
        self.n_texts += len(texts)
        return super().predict(texts)

    def differentiable(self, texts: Sequence[str], passes: int) -> Differentiable:
        """What gradients are taken of; a pass forth and back is a text."""
        self.n_texts += passes * len(texts)
        return super().differentiable(texts, passes)


def settings(**given: Any) -> Settings:
    """Small rounds, and no word left out."""
    return preset("fast", **{"top_k": 4, "round_size": 8, **given})


def perturbator() -> CorpusPerturbator:
    """Fitted to the reviews."""
    return CorpusPerturbator(top_n=12).fit(LazyWords(TEXTS))


def collection(chosen: Settings) -> Collection:
    """The reviews and what the model says of them."""
    documents = sorted(read_texts(TEXTS).documents, key=lambda document: document.key)
    model = WeightPredictor(WEIGHTS, bias=-0.05)
    return collect(documents, model.labels, predict(model, [document.text for document in documents]), chosen)


def units(n: int = 6, *, grain: str = "token", empty: bool = True) -> list[Unit]:
    """Some documents, each with all its candidates, which are tokens or terms, and its empty anchor."""
    found = collection(settings(score=OF_GRAIN[grain]))
    first = [EMPTY_ANCHOR] if empty else []
    return [
        found.round_of(
            [(number, np.array([*first, *range(here.start, here.stop)]))], lambda asked: np.full(len(asked), 0.9)
        ).units[0]
        for number in range(n)
        for here in [found.occurrences_of(number)]
    ]


def random_tally(generator: np.random.Generator, n_labels: int = 2, n_terms: int = 6, *, complete: bool) -> Tally:
    """Counts as a run may have them: complete, or with occurrences that are not tested yet."""
    shape = (n_labels, n_terms)
    anchors = generator.integers(0, 5, shape)
    non_anchors = generator.integers(0, 5, shape)
    open_ = np.zeros(shape, np.int64) if complete else generator.integers(0, 4, shape)
    return Tally(
        anchors=anchors,
        non_anchors=non_anchors,
        skipped=np.zeros(shape, np.int64),
        values=generator.integers(-900_000, 900_000, shape) * np.maximum(anchors + non_anchors, 0),
        occurrences=anchors + non_anchors + open_,
        documents=np.minimum(anchors + non_anchors + open_, 5),
        training=generator.integers(0, 9, n_terms),
    )


def snapshot(round_: int = 1) -> Snapshot:
    """Something to show."""
    great = Term("great", "Great", 2.5, (2.0, 3.0), 0.9, True, 6, 5, 0, 9)
    hostile = Term("<b> \x1b[31m", "<b> \x1b[31m", -0.5, (-np.inf, np.inf), None, False, 1, None, 0, 1)
    explanations = {
        "yes": Explanation("yes", 12, 12, 3, 12, False, 0.1, (great, hostile), (hostile,)),
        "no": Explanation("no", 0, 0, None, 0, True, None, (), note="No document is predicted 'no'."),
    }
    return Snapshot(explanations, round_, 40, False, 0.9, Cost(seconds=0.1 * round_, tests=round_))

"""What every predictor promises."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anchorscope.testing.work import TEXTS
from anchorscope.types import Predictor

NEARLY = 1e-4
"""Models that sum in an order which depends on the batch differ by so much; others not at all."""

ODD = ("", " ", "ok", "GREAT!!!", "名作です", "a " * 300, "🙂", "it's\n\ttabbed")

Make = Callable[[], Predictor]


def has_what_the_contract_names(make: Make) -> None:
    """A name, labels, a fingerprint that stays, and whether it knows probabilities."""
    predictor = make()
    again = make()
    assert isinstance(predictor, Predictor)
    assert isinstance(predictor.name, str) and predictor.name
    assert len(predictor.labels) >= 2 and len(set(predictor.labels)) == len(predictor.labels)
    assert all(isinstance(label, str) for label in predictor.labels)
    assert predictor.fingerprint == again.fingerprint, "the fingerprint of the same model changes"


def answers_a_distribution_a_text(make: Make) -> None:
    """(texts, labels), not negative, with the sum 1; and no row for no text."""
    predictor = make()
    for texts in (list(TEXTS[:8]), list(ODD), [TEXTS[0]], []):
        rows = np.asarray(predictor.predict(texts))
        assert rows.shape == (len(texts), len(predictor.labels)), f"shape {rows.shape} for {len(texts)} texts"
        assert (rows >= 0).all()
        assert np.allclose(rows.sum(axis=1), 1, atol=1e-3)
        if not predictor.has_probabilities:
            assert ((rows == 0) | (rows == 1)).all(), "a predictor of labels answers rows with a single 1"


def answers_alike_whatever_stands_beside_a_text(make: Make) -> None:
    """The row of a text does not depend on its batch, on the order, or on what was asked before."""
    predictor = make()
    texts = [*TEXTS[:8], *ODD]
    rows = np.asarray(predictor.predict(texts))
    alone = np.concatenate([predictor.predict([text]) for text in texts])
    backwards = np.asarray(predictor.predict(texts[::-1]))[::-1]
    assert np.allclose(rows, alone, atol=NEARLY)
    assert np.allclose(rows, backwards, atol=NEARLY)


def two_of_a_kind_agree(make: Make) -> None:
    """The model that is made again is the same model."""
    assert np.allclose(make().predict(list(TEXTS[:8])), make().predict(list(TEXTS[:8])), atol=NEARLY)


CHECKS = (
    has_what_the_contract_names,
    answers_a_distribution_a_text,
    answers_alike_whatever_stands_beside_a_text,
    two_of_a_kind_agree,
)

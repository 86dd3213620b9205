"""What every predictor promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from anchorscope.testing.work import TEXTS
from anchorscope.types import BeginningPredictor, LimitedPredictor, Predictor, Spelled

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


def gives_rows_that_belong_to_the_caller(make: Make) -> None:
    """Rows are float64, and writing into them changes no later answer; texts may come as any sequence."""
    predictor = make()
    texts = list(TEXTS[:8])
    rows = predictor.predict(texts)
    assert isinstance(rows, np.ndarray) and rows.dtype == np.float64
    kept = rows.copy()
    rows[:] = 0
    assert np.array_equal(predictor.predict(tuple(texts)), kept)


def keeps_its_fingerprint_while_it_answers(make: Make) -> None:
    """So that a run can go on with it: 64 hexadecimal digits, or any other text that stays."""
    predictor = make()
    before = predictor.fingerprint
    predictor.predict(list(TEXTS[:8]))
    assert isinstance(before, str) and before and predictor.fingerprint == before


def travels_to_workers(make: Make) -> None:
    """It is sent with cloudpickle, and answers there as here."""
    import cloudpickle

    predictor = make()
    expected = predictor.predict(list(TEXTS[:8]))
    arrived = cloudpickle.loads(cloudpickle.dumps(predictor))
    for part in ("name", "labels", "has_probabilities", "fingerprint"):
        assert getattr(arrived, part) == getattr(predictor, part), f"its {part} is another one after the journey"
    assert np.allclose(arrived.predict(list(TEXTS[:8])), expected, atol=NEARLY)


def answers_what_it_has_begun(make: Make) -> None:
    """If it can begin: a second beginning before the first answer is asked for changes neither."""
    predictor = make()
    if not isinstance(predictor, BeginningPredictor):
        return
    asked = [list(TEXTS[:8]), [text for text in ODD if text]]
    begun = [predictor.begin(_spelled(texts)) for texts in asked]
    for texts, answer in zip(asked, begun, strict=True):
        assert np.allclose(answer(), predictor.predict(texts), atol=NEARLY)


def says_what_it_reads(make: Make) -> None:
    """If it reads long texts in part: where that begins and ends, within each text."""
    predictor = make()
    if not isinstance(predictor, LimitedPredictor):
        return
    texts = [*TEXTS[:8], *ODD]
    seen = predictor.visible(texts)
    if seen is None:
        return
    lengths = np.array([len(text) for text in texts])
    assert seen.shape == (len(texts), 2) and (seen[:, 0] >= 0).all() and (seen[:, 1] <= lengths).all()


def _spelled(texts: Sequence[str]) -> Spelled:
    """Texts by what stands between their spaces."""
    stretches = sorted({stretch for text in texts for stretch in text.split(" ")})
    rows = [[stretches.index(stretch) for stretch in text.split(" ")] for text in texts]
    return Spelled(stretches, [np.array(row, np.int32).tobytes() for row in rows])


CHECKS = (
    has_what_the_contract_names,
    answers_a_distribution_a_text,
    answers_alike_whatever_stands_beside_a_text,
    two_of_a_kind_agree,
    gives_rows_that_belong_to_the_caller,
    keeps_its_fingerprint_while_it_answers,
    travels_to_workers,
    answers_what_it_has_begun,
    says_what_it_reads,
)

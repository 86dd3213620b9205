"""What a kept run stores for its reports: the evidence of the shown terms, and curves.

Samples are pure functions of text and seed, so those behind a verdict can be drawn again at the end, for the terms that
are shown then, and need not be kept on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.anchor import Test
from anchorscope.aopc import Removals
from anchorscope.collection import Collection
from anchorscope.errors import AnchorscopeError, ModelError
from anchorscope.hiding import Hidden
from anchorscope.ledger import Ledger
from anchorscope.race import priorities
from anchorscope.schedule import Engine, Sampling
from anchorscope.types import Cost, Perturbator, Predictor, Snapshot, Term, Unit

SAMPLES = 20
"""Samples kept of a document, as evidence for or against one term."""

DOCUMENTS = 300
"""At most so many documents are kept whole, for the report."""

AOPC_DOCUMENTS = 500
"""The terms of a label are removed from so many of its documents, for the report's curve."""

Row = tuple[int, int, int, int, bool, str, bool, bool]
"""(label, term, document, position, anchor, perturbed text, token present, prediction kept)"""


def samples_of_terms(
    engine: Engine, collection: Collection, ledger: Ledger, snapshot: Snapshot, tau: float
) -> tuple[list[Row], Cost]:
    """For the shown terms, samples of some documents in which they are and are not anchors; and what they took."""
    numbers = {term: number for number, term in enumerate(collection.terms)}
    places = [
        (collection.labels.index(name), numbers[term.term], document, position, anchor)
        for name, explanation in snapshot.explanations.items()
        for term in explanation.terms
        for anchor in (True, False)
        for document, position in ledger.examples(collection.labels.index(name), numbers[term.term], anchor)
    ]
    units = [
        Unit(document, collection.documents[document].text, label, (position,), (tau,))
        for label, _, document, position, _ in places
    ]
    samples, cost = engine.samples(units, SAMPLES)
    rows = [(*place, s.text, s.present, s.agreed) for place, group in zip(places, samples) for s in group]
    return rows, cost


def without_texts(rows: Sequence[Row], hidden: Hidden) -> list[Row]:
    """The same samples, counted but not shown."""
    return [(*row[:3], hidden.hide(row[2], row[3]), row[4], "", *row[6:]) for row in rows]


def texts_of_terms(collection: Collection, ledger: Ledger, snapshot: Snapshot) -> list[tuple[int, str]]:
    """The documents that the evidence comes from, those of the first terms of every label first."""
    numbers = {term: number for number, term in enumerate(collection.terms)}
    chosen: dict[int, str] = {}
    for rank in range(max((len(e.terms) for e in snapshot.explanations.values()), default=0)):
        for name, explanation in snapshot.explanations.items():
            for term in explanation.terms[rank : rank + 1]:
                for anchor in (True, False):
                    places = ledger.examples(collection.labels.index(name), numbers[term.term], anchor)
                    chosen.update((document, collection.documents[document].text) for document, _ in places)
    return list(chosen.items())[:DOCUMENTS]


def origin(
    text: str | None,
    units: Sequence[Unit],
    predictor: Predictor,
    perturbator: Perturbator,
    sampling: Sampling,
    test: Test,
) -> Unit | None:
    """The unit of a round whose samples hold ``text``: they are drawn again, and the model is not asked about it.

    Nor about the others where a test always takes the same number of samples, whatever the model says.
    """
    if text is None:
        return None
    watching = _Watching(predictor, text, asks=test.name != "fixed")
    engine = Engine(watching, perturbator, sampling, test)
    for unit in units:
        try:
            engine.judge([unit])
        except _MetError:
            return unit
        except ModelError:  # at fault with other texts, too
            continue
    return None


class _MetError(AnchorscopeError):
    """The text that was looked for is about to be asked about."""


class _Watching:
    """A predictor that stops at one text."""

    def __init__(self, predictor: Predictor, text: str, *, asks: bool) -> None:
        self._predictor, self._text, self._asks = predictor, text, asks
        self.name, self.labels, self.fingerprint = predictor.name, predictor.labels, predictor.fingerprint
        self.has_probabilities = predictor.has_probabilities

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """What the model says, or the same of all, unless the text is among them."""
        if self._text in texts:
            raise _MetError
        if self._asks:
            return self._predictor.predict(texts)
        return np.full((len(texts), len(self.labels)), 1 / len(self.labels))


def moment(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot in brief: cost, and for each label its terms, regret and the mean width of their intervals."""
    return {
        "round": snapshot.round,
        "seconds": snapshot.cost.seconds,
        "tests": snapshot.cost.tests,
        "predictor_texts": snapshot.cost.predictor_texts,
        "labels": {
            label: {
                "terms": [term.term for term in explanation.terms],
                "regret": explanation.regret,
                "settled": explanation.settled,
                "width": _mean_width(explanation.terms),
            }
            for label, explanation in snapshot.explanations.items()
        },
    }


def _mean_width(terms: Sequence[Term]) -> float | None:
    widths = [term.interval[1] - term.interval[0] for term in terms]
    return float(np.mean(widths)) if widths and np.isfinite(widths).all() else None


def aopc_curves(
    predictor: Predictor, collection: Collection, snapshot: Snapshot, seed: int
) -> tuple[dict[str, dict[str, Any]], Cost]:
    """AOPC^1 to AOPC^k of every label's list, over a sample of its documents; nothing where there are labels only."""
    curves: dict[str, dict[str, Any]] = {}
    cost = Cost()
    if not predictor.has_probabilities:
        return curves, cost
    for name, explanation in snapshot.explanations.items():
        ours = np.flatnonzero(collection.predictions.labels == collection.labels.index(name)).tolist()
        if not ours or not explanation.terms:
            continue
        order = np.argsort(priorities(seed, [collection.documents[number].key for number in ours]), kind="stable")
        texts = [collection.documents[ours[place]].text for place in order[:AOPC_DOCUMENTS].tolist()]
        removals = Removals(predictor, texts, name)
        curve = removals.curve([term.term for term in explanation.terms])
        cost += Cost(predictor_texts=removals.n_texts)
        curves[name] = {"documents": len(texts), "curve": [round(float(value), 6) for value in curve]}
    return curves, cost

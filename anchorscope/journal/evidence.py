"""What a kept run stores for its reports: the evidence of the shown terms, and curves.

Samples are pure functions of text and seed, so those behind a verdict can be drawn again at the end, for the terms that
are shown then, and need not be kept on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.removals import Removals
from anchorscope.planning.collection import Collection
from anchorscope.planning.ledger import Ledger
from anchorscope.sampling.engine import Engine
from anchorscope.settings import Settings
from anchorscope.types import Predictor, Snapshot, Term, Unit

SAMPLES = 20
"""Samples kept of a document, as evidence for or against one term."""

STRONGEST = 4
WEAKEST = 2
"""Documents of a term: where it does most for the label, and as many each where it does least and most against it."""

DOCUMENTS = 300
"""At most so many documents are kept whole, for the report."""

AOPC_DOCUMENTS = 200
"""The terms of a label are removed from so many of its documents, for the report's curve."""

Row = tuple[int, int, int, int, bool, str, bool, bool]
"""(label, term, document, ordinal, anchor, perturbed text, word present, prediction kept)"""


def samples_of_terms(
    engine: Engine, collection: Collection, ledger: Ledger, snapshot: Snapshot, tau: float
) -> list[Row]:
    """For the shown terms, samples of some documents in which they are and are not anchors."""
    places = [
        (label, term, document, occurrence, anchor)
        for label, term in _shown(collection, snapshot)
        for anchor in (True, False)
        for document, occurrence in ledger.examples(label, term, anchor)
    ]
    occurrences = np.array([occurrence for _, _, _, occurrence, _ in places], np.int64)
    units = [
        Unit(document, collection.documents[document].text, label, (positions,), (tau,))
        for (label, _, document, _, _), positions in zip(places, collection.positions_of(occurrences))
    ]
    samples, _ = engine.samples(units, SAMPLES)
    named = zip(places, collection.ordinals_of(occurrences).tolist(), samples)
    return [
        (label, term, document, ordinal, anchor, s.text, s.present, s.agreed)
        for (label, term, document, _, anchor), ordinal, group in named
        for s in group
    ]


def without_texts(rows: Sequence[Row]) -> list[Row]:
    """The same samples, counted but not shown."""
    return [(*row[:5], "", *row[6:]) for row in rows]


def texts_of_terms(
    collection: Collection, ledger: Ledger, snapshot: Snapshot, *, by_value: bool
) -> list[tuple[int, str]]:
    """The documents that the evidence comes from, those of the first terms of every label first."""
    chosen: dict[int, str] = {}
    for label, term in _shown(collection, snapshot):
        if by_value:
            documents, values = ledger.values(label, term)
            numbers = documents[telling(documents, values)].tolist()
        else:
            kinds = (True, False)
            numbers = [document for anchor in kinds for document, _ in ledger.examples(label, term, anchor)]
        chosen.update((document, collection.documents[document].text) for document in numbers)
    return list(chosen.items())[:DOCUMENTS]


def telling(documents: NDArray[np.int64], values: NDArray[np.float64]) -> list[int]:
    """Which tests of a term say most, by their values: those where it does most, next to nothing, and most against the
    label; of several in a document, the one that does most.

    >>> telling(np.arange(9), np.array([0.0, 0.9, 0.8, 0.3, 0.7, 0.6, 0.5, 0.4, -0.2]))
    [1, 2, 4, 5, 0, 8]
    """
    rows = np.lexsort((-np.abs(values), documents))
    rows = rows[np.unique(documents[rows], return_index=True)[1]]
    order = rows[np.lexsort((documents[rows], -values[rows]))]
    nearest = rows[np.lexsort((documents[rows], np.abs(values[rows])))]
    picked = {*order[:STRONGEST].tolist(), *nearest[:WEAKEST].tolist(), *order[-WEAKEST:].tolist()}
    return [row for row in order.tolist() if row in picked]


def _shown(collection: Collection, snapshot: Snapshot) -> list[tuple[int, int]]:
    """Label and term of everything that is shown, the first term of every label first."""
    numbers = {term: number for number, term in enumerate(collection.terms)}
    ranked = [
        (rank, label, numbers[term.term])
        for label, name in enumerate(collection.labels)
        if name in snapshot.explanations
        for terms in (snapshot.explanations[name].terms, snapshot.explanations[name].against)
        for rank, term in enumerate(terms)
    ]
    return [(label, term) for _, label, term in sorted(ranked)]


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


def aopc_curves(predictor: Predictor, collection: Collection, snapshot: Snapshot, settings: Settings) -> dict[str, Any]:
    """AOPC^1 to AOPC^k of every label's list, over a sample of its documents; nothing where there are labels only."""
    curves: dict[str, Any] = {}
    if not predictor.has_probabilities:
        return curves
    for name, explanation in snapshot.explanations.items():
        ours = np.flatnonzero(collection.predictions.labels == collection.labels.index(name))
        if not len(ours) or not explanation.terms:
            continue
        sampled = ours[np.argsort(collection.priority[ours])[:AOPC_DOCUMENTS]]
        texts = [collection.documents[number].text for number in sampled.tolist()]
        probabilities = collection.predictions.confidence[sampled]
        removals = Removals.known(predictor, texts, name, probabilities, kinds=str(settings.terms))
        curve = removals.curve([term.term for term in explanation.terms])
        curves[name] = {"documents": len(texts), "curve": [round(float(value), 6) for value in curve]}
    return curves

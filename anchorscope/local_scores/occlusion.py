"""Occlusion, or leave one out: what taking a term out of a document costs the label.

    P(label | document) - P(label | document without the term)

All words of the term in the document are removed at once, so an occurrence is a term in a document, and one call
measures it. A deterministic model answers the same again, so there is no noise; but where two words say the same, or
the model is sure whatever is taken from it, each of them alone seems to do nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anchorscope.asking.answers import answers_in_batches
from anchorscope.settings import Settings
from anchorscope.text.words import removals
from anchorscope.types import Cost, Measurements, Perturbator, Predictor, Unit

VALUE_DIGITS = 6
"""Values are rounded to the unit in which the tally counts them."""

AT_ONCE = 4096
"""Texts that are handed to the predictor at once, sorted by length."""


class OcclusionScore:
    """What the label loses when all words of the term are taken out of the document."""

    name = "occlusion"
    help = "the probability that the label loses when the term is taken out of the document"
    call = "the document without the term"
    noise = "none: the same text gets the same answer"
    is_graded = True
    grain = "term"
    shares_calls = False
    tests_anchors = False
    perturbs = False
    blind_spot = (
        "terms that say the same hide each other, as taking out one of them changes nothing; nor does it where the "
        "model is sure anyway"
    )

    def __init__(self, predictor: Predictor, perturbator: Perturbator | None, settings: Settings) -> None:
        self._predictor = predictor

    def calls(self, unit: Unit) -> float:
        """One each."""
        return len(unit)

    def measure(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """A row an occurrence, one call each; equal texts are asked about once."""
        texts = [text for unit in units for text in removals(unit.text, unit.positions)]
        # Equal texts are asked about once, those of like length together, so that batches have little padding.
        places = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        by_length = sorted(places, key=len)
        rows = np.empty((len(places), len(self._predictor.labels)))
        rows[[places[text] for text in by_length]] = answers_in_batches(self._predictor, by_length, AT_ONCE)
        # A row an occurrence: the probability of its document's label before, less that without the term.
        sizes = [len(unit.positions) for unit in units]
        labels = np.repeat([unit.label for unit in units], sizes).astype(np.intp)
        before = np.repeat([unit.probability for unit in units], sizes)
        after = rows[np.array([places[text] for text in texts], np.intp), labels]
        value = np.round(before - after, VALUE_DIGITS)
        measured = Measurements.of_values(value, np.zeros(len(value)), np.ones(len(value), np.int64))
        return measured, Cost(tests=len(texts), predictor_texts=len(places))

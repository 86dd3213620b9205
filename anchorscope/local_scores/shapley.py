"""The Shapley value of a term in a document (Shapley 1953), by walks through the document in a random order.

    E[ P(label) | term and those before it ] - E[ P(label) | those before it ]           in a random order of the terms

Where the order is that of independent uniform numbers, each other term comes before one whose number is q with
probability q: the others are kept with a probability that is itself uniform. A walk takes the terms in, one after
another, from the empty document to the whole one, and what each adds is a value of all of them: n texts for n terms.
Walks come in pairs, one order and its reverse (Mitchell et al. 2022): where two words stand in for each other, the
first of them gets all, and the way back makes it even. What the terms of a document get adds up to what all of them do.

>>> orders(0, "a fine film", 3, 1).tolist()       # a pair of orders: ranks of the three terms
[[1, 0, 2], [1, 2, 0]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answers_in_batches
from anchorscope.local_scores.coalitions import AT_ONCE, as_values, numbers_asked, players, texts_of
from anchorscope.local_scores.repeats import is_repeated, seed_of_measurement
from anchorscope.sampling.draws import uniforms
from anchorscope.settings import Settings
from anchorscope.types import Cost, Measurements, Perturbator, Predictor, Unit

Floats = NDArray[np.float64]

STREAM = -4
"""Where the chances of orders come from; -3 is that of balanced blocks."""


@dataclass(frozen=True, slots=True, eq=False)
class _Walks:
    """The walks of one document: the ``ranks`` of its terms (walks, terms), and the texts on the way, whole one left
    out, (walks x terms)."""

    unit: Unit
    asked: list[int]
    ranks: NDArray[np.intp]
    texts: list[str]

    def read(self, worth: Floats) -> tuple[Floats, Floats]:
        """Values and variances of the asked terms, given the label's probability in each of the texts."""
        n_walks, n_terms = self.ranks.shape
        # A walk from nothing (column 0) to the whole document, whose probability is known (the last column).
        way = np.hstack([worth.reshape(n_walks, n_terms), np.full((n_walks, 1), self.unit.probability)])
        added = np.take_along_axis(np.diff(way, axis=1), self.ranks, axis=1)[:, self.asked]
        return as_values(added.mean(axis=0)), added.var(axis=0, ddof=1) / n_walks


class ShapleyScore:
    """What the term adds to the probability of the label, in the company of any share of the others."""

    name = "shapley"
    help = "what the term adds to the probability of the label, averaged over all orders in which terms may come"
    call = "the document with only the terms that come first in a random order"
    noise = "the orders; how much less two opposite ones differ from two more is learnt from second measurements"
    is_graded = True
    grain = "term"
    shares_calls = True
    tests_anchors = False
    perturbs = False

    def __init__(self, predictor: Predictor, perturbator: Perturbator | None, settings: Settings) -> None:
        self._predictor = predictor
        self._settings = settings

    def calls(self, unit: Unit) -> float:
        """Two walks of a pair meet in the empty document only."""
        n = len(players(unit.text, str(self._settings.terms)))
        pairs = self._n_pairs(n) * (1 + is_repeated(unit))
        return pairs * 2 * (n - 1) + 1

    def measure(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """A row an occurrence; equal texts of all documents are asked about once."""
        walks = [self._walks(unit, unit.number) for unit in units]
        second = [self._walks(unit, 1) for unit in units if is_repeated(unit)]
        worth, n_texts = self._worth([*walks, *second])
        found = Measurements.join(_measurements(one, next(worth)) for one in walks)
        rows = np.repeat([is_repeated(unit) for unit in units], [len(unit) for unit in units]).astype(bool)
        found.repeat[rows] = [value for one in second for value in one.read(next(worth))[0].tolist()]
        n_tests = sum(len(unit) for unit in units if not unit.number)
        return found, Cost(tests=n_tests, samples=n_texts, predictor_texts=n_texts)

    def _n_pairs(self, n_terms: int) -> int:
        """As many as the samples suffice for, and one at least."""
        return max(1, self._settings.max_samples // (2 * n_terms))

    def _walks(self, unit: Unit, number: int) -> _Walks:
        seed = seed_of_measurement(self._settings.seed, number)
        there = players(unit.text, str(self._settings.terms))
        ranks = orders(seed, unit.text, len(there), self._n_pairs(len(there)))
        # (walks, steps, terms): at step j the terms with a rank below j are in.
        kept = ranks[:, None, :] < np.arange(len(there))[None, :, None]
        texts = texts_of(unit.text, there, kept.reshape(-1, len(there)))
        return _Walks(unit, numbers_asked(unit, there), ranks, texts)

    def _worth(self, walks: Sequence[_Walks]) -> tuple[Iterator[Floats], int]:
        """The label's probability in each text of each document's walks, and how many texts were asked about."""
        places = {text: i for i, text in enumerate(dict.fromkeys(text for one in walks for text in one.texts))}
        by_length = sorted(places, key=len)
        rows = np.empty((len(places), len(self._predictor.labels)))
        rows[[places[text] for text in by_length]] = answers_in_batches(self._predictor, by_length, AT_ONCE)
        return (rows[[places[text] for text in one.texts], one.unit.label] for one in walks), len(places)


def orders(seed: int, text: str, n_terms: int, n_pairs: int) -> NDArray[np.intp]:
    """Pairs of opposite orders, as the rank of each term in each, (2 * n_pairs, terms)."""
    ranks = uniforms(seed, text, STREAM, 0, n_pairs, n_terms).argsort(axis=1).argsort(axis=1)
    return np.stack([ranks, n_terms - 1 - ranks], axis=1).reshape(2 * n_pairs, n_terms)


def _measurements(walks: _Walks, worth: Floats) -> Measurements:
    value, variance = walks.read(worth)
    return Measurements.of_values(value, variance, np.full(len(value), len(walks.texts), np.int64))

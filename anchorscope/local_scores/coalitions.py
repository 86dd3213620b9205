"""A document as a cooperative game: its terms are the players, and those that are not in a coalition are left out.

    v(coalition) = P(label | the document without the terms that are not in the coalition)

What the whole document is worth is known from its prediction, and no coalition is asked about twice. A term plays with
all its words; words that are no terms (punctuation, as a rule) always stay. Who plays depends on the text and on which
kinds of terms there are, not on which of them are asked about: so a value does not depend on that, either.

>>> players("So good, so good!", "words")
[(0, 3), (1, 4)]
>>> texts_of("So good, so good!", players("So good, so good!", "words"), np.array([[True, False], [False, False]]))
['So, so!', ',!']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answers_in_batches
from anchorscope.text.terms import terms_of
from anchorscope.text.words import removals
from anchorscope.types import Positions, Predictor, Unit

Floats = NDArray[np.float64]
Coalitions = NDArray[np.bool_]
"""Which terms are kept, (coalitions, terms)."""

AT_ONCE = 4096
"""Texts that are handed to the predictor at once."""

VALUE_DIGITS = 6
"""Values are rounded to the unit in which the tally counts them."""


def players(text: str, kinds: str) -> list[Positions]:
    """Where the words of each term of a text stand."""
    together: dict[str, Positions] = {}
    for term, positions in terms_of(text, kinds):
        together[term] = together.get(term, ()) + positions
    return [*together.values()]


def texts_of(text: str, of_players: Sequence[Positions], kept: Coalitions) -> list[str]:
    """What is left of a text for each coalition."""
    gone = [tuple(place for i in np.flatnonzero(~row).tolist() for place in of_players[i]) for row in kept]
    return removals(text, gone)


def numbers_asked(unit: Unit, of_players: Sequence[Positions]) -> list[int]:
    """Which player each occurrence of a unit is."""
    number = {place: i for i, positions in enumerate(of_players) for place in positions}
    return [number[positions[0]] for positions in unit.positions]


def n_coalitions(n_players: int) -> float:
    """All but the whole document, which is known; as a float, since there may be a great many."""
    return 2.0**n_players - 1


def as_values(weights: Floats) -> Floats:
    """Weights as values: rounded, and within what a probability can gain or lose."""
    within = np.clip(weights, -1.0, 1.0).astype(np.float64)
    return np.round(within, VALUE_DIGITS) + 0.0  # no negative zero


class Game:
    """The coalitions of one document, asked about as a library wants them."""

    def __init__(self, predictor: Predictor, unit: Unit, kinds: str) -> None:
        self.players = players(unit.text, kinds)
        self.asked = numbers_asked(unit, self.players)
        self.n_calls = 0
        self._predictor = predictor
        self._unit = unit
        whole = np.ones(len(self.players), bool)
        self._known = {whole.tobytes(): unit.probability}

    def worth(self, coalitions: NDArray[np.generic]) -> Floats:
        """The label's probability in what is left, for each coalition."""
        kept = np.asarray(coalitions, bool).reshape(-1, len(self.players))
        new = [*{row.tobytes(): row for row in kept if row.tobytes() not in self._known}.values()]
        if new:
            texts = texts_of(self._unit.text, self.players, np.array(new))
            answers = answers_in_batches(self._predictor, texts, AT_ONCE)[:, self._unit.label].tolist()
            self._known.update(zip((row.tobytes() for row in new), answers))
            self.n_calls += len(new)
        return np.array([self._known[row.tobytes()] for row in kept])

    def variance_of_mean(self) -> float:
        """That of a mean of what was asked: a scale for the variance of a value, set right by second measurements."""
        known = [*self._known.values()]
        return float(np.var(known)) / len(known)


def seed_of(seed: int, text: str) -> int:
    """A seed of 32 bits, as the libraries take them, that belongs to a document."""
    digest = blake2b(f"{seed} ".encode() + text.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big")


@contextmanager
def numpy_seeded(seed: int) -> Iterator[None]:
    """Numpy's global generator, which some libraries draw from, at a seed; it is given back as it was."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)

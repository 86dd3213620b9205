"""One document by itself: what the model says of it, and the test of each of its words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anchorscope.sampling.engine import Engine
from anchorscope.text.words import spans, split, terms
from anchorscope.types import Positions, Predictor, Unit


@dataclass(frozen=True, slots=True)
class LocalAnchor:
    """A word of one document: where it stands, whether it is an anchor, and how often perturbed texts agreed."""

    word: str
    span: tuple[int, int]
    anchor: bool = False
    decided: bool = False
    agreements: int = 0
    samples: int = 0
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class LocalExplanation:
    """One document's prediction and the test of each of its words."""

    text: str
    label: str
    probabilities: dict[str, float]
    words: tuple[LocalAnchor, ...]

    @property
    def probability(self) -> float:
        """That of the predicted label."""
        return self.probabilities[self.label]

    @property
    def anchors(self) -> tuple[str, ...]:
        """The words that are anchors, in their order."""
        return tuple(word.word for word in self.words if word.anchor)


def tested_positions(text: str) -> list[Positions]:
    """Where the words of a text stand that can be tested: all that have a term.

    >>> tested_positions("So good!")
    [(0,), (1,)]
    """
    return [(position,) for position, term in enumerate(terms(split(text))) if term is not None]


def explain_document(text: str, predictor: Predictor, engine: Engine | None, tau: float) -> LocalExplanation:
    """The prediction and the test of every word; with no engine, the prediction and the words alone."""
    row = predictor.predict([text])[0]
    label = int(row.argmax())
    positions = tested_positions(text)
    words = split(text)
    places = spans(split(text))
    tested = tuple(LocalAnchor(words.words[place], places[place]) for (place,) in positions)
    if engine and positions:
        unit = Unit(0, text, label, tuple(positions), (tau,) * len(positions), float(row[label]))
        rows = engine.measure([unit])[0].rows()
        tested = tuple(
            replace(word, anchor=m.anchor, decided=m.decided, agreements=m.agreements, samples=m.samples, value=m.value)
            for word, m in zip(tested, rows)
        )
    probabilities = dict(zip(predictor.labels, map(float, row)))
    return LocalExplanation(text, predictor.labels[label], probabilities, tested)

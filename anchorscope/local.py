"""One document by itself: what the model says of it, and what each of its words does there."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt

from anchorscope import registry
from anchorscope.text.rule import PLAIN
from anchorscope.text.terms import terms_of
from anchorscope.text.words import spans, split
from anchorscope.types import LocalScore, Measurement, Positions, Predictor, Unit, counts_anchors


@dataclass(frozen=True, slots=True)
class LocalWord:
    """A word of one document: where it stands, its effect (the value of the local score), and give or take how much.

    Where anchors are tested, ``anchor`` is the verdict, ``decided`` whether the test could tell, and ``agreements`` of
    ``samples`` perturbed texts kept the prediction; else ``anchor`` is None.
    """

    word: str
    span: tuple[int, int]
    effect: float = nan
    deviation: float = nan
    anchor: bool | None = None
    decided: bool = False
    agreements: int = 0
    samples: int = 0


@dataclass(frozen=True, slots=True)
class LocalExplanation:
    """One document's prediction, the local score that was asked, and its answer about each word."""

    text: str
    label: str
    probabilities: dict[str, float]
    score: str
    words: tuple[LocalWord, ...]

    @property
    def probability(self) -> float:
        """That of the predicted label."""
        return self.probabilities[self.label]

    def _repr_html_(self) -> str:
        drawn: str = registry.resolve("drawing", "document")(self)
        return drawn

    @property
    def anchors(self) -> tuple[str, ...]:
        """The words that are anchors, in their order."""
        return tuple(word.word for word in self.words if word.anchor)


def tested_positions(text: str, grain: str = "token", kinds: str = PLAIN) -> list[Positions]:
    """Where the terms of a text stand: each by itself, or all words of a term together.

    >>> tested_positions("So good, so good!"), tested_positions("So good, so good!", "term", "words,signs")
    ([(0,), (1,), (3,), (4,)], [(0, 3), (1, 4), (5,)])
    """
    found = terms_of(text, kinds)
    if grain == "token":
        return [positions for _, positions in found]
    together: dict[str, Positions] = {}
    for term, positions in found:
        together[term] = together.get(term, ()) + positions
    return [*together.values()]


def explain_document(
    text: str, predictor: Predictor, score: LocalScore | None, tau: float, kinds: str = PLAIN
) -> LocalExplanation:
    """The prediction and what every term does; with no score, the prediction and the terms alone."""
    row = predictor.predict([text])[0]
    label = int(row.argmax())
    found: dict[int, Measurement] = {}
    if score and (positions := tested_positions(text, score.grain, kinds)):
        unit = Unit(0, text, label, tuple(positions), (tau,) * len(positions), float(row[label]))
        rows = score.measure([unit])[0].rows()
        found = {position: row for row, together in zip(rows, positions) for position in together}
    places = spans(split(text))
    terms = [(there[0], (places[there[0]][0], places[there[-1]][1])) for there in tested_positions(text, kinds=kinds)]
    is_verdict = score is not None and counts_anchors(score)
    return LocalExplanation(
        text=text,
        label=predictor.labels[label],
        probabilities=dict(zip(predictor.labels, map(float, row))),
        score=score.name if score else "",
        words=tuple(
            _word(text[start:end], (start, end), found.get(place), is_verdict) for place, (start, end) in terms
        ),
    )


def _word(word: str, span: tuple[int, int], found: Measurement | None, is_verdict: bool) -> LocalWord:
    if found is None:
        return LocalWord(word, span)
    known = LocalWord(word, span, effect=found.value, deviation=sqrt(found.variance))
    if not is_verdict:
        return known
    return LocalWord(
        word,
        span,
        known.effect,
        known.deviation,
        anchor=found.anchor,
        decided=found.decided,
        agreements=found.agreements,
        samples=found.samples,
    )

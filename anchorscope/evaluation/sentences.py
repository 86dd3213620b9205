"""Counterfactual sentences: what does one more sentence with a top word in it do to the accuracy?

    I was a bit {disappointed|unsatisfied} with this.

stands for one sentence an alternative. Each is appended to all documents whose *true* label is another than the one
that the sentence speaks for; if the word matters to the model and its neighbour in meaning does not, accuracy on these
documents falls for the first alternative alone. An alternative may be empty: {hand|}.

>>> parse("I bought {hand|} sanitizers.")
[('hand', 'I bought hand sanitizers.'), ('', 'I bought sanitizers.')]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from anchorscope.asking.answers import answers_in_batches
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.types import Predictor

_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")

TEXTS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Effect:
    """One alternative of a sentence: the accuracy on the documents of other labels once it is appended to them."""

    alternative: str
    sentence: str
    accuracy: float
    drop: float


@dataclass(frozen=True, slots=True)
class SentenceEffect:
    """A sentence for a label: the accuracy before, and what each of its alternatives does to it."""

    sentence: str
    label: str
    documents: int
    accuracy: float
    effects: tuple[Effect, ...]
    proposed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def parse(sentence: str) -> list[tuple[str, str]]:
    """The alternatives of a sentence, each with the sentence that it makes; the place of an empty one closes up."""
    found = _ALTERNATIVES.findall(sentence)
    if len(found) != 1 or "|" not in found[0]:
        raise InputError(
            f"The sentence {sentence!r} needs one place with alternatives, and has {len(found) if found else 'none'}; "
            "write them as {disappointed|unsatisfied}, an empty one as {hand|}."
        )
    made = []
    for alternative in (part.strip() for part in found[0].split("|")):
        filled = sentence.replace(f"{{{found[0]}}}", alternative)
        made.append((alternative, re.sub(r"  +", " ", filled).replace(" .", ".").strip()))
    return made


def measure(
    predictor: Predictor,
    texts: Sequence[str],
    true: Sequence[str | None],
    sentence: str,
    label: str,
    *,
    proposed: bool = False,
) -> SentenceEffect:
    """What a sentence for a label does to the accuracy on the texts of all other true labels.

    >>> from anchorscope.testing import KeywordPredictor
    >>> found = measure(KeywordPredictor("good"), ["a film", "good"], ["no", "yes"], "It is {good|long}.", "yes")
    >>> found.accuracy, [effect.drop for effect in found.effects]
    (1.0, [1.0, 0.0])
    """
    if label not in predictor.labels:
        raise UnknownNameError("label", label, predictor.labels)
    made = parse(sentence)
    rows = [(text, own) for text, own in zip(texts, true) if own in predictor.labels and own != label]
    if not rows:
        raise InputError(
            f"No document has a true label other than {label!r}: make the run with --label-column, "
            "or choose another label."
        )
    wanted = np.array([predictor.labels.index(own) for _, own in rows if own is not None])
    before = _accuracy(predictor, [text for text, _ in rows], wanted)
    effects = []
    for alternative, addition in made:
        after = _accuracy(predictor, [appended(text, addition) for text, _ in rows], wanted)
        effects.append(Effect(alternative, addition, after, before - after))
    return SentenceEffect(sentence, label, len(rows), before, tuple(effects), proposed)


def appended(text: str, sentence: str) -> str:
    """A text and one more sentence.

    >>> appended("so good ", "It is long."), appended("so good!", "Yes.")
    ('so good. It is long.', 'so good! Yes.')
    """
    text = text.rstrip()
    return f"{text}{'' if text[-1:] in '.!?…' else '.'} {sentence}"


def _accuracy(predictor: Predictor, texts: Sequence[str], wanted: Any) -> float:
    said = answers_in_batches(predictor, texts, TEXTS_AT_ONCE).argmax(axis=1)
    return int((said == wanted).sum()) / len(texts)

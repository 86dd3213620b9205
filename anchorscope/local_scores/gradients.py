"""What the local scores by gradients have in common: Captum follows a label's probability back to the pieces of a text.

A term's value is the sum over the pieces of its words. Nothing is left out or replaced, and no sample is drawn, so
there is no noise; but it is what a *small* change would do, and what lies between two embeddings is no text. A pass
forth and back through the model is a call, and serves all terms of a document.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import batches, brief
from anchorscope.asking.optional import needed
from anchorscope.errors import AnchorscopeError, InputError, ModelFailedError
from anchorscope.local_scores.coalitions import as_values
from anchorscope.local_scores.library import EXTRA
from anchorscope.settings import Settings
from anchorscope.text.words import spans, split
from anchorscope.types import (
    Cost,
    Differentiable,
    DifferentiablePredictor,
    Measurements,
    Perturbator,
    Positions,
    Predictor,
    Unit,
)

AT_ONCE = 16
"""Documents that are followed back together: what a pass remembers takes memory."""


class GradientScore(ABC):
    """A local score by Captum: how many passes it takes, and what it says of every piece."""

    name: str
    noise = "none: the same text has the same gradient"
    is_graded = True
    grain = "term"
    shares_calls = True
    tests_anchors = False
    perturbs = False

    def __init__(self, predictor: Predictor, perturbator: Perturbator | None, settings: Settings) -> None:
        self._captum = _checked(self.name, predictor)
        self._predictor = predictor
        self._settings = settings

    @classmethod
    def check(cls, predictor: Predictor) -> None:
        """Refuse a model that has no gradients, and where the library is missing."""
        _checked(cls.name, predictor)

    @property
    @abstractmethod
    def _passes(self) -> int:
        """The passes that a document takes."""

    @abstractmethod
    def _attribute(self, given: Differentiable, labels: Any) -> Any:
        """What every number of the embeddings does for its text's label, (texts, pieces, width)."""

    def calls(self, unit: Unit) -> float:
        """Its passes."""
        return self._passes

    def measure(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """A row an occurrence; documents of like length are followed back together."""
        by_length = sorted(range(len(units)), key=lambda number: len(units[number].text))
        found: dict[int, Measurements] = {}
        for numbers in batches(by_length, AT_ONCE):
            found.update(zip(numbers, self._followed([units[number] for number in numbers])))
        rows = Measurements.join(found[number] for number in range(len(units)))
        n_calls = self._passes * len(units)
        return rows, Cost(tests=len(rows), samples=n_calls, predictor_texts=n_calls)

    def _followed(self, units: Sequence[Unit]) -> list[Measurements]:
        import torch

        assert isinstance(self._predictor, DifferentiablePredictor)
        given = self._predictor.differentiable([unit.text for unit in units], self._passes)
        labels = torch.tensor([unit.label for unit in units], device=given.embeddings.device)
        try:
            weights = self._attribute(given, labels).detach().double().sum(dim=-1).cpu().numpy()
        except AnchorscopeError:
            raise
        except Exception as error:
            raise ModelFailedError(
                f"The model's gradients fail on a batch of {len(units)} texts: {brief(error)}; use --score occlusion."
            ) from error
        return [self._rows(unit, row, there) for unit, row, there in zip(units, weights, given.spans)]

    def _rows(self, unit: Unit, weights: NDArray[np.float64], there: Sequence[tuple[int, int]]) -> Measurements:
        value = as_values(of_words(unit.text, unit.positions, weights, there))
        return Measurements.of_values(value, np.zeros(len(value)), np.full(len(value), self._passes, np.int64))


def of_words(
    text: str, positions: Sequence[Positions], weights: NDArray[np.float64], there: Sequence[tuple[int, int]]
) -> NDArray[np.float64]:
    """The weights of pieces, summed over the words of each occurrence.

    >>> of_words("unkind film", [(0,), (1,)], np.array([9.0, 0.5, 0.25, 0.125]), [(0, 0), (0, 2), (2, 6), (7, 11)])
    array([0.75 , 0.125])
    """
    cut = spans(split(text))
    # A piece belongs to the word in which its first character lies; one without characters to none.
    word_at = {place: number for number, (start, end) in enumerate(cut) for place in range(start, end)}
    of_word = np.zeros(len(cut))
    for weight, (start, end) in zip(weights.tolist(), there):
        number = next((word_at[place] for place in range(start, end) if place in word_at), None)
        if number is not None:
            of_word[number] += weight
    return np.array([of_word[list(places)].sum() for places in positions])


def _checked(score: str, predictor: Predictor) -> Any:
    """Captum's methods, if the model can be followed back."""
    if not isinstance(predictor, DifferentiablePredictor):
        raise InputError(
            f"--score {score} needs the gradients of a torch model, and {predictor.name} gives answers only: use a "
            "Hugging Face folder as --model, or --score occlusion."
        )
    return needed("captum.attr", EXTRA, f"--score {score}")

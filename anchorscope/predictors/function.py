"""A plain function as a predictor: the most general black box.

It takes a list of texts and answers with one row of probabilities a text, or with one label name a text:

>>> shouts = FunctionPredictor(lambda texts: [[0, 1] if text.isupper() else [1, 0] for text in texts], ["calm", "loud"])
>>> shouts.predict(["good", "GOOD"])
array([[1., 0.],
       [0., 1.]])

Which of the two it is shows with its first answer, so ``has_probabilities`` can be relied on from then on: the
function is not called only to find out.

>>> named = FunctionPredictor(lambda texts: ["loud" if text.isupper() else "calm" for text in texts], ["calm", "loud"])
>>> named.predict(["GOOD"]), named.has_probabilities
(array([[0., 1.]]), False)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import Columns, answered, one_hot
from anchorscope.errors import ModelError
from anchorscope.predictors.fingerprints import of_object
from anchorscope.predictors.labels import chosen_labels


class FunctionPredictor:
    """A function ``list[str] -> (texts, labels)``, or ``list[str] -> label names``; ``labels`` in column order."""

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        labels: Sequence[str] | None,
        *,
        name: str | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self.labels = chosen_labels(None, labels, self.name)
        self.has_probabilities = True
        self._has_answered = False
        self._columns = Columns()
        self.fingerprint = fingerprint or of_object(function)

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels)."""
        return answered(self._rows, texts, self.labels, self._columns)

    def _rows(self, texts: list[str]) -> Any:
        answer = self.function(texts)
        are_names = _are_names(answer)
        if self._has_answered and are_names == self.has_probabilities:
            kinds = ("probabilities", "label names") if are_names else ("label names", "probabilities")
            raise ModelError(f"The model answered {kinds[0]} before and {kinds[1]} now; give the same kind every time.")
        self._has_answered = True
        self.has_probabilities = not are_names
        return one_hot(answer, texts, self.labels) if are_names else answer


def _are_names(answer: Any) -> bool:
    return (
        isinstance(answer, list | tuple | np.ndarray)
        and getattr(answer, "shape", None) != ()
        and len(answer) > 0
        and all(isinstance(name, str) for name in answer)
    )

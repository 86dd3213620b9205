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

Where its rows name their labels (``named_rows.py``) they need not be given: they are asked for with two texts.

>>> FunctionPredictor(lambda texts: [{"calm": 0.75, "loud": 0.25} for text in texts], None).labels
('calm', 'loud')

Where a function asks a service text by text, it can put the exception of a text in place of its row: only such texts
are asked about again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import Columns, answered, brief, one_hot
from anchorscope.asking.retry import Retry
from anchorscope.errors import AnchorscopeError, InputError, ModelError, ModelFileError, SomeFailedError
from anchorscope.predictors.fingerprints import of_object
from anchorscope.predictors.labels import chosen_labels
from anchorscope.predictors.named_rows import are_named, in_columns, labels_named

PROBE = ("A first text.", "Another text, to see what comes back.")
"""What a function is asked about whose labels are not given."""


class FunctionPredictor:
    """A function ``list[str] -> (texts, labels)``, or ``list[str] -> label names``; ``labels`` in column order.

    ``n_probed`` texts were asked about to find the labels; ``at_once`` texts are best asked about together.
    """

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        labels: Sequence[str] | None,
        *,
        name: str | None = None,
        fingerprint: str | None = None,
        at_once: int | None = None,
    ) -> None:
        self.function = function
        self.at_once = at_once
        self.is_remote = bool(getattr(function, "is_remote", False))
        self.is_fully_fingerprinted = self.is_remote
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self.n_probed = 0 if labels is not None else len(PROBE)
        own = _own_labels(function, self.name) if labels is None else None
        self.labels = chosen_labels(own, labels, self.name)
        self.has_probabilities = True
        self._has_answered = False
        self._columns = Columns()
        self.fingerprint = fingerprint or of_object(function)

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels)."""
        return answered(self._rows, texts, self.labels, self._columns)

    def _rows(self, texts: list[str]) -> Any:
        answer = self.function(texts)
        failed = _failed(answer, texts)
        if failed:
            raise self._in_part(answer, texts, failed) from answer[failed[0]]
        return self._read(answer, texts)

    def _in_part(self, answer: Sequence[Any], texts: list[str], failed: list[int]) -> SomeFailedError:
        """The error that says which texts failed, and carries the rows of the others."""
        well = [number for number in range(len(texts)) if number not in {*failed}]
        asked = [texts[number] for number in well]
        rows = answered(lambda some: self._read([answer[number] for number in well], some), asked, self.labels)
        told = f"The model failed on {len(failed)} of {len(texts)} texts: {brief(answer[failed[0]])}"
        return SomeFailedError(f"{told}.", failed, rows)

    def _read(self, answer: Any, texts: list[str]) -> Any:
        are_names = _are_names(answer)
        if self._has_answered and are_names == self.has_probabilities:
            kinds = ("probabilities", "label names") if are_names else ("label names", "probabilities")
            raise ModelError(f"The model answered {kinds[0]} before and {kinds[1]} now; give the same kind every time.")
        self._has_answered = True
        self.has_probabilities = not are_names
        if are_names:
            return one_hot(answer, texts, self.labels)
        if are_named(answer) and len(answer) == len(texts):
            return in_columns(answer, texts, self.labels)
        return answer


def _own_labels(function: Callable[[list[str]], Any], name: str) -> tuple[str, ...] | None:
    """The labels that the function's answers name, if they do."""
    try:
        answer = _probed(function)
    except AnchorscopeError as error:
        raise InputError(str(error)) from error
    except Exception as error:
        raise ModelFileError(
            f"The labels of {name} are not known, and it fails when asked about two texts ({brief(error)}); make it "
            "answer, or give the labels in the order of its columns: labels=['negative', 'positive'], or --labels "
            "negative,positive."
        ) from error
    if _are_names(answer):
        seen = ", ".join(dict.fromkeys(answer))
        raise InputError(
            f"{name} answers label names (here {seen}), and two texts do not show all of them; give all: "
            "labels=['negative', 'positive'], or --labels negative,positive."
        )
    return labels_named(answer)


def _probed(function: Callable[[list[str]], Any]) -> Any:
    """What a function answers about two texts; where it fails as services do, after some tries."""
    retry = Retry()
    attempt = 0
    while True:
        attempt += 1
        answer = function(list(PROBE))
        failed = _failed(answer, PROBE)
        if not failed:
            return answer
        if attempt >= retry.tries:
            raise answer[failed[0]]
        retry.sleep(retry.wait(attempt, answer[failed[0]]))


def _failed(answer: Any, texts: Sequence[str]) -> list[int]:
    """The texts for which an exception stands in place of a row."""
    if not isinstance(answer, list | tuple) or len(answer) != len(texts):
        return []
    return [number for number, row in enumerate(answer) if isinstance(row, Exception)]


def _are_names(answer: Any) -> bool:
    return (
        isinstance(answer, list | tuple | np.ndarray)
        and getattr(answer, "shape", None) != ()
        and len(answer) > 0
        and all(isinstance(name, str) for name in answer)
    )

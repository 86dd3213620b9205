"""A model's answers, some texts at a time, each checked before anything is built on it.

The rows that a model gives for n texts and c labels must be an array (n, c) of probabilities. Whatever else it is,
a ModelError says in one sentence what was wrong, what was expected and what to do next:

>>> checked([[0.25, 0.75]], ["fine film"], ["bad", "good"])
array([[0.25, 0.75]])
>>> checked([[2.2, 1.0]], ["fine film"], ["bad", "good"])
Traceback (most recent call last):
anchorscope.errors.ModelError: The model's row for 'fine film' sums to 3.2 and not to 1; are these logits? Put them \
through a softmax.

Values are only looked at, never repaired. An answer without fault costs two passes over the array; what is wrong
with a faulty one is found afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.columns import Columns, check_order, column_names
from anchorscope.errors import AnchorscopeError, ModelError, ModelFailedError, clipped, listed
from anchorscope.types import Predictor, Spelled

T = TypeVar("T")

PERCENT = 100.0
TOLERANCE = 1e-3
"""How far from 1 a row may sum: what half precision and printed digits lose, and no more."""


def answered(
    ask: Callable[[Any], Any], texts: Sequence[str], labels: Sequence[str], columns: Columns | None = None
) -> NDArray[np.float64]:
    """What the model ``ask`` says about ``texts``, checked; a failure of its own becomes a ModelError.

    It is asked with a list of strings, or with spelled texts as they are; ``columns`` remembers those of before.

    >>> answered(lambda texts: [[1, 0]] * len(texts), ["a", "b"], ["bad", "good"])
    array([[1., 0.],
           [1., 0.]])
    >>> answered(lambda texts: 1 / 0, ["a", "b"], ["bad", "good"])
    Traceback (most recent call last):
    anchorscope.errors.ModelFailedError: The model failed on a batch of 2 texts: ZeroDivisionError: division by zero; \
first text: 'a'.
    """
    if not len(texts):
        return np.empty((0, len(labels)))
    try:
        rows = ask(texts if isinstance(texts, Spelled) else list(texts))
        if columns is not None:
            columns.check(rows)
        return checked(rows, texts, labels)
    except (AnchorscopeError, KeyboardInterrupt):
        raise
    except BaseException as error:  # to read an answer can be to run code of the model's, which may end the process
        raise ModelFailedError(
            f"The model failed on a batch of {len(texts)} texts: {brief(error)}; first text: {shortened(texts[0])}."
        ) from error


def answers_in_batches(predictor: Predictor, texts: Sequence[str], size: int) -> NDArray[np.float64]:
    """What the model says of each text, (texts, labels), asked about so many texts at a time."""
    parts = [answered(predictor.predict, some, predictor.labels) for some in batches(texts, size)]
    return np.concatenate(parts) if parts else np.zeros((0, len(predictor.labels)))


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in turn, so many at a time.

    >>> list(batches("abcde", 2))
    ['ab', 'cd', 'e']
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]


def checked(rows: Any, texts: Sequence[str], labels: Sequence[str]) -> NDArray[np.float64]:
    """``rows`` as an array (texts, labels), provided that each row is a distribution over the labels."""
    array = plain_numbers(rows, texts, labels)
    _check_shape(array, texts, labels)
    good = are_distributions(array)
    if not good.all():
        raise bad_row(array, texts, int(np.argmin(good)))
    return array


def bad_row(array: NDArray[np.float64], texts: Sequence[str], number: int) -> ModelError:
    """The error that says what is wrong with the row of one of the texts."""
    text = texts[number]
    return ModelError(f"The model's row for {shortened(text)} {_fault(array[number])}", text=text)


def plain_numbers(rows: Any, texts: Sequence[str], labels: Sequence[str]) -> NDArray[np.float64]:
    """``rows`` as numbers of any shape; whoever makes something else of an answer makes it of these.

    Strings of digits are no numbers, nor is None (numpy would make it NaN).

    >>> plain_numbers([["0.5", "0.5"]], ["fine film"], ["bad", "good"])
    Traceback (most recent call last):
    anchorscope.errors.ModelError: The model answered values of type str96 instead of numbers; expected 1 rows of 2 \
probabilities (bad, good).
    """
    expected = f"expected {len(texts)} rows of {len(labels)} probabilities ({listed(labels)})"
    if rows is None:
        raise ModelError(f"The model answered None; {expected}; does the function return its result?")
    check_order(column_names(rows) or (), labels)
    if _is_masked(rows) or (isinstance(rows, Sequence) and any(map(_is_masked, rows))):
        raise ModelError(f"The model answered an array in which values are masked; {expected}; fill them in.")
    try:
        array = np.asarray(rows)
    except Exception as error:
        fault = _ragged(rows, texts, labels) if isinstance(rows, list | tuple) else brief(error)
        raise ModelError(f"The model's answer is no array ({fault}); {expected}.") from error
    odd = _odd_types(array)
    if array.ndim == 0 or odd:
        what = f"values of type {', '.join(odd)}" if array.ndim else f"a single {type(rows).__name__}"
        raise ModelError(f"The model answered {what} instead of numbers; {expected}{_in_rows(rows)}.")
    return array.astype(np.float64)


def _in_rows(rows: Any) -> str:
    """How to make rows of an answer that holds them in another form."""
    if isinstance(rows, Mapping):
        return "; make rows of its columns: np.column_stack(list(answer.values()))"
    if hasattr(rows, "toarray"):
        return "; make it an array: answer.toarray()"
    return "; return a list of them: list(answer)" if isinstance(rows, Iterator) else ""


def are_distributions(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each row (texts, labels) is a distribution over the labels.

    >>> are_distributions(np.array([[0.25, 0.75], [-3.0, 4.0], [np.nan, 1.0]]))
    array([ True, False, False])
    """
    with np.errstate(all="ignore"):  # infinities may be added here; they are a fault, with a name
        return np.asarray((rows >= 0).all(axis=1) & (abs(rows.sum(axis=1) - 1) <= TOLERANCE))


def one_hot(names: Sequence[str], texts: Sequence[str], labels: Sequence[str]) -> NDArray[np.float64]:
    """Label names as rows with a single 1, for models that give no probabilities.

    >>> one_hot(["good"], ["fine film"], ["bad", "good"])
    array([[0., 1.]])
    """
    if len(names) != len(texts):
        raise ModelError(_wrong_count(len(names), "label names", len(texts)), somewhere=True)
    numbers = {label: number for number, label in enumerate(labels)}
    for name, text in zip(names, texts, strict=True):
        if name not in numbers:
            near = get_close_matches(name, labels, n=1)
            hint = f"did you mean {shortened(near[0])}?" if near else "name every label that it can answer."
            raise ModelError(
                f"The model answered {shortened(name)} for {shortened(text)}, which is none of its labels "
                f"({listed(labels)}); {hint}",
                text=text,
            )
    return np.eye(len(labels))[[numbers[name] for name in names]]


LONGEST_REASON = 300
"""Characters of what an exception says that a sentence quotes."""


def brief(error: BaseException) -> str:
    """An exception in one line, whatever it has to say for itself.

    >>> brief(ValueError("Expected 2D array.\\nReshape your data."))
    'ValueError: Expected 2D array.'
    >>> len(brief(ValueError("x" * 50_000_000)))
    313
    """
    line = said_by(error)[: 20 * LONGEST_REASON].strip().partition("\n")[0]
    return f"{type(error).__name__}: {clipped(line, LONGEST_REASON)}".removesuffix(": ")


def said_by(error: BaseException) -> str:
    """What an exception says; nothing where its class, which is somebody else's, cannot say it."""
    try:
        return str(error)
    except Exception:
        return ""


def shortened(text: str) -> str:
    """A text in quotes, short enough for a sentence.

    >>> shortened("word " * 100)
    "'word word word word word word word word word word …'"
    """
    return repr(text if len(text) <= 60 else f"{text[:50]}…")


def _is_masked(values: Any) -> bool:
    """Whether an array has masked values, of which numpy would take what lies below the mask."""
    return isinstance(values, np.ma.MaskedArray) and bool(np.ma.getmaskarray(values).any())


def _ragged(rows: Sequence[Any], texts: Sequence[str], labels: Sequence[str]) -> str:
    for row, text in zip(rows, texts, strict=False):
        length = len(row) if hasattr(row, "__len__") else 1
        if length != len(labels):
            return f"the row for {shortened(text)} has length {length}"
    return "its rows differ in length"


def _odd_types(array: NDArray[Any]) -> list[str]:
    """The types in an array that are no numbers; only an array of objects has to be searched for them."""
    if array.dtype.kind != "O":
        return [] if array.dtype.kind in "fiub" else [array.dtype.name]
    return sorted({type(value).__name__ for value in array.flat if not isinstance(value, Real)})


def _check_shape(array: NDArray[np.float64], texts: Sequence[str], labels: Sequence[str]) -> None:
    expected = f"expected {len(labels)} ({listed(labels)})"
    if len(array) != len(texts):
        raise ModelError(_wrong_count(len(array), "rows", len(texts)), somewhere=True)
    if array.ndim == 1 or array.shape[1:] == (1,):
        advice = "return 1 - p beside p" if len(labels) == 2 else "return one probability for each label"
        raise ModelError(f"The model answered one number a text; {expected}; {advice}, or label names.")
    if array.ndim > 2:
        raise ModelError(f"The model answered an array of shape {array.shape}; expected {len(texts), len(labels)}.")
    if array.shape[1] != len(labels):
        raise ModelError(
            f"The model answered {array.shape[1]} numbers a text; {expected}; name every label, in the model's order."
        )


def _wrong_count(got: int, what: str, expected: int) -> str:
    return f"The model answered {got} {what} for a batch of {expected}; expected one for each text, in their order."


def _fault(row: NDArray[np.float64]) -> str:
    if np.isnan(row).any():
        return "holds NaN; ask the model about this text alone."
    if np.isinf(row).any():
        return "holds an infinite number; ask the model about this text alone."
    if (row < 0).any():
        return f"holds a negative number ({row.min():.6g}); are these logits? Put them through a softmax."
    if (row <= 1).all():
        return f"sums to {row.sum():.6g} and not to 1; is it a multi-label model? Ask about one label: --head LABEL."
    if np.isclose(row.sum(), PERCENT, rtol=0.01):
        return f"sums to {row.sum():.6g} and not to 1; are these percentages? Divide them by 100."
    return f"sums to {row.sum():.6g} and not to 1; are these logits? Put them through a softmax."


def about(error: ModelError, what: str) -> ModelError:
    """The same error with the document in its sentence."""
    return type(error)(f"{str(error).removesuffix('.')} ({what}).", text=error.text)

"""Answers that name their labels: read by name, into the order of the columns.

    {"bad": 0.1, "good": 0.9}                                                   a dict a text
    [{"label": "good", "score": 0.9}, {"label": "bad", "score": 0.1}]           a list of labels with scores a text

>>> rows = [{"bad": 0.1, "good": 0.9}, {"good": 0.2, "bad": 0.8}]
>>> labels_named(rows)
('bad', 'good')
>>> in_columns(rows, ["fine", "dull"], ("good", "bad"))
[[0.9, 0.1], [0.2, 0.8]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anchorscope.asking.answers import shortened
from anchorscope.asking.columns import named_columns
from anchorscope.errors import ModelError, listed


def labels_named(answer: Any) -> tuple[str, ...] | None:
    """The labels that an answer names; None where it names none.

    Those of a dict come in its order, those of a list of scores (the best first, mostly) in that of the alphabet.
    """
    columns = named_columns(answer)
    if columns is not None and all(isinstance(name, str) for name in columns):
        return tuple(columns)
    for row in _rows(answer):
        if (named := _named(row)) is not None:
            return tuple(named) if isinstance(row, Mapping) else tuple(sorted(named))
    return None


def are_named(answer: Any) -> bool:
    """Whether the rows of an answer name their labels."""
    return any(_named(row) is not None for row in _rows(answer))


def in_columns(answer: Sequence[Any], texts: Sequence[str], labels: Sequence[str]) -> list[list[Any]]:
    """The rows of an answer, each in the order of the labels; a label that is missing or unknown is an error."""
    return [_in_order(_named(row), text, labels) for row, text in zip(answer, texts)]


def _rows(answer: Any) -> Sequence[Any]:
    return answer if isinstance(answer, list | tuple) else ()


def _named(row: Any) -> Mapping[str, Any] | None:
    """The scores of a row by label, if it names its labels."""
    best = row[0] if isinstance(row, list | tuple) and len(row) == 1 else row
    if _is_scored(best) and isinstance(best["label"], str):
        raise ModelError(
            f"The model's row names its best label alone ({shortened(best['label'])}); answer the scores of all labels "
            "(a Hugging Face pipeline does so with top_k=None), or nothing but the name of the best."
        )
    if isinstance(row, Mapping) and all(isinstance(label, str) for label in row):
        return row
    if isinstance(row, list | tuple) and row and all(_is_scored(part) for part in row):
        return {str(part["label"]): part["score"] for part in row}
    return None


def _is_scored(part: Any) -> bool:
    return isinstance(part, Mapping) and "label" in part and "score" in part


def _in_order(row: Mapping[str, Any] | None, text: str, labels: Sequence[str]) -> list[Any]:
    if row is None:
        raise ModelError(
            f"The model's row for {shortened(text)} names no labels, and others do; answer all of them alike.",
            text=text,
        )
    if {*row} != {*labels}:
        raise ModelError(
            f"The model's row for {shortened(text)} has the labels {listed(row) or '(none)'}; "
            f"expected {listed(labels)}: a probability for each of them, and no other; give the labels that it answers "
            "(--labels) or, behind HTTP, say where they lie in its answer (--answer).",
            text=text,
        )
    return [row[label] for label in labels]

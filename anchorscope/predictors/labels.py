"""The names of a model's labels: its own, or the ones that the caller gives to a model that has none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from anchorscope.errors import InputError, in_a_line, listed


def given_names(given: Any, argument: str = "labels") -> tuple[str, ...]:
    """The names of labels that the caller gives as an argument.

    >>> given_names([0, 1])
    Traceback (most recent call last):
    anchorscope.errors.InputError: The names of labels are strings, and 0 is none; write labels=['0', '1'].
    """
    if isinstance(given, str):
        names_in_text = in_a_line(given.split(","))
        raise InputError(
            f"{argument} must be a list of names and not the text {in_a_line(given)}; write {argument}={names_in_text}."
        )
    if not isinstance(given, Iterable):
        raise InputError(
            f"{argument} must be a list of names, not {in_a_line(given)}; write {argument}=['negative', 'positive']."
        )
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"The names of labels are strings, and {in_a_line(name)} is none; "
                f"write {argument}={in_a_line([*map(str, names)])}."
            )
    return names


def split_names(text: str) -> list[str]:
    """The names of labels in one text, by commas; one with a comma in it stands in double quotes, as in CSV.

    >>> split_names('good,"na, ja",bad')
    ['good', 'na, ja', 'bad']
    """
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise InputError(
            f"--labels {in_a_line(text)} is not understood ({error}); separate the names by commas, and put double "
            """quotes around one with a comma in it: --labels 'good,"na, ja",bad'."""
        ) from error


def joined_names(names: Iterable[str]) -> str:
    """The names as ``split_names`` reads them.

    >>> joined_names(["good", "na, ja"])
    'good,"na, ja"'
    """
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(names)
    return written.getvalue()


LEARNING_SHARE = 0.1
"""Where calls are limited, learning the names of labels may take this share of them."""


def share_of(texts: Sequence[str], max_model_calls: float | None) -> Sequence[str]:
    """The documents that the names of labels may be learnt from, where so many calls are allowed.

    >>> len(share_of(["text"] * 100, 50)), len(share_of(["text"] * 100, None))
    (5, 100)
    """
    return texts if max_model_calls is None else texts[: int(max_model_calls * LEARNING_SHARE)]


def check_written(labels: Iterable[str], model: str) -> None:
    r"""Refuse the name of a label that no file can hold.

    >>> check_written(["good", "bad\ud83d"], "score")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    anchorscope.errors.InputError: The label 'bad\ud83d' of score holds half a character, which no file can hold; ...
    """
    for label in labels:
        try:
            label.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"The label {in_a_line(label)} of {model} holds half a character, which no file can hold; rename it "
                "with labels=[…] or --labels."
            ) from error


def chosen_labels(own: Sequence[str] | None, given: Sequence[str] | None, model: str) -> tuple[str, ...]:
    """The labels in the order of the model's columns: ``given`` names, if any, replace the model's ``own``.

    >>> chosen_labels(["0", "1"], None, "LogisticRegression")
    ('0', '1')
    >>> chosen_labels(["0", "1"], ["bad", "good"], "LogisticRegression")
    ('bad', 'good')
    >>> chosen_labels(None, None, "score")
    Traceback (most recent call last):
    anchorscope.errors.InputError: The labels of score are not known; give them in the order of its columns: \
labels=['negative', 'positive'], or --labels negative,positive.
    """
    names = own if given is None else given_names(given)
    if names is None:
        raise InputError(
            f"The labels of {model} are not known; give them in the order of its columns: "
            "labels=['negative', 'positive'], or --labels negative,positive."
        )
    labels = tuple(names)
    check_written(labels, model)
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise InputError(f"{model} needs two or more different labels; these are ({listed(labels)}).")
    if own is not None and len(own) != len(labels):
        quoted = "; put double quotes around one with a comma in it" if len(labels) > len(own) else ""
        raise InputError(f"{model} has {len(own)} labels ({listed(own)}), but {len(labels)} names were given{quoted}.")
    if own is not None and labels != tuple(own) and set(labels) == set(own):
        raise InputError(
            f"The labels of {model} stand in the order ({listed(own)}), and new names keep the model's order; "
            "leave out the labels that you gave."
        )
    return labels

"""The columns that a model's answers name: a table says itself what they are, and so do rows with names.

    pandas.DataFrame(…, columns=["bad", "good"])        a table
    [pandas.Series([0.2, 0.8], ["bad", "good"]), …]     rows whose entries have names; named tuples are others

An answer is read by position. What it calls its columns is therefore compared with the labels, and with what it called
them before: in another order they would be read as other labels.

>>> check_order(["good", "bad"], ["bad", "good"])
Traceback (most recent call last):
anchorscope.errors.ModelError: The model's columns are good, bad; expected bad, good, in this order; put them into the \
order of the labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from anchorscope.errors import ModelError, listed


class Columns:
    """What the columns were in the first answer: every other has to say the same. ``own`` are a model's own labels.

    ``names`` are what they were, None as long as no answer has said it. Who asks elsewhere, or goes on later, has to
    ``remember`` them.

    >>> import pandas
    >>> columns = Columns()
    >>> columns.check(pandas.DataFrame([[0.2, 0.8]], columns=[0, 1]))
    >>> columns.check(pandas.DataFrame([[0.8, 0.2]], columns=[1, 0]))
    Traceback (most recent call last):
    anchorscope.errors.ModelError: The model's columns were 0, 1 and are now 1, 0: they would be read as other labels; \
put them into one order.
    """

    def __init__(self, own: Sequence[str] | None = None) -> None:
        self._own = own
        self.names: list[str] | None = None

    def check(self, rows: Any) -> None:
        """Refuse an answer whose columns are others than those of the first one, or stand in another order."""
        names = column_names(rows)
        if names is None:
            return
        if self.names is None:
            check_order(names, self._own or ())
            self.names = names
        _compare(self.names, names)

    def remember(self, names: Sequence[str] | None) -> None:
        """What they were in answers that were given elsewhere or before; None if these did not say it."""
        if names is None:
            return
        _compare(names, self.names or names)
        self.names = [*names]


def check_order(names: Sequence[str], labels: Sequence[str]) -> None:
    """Refuse columns that are called like the labels, or by their numbers, and stand in another order."""
    for expected in ([*labels], [*map(str, range(len(names)))]):
        if [*names] != expected and sorted(names) == sorted(expected):
            raise ModelError(
                f"The model's columns are {listed(names)}; expected {listed(expected)}, in this order; "
                "put them into the order of the labels."
            )


def _compare(then: Sequence[str], now: Sequence[str]) -> None:
    if [*then] != [*now]:
        raise ModelError(
            f"The model's columns were {listed(then)} and are now {listed(now)}: they would be read as other labels; "
            "put them into one order."
        )


def column_names(rows: Any) -> list[str] | None:
    """The names of an answer's columns; None of what has none."""
    columns = getattr(rows, "columns", None)
    return [str(name) for name in columns] if isinstance(columns, Iterable) else None

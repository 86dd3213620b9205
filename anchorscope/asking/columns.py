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

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anchorscope.errors import ModelError, listed


class Columns:
    """What the columns were in the first answer: every other has to say the same. ``labels`` are what the columns are
    taken for, ``own`` what the model calls them itself.

    ``names`` are what they were, None as long as no answer has said it. Who asks elsewhere, or goes on later, has to
    ``remember`` them.

    >>> import pandas
    >>> columns = Columns(["bad", "good"])
    >>> columns.check(pandas.DataFrame([[0.2, 0.8]], columns=[0, 1]))
    >>> columns.check(pandas.DataFrame([[0.8, 0.2]], columns=[1, 0]))
    Traceback (most recent call last):
    anchorscope.errors.ModelError: The model's columns were 0, 1 and are now 1, 0: they would be read as other labels; \
put them into one order.
    """

    def __init__(self, labels: Sequence[str], own: Sequence[str] | None = None) -> None:
        self._known = [[*labels], [*(own or labels)]]
        self.names: list[str] | None = None
        self._where = ""

    def check(self, rows: Any) -> None:
        """Refuse an answer whose columns are others than those of the first one, or stand in another order."""
        names = column_names(rows)
        if names is None:
            return
        if self.names is None:
            if names not in self._known:
                check_order(names, *self._known, [*map(str, range(len(names)))])
            self.names = names
        _compare(self.names, names, self._where)

    def remember(self, names: Sequence[str] | None, where: str = "") -> None:
        """What they were in answers that were given elsewhere or before, and where; None if these did not say it."""
        if names is None:
            return
        _compare(names, self.names or names, where)
        if self.names is None:
            self.names = [*names]
            self._where = where


def check_order(names: Sequence[str], *known: Sequence[str]) -> None:
    """Refuse columns that are called like labels which are ``known``, and stand in another order."""
    for expected in known:
        if [*names] != [*expected] and sorted(names) == sorted(expected):
            raise ModelError(
                f"The model's columns are {listed(names)}; expected {listed(expected)}, in this order; "
                "put them into the order of the labels."
            )


def _compare(then: Sequence[str], now: Sequence[str], where: str) -> None:
    if [*then] != [*now]:
        told = f" ({where})" if where else ""
        raise ModelError(
            f"The model's columns were {listed(then)}{told} and are now {listed(now)}: they would be read as other "
            "labels; put them into one order."
        )


def column_names(rows: Any) -> list[str] | None:
    """What an answer calls its columns, written out; None if it does not say it."""
    names = named_columns(rows)
    return None if names is None else [str(name) for name in names]


def named_columns(rows: Any) -> list[Any] | None:
    """The names of an answer's columns; None of what has none. Rows that differ in their names are refused.

    >>> from collections import namedtuple
    >>> Row = namedtuple("Row", "bad good")
    >>> named_columns([Row(0.2, 0.8), Row(0.5, 0.5)]), named_columns([[0.2, 0.8]])
    (['bad', 'good'], None)
    """
    columns = getattr(rows, "columns", None)
    if isinstance(columns, Iterable):
        return [*columns]
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return None
    first = _names_of(rows[0]) if len(rows) else None
    for row in rows:
        names = _names_of(row)
        if names != first:
            told = [listed(some) if some else "no names" for some in (first, names)]
            raise ModelError(
                f"The model's rows name their columns differently ({told[0]}; {told[1]}): they would be read as other "
                "labels; put all of them into one order."
            )
    return first


def _names_of(row: Any) -> list[Any] | None:
    """The names of a row's entries, as a series of pandas has them, a named tuple or a row of a database; None of a
    list, and of a dict, which is not read by position."""
    if type(row) in (list, tuple) or isinstance(row, Mapping):
        return None
    fields = getattr(row, "_fields", None)
    keys = getattr(row, "keys", None)
    found = keys() if fields is None and callable(keys) else fields
    return [*found] if isinstance(found, Iterable) else None

"""One question of a model that answers several at once.

A multi-label model gives each text any number of its labels: a probability for each, and they need not sum to 1. Such
a model is explained a label at a time, by the question whether a text has it (its *head*):

>>> head = chosen_head(["toxic", "insult"], "insult", "comments")
>>> head.labels, head.rows([[0.9, 0.2], [0.1, 0.7]], ["so so", "go away"])
(('not insult', 'insult'), array([[0.8, 0.2],
       [0.3, 0.7]]))

Any model can be asked so: of one that gives each text exactly one label, it is this label against all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import bad_row, plain_numbers
from anchorscope.asking.columns import Columns
from anchorscope.errors import InputError, ModelError, UnknownNameError, listed


@dataclass(frozen=True, slots=True)
class Head:
    """The label number ``number`` of ``heads``, against its absence."""

    heads: tuple[str, ...]
    number: int

    @property
    def labels(self) -> tuple[str, str]:
        """Its absence, and the label."""
        name = self.heads[self.number]
        return f"not {name}", name

    def rows(self, answer: Any, texts: Sequence[str], columns: Columns | None = None) -> NDArray[np.float64]:
        """Rows (texts, 2) of an answer (texts, heads), whose columns are each a probability by itself.

        The answer is refused for what any other is refused for, but that its rows need not sum to 1.
        """
        if columns is not None:
            columns.check(answer)
        values = plain_numbers(answer, texts, self.heads)
        if values.shape != (len(texts), len(self.heads)):
            raise ModelError(
                f"The model answered an array of shape {values.shape} for {len(texts)} texts; expected "
                f"{len(self.heads)} probabilities a text ({listed(self.heads)}).",
                somewhere=len(values) != len(texts),
            )
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            raise bad_row(values, texts, int(np.argmin(finite)))
        for number in (self.number, *range(len(self.heads))):  # of several at fault, the one that is asked about
            column = values[:, number]
            if not ((column >= 0) & (column <= 1)).all():
                raise ModelError(
                    f"The model's answers for {self.heads[number]} are no probabilities (from {column.min():.6g} to "
                    f"{column.max():.6g}); are these logits? Put them through a sigmoid."
                )
        chosen = values[:, self.number]
        return np.stack([1 - chosen, chosen], axis=1)


def chosen_head(heads: Sequence[str], wanted: str | None, model: str) -> Head:
    """The head that is asked for; where none is, an error lists them.

    >>> chosen_head(["toxic", "insult"], None, "comments")
    Traceback (most recent call last):
    anchorscope.errors.InputError: comments gives each text any number of its labels (toxic, insult); say which of \
them to ask about: --head toxic (head='toxic').
    """
    names = tuple(heads)
    if wanted is None:
        raise InputError(
            f"{model} gives each text any number of its labels ({listed(names)}); say which of them to ask about: "
            f"--head {names[0]} (head={names[0]!r})."
        )
    if wanted not in names:
        raise UnknownNameError(f"head of {model} called", wanted, names)
    return Head(names, names.index(wanted))

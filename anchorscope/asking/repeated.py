"""Does a model answer the same text alike? Looked at where a text comes twice anyway, so that it costs no call.

A model that draws by chance (a language model with a temperature, dropout left on) gives every text another effect each
time it is asked. Tests ask about each text once, so they cannot see that, and neither do intervals.

>>> seen = Repeated("score", ["no", "yes"])
>>> seen.see(["a film", "so good"], np.array([[0.5, 0.5], [0.2, 0.8]]))
>>> seen.see(["so good"], np.array([[0.2, 0.80001]]))
>>> seen.greatest_difference < ROUNDING
True
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

ROUNDING = 1e-4
"""Two answers about a text that differ by no more are alike: batches of another size round otherwise."""

REMEMBERED = 20_000
"""Texts whose answers are remembered, at most."""


class Repeated:
    """The answers that a model gave; says once, as a warning, that a text has got another one."""

    def __init__(self, name: str, labels: Sequence[str]) -> None:
        self._name = name
        self._labels = tuple(labels)
        self._rows: dict[int, NDArray[np.float32]] = {}
        self.greatest_difference = 0.0

    def __reduce__(self) -> tuple[type[Repeated], tuple[str, tuple[str, ...]]]:
        """A copy in another process begins anew: texts have other hashes there."""
        return Repeated, (self._name, self._labels)

    def see(self, texts: Sequence[str], rows: NDArray[np.float64]) -> None:
        """Compare the answers about these texts with earlier ones, and remember them."""
        for text, row in zip(texts, rows):
            key = hash(text)
            before = self._rows.get(key)
            if before is not None:
                self._compare(before, row)
            elif len(self._rows) < REMEMBERED:
                self._rows[key] = row.astype(np.float32)

    def _compare(self, before: NDArray[np.float32], row: NDArray[np.float64]) -> None:
        differences = np.abs(before - row)
        greatest = float(differences.max())
        if greatest > ROUNDING >= self.greatest_difference:
            label = int(differences.argmax())
            log.warning(
                "The answers of %s differ from call to call (%s got %.4g, and %.4g for the same text): scores are "
                "those of chance, intervals do not carry it; make it answer alike, without sampling or dropout.",
                *(self._name, repr(self._labels[label]), before[label], row[label]),
            )
        self.greatest_difference = max(self.greatest_difference, greatest)

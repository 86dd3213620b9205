"""How many texts a model is asked about in one call.

At most as many as the caller allows, and as the memory was found to hold (or the server to take). Where calls keep
failing they get smaller, as one text may be what fails: half as many each time. They grow again after calls that went
well, all or in part, so a bad minute does not slow down the rest of a run.

>>> size = BatchSize(32)
>>> size.failed(32)
>>> size.now(100)
16
>>> for _ in range(CALLS_TO_GROW):
...     size.went_well(16)
>>> size.now(100)
32
"""

from __future__ import annotations

CALLS_TO_GROW = 4
"""After so many calls that were answered, the next may be twice as large."""


class BatchSize:
    """The number of texts a call, ``at_most`` so many; None is as many as there are."""

    def __init__(self, at_most: int | None = None) -> None:
        self.at_most = at_most
        self._now = at_most
        self._n_well = 0

    def now(self, n_texts: int) -> int:
        """How many of some texts the next call takes."""
        return n_texts if self._now is None else min(n_texts, self._now)

    def holds(self, n_texts: int) -> bool:
        """Whether one call takes so many texts."""
        return self._now is None or n_texts <= self._now

    def too_large(self, n_texts: int) -> int:
        """So many texts are too many, now and later; how many are not, as far as is known."""
        self.at_most = max(1, n_texts // 2)
        self._now = self.at_most
        return self.at_most

    def failed(self, n_texts: int) -> None:
        """So many texts failed again and again."""
        self._now = max(1, n_texts // 2)
        self._n_well = 0

    def went_well(self, n_texts: int) -> None:
        """So many texts were answered; calls that are smaller than they could be say nothing of larger ones."""
        if self._now is None or self._now == self.at_most or n_texts < self._now:
            return
        self._n_well += 1
        if self._n_well < CALLS_TO_GROW:
            return
        self._n_well = 0
        self._now *= 2
        if self.at_most is not None:
            self._now = min(self._now, self.at_most)

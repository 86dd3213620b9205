"""Verdicts that are written down, as columns, to be counted again.

They are written as they were found. What each counts for is decided whenever it is counted (``credit.py``): by
``ledger.py`` as a run goes, here when it is read. Of a race the first documents of each word count, as many as its
prefix has.

>>> rows = [(0, 7, document, 1, 0.5, 0.9, 0, 0.6) for document in (3, 4, 4, 5)]
>>> verdicts = Verdicts.of(rows, Credit("keep", lift=0.0, weight="equal"))
>>> verdicts.within({(0, 7): 2}, order={3: 80, 4: 10, 5: 40}).places()
[(0, 7, 4), (0, 7, 4), (0, 7, 5)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorscope.credit import Credit


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Verdicts as columns, each as it counts."""

    label: NDArray[np.int64]
    term: NDArray[np.int64]
    document: NDArray[np.int64]
    anchor: NDArray[np.bool_]
    gain: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Sequence[tuple[float, ...]], credit: Credit) -> Verdicts:
        """From (label, term, document, anchor, gain, precision) and the empty anchor's verdict and precision."""
        table = np.array(rows, np.float64).reshape(-1, 8)
        if not np.isfinite(table).all():
            raise ValueError("a number of a verdict is not finite")
        label, term, document = (table[:, i].astype(np.int64) for i in range(3))
        anchor, gain, precision, robust, empty = table[:, 3:].T
        anchors = credit.anchors(anchor.astype(bool), precision, robust.astype(bool), empty)
        return cls(label, term, document, anchors, credit.gains(gain, empty))

    def places(self) -> list[tuple[int, int, int]]:
        """Label, term and document of each."""
        return list(zip(self.label.tolist(), self.term.tolist(), self.document.tolist()))

    def within(self, prefixes: Mapping[tuple[int, int], int], order: Mapping[int, int]) -> Verdicts:
        """Those about the first documents of each word (label, term), as many as its prefix has, in their order."""
        met: dict[tuple[int, int], set[int]] = {}
        for label, term, document in self.places():
            met.setdefault((label, term), set()).add(document)
        within = {
            (*word, document)
            for word, documents in met.items()
            for document in sorted(documents, key=order.__getitem__)[: prefixes.get(word, 0)]
        }
        kept = [number for number, place in enumerate(self.places()) if place in within]
        # Sums of floats depend on their order: this is the one in which the race adds them up.
        kept.sort(key=[order[document] for document in self.document.tolist()].__getitem__)
        return Verdicts(*(getattr(self, name)[kept] for name in self.__slots__))

    def brought(self) -> dict[tuple[int, int, int], tuple[float, int]]:
        """The gain and the anchors that each document brought to a word, by label, term and document."""
        sums: dict[tuple[int, int, int], tuple[float, int]] = {}
        for place, gain, anchor in zip(self.places(), self.gain.tolist(), self.anchor.tolist()):
            total, anchors = sums.get(place, (0.0, 0))
            sums[place] = total + gain, anchors + anchor
        return sums

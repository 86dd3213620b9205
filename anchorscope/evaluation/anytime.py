"""Anytime quality: AOPC^k, and the terms shared with a final list, of what a run showed over measured time.

A recorder does nothing but remember what was shown and when; quality is scored when the run is over, so scoring is off
the clock. Equal lists are scored once.

    recorder = Recorder()
    for snapshot in run.snapshots():
        recorder.update(snapshot)
    recorder.quality({"yes": Removals(model, texts, "yes")})

A kept run has its moments in its journal: ``moments_of`` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from anchorscope.asking.removals import Removals
from anchorscope.types import Snapshot


@dataclass(frozen=True, slots=True)
class Moment:
    """What was shown after so many seconds."""

    seconds: float
    tests: int
    terms: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Quality:
    """How good the list of a label was at a moment; ``shared`` is the share of the reference's terms in it."""

    label: str
    seconds: float
    tests: int
    aopc: float
    shared: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


class Recorder:
    """A reader of snapshots that remembers them in brief."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []

    def open(self) -> None:
        """Nothing to prepare."""

    def update(self, snapshot: Snapshot) -> None:
        """Remember what is shown."""
        terms = {label: tuple(t.term for t in one.terms) for label, one in snapshot.explanations.items()}
        self.moments.append(Moment(snapshot.cost.seconds, snapshot.cost.tests, terms))

    def close(self) -> None:
        """Nothing to end."""

    def quality(
        self, removals: Mapping[str, Removals], reference: Mapping[str, Sequence[str]] | None = None
    ) -> list[Quality]:
        """The quality of every moment; see the function of this name."""
        return quality(self.moments, removals, reference)


def moments_of(rows: Sequence[Mapping[str, Any]]) -> list[Moment]:
    """The moments that a kept run has in its journal."""
    return [
        Moment(row["seconds"], row["tests"], {label: tuple(one["terms"]) for label, one in row["labels"].items()})
        for row in rows
    ]


def quality(
    moments: Sequence[Moment],
    removals: Mapping[str, Removals],
    reference: Mapping[str, Sequence[str]] | None = None,
) -> list[Quality]:
    """AOPC^k of each label's list at every moment, and its terms shared with a reference (the last list if None)."""
    found = []
    for label, removal in removals.items():
        wanted = {*(reference or moments[-1].terms)[label]}
        distinct = [*dict.fromkeys(moment.terms[label] for moment in moments)]
        curves = removal.curves(distinct)
        scores = {terms: float(c[-1]) if len(c) else 0.0 for terms, c in zip(distinct, curves)}
        for moment in moments:
            terms = moment.terms[label]
            shared = len(wanted & {*terms}) / max(1, len(wanted))
            found.append(Quality(label, moment.seconds, moment.tests, scores[terms], shared))
    return found

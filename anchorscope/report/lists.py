"""What the list of a label shows, whoever draws it: terminal, notebook, picture, file.

A list ends where the evidence ends: drivers come first, then a line, then what is not shown to do more than any other
term; the drivers against the label are a list of their own. A term with a score below 0 lowers the label: it is not
listed for it, however few terms there are. Where there is no driver, a note says why, and no line is
needed; of a race it stands in the place of the list. Hiding function words is a view: it moves no term to another rank,
and the hidden ones are named with theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from anchorscope.errors import plural
from anchorscope.report.figures import percent
from anchorscope.types import Explanation, Term

NO_DOCUMENT = "no document that was asked about"
"""What is said of a label that no document is given; where not all were asked about, others may be."""

NOT_TOLD_APART = "not shown to do more than any other term"
"""How the line begins under which no term is a driver."""

FAR_APART = 5
"""Where the longest bar of a label is more than so many times that of another, each label has a scale of its own."""

NOTHING_HIDDEN: frozenset[str] = frozenset()

Row = tuple[int, Term]
"""A term and its rank."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The rows of a label: drivers, those below the line, those against it; and what a view hides of them."""

    drivers: tuple[Row, ...]
    below: tuple[Row, ...]
    against: tuple[Row, ...]
    hidden: str | None

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in their order."""
        return (*self.drivers, *self.below, *self.against)


def listed(explanation: Explanation, hide: Collection[str] = NOTHING_HIDDEN) -> Listed:
    """What is shown of a label; ``hide`` are the terms that a view leaves out."""
    shown = explanation.terms if has_list(explanation) else ()
    ranked = tuple(enumerate(shown, start=1))
    against = tuple(enumerate(explanation.against, start=1))
    left = [row for row in ranked if row[1].term not in hide]
    return Listed(
        drivers=tuple(row for row in left if row[1].driver),
        below=tuple(row for row in left if _is_below(row[1])),
        against=tuple(row for row in against if row[1].term not in hide),
        hidden=_hidden(ranked, against, hide),
    )


def parts(explanation: Explanation, shown: Listed) -> list[tuple[str, tuple[Row, ...]]]:
    """The rows of a label between its lines: what the line above some rows says, if there is one, and these."""
    divided = (
        ("", shown.drivers),
        (not_told_apart(explanation), shown.below),
        (f"against {explanation.label}", shown.against),
    )
    return [(line, rows) for line, rows in divided if rows]


def has_list(explanation: Explanation) -> bool:
    """Whether there is a list to show: not where a race has told no word apart, and says why."""
    return bool(explanation.drivers) or not explanation.note or explanation.regret is None


def not_told_apart(explanation: Explanation) -> str:
    """What the line says under which no term is a driver: that the calls bought a part of the documents, that a part of
    them was drawn, that nothing is left to test, or else that this is how it stands. Nothing where a note says why
    there are no drivers.

    >>> from anchorscope.types import Explanation
    >>> not_told_apart(Explanation("ham", 4567, 400, None, 0, False, None, ()))
    'not shown to do more than any other term at this budget'
    """
    if explanation.note and not explanation.drivers:
        return ""
    if explanation.asked < explanation.documents:
        return f"{NOT_TOLD_APART} {'in the documents drawn' if explanation.drawn else 'at this budget'}"
    is_all = all(term.tested >= term.occurrences for term in explanation.terms if _is_below(term))
    return f"{NOT_TOLD_APART}, though everything is tested" if is_all else f"{NOT_TOLD_APART} so far"


def full_bars(explanations: Iterable[Explanation], hide: Collection[str] = NOTHING_HIDDEN) -> list[float]:
    """The score of a full bar of each label: one for all of them, unless their longest bars are far apart."""
    longest = [max((abs(term.score) for _, term in listed(e, hide).rows), default=0.0) for e in explanations]
    bars = [score for score in longest if score] or [1.0]
    if max(bars) > FAR_APART * min(bars):
        return [score or 1.0 for score in longest]
    return [max(bars)] * len(longest)


def standing(explanation: Explanation) -> list[str]:
    """Where a label stands, in words: its documents, those that are robust, the regret of its list, if it has one, and
    whether it is settled.

    >>> from anchorscope.types import Explanation
    >>> standing(Explanation("ham", 4567, 400, 1673, 300, False, None, ()))
    ['≈ 4,567 documents (asked: 400)', 'robust ≈ 1,673 of 4,567 (tested: 300)']
    >>> standing(Explanation("ham", 98, 4, None, 0, False, None, (), documents_range=(45, 209)))
    ['≈ 98 documents (45…209; asked: 4)']
    >>> standing(Explanation("spam", 0, 0, None, 0, True, None, ()))
    ['no document that was asked about']
    """
    n = explanation.documents
    told = [plural(n, "document") if n else NO_DOCUMENT]
    if explanation.asked < n:
        ends = explanation.documents_range
        within = f"{ends[0]:,}…{ends[1]:,}; " if ends else ""
        told = [f"≈ {told[0]} ({within}asked: {explanation.asked:,})"]
    if explanation.robust is not None and explanation.robust_of:
        is_known = explanation.robust_of >= n
        tested = "" if is_known else f" (tested: {explanation.robust_of:,})"
        told.append(f"robust {'' if is_known else '≈ '}{explanation.robust:,} of {n:,}{tested}")
    if explanation.regret is not None and explanation.terms and has_list(explanation):
        told.append(f"regret {share_lacking(explanation.regret)}")
    if explanation.terms:
        told.append(how_settled(explanation))
    if explanation.measured_again:
        n_again = explanation.measured_again
        told.append(f"{n_again:,} document{'' if n_again == 1 else 's'} measured again")
    return told


def share_lacking(regret: float) -> str:
    """A regret in words; a list whose words may do harm can lack more than all that the best list has.

    >>> [share_lacking(regret) for regret in (0.0123, -1e-9, 2.4)]
    ['1.2%', '0.0%', 'over 100%']
    """
    return percent(max(0.0, regret), 1) if regret <= 1 else "over 100%"


def how_settled(explanation: Explanation) -> str:
    """Whether a list is settled; where everything is tested and it is not, what is left to be wrong about.

    >>> from anchorscope.types import Explanation
    >>> how_settled(Explanation("ham", 300, 300, None, 0, False, 0.41, (), spent=True))
    'all tested, the noise of measuring remains'
    """
    if explanation.settled or not explanation.spent:
        return "settled" if explanation.settled else "not settled"
    if explanation.asked < explanation.documents:
        return "all tested that was drawn, not settled"
    return "all tested, the noise of measuring remains"


def _is_below(term: Term) -> bool:
    lowers = term.score < 0 and term.anchors is None  # a score that counts anchors may run upside down
    return not term.driver and not lowers


def _hidden(ranked: Iterable[Row], against: Iterable[Row], hide: Collection[str]) -> str | None:
    """The terms that a view hides, each with its rank."""
    parts = [
        ", ".join(f"{term.written} ({rank})" for rank, term in rows if term.term in hide) for rows in (ranked, against)
    ]
    told = [part for part in (parts[0], f"against: {parts[1]}" if parts[1] else "") if part]
    return f"hidden: {'; '.join(told)}" if told else None

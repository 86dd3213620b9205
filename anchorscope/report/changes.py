"""Two runs side by side: what differs between them, what became of each term, and whether that is more than chance.

A term that drives the label in neither run, or whose scores lie in intervals that overlap, may have moved by chance: it
is *not told apart*. Of a term that one run does not list its result knows no interval: there the term has less than the
last one that it lists.

Scores are sums over documents of what one measure gives: where documents, score or aggregation differ, intervals are of
different things and are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anchorscope.result import Result
from anchorscope.types import Explanation, Term

NO_DRIVER = "no driver in either run"
WITHIN = "within the intervals"

MEASURE = ("documents", "score", "aggregation", "weight")
"""Where one of these differs, the scores of two runs are not of one measure."""


def differences(before: Result, after: Result) -> dict[str, tuple[Any, Any]]:
    """What differs between two runs: model, documents, perturbator and settings, each as it was and as it is."""
    found: dict[str, tuple[Any, Any]] = {}
    for part in ("model", "documents", "perturbator"):
        then = _named(getattr(before, part))
        now = _named(getattr(after, part))
        if then["sha256"] != now["sha256"]:
            is_told = then["name"] != now["name"]
            found[part] = (then["name"], now["name"]) if is_told else (_with_hash(then), _with_hash(now))
    for name in dict.fromkeys([*before.settings, *after.settings]):
        if before.settings.get(name) != after.settings.get(name):
            found[name] = (before.settings.get(name), after.settings.get(name))
    return found


def are_of_one_measure(differing: Mapping[str, Any]) -> bool:
    """Whether the scores of two runs that differ so can be compared."""
    return not {*MEASURE} & {*differing}


def changes(before: Explanation, after: Explanation, *, of_one_measure: bool = True) -> list[dict[str, Any]]:
    """Every term of either list, in the order of the second, then the first: its ranks and what became of it.

    ``told_apart`` says whether that is more than chance (None where it cannot be said), ``remark`` why it is not.
    """
    then = {term.term: (rank, term) for rank, term in enumerate(before.terms, start=1)}
    now = {term.term: (rank, term) for rank, term in enumerate(after.terms, start=1)}
    found = []
    for name in dict.fromkeys([*now, *then]):
        from_rank, was = then.get(name, (None, None))
        to_rank, is_now = now.get(name, (None, None))
        remark = _remark(was, is_now, before, after, of_one_measure)
        found.append(
            {
                "term": name,
                "before": from_rank,
                "after": to_rank,
                "change": _change(from_rank, to_rank),
                "told_apart": False if remark else True if of_one_measure else None,
                "remark": remark,
            }
        )
    return found


def _remark(
    was: Term | None, is_now: Term | None, before: Explanation, after: Explanation, of_one_measure: bool
) -> str | None:
    """Why a change may be chance; None where it is more, or where nobody can say."""
    if not any(term.driver for term in (was, is_now) if term):
        return NO_DRIVER
    if not of_one_measure:
        return None
    left = was.interval if was else _below(before)
    right = is_now.interval if is_now else _below(after)
    return WITHIN if max(left[0], right[0]) <= min(left[1], right[1]) else None


def _below(listed: Explanation) -> tuple[float, float]:
    """Where the score of a term can be that a list has not: as high as that of its last term at most."""
    return (float("-inf"), listed.terms[-1].interval[1] if listed.terms else 0.0)


def _change(before: int | None, after: int | None) -> str:
    """
    >>> _change(None, 2), _change(2, None), _change(3, 1), _change(1, 3), _change(1, 1)
    ('appeared', 'vanished', 'rose', 'fell', 'stayed')
    """
    if before is None:
        return "appeared"
    if after is None:
        return "vanished"
    return "stayed" if before == after else "rose" if after < before else "fell"


def _named(part: Mapping[str, Any]) -> dict[str, str]:
    return {"name": str(part.get("name", part.get("source", ""))), "sha256": str(part.get("sha256", ""))}


def _with_hash(part: Mapping[str, str]) -> str:
    return f"{part['name']} ({part['sha256'][:8]})"

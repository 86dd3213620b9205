"""One name for each number, and what it says: the words behind the columns of table, page and notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anchorscope import registry
from anchorscope.scoring.aggregation import Aggregation
from anchorscope.scoring.aggregations import aggregation
from anchorscope.settings import strategy
from anchorscope.types import LocalScore, counts_anchors


def explained_names(settings: Mapping[str, Any], level: float) -> dict[str, str]:
    """The numbers of a run by name, each with a line that says what it is; none of those that it has not.

    ``level`` is the probability of its intervals, 1 where they are bounds.
    """
    score: type[LocalScore] = registry.resolve("score", str(settings["score"]))
    summed = aggregation(settings["aggregation"])
    is_estimate = strategy(settings["strategy"]).counts_prefixes
    return {
        "#": "the place by score among all terms of the label, drivers or not; against it, among these",
        **({"effect": score.help} if score.is_graded else {}),
        "score": _score(settings, summed),
        "interval": (
            f"the score lies in it with a probability of {level:.0%}"
            if level < 1
            else "what the score can still become, whatever the missing tests say"
        ),
        **({"driver": driver} if (driver := driver_help(summed)) else {}),
        **(
            {"member": f"the probability to be among the top {settings['top_k']} terms of the label"}
            if is_estimate
            else {}
        ),
        **_counts(score, settings),
        **({"regret": "the share of the best list's score that this list is expected to lack"} if is_estimate else {}),
        "settled": (
            f"its regret is below {settings['regret']:.0%} and each listed term has five tests (against: "
            "two), or everything is tested and no more regret is left than that"
            if is_estimate
            else "no test that is missing can change the list"
        ),
        "limits": _limits(score, summed),
    }


def _limits(score: type[LocalScore], summed: Aggregation) -> str:
    """What to keep in mind before a list is believed, and where more of it stands."""
    rare = "a rare term has a small score however strong it is; " if summed.is_graded else ""
    unseen = getattr(score, "blind_spot", "")
    return (
        f"{unseen}{'; ' if unseen else ''}{rare}what a term does to this model need not be a cause in the world; "
        "more in Anchorscope's docs/limits.md"
    )


def _score(settings: Mapping[str, Any], summed: Aggregation) -> str:
    """The formula, and where its numbers come from."""
    told = summed.help
    chosen = strategy(settings["strategy"])
    if not chosen.counts_prefixes:
        return told
    if summed.is_graded and settings["surrogate"] and chosen.uses_surrogate:
        return f"{told}; estimated: what the model's predictions make one expect of a term, corrected by its tests"
    return f"{told}; estimated for all documents from those that were tested"


def driver_help(one: Aggregation) -> str | None:
    """What makes a driver, by what an aggregation reads; under a baseline, which reads no test, nothing does."""
    told = {
        "values": (
            "a term (in bold) shown, in two tests or more, to do more than any term taken out of such documents does; "
            "at most 5% of a label's drivers are expected to be wrong"
        ),
        "verdicts": "a term (in bold) that was an anchor in at least one test",
    }
    return told.get(one.reads)


def _counts(score: type[LocalScore], settings: Mapping[str, Any]) -> dict[str, str]:
    """What was tested, how often."""
    tested = {
        "tested/of": (
            "documents in which the term was tested, of all that have it and are predicted the label"
            if score.grain == "term"
            else "occurrences of the term that were tested, of all in documents that are predicted the label"
        )
    }
    if counts_anchors(score):
        tested = {
            "anchors/tested": (
                "tests in which the term was an anchor (with it kept and other words replaced, the prediction stayed "
                f"with a probability of {settings['tau']:g} or more), of all its tests"
            )
        }
    if not score.tests_anchors:
        return tested
    return {**tested, "robust": "documents that keep their prediction though any word may be replaced, by those tested"}

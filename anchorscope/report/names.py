"""One name for each number, and what it says: the words behind the columns of table, page and notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anchorscope import registry
from anchorscope.scoring.aggregations import aggregation


def explained_names(settings: Mapping[str, Any], level: float) -> dict[str, str]:
    """The numbers of a run by name, each with a line that says what it is.

    ``level`` is the probability of its intervals, 1 where they are bounds.
    """
    score = registry.resolve("score", str(settings["score"]))
    summed = aggregation(settings["aggregation"])
    holders = "documents with the term" if score.grain == "term" else "its occurrences"
    is_race = settings["strategy"] == "race"
    names = {
        "effect": score.help,
        "score": summed.help + (_OF_EFFECTS if summed.is_graded else "") + (_ESTIMATED if is_race else ""),
        "interval": (
            f"the score lies in it with a probability of {level:.0%}"
            if level < 1
            else "what the score can still become, whatever the missing tests say"
        ),
        "driver": (
            "a term (in bold) told apart from other words; at most 5% of a label's drivers are expected to be wrong"
            if summed.is_graded
            else "a term (in bold) that was an anchor in at least one test"
        ),
    }
    if is_race:
        names["member"] = f"the probability that the term is among the top {settings['top_k']} of its label"
    names["tested/of"] = f"{holders} that were tested, of all in the label's documents"
    if score.tests_anchors:
        names["anchors/tested"] = (
            f"tests in which the term was an anchor (with it kept and other words replaced, the prediction stayed with "
            f"a probability of {settings['tau']:g} or more), of all its tests"
        )
        names["robust"] = "documents that keep their prediction though any word may be replaced; from those tested"
    if is_race:
        names["regret"] = "the share of the best list's score that this list is expected to lack"
        names["settled"] = f"the regret is below {settings['regret']:.0%}, or everything is tested"
    else:
        names["settled"] = "no test that is missing can change the list"
    return names


_OF_EFFECTS = ", which are its effects"
_ESTIMATED = "; estimated for all of its documents from those that were tested"

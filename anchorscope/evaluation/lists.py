"""The lists of words that an explanation is compared with, each a ranking of the run's own candidates.

explanation    what the run found
random         the candidates of the label, shuffled
frequent       the candidates that occur most in the label's documents
base           the share of the label among the documents that hold a word: no anchors at all
pr-inverse     G_pr upside down, a sanity check
count x weight the oracle of a model that is linear in counts
oracle         one-at-a-time removal
greedy         a greedy search, asked for by name
lime, shap     mean weight of a local method, with its sign, asked for by name
pr, sq, total … any other aggregation of the run's own tally, asked for by name
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from anchorscope import registry
from anchorscope.asking.removals import Removals
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.evaluation.attributions import top
from anchorscope.evaluation.greedy import greedy
from anchorscope.evaluation.kept import KeptRun
from anchorscope.evaluation.lime import LIME
from anchorscope.evaluation.linear import count_times_weight
from anchorscope.evaluation.shap import SHAP
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.tally import ranking
from anchorscope.types import counts_anchors

CHEAP = ("random", "frequent", "base", "pr-inverse")
"""Compared with unless told otherwise; none of them asks the model anything to be made."""

LOCAL = {"lime": LIME, "shap": SHAP}

RANDOM_LISTS = 5
"""So many random lists are averaged."""


def known_names() -> list[str]:
    """What an explanation can be compared with by name."""
    return sorted({"random", "frequent", "greedy", *LOCAL, *registry.names("aggregation")})


def check_names(names: Sequence[str]) -> None:
    """Refuse what is no such list."""
    for name in names:
        if name not in known_names():
            raise UnknownNameError("list to compare with", name, known_names())


def check_fed(run: KeptRun, names: Sequence[str]) -> None:
    """Refuse the counts of anchors of a run that tested none; pr-inverse, which all are compared with, stays."""
    if counts_anchors(registry.resolve("score", str(run.settings.score))):
        return
    for name in names:
        if name in registry.names("aggregation") and name not in CHEAP and aggregation(name).reads == "verdicts":
            raise InputError(
                f"This run tested no anchors, so there is no list by {name}: leave it out of --against, or evaluate "
                f"a run of explain --aggregation {name}."
            )


def explanation(run: KeptRun, label: str) -> list[str]:
    """The run's own ranking: its shown terms, then the other candidates by the same aggregation."""
    shown = [term.term for term in run.result[label].terms]
    rest = by_aggregation(run, label, run.settings.aggregation)
    return [*shown, *(word for word in rest if word not in {*shown})]


def by_aggregation(run: KeptRun, label: str, name: str) -> list[str]:
    """The candidates by an aggregation of the run's tally."""
    row = run.predictor.labels.index(label)
    scores = aggregation(name).score(run.tally, run.settings.alpha)[row]
    return [run.candidates[i] for i in ranking(scores, run.tally.occurrences[row])]


def shuffled(run: KeptRun, label: str, seed: int) -> list[str]:
    """The candidates that occur in the label's documents, in a random order."""
    words = sorted(by_frequency(run, label))
    Random(seed).shuffle(words)
    return words


def by_frequency(run: KeptRun, label: str) -> list[str]:
    """The candidates by their occurrences in the label's documents."""
    counts = run.tally.occurrences[run.predictor.labels.index(label)]
    return [run.candidates[i] for i in ranking(counts.astype(float), counts)]


def made(run: KeptRun, label: str, name: str, removals: Removals, *, samples: int | None, budget: int) -> list[str]:
    """The ranking behind a name; those that ask the model ask about the documents in ``removals`` or all of them."""
    if name == "frequent":
        return by_frequency(run, label)
    if name == "greedy":
        return greedy(removals, run.candidates, run.settings.top_k, budget=budget)
    if name in LOCAL:
        texts = run.texts_of(label)
        weights = LOCAL[name].weights(
            run.predictor, texts, samples=samples, seed=run.settings.seed, signed=True, kinds=str(run.settings.terms)
        )[label]
        return top(weights, len(weights), run.candidates)
    return by_aggregation(run, label, name)


def linear(run: KeptRun, label: str) -> list[str] | None:
    """Count x weight, where the model is linear in counts."""
    return count_times_weight(run.predictor, run.texts_of(label), label, run.candidates, kinds=str(run.settings.terms))

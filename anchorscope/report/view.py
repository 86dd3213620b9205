"""The one view of a run that the report and the live page show: a journal in, plain values for JSON out.

    about      model, documents, settings, cost, what each number is, and for each label where its list stands
    terms      the candidates as columns: for each label counts, and what all documents are expected to give
    standings  for each aggregation and label: drivers, what speaks against it, intervals and memberships
    documents  texts with the effect of each measured word; evidence: the cards of the shown terms (``texts.py``)
    history    quality and interval width after each round; aopc: the curve of the lists at the end

The scores of every aggregation that fits the run are among the columns, so that another one needs nothing but a click.
Everything is bounded: a page of ten thousand documents stays below two megabytes. A run without texts has no documents,
its cards have numbers only, and the page says so.

The texts are hostile. They are values here; ``embed`` writes them so that no markup can be read into them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry, result
from anchorscope.explanations import drivers, explanation
from anchorscope.journal.database import reading
from anchorscope.journal.reader import RunReader
from anchorscope.report.kept import Kept
from anchorscope.report.names import driver_help, explained_names
from anchorscope.report.texts import cards, documents
from anchorscope.result import Result, not_tested
from anchorscope.scoring.aggregation import Aggregation
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.tally import VALUE_UNIT
from anchorscope.settings import Settings, strategy
from anchorscope.text.words import function_words
from anchorscope.types import Cost, Snapshot, counts_anchors

PAGE_SCHEMA = 2

CURVE_COMES = "Comes with the end of a run whose model gives probabilities."

STANDINGS = 120
"""Words a label and aggregation with an interval."""

LONGEST_TERM = 100
HISTORY = 300

COUNTS = ("anchors", "non_anchors", "skipped", "occurrences", "documents")
"""What the page shows of the tally."""

STANDING = ("documents", "documents_range", "asked", "drawn", "robust", "robust_of", "note", "spent", "measured_again")
"""What the page says of a label besides how sure its list is."""


def page_data(folder: Path, *, against: Path | None = None) -> dict[str, Any]:
    """What the page shows of the run in a folder; ``against`` is another run to stand beside it."""
    with closing(RunReader(folder)) as run, reading(folder):
        kept = Kept(run)
        return {
            "schema": PAGE_SCHEMA,
            "name": folder.resolve().name,
            "about": _about(kept, folder),
            "terms": _terms(kept),
            "standings": _standings(kept),
            "documents": documents(kept),
            "evidence": cards(kept),
            "history": _history(kept),
            "aopc": json_values(run.meta.get("aopc", {})),
            "function_words": sorted(function_words()),
            "other": None if against is None else other_run(against),
        }


def waiting_data(
    name: str, *, model: str, perturbator: str, labels: Sequence[str], n_documents: int, settings: Settings
) -> dict[str, Any]:
    """What the live page shows of a run before its first round."""
    asked = settings.labels or tuple(labels)
    level = strategy(settings.strategy).interval_level
    blank = {"documents": 0, "asked": 0, "robust": None, "robust_of": 0, "note": None, "settled": False, "regret": None}
    return {
        "schema": PAGE_SCHEMA,
        "name": name,
        "about": {
            "model": model,
            "sha256": {},
            **_method(settings.to_dict(), perturbator, level),
            "documents": n_documents,
            "asked": n_documents,
            "skipped": {},
            "not_tested": [],
            "texts": True,
            "labels": [{"name": label, "explained": label in asked, **blank} for label in labels],
            "settled": False,
            "rounds": 0,
            "tests_left": 0,
            "cost": asdict(Cost()),
            "calls": {"predictions": 0, "tests": 0, "evidence": 0},
            "versions": {},
            "no_curve": CURVE_COMES,
        },
        "terms": None,
        "standings": {},
        "documents": [],
        "evidence": [],
        "history": [],
        "aopc": {},
        "function_words": sorted(function_words()),
        "other": None,
    }


def _method(settings: Mapping[str, Any], perturbator: str, level: float) -> dict[str, Any]:
    """How the numbers of a run come about, and what each of them says."""
    score = registry.resolve("score", str(settings["score"]))
    return {
        "settings": json_values(settings),
        "score": {
            "name": score.name,
            "help": score.help,
            "call": score.call,
            "graded": score.is_graded,
            "anchors": counts_anchors(score),
            "perturbs": score.perturbs,
            "holder": "document" if score.grain == "term" else "occurrence",
        },
        "perturbator": perturbator if score.perturbs else None,
        "interval_level": level,
        "estimated": strategy(settings["strategy"]).counts_prefixes,
        "names": explained_names(settings, level),
    }


def event_data(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot for the live page: what changes from round to round."""
    values: dict[str, Any] = json_values(result.snapshot_to_dict(snapshot))
    return values


def other_run(folder: Path) -> dict[str, Any]:
    """The lists of another run, to compare with."""
    found = Result.load(folder)
    values: dict[str, Any] = json_values(found.to_dict())
    shown = ("labels", "settings", "model", "documents", "perturbator")
    return {"name": folder.resolve().name, **{key: values[key] for key in shown}}


def json_values(value: Any) -> Any:
    """The same with None for every number that JSON does not know.

    >>> json_values({"interval": [0.5, float("inf")]})
    {'interval': [0.5, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: json_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    return value


def _about(kept: Kept, folder: Path) -> dict[str, Any]:
    run = kept.run
    done = Result.load(folder) if (folder / result.RESULT).exists() else None
    n_asked = int(kept.standings.n_asked.sum())
    cost = done.cost if done else reduce(add, kept.rounds.values(), Cost(predictor_texts=n_asked))
    labels = _labels(kept)
    return {
        "model": run.meta["model"]["name"],
        "sha256": {part: run.meta[part]["sha256"] for part in ("model", "documents", "perturbator")},
        **_method(run.meta["settings"], run.meta["perturbator"]["name"], kept.interval_level),
        "documents": int(run.meta["documents"]["usable"]),
        "asked": n_asked,
        "skipped": dict(done.documents["skipped"]) if done else {},
        "not_tested": not_tested(done.documents) if done else [],
        "texts": run.meta["texts"],
        "labels": labels,
        "settled": all(labels[i]["settled"] for i in kept.explained),
        "rounds": len(kept.rounds),
        "tests_left": kept.tests_left,
        "cost": asdict(cost),
        "calls": _calls(kept, cost),
        "versions": dict(done.versions) if done else {},
        "no_curve": _no_curve(kept, done),
    }


def _no_curve(kept: Kept, done: Result | None) -> str:
    """Why there is no curve of what the terms are worth, where there is none."""
    meta = kept.run.meta
    if done is None or meta.get("probabilities") is False or "evidence" in meta:
        return CURVE_COMES
    if done.finished:
        return "The budget was spent before it: a new run (another --out) with a greater one draws it."
    if option := kept.run.ended_by:
        return f"{option} was spent before it: raise it, and give the same command again with --resume."
    return "The run was interrupted before it: the same command with --resume goes on."


def _calls(kept: Kept, cost: Cost) -> dict[str, int]:
    """The model calls of a run by what they were made for; evidence has what predictions and tests have not."""
    predictions = int(kept.run.meta.get("asked", kept.standings.n_asked.sum()))
    tests = sum(spent.predictor_texts for spent in kept.rounds.values())
    return {"predictions": predictions, "tests": tests, "evidence": cost.predictor_texts - predictions - tests}


def _labels(kept: Kept) -> list[dict[str, Any]]:
    """Each label: how many documents, how many of them are robust, and how sure its list was when last shown."""
    moments = kept.moments
    last = moments[-1]["labels"] if moments else {}
    asked = kept.standings.n_asked
    found = []
    for number, name in enumerate(kept.run.labels):
        here = last.get(name, {})
        known = kept.explanations.get(number)
        told = {field: getattr(known, field, None) for field in STANDING}
        if known is None:
            told |= {"documents": int(asked[number]), "asked": int(asked[number]), "drawn": False, "robust_of": 0}
        sure = {"settled": bool(here.get("settled", False)), "regret": here.get("regret")}
        found.append({"name": name, "explained": number in kept.explained, **told, **sure})
    return found


def _terms(kept: Kept) -> dict[str, Any]:
    """The chosen terms as columns; totals are over all candidates, chosen or not.

    ``written`` is how a term is written, where that is not the term itself.
    """
    chosen = kept.chosen
    tally = kept.tally if kept.run.counts_anchors else kept.tally.without_verdicts()
    scores = {one.name: kept.standings.scores(one)[:, chosen] for one in kept.aggregations}
    columns = [
        {
            **{name: getattr(tally, name)[label, chosen].tolist() for name in COUNTS},
            **(_effects(kept, label) if kept.score.is_graded else {}),
            "scores": {name: _short(of_all[label]) for name, of_all in scores.items()},
        }
        for label in range(len(kept.run.labels))
    ]
    spelled = [(kept.run.terms[i], kept.run.written[i]) for i in chosen]
    return {
        "term": [_cut(term) for term, _ in spelled],
        "written": [None if written == term else _cut(written) for term, written in spelled],
        "n_terms": len(kept.run.terms),
        "aggregations": [
            {
                "name": one.name,
                "help": one.help,
                "sum": _is_sum(one),
                "driver": driver_help(one),
                "level": kept.standings.interval_level(one),
            }
            for one in kept.aggregations
        ],
        "labels": columns,
    }


def _effects(kept: Kept, label: int) -> dict[str, Any]:
    """What the tests of the chosen terms found together, which terms they all found to do exactly nothing, and what
    taking out any term like each one does, where that was learnt."""
    total = aggregation("total")
    squares = kept.standings.sums.values_squared[label, kept.chosen]
    tested = kept.standings.sums.counted[label, kept.chosen]
    return {
        "effects": _short(kept.tally.values[label, kept.chosen] * VALUE_UNIT),
        "silent": np.flatnonzero((tested > 0) & (squares == 0)).tolist(),
        "usual": (
            None
            if kept.shown(total).standing.driver is None
            else _short(kept.standings.forecasts(total)[label].usual[kept.chosen], 3)
        ),
    }


def _is_sum(one: Aggregation) -> bool:
    """Whether its scores are sums of values, and nothing is made of these."""
    sums = one.additive
    return sums is not None and sums.quantity == "values" and sums.scores is None and sums.shown is None


def _standings(kept: Kept) -> dict[str, list[dict[str, Any] | None]]:
    """For each aggregation and label, how sure its list is; terms are the page's numbers."""
    return {
        one.name: [_standing(kept, one, label) for label in range(len(kept.run.labels))] for one in kept.aggregations
    }


def _standing(kept: Kept, one: Aggregation, label: int) -> dict[str, Any] | None:
    """All drivers, the drivers against the label, and the intervals of some words."""
    if label not in kept.explained:
        return None
    shown = kept.shown(one)
    listed = explanation(shown, kept.run.labels[label], label, STANDINGS)
    number = {term: i for i, term in enumerate(kept.run.terms)}
    on_page = [(kept.place[number[term.term]], term) for term in listed.terms if number[term.term] in kept.place]
    against = [(kept.place[number[term.term]], term) for term in listed.against if number[term.term] in kept.place]
    seen = {place for place, _ in on_page}
    known = [*on_page, *(row for row in against if row[0] not in seen)]
    is_driver, _ = drivers(shown, label)
    # What a race expects is no aggregation's bound: one that cannot be raced has no interval there.
    is_sure = one.can_race or not kept.run.counts_prefixes
    return {
        "terms": [place for place, _ in known],
        "low": _short([term.interval[0] if is_sure else -math.inf for _, term in known]),
        "high": _short([term.interval[1] if is_sure else math.inf for _, term in known]),
        "membership": [None if term.membership is None else _short([term.membership])[0] for _, term in known],
        "drivers": [kept.place[i] for i in np.flatnonzero(is_driver).tolist() if i in kept.place],
        "against": [place for place, _ in against],
        "regret": None if listed.regret is None else _short([listed.regret])[0],
        "note": listed.note,
    }


def _history(kept: Kept) -> list[dict[str, Any]]:
    """Some of the moments; ``overlap`` is the share of the final list that was shown already."""
    moments = kept.moments
    if not moments:
        return []
    last = {label: set(here["terms"]) for label, here in moments[-1]["labels"].items()}
    steps = np.unique(np.linspace(0, len(moments) - 1, HISTORY).astype(int))
    return [json_values(_point(moments[i], last)) for i in steps.tolist()]


def _point(moment: Mapping[str, Any], last: Mapping[str, set[str]]) -> dict[str, Any]:
    labels = {
        label: {
            "regret": here["regret"],
            "width": here["width"],
            "overlap": len(last[label] & set(here["terms"])) / max(1, len(last[label])),
        }
        for label, here in moment["labels"].items()
        if label in last
    }
    return {**{key: moment[key] for key in ("round", "seconds", "tests", "predictor_texts")}, "labels": labels}


def _short(values: NDArray[Any] | Sequence[float], digits: int = 9) -> list[float | int | None]:
    """To so many significant digits, whole numbers without a point: half the bytes.

    >>> _short([2.0, 0.1234567891234, float("inf")])
    [2, 0.123456789, None]
    """
    rounded = (float(f"{float(value):.{digits}g}") for value in values)
    return [int(x) if x.is_integer() else x if math.isfinite(x) else None for x in rounded]


def _cut(term: str) -> str:
    return term if len(term) <= LONGEST_TERM else f"{term[: LONGEST_TERM - 1]}…"

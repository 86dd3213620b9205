"""One run, measured: its cost, its words and their quality over time, and all aggregations of its tally.

The run keeps a journal in a folder, so that one that is stopped goes on where it was. Times are the run's own clock at
the end of a round; quality is scored when it is over, off the clock. What every round knew is counted again from
the journal's verdicts where other aggregations are asked for, which needs no further model call.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from anchorscope.asking.budget import Budget, TimeUpError
from anchorscope.asking.removals import Removals
from anchorscope.errors import RunFolderError
from anchorscope.evaluation.anytime import Moment, moments_of
from anchorscope.journal.database import FILE
from anchorscope.journal.reader import RunReader
from anchorscope.reproduction.grid import AGGREGATIONS, TOP_K
from anchorscope.run import Run
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.tally import Tally, ranking
from anchorscope.settings import Settings
from anchorscope.text.read import read_texts
from anchorscope.types import Cost, Perturbator, Predictor

MOMENTS = 16
"""So many moments of a run are kept, spread over its rounds."""

FEATURED = 30
"""Terms kept of the full lists of G_pr and G_sq, each with its position in the other."""


def measure(
    predictor: Predictor,
    perturbator: Perturbator,
    texts: Sequence[str],
    settings: Settings,
    *,
    folder: Path,
    training: Sequence[str],
    with_aggregations: bool,
    budget: Budget,
) -> dict[str, Any] | None:
    """The record of a run; None if the budget ended it (the same call goes on with it)."""
    before = _spent(folder)
    longer = Budget(budget.max_seconds + before.seconds, budget.max_model_calls + before.predictor_texts)
    documents = read_texts(texts)
    run = Run(
        documents, predictor, perturbator, settings, folder=folder, resume=True, budget=longer, training_texts=training
    )
    start = process_time()
    try:
        *_, last = run.snapshots()
    except TimeUpError:
        return None
    processor = process_time() - start
    if not last.settled and last.tests_planned:
        return None
    with closing(RunReader(folder)) as finished:
        moments = moments_of(finished.moments())
        tally = finished.tally()
        candidates = finished.terms
    labels = [label for label, explanation in last.explanations.items() if explanation.terms]
    removals = {label: Removals(predictor, texts, label) for label in labels}
    kept = _thinned(moments)
    record = {
        "settings": settings.to_dict(),
        "documents": {label: last[label].documents for label in labels},
        "characters": float(np.mean([len(text) for text in texts])),
        "seconds": moments[-1].seconds,
        "processor_seconds": None if before.tests else processor,
        "cost": asdict(last.cost),
        "moments": _scored(kept, removals),
        "terms": {label: [term.term for term in last[label].terms] for label in labels},
        "anchors": _anchors(tally, labels, predictor.labels),
        "machine": {"processor": platform.processor() or platform.machine(), "python": platform.python_version()},
    }
    if with_aggregations:
        record |= _of_aggregations(folder, moments, tally, candidates, predictor.labels, removals, settings)
    shutil.rmtree(folder)
    return record


def _spent(folder: Path) -> Cost:
    """What a run that was stopped has taken: a budget counts from there."""
    if not (folder / FILE).is_file():
        return Cost()
    try:
        with closing(RunReader(folder)) as stopped:
            return sum(stopped.closed_rounds().values(), Cost())
    except RunFolderError:  # it did not come to its first test
        return Cost()


def _thinned(moments: Sequence[Moment]) -> list[Moment]:
    """Some of the moments, from the first to the last."""
    chosen = np.unique(np.linspace(0, len(moments) - 1, MOMENTS).round().astype(int))
    return [moments[i] for i in chosen]


def _scored(moments: Sequence[Moment], removals: Mapping[str, Removals]) -> list[dict[str, Any]]:
    """Seconds, terms, AOPC^k and the drop after removing all k terms, for each label at each moment."""
    rows: list[dict[str, Any]] = [{"seconds": m.seconds, "tests": m.tests, "labels": {}} for m in moments]
    for label, removal in removals.items():
        distinct = [*dict.fromkeys(moment.terms[label] for moment in moments)]
        found = dict(zip(distinct, removal.all_drops(distinct)))
        for row, moment in zip(rows, moments):
            terms = moment.terms[label]
            drops = found[terms]
            row["labels"][label] = {
                "terms": list(terms),
                "aopc": float(drops.sum() / (len(drops) + 1)),
                "drop": float(drops[-1]) if len(drops) else 0.0,
            }
    return rows


def _of_aggregations(
    folder: Path,
    moments: Sequence[Moment],
    tally: Tally,
    candidates: Sequence[str],
    all_labels: Sequence[str],
    removals: Mapping[str, Removals],
    settings: Settings,
) -> dict[str, Any]:
    """What every aggregation makes of the same tally, at the end and on the way."""
    labels = list(removals)
    return {
        "aggregations": {
            name: _aggregation(name, tally, candidates, all_labels, removals, settings) for name in AGGREGATIONS
        },
        "positions": _positions(tally, candidates, all_labels, labels, settings),
        "over_time": {
            name: _scored(_recounted(folder, moments, tally, candidates, all_labels, labels, name), removals)
            for name in ("sq", "av")
        },
    }


def _aggregation(
    name: str,
    tally: Tally,
    candidates: Sequence[str],
    all_labels: Sequence[str],
    removals: Mapping[str, Removals],
    settings: Settings,
) -> dict[str, Any]:
    """The top terms of an aggregation and their AOPC^1 to AOPC^k, for each label."""
    values = aggregation(name).score(tally, settings.alpha)
    found = {}
    for label, removal in removals.items():
        row = list(all_labels).index(label)
        top = [candidates[i] for i in ranking(values[row], tally.occurrences[row], TOP_K)]
        found[label] = {"terms": top, "curve": removal.curve(top).tolist()}
    return found


def _positions(
    tally: Tally, candidates: Sequence[str], all_labels: Sequence[str], labels: Sequence[str], settings: Settings
) -> dict[str, Any]:
    """The first terms of G_pr and of G_sq, each with its 0-based position in the other's full list."""
    found: dict[str, Any] = {}
    for label in labels:
        row = list(all_labels).index(label)
        full = {
            name: [candidates[i] for i in ranking(values[row], tally.occurrences[row])]
            for name in ("pr", "sq")
            for values in [aggregation(name).score(tally, settings.alpha)]
        }
        place = {name: {word: i for i, word in enumerate(words)} for name, words in full.items()}
        other = {"pr": "sq", "sq": "pr"}
        found[label] = {
            name: [[word, place[other[name]].get(word)] for word in words[:FEATURED]] for name, words in full.items()
        }
    return found


def _anchors(tally: Tally, labels: Sequence[str], all_labels: Sequence[str]) -> dict[str, int]:
    """How many words are anchors at all, and of how many classes."""
    rows = [list(all_labels).index(label) for label in labels]
    classes = (tally.anchors[rows] > 0).sum(axis=0)
    return {
        "words": int((classes > 0).sum()),
        "of_one_class": int((classes == 1).sum()),
        "anchors": int(tally.anchors[rows].sum()),
        "of_words_of_one_class": int(tally.anchors[rows][:, classes == 1].sum()),
    }


def _recounted(
    folder: Path,
    moments: Sequence[Moment],
    tally: Tally,
    candidates: Sequence[str],
    all_labels: Sequence[str],
    labels: Sequence[str],
    name: str,
) -> list[Moment]:
    """What another aggregation would have shown after each round that is kept, from the verdicts of the journal."""
    with closing(RunReader(folder)) as run:
        rounds = run.verdicts_by_round()
    zero = np.zeros_like(tally.anchors)
    now = replace(tally, anchors=zero, non_anchors=zero.copy(), skipped=zero.copy())
    chosen = {*np.unique(np.linspace(0, len(moments) - 1, MOMENTS).round().astype(int)).tolist()}
    found = []
    for number, moment in enumerate(moments):
        now = now.observe(*rounds[number])
        if number in chosen:
            values = aggregation(name).score(now, 0.5)
            terms = {}
            for label in labels:
                row = list(all_labels).index(label)
                best = ranking(values[row], now.occurrences[row], TOP_K)
                terms[label] = tuple(candidates[i] for i in best)
            found.append(Moment(moment.seconds, moment.tests, terms))
    return found

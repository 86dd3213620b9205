"""One setting, measured: its cost, its words and their quality over time, and all aggregations of its tally.

A setting of the paper is a replay (``replay.py``): the run itself, on samples that are drawn once for all settings.
What it takes is counted: its own time (planning, reading tests, counting), and its samples and the words whose keep
probabilities it asks for at what one of each took when they were drawn. A run of its own (``real``) is timed by the
clock. Quality is scored off the clock. What every round knew is counted again from the journal's verdicts where other
aggregations are asked for, which needs no further model call.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from anchorscope.asking.budget import Budget
from anchorscope.asking.removals import Removals
from anchorscope.evaluation.anytime import Moment
from anchorscope.journal.reader import RunReader
from anchorscope.reproduction.agreements import Agreements, KeptProbabilities
from anchorscope.reproduction.grid import AGGREGATIONS, TOP_K
from anchorscope.reproduction.replay import Replay
from anchorscope.run import Run
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.tally import Tally, ranking
from anchorscope.settings import Settings, score_perturbs
from anchorscope.text.read import read_texts
from anchorscope.types import Perturbator, Predictor, Snapshot

MOMENTS = 16
"""So many moments of a run are kept, spread over its rounds."""

FEATURED = 30
"""Terms kept of the full lists of G_pr and G_sq, each with its position in the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Where samples come from: what is kept of them, how many texts a device takes at once, until when, by which
    clock."""

    agreements: Agreements
    keep: KeptProbabilities
    at_once: int
    deadline: float
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is explained, and by whom: ``asked`` answers the samples, ``remembered`` the same and what it was asked
    before."""

    asked: Predictor
    remembered: Predictor
    perturbator: Perturbator
    texts: Sequence[str]
    training: Sequence[str]
    removals: Callable[[str], Removals]


def replayed(subject: Subject, settings: Settings, drawing: Drawing, *, with_aggregations: bool) -> dict[str, Any]:
    """The record of a setting, read from samples that are kept, and drawn where they are not."""
    replay = _replay(subject, settings, drawing)
    with TemporaryDirectory(prefix="anchorscope-") as scratch:
        folder = Path(scratch) / "run" if with_aggregations else None
        start = drawing.clock()
        shown = []
        for snapshot in _run(subject, settings, replay, folder).snapshots():
            own = drawing.clock() - start - replay.drawing
            shown.append(replace(snapshot, cost=replace(snapshot.cost, seconds=own)))
        in_time = _timed(shown, drawing)
        record = _record(in_time, subject, settings)
        record["each"] = {"sample": drawing.agreements.spent.each(), "word": drawing.keep.spent.each()}
        if folder is not None:
            record |= _of_journal(folder, _moments(in_time), subject, settings, list(record["terms"]))
    return record


def _replay(subject: Subject, settings: Settings, drawing: Drawing) -> Replay:
    return Replay(
        subject.asked,
        subject.perturbator,
        settings,
        drawing.agreements,
        drawing.keep,
        at_once=drawing.at_once,
        deadline=drawing.deadline,
        clock=drawing.clock,
    )


def _run(subject: Subject, settings: Settings, replay: Replay, folder: Path | None) -> Run:
    return Run(
        read_texts(subject.texts),
        subject.remembered,
        subject.perturbator,
        settings,
        folder=folder,
        backend=lambda score, workers: replay,
        training_texts=subject.training,
    )


def draw(subject: Subject, settings: Settings, drawing: Drawing) -> None:
    """Draw the samples that a setting reads, and show nothing of it."""
    for _ in _run(subject, settings, _replay(subject, settings, drawing), None).snapshots():
        pass


def real(subject: Subject, settings: Settings, budget: Budget) -> dict[str, Any] | None:
    """The record of a run of its own, by the clock; None if the budget ended it."""
    run = Run(
        read_texts(subject.texts),
        subject.asked,
        subject.perturbator if score_perturbs(settings) else None,
        settings,
        budget=budget,
        training_texts=subject.training,
    )
    shown = list(run.snapshots())
    last = shown[-1]
    if not last.settled and last.tests_planned:
        return None
    return _record(shown, subject, settings)


def _timed(shown: Sequence[Snapshot], drawing: Drawing) -> list[Snapshot]:
    """The same snapshots, the seconds being those of a run that draws its samples itself."""
    sample = drawing.agreements.spent.each()
    word = drawing.keep.spent.each()
    timed = []
    for snapshot in shown:
        cost = snapshot.cost
        n_words = cost.perturbator_passes - cost.samples
        seconds = cost.seconds + sample * cost.samples + word * n_words
        timed.append(replace(snapshot, cost=replace(cost, seconds=seconds)))
    return timed


def _record(shown: Sequence[Snapshot], subject: Subject, settings: Settings) -> dict[str, Any]:
    """What a run showed, with its quality at some of its moments."""
    last = shown[-1]
    labels = [label for label, explanation in last.explanations.items() if explanation.terms]
    removals = {label: subject.removals(label) for label in labels}
    moments = _moments(shown)
    return {
        "settings": settings.to_dict(),
        "documents": {label: last[label].documents for label in labels},
        "characters": float(np.mean([len(text) for text in subject.texts])),
        "seconds": moments[-1].seconds,
        "cost": asdict(last.cost),
        "moments": _scored(_thinned(moments), removals),
        "terms": {label: [term.term for term in last[label].terms] for label in labels},
        "with_evidence": {label: sum(term.driver for term in last[label].terms) for label in labels},
        "machine": {"processor": platform.processor() or platform.machine(), "python": platform.python_version()},
        "commit": _commit(),
    }


@cache
def _commit() -> str:
    """The commit of the checkout that this is, or that BENCHMARK_COMMIT names for a copy that is none; else empty."""
    root = Path(__file__).parents[2]
    if "BENCHMARK_COMMIT" in os.environ or not (root / ".git").exists():
        return os.environ.get("BENCHMARK_COMMIT", "")
    asked = ["git", "rev-parse", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, cwd=root, check=False).stdout.strip()


def _moments(shown: Sequence[Snapshot]) -> list[Moment]:
    """What was shown after each round; before the first there is nothing to show, the last is shown twice."""
    return [
        Moment(
            snapshot.cost.seconds,
            snapshot.cost.tests,
            {label: tuple(term.term for term in one.terms) for label, one in snapshot.explanations.items()},
        )
        for snapshot in shown[1:-1]
    ]


def _of_journal(
    folder: Path, moments: Sequence[Moment], subject: Subject, settings: Settings, labels: Sequence[str]
) -> dict[str, Any]:
    """What every aggregation makes of the tally of a run, and how many words are anchors."""
    with closing(RunReader(folder)) as finished:
        tally = finished.tally()
        candidates = finished.terms
    all_labels = subject.asked.labels
    removals = {label: subject.removals(label) for label in labels}
    found = {"anchors": _anchors(tally, labels, all_labels)}
    return found | _of_aggregations(folder, moments, tally, candidates, all_labels, removals, settings)


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

"""How many tests until a race is settled, from 41 thousand to 41 million candidate occurrences?

    OMP_NUM_THREADS=1 python -m benchmarks.settled --data FOLDER [--tasks corona] [--occurrences 41000 … 41000000]

Every candidate occurrence of a task is tested once, for real (a scan, a linear classifier, the perturbator ``corpus``).
Larger collections are drawn from these documents with replacement, each copy with a key, and so a priority, of its own
and with the verdicts of its original; the race's own code runs on them, with verdicts looked up instead of sampled. As
all verdicts are known, so are the true regret of the list that it settles on and whether the true scores lie in their
intervals. Reported a class: tests and documents until settled, documents that the index held (of all classes), stated
and true regret, and the share of the shown words whose interval covers. Prints a table, writes settled_TASK.json, .csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.planning.candidates import priorities
from anchorscope.planning.collection import Collection, LazyWords, Predictions, collect, predict
from anchorscope.planning.plan import EMPTY_ANCHOR, Counted
from anchorscope.planning.race import Race
from anchorscope.sampling.engine import Engine
from anchorscope.scoring.aggregations import total
from anchorscope.scoring.tally import ranking
from anchorscope.settings import Settings, preset
from anchorscope.text.read import read_texts
from anchorscope.types import Document, Unit
from benchmarks import classifiers, tasks, written

SIZES = (41_000, 410_000, 4_100_000, 41_000_000)
SLACK = 1e-6
UNITS = 512
"""Documents that are judged at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A collection, and the value of each of its candidate occurrences."""

    collection: Collection
    value: NDArray[np.float64]


class Copies(Sequence[Document]):
    """Documents without a text, made when they are asked for: their keys are all that a race reads."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return Document(f"copy {index}", "") if index < self._n else self._over()

    def _over(self) -> Document:
        raise IndexError


def judge(task: tasks.Task, most: int) -> Judged:
    """Test every candidate of the first documents with about ``most`` candidate occurrences."""
    settings = preset("banzhaf")
    predictor, perturbator = classifiers.train("linear", task.train), CorpusPerturbator()
    documents = sorted(read_texts(task.texts).documents, key=lambda document: document.key)
    texts = [document.text for document in documents]
    perturbator = perturbator.fit(LazyWords(texts))
    whole = collect(documents, predictor.labels, predict(predictor, texts), settings)
    if whole.first_occurrence[-1] > most:
        fewer = documents[: int(np.searchsorted(whole.first_occurrence, most))]
        texts = [document.text for document in fewer]
        whole = collect(fewer, predictor.labels, predict(predictor, texts), settings)
    engine = Engine(predictor, perturbator, settings.sampling, settings.anchor_test)
    values = []
    units = [_unit(whole, number, settings.tau) for number in range(len(whole.documents))]
    for start in range(0, len(units), UNITS):
        found, _ = engine.measure([unit for unit in units[start : start + UNITS] if unit.positions])
        values.append(found.value)
    return Judged(whole, np.concatenate(values))


def _unit(collection: Collection, document: int, tau: float) -> Unit:
    here = collection.occurrences_of(document)
    positions = tuple(collection.positions_of(np.arange(here.start, here.stop)))
    label = int(collection.predictions.labels[document])
    return Unit(document, collection.documents[document].text, label, positions, (tau,) * len(positions))


def grown(judged: Judged, occurrences: int, seed: int) -> tuple[Collection, NDArray[np.intp]]:
    """A collection of so many occurrences, drawn from the documents with replacement, and each one's original."""
    small = judged.collection
    sizes = np.diff(small.first_occurrence)
    originals = np.arange(len(sizes))
    if occurrences > sizes.sum() + sizes.max():  # else it is what was judged
        originals = np.sort(np.random.default_rng(seed).integers(0, len(sizes), round(occurrences / sizes.mean())))
    n_each, first = sizes[originals], small.first_occurrence[originals]
    starts = np.concatenate([[0], np.cumsum(n_each)])
    terms = np.empty(starts[-1], np.int32)
    for begin in range(0, len(originals), 100_000):  # in pieces: the numbers of the occurrences take twice their room
        some = slice(begin, begin + 100_000)
        inside = slice(starts[begin], starts[min(begin + 100_000, len(originals))])
        places = np.arange(inside.start, inside.stop) + np.repeat(first[some] - starts[:-1][some], n_each[some])
        terms[inside] = small.occurrence_term[places]
    labels = small.predictions.labels[originals]
    collection = Collection(
        documents=Copies(len(originals)),
        labels=small.labels,
        predictions=Predictions(labels, np.ones(len(labels))),
        terms=small.terms,
        written=small.written,
        occurrence_document=np.repeat(np.arange(len(originals), dtype=np.int32), n_each),
        occurrence_term=terms,
        first_position=np.arange(len(terms) + 1),
        positions=np.broadcast_to(np.int32(0), len(terms)),
        first_occurrence=starts,
        training=small.training,
        explained=small.explained,
        expected=np.zeros(len(terms)),
        beyond=np.zeros(len(small.terms), np.int64),
        priority=np.zeros(len(originals), np.uint64),  # that of a race depends on its seed
    )
    return collection, originals


def true_totals(judged: Judged, originals: NDArray[np.intp]) -> NDArray[np.float64]:
    """The total value of every (label, term) over a grown collection."""
    small = judged.collection
    n_copies = np.bincount(originals, minlength=len(small.documents))
    labels = small.predictions.labels[small.occurrence_document]
    totals = np.zeros((len(small.labels), len(small.terms)))
    np.add.at(totals, (labels, small.occurrence_term), judged.value * n_copies[small.occurrence_document])
    return totals


def race(
    judged: Judged, collection: Collection, originals: NDArray[np.intp], settings: Settings
) -> list[dict[str, Any]]:
    """Run a race over a grown collection: a row for each class."""
    start = process_time()
    keys = [document.key for document in collection.documents]
    collection = replace(collection, priority=priorities(settings.seed, keys))
    strategy, tally, documents = Race(collection, settings), collection.tally, []
    linear, small = process_time() - start, judged.collection
    while (round_ := strategy.next_round(tally)) is not None:
        some = np.array([unit.document for unit in round_.units])
        documents.append(some)
        places = [np.arange(*small.first_occurrence[originals[d] : originals[d] + 2]) for d in some]
        value = judged.value[np.concatenate(places)]
        tested = round_.occurrences[round_.occurrences != EMPTY_ANCHOR]
        now = strategy.count(
            Counted(tested, np.zeros(len(value), bool), value, np.zeros(len(value)), np.full(len(value), np.nan))
        )
        labels, terms = collection.occurrence_label[now.occurrences], collection.terms_of(now.occurrences)
        tally = tally.observe(labels, terms, now.anchor, now.value)
    seconds = process_time() - start - linear
    visited, standing = np.concatenate(documents), strategy.standing(tally)
    values, truth = total(strategy.counted(tally)), true_totals(judged, originals)
    assert standing.regret is not None
    rows = []
    for label, name in enumerate(collection.labels):
        mine = visited[collection.predictions.labels[visited] == label]
        shown, best = (ranking(x[label], tally.occurrences[label], settings.top_k) for x in (values, truth))
        low, high, true = standing.low[label, shown] - SLACK, standing.high[label, shown] + SLACK, truth[label, shown]
        rows.append(
            {
                "occurrences": len(collection.occurrence_term),
                "documents": len(collection.documents),
                "regret_asked": settings.regret,
                "seed": settings.seed,
                "label": name,
                "tests": int(np.diff(collection.first_occurrence)[mine].sum()),
                "documents_tested": len(mine),
                "documents_indexed": strategy.n_indexed,
                "regret_stated": float(standing.regret[label]),
                "regret_true": float((truth[label, best].sum() - true.sum()) / truth[label, best].sum()),
                "covered": float(((low <= true) & (true <= high)).mean()),
                "race_seconds": seconds,
            }
        )
    return rows


def table(rows: list[dict[str, Any]]) -> Table:
    """Means over seeds, a row for each regret asked for, size and class."""
    names = [
        "tests",
        "documents_tested",
        "documents_indexed",
        "regret_stated",
        "regret_true",
        "covered",
        "race_seconds",
    ]
    shown = Table("regret asked", "occurrences", "class", *(name.replace("_", " ") for name in names))
    for key in sorted({(row["regret_asked"], row["size"], row["label"]) for row in rows}):
        mine = [row for row in rows if (row["regret_asked"], row["size"], row["label"]) == key]
        means = [np.mean([row[name] for row in mine]) for name in names]
        told = [f"{mean:,.0f}" if mean > 20 else f"{mean:.3f}" for mean in means]
        shown.add_row(f"{key[0]:.0%}", f"{key[1]:,}", key[2], *told)
    return shown


def study(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Judge a task, then race on ever larger collections made from it; the rows are written as they come."""
    judged = judge(tasks.load(name, arguments.data, 10**9), min(arguments.occurrences))
    rows: list[dict[str, Any]] = []
    for size in arguments.occurrences:
        for seed in range(arguments.seeds):
            collection, originals = grown(judged, size, seed)
            for regret in arguments.regrets:
                settings = preset("banzhaf", regret=regret, seed=seed)
                rows += [{"size": size, **row} for row in race(judged, collection, originals, settings)]
            written.write(f"settled_{name}", arguments, rows)
        Console(stderr=True).print(f"{name}: {size:,} occurrences done")
    return rows


def main() -> None:
    """A study of each task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["corona"], choices=tasks.NAMES)
    parser.add_argument("--occurrences", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--regrets", type=float, nargs="+", default=[0.05, 0.02])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    for name in arguments.tasks:
        Console(width=200).print(table(study(name, arguments)), name)


if __name__ == "__main__":
    main()

"""How soon is there a useful answer? The demo, as ``anchorscope demo`` runs it, from the moment its models are loaded.

    python -m benchmarks.first_answer [--perturbator embedded|corpus] [--share 0.8] [--repeats 3]

    first table    the first snapshot with a tested word in it
    useful         the top 20 of every label has the share (80%) of its final AOPC^20, and keeps it to the end
    complete       the run has ended: settled

Seconds are those on the clock, with as many threads as the machine has cores, and beside them CPU seconds, which a busy
machine stretches less; quality is scored when the run is over, off the clock. Prints a table, writes first_answer.json
and .csv: a row for every snapshot of the median run, and the figures of every run.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from anchorscope.asking.removals import Removals
from anchorscope.demo import reviews, train
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.predictors import as_predictor
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from anchorscope.text.words import split
from anchorscope.types import Predictor, Snapshot
from benchmarks import written


def watch(predictor: Predictor, texts: list[str], perturbator: str) -> list[tuple[float, float, Snapshot]]:
    """The snapshots of a run, and the seconds and CPU seconds after which each came."""
    settings = preset("fast")
    noise = named_perturbator(perturbator, top_n=settings.top_n)
    first = [split(texts[0])]
    noise = noise.fit(first)
    noise.propose(first, [np.ones(len(first[0]), bool)])  # opens the model
    run = Run(read_texts(texts), predictor, noise, settings)
    start, cpu = perf_counter(), process_time()
    return [(perf_counter() - start, process_time() - cpu, snapshot) for snapshot in run.snapshots()]


def moments(shown: Sequence[tuple[float, float, Snapshot]], removals: Mapping[str, Removals]) -> list[dict[str, Any]]:
    """A row for every snapshot: seconds, tests, and AOPC^20 of each label."""
    known: dict[tuple[str, ...], float] = {}
    rows = []
    for seconds, cpu, snapshot in shown:
        cost = snapshot.cost
        row: dict[str, Any] = {"seconds": seconds, "cpu": cpu, "tests": cost.tests, "documents": cost.documents}
        for label, removal in removals.items():
            terms = tuple(term.term for term in snapshot[label].terms)
            key = (label, *terms)
            if key not in known:
                known[key] = removal.aopc(terms)
            row[f"aopc {label}"] = known[key]
        rows.append(row)
    return rows


def figures(rows: Sequence[Mapping[str, Any]], share: float) -> dict[str, Mapping[str, Any]]:
    """The three moments of a run.

    >>> rows = [{"seconds": s, "tests": t, "aopc yes": a} for s, t, a in [(1, 0, 0.0), (2, 9, 0.1), (5, 20, 0.12)]]
    >>> {name: row["seconds"] for name, row in figures(rows, 0.8).items()}
    {'first table': 2, 'useful': 2, 'complete': 5}
    >>> figures(rows, 0.9)["useful"]["seconds"]
    5
    """
    names = [name for name in rows[0] if name.startswith("aopc ")]
    lacking = [i for i, row in enumerate(rows) if any(row[name] < share * rows[-1][name] for name in names)]
    first = next(i for i, row in enumerate(rows) if row["tests"])
    useful = max(first, lacking[-1] + 1 if lacking else 0)
    return {"first table": rows[first], "useful": rows[useful], "complete": rows[-1]}


def main() -> None:
    """Run the demo a few times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perturbator", default="embedded")
    parser.add_argument("--share", type=float, default=0.8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    training, explained = reviews()
    predictor = as_predictor(train(training))
    removals = {label: Removals(predictor, explained.texts, label) for label in predictor.labels}
    runs = []
    for _ in range(arguments.repeats):
        rows = moments(watch(predictor, explained.texts, arguments.perturbator), removals)
        runs.append((figures(rows, arguments.share), rows))
    runs.sort(key=lambda run: run[0]["complete"]["seconds"])
    names = list(runs[0][0])
    shown = Table("run", *(f"{name}, s (CPU)" for name in names), title=f"demo, {len(explained.texts):,} reviews")
    for number, (found, _) in enumerate(runs):
        shown.add_row(str(number + 1), *(f"{found[name]['seconds']:.2f} ({found[name]['cpu']:.2f})" for name in names))
    Console().print(shown)
    middle = runs[len(runs) // 2][1]
    found = [{name: written.rounded(row) for name, row in figures.items()} for figures, _ in runs]
    written.write("first_answer", arguments, middle, runs=found)


if __name__ == "__main__":
    main()

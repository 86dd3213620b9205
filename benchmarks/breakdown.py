"""Where do the CPU seconds of a run go? Profiled part by part, on one thread.

    OMP_NUM_THREADS=1 python -m benchmarks.breakdown --data FOLDER [--tasks corona] [--strategy scan|race]

A part is a function with everything that it calls, and no part lies within another; ``other`` is the rest. The
profiler makes parts of many small calls look dearer than they are. Prints a table, writes breakdown.json and .csv.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from anchorscope.perturbators.choose import named_perturbator
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from anchorscope.text.words import split
from benchmarks import classifiers, tasks, written

PARTS = {
    "candidates (cut, count, index)": ("candidates.py", "find_candidates"),
    "classifier, documents": ("collection.py", "predict"),
    "classifier, samples": ("engine.py", "answer"),
    "chances of the samples": ("draws.py", "draw"),
    "fills of the samples, with what proposes them": ("fills.py", "draw"),
    "texts of the samples, spelled": ("lexicon.py", "spell"),
    "measurements": ("stream.py", "read_samples"),
    "vocabulary in three capitalisations": ("lexicon.py", "__init__"),
    "tally": ("ledger.py", "add"),
    "snapshots (scores, bounds)": ("run.py", "_view"),
    "what to test next": (None, "next_round"),
}


def profile(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a part of one run."""
    task = tasks.load(name, arguments.data, arguments.documents)
    predictor = classifiers.train("linear", task.train)
    settings = preset("fast", strategy=arguments.strategy)
    noise = named_perturbator(arguments.perturbator, top_n=settings.top_n)
    first = [split(task.texts[0])]
    noise = noise.fit(first)
    noise.propose(first, [np.ones(len(first[0]), bool)])  # opens the model
    run = Run(read_texts(task.texts), predictor, noise, settings)
    profiler = cProfile.Profile(process_time)
    profiler.enable()
    *_, last = run.snapshots()
    profiler.disable()
    stats = pstats.Stats(profiler)
    total: float = stats.total_tt  # type: ignore[attr-defined]
    seconds = {part: _cumulative(stats, *place) for part, place in PARTS.items()}
    seconds["other"] = total - sum(seconds.values())
    n, tested = len(task.texts), last.cost.documents
    return [
        {
            "task": name,
            "documents": n,
            "tested": tested,
            "part": part,
            "cpu_ms_per_tested": s / tested * 1000,
            "share": s / total,
        }
        for part, s in sorted(seconds.items(), key=lambda pair: -pair[1])
    ]


def _cumulative(stats: pstats.Stats, file: str | None, function: str) -> float:
    """The seconds in a function of the package and all that it calls."""
    found = [
        row[3]
        for (path, _, name), row in stats.stats.items()  # type: ignore[attr-defined]
        if name == function and "anchorscope" in path and (file is None or Path(path).name == file)
    ]
    if not found:
        raise SystemExit(f"There is no function {function} in {file or 'the package'} that ran: has it been renamed?")
    return float(max(found))


def main() -> None:
    """Profile a run a task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the tasks (rotten-tomatoes needs none)")
    parser.add_argument("--tasks", nargs="+", default=["corona"], choices=tasks.NAMES)
    parser.add_argument("--perturbator", default="embedded")
    parser.add_argument("--strategy", default="scan", choices=("scan", "race"))
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = [row for name in arguments.tasks for row in profile(name, arguments)]
    shown = Table("part", "CPU ms a tested document", "share", title=f"{arguments.strategy}, {arguments.perturbator}")
    for row in rows:
        shown.add_row(f"{row['task']}: {row['part']}", f"{row['cpu_ms_per_tested']:.2f}", f"{row['share']:.1%}")
    Console().print(shown)
    written.write(f"breakdown_{arguments.perturbator}", arguments, rows)


if __name__ == "__main__":
    main()

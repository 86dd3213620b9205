"""What does a run find of words that were planted in its model, and are their true scores inside its intervals?

    python -m benchmarks.planting --data FOLDER [--tasks …] [--seeds 5] [--documents 1000]

As ``anchorscope evaluate RUN --plant 10`` does for a user's run, here for the linear classifiers of the tasks, both
classes. Writes planting.csv, a row a planted word; rows that are there are not made again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from anchorscope.evaluation import planted
from anchorscope.evaluation.kept import kept_run
from anchorscope.evaluation.planted_model import PlantedModel
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from anchorscope.types import Predictor
from benchmarks.arenas import TASKS, Arena, arena
from benchmarks.written import DATA, facts
from benchmarks.yardsticks import NAMES, Rows

N_PLANTED = 10
FIELDS = (
    *(*NAMES, "term", "shift", "documents", "rank", "shown", "due"),
    *("score", "low", "high", "truth", "inside", "commit"),
)


def explain(texts: list[str], model: Predictor, folder: Path, seed: int) -> None:
    """A run of the fast preset, kept."""
    for _ in Run(read_texts(texts), model, None, preset("fast", seed=seed), folder=folder).snapshots():
        pass


def piece(place: Arena, seed: int, scratch: Path) -> list[dict[str, Any]]:
    """The rows of one seed: both labels, each with words of its own."""
    texts = list(dict.fromkeys(place.texts))
    explain(texts, place.predictor, scratch / "run", seed)
    run = kept_run(scratch / "run", read_texts(texts), place.predictor)
    rows = []
    for label in place.labels:
        plants = planted.choose(run, label, N_PLANTED, seed)
        shifts = {plant.term: plant.shift for plant in plants}
        model = PlantedModel(place.predictor, shifts, label, kinds=str(run.settings.terms))
        folder = scratch / label
        explain(texts, model, folder, seed)
        found = planted.look_up(folder, plants, label, model, texts)
        by_truth = sorted(found.found, key=lambda one: -(one.truth or 0.0))
        due = {one.plant.term for one in by_truth[: found.due]}
        rows += [
            {
                **{"task": place.task, "model": "linear", "method": "fast", "calls": "own", "seed": seed},
                **{"label": label, "term": one.plant.term, "shift": one.plant.shift, "rank": one.rank},
                **{"documents": one.plant.documents, "shown": one.is_shown, "due": one.plant.term in due},
                **{"score": f"{one.score:.4f}", "truth": f"{one.truth:.4f}"},
                **{"low": f"{one.interval[0]:.4f}", "high": f"{one.interval[1]:.4f}"},
                **{"inside": "" if one.is_inside is None else one.is_inside, "commit": facts()["commit"][:9]},
            }
            for one in found.found
        ]
    return rows


def main() -> None:
    """Make the rows that are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=DATA)
    arguments = parser.parse_args()
    kept = Rows(arguments.out / "planting.csv", FIELDS)
    for task in arguments.tasks:
        place = arena(task, "linear", arguments.data, None, arguments.documents)
        for seed in range(arguments.seeds):
            if kept.has(task=task, model="linear", method="fast", calls="own", seed=seed):
                continue
            with tempfile.TemporaryDirectory() as scratch:
                rows = piece(place, seed, Path(scratch))
            kept.add(rows)
            inside = [row["inside"] for row in rows if row["inside"] != ""]
            Console(stderr=True).print(f"{task}, seed {seed}: {sum(inside)} of {len(inside)} inside")


if __name__ == "__main__":
    main()

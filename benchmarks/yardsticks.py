r"""Whose words are best at equal model calls? Every contender under every yardstick, in pieces that can be continued.

    python -m benchmarks.yardsticks --data FOLDER [--models linear planted rule] [--seeds 5]      # rows, then the page
    python -m benchmarks.yardsticks --data FOLDER --models small --encoders MODELS --tasks corona
    python -m benchmarks.yardsticks --page                                                        # the page alone

A row is one list: (task, model, contender, calls, seed, label). Rows are appended to docs/data/yardsticks_MODEL.csv as
they are made, with the commit they were made at, and what is there is not made again: a study may be stopped at any
time, and widened with more seeds, tasks or contenders. ``contenders.py`` says who takes part, ``arenas.py`` where,
``yardsticks_page.py`` makes docs/yardsticks.md from the rows.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console

from anchorscope.evaluation.shortcuts import recall
from anchorscope.evaluation.yardsticks import Yardsticks
from benchmarks import yardsticks_page
from benchmarks.arenas import ENCODERS, MODELS, N_DOCUMENTS, TASKS, Arena, arena, pairs, task_rows
from benchmarks.contenders import CONTENDERS, TORCH_ONLY, UNLIMITED, Documents, Lists, Metered, occlusion
from benchmarks.retraining import accuracy_without
from benchmarks.written import DATA, facts

CALLS = (500, 1000, 2000, 4000, 8000, 16000)
K = 20
UNBOUNDED = 10**9
OWN = "own"
"""What stands for the number of calls where a contender takes as many as its own defaults do."""

ORACLES = ("oracle, deletion", "oracle, replacement", "oracle, held out")
"""One-at-a-time removal of every term in the very documents that a column is measured on: what a column is a share of.
The first is occlusion of all documents."""

NAMES = ("task", "model", "method", "calls", "seed", "label")
COLUMNS = ("deletion", "replacement", "held_out", "insertion", "planted", "known")
FIELDS = (*NAMES, "documents", "asked", "seconds", *COLUMNS, "terms", "commit")
ROAR_CALLS = 4000
ROAR_FIELDS = (*NAMES[:5], "accuracy", "without", "words", "commit", "lists")


class Rows:
    """The rows of a file: those that are there, and new ones, written as they come."""

    def __init__(self, path: Path, fields: Sequence[str] = FIELDS) -> None:
        self._path = path
        self._fields = fields
        self.rows: list[dict[str, str]] = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                self.rows = list(csv.DictReader(file))
        self._known = {self._key(row) for row in self.rows}

    def has(self, **names: Any) -> bool:
        """Whether the rows of a piece (all names but the label) are there."""
        return self._key(names) in self._known

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append the rows of a piece."""
        is_new = not self._path.exists()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._fields, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(rows)
        self.rows += [{key: str(value) for key, value in row.items()} for row in rows]
        self._known |= {self._key(row) for row in rows}

    def _key(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in NAMES[:5])


def work(place: Arena, rows: Rows, arguments: argparse.Namespace) -> None:
    """Everything that is missing in one arena."""
    yards: dict[str, Yardsticks] = {}
    for method, calls, seed, make in pieces(place, arguments):
        if rows.has(task=place.task, model=place.model, method=method, calls=calls, seed=seed):
            continue
        yards = yards or place.yardsticks()
        predictor = Metered(place.predictor, inf if calls == OWN else int(calls))
        allowed = UNBOUNDED if calls == OWN else int(calls)
        start = perf_counter()
        found = make(Documents(predictor, place.texts, allowed, seed, arguments.perturbator), yards)
        seconds = perf_counter() - start
        rows.add(
            [
                {
                    "task": place.task,
                    "model": place.model,
                    "method": method,
                    "calls": calls,
                    "seed": seed,
                    "label": label,
                    "documents": len(place.texts),
                    "asked": predictor.asked,
                    "seconds": f"{seconds:.2f}",
                    **measured(place, yards[label], label, found[label]),
                    "terms": " ".join(found[label][:K]),
                    "commit": facts()["commit"][:9],
                }
                for label in place.labels
            ]
        )
        Console(stderr=True).print(
            f"{place.task} {place.model} {method}, {calls}, seed {seed}: {perf_counter() - start:.1f} s"
        )


Make = Callable[[Documents, Mapping[str, Yardsticks]], Lists]


def pieces(place: Arena, arguments: argparse.Namespace) -> Iterator[tuple[str, int | str, int, Make]]:
    """Oracles, then every contender with every number of calls, the first seeds first; own defaults last."""
    for name in ORACLES:
        yield name, OWN, 0, oracle(name)
    contenders = {**CONTENDERS, **(TORCH_ONLY if place.model in ENCODERS else {})}
    for seed, calls, name in product(range(arguments.seeds), arguments.calls, chosen_of(contenders, arguments)):
        yield name, calls, seed, _plain(contenders[name])
    for name in chosen_of(UNLIMITED, arguments) if arguments.own else ():
        yield name, OWN, 0, _plain(UNLIMITED[name])


def chosen_of(contenders: Iterable[str], arguments: argparse.Namespace) -> list[str]:
    """The contenders that were asked for: all of them where none is named."""
    return [name for name in contenders if arguments.methods is None or name in arguments.methods]


def _plain(contender: Callable[[Documents], Lists]) -> Make:
    return lambda given, _: contender(given)


def oracle(name: str) -> Make:
    """A list that no contender can have: made from the documents that it is measured on, one removal at a time."""

    def make(given: Documents, yards: Mapping[str, Yardsticks]) -> Lists:
        if name == "oracle, deletion":
            return occlusion(given)
        kind = name.removeprefix("oracle, ").replace(" ", "_")
        return {label: getattr(yard, kind).oracle() for label, yard in yards.items()}

    return make


def measured(place: Arena, yard: Yardsticks, label: str, words: list[str]) -> dict[str, Any]:
    """What every yardstick says of a list."""
    (columns,) = yard.columns([words], K)
    told = {name: "" if value is None else f"{value:.5f}" for name, value in columns.to_dict().items()}
    planted = recall(words, place.planted[label], K) if place.planted else None
    known = place.rule.score(label, words) if place.rule else None
    return {
        **told,
        "planted": "" if planted is None else f"{planted:.4f}",
        "known": "" if known is None else f"{known:.4f}",
    }


def roar(rows: Rows, kept: Rows, data: Path | None) -> None:
    """Retrain without the words of every list that was made with ROAR_CALLS, and of the oracle; accuracies are kept.

    ``commit`` is that of the retraining, ``lists`` that of the lists: lists may be made again later.
    """
    lists: dict[tuple[str, str, str, str], set[str]] = {}
    commits: dict[tuple[str, str, str, str], str] = {}
    for row in rows.rows:
        if row["calls"] == str(ROAR_CALLS) or row["method"] == ORACLES[0]:
            key = (row["task"], row["method"], row["calls"], row["seed"])
            lists.setdefault(key, set()).update(row["terms"].split(" "))
            commits[key] = row["commit"]
    full: dict[str, float] = {}
    for (task, method, calls, seed), words in lists.items():
        names = {"task": task, "model": "linear", "method": method, "calls": calls, "seed": seed}
        if kept.has(**names):
            continue
        train, _ = task_rows(task, data, 1)
        if task not in full:
            full[task] = accuracy_without(train, ())
        told = {"accuracy": f"{full[task]:.4f}", "without": f"{accuracy_without(train, words):.4f}"}
        made = {"commit": facts()["commit"][:9], "lists": commits[task, method, calls, seed]}
        kept.add([{**names, **told, "words": len(words), **made}])
        Console(stderr=True).print(f"ROAR {task} {method}, seed {seed}: {told['accuracy']} -> {told['without']}")


def main() -> None:
    """Make what is missing, then the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--models", nargs="+", default=["linear", "planted", "rule"], choices=MODELS)
    parser.add_argument("--methods", nargs="+", choices=[*CONTENDERS, *TORCH_ONLY, *UNLIMITED])
    parser.add_argument("--calls", nargs="+", type=int, default=list(CALLS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--documents", type=int, default=N_DOCUMENTS)
    parser.add_argument("--encoders", type=Path, help="the folder of the fine-tuned encoders (benchmarks.classifiers)")
    parser.add_argument("--device", default="cpu", help="where the encoders compute")
    parser.add_argument("--perturbator", default="corpus", help="what replaces words, for presets that replace them")
    parser.add_argument("--own", action="store_true", help="also contenders at their own defaults, which takes long")
    parser.add_argument("--roar", action="store_true", help="also retrain without the words")
    parser.add_argument("--page", action="store_true", help="only write the page from the rows that are there")
    parser.add_argument("--out", type=Path, default=DATA)
    arguments = parser.parse_args()
    if not arguments.page:
        for task, model in pairs(arguments.tasks, arguments.models):
            rows = Rows(arguments.out / f"yardsticks_{model}.csv")
            place = arena(task, model, arguments.data, arguments.encoders, arguments.documents, arguments.device)
            work(place, rows, arguments)
        if arguments.roar:
            kept = Rows(arguments.out / "yardsticks_roar.csv", ROAR_FIELDS)
            roar(Rows(arguments.out / "yardsticks_linear.csv"), kept, arguments.data)
    if arguments.out == DATA:
        yardsticks_page.write(DATA)


if __name__ == "__main__":
    main()

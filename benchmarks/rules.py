r"""Which rule finds the words that matter? AOPC^20 as a share of the oracle's, by rule, model, task, class and seed.

    python -m benchmarks.rules --data FOLDER --kinds linear                                  # two cores, no GPU
    python -m benchmarks.rules --data FOLDER --kinds linear small large --models MODELS \
        --perturbator masked-lm:EMBEDDED --device cuda --processes 12

Every rule explains the same documents of the same model with the same perturbator. The oracle removes one candidate
word at a time from all documents of a class and ranks by the summed drop. Each (kind, task, seed) is a piece of work of
its own; rows are written as the pieces end, so a study that is cut short keeps what it has, and ``--table`` prints what
is there.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from anchorscope.asking.removals import Removals
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from anchorscope.types import Predictor, Snapshot
from benchmarks import classifiers, tasks, written

_CANDIDATES = {"stop_words": "short", "min_occurrences": 5}
_SCAN = {"strategy": "scan", "round_size": 256}
_BANK = {"fill": "bank"}
_YES_OR_NO = {**_SCAN, **_BANK, "aggregation": "pr", "max_samples": 1000}
_SPRT = {**_YES_OR_NO, "test": "sprt", "delta": 0.3}
RULES: Mapping[str, Mapping[str, Any]] = {
    "code's default": {"preset": "paper", "fill": "one-pass", "test": "kl-one-step", "round_size": 256, **_CANDIDATES},
    "paper-optimised": {"preset": "paper-optimised", "fill": "one-pass", "round_size": 256, **_CANDIDATES},
    "shared, bank, kl, pr": {**_YES_OR_NO, "test": "kl"},
    "sprt, pr": _SPRT,
    "sprt, pr, robust out": {**_SPRT, "robust": "drop"},
    "sprt, pr, lift 0.5": {**_SPRT, "lift": 0.5},
    "sprt, pr, robust out, lift 0.5": {**_SPRT, "robust": "drop", "lift": 0.5},
    "sprt, sq, robust out, lift 0.5": {**_SPRT, "aggregation": "sq", "robust": "drop", "lift": 0.5},
    "gain, independent samples": {**_SCAN, "keep": "shared"},
    "gain, bank": {**_SCAN, **_BANK},
    "gain": _SCAN,
    "gain, fragile documents": {**_SCAN, "weight": "fragile"},
    "gain beyond the background": {**_SCAN, "aggregation": "excess"},
    "gain, 2 pairs, draw by position": {**_SCAN, **_BANK, "bank_pairs": 2},
    "gain, 2 pairs, draw by sample": {**_SCAN, **_BANK, "bank_pairs": 2, "bank_draw": "sample"},
    "gain, 48 samples": {**_SCAN, "max_samples": 48},
    "fast: gain, race": {},
}
BASELINE = "code's default"
ROWS = Path("docs/data/rules.csv")


@dataclass(frozen=True, slots=True)
class Piece:
    """One classifier, one task, one seed."""

    kind: str
    task: str
    seed: int


def work(piece: Piece, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of a piece: one for every rule and class."""
    task = tasks.load(piece.task, arguments.data, arguments.documents)
    predictor = classifiers.classifier(piece.kind, task, arguments.models, arguments.device)
    runs = {rule: explain(predictor, task.texts, rule, piece.seed, arguments) for rule in arguments.rules}
    candidates = _candidates(task.texts)
    rows = []
    for label in predictor.labels:
        removals = Removals(predictor, task.texts, label)
        oracle = removals.aopc(removals.oracle(candidates)[:20])
        for rule, (snapshot, seconds) in runs.items():
            reached, cost = removals.aopc([term.term for term in snapshot[label].terms]), snapshot.cost
            rows.append(
                {
                    "kind": piece.kind,
                    "task": piece.task,
                    "label": label,
                    "rule": rule,
                    "seed": piece.seed,
                    "aopc": round(reached, 5),
                    "oracle": round(oracle, 5),
                    "share": round(reached / oracle, 4),
                    "documents": len(task.texts),
                    "samples_per_document": round(cost.samples / max(1, cost.documents), 1),
                    "passes_per_document": round(cost.perturbator_passes / max(1, cost.documents), 1),
                    "tested_documents": cost.documents,
                    "seconds": round(seconds, 2),
                }
            )
    return rows


def explain(
    predictor: Predictor, texts: list[str], rule: str, seed: int, arguments: argparse.Namespace
) -> tuple[Snapshot, float]:
    """The last snapshot of a run under a rule, and its seconds."""
    given = dict(RULES[rule])
    settings = preset(given.pop("preset", "fast"), seed=seed, **given)
    perturbator = named_perturbator(arguments.perturbator, top_n=settings.top_n, device=arguments.device)
    run = Run(read_texts(texts), predictor, perturbator, settings)
    start = perf_counter()
    *_, last = run.snapshots()
    return last, perf_counter() - start


def _candidates(texts: list[str]) -> list[str]:
    """The candidate terms of the default settings."""
    from anchorscope.planning.collection import Predictions, collect

    documents = read_texts(texts).documents
    one_label = Predictions(np.zeros(len(documents), np.int64), np.ones(len(documents)))
    return list(collect(documents, ("any",), one_label, preset("fast")).terms)


def study(arguments: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """The rows of every piece, as they end; the first seeds come first."""
    pieces = [Piece(k, t, s) for s, k, t in product(range(arguments.seeds), arguments.kinds, arguments.tasks)]
    if arguments.processes == 1:
        yield from (work(piece, arguments) for piece in pieces)
        return
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(work, piece, arguments) for piece in pieces]):
            yield done.result()


def table(rows: list[dict[str, Any]], kind: str) -> Table:
    """Mean share of the oracle's AOPC^20 over seeds for one kind of classifier; a column a task and class.

    A share is marked with - where it is below that of the code's default beyond the 95% band of the paired seeds, with
    + where it is above.
    """
    rows = [row for row in rows if row["kind"] == kind]
    columns = sorted({(row["task"], row["label"]) for row in rows})
    heads = [f"{task}\n{label}" for task, label in columns]
    shown = Table("rule", *heads, "mean", "least", "samples", "passes", "seconds", title=kind)
    by_rule = {rule: _shares(rows, rule) for rule in dict.fromkeys(row["rule"] for row in rows)}
    for rule, shares in by_rule.items():
        means = [float(np.mean([*shares[column].values()])) for column in columns]
        marks = [_mark(shares[column], by_rule.get(BASELINE, {}).get(column, {})) for column in columns]
        mine = [row for row in rows if row["rule"] == rule]
        costs = [
            np.mean([row[name] for row in mine]) for name in ("samples_per_document", "passes_per_document", "seconds")
        ]
        cells = [f"{mean:.2f}{mark}" for mean, mark in zip(means, marks)]
        shown.add_row(rule, *cells, f"{np.mean(means):.3f}", f"{min(means):.2f}", *(f"{x:.1f}" for x in costs))
    return shown


def summary(rows: list[dict[str, Any]]) -> Table:
    """Of every rule and kind the mean and the least share, and how many columns are above and below the baseline."""
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    shown = Table("rule", *(f"{kind}: {what}" for kind in kinds for what in ("mean", "least", "+", "-")))
    for rule in dict.fromkeys(row["rule"] for row in rows):
        cells: list[str] = []
        for kind in kinds:
            mine = [row for row in rows if row["kind"] == kind]
            shares, other = _shares(mine, rule), _shares(mine, BASELINE)
            means = [float(np.mean([*seeds.values()])) for seeds in shares.values()]
            marks = [_mark(seeds, other.get(column, {})) for column, seeds in shares.items()]
            cells += [f"{np.mean(means):.3f}", f"{min(means):.2f}", str(marks.count("+")), str(marks.count("-"))]
        shown.add_row(rule, *cells)
    return shown


def _shares(rows: list[dict[str, Any]], rule: str) -> dict[tuple[str, str], dict[int, float]]:
    """The share of a rule by (task, class) and seed."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        if row["rule"] == rule:
            found.setdefault((row["task"], row["label"]), {})[row["seed"]] = row["share"]
    return found


def _mark(mine: dict[int, float], other: dict[int, float]) -> str:
    """Whether paired seeds differ beyond their 95% band: Student's t with n - 1 degrees of freedom."""
    differences = np.array([mine[seed] - other[seed] for seed in mine.keys() & other.keys()])
    if len(differences) < 2:
        return ""
    band = _STUDENT[len(differences) - 1] * differences.std(ddof=1) / np.sqrt(len(differences))
    return "+" if differences.mean() > band else "-" if differences.mean() < -band else ""


_STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""The 97.5% points, by degrees of freedom."""


def main() -> None:
    """Run the study, or print what it found."""
    arguments = _arguments()
    rows: list[dict[str, Any]] = []
    if arguments.table:
        rows = read(arguments.out)
    else:
        for some in study(arguments):
            rows.extend(some)
            write(rows, arguments)
            done = some[0]
            Console(stderr=True).print(f"{done['kind']} {done['task']} seed {done['seed']}: done")
    for kind in dict.fromkeys(row["kind"] for row in rows):
        Console(width=220).print(table(rows, kind))
    Console(width=220).print(summary(rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--models", type=Path, help="the folder that benchmarks.classifiers wrote")
    parser.add_argument("--kinds", nargs="+", default=["linear"], choices=classifiers.KINDS)
    parser.add_argument("--tasks", nargs="+", default=list(tasks.NAMES), choices=tasks.NAMES)
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES))
    parser.add_argument("--perturbator", default="corpus", help="as on the command line")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROWS)
    parser.add_argument("--table", action="store_true", help="print the tables of --out instead")
    return parser.parse_args()


def write(rows: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    """The rows as CSV, and beside them what they were made with."""
    with arguments.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    names = ("kinds", "tasks", "perturbator", "device", "documents", "seeds", "processes")
    facts = {**{name: getattr(arguments, name) for name in names}, **written.facts()}
    arguments.out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """The rows that were written."""
    with path.open(newline="") as file:
        return [
            {
                name: value if name in ("kind", "task", "label", "rule") else json.loads(value)
                for name, value in row.items()
            }
            for row in csv.DictReader(file)
        ]


if __name__ == "__main__":
    main()

"""Which rule finds the words that matter? AOPC^20 as a share of the oracle's, by rule, task, class and seed.

    python -m benchmarks.rules --data FOLDER [--kind linear|neural] [--perturbator corpus|embedded]

Every rule explains the same documents of the same model. The oracle removes one candidate word at a time from all
documents of a class and ranks by the summed drop. Prints a table and writes a JSON and a CSV beside each other.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from anchorscope.aopc import Removals
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.read import read_texts
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.types import Predictor, Snapshot
from benchmarks import classifiers, tasks

_CANDIDATES = {"stop_words": "short", "min_occurrences": 5}
RULES: Mapping[str, Mapping[str, Any]] = {
    "code's default": {
        "preset": "paper",
        "fill": "one-pass",
        "test": "kl-one-step",
        "delta": 0.1,
        **_CANDIDATES,
    },
    "paper-optimised": {"preset": "paper-optimised", "fill": "one-pass", **_CANDIDATES},
    "shared bank, kl 0.1, pr": {"strategy": "scan", "aggregation": "pr", "test": "kl", "max_samples": 1000},
    "shared bank, sprt 0.3, pr": {
        "strategy": "scan",
        "aggregation": "pr",
        "test": "sprt",
        "delta": 0.3,
        "max_samples": 1000,
    },
    "sprt 0.3, pr, robust out": {
        "strategy": "scan",
        "aggregation": "pr",
        "test": "sprt",
        "delta": 0.3,
        "max_samples": 1000,
        "robust": "drop",
    },
    "gain, scan": {"strategy": "scan"},
    "gain, race": {},
}


def explain(predictor: Predictor, texts: list[str], rule: str, perturbator: str, seed: int) -> tuple[Snapshot, float]:
    """The last snapshot of a run under a rule, and its seconds."""
    given = dict(RULES[rule])
    settings = preset(given.pop("preset", "fast"), seed=seed, **given)
    run = Run(read_texts(texts), predictor, named_perturbator(perturbator, top_n=settings.top_n), settings)
    start = perf_counter()
    *_, last = run.snapshots()
    return last, perf_counter() - start


def study(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for every task, class, rule and seed."""
    rows = []
    for name in arguments.tasks:
        task = tasks.load(name, arguments.data, arguments.documents)
        predictor = classifiers.train(arguments.kind, task.train)
        runs = {
            (rule, seed): explain(predictor, task.texts, rule, arguments.perturbator, seed)
            for rule in arguments.rules
            for seed in range(arguments.seeds)
        }
        candidates = _candidates(task.texts)
        for label in predictor.labels:
            removals = Removals(predictor, task.texts, label)
            oracle = removals.aopc(removals.oracle(candidates)[:20])
            for (rule, seed), (snapshot, seconds) in runs.items():
                reached = removals.aopc([term.term for term in snapshot[label].terms])
                cost = snapshot.cost
                rows.append(
                    {
                        "task": name,
                        "label": label,
                        "rule": rule,
                        "seed": seed,
                        "aopc": round(reached, 5),
                        "oracle": round(oracle, 5),
                        "share": round(reached / oracle, 4),
                        "samples_per_document": round(cost.samples / len(task.texts), 1),
                        "passes_per_document": round(cost.perturbator_passes / len(task.texts), 1),
                        "seconds": round(seconds, 2),
                    }
                )
        Console(stderr=True).print(f"{name}: {len(task.texts)} documents done")
    return rows


def _candidates(texts: list[str]) -> list[str]:
    """The candidate terms of the default settings."""
    from anchorscope.collection import Predictions, collect

    documents = read_texts(texts).documents
    one_label = Predictions(np.zeros(len(documents), np.int64), np.ones(len(documents)))
    return list(collect(documents, ("any",), one_label, preset("fast")).terms)


def table(rows: list[dict[str, Any]]) -> Table:
    """Mean share of the oracle's AOPC^20 over seeds, a row a rule, a column a task and class."""
    columns = sorted({(row["task"], row["label"]) for row in rows})
    shown = Table("rule", *(f"{task}\n{label}" for task, label in columns), "mean", "samples", "passes", "seconds")
    for rule in dict.fromkeys(row["rule"] for row in rows):
        mine = [row for row in rows if row["rule"] == rule]
        shares = [np.mean([r["share"] for r in mine if (r["task"], r["label"]) == column]) for column in columns]
        costs = [
            np.mean([row[name] for row in mine]) for name in ("samples_per_document", "passes_per_document", "seconds")
        ]
        shown.add_row(rule, *(f"{x:.3f}" for x in shares), f"{np.mean(shares):.3f}", *(f"{x:.1f}" for x in costs))
    return shown


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(tasks.NAMES), choices=tasks.NAMES)
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES))
    parser.add_argument("--kind", default="linear", choices=classifiers.KINDS)
    parser.add_argument("--perturbator", default="corpus")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("docs/data"))
    arguments = parser.parse_args()
    rows = study(arguments)
    Console(width=200).print(table(rows))
    stem = arguments.out / f"rules_{arguments.kind}_{arguments.perturbator}"
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    facts = {"machine": platform.processor() or platform.machine(), "commit": commit, "seeds": arguments.seeds}
    stem.with_suffix(".json").write_text(
        json.dumps({**facts, "documents": arguments.documents, "rows": rows}, indent=1)
    )
    with stem.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()

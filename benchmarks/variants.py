"""Variants of the settings side by side: what each costs, and how good its words are.

Every variant explains the same documents of the same linear model with the same perturbator and the same seeds. Cost is
CPU time a document on one thread (models loaded before), with everything that a run does on the clock; quality is
AOPC^20 as a share of the oracle's. The last variant is ours, which the others are compared with. Seeds are paired: the
difference is taken seed by seed, and its 95% band is that of Student's t.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from anchorscope.asking.removals import Removals
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.planning.candidates import find_candidates
from anchorscope.run import Run
from anchorscope.settings import Settings, preset
from anchorscope.text.read import read_texts
from anchorscope.text.words import split
from anchorscope.types import Predictor, Snapshot
from benchmarks import classifiers, tasks, written
from benchmarks.peer_folder import Meter

Variants = Mapping[str, Mapping[str, Any]]
"""The settings of each variant by its name; ``preset`` is where they start from, ``fast`` if it is not there.

Where they say nothing of stop and rare words, these are the same for all.
"""

T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Student's t at 97.5% by the number of seeds."""


def ours(variants: Variants) -> str:
    """The variant that the others are compared with, and whose candidates the oracle ranks: the last one."""
    return list(variants)[-1]


def settings_of(variant: Mapping[str, Any], seed: int) -> Settings:
    """The settings of a variant."""
    given = dict(variant)
    return preset(given.pop("preset", "fast"), seed=seed, **given)


def explain(predictor: Predictor, texts: list[str], settings: Settings, perturbator: str) -> tuple[Snapshot, Meter]:
    """The last snapshot of a run, and its time."""
    noise = named_perturbator(perturbator, top_n=settings.top_n)
    first = [split(texts[0])]
    noise = noise.fit(first)
    noise.propose(first, [np.ones(len(first[0]), bool)])  # opens the model
    run = Run(read_texts(texts), predictor, noise, settings)
    with Meter() as meter:
        *_, last = run.snapshots()
    return last, meter


def study(variants: Variants, arguments: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """A row for every task, variant, seed and label; what there is after each task."""
    rows: list[dict[str, Any]] = []
    for name in arguments.tasks:
        task = tasks.load(name, arguments.data, arguments.documents)
        predictor = classifiers.train("linear", task.train)
        candidates = find_candidates(read_texts(task.texts).documents, settings_of(variants[ours(variants)], 0)).terms
        removals = {label: Removals(predictor, task.texts, label) for label in predictor.labels}
        oracle = {label: r.aopc(r.oracle(candidates)[:20]) for label, r in removals.items()}
        for variant in arguments.variants:
            for seed in range(1 if variant in arguments.once else arguments.seeds):
                settings = settings_of(variants[variant], seed)
                snapshot, meter = explain(predictor, task.texts, settings, arguments.perturbator)
                for label, removal in removals.items():
                    reached = removal.aopc([term.term for term in snapshot[label].terms])
                    quality = {"aopc": reached, "oracle": oracle[label], "share": reached / oracle[label]}
                    fixed = {"task": name, "variant": variant, "seed": seed, "label": label}
                    rows.append({**fixed, **quality, **_cost(snapshot, meter, len(task.texts))})
                Console(stderr=True).print(f"{name}: {variant}, seed {seed}: {meter.cpu_seconds:.2f} CPU seconds")
        yield rows


def _cost(snapshot: Snapshot, meter: Meter, n: int) -> dict[str, float]:
    cost = snapshot.cost
    return {
        "cpu_ms_per_document": meter.cpu_seconds / n * 1000,
        "ms_per_document": meter.seconds / n * 1000,
        "tested_share": cost.documents / n,
        "tests_per_document": cost.tests / n,
        "samples_per_document": cost.samples / n,
        "texts_per_document": cost.predictor_texts / n,
        "passes_per_document": cost.perturbator_passes / n,
    }


def band(differences: Sequence[float]) -> tuple[float, float]:
    """The mean of paired differences and the half width of its 95% band (0 where there is one pair only).

    >>> mean, width = band([0.1, 0.3])
    >>> round(mean, 3), round(width, 3)
    (0.2, 1.271)
    """
    n = len(differences)
    width = T_95[n] * float(np.std(differences, ddof=1)) / n**0.5 if n > 1 else 0.0
    return float(np.mean(differences)), width


def against(rows: Sequence[Mapping[str, Any]], reference: str, variant: str) -> list[dict[str, Any]]:
    """For every task and label, by how much the share of the reference exceeds a variant's, paired, with its band."""
    found = []
    for task, label in sorted({(row["task"], row["label"]) for row in rows}):
        mine, theirs = (_shares(rows, task, label, name) for name in (reference, variant))
        common = sorted(mine.keys() & theirs.keys())
        if common:
            mean, width = band([mine[seed] - theirs[seed] for seed in common])
            fixed = {"task": task, "label": label, "variant": variant, "seeds": len(common)}
            found.append({**fixed, "more": mean, "band": width})
    return found


def _shares(rows: Sequence[Mapping[str, Any]], task: str, label: str, variant: str) -> dict[int, float]:
    chosen = (task, label, variant)
    return {row["seed"]: row["share"] for row in rows if (row["task"], row["label"], row["variant"]) == chosen}


def table(rows: Sequence[Mapping[str, Any]], reference: str, title: str) -> Table:
    """A row a variant: cost a document, its ratio to the reference's (mean over tasks), shares."""
    columns = sorted({(row["task"], row["label"]) for row in rows})
    costs = ("CPU ms/doc", "times", "samples/doc", "texts/doc", "passes/doc", "tested")
    shown = Table("variant", *costs, *(f"{task} {label[:3]}" for task, label in columns), title=title)
    base = _by_task(rows, reference, "cpu_ms_per_document")
    for variant in dict.fromkeys(row["variant"] for row in rows):
        times = _by_task(rows, variant, "cpu_ms_per_document")
        ratio = float(np.mean([times[task] / base[task] for task in times if task in base]))
        names = ("samples_per_document", "texts_per_document", "passes_per_document")
        shown.add_row(
            variant,
            f"{np.mean(list(times.values())):,.2f}",
            f"{ratio:,.4g}",
            *(f"{np.mean(list(_by_task(rows, variant, name).values())):,.1f}" for name in names),
            f"{np.mean(list(_by_task(rows, variant, 'tested_share').values())):.0%}",
            *(f"{np.mean(list(_shares(rows, *column, variant).values())):.3f}" for column in columns),
        )
    return shown


def _by_task(rows: Sequence[Mapping[str, Any]], variant: str, name: str) -> dict[str, float]:
    """The mean of a cost over the seeds of each task."""
    mine = [row for row in rows if row["variant"] == variant]
    names = dict.fromkeys(row["task"] for row in mine)
    return {task: float(np.mean([row[name] for row in mine if row["task"] == task])) for task in names}


def study_parser(description: str | None, variants: Variants, **defaults: Any) -> argparse.ArgumentParser:
    """The options that such a study has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the tasks (rotten-tomatoes needs none)")
    parser.add_argument("--tasks", nargs="+", default=list(tasks.NAMES), choices=tasks.NAMES)
    parser.add_argument("--variants", nargs="+", default=list(variants), choices=list(variants))
    parser.add_argument("--once", nargs="*", default=[], choices=list(variants), help="variants that get one seed only")
    parser.add_argument("--perturbator", default="embedded")
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--min-occurrences", type=int, default=5, help="5 is for thousands of documents, a hundred want less"
    )
    parser.add_argument("--out", type=Path)
    parser.set_defaults(**defaults)
    return parser


def main(name: str, variants: Variants, arguments: argparse.Namespace) -> None:
    """Run a study, print its table, write its rows."""
    reference = ours(variants)
    if reference not in arguments.variants:
        raise SystemExit(f"--variants needs {reference!r} among them: the others are compared with it.")
    words = {"stop_words": "short", "min_occurrences": arguments.min_occurrences}
    others = [variant for variant in arguments.variants if variant != reference]
    for rows in study({variant: {**words, **given} for variant, given in variants.items()}, arguments):
        differences = [found for variant in others for found in against(rows, reference, variant)]
        written.write(f"{name}_{arguments.perturbator}", arguments, rows, differences=differences)
    title = f"{arguments.documents:,} documents a task, perturbator {arguments.perturbator}"
    Console(width=200).print(table(rows, reference, title))

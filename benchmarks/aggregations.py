"""Does the quality order of the aggregations survive when perturbator, keep policy and test change?

    python -m benchmarks.aggregations [--data FOLDER] [--tasks rotten-tomatoes corona] [--documents 150] [--seeds 2]

The paper compares its aggregations under one way of perturbing, keeping and testing. Here every combination of the
three explains the same documents of the same model (logistic regression on word counts, stop and rare words out). One
run gives the tally from which all counts of anchors are computed, so they differ in nothing but their formula; the sum
of values is of another run, which reads the same samples. Quality is
AOPC^20 as a share of the one-at-a-time oracle's. Writes docs/aggregations.md and docs/data/aggregations.csv; a
combination that is in the CSV already is not run again, so the study can be made in pieces.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from anchorscope import registry
from anchorscope.asking.removals import Removals
from anchorscope.journal.reader import RunReader
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.reproduction import models, tasks
from anchorscope.run import Run
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.tally import ranking
from anchorscope.settings import Settings, preset
from anchorscope.text.read import read_texts
from anchorscope.types import Predictor

PERTURBATORS = ("corpus", "mask-token", "embedded")
KEEPS = {"own": "one-pass", "shared": "bank"}
"""The keep policies, each with the filling that goes with it."""
TESTS = ("kl-one-step", "kl", "sprt")
AGGREGATIONS = ("pr", "sq", "h", "av", "av5", "base", "pr-inverse", "total")
ORDERED = ("pr", "sq", "h", "av", "av5", "base", "pr-inverse")
"""The paper's own, whose order is compared; total needs samples without the token, which ``own`` does not have."""
PAPERS = ("corpus", "own", "kl-one-step")
"""The combination that others are compared with: the paper's keep policy and the test of its code."""

TOP_K = 20
DOCS = Path(__file__).parents[1] / "docs"


def study(arguments: argparse.Namespace, known: Sequence[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """A row for every task, label, combination, seed and aggregation that is not known yet."""
    done = {(row["task"], row["perturbator"], row["keep"], row["test"], row["seed"]) for row in known}
    for name in arguments.tasks:
        task = tasks.load(name, arguments.data)
        texts = [text for text, _ in task.explained(arguments.documents)]
        predictor = models.load("logistic-regression", task, models.Workshop(Path()))
        oracle: dict[str, float] = {}
        removals: dict[str, Removals] = {}
        for perturbator, keep, test in product(arguments.perturbators, arguments.keeps, arguments.tests):
            for seed in range(arguments.seeds):
                if (name, perturbator, keep, test, seed) in done:
                    continue
                for label, tops in explain(predictor, texts, perturbator, keep, test, seed).items():
                    if label not in oracle:
                        removals[label] = Removals(predictor, texts, label)
                        candidates = {word for terms in tops.values() for word in terms["all"]}
                        oracle[label] = removals[label].aopc(removals[label].oracle(candidates)[:TOP_K])
                    for by, terms in tops.items():
                        reached = removals[label].aopc(terms["all"][:TOP_K])
                        yield {
                            "task": name,
                            "label": label,
                            "perturbator": perturbator,
                            "keep": keep,
                            "test": test,
                            "seed": seed,
                            "documents": len(texts),
                            "aggregation": by,
                            "aopc": round(reached, 6),
                            "share": round(reached / oracle[label], 4),
                        }


def explain(
    predictor: Predictor, texts: Sequence[str], perturbator: str, keep: str, test: str, seed: int
) -> dict[str, dict[str, dict[str, list[str]]]]:
    """For each label the candidates ranked by each aggregation: of the tally of anchors, and of one of values from the
    same samples, where these replace the word as well."""
    given = {"keep": keep, "fill": KEEPS[keep], "test": test, "top_n": 50}
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for of_run in ({"score": "anchor"}, {"score": "banzhaf", "aggregation": "total"})[: 2 if keep == "shared" else 1]:
        settings = preset("paper", seed=seed, stop_words="nltk", min_occurrences=5, **given, **of_run)
        for label, tops in ranked(predictor, texts, perturbator, settings).items():
            found.setdefault(label, {}).update(tops)
    return found


def ranked(
    predictor: Predictor, texts: Sequence[str], perturbator: str, settings: Settings
) -> dict[str, dict[str, dict[str, list[str]]]]:
    """For each label the candidates ranked by each aggregation that one run's tally can feed."""
    score = registry.resolve("score", str(settings.score))
    with TemporaryDirectory() as scratch:
        noise = named_perturbator(perturbator, top_n=settings.top_n)
        run = Run(read_texts(texts), predictor, noise, settings, folder=Path(scratch) / "run")
        for _ in run.snapshots():
            pass
        finished = RunReader(Path(scratch) / "run")
        tally, candidates = finished.tally(), finished.terms
        finished.close()
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for name in (name for name in AGGREGATIONS if aggregation(name).takes(score)):
        values = aggregation(name).score(tally, settings.alpha)
        for row, label in enumerate(predictor.labels):
            order = ranking(values[row], tally.occurrences[row])
            found.setdefault(label, {})[name] = {"all": [candidates[i] for i in order]}
    return found


def agreement(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Kendall's tau of two orders: the share of pairs in the same order less that in the other.

    >>> agreement({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "c": 2})
    0.3333333333333333
    """
    pairs = [(np.sign(first[a] - first[b]), np.sign(second[a] - second[b])) for a, b in combinations(first, 2)]
    return float(np.mean([1.0 if one == other else one * other for one, other in pairs]))


def means(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> dict[str, float]:
    """The mean share of each aggregation."""
    listed = list(rows)
    found = {name: [float(row["share"]) for row in listed if row["aggregation"] == name] for name in names}
    return {name: float(np.mean(values)) for name, values in found.items() if values}


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """The page: one table, and what it says."""
    combos = [*dict.fromkeys((row["perturbator"], row["keep"], row["test"]) for row in rows)]
    of = {c: [row for row in rows if (row["perturbator"], row["keep"], row["test"]) == c] for c in combos}
    papers = means(of[PAPERS], ORDERED)
    lines, taus, firsts = [], {}, []
    for combo in sorted(combos, key=lambda c: (PERTURBATORS.index(c[0]), [*KEEPS].index(c[1]), TESTS.index(c[2]))):
        shares = means(of[combo], AGGREGATIONS)
        order = sorted((name for name in shares if name in ORDERED), key=lambda name: -shares[name])
        taus[combo] = agreement(papers, {name: shares[name] for name in papers})
        firsts.append(order[0])
        cells = [f"{shares[name]:.2f}" if name in shares else "–" for name in AGGREGATIONS]
        lines.append(f"| {' | '.join(combo)} | {' | '.join(cells)} | {' > '.join(order[:4])} | {taus[combo]:.2f} |")
    others = [tau for combo, tau in taus.items() if combo != PAPERS]
    by_seed = seed_agreement(of[PAPERS])
    boxes = sorted({(row["task"], row["label"]) for row in rows})
    names = [*dict.fromkeys(row["task"] for row in rows)]
    missing = [" with ".join(c) for c in product(PERTURBATORS, KEEPS) if c not in {combo[:2] for combo in combos}]
    settings = f"{rows[0]['documents']} documents a task, {len({row['seed'] for row in rows})} seeds"
    head = f"| perturbator | keep | test | {' | '.join(AGGREGATIONS)} | order of the paper's | agreement |"
    shared = [means(of[combo], AGGREGATIONS) for combo in combos if combo[1] == "shared"]
    ours = ""
    if shared:
        best = np.mean([max(shares[name] for name in ORDERED) for shares in shared])
        total = np.mean([shares["total"] for shares in shared])
        ours = f" With a shared stream, total reaches {total:.2f}, the best of the paper's in each row {best:.2f}."
    winners = ", ".join(f"{name} {firsts.count(name)}" for name in dict.fromkeys(firsts))
    return "\n".join(
        [
            "# Does the order of the aggregations survive?\n",
            f"This page is written by `python -m benchmarks.aggregations --data FOLDER --tasks {' '.join(names)} "
            f"--documents {rows[0]['documents']}`; its rows are in [data/aggregations.csv](data/aggregations.csv). It "
            "was made in pieces, and no row names its commit; the rows came to the tree with commit e528fdf.\n",
            "The paper compares its aggregations under one perturbator, one keep policy and one test. Here all three "
            "change. A cell is the AOPC^20 of an aggregation as a share of the one-at-a-time oracle's, the mean over "
            f"{len(boxes)} boxes ({', '.join(f'{task} {label}' for task, label in boxes)}) and seeds: logistic "
            f"regression on word counts, {settings}, stop and rare words out, delta 0.1, 50 proposals. Agreement is "
            "Kendall's tau between the order of the paper's seven aggregations in that row and in the first "
            f"({', '.join(PAPERS)}): 1 is the same order, 0 none, -1 the reverse.\n",
            head,
            "|" + "---|" * (5 + len(AGGREGATIONS)),
            *lines,
            "",
            *([f"Not run: {', '.join(missing)} (a pass of the model a sample).\n"] if missing else []),
            f"Over the {len(others)} other combinations the agreement is {np.mean(others):.2f} on average, from "
            f"{min(others):.2f} to {max(others):.2f}"
            + (f"; two seeds of the first one agree at {by_seed:.2f}." if by_seed is not None else ".")
            + f" First among the paper's: {winners} of {len(firsts)} combinations.{ours}\n",
        ]
    )


def seed_agreement(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """The mean agreement of two seeds of one combination."""
    seeds = sorted({row["seed"] for row in rows})
    orders = [means([row for row in rows if row["seed"] == seed], ORDERED) for seed in seeds]
    found = [agreement(a, b) for a, b in combinations(orders, 2)]
    return float(np.mean(found)) if found else None


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["rotten-tomatoes"], choices=tasks.NAMES)
    parser.add_argument("--perturbators", nargs="+", default=list(PERTURBATORS), choices=PERTURBATORS)
    parser.add_argument("--keeps", nargs="+", default=list(KEEPS), choices=list(KEEPS))
    parser.add_argument("--tests", nargs="+", default=list(TESTS), choices=TESTS)
    parser.add_argument("--documents", type=int, default=150)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=DOCS)
    arguments = parser.parse_args()
    path = arguments.out / "data" / "aggregations.csv"
    rows: list[dict[str, Any]] = []
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as file:
            rows = [{**row, "seed": int(row["seed"])} for row in csv.DictReader(file)]
    path.parent.mkdir(parents=True, exist_ok=True)
    for row in study(arguments, rows):
        rows.append(row)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    text = page(rows)
    (arguments.out / "aggregations.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

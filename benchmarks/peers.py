"""How does Anchorscope compare with the tools that people can install: time, calls, and AOPC^20 of the words found?

    python -m benchmarks.peers --data FOLDER [--tasks corona rotten-tomatoes] [--documents 24]

All contenders get the same documents, the same tokens to judge, the same logistic regression and the same weights of
a masked language model, each in an environment and a process of its own, one thread, models loaded before the clock
starts. CPU seconds decide (the clock is beside them). What tells of every token whether it is an anchor is compared
with our own test, whose fills come from a bank, and with the same test at anchor-exp's delta that takes a pass of the
masked language model a sample, as anchor-exp does; *values* are graded, from 24 samples a document, and no verdicts.
Our ways are measured again before each tool that has an environment of its own, and the median counts. The peers'
verdicts are aggregated by the paper's functions sq, av and pr with our code, off the clock, and the best of the three
lists is shown: chosen afterwards, in the peers' favour. Quality is the AOPC^20 of a list on the very documents that it
was made from, and its share of the oracle's; beside it, on all of the task.

The peers take seconds a document, so they get a few documents; Anchorscope also runs over all documents of the task, as
a scan (every candidate token tested) and as a race (as many as the list needs), everything but loading on the clock.
Prints a table a task, writes peers.json and peers.csv after each contender.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from anchorscope.asking.removals import Removals
from anchorscope.embedded_model.huggingface import write_folder
from anchorscope.evaluation.attributions import top
from anchorscope.planning.candidates import Candidates, find_candidates
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.tally import Tally, ranking
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from anchorscope.text.words import split, term
from anchorscope.types import Predictor
from benchmarks import classifiers, tasks, written
from benchmarks.peer_folder import Judged, write_task

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "peers"
K = 20
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "TOKENIZERS_PARALLELISM": "false",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "HF_HUB_OFFLINE": "1",
}


@dataclass(frozen=True)
class Contender:
    """A way to judge documents: the environment that it needs (None: ours), its module, options and documents."""

    environment: str | None
    module: str
    options: tuple[str, ...] = ()
    documents: str = "some"


REFERENCE = "anchorscope, anchors"
VALUES = "anchorscope, values"
CONTENDERS: Mapping[str, Contender] = {
    REFERENCE: Contender(None, "peer_own", ("--way", "anchors")),
    f"{REFERENCE}, a pass a sample": Contender(
        None, "peer_own", ("--way", "anchors", "--fill", "one-pass", "--delta", "0.1")
    ),
    f"{VALUES}, bank": Contender(None, "peer_own", ("--way", "judge", "--fill", "bank")),
    f"{VALUES}, blind": Contender(None, "peer_own", ("--way", "judge")),
    f"{VALUES}, corpus": Contender(None, "peer_own", ("--way", "judge", "--perturbator", "corpus")),
    "anchor-exp, own bound": Contender("anchor-exp", "peer_anchor_exp", ("--bound", "own")),
    "alibi, one anchor a document": Contender("alibi", "peer_alibi"),
    "LIME, 1,000 samples": Contender(None, "peer_own", ("--way", "lime")),
    "SHAP, 500 evaluations": Contender(None, "peer_own", ("--way", "shap")),
    "anchorscope, all, scan": Contender(None, "peer_own", ("--way", "scan"), "all"),
    "anchorscope, all, race": Contender(None, "peer_own", ("--way", "race"), "all"),
    "anchorscope, all, race, corpus": Contender(None, "peer_own", ("--way", "race", "--perturbator", "corpus"), "all"),
    "anchor-exp, paper's rule": Contender("anchor-exp", "peer_anchor_exp", ("--bound", "one-step"), "few"),
}
REPEATED = [REFERENCE, *(name for name in CONTENDERS if name.startswith(VALUES))]
AGGREGATIONS = ("sq", "av", "pr")


def environment(name: str | None) -> Path:
    """The Python of an environment, made from its requirements where it is missing."""
    if name is None:
        return Path(sys.executable)
    folder, requirements = CACHE / name, ROOT / "benchmarks" / f"requirements-{name}.txt"
    done = folder / "installed.txt"
    if not done.exists() or done.read_text() != requirements.read_text():
        Console(stderr=True).print(f"making the environment of {name} in {folder}")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", "-r", requirements], check=True)
        done.write_text(requirements.read_text())
    return folder / "bin" / "python"


def ask(contender: Contender, folder: Path) -> dict[str, Any]:
    """What a contender finds in a folder, and what it took."""
    answer = folder / "answer.json"
    command = [environment(contender.environment), "-m", f"benchmarks.{contender.module}", folder, answer]
    ended = subprocess.run(
        [*command, *contender.options], cwd=ROOT, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True
    )
    if ended.returncode:
        raise SystemExit(f"benchmarks.{contender.module} failed on {folder}:\n{ended.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return found


class Arena:
    """A task as the contenders meet it: all of its documents, or the first of them."""

    def __init__(self, name: str, data: Path | None, sizes: Mapping[str, int]) -> None:
        task = tasks.load(name, data, sizes["all"])
        self.predictor: Predictor = classifiers.train("linear", task.train)
        read = read_texts(task.texts).documents
        self.sizes = {key: min(size, len(read)) for key, size in sizes.items()}
        self.texts = [document.text for document in read]
        self.candidates = find_candidates(read, preset("banzhaf"))
        self.judged = [self._judged(number) for number in range(len(read))]
        self.labels = self.predictor.predict(self.texts).argmax(axis=1)
        self._folder = CACHE / name
        write_folder(self._folder / "mlm")
        self._removals: dict[tuple[str, str], tuple[Removals, float]] = {}

    def _judged(self, number: int) -> Judged:
        found: Candidates = self.candidates
        here = slice(found.first_occurrence[number], found.first_occurrence[number + 1])
        text = self.texts[number]
        return Judged(text, list(split(text).words), found.positions[here].tolist())

    def folder(self, size: str) -> Path:
        """The folder with so many of the documents."""
        folder, model = self._folder / size, self.predictor.model  # type: ignore[attr-defined]
        write_task(folder, self.predictor.labels, self.judged[: self.sizes[size]], model)
        return folder

    def quality(self, label: str, terms: Sequence[str], size: str) -> dict[str, float]:
        """AOPC^20 of a list and its share of the oracle's, on the documents that it was made from and on all."""
        answer = {}
        for scope, of in (("same", size), ("all", "all")):
            removals, oracle = self._removals_of(label, of)
            reached = removals.aopc(terms)
            answer[f"aopc_{scope}"], answer[f"share_{scope}"] = reached, reached / oracle
        return answer

    def _removals_of(self, label: str, size: str) -> tuple[Removals, float]:
        if (label, size) not in self._removals:
            removals = Removals(self.predictor, self.texts[: self.sizes[size]], label)
            self._removals[label, size] = removals, removals.aopc(removals.oracle(self.candidates.terms)[:K])
        return self._removals[label, size]

    def lists(self, answer: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
        """The terms of each label, by the aggregation that made them."""
        labels = self.predictor.labels
        if "lists" in answer:
            return {"total": answer["lists"]}
        if "weights" in answer:
            weights = answer["weights"]
            return {"mean weight": {label: top(weights[label], K, self.candidates.terms) for label in labels}}
        tally = self._tally(answer["verdicts"])
        names = ("total",) if len(answer["verdicts"][0]) > 3 else AGGREGATIONS
        found = {}
        for name in names:
            values = aggregation(name).score(tally, preset("banzhaf").alpha)
            order = [ranking(values[row], tally.occurrences[row])[:K] for row in range(len(labels))]
            found[name] = {label: [self.candidates.terms[t] for t in row] for label, row in zip(labels, order)}
        return found

    def _tally(self, verdicts: Sequence[Sequence[Any]]) -> Tally:
        number = {word: i for i, word in enumerate(self.candidates.terms)}
        documents, positions, anchors, *values = (np.array(column) for column in zip(*verdicts))
        labels = self.labels[documents]
        terms = np.array([number[term(self.judged[d].words[p])] for d, p in zip(documents, positions)])  # type: ignore[index]
        counted = Tally.zero(len(self.predictor.labels), len(number)).observe(labels, terms, anchors, *values)
        return replace(counted, occurrences=counted.anchors + counted.non_anchors)


def study(name: str, arguments: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """The rows of a task after each contender: one for every contender so far, aggregation and label."""
    sizes = {"few": arguments.few_documents, "some": arguments.documents, "all": arguments.all_documents}
    arena = Arena(name, arguments.data, sizes)
    answers: dict[str, list[dict[str, Any]]] = {}
    for contender in arguments.contenders:
        again = REPEATED if CONTENDERS[contender].environment or not answers else ()
        for one in dict.fromkeys([*(r for r in again if r in arguments.contenders), contender]):
            found = ask(CONTENDERS[one], arena.folder(CONTENDERS[one].documents))
            answers.setdefault(one, []).append(found)
            Console(stderr=True).print(f"{name}: {one}: {found['cpu_seconds']:.2f} CPU seconds")
        yield [row for one in arguments.contenders if one in answers for row in rows(arena, name, one, answers[one])]


def rows(arena: Arena, task: str, contender: str, found: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A row for every aggregation and label of a contender."""
    size = CONTENDERS[contender].documents
    documents = arena.judged[: arena.sizes[size]]
    cost = _cost(found, documents)
    for by, lists in arena.lists(found[0]).items():
        for label, terms in lists.items():
            fixed = {"task": task, "contender": contender, "aggregation": by, "label": label}
            found_by = {"terms": " ".join(terms), "commit": written.facts()["commit"][:9]}
            yield {**fixed, **cost, **arena.quality(label, terms, size), **found_by}


def _cost(found: Sequence[Mapping[str, Any]], documents: Sequence[Judged]) -> dict[str, Any]:
    n = len(documents)
    cpu = [one["cpu_seconds"] / n * 1000 for one in found]
    return {
        "documents": n,
        "tokens": sum(len(document.positions) for document in documents),
        "cpu_ms_per_document": median(cpu),
        "cpu_ms_least": min(cpu),
        "cpu_ms_most": max(cpu),
        "ms_per_document": median(one["seconds"] / n * 1000 for one in found),
        "texts_per_document": found[0]["texts"] / n,
        "passes_per_document": found[0]["passes"] / n,
        "tested_documents": found[0].get("tested_documents", n),
        "measured": len(found),
    }


def best(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Of the rows of one contender in one task, those of the aggregation with the best mean AOPC^20 over the labels."""
    names = dict.fromkeys(row["aggregation"] for row in rows)
    means = {name: np.mean([row["aopc_same"] for row in rows if row["aggregation"] == name]) for name in names}
    chosen = max(means, key=lambda name: means[name])
    return [row for row in rows if row["aggregation"] == chosen]


def table(rows: Sequence[Mapping[str, Any]], task: str) -> Table:
    """A row a contender: cost a document, ratio to ours on the same tokens, quality by label."""
    mine = [row for row in rows if row["task"] == task]
    labels = list(dict.fromkeys(row["label"] for row in mine))
    reference = next((row["cpu_ms_per_document"] for row in mine if row["contender"] == REFERENCE), float("nan"))
    costs = ("documents", "CPU ms/doc", "ms/doc", "times ours", "texts/doc", "passes/doc", "list by")
    shown = Table("contender", *costs, *(f"{label}: AOPC^20 (share)" for label in labels), title=task)
    for contender in dict.fromkeys(row["contender"] for row in mine):
        chosen = best([row for row in mine if row["contender"] == contender])
        one = chosen[0]
        shown.add_row(
            contender,
            f"{one['documents']:,}",
            f"{one['cpu_ms_per_document']:,.1f}",
            f"{one['ms_per_document']:,.1f}",
            f"{one['cpu_ms_per_document'] / reference:,.3g}",
            f"{one['texts_per_document']:,.1f}",
            f"{one['passes_per_document']:,.1f}",
            one["aggregation"],
            *(
                " on all ".join(f"{r[f'aopc_{s}']:.3f} ({r[f'share_{s}']:.2f})" for s in ("same", "all"))
                for r in chosen
            ),
        )
    return shown


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the tasks (rotten-tomatoes needs none)")
    parser.add_argument("--tasks", nargs="+", default=["corona", "rotten-tomatoes"], choices=tasks.NAMES)
    parser.add_argument("--contenders", nargs="+", default=list(CONTENDERS), choices=list(CONTENDERS))
    parser.add_argument("--documents", type=int, default=24, help="documents that the peers get")
    parser.add_argument(
        "--few-documents", type=int, default=12, help="documents that the paper's rule gets: it is slow"
    )
    parser.add_argument("--all-documents", type=int, default=100_000, help="documents of the whole runs, at most")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    done: list[dict[str, Any]] = []
    for name in arguments.tasks:
        for found in study(name, arguments):
            written.write("peers", arguments, [*done, *found])
        done += found
        Console(width=220).print(table(done, name))


if __name__ == "__main__":
    main()

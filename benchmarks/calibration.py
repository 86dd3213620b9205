"""Is what is stated true? Intervals, memberships, regret and drivers of the default, against known totals.

    OMP_NUM_THREADS=1 python -m benchmarks.calibration [--data FOLDER] [--models FOLDER] [--seeds 10] [--nulls 200]

Every word is taken out of every document once, so the effects of all words are known; then the default runs with
several seeds, and what it states of its 20 best words when it stops by itself is compared with them: how often the 90%
interval holds the known total, the mean stated membership beside the share of true members, the stated regret beside
the true one, and how many tests that took. The models are a classifier of each task, and variants of it: its labels
alone, its logits times four (saturated), its logits shifted until a class has 5% of the documents, and everything
tested. Null models say the same whatever a document means: a coin for each text, a hash, the number of words, the
number of characters, a constant; the share of runs that name a driver is to be at most 5%.

Prints a line each, writes calibration.json, .csv and docs/calibration.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope import Explainer
from anchorscope.demo import reviews
from anchorscope.local_scores.occlusion import OcclusionScore
from anchorscope.planning.collection import Predictions, collect
from anchorscope.predictors import as_predictor
from anchorscope.scoring.surrogate import logits, sigmoid
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from benchmarks import classifiers, tasks, written

Rows = NDArray[np.float64]
SLACK = 1e-4
"""Values are rounded to six digits, so totals are off by a little."""

K = 20


@dataclass(slots=True)
class Remembering:
    """A model that is asked about no text twice: the runs with other seeds ask much the same."""

    ask: Callable[[Sequence[str]], Rows]
    labels: tuple[str, ...]
    known: dict[str, Rows]

    def __call__(self, texts: Sequence[str]) -> Rows:
        """What the model says."""
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        if new:
            self.known.update(zip(new, self.ask(new)))
        return np.array([self.known[text] for text in texts])


def labels_alone(rows: Rows) -> Rows:
    """1 for the label, 0 for the others."""
    return np.eye(rows.shape[1])[rows.argmax(axis=1)]


def saturated(rows: Rows) -> Rows:
    """Much surer, of the same labels."""
    return _of_logit(4 * logits(rows[:, 1]))


def rare(rows: Rows, shift: float) -> Rows:
    """The second label less often."""
    return _of_logit(logits(rows[:, 1]) - shift)


def _of_logit(logit: Rows) -> Rows:
    p = sigmoid(logit)
    return np.stack([1 - p, p], axis=1)


def variants(model: Any, texts: Sequence[str]) -> Iterator[tuple[str, Callable[[Sequence[str]], Rows], dict[str, Any]]]:
    """The model and what is made of it; and further settings."""
    shift = float(np.quantile(logits(model.predict(list(texts))[:, 1]), 0.95))
    yield "as it is", lambda some: model.predict(some), {}
    yield "labels alone", lambda some: labels_alone(model.predict(some)), {}
    yield "saturated", lambda some: saturated(model.predict(some)), {}
    yield "a class of 5%", lambda some: rare(model.predict(some), shift), {}
    yield "everything tested", lambda some: model.predict(some), {"regret": 0.0}


def totals(model: Remembering, texts: Sequence[str]) -> list[dict[str, float]]:
    """What taking out each word costs each label, summed over all documents."""
    settings = preset("fast")
    documents = [*read_texts(list(texts)).documents]
    rows = model([document.text for document in documents])
    collection = collect(documents, model.labels, Predictions.of(rows), settings)
    everything = np.arange(len(collection.occurrence_term))
    round_ = collection.round_of(
        [(number, everything[collection.occurrences_of(number)]) for number in range(len(documents))],
        lambda some: np.zeros(len(some)),
    )
    score = OcclusionScore(as_predictor(model, labels=model.labels), None, settings)
    measured, _ = score.measure(round_.units)
    found: list[dict[str, float]] = [{} for _ in model.labels]
    of_label = collection.occurrence_label[round_.occurrences].tolist()
    for label, term, value in zip(of_label, collection.terms_of(round_.occurrences).tolist(), measured.value.tolist()):
        name = collection.terms[term]
        found[label][name] = found[label].get(name, 0.0) + value
    return found


def compared(model: Remembering, texts: Sequence[str], seeds: int, further: dict[str, Any]) -> dict[str, float]:
    """Means over seeds and labels of what is stated and what is true."""
    truth = totals(model, texts)
    rows: list[tuple[float, ...]] = []
    tests = []
    for seed in range(seeds):
        # All words that rank first by score, drivers or not.
        explainer = Explainer(model, labels=model.labels, top_k=K, random_state=seed, settings=further)
        result = explainer.explain(list(texts))
        tests.append(result.cost.tests)
        for label, name in enumerate(model.labels):
            explanation = result.explanations[name]
            if len(truth[label]) > K and explanation.terms:
                rows.append(_row(explanation, truth[label]))
    names = ("covered", "membership", "members", "regret", "true regret", "drivers")
    means = np.nanmean(np.array(rows), axis=0).tolist()
    return {**dict(zip(names, means)), "tests": float(np.mean(tests))}


def _row(explanation: Any, truth: dict[str, float]) -> tuple[float, ...]:
    best = sorted(truth, key=lambda term: -truth[term])[:K]
    worth = sum(truth[term] for term in best)
    shown = explanation.terms
    covered = [low - SLACK <= truth[t.term] <= high + SLACK for t in shown for low, high in [t.interval]]
    return (
        float(np.mean(covered)),
        float(np.mean([t.membership for t in shown])),
        float(np.mean([t.term in best for t in shown])),
        float(explanation.regret),
        1 - sum(truth[t.term] for t in shown) / worth if worth > 0 else 0.0,
        float(np.mean([t.driver for t in shown])),
    )


def chance(text: str, seed: int) -> float:
    """A number from 0 to 1 that only the whole text decides."""
    digest = blake2b(f"{seed} {text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


NULLS: dict[str, Callable[[str, int], float]] = {
    "coin": lambda text, seed: float(chance(text, seed) > 0.5),
    "hash": chance,
    "words": lambda text, seed: float(sigmoid(np.array((len(text.split()) - 20) / 6))),
    "characters": lambda text, seed: float(sigmoid(np.array((len(text) - 110) / 30))),
    "constant": lambda text, seed: 0.7,
}


def named(kind: str, texts: Sequence[str], seed: int) -> int:
    """The drivers that a run names of a model that goes by nothing."""

    def model(some: Sequence[str]) -> Rows:
        p = np.array([NULLS[kind](text, seed) for text in some])
        return np.stack([1 - p, p], axis=1)

    result = Explainer(model, labels=["a", "b"], random_state=seed).explain(list(texts))
    return sum(term.driver for one in result.explanations.values() for term in one.terms)


def null_rows(n_runs: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The share of runs with a driver, for every null model and size."""
    texts = reviews(0)[1].texts
    for size in sizes if n_runs else ():
        for kind in NULLS:
            found = []
            for seed in range(n_runs):
                chosen = np.random.default_rng(seed).choice(len(texts), size, replace=False)
                found.append(named(kind, [texts[i] for i in chosen], seed))
            yield {
                "null model": kind,
                "documents": size,
                "runs": n_runs,
                "with a driver": sum(n > 0 for n in found),
                "drivers": sum(found),
            }


def task_rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is stated and what is true, for every task, model, variant and size."""
    for name in arguments.tasks:
        task = tasks.load(name, arguments.data, max(arguments.documents))
        for kind in arguments.kinds:
            model = classifiers.classifier(kind, task, arguments.models, arguments.device)
            for n in arguments.documents:
                texts = task.texts[:n]
                for variant, ask, further in variants(model, texts):
                    remembering = Remembering(ask, tuple(model.labels), {})
                    found = compared(remembering, texts, arguments.seeds, further)
                    yield {"task": name, "model": kind, "variant": variant, "documents": len(texts), **found}


def page(path: Path) -> str:
    """The rows of calibration.json as docs/calibration.md."""
    found = json.loads(path.read_text(encoding="utf-8"))
    names = ["task", "model", "variant", "documents", *(name for name in found["rows"][0] if name not in _NAMES)]
    parts = [
        "# Is what is stated true?",
        f"`python -m benchmarks.calibration` at commit {found['commit'][:9]}, {found['parameters']['seeds']} seeds: "
        "what the default states of the 20 words that it shows when it stops by itself, and what is true of them. "
        "Intervals are to cover in 85 to 95%, memberships to be right within .05. *Members* are the shown words that "
        "are among the 20 with the greatest known totals; *true regret* is what the shown list lacks of these. It is "
        "greater than the stated one where words with a great total are no drivers, and so stand below others.",
        _table(found["rows"], names),
        "Models that go by nothing: how many runs name a driver, which is to be at most 5%.",
        _table(found["nulls"], list(found["nulls"][0])),
    ]
    return "\n\n".join(parts) + "\n"


_NAMES = ("task", "model", "variant", "documents")


def _table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    lines = [names, ["---"] * len(names), *([_cell(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 10 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> None:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["rotten-tomatoes"], choices=tasks.NAMES)
    parser.add_argument("--kinds", nargs="+", default=["linear"], choices=classifiers.KINDS)
    parser.add_argument("--documents", nargs="+", type=int, default=[100, 1000])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument("--null-documents", nargs="+", type=int, default=[100])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    for row in task_rows(arguments):
        print(", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v}" for k, v in row.items()), flush=True)
        rows.append(row)
    nulls = []
    for row in null_rows(arguments.nulls, arguments.null_documents):
        print(", ".join(f"{k} {v}" for k, v in row.items()), flush=True)
        nulls.append(row)
    path = written.write("calibration", arguments, rows, nulls=nulls)
    if arguments.out is None:
        (written.DATA.parent / "calibration.md").write_text(page(path), encoding="utf-8")


if __name__ == "__main__":
    main()

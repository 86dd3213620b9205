"""How good an explanation is: AOPC^k of its words, beside baselines and as a share of what could be reached.

For every label and every list of words (``lists.py``): the curve AOPC^1 to AOPC^k, AOPC-global, and the share of the
oracle's AOPC^k. Several runs of one setting with different seeds give the mean and the standard deviation over them.

By default nothing here asks the model about more texts than the run itself did: where all documents would take
more, a random share of each label's documents is taken, the same for all lists, and the evaluation says how many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from statistics import mean, stdev
from typing import Any

from anchorscope.asking.removals import Removals, Substitutes
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.evaluation import lists
from anchorscope.evaluation.kept import KeptRun

WIDE = ("explanation", "oracle")
"""The lists that have their AOPC-global by default, which asks about every word of every document; and those named."""

FEWEST = 50
"""A label's documents are never cut to fewer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One list of words: AOPC^k, its spread over seeds and its share of the oracle's, AOPC-global, AOPC^1 to AOPC^k."""

    name: str
    terms: tuple[str, ...]
    aopc: float
    spread: float | None
    share: float | None
    aopc_global: float | None
    curve: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LabelEvaluation:
    """All lists of one label; ``documents`` of the ``of`` that the model gives the label were used."""

    label: str
    documents: int
    of: int
    k: int
    rows: tuple[Row, ...]

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownNameError("list", name, [row.name for row in self.rows])


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was found, label by label; ``texts`` counts what the model was asked for it, over all runs."""

    labels: Mapping[str, LabelEvaluation]
    removal: str
    runs: int
    texts: int

    def __getitem__(self, label: str) -> LabelEvaluation:
        if label not in self.labels:
            raise UnknownNameError("label", label, self.labels)
        return self.labels[label]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for ``evaluation.json``."""
        return {"schema": 1, **asdict(self)}


def evaluate(
    runs: Sequence[KeptRun],
    *,
    labels: Sequence[str] | None = None,
    against: Sequence[str] = (),
    substitutes: Substitutes | None = None,
    removal: str = "deletion",
    all_documents: bool = False,
    samples: int | None = None,
    budget: int = 200_000,
) -> Evaluation:
    """The evaluation of one run, or of several that differ in their seed alone.

    ``against`` names further lists; ``samples`` are those of LIME and SHAP, ``budget`` the texts of the greedy search.
    """
    lists.check_names(against)
    _check_alike(runs)
    lists.check_fed(runs[0], against)
    shown = [label for label in runs[0].result.explanations if runs[0].result[label].terms]
    for label in labels or ():
        if label not in shown:
            raise UnknownNameError("label in this run", label, shown)
    parts = [
        _Part(run, label, against, substitutes, all_documents=all_documents, samples=samples, budget=budget)
        for run in runs
        for label in labels or shown
    ]
    found = {
        label: _together([part.evaluation() for part in parts if part.label == label]) for label in labels or shown
    }
    return Evaluation(found, removal, len(runs), sum(part.removals.n_texts for part in parts))


class _Part:
    """One label of one run."""

    def __init__(
        self,
        run: KeptRun,
        label: str,
        against: Sequence[str],
        substitutes: Substitutes | None,
        *,
        all_documents: bool,
        samples: int | None,
        budget: int,
    ) -> None:
        self.run = run
        self.label = label
        self._names = against
        self._samples = samples
        self._budget = budget
        texts = run.texts_of(label)
        self._n_texts = len(texts)
        self.k = len(run.result[label].terms)
        chosen = texts if all_documents else texts[: self._affordable(texts)]
        self.removals = Removals(run.predictor, chosen, label, substitutes=substitutes, kinds=str(run.settings.terms))

    def _affordable(self, texts: list[str]) -> int:
        """How many of the label's documents, in a random order, the default rows can afford; orders them so."""
        seed = self.run.settings.seed
        texts.sort(key=lambda text: blake2b(f"{seed} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
        total = sum(len(self.run.texts_of(label)) for label in self.run.result.explanations)
        # The model was asked once about every document to see that it is the run's.
        allowed = (self.run.result.cost.answers - len(self.run.texts)) * len(texts) / max(1, total)
        row = self.run.predictor.labels.index(self.label)
        occurrences = self.run.tally.occurrences[row]
        number = {word: i for i, word in enumerate(self.run.candidates)}
        cheap = [lists.explanation(self.run, self.label), *self._cheap().values()]
        changes = sum(int(occurrences[number[word]]) for ranking in cheap for word in ranking[: self.k])
        # Each text once; each changed prefix of these lists and the oracle's; each candidate of each document for the
        # oracle, and for AOPC-global of the two lists that have it by default.
        sweeps = (1 + len(WIDE)) * int(occurrences.sum())
        needed = len(texts) + changes * (1 + 1 / len(cheap)) + sweeps
        return len(texts) if needed <= allowed else max(FEWEST, int(len(texts) * allowed / needed))

    def _cheap(self) -> dict[str, list[str]]:
        run = self.run
        label = self.label
        shuffles = {f"random {i}": lists.shuffled(run, label, run.settings.seed + i) for i in range(lists.RANDOM_LISTS)}
        named = {
            name: lists.by_frequency(run, label) if name == "frequent" else lists.by_aggregation(run, label, name)
            for name in lists.CHEAP
            if name != "random"
        }
        return {**shuffles, **named}

    def evaluation(self) -> LabelEvaluation:
        run = self.run
        label = self.label
        removals = self.removals
        rankings = {"explanation": lists.explanation(run, label), **self._cheap()}
        for name in self._names:
            if name not in lists.CHEAP:
                rankings[name] = lists.made(run, label, name, removals, samples=self._samples, budget=self._budget)
        if (linear := lists.linear(run, label)) is not None:
            rankings["count x weight"] = linear
        rankings["oracle"] = removals.oracle(run.candidates)
        wide = {*WIDE, *self._names} - {"greedy"}  # which ranks no more than its k words
        curves = dict(zip(rankings, removals.curves([ranking[: self.k] for ranking in rankings.values()])))
        rows = [
            Row(
                name=name,
                terms=tuple(ranking[: self.k]),
                aopc=float(curves[name][-1]) if len(curves[name]) else 0.0,
                spread=None,
                share=None,
                aopc_global=removals.aopc_global(ranking, self.k) if name in wide else None,
                curve=tuple(curves[name].tolist()),
            )
            for name, ranking in rankings.items()
        ]
        random = [row for row in rows if row.name.startswith("random ")]
        others = [row for row in rows if not row.name.startswith("random ")]
        rows = [_mean("random", random), *others]
        oracle = next(row.aopc for row in rows if row.name == "oracle")
        return LabelEvaluation(
            label=label,
            documents=len(removals),
            of=self._n_texts,
            k=self.k,
            rows=tuple(_with_share(row, oracle) for row in rows),
        )


def _mean(name: str, rows: Sequence[Row]) -> Row:
    """Several lists of one kind as one row, under the terms of the first."""
    values = [row.aopc for row in rows]
    return Row(
        name=name,
        terms=rows[0].terms,
        aopc=mean(values),
        spread=stdev(values) if len(values) > 1 else rows[0].spread,
        share=None if rows[0].share is None else mean(row.share or 0.0 for row in rows),
        aopc_global=None if rows[0].aopc_global is None else mean(row.aopc_global or 0.0 for row in rows),
        curve=tuple(mean(points) for points in zip(*(row.curve for row in rows))),
    )


def _with_share(row: Row, oracle: float) -> Row:
    share = row.aopc / oracle if oracle > 0 else None
    return Row(row.name, row.terms, row.aopc, row.spread, share, row.aopc_global, row.curve)


def _together(parts: Sequence[LabelEvaluation]) -> LabelEvaluation:
    """One label over several runs."""
    first = parts[0]
    rows = [_mean(row.name, [part[row.name] for part in parts]) for row in first.rows]
    best_first = sorted(rows, key=lambda row: (-row.aopc, row.name))
    documents = round(mean(part.documents for part in parts))
    return LabelEvaluation(first.label, documents, first.of, first.k, tuple(best_first))


def _check_alike(runs: Sequence[KeptRun]) -> None:
    """Refuse runs that differ in more than their seed."""
    for run in runs[1:]:
        if different := _differences(runs[0], run):
            raise InputError(
                f"The runs in {runs[0].folder} and {run.folder} differ in {', '.join(different)}, "
                "and only runs that differ in their seed alone are averaged: evaluate them one by one."
            )


def _differences(one: KeptRun, other: KeptRun) -> list[str]:
    """What two runs do not have in common, but for their seed."""
    then = one.settings.to_dict()
    now = other.settings.to_dict()
    apart = {
        "their documents": one.result.documents["sha256"] != other.result.documents["sha256"],
        "their models": one.result.model["sha256"] != other.result.model["sha256"],
        "their labels": one.predictor.labels != other.predictor.labels,
        "their perturbators": one.perturbator != other.perturbator,
        **{name: then[name] != now[name] for name in then if name != "seed"},
    }
    return [name for name, is_apart in apart.items() if is_apart]

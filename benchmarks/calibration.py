"""Is what is stated true? Intervals, memberships, regret and drivers of the default, against known totals.

    OMP_NUM_THREADS=1 python -m benchmarks.calibration [--data FOLDER] [--models FOLDER] [--runs 200] [--nulls 200]

A run has documents of its own, drawn from those of its task, and a seed of its own. Every word is taken out of every
document once, so the effects of all words are known; then the default runs, and what it states of its 20 best words
when it stops by itself is compared with them: how often the 90% interval holds the known total, the mean stated
membership beside the share of true members, the stated regret beside the true one, and how many tests that took. The
models are a classifier of each task, and variants of it: its labels alone, its logits times four (saturated), its
logits shifted until a class has 5% of the documents, and everything tested. Under the default measuring has no noise;
the preset banzhaf, whose values are of 24 samples each, is compared with the mean of many more. Null models say the
same whatever a document means: a coin for each text, a hash, the number of words, the number of characters, a
constant, a label that three texts in a hundred have by chance, a threshold of length; the share of runs that name a
driver is to be at most 5%.

An interval without a width is that of a word that was tested wherever it stands: it holds the total for certain, so
such words are counted by themselves. A word whose total is that of the 20th is a member: where a model tells labels
alone, dozens are.

Prints a line each, writes calibration.json and .csv after each, and docs/calibration.md. Rows that are written already
are not made again with --add.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anchorscope import Explainer, registry
from anchorscope.demo import reviews
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.planning.collection import Predictions, collect
from anchorscope.predictors import as_predictor
from anchorscope.scoring.surrogate import logits, sigmoid
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from anchorscope.types import Predictor
from benchmarks import classifiers, tasks, written

Rows = NDArray[np.float64]
T = TypeVar("T")
_job: Callable[[int], Any]
SLACK = 1e-4
"""Values are rounded to six digits, so totals are off by a little."""

TIED = 1e-6
"""Totals that differ by less are the same."""

K = 20


@dataclass(slots=True)
class Remembering:
    """A model that is asked about no text twice: the runs with other seeds ask much the same."""

    ask: Callable[[Sequence[str]], Rows]
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


@dataclass(frozen=True, slots=True)
class Variant:
    """A model made of another, the preset and the settings it is run with, and how often its values are measured anew
    to know them; of its task, at most so many documents, and runs with at most so many of them."""

    name: str
    ask: Callable[[Sequence[str]], Rows]
    preset: str = "fast"
    further: dict[str, Any] = field(default_factory=dict)
    repeats: int = 1
    at_most: int = 10**9
    calls: int | None = None


def variants(model: Any, texts: Sequence[str]) -> Iterator[Variant]:
    """The model and what is made of it."""
    shift = float(np.quantile(logits(model.predict(list(texts))[:, 1]), 0.95))
    yield Variant("as it is", model.predict)
    yield Variant("labels alone", lambda some: labels_alone(model.predict(some)))
    yield Variant("saturated", lambda some: saturated(model.predict(some)))
    yield Variant("a class of 5%", lambda some: rare(model.predict(some), shift))
    yield Variant("everything tested", model.predict, further={"regret": 0.0})
    for calls in BUDGETS:
        yield Variant(f"{calls:,} calls", model.predict, calls=calls)
    # With fewer than five occurrences a word is no candidate of this preset: here it is, as the known totals know no
    # other documents than their own.
    noisy = {"min_occurrences": 1}
    yield Variant("banzhaf", model.predict, "banzhaf", noisy, NOISY_REPEATS, NOISY_DOCUMENTS)
    yield Variant(
        "banzhaf, everything tested",
        model.predict,
        "banzhaf",
        {**noisy, "regret": 0.0},
        NOISY_REPEATS,
        NOISY_DOCUMENTS,
    )


BUDGETS = (500, 1000, 2000)
NOISY_REPEATS = 32
NOISY_DOCUMENTS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What each term does in each document of a task: parallel columns of document, label, term and value."""

    document: NDArray[np.int64]
    label: NDArray[np.int64]
    term: NDArray[np.int64]
    value: NDArray[np.float64]
    terms: Sequence[str]

    def totals(self, chosen: NDArray[np.int64], n_labels: int) -> list[dict[str, float]]:
        """The summed values of the terms of each label, over some documents, which may be chosen more than once."""
        times = np.bincount(chosen, minlength=int(self.document.max()) + 1)[self.document]
        found: list[dict[str, float]] = []
        for label in range(n_labels):
            rows = (times > 0) & (self.label == label)
            n_terms = len(self.terms)
            summed = np.bincount(self.term[rows], (times * self.value)[rows], minlength=n_terms).tolist()
            occurs = np.bincount(self.term[rows], minlength=n_terms) > 0
            found.append({self.terms[term]: summed[term] for term in np.flatnonzero(occurs).tolist()})
        return found


def known_values(model: Predictor, texts: Sequence[str], variant: Variant) -> Known:
    """What taking out each word costs the label of each document, over all its documents."""
    settings = preset(variant.preset, **variant.further)
    documents = [*read_texts(list(texts)).documents]
    rows = np.asarray(model.predict([document.text for document in documents]))
    collection = collect(documents, model.labels, Predictions.of(rows), settings)
    everything = np.arange(len(collection.occurrence_term))
    round_ = collection.round_of(
        [(number, everything[collection.occurrences_of(number)]) for number in range(len(documents))],
        lambda some: np.full(len(some), settings.tau),
    )
    value = np.zeros(len(round_.occurrences))
    for number in range(variant.repeats):
        # Seeds that no run has.
        seeded = replace(settings, seed=SEEDS_OF_THE_KNOWN + number)
        score = registry.resolve("score", str(settings.score))
        measured, _ = score(model, MaskTokenPerturbator(), seeded).measure(round_.units)
        value += measured.value / variant.repeats
    occurrences = round_.occurrences
    return Known(
        document=collection.occurrence_document[occurrences].astype(np.int64),
        label=collection.occurrence_label[occurrences].astype(np.int64),
        term=collection.terms_of(occurrences).astype(np.int64),
        value=value,
        terms=collection.terms,
    )


SEEDS_OF_THE_KNOWN = 10**6


def each(job: Callable[[int], T], n: int, workers: int) -> list[T]:
    """The answers of a job for 0 to n - 1, from forked processes, which have all that is in memory."""
    global _job
    if workers == 1:
        return [job(number) for number in range(n)]
    _job = job
    with get_context("fork").Pool(workers) as pool:
        return pool.map(_do, range(n), chunksize=4)


def _do(number: int) -> Any:
    return _job(number)


def compared(
    model: Predictor, texts: Sequence[str], known: Known, variant: Variant, *, n: int, runs: int, workers: int
) -> dict[str, Any]:
    """What is stated and what is true, over runs with documents of their own, and both labels."""

    def run(seed: int) -> tuple[list[tuple[float, ...]], int]:
        # With replacement where a task has fewer documents.
        chosen = np.random.default_rng(seed).choice(len(texts), n, replace=n > len(texts))
        truth = known.totals(chosen, len(model.labels))
        explainer = Explainer(
            model,
            top_k=K,
            random_state=seed,
            preset=variant.preset,
            settings=variant.further,
            max_model_calls=variant.calls,
            perturbator=MaskTokenPerturbator() if variant.repeats > 1 else None,
        )
        result = explainer.explain([texts[number] for number in chosen])
        rows = []
        for label, name in enumerate(model.labels):
            explanation = result.explanations[name]
            if len(truth[label]) > K and explanation.terms:
                rows.append(_row(explanation, truth[label]))
        return rows, result.cost.tests

    found = each(run, runs, workers)
    names = ("exact", "covered", "membership", "members", "regret", "true regret", "drivers")
    means = np.mean([row for rows, _ in found for row in rows], axis=0).tolist()
    stated = dict(zip(names, means))
    # Of all intervals with a width, as a list may have one of them or twenty; None where there are none.
    stated["covered"] = stated["covered"] / (1 - stated["exact"]) if stated["exact"] < 1 else None
    return {"runs": runs, **stated, "tests": float(np.mean([tests for _, tests in found]))}


def _row(explanation: Any, truth: dict[str, float]) -> tuple[float, ...]:
    best = sorted(truth.values())[-K:]
    worth = sum(best)
    shown = explanation.terms
    exact = [t.interval[0] == t.interval[1] for t in shown]
    covered = [
        not is_exact and t.interval[0] - SLACK <= truth[t.term] <= t.interval[1] + SLACK
        for t, is_exact in zip(shown, exact)
    ]
    return (
        float(np.mean(exact)),
        float(np.mean(covered)),
        float(np.mean([t.membership for t in shown])),
        float(np.mean([truth[t.term] >= best[0] - TIED for t in shown])),
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
    "seldom": lambda text, seed: 0.95 if chance(text, seed) > 0.97 else 0.05,
    "threshold": lambda text, seed: 0.95 if len(text.split()) > 20 else 0.05,
}


def named(kind: str, texts: Sequence[str], seed: int) -> int:
    """The drivers that a run names of a model that goes by nothing."""

    def model(some: Sequence[str]) -> Rows:
        p = np.array([NULLS[kind](text, seed) for text in some])
        return np.stack([1 - p, p], axis=1)

    result = Explainer(model, labels=["a", "b"], random_state=seed).explain(list(texts))
    return sum(term.driver for one in result.explanations.values() for term in one.terms)


def null_rows(
    n_runs: int, sizes: Sequence[int], done: Sequence[dict[str, Any]], workers: int
) -> Iterator[dict[str, Any]]:
    """The share of runs with a driver, for every null model and size that is not done."""
    known = {(row["null model"], row["documents"]) for row in done}
    texts = reviews(0)[1].texts
    for kind, size in ((kind, size) for size in sizes for kind in NULLS):
        if not n_runs or (kind, size) in known:
            continue

        def run(seed: int, kind: str = kind, size: int = size) -> int:
            chosen = np.random.default_rng(seed).choice(len(texts), size, replace=False)
            return named(kind, [texts[i] for i in chosen], seed)

        found = each(run, n_runs, workers)
        yield {
            "null model": kind,
            "documents": size,
            "runs": n_runs,
            "with a driver": sum(n > 0 for n in found),
            "drivers": sum(found),
        }


def task_rows(arguments: argparse.Namespace, done: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What is stated and what is true, for every task, model, variant and size that is not done."""
    known = {tuple(row[name] for name in _NAMES) for row in done}
    sizes = arguments.documents
    for name in arguments.tasks:
        task = tasks.load(name, arguments.data, EVERYTHING)
        for kind in arguments.kinds:
            model = classifiers.classifier(kind, task, arguments.models, arguments.device)
            for variant in variants(model, task.texts):
                texts = task.texts[: variant.at_most]
                cells = [{"task": name, "model": kind, "variant": variant.name, "documents": n} for n in sizes]
                cells = [
                    cell for cell in cells if tuple(cell.values()) not in known and cell["documents"] <= variant.at_most
                ]
                if not cells or variant.name not in (arguments.variants or [variant.name]):
                    continue
                asked = as_predictor(Remembering(variant.ask, {}), labels=tuple(model.labels))
                values = known_values(asked, texts, variant)
                for cell in cells:
                    found = compared(
                        asked,
                        texts,
                        values,
                        variant,
                        n=cell["documents"],
                        runs=arguments.runs,
                        workers=arguments.workers,
                    )
                    yield {**cell, **found}


def page(path: Path) -> str:
    """The rows of calibration.json as docs/calibration.md."""
    found = json.loads(path.read_text(encoding="utf-8"))
    names = [*_NAMES, *(name for name in found["rows"][0] if name not in _NAMES)]
    budgets = [row for row in found["rows"] if _ended(row)]
    by_itself = _once([row for row in found["rows"] if row not in budgets])
    parts = [
        "# Is what is stated true?",
        STATED,
        _in_short(by_itself, budgets, found["nulls"]),
        "## Runs that stop by themselves",
        "\n".join([BY_ITSELF, *_older(by_itself), *(f"- {told}" for told in [found.get("digits")] if told)]),
        _table(by_itself, names, COLUMNS),
        "\n".join([_outside(by_itself), *_few(by_itself), *_saturation(by_itself), *_not_run(by_itself)]),
        "## Runs that a budget ends",
        "A run that `--max-model-calls` ends knows less than it may think: many of its words have a test or two, and "
        "the model was asked about some of the documents only.",
        _table(budgets, names, COLUMNS),
        "\n".join([*_older(budgets), _outside(budgets), *_by_budget(budgets)]),
        "## Models that go by nothing",
        "How many runs name a driver, which is to be at most 5%. A band made so (Wilson, 95%) holds the true rate in "
        "19 of 20 studies.",
        _table(
            [{**row, "band": "{:.1%} to {:.1%}".format(*_band(row))} for row in found["nulls"]],
            [*found["nulls"][0], "band"],
        ),
        "\n".join([f"- {_not_shown(found['nulls'])}", *_older(found["nulls"])]),
        "## Models whose answer is known, and models that go by a rule",
    ]
    parts += [
        told(beside)
        for name, told in (("known_answers", _known), ("rules", _rules))
        if (beside := path.with_name(f"{name}.json")).exists()
    ]
    return "\n\n".join(parts) + "\n"


STATED = f"""\
What the default states of the {K} words that it shows, and what is true of them (`python -m
benchmarks.calibration`). Three things are stated:

- An *interval* (90%) for the score of each word that was not tested everywhere. It is to *cover* the true score in
  85 to 95% of the cases.
- A *membership*, how probably a word is among the {K} best. It is to be right within .05.
- The *regret* of the list, the share of the best list's score that it lacks. It is to be at most the 2% that were
  asked for, where a run stops by itself, and at most .01 above the stated one."""

BY_ITSELF = f"""\
- *Exact*: the share of words that were tested wherever they stand; they have no interval. *Covered* is about the
  others.
- *Stated membership*: the mean of what is stated of the shown words. *True members*: the share of them that are no
  worse than the one with the {K}th greatest true score.
- *Variant*: *labels alone*, the model answers no probabilities; *saturated*, its logits times four; *a class of
  5%*, one label has 5% of the documents.
- Under *banzhaf* (words taken out, candidates of any frequency) measuring has noise: true scores are the means of
  {NOISY_REPEATS} measurements. Where a run tests everything by itself, *banzhaf, everything tested* is the same
  run, and stands here once.
- Each row names its commit. Seeds go from 0 on, one a run; documents are drawn anew for each, with replacement
  where a task has fewer. Figures are means over both labels, in *a class of 5%*, too."""


def _older(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each race that is no longer today's, with the commits of its rows."""
    blocks = [row["commit"] for row in rows if row.get("variant") == "banzhaf"]
    told = {
        f"Rows of `banzhaf` are older: commit {{}}, {written.OF_FORMER_BLOCKS}": {
            commit for commit in blocks if written.has_former_blocks(commit)
        },
        f"Older rows: commit {{}}, {written.OF_FORMER_PRIOR}": {
            row["commit"] for row in rows if written.has_former_prior(row["commit"])
        },
    }
    return [f"- {sentence.format(', '.join(sorted(commits)))}." for sentence, commits in told.items() if commits]


def _in_short(
    by_itself: Sequence[dict[str, Any]], budgets: Sequence[dict[str, Any]], nulls: Sequence[dict[str, Any]]
) -> str:
    """What the tables say on the whole: of many documents, of few, of few calls, and of models that go by nothing."""
    fewest = min(row["documents"] for row in by_itself)
    many, few = ([row for row in by_itself if (row["documents"] > fewest) == so] for so in (True, False))
    told = ["In short:", ""]
    for name, rows in (
        (f"Runs that stop by themselves, more than {fewest} documents", many),
        (f"The same, {fewest} documents", few),
        ("Runs that a budget ends", budgets),
    ):
        covered = [row["covered"] for row in rows if row["covered"] is not None and row["exact"] < MOSTLY]
        regret = [row["true regret"] for row in rows]
        off = max(abs(row["membership"] - row["members"]) for row in rows)
        told.append(
            f"- {name}: coverage {min(covered):.1%} to {max(covered):.1%}, memberships off by {off:.3f} at most, "
            f"true regret {min(regret):.3f} to {max(regret):.3f}."
        )
    drivers = sum(row["with a driver"] for row in nulls)
    told.append(f"- Models that go by nothing: {drivers} of {sum(row['runs'] for row in nulls):,} runs name a driver.")
    return "\n".join(told)


COLUMNS = {"membership": "stated membership", "members": "true members", "regret": "stated regret"}
"""What columns are called on the page, where that says more than the name of a figure."""


def _once(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without those of runs that test everything and are, figure by figure, the rows of the default's end."""
    told = {_all_but_variant(row) for row in rows if not row["variant"].endswith(TO_THE_END)}
    return [row for row in rows if not (row["variant"].endswith(TO_THE_END) and _all_but_variant(row) in told)]


def _all_but_variant(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(value for name, value in row.items() if name not in ("variant", "commit"))


TO_THE_END = "everything tested"


def _known(path: Path) -> str:
    """What ``benchmarks.known_answers`` found: who leads, and how many of VADER's terms are its own."""
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = found["rows"]
    led = [row for row in rows if not row["model"].startswith("VADER")]
    told = [
        "Models whose answer is known (`python -m benchmarks.known_answers --texts FILE`, tweets and made-up "
        f"applications, {1 + max(int(row['seed']) for row in rows)} seeds, commit {found['commit'][:9]}"
        f"{f', {written.OF_FORMER_RULE}' if written.is_former(found['commit']) else ''}):"
    ]
    for model, label in dict.fromkeys((row["model"], row["label"]) for row in led):
        here = [row for row in led if (row["model"], row["label"]) == (model, label)]
        right = sum(row["leads"].lower() == row["of"] for row in here)
        told.append(f"- {model}, *{label}*: {here[0]['of']} leads in {right} of {len(here)}.")
    everything = [row for row in rows if row["model"].endswith(TO_THE_END)]
    for model in dict.fromkeys(row["model"] for row in rows if row not in led and row not in everything):
        counts = [[int(n) for n in re.findall(r"\d+", row["leads"])] for row in rows if row["model"] == model]
        file_alone, with_rules = (sorted(column) for column in zip(*counts))
        least = (file_alone[0], with_rules[0])
        by_file, by_both = ("reached" if n >= GOAL else "**missed**" for n in least)
        told.append(
            f"- {model}, {len(counts)} lists of {K} terms: in its lexicon file {_spread(file_alone)}, in that or the "
            f"tables and rules that it goes by as well {_spread(with_rules)} (goal: at least {GOAL} in every list, "
            f"by the file {by_file}, by all of them {by_both})."
        )
    told += [_ceiling(everything)] if everything else []
    return "\n".join([told[0], "", *told[1:]])


def _ceiling(rows: Sequence[dict[str, Any]]) -> str:
    """How many of the words that are truly the best are VADER's own: no list can be asked for more."""
    counts = {row["label"]: [int(n) for n in re.findall(r"\d+", row["leads"])] for row in rows}
    told = " and ".join(f"{file} ({label})" for label, (file, _) in counts.items())
    with_rules = " and ".join(f"{both} ({label})" for label, (_, both) in counts.items())
    is_beyond = any(file < GOAL for file, _ in counts.values())
    return (
        f"- The ceiling: with everything tested, where scores are exact, of the {K} best words of VADER {told} are in "
        f"its lexicon file, {with_rules} in that or its tables and rules."
        + f" So {GOAL} of its file in every list cannot be reached by a list that is true."
        * is_beyond
    )


def _rules(path: Path) -> str:
    """What ``benchmarks.rules`` found: how often intervals hold the truth where a model goes by a rule."""
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = found["rows"]
    held, of = (sum(row[name] for row in rows) for name in ("held", "of"))
    given = found["parameters"]
    return "\n\n".join(
        [
            "Models that go by a rule, where one word does a hundred times what others do (`python -m benchmarks.rules "
            f"--texts FILE`, {given['documents']:,} tweets, {given['seeds']} seeds, commit {found['commit'][:9]}): the "
            f"90% intervals of drivers hold the true score in {held} of {of}, {held / of:.0%}. Those of words that few "
            "documents hold, and that decide some of these and do nothing in the others, hold it least often.",
            _table(rows, [*rows[0]]),
        ]
    )


def _spread(ordered: Sequence[int]) -> str:
    below = sum(n < GOAL for n in ordered)
    spread = f"{ordered[0]} to {ordered[-1]}, {np.median(ordered):g} in the median"
    return f"{spread}, {below} of {len(ordered)} below {GOAL}"


GOAL = 18


def _outside(rows: Sequence[dict[str, Any]]) -> str:
    """A sentence for each promise: the rows that do not keep it."""
    # Where nearly all words are exact, a handful of intervals says nothing.
    covered = [row for row in rows if row["exact"] < MOSTLY and row["covered"] is not None]
    promises = {
        "Coverage outside 85 to 95% (rows with intervals for at least a tenth of their words)": [
            (row, f"{row['covered']:.1%}") for row in covered if not 0.85 <= row["covered"] <= 0.95
        ],
        "Memberships off by more than .05": [
            (row, f"stated {row['membership']:.3f}, true {row['members']:.3f}")
            for row in rows
            if abs(row["membership"] - row["members"]) > 0.05
        ],
        f"True regret above the {ASKED:.0%} that was asked for (where a run stops by itself), or more than .01 above "
        "the stated one": [
            (row, f"stated {row['regret']:.3f}, true {row['true regret']:.3f}")
            for row in rows
            if row["true regret"] > (row["regret"] + 0.01 if _ended(row) else min(ASKED, row["regret"] + 0.01))
        ],
    }
    lines = []
    for promise, broken in promises.items():
        named = "; ".join(f"{', '.join(str(row[name]) for name in _NAMES)}: {said}" for row, said in broken)
        lines.append(f"- {promise}: {named or 'none'}.")
    return "\n".join(lines)


def _few(rows: Sequence[dict[str, Any]]) -> list[str]:
    """How far what is stated of the fewest documents is off, and of more of them."""
    fewest = min((row["documents"] for row in rows), default=0)
    few = [row for row in rows if row["documents"] == fewest]
    more = [row for row in rows if row["documents"] > fewest]
    return [
        f"- With {many} documents {_off(some)}."
        for many, some in ((f"{fewest:,}", few), (f"more than {fewest:,}", more))
        if some
    ]


def _by_budget(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The same of each number of calls."""
    names = sorted({row["variant"] for row in rows}, key=lambda name: int(name.split()[0].replace(",", "")))
    return [f"- After {name} {_off([row for row in rows if row['variant'] == name])}." for name in names]


def _off(rows: Sequence[dict[str, Any]]) -> str:
    """In how many rows memberships are stated too high or too low, and regret too low, and by how much."""
    memberships = [row["membership"] - row["members"] for row in rows]
    regrets = [row["true regret"] - row["regret"] for row in rows]
    return (
        f"stated memberships are too high in {_how_many(memberships)} and too low in "
        f"{_how_many([-value for value in memberships])}; the stated regret is too low in {_how_many(regrets)}"
    )


def _how_many(values: Sequence[float]) -> str:
    """How many are above 0, by what shows in three digits, and the greatest.

    >>> _how_many([0.02, -0.1, 0.0001]), _how_many([-0.1])
    ('1 of 3 rows (by .020 at most)', '0 of 1 rows')
    """
    above = [value for value in values if round(value, 3) > 0]
    most = f" (by {f'{max(above):.3f}'.removeprefix('0')} at most)" if above else ""
    return f"{len(above)} of {len(values)} rows{most}"


def _saturation(rows: Sequence[dict[str, Any]]) -> list[str]:
    """How many times as many tests a saturated model takes."""
    plain = {_place(row): row["tests"] for row in rows if row["variant"] == "as it is"}
    times = [
        row["tests"] / plain[_place(row)] for row in rows if row["variant"] == "saturated" and _place(row) in plain
    ]
    told = f"{min(times):.1f} to {max(times):.1f} times the tests" if times else ""
    return [f"- A saturated model (logits times four) takes {told} of the same model as it is."] if times else []


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["task"], row["model"], row["documents"]


def _not_run(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The cells of tasks, models, variants and sizes that no row is about.

    >>> _not_run([{"task": "a", "model": "m", "variant": v, "documents": n} for v, n in (("x", 1), ("y", 1), ("x", 9))])
    ['- Not run: a, m, y, 9.']
    """
    there = {tuple(row[name] for name in _NAMES) for row in rows}
    lacking = [
        cell for cell in product(*(dict.fromkeys(row[name] for row in rows) for name in _NAMES)) if cell not in there
    ]
    by_what: dict[tuple[Any, ...], list[int]] = {}
    for *what, n in lacking:
        by_what.setdefault(tuple(what), []).append(n)
    told = [f"{', '.join(map(str, what))}, {' and '.join(f'{n:,}' for n in sizes)}" for what, sizes in by_what.items()]
    return [f"- Not run: {'; '.join(told)}."] if told else []


MOSTLY = 0.9
ASKED = 0.02
"""The regret at which a run stops by itself."""


def _ended(row: dict[str, Any]) -> bool:
    """Whether runs of a row were ended by a number of calls."""
    return str(row["variant"]).endswith(" calls")


def _not_shown(rows: Sequence[dict[str, Any]]) -> str:
    """The null models whose band reaches beyond the 5% that are promised."""
    beyond = [(row, _band(row)[1]) for row in rows if _band(row)[1] > RATE]
    named = "; ".join(f"{row['null model']}, {row['documents']:,} ({high:.1%})" for row, high in beyond)
    if not beyond:
        return f"All bands end below {RATE:.0%}."
    return f"Not shown to be at most {RATE:.0%}, as the band reaches beyond: {named}."


RATE = 0.05


def _band(row: dict[str, Any]) -> tuple[float, float]:
    """Wilson's interval of the rate of runs with a driver."""
    n = row["runs"]
    p = row["with a driver"] / n
    middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    wide = Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n * n)) / (1 + Z**2 / n)
    return max(0.0, float(middle - wide)), float(middle + wide)


Z = 1.96
EVERYTHING = 10**9

_NAMES = ("task", "model", "variant", "documents")


def _table(
    rows: Sequence[dict[str, Any]], names: Sequence[str], called: Mapping[str, str] = MappingProxyType({})
) -> str:
    heads = [called.get(name, name) for name in names]
    lines = [heads, ["---"] * len(names), *([_cell(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
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
    parser.add_argument("--variants", nargs="+", help="some of the variants (all)")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument("--null-documents", nargs="+", type=int, default=[100])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--add", action="store_true", help="keep the rows that are written already")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    path = (arguments.out or written.DATA) / "calibration.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if arguments.add and path.exists() else {}
    rows = kept.get("rows", [])
    nulls = kept.get("nulls", [])
    commit = str(written.facts()["commit"])[:9]
    for row in ({**row, "commit": commit} for row in task_rows(arguments, rows)):
        print(", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v}" for k, v in row.items()), flush=True)
        rows.append(row)
        written.write("calibration", arguments, rows, nulls=nulls)
    found = null_rows(arguments.nulls, arguments.null_documents, nulls, arguments.workers)
    for row in ({**row, "commit": commit} for row in found):
        print(", ".join(f"{k} {v}" for k, v in row.items()), flush=True)
        nulls.append(row)
        written.write("calibration", arguments, rows, nulls=nulls)
    if arguments.out is None:
        (written.DATA.parent / "calibration.md").write_text(page(path), encoding="utf-8")


if __name__ == "__main__":
    main()

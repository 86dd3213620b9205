"""``anchorscope evaluate --yardsticks`` and ``--plant``: can the list of a kept run be believed?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from anchorscope.asking.budget import Budget
from anchorscope.asking.predicting import PREDICTIONS_SHARE
from anchorscope.asking.retry import RetryingPredictor
from anchorscope.cli import inputs, options
from anchorscope.cli.watch import say
from anchorscope.errors import InputError, plural
from anchorscope.evaluation import lists, planted
from anchorscope.evaluation.insertion import DOCUMENTS
from anchorscope.evaluation.kept import KeptRun
from anchorscope.evaluation.planted_model import PlantedModel
from anchorscope.evaluation.substitutes import fills
from anchorscope.evaluation.yardsticks import Columns, Yardsticks, n_changes, n_oracle, shared_words
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.planning.candidates import choose
from anchorscope.report.table import safe
from anchorscope.result import Result
from anchorscope.run import Run
from anchorscope.settings import score_perturbs
from anchorscope.text.read import read_files
from anchorscope.text.words import LazyWords
from anchorscope.types import Predictor

SEEDS = 3
"""Seeds that stability is taken over, the run's own among them, unless told otherwise."""

SAMPLE = 500
"""Documents of a label that words are removed from, unless all are asked for."""

SHOWN_TERMS = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of these two."""
    group = parser.add_argument_group("can the list be believed?", "Both say beforehand what they cost.")
    group.add_argument(
        "--yardsticks",
        action="store_true",
        help="deletion, replacement, held-out documents, insertion and stability, for lists of equal length",
    )
    group.add_argument(
        "--no-oracle", action="store_true", help="leave out the shares of the oracle, which take most of the texts"
    )
    group.add_argument("--held-out", nargs="+", metavar="DOCS", help="documents that the run did not explain")
    group.add_argument(
        "--seeds", type=options.above_zero(int), metavar="N", help=f"runs for the stability ({SEEDS}; 1: none)"
    )
    group.add_argument(
        "--plant",
        type=options.above_zero(int),
        metavar="N",
        help="make N neutral words matter by known amounts, run again, and see what is found (10)",
    )


# --- --yardsticks ---


@dataclass(frozen=True, slots=True)
class Line:
    """One list under all yardsticks; ``shares`` are those of the oracle, where it was asked for."""

    name: str
    terms: tuple[str, ...]
    columns: Columns
    shares: Mapping[str, float | None] | None = None
    stability: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        told = {"list": self.name, "terms": self.terms, **self.columns.to_dict(), "stability": self.stability}
        return told if self.shares is None else {**told, "of_oracle": dict(self.shares)}


def measure(one: KeptRun, labels: Sequence[str], given: Mapping[str, Any], output: TextIO) -> int:
    """Print the yardsticks of a run's list and of others, and give the exit status."""
    names = ("random", "frequent", *given.get("against", ()))
    lists.check_names(names)
    lists.check_fed(one, names)
    held_out = _held_out(one, given)
    seeds = given.get("seeds", SEEDS)
    explained = {label: _sampled(one, label, given) for label in labels}
    cheap = {label: {name: _ranking(one, label, name) for name in names if not _asks(name)} for label in labels}
    k = one.settings.top_k
    n_texts = sum(
        _cost(one, explained[label], [lists.explanation(one, label), *cheap[label].values()], held_out, k)
        for label in labels
    )
    for_oracle = 0 if "no_oracle" in given else sum(_oracle_costs(one, explained[label], held_out) for label in labels)
    oracle = f" ({for_oracle:,} of them for the oracle)" if for_oracle else ""
    again = f", and {seeds - 1} more runs like this one about {_again_costs(one) * (seeds - 1):,}" if seeds > 1 else ""
    dear = [name for name in names if _asks(name)]
    beyond = f", besides what {' and '.join(dear)} ask" if dear else ""
    say(given, f"The yardsticks ask the model about {n_texts + for_oracle:,} texts at most{oracle}{again}{beyond}.")
    others = _lists_of_other_seeds(one, given, range(1, seeds)) if seeds > 1 else {}
    found = {
        label: _lines(one, label, explained[label], held_out, (names, given), others.get(label, [])) for label in labels
    }
    if "json" in given:
        values = {label: [line.to_dict() for line in lines] for label, lines in found.items()}
        output.write(json.dumps(values, indent=2) + "\n")
    else:
        output.write("\n".join(_table(label, len(explained[label]), k, lines) for label, lines in found.items()))
    return 0


def _lines(
    one: KeptRun,
    label: str,
    texts: Sequence[str],
    held_out: Sequence[str],
    asked: tuple[Sequence[str], Mapping[str, Any]],
    other_seeds: Sequence[Sequence[str]],
) -> list[Line]:
    names, given = asked
    k = one.settings.top_k
    noise = named_perturbator(given.get("perturbator", "corpus"), top_n=one.settings.top_n)
    yard = Yardsticks(
        one.predictor,
        [*texts, *_other_labels(one, label)],
        label,
        held_out=held_out,
        substitutes=fills(noise.fit(LazyWords(one.texts)), one.settings.seed),
        kinds=str(one.settings.terms),
    )
    samples = given.get("samples")
    rankings = {"explanation": [term.term for term in one.result[label].terms]}
    for name in names:
        rankings[name] = (
            lists.made(one, label, name, yard.deletion, samples=samples, budget=given.get("budget", 200_000))
            if _asks(name)
            else _ranking(one, label, name)
        )
    columns = yard.columns([*rankings.values()], k)
    oracle = None if "no_oracle" in given else yard.oracle(one.candidates, k)
    stability = {"explanation": shared_words([rankings["explanation"], *other_seeds], k)}
    lines = [
        Line(name, tuple(words[:k]), measured, measured.of_oracle(oracle) if oracle else None, stability.get(name))
        for (name, words), measured in zip(rankings.items(), columns)
    ]
    return [*lines, Line("oracle", (), oracle, oracle.of_oracle(oracle))] if oracle else lines


def _table(label: str, n_documents: int, k: int, lines: Sequence[Line]) -> str:
    """A column a yardstick, and beside it the share of the oracle, where there is one."""
    told = [
        f"{safe(label)} · {plural(n_documents, 'document')} · lists of {k}",
        f"  {'list':16} " + " ".join(_heads(lines[0])) + "  first terms",
    ]
    for line in lines:
        first = ", ".join(map(safe, line.terms[:SHOWN_TERMS]))
        told.append(f"  {line.name:16} {' '.join(_cells(line))}  {first}".rstrip())
    return "\n".join(told) + "\n"


def _heads(line: Line) -> list[str]:
    shares = line.shares or {}
    heads = []
    for name in (*line.columns.to_dict(), "stability"):
        heads += [f"{name.replace('_', ' '):>11}", *(["of oracle"] if name in shares else [])]
    return heads


def _cells(line: Line) -> list[str]:
    shares = line.shares or {}
    cells = []
    for name, value in {**line.columns.to_dict(), "stability": line.stability}.items():
        cells.append(f"{'' if value is None else f'{value:.4f}':>11}")
        if name in shares:
            share = shares[name]
            cells.append(f"{'' if share is None else f'{share:.1%}':>9}")
    return cells


def _asks(name: str) -> bool:
    """Whether making a list asks the model."""
    return name == "greedy" or name in lists.LOCAL


def _ranking(one: KeptRun, label: str, name: str) -> list[str]:
    if name == "random":
        return lists.shuffled(one, label, one.settings.seed)
    return lists.by_frequency(one, label) if name == "frequent" else lists.by_aggregation(one, label, name)


def _sampled(one: KeptRun, label: str, given: Mapping[str, Any]) -> list[str]:
    """The documents of a label that words are removed from: run folders number them by a hash, so the first will do."""
    texts = one.texts_of(label)
    return texts if "all_documents" in given else texts[:SAMPLE]


def _other_labels(one: KeptRun, label: str) -> list[str]:
    """Some documents of other labels, for words to be put into."""
    number = one.predictor.labels.index(label)
    return [text for text, given in zip(one.texts, one.predicted.tolist()) if given != number][:DOCUMENTS]


def _held_out(one: KeptRun, given: Mapping[str, Any]) -> list[str]:
    if "held_out" not in given:
        return []
    read = read_files(given["held_out"], **inputs.chosen(given, (*inputs.READING, *inputs.LIMITS)))
    explained = {*one.texts}
    texts = [document.text for document in read.documents if document.text not in explained]
    if not texts:
        raise InputError("Every document of --held-out was explained by the run: give others.")
    return texts


def _cost(
    one: KeptRun, texts: Sequence[str], rankings: Sequence[Sequence[str]], held_out: Sequence[str], k: int
) -> int:
    """The texts that the yardsticks of a label ask about, at most."""
    tops = [ranking[:k] for ranking in rankings]
    n_others = min(DOCUMENTS, len(one.texts) - len(texts))
    kinds = str(one.settings.terms)
    by_removal = 2 * n_changes(texts, tops, kinds) + n_changes(held_out, tops, kinds)
    predictions = 3 * (len(texts) + n_others) + len(held_out) + n_others
    return by_removal + predictions + n_others * len({word for top in tops for word in top})


def _oracle_costs(one: KeptRun, texts: Sequence[str], held_out: Sequence[str]) -> int:
    """The texts that the oracles of a label's columns ask about, at most."""
    k = one.settings.top_k
    kinds = str(one.settings.terms)
    return 2 * n_oracle(texts, one.candidates, k, kinds) + n_oracle(held_out, one.candidates, k, kinds)


# --- runs like the kept one ---


def _again_costs(one: KeptRun) -> int:
    return one.result.cost.answers


def _budget(one: KeptRun) -> Budget:
    """What the run had: where it predicted a sample only, or ended early, as many calls; else none was needed."""
    usable = int(one.result.documents["usable"])
    if len(one.texts) < usable:
        return Budget(max_model_calls=ceil(len(one.texts) / PREDICTIONS_SHARE))
    return Budget() if one.result.finished else Budget(max_model_calls=one.result.cost.answers)


def _run_again(one: KeptRun, predictor: Predictor, folder: Path, given: Mapping[str, Any], seed: int) -> None:
    """The same run once more, on a model and with a seed, in a folder."""
    noise = inputs.kept_perturbator(given, one.perturbator, one.settings) if score_perturbs(one.settings) else None
    settings = replace(one.settings, seed=seed)
    for _ in Run(one.documents, predictor, noise, settings, folder=folder, budget=_budget(one)).snapshots():
        pass


def _lists_of_other_seeds(one: KeptRun, given: Mapping[str, Any], further: Sequence[int]) -> dict[str, list[list[str]]]:
    """The lists that the run shows with other seeds, by label."""
    found: dict[str, list[list[str]]] = {}
    with TemporaryDirectory() as scratch:
        for number in further:
            folder = Path(scratch) / str(number)
            _run_again(one, one.predictor, folder, given, one.settings.seed + number)
            for label, explanation in Result.load(folder).explanations.items():
                found.setdefault(label, []).append([term.term for term in explanation.terms])
    return found


# --- --plant ---


def plant(one: KeptRun, labels: Sequence[str], given: Mapping[str, Any], output: TextIO) -> int:
    """Plant words in the model, run again, print what was found, and give the exit status."""
    if not one.predictor.has_probabilities:
        raise InputError(f"--plant shifts probabilities, and {one.predictor.name} answers labels only.")
    n = given["plant"]
    label = max(labels, key=lambda name: one.result[name].documents)
    before = planted.n_choosing(n)
    after = planted.n_truth(one, n)
    say(
        given,
        f"Planting {n} words for {label!r} asks the model about {before:,} texts at most to choose them, about "
        f"{_again_costs(one):,} for the run, and {after:,} at most to know what is true.",
    )
    plants = planted.choose(one, label, n, one.settings.seed)
    shifts = {plant.term: plant.shift for plant in plants}
    model = PlantedModel(one.predictor, shifts, label, kinds=str(one.settings.terms))
    texts = [document.text for document in choose(one.documents.documents, one.settings)[0]]
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        _run_again(one, RetryingPredictor(model, inputs.given_retry(given)), folder, given, one.settings.seed)
        found = planted.look_up(folder, plants, label, model, texts, before)
    output.write(json.dumps(found.to_dict(), indent=2) + "\n" if "json" in given else _plant_table(found))
    return 0


def _plant_table(found: planted.Planting) -> str:
    heads = f"{'shift':>6} {'documents':>9} {'rank':>6} {'shown':>6} {'score':>9} {'interval':>19} {'true':>9}"
    texts = plural(found.texts, "text")
    lines = [
        f"{safe(found.label)} · {plural(len(found.found), 'planted word')} · {texts} asked about at most",
        f"  {'planted':16} {heads}",
    ]
    for one in found.found:
        interval = f"{one.interval[0]:.2f} to {one.interval[1]:.2f}" if isfinite(sum(one.interval)) else "not known"
        truth = "" if one.truth is None else f"{one.truth:.2f}"
        outside = "  outside" if one.is_inside is False else ""
        lines.append(
            f"  {safe(one.plant.term):16} {one.plant.shift:6.2f} {one.plant.documents:9} {one.rank:6} "
            f"{'yes' if one.is_shown else 'no':>6} {one.score:9.2f} {interval:>19} {truth:>9}{outside}"
        )
    inside, of = found.inside
    due = (
        ""
        if found.due is None
        else f"; {found.due} belong there, by their true score among the scores of the other words"
    )
    lines.append(f"{found.n_shown} of {len(found.found)} are among the {found.k} shown{due}.")
    if of:
        lines.append(f"{inside} of {of} true scores are inside their interval.")
    return "\n".join(lines) + "\n"

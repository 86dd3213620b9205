"""``anchorscope evaluate``: how good a kept run's words are, beside baselines; what sentences with them do."""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console

from anchorscope.asking.removals import Removals
from anchorscope.cli import inputs, options, yardsticks
from anchorscope.cli.watch import say
from anchorscope.errors import InputError, ModelError, RunFolderError, UnknownNameError, plural
from anchorscope.evaluation.anytime import moments_of, quality
from anchorscope.evaluation.evaluate import Evaluation, LabelEvaluation, evaluate
from anchorscope.evaluation.kept import KeptRun, kept_run, sources
from anchorscope.evaluation.proposals import propose
from anchorscope.evaluation.sentences import SentenceEffect, measure, parse
from anchorscope.evaluation.substitutes import named_substitutes
from anchorscope.files import OF_LABELS, refuse_foreign, write_whole
from anchorscope.perturbators.choose import choose_perturbator
from anchorscope.report.flat import cell
from anchorscope.report.table import safe
from anchorscope.settings import NO_PERTURBATOR
from anchorscope.text.read import CLEANINGS, read_files
from anchorscope.text.words import LazyWords, term
from anchorscope.types import Perturbator

EVALUATION = "evaluation.json"
OURS = re.compile(OF_LABELS + rb'"label": "')
"""What the file begins with."""

MOST_SAMPLES = 1_000_000
"""Samples of a document that LIME and SHAP draw, and hold in memory all at once."""

PROPOSED_TERMS = 10
SHOWN_TERMS = 6


DESCRIPTION = (
    "Remove the words of a kept run and watch the prediction fall: AOPC^k, beside baselines and an "
    "oracle. Several runs that differ in their seed give error bands."
)
USAGE = (
    "anchorscope evaluate RUN... [--against NAME] [options]\n"
    "       anchorscope evaluate RUN --yardsticks [--held-out DOCS] [--seeds N] [options]\n"
    "       anchorscope evaluate RUN --plant 10 [options]\n"
    '       anchorscope evaluate RUN --sentence "I was a bit {sad|tired}." [options]'
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("runs", nargs="+", type=options.a_path, metavar="RUN", help="the folder of a run")
    group = parser.add_argument_group(
        "documents and model", "Those that only the run folder names are used after a yes."
    )
    group.add_argument("--docs", nargs="+", metavar="DOCS", help="the documents of the run")
    group.add_argument("--text-column", metavar="NAME", help="the column with the texts (as the run had it)")
    group.add_argument("--format", metavar="F", help="csv, tsv, jsonl, parquet or txt (as the run had it)")
    group.add_argument("--encoding", metavar="NAME", help="how the files are encoded (as the run had it)")
    group.add_argument("--clean", metavar="HOW", help="none or tweets (as the run had it)")
    options.add_max_unpacked(group)
    group.add_argument(
        "--yes", action="store_true", help="use the documents and the model that the run folder names, whoever made it"
    )
    options.add_model(parser)
    group = parser.add_argument_group("what to compare")
    group.add_argument("--label", action="append", metavar="L", help="this label only (repeatable)")
    group.add_argument(
        "--against", action="append", metavar="NAME", help="a further list: greedy, lime, shap, pr, sq … (repeatable)"
    )
    group.add_argument(
        "--samples", type=options.above_zero(int, MOST_SAMPLES), metavar="N", help="samples of LIME and SHAP"
    )
    group.add_argument(
        "--budget", type=options.above_zero(int), metavar="TEXTS", help="texts for the greedy search (200000)"
    )
    group.add_argument("--removal", metavar="HOW", help="deletion, mask, mask:TOKEN or fill (deletion)")
    group.add_argument(
        "--all-documents", action="store_true", help="all documents, even where that asks more than the run did"
    )
    group.add_argument(
        "--over-time", action="store_true", help="AOPC and shared terms of what the run showed on its way"
    )
    yardsticks.add_options(parser)
    group = parser.add_argument_group("sentences")
    group.add_argument(
        "--sentence", action="append", metavar="S", help="a sentence with {alternatives|in it} for --label (repeatable)"
    )
    group.add_argument("--propose", action="store_true", help="let the machine propose sentences for the top terms")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Evaluate, and give the exit status."""

    for sentence in given.get("sentence", ()):
        parse(sentence)
    _refuse_unread(given)
    try:
        kept = [_kept(folder, given) for folder in given["runs"]]
        if "sentence" in given or "propose" in given:
            return _sentences(kept, given, output)
        if "yardsticks" in given or "plant" in given:
            return _believed(kept, given, output)
        if "over_time" in given:
            return _over_time(kept, given, output)
        return _lists(kept, given, output)
    except ModelError as error:
        raise InputError(str(error)) from error


OF_YARDSTICKS = ("held_out", "seeds", "no_oracle")
"""The options that nothing reads without --yardsticks."""


def _refuse_unread(given: Mapping[str, Any]) -> None:
    """Nobody is to wonder why an option changes nothing."""
    unread = [name for name in OF_YARDSTICKS if name in given and "yardsticks" not in given]
    if unread:
        raise InputError(f"--{unread[0].replace('_', '-')} belongs to --yardsticks: add that, or leave it out.")


def _kept(folder: Path, given: Mapping[str, Any]) -> KeptRun:
    """A run with its documents and its model."""

    named = sources(folder)
    harmless = inputs.chosen(named, ("names", "head", *inputs.READING))
    paths = given.get("docs") or named.get("documents")
    model = given.get("model") or named.get("model")
    if paths is None:
        raise RunFolderError(
            f"The documents of the run in {folder} are not at hand: it does not name a file; give --docs FILE."
        )
    if model is None:
        raise RunFolderError(f"The run in {folder} does not say where its model is; give --model M.")
    only_there = {} if "docs" in given else {"documents": ", ".join(paths)}
    only_there |= {} if "model" in given else {"model": str(model)}
    if only_there:
        _confirm(folder, only_there, given)
    asked = {**harmless, **given, "model": model}
    read = read_files(paths, **inputs.chosen(asked, (*inputs.READING, *inputs.LIMITS)))
    return kept_run(folder, read, inputs.given_predictor(asked, [document.text for document in read.documents]))


def _confirm(folder: Path, named: Mapping[str, str], given: Mapping[str, Any]) -> None:
    """A folder may come from anybody, and a model is code: what only the folder names is used if the user says yes."""
    told = " and ".join(f"the {what} {safe(where)!r}" for what, where in named.items())
    if "yes" in given:
        return
    if sys.stdin and sys.stdin.isatty() and sys.stderr.isatty():
        print(f"The run in {safe(str(folder))} names {told}.", file=sys.stderr)
        print("Whoever made the folder chose that; a model can run code. Use it? [y/N] ", end="", file=sys.stderr)
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    options_ = {"documents": "--docs", "model": "--model"}
    raise InputError(
        f"The run in {folder} names {told}, and a folder may come from anybody: name them again with "
        f"{' and '.join(options_[what] for what in named)}, or add --yes to use what the folder names."
    )


def _lists(kept: Sequence[KeptRun], given: Mapping[str, Any], output: TextIO) -> int:
    """Lists of words side by side."""

    if len(kept) == 1:
        refuse_foreign(kept[0].folder / EVALUATION, _is_evaluation)
    removal = given.get("removal", "deletion")
    perturbator = _perturbator(kept[0], given) if removal == "fill" else None
    evaluation = evaluate(
        kept,
        labels=given.get("label"),
        against=given.get("against", ()),
        substitutes=named_substitutes(removal, perturbator, kept[0].settings.seed),
        removal=removal,
        all_documents="all_documents" in given,
        samples=given.get("samples"),
        budget=given.get("budget", 200_000),
    )
    text = json.dumps(evaluation.to_dict(), indent=2, allow_nan=False) + "\n"
    if "json" in given:
        output.write(text)
    else:
        console = Console(file=getattr(output, "terminal", output))
        output.write(_table(evaluation, console.width if console.is_terminal else None))
        say(given, _names(evaluation))
    if len(kept) == 1:
        _keep(kept[0].folder / EVALUATION, text, given)
    return 0


def _keep(path: Path, text: str, given: Mapping[str, Any]) -> None:
    """Write the evaluation into the folder of its run; one that cannot be written to is no reason to fail."""
    try:
        write_whole(path, text, is_ours=_is_evaluation)
    except OSError as error:
        say(given, f"{path} cannot be written ({error.strerror}): what is printed is not kept.")


def _is_evaluation(head: bytes) -> bool:
    return OURS.match(head) is not None


def _believed(kept: Sequence[KeptRun], given: Mapping[str, Any], output: TextIO) -> int:
    """Whether a list can be believed: by yardsticks, or by planted words."""
    if len(kept) > 1 or ("yardsticks" in given and "plant" in given):
        raise InputError("--yardsticks and --plant look at one run, one at a time: name one run, and give one of them.")
    do = yardsticks.measure if "yardsticks" in given else yardsticks.plant
    return do(kept[0], _labels(kept[0], given), given, output)


def _over_time(kept: Sequence[KeptRun], given: Mapping[str, Any], output: TextIO) -> int:
    """What a run showed on its way."""

    found = []
    for one in kept:
        moments = moments_of(one.moments)
        if not moments:
            raise RunFolderError(f"The run in {one.folder} has closed no round: there is nothing to see over time.")
        labels = _labels(one, given)
        if any(label not in moment.terms for moment in moments for label in labels):
            raise RunFolderError(
                f"The journal in {one.folder} does not say what was shown of each label in its result; give --label."
            )
        kinds = str(one.settings.terms)
        removals = {label: Removals(one.predictor, one.texts, label, kinds=kinds) for label in labels}
        found += [{"run": str(one.folder), **row.to_dict()} for row in quality(moments, removals)]
    if "json" in given:
        output.write(json.dumps(found, indent=2) + "\n")
        return 0
    table = csv.writer(output, lineterminator="\n")
    table.writerow(("label", "seconds", "tests", "aopc", "shared"))
    for row in found:
        figures = (f"{row['seconds']:.3f}", row["tests"], f"{row['aopc']:.5f}", f"{row['shared']:.3f}")
        table.writerow((cell(row["label"]), *figures))
    return 0


def _sentences(kept: Sequence[KeptRun], given: Mapping[str, Any], output: TextIO) -> int:
    """What sentences do to the accuracy."""

    one = kept[0]
    if len(kept) > 1:
        raise InputError("--sentence and --propose look at one run: name one.")
    if (one.true < 0).all():
        raise RunFolderError(
            f"The run in {one.folder} has no true labels: make it with --label-column, naming labels of the model."
        )
    labels = one.predictor.labels
    true = [labels[number] if number >= 0 else None for number in one.true.tolist()]
    clean = CLEANINGS[given.get("clean", sources(one.folder).get("clean", "none"))]
    found = []
    for sentence in given.get("sentence", ()):
        label = _label_of(one, sentence, given)
        found.append(measure(one.predictor, one.texts, true, clean(sentence), label))
    if "propose" in given:
        perturbator = _perturbator(one, given)
        for label in _labels(one, given):
            top = [term.term for term in one.result[label].terms[:PROPOSED_TERMS]]
            for proposal in propose(one.predictor, perturbator, label, top):
                made = measure(one.predictor, one.texts, true, clean(proposal.sentence), label, proposed=True)
                found.append(made)
    if "json" in given:
        output.write(json.dumps([effect.to_dict() for effect in found], indent=2) + "\n")
    else:
        output.write("".join(map(_sentence_lines, found)) or "No term fits a template.\n")
    return 0


def _label_of(one: KeptRun, sentence: str, given: Mapping[str, Any]) -> str:
    """The label that a sentence speaks for: the given one, or the one whose list holds its first alternative."""

    if "label" in given:
        if len(given["label"]) > 1:
            raise InputError("A sentence speaks for one label: give --label once.")
        return _labels(one, given)[0]
    first = term(parse(sentence)[0][0])
    lists = [label for label, e in one.result.explanations.items() if first in {t.term for t in e.terms}]
    if len(lists) != 1:
        raise InputError(
            f"Which label does {sentence!r} speak for? Its first alternative is a top term of "
            f"{' and '.join(lists) or 'none'}: name one with --label ({', '.join(one.result.explanations)})."
        )
    return lists[0]


def _labels(one: KeptRun, given: Mapping[str, Any]) -> list[str]:
    """The labels to look at, out of those that the run explained."""
    explained = [label for label, explanation in one.result.explanations.items() if explanation.terms]
    for label in given.get("label", ()):
        if label not in explained:
            raise UnknownNameError("label in this run", label, explained)
    return [label for label in explained if label in given.get("label", explained)]


def _perturbator(one: KeptRun, given: Mapping[str, Any]) -> Perturbator:
    """The perturbator that was named, or the run's, or where it had none, the one that suits the documents."""
    texts = LazyWords(one.texts)
    if "perturbator" not in given and one.perturbator == NO_PERTURBATOR:
        return choose_perturbator(texts, top_n=one.settings.top_n)[0].fit(texts)
    return inputs.kept_perturbator(given, one.perturbator, one.settings).fit(texts)


def _table(evaluation: Evaluation, width: int | None) -> str:
    """All labels, the best list first; in a terminal of so many columns."""
    return "\n".join(_label_table(one, evaluation, width) for one in evaluation.labels.values())


def _names(evaluation: Evaluation) -> str:
    """What the columns are."""
    k = max((one.k for one in evaluation.labels.values()), default=0)
    return (
        f"AOPC^{k}: what the label's probability loses while the first {k} terms of a list are removed one by one, on "
        "average over the steps. oracle: the list of those whose removal, one at a time, costs most. global: each "
        f"document loses its own {k} best terms by the full ranking."
    )


def _first(terms: Sequence[str], room: int | None) -> str:
    """The first terms of a list, whole ones: as many as there is room for.

    >>> _first(["crisis", "no", "panic"], 14), _first(["crisis", "no"], 14), _first(["crisis", "no"], 3)
    ('crisis, no, …', 'crisis, no', '…')
    """
    for n in range(len(terms), -1, -1):
        shown = ", ".join([*map(safe, terms[:n]), *(["…"] if n < len(terms) else [])])
        if room is None or cell_len(shown) <= room:
            break
    return shown


def _label_table(one: LabelEvaluation, evaluation: Evaluation, width: int | None) -> str:

    over = f"{plural(one.documents, 'document')}" + (f" of {one.of:,}" if one.documents < one.of else "")
    runs = f", mean of {evaluation.runs} runs" if evaluation.runs > 1 else ""
    lines = [
        f"{safe(one.label)} · {over} · removal by {evaluation.removal}{runs}",
        f"  {'list':16} {f'AOPC^{one.k}':>9} {'±':>7} {'of oracle':>9} {'global':>8}  first terms",
    ]
    for row in one.rows:
        spread = f"{row.spread:.4f}" if row.spread is not None else ""
        share = f"{row.share:.1%}" if row.share is not None else ""
        wide = f"{row.aopc_global:.4f}" if row.aopc_global is not None else ""
        figures = f"  {row.name:16} {row.aopc:9.4f} {spread:>7} {share:>9} {wide:>8}  "
        room = None if width is None else max(0, width - len(figures))
        lines.append(figures + _first(row.terms[:SHOWN_TERMS], room))
    return "\n".join(lines) + "\n"


def _sentence_lines(effect: SentenceEffect) -> str:

    head = (
        f"{safe(effect.sentence)}{'  (proposal)' if effect.proposed else ''}\n"
        f"  for {safe(effect.label)}, appended to {plural(effect.documents, 'document')} of other labels: "
        f"accuracy {effect.accuracy:.1%} before\n"
    )
    rows = [
        f"    {safe(one.alternative) or '(empty)':20} {one.accuracy:7.1%} after, {one.drop:+7.1%} dropped\n"
        for one in effect.effects
    ]
    return head + "".join(rows)

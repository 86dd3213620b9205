"""``anchorscope explain``: the top words of each label; or, with --document, what each word of one text does."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from math import inf
from pathlib import Path
from typing import Any, TextIO

from anchorscope import registry
from anchorscope.asking.budget import Budget
from anchorscope.cli import options
from anchorscope.cli.inputs import (
    check_folder,
    chosen,
    given_documents,
    given_perturbator,
    given_predictor,
    given_run,
    given_settings,
    given_training,
    reads_tables,
    refuse_idle_device,
)
from anchorscope.cli.watch import hidden_words, print_table, say, show_kept, waiting, watch
from anchorscope.errors import InputError, ModelError, plural
from anchorscope.estimate import estimate
from anchorscope.explainer import Explainer
from anchorscope.predictors.remote.options import NAMES as REMOTE
from anchorscope.report.local import local_table
from anchorscope.result import Result, is_finished
from anchorscope.settings import NO_AGGREGATION, Settings, preset, score_is_graded
from anchorscope.text.read import Documents
from anchorscope.text.words import split
from anchorscope.types import Perturbator, Predictor

OF_A_DOCUMENT = {
    *("command", "quiet", "verbose", "json", "document", "model", "names", "trust", "allow_pickle", "device"),
    *("model_tries", "model_timeout", "batch_size", "text_column", "head", "cache", "cache_size", *REMOTE),
    *("dtype", "compiled", "perturbator", "preset", "score", "seed"),
    *("test", "tau", "delta", "epsilon", "look", "max_samples", "keep", "fill"),
    *("bank_pairs", "bank_draw", "top_n", "condition", "terms"),
}
"""The options that --document has a use for; some of them only where its anchors are tested."""

NO_NOISE = "none"
"""How a local score begins that says whence its variance comes, and has none."""

DESCRIPTION = "The words that make a model say what it says: the top terms of each label, while they are found."
USAGE = (
    "anchorscope explain DOCS... --model M [--out RUN] [options]\n"
    "       anchorscope explain --document TEXT --model M [options]"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    group = options.add_documents(parser)
    group.add_argument(
        "--document", action="append", metavar="TEXT", help="explain this one text instead: what each word does in it"
    )
    options.add_model(parser)
    options.add_hiding(options.add_view(parser))
    options.add_tests(parser)
    options.add_filters(parser)
    group = options.add_budgets(parser)
    group.add_argument("--dry-run", action="store_true", help="say what it would take, from one small batch")
    options.add_output(parser)


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Explain, and give the exit status."""
    return _explain_document(given, output) if "document" in given else _explain_documents(given, output)


def _explain_documents(given: Mapping[str, Any], output: TextIO) -> int:

    settings = given_settings(given)
    hidden_words(given, is_table="json" not in given and "stream" not in given)
    folder = given.get("out")
    resume = "resume" in given
    if resume and folder is None:
        raise InputError("--resume goes on with the run in a folder: name it with --out.")
    if "no_texts" in given and folder is None:
        raise InputError("--no-texts keeps texts out of a run folder, and none is kept: add --out, or leave it out.")
    refuse_idle_device(given)
    check_folder(folder, resume)
    if folder and not given.get("documents") and is_finished(folder):
        _refuse_other_settings(given, folder)
        show_kept(Result.load(folder), folder, given, output)
        return 0
    with waiting(given, "reading documents and model"):
        documents = given_documents(given, settings)
        texts = [document.text for document in documents.documents]
        training = given_training(given)
        # What a dry run measures is the model, not how quickly a kept answer is found.
        predictor = given_predictor({**given, "cache": False} if "dry_run" in given else given, texts)
        perturbator = given_perturbator(given, texts, settings)
    if "dry_run" in given:
        return _dry_run(given, output, documents, predictor, perturbator, settings)
    if not folder and "verbose" in given:
        say(given, "Nothing is kept: --out RUN would.")
    budget = Budget(**chosen(given, ("max_seconds", "max_model_calls")))
    models = predictor, perturbator
    run = given_run(given, documents, models, settings, training=training, folder=folder, budget=budget)
    if folder and (kept := run.kept_result()):
        show_kept(kept, folder, given, output)
        return 0
    first = f"{predictor.name} reads {plural(len(texts), 'document')}"
    if perturbator is not None:
        first += f"; perturbator: {perturbator.name}"
    return watch(run, given, output, folder=folder, first=first)


def _explain_document(given: Mapping[str, Any], output: TextIO) -> int:

    if unread := sorted(given.keys() - OF_A_DOCUMENT):
        raise InputError(f"--document explains one text by itself: leave out {_option(unread[0])}.")
    if len(given["document"]) > 1:
        raise InputError(
            f"--document explains one text, and {len(given['document'])} are given: ask about each by itself, or put "
            "them into a file for the words of all together."
        )
    settings = _settings_of_a_document(given)
    if "seed" in given and registry.resolve("score", str(settings.score)).noise.startswith(NO_NOISE):
        raise InputError(
            f"--seed draws samples, and --score {settings.score} draws none in one document: leave it out."
        )
    refuse_idle_device(given)
    text = given["document"][0]
    predictor = given_predictor(given)
    if "text_column" in given and not reads_tables(predictor):
        raise InputError(
            f"--text-column is for files and for models of tables; {predictor.name} is none: leave it out."
        )
    perturbator = given_perturbator(given, [text], settings)
    if perturbator is not None:
        perturbator = perturbator.fit([split(text)])
    further = {name: value for name, value in settings.to_dict().items() if name not in ("top_k", "seed", "labels")}
    explainer = Explainer(predictor, perturbator=perturbator, random_state=settings.seed, settings=further)
    try:
        explanation = explainer.effects(text) if score_is_graded(str(settings.score)) else explainer.anchors(text)
    except ModelError as error:
        raise InputError(str(error)) from error
    if "json" in given:
        print(json.dumps(asdict(explanation)), file=output)
    else:
        print_table(lambda width: local_table(explanation, width), output)
    return 0


def _settings_of_a_document(given: Mapping[str, Any]) -> Settings:
    """Effects, unless --score or the preset asks for anchors."""
    score = given.get("score") or preset(given.get("preset", "fast")).score
    if not score_is_graded(str(score)):
        return given_settings({**given, **NO_AGGREGATION})
    return given_settings(given)


def _dry_run(
    given: Mapping[str, Any],
    output: TextIO,
    documents: Documents,
    predictor: Predictor,
    perturbator: Perturbator | None,
    settings: Settings,
) -> int:

    try:
        found = estimate(
            documents,
            predictor,
            perturbator,
            settings,
            workers=given.get("workers") or 1,
            price_per_1000=given.get("price_per_1000"),
            max_model_calls=given.get("max_model_calls", inf),
        )
    except ModelError as error:
        raise InputError(str(error)) from error
    print(json.dumps(found.to_dict()) if "json" in given else found.to_text(), file=output)
    return 0


def _refuse_other_settings(given: Mapping[str, Any], folder: Path) -> None:
    """A finished run is shown without documents and model, but not for settings that it was not made with."""

    kept = Result.load(folder).settings
    asked = given_settings(given).to_dict()
    by_hand = {field.name for field in fields(Settings)} & given.keys() | ({"labels"} if "label" in given else set())
    for name in sorted(by_hand):
        if kept.get(name) != asked[name]:
            raise InputError(
                f"The run in {folder} is finished, and {name} was {kept.get(name)}, now {asked[name]}; "
                "leave it out, or start afresh in another --out."
            )


def _option(name: str) -> str:
    return name.upper() if name == "documents" else f"--{name.replace('_', '-')}"

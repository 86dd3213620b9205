"""``anchorscope demo``: real reviews, a classifier trained on the spot, and its top words while they are found."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, TextIO

from anchorscope.cli import options
from anchorscope.cli.inputs import check_folder
from anchorscope.cli.watch import say, waiting, watch
from anchorscope.demo import reviews, train
from anchorscope.perturbators.choose import choose_perturbator
from anchorscope.planning.collection import LazyWords
from anchorscope.predictors import as_predictor
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts

NEXT = """\
Next, your own model:  anchorscope explain reviews.csv --model model.skops --out runs/first
Other aggregations:    anchorscope top runs/first --aggregation sq
All options:           anchorscope explain --help"""


DESCRIPTION = "Train a classifier on half of 8,530 film reviews, and explain it on the other half."


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--out", type=options.a_path, metavar="RUN", help="keep the run in this folder")
    parser.add_argument("--seed", type=int, metavar="N", help="another seed, another half")


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Train, explain, and give the exit status."""

    settings = preset("fast", seed=given.get("seed", 0))
    folder = given.get("out")
    check_folder(folder, resume=False)
    training, explained = reviews(settings.seed)
    say(given, f"TF-IDF and logistic regression learn from {len(training.texts):,} film reviews.")
    with waiting(given, "learning"):
        model = train(training)
    right = sum(found == true for found, true in zip(model.predict(explained.texts), explained.labels))
    say(given, f"They label {right / len(explained.texts):.1%} of the other {len(explained.texts):,} rightly.")
    perturbator, _ = choose_perturbator(LazyWords(explained.texts), top_n=settings.top_n)
    say(given, f"Which words decide? The perturbator {perturbator.name} replaces words, and we watch.\n")
    documents = read_texts(explained.texts, explained.labels)
    run = Run(documents, as_predictor(model), perturbator, settings, folder=folder)
    status = watch(run, given, output, folder=folder, first="the first terms come in a moment")
    say(given, "\n" + NEXT)
    return status

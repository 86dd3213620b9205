"""``anchorscope demo``: real reviews, a classifier trained on the spot, and its top words while they are found."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, TextIO

from anchorscope.cli import options
from anchorscope.cli.inputs import check_folder
from anchorscope.cli.watch import say, waiting, watch
from anchorscope.demo import reviews, train
from anchorscope.predictors import as_predictor
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts

NEXT = """\
Next, your own model:  anchorscope explain reviews.csv --model model.skops --out runs/first
What the paper does:   anchorscope explain reviews.csv --model model.skops --preset paper-optimised
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
    say(given, "Which words decide? We leave words out, one at a time, and watch.\n")
    documents = read_texts(explained.texts, explained.labels)
    run = Run(documents, as_predictor(model), None, settings, folder=folder)
    status = watch(run, given, output, folder=folder, first="the first terms come in a moment")
    say(given, "\n" + NEXT)
    return status

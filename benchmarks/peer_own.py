"""Anchorscope, LIME and SHAP on a folder that the peers read too.

    python -m benchmarks.peer_own FOLDER ANSWER.json --way anchors|judge|scan|race|lime|shap
        [--perturbator embedded|corpus] [--fill bank|blind|one-pass] [--delta 0.1]

``anchors`` tests every position that is asked for until its test can tell, and nothing else: what the peers do, token
for token. ``judge`` gives every position a graded value from 24 samples of its document, and no verdict. ``scan`` and
``race`` are whole runs over the folder's documents, candidates chosen by the run: reading, predicting and indexing are
on the clock, and so is the one pass of blind fills. LIME and SHAP weigh every word of every document, with its sign.
Loading of models is off the clock everywhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.evaluation.lime import LIME
from anchorscope.evaluation.shap import SHAP
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.predictors import as_predictor
from anchorscope.run import Run
from anchorscope.sampling.engine import Engine
from anchorscope.settings import Settings, preset, preset_for_one_document
from anchorscope.text.read import read_texts
from anchorscope.text.words import split
from anchorscope.types import Cost, Perturbator, Predictor, Unit
from benchmarks.peer_folder import Judged, Meter, read_task, write_answer

ROUND = 64
"""Documents judged at a time, as in a run."""

TAU = preset("banzhaf").tau

WAYS = ("anchors", "judge", "scan", "race", "lime", "shap")


def judge(documents: list[Judged], predictor: Predictor, engine: Engine) -> tuple[list[Any], Cost]:
    """[document, position, anchor, value] for every position, and what they took."""
    texts = [document.text for document in documents]
    labels = predictor.predict(texts).argmax(axis=1).tolist()
    units = [
        Unit(number, document.text, label, tuple((p,) for p in document.positions), (TAU,) * len(document.positions))
        for number, (document, label) in enumerate(zip(documents, labels))
        if document.positions
    ]
    verdicts, cost = [], Cost(predictor_texts=len(texts))
    for start in range(0, len(units), ROUND):
        some = units[start : start + ROUND]
        found, spent = engine.measure(some)
        places = [(unit.document, *positions) for unit in some for positions in unit.positions]
        verdicts += [[*place, row.anchor, row.value] for place, row in zip(places, found.rows())]
        cost += spent
    return verdicts, cost


def explain(
    documents: list[Judged], predictor: Predictor, perturbator: Perturbator, settings: Settings
) -> tuple[dict[str, list[str]], Cost]:
    """The terms of each label, and what they took."""
    texts = [document.text for document in documents]
    run = Run(read_texts(texts), predictor, perturbator, settings)
    *_, last = run.snapshots()
    return {label: [t.term for t in one.terms] for label, one in last.explanations.items()}, last.cost


def attribute(way: str, documents: list[Judged], predictor: Predictor) -> tuple[dict[str, dict[str, float]], Cost]:
    """The mean weights of each label's terms by LIME or SHAP, with their sign, and what they took."""
    counted = _Counted(predictor)
    weights = (LIME if way == "lime" else SHAP).weights(counted, [document.text for document in documents], signed=True)
    return weights, Cost(predictor_texts=counted.n_texts)


class _Counted:
    """A predictor that counts the texts it is asked."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self.name, self.labels, self.fingerprint = predictor.name, predictor.labels, predictor.fingerprint
        self.has_probabilities = predictor.has_probabilities
        self.n_texts = 0

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels)."""
        self.n_texts += len(texts)
        return self._predictor.predict(texts)


def chosen(arguments: argparse.Namespace) -> Settings:
    """The settings of a way."""
    given = {name: value for name in ("fill", "delta") if (value := getattr(arguments, name)) is not None}
    if arguments.way == "anchors":
        return preset_for_one_document("fast", **given)
    strategy = {"strategy": arguments.way} if arguments.way in registry.names("strategy") else {}
    return preset("banzhaf", **given, **strategy)


def main() -> None:
    """Judge or explain the documents of the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("answer", type=Path)
    parser.add_argument("--way", choices=WAYS, default="judge")
    parser.add_argument("--perturbator", default="embedded")
    parser.add_argument("--fill", choices=("blind", "bank", "one-pass"))
    parser.add_argument("--delta", type=float)
    arguments = parser.parse_args()
    documents, classifier = read_task(arguments.folder)
    predictor = as_predictor(classifier.model)
    settings = chosen(arguments)
    answer: dict[str, Any]
    if arguments.way in ("lime", "shap"):
        attribute(arguments.way, documents[:1], predictor)  # imports and first calls are off the clock
        with Meter() as meter:
            weights, cost = attribute(arguments.way, documents, predictor)
        answer = {"weights": weights}
    else:
        perturbator = named_perturbator(arguments.perturbator, top_n=settings.top_n)
        perturbator = perturbator.fit([split(document.text) for document in documents])
        warm, engine = (Engine(predictor, perturbator, settings.sampling, settings.anchor_test) for _ in range(2))
        judge(documents[:1], predictor, warm)
        with Meter() as meter:
            if arguments.way in ("anchors", "judge"):
                verdicts, cost = judge(documents, predictor, engine)
                answer = {"verdicts": verdicts if arguments.way == "judge" else [row[:3] for row in verdicts]}
            else:
                lists, cost = explain(documents, predictor, perturbator, settings)
                answer = {"lists": lists, "tested_documents": cost.documents, "tests": cost.tests}
    texts, passes, samples = cost.predictor_texts, cost.perturbator_passes, cost.samples
    write_answer(arguments.answer, meter, texts=texts, passes=passes, samples=samples, **answer)


if __name__ == "__main__":
    main()

"""The classifiers of the experiments, behind one interface: a name and a task in, a Predictor out.

    logistic-regression  scikit-learn's default on word counts
    small-bert           a BERT-type encoder: the embedded masked language model, fine-tuned
    deberta              DeBERTa's architecture (disentangled attention), trained from text files and fine-tuned

The paper's were logistic regression, TinyBERT and deberta-v3-small. Where a folder with a pretrained model is
given (``--pretrained deberta=FOLDER``), it is fine-tuned instead. Of a fine-tuned model the checkpoint with the best
validation accuracy is kept, under ``models`` in the output folder; it is trained once.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from anchorscope.asking.answers import answered
from anchorscope.embedded_model.huggingface import write_folder
from anchorscope.errors import InputError, MissingPackageError, UnknownNameError
from anchorscope.predictors import as_predictor
from anchorscope.predictors.huggingface import HuggingFacePredictor
from anchorscope.reproduction.tasks import Pairs, Task
from anchorscope.types import Predictor

NAMES = ("logistic-regression", "small-bert", "deberta")

RATES = {"small-bert": 2e-4, "deberta": 1e-4}
PRETRAINED_RATE = 3e-5
"""The rates of fine-tuning: of the project's own small encoders, and of a full-size one that was given."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What training needs: where models are kept, the device, texts to pretrain on, pretrained folders, how long."""

    folder: Path
    device: str = "cpu"
    corpus: Sequence[Path] = ()
    pretrained: Mapping[str, Path] = field(default_factory=dict)
    epochs: int = 4
    pretraining_steps: int = 6_000
    deadline: float = float("inf")


class OutOfTimeError(Exception):
    """The deadline has come in the middle of training; what was learned is kept, and the next call goes on."""


def load(name: str, task: Task, workshop: Workshop) -> Predictor:
    """The classifier of a name, trained on a task."""
    if name not in NAMES:
        raise UnknownNameError("model", name, NAMES)
    if name == "logistic-regression":
        return _logistic_regression(task.train)
    from anchorscope.reproduction import finetune

    folder = workshop.folder / f"{task.name}__{name}"
    with _one_at_a_time(workshop, f"{task.name}__{name}"):
        if not (folder / "config.json").is_file():
            rate = PRETRAINED_RATE if name in workshop.pretrained else RATES[name]
            base = _base(name, workshop)
            finetune.finetune(
                base, task.train, task.validation, folder, workshop.device, epochs=workshop.epochs, rate=rate
            )
    return HuggingFacePredictor.from_folder(folder, device=workshop.device)


def accuracy(predictor: Predictor, rows: Pairs) -> float:
    """The share of rows that a model labels rightly."""
    texts = [text for text, _ in rows]
    labels = [label for _, label in rows]
    answer = answered(predictor.predict, texts, predictor.labels).argmax(axis=1)
    return float(np.mean([predictor.labels[i] == label for i, label in zip(answer.tolist(), labels)]))


def _logistic_regression(rows: Pairs) -> Predictor:
    try:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    except ModuleNotFoundError as error:
        raise MissingPackageError("scikit-learn", "scikit", "the logistic regression") from error
    model = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return as_predictor(model.fit([text for text, _ in rows], [label for _, label in rows]))


def _base(name: str, workshop: Workshop) -> Path:
    """The folder of the pretrained encoder."""
    if name in workshop.pretrained:
        return workshop.pretrained[name]
    folder = workshop.folder / f"{name}-pretrained"
    with _one_at_a_time(workshop, folder.name):
        if not (folder / "config.json").is_file():
            _pretrain(name, folder, workshop)
    return folder


def _pretrain(name: str, folder: Path, workshop: Workshop) -> None:
    if name == "small-bert":
        write_folder(folder)
        return
    if not workshop.corpus:
        raise InputError(
            "The deberta model is trained from text first: name text files with --corpus, or a folder with a "
            "pretrained model with --pretrained deberta=FOLDER."
        )
    from anchorscope.reproduction.pretrain import pretrain

    steps = workshop.pretraining_steps
    deadline = workshop.deadline
    pretrain(workshop.corpus, folder, device=workshop.device, steps=steps, deadline=deadline)


@contextmanager
def _one_at_a_time(workshop: Workshop, name: str) -> Iterator[None]:
    """Several processes may share the work of a pass; a model is trained by the first that needs it."""
    from filelock import FileLock

    workshop.folder.mkdir(parents=True, exist_ok=True)
    with FileLock(workshop.folder / f"{name}.lock"):
        yield

"""The classifiers of the studies: a linear one, trained on the spot, and two neural ones, fine-tuned once on a GPU.

    python -m benchmarks.classifiers --data DATA --encoders small=FOLDER large=FOLDER --out MODELS [--device cuda]

    linear   logistic regression on word counts
    small    the embedded masked language model, fine-tuned (7 layers of 256; ``anchorscope export-mlm`` writes it)
    large    an encoder of BERT-base's size, fine-tuned (``python -m training.train --recipe larger`` makes it)

Writes MODELS/KIND/TASK, a Hugging Face folder each, and MODELS/accuracies.json.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

from anchorscope.predictors import as_predictor
from anchorscope.predictors.huggingface import HuggingFacePredictor
from anchorscope.reproduction.finetune import finetune
from anchorscope.types import Predictor
from benchmarks import tasks

KINDS = ("linear", "small", "large")
RECIPES = {"small": {"epochs": 4, "rate": 3e-4}, "large": {"epochs": 3, "rate": 5e-5}}
VALIDATION_SHARE = 0.1


def train(kind: str, rows: Sequence[tuple[str, str]]) -> Predictor:
    """A linear classifier, trained on labelled texts."""
    if kind != "linear":
        raise SystemExit(f"The {kind} classifiers are read from a folder: see python -m benchmarks.classifiers --help")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000))
    return as_predictor(model.fit([text for text, _ in rows], [label for _, label in rows]))


def classifier(kind: str, task: tasks.Task, models: Path | None, device: str = "cpu") -> Predictor:
    """The classifier of a kind for a task, trained or read."""
    if models is None or kind == "linear":
        return train(kind, task.train)
    return HuggingFacePredictor.from_folder(models / kind / task.name, device=device)


def main() -> None:
    """Fine-tune the neural ones on every task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(tasks.NAMES), choices=[*tasks.NAMES, tasks.DEMO])
    parser.add_argument("--encoders", nargs="+", required=True, metavar="KIND=FOLDER")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rows", type=int, help="train on so many rows at most")
    arguments = parser.parse_args()
    accuracies: dict[str, dict[str, list[float]]] = {}
    for kind, _, encoder in (pair.partition("=") for pair in arguments.encoders):
        for name in arguments.tasks:
            rows = tasks.load(name, arguments.data, 1).train[: arguments.rows]
            random.Random(0).shuffle(rows)
            n_validation = int(VALIDATION_SHARE * len(rows))
            folder = arguments.out / kind / name
            folder.parent.mkdir(parents=True, exist_ok=True)
            train_rows, validation = rows[n_validation:], rows[:n_validation]
            found = finetune(Path(encoder), train_rows, validation, folder, arguments.device, **RECIPES[kind])
            accuracies.setdefault(kind, {})[name] = found
            print(kind, name, len(rows), [round(accuracy, 4) for accuracy in found], flush=True)
    (arguments.out / "accuracies.json").write_text(json.dumps(accuracies, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Where contenders are compared: a model, documents to explain, others that are held out, and what is known of them.

TASK / linear    logistic regression on the task's words (the demo: its own classifier)
TASK / planted   the same, trained on texts with shortcuts planted in them (``evaluation/shortcuts.py``)
TASK / small     a fine-tuned encoder, read from --encoders (``benchmarks/classifiers.py``)
TASK / large     the same of BERT-base's size
RULE / rule      a rule with a known answer (``evaluation/known_answers.py``)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anchorscope import demo
from anchorscope.evaluation.known_answers import RULES, Rule, rule
from anchorscope.evaluation.shortcuts import Shortcut, plant_in_texts, plant_in_training
from anchorscope.evaluation.substitutes import fills
from anchorscope.evaluation.yardsticks import Yardsticks
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.predictors import as_predictor
from anchorscope.text.words import split
from anchorscope.types import Predictor
from benchmarks import classifiers, tasks

N_DOCUMENTS = 1000
TASKS = (*tasks.NAMES, tasks.DEMO)
ENCODERS = ("small", "large")
MODELS = ("linear", "planted", *ENCODERS, "rule")

_PLANTED = (
    ("vorla", "teskin", "mubrek", "oldrav", "sintok", "pelhum"),
    ("wendol", "katrip", "zumbel", "ferdok", "lorvat", "nibrus"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Arena:
    """A model, its documents, and how lists for its labels are measured."""

    task: str
    model: str
    predictor: Predictor
    texts: list[str]
    held_out: list[str]
    labels: tuple[str, ...]
    planted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rule: Rule | None = None

    def yardsticks(self) -> dict[str, Yardsticks]:
        """Ready to measure, for each label."""
        substitutes = fills(CorpusPerturbator().fit([split(text) for text in self.texts]))
        return {
            label: Yardsticks(self.predictor, self.texts, label, held_out=self.held_out, substitutes=substitutes)
            for label in self.labels
        }


class Remembering:
    """A predictor that does not work out twice what it has answered: for slow models, under the meter."""

    has_probabilities = True

    def __init__(self, predictor: Predictor) -> None:
        self.inner = predictor
        self.name, self.labels, self.fingerprint = predictor.name, predictor.labels, predictor.fingerprint
        self._known: dict[str, NDArray[np.float32]] = {}

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The same answers; those that are new, from short texts to long ones."""
        new = sorted({text for text in texts if text not in self._known}, key=len)
        if new:
            self._known.update(zip(new, self.inner.predict(new).astype(np.float32)))
        rows = np.array([self._known[text] for text in texts], np.float64).reshape(-1, len(self.labels))
        return rows / rows.sum(axis=1, keepdims=True)


def shortcuts(labels: Sequence[str]) -> list[Shortcut]:
    """Six planted words for each of two labels: rare, less rare, frequent, unreliable, and two that come together."""
    return [
        shortcut
        for label, words in zip(labels, _PLANTED)
        for shortcut in (
            Shortcut(words[0], label, share=0.006),
            Shortcut(words[1], label, share=0.02),
            Shortcut(words[2], label, share=0.05),
            Shortcut(words[3], label, share=0.03, strength=0.8),
            Shortcut(words[4], label, share=0.02, partner=words[5]),
        )
    ]


def arena(
    task: str, model: str, data: Path | None, models: Path | None, documents: int = N_DOCUMENTS, device: str = "cpu"
) -> Arena:
    """An arena by its names."""
    if model == "rule":
        known = rule(task, documents)
        others = list(rule(task, documents, seed=1).texts)
        return Arena(task, model, known.predictor, list(known.texts), others, tuple(known.answers), rule=known)
    train, texts = task_rows(task, data, 2 * documents)
    explained, held_out = texts[:documents], texts[documents:]
    planted: dict[str, tuple[str, ...]] = {}
    if model == "planted":
        labels = sorted({label for _, label in train})
        all_planted = shortcuts(labels)
        train = plant_in_training(train, all_planted)
        explained = plant_in_texts(explained, all_planted, seed=1)
        held_out = plant_in_texts(held_out, all_planted, seed=2)
        planted = {label: tuple(w for s in all_planted if s.label == label for w in s.words) for label in labels}
    predictor = _predictor(task, model, train, models, device)
    return Arena(task, model, predictor, explained, held_out, tuple(predictor.labels), planted)


def task_rows(task: str, data: Path | None, n: int) -> tuple[list[tuple[str, str]], list[str]]:
    """The labelled texts that train, and n texts at most besides."""
    loaded = tasks.load(task, data, n)
    return loaded.train, loaded.texts


def _predictor(task: str, model: str, train: list[tuple[str, str]], models: Path | None, device: str) -> Predictor:
    if model in ENCODERS:
        assert models is not None, "--encoders says where the fine-tuned encoders are"
        return Remembering(classifiers.classifier(model, tasks.Task(task, train, []), models, device))
    if task == tasks.DEMO:
        return as_predictor(demo.train(demo.Reviews([text for text, _ in train], [label for _, label in train])))
    return classifiers.train("linear", train)


def pairs(names: Sequence[str], models: Sequence[str]) -> list[tuple[str, str]]:
    """Every task with every model that goes with it."""
    found = [(task, model) for model in models if model != "rule" for task in names]
    found += [(name, "rule") for name in RULES] if "rule" in models else []
    return found

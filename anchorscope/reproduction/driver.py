"""The pass through the grid: tasks x models x settings x seeds, one run after another, that can be stopped any time.

A run that is stored is not made again. One that the deadline stops keeps its journal under ``work`` and goes on at the
next call. Seeds come first and settings next, so that an early stop leaves whole rows for one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from anchorscope.asking.budget import Budget
from anchorscope.embedded_model.huggingface import write_folder
from anchorscope.errors import DocumentsError, InputError, MissingPackageError, UnknownNameError
from anchorscope.evaluation.proposals import propose
from anchorscope.evaluation.sentences import measure as measure_sentence
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.perturbators.embedded import EmbeddedPerturbator
from anchorscope.reproduction import grid, models, records, tasks
from anchorscope.reproduction.measure import measure
from anchorscope.reproduction.models import OutOfTimeError, Workshop
from anchorscope.reproduction.records import Key
from anchorscope.text.words import clean_tweet
from anchorscope.types import Perturbator, Predictor

Say = Callable[[str], None]

SENTENCES = {
    "corona": (
        ("positive", "I bought {hand|} sanitizers."),
        ("positive", "People should {support|back} others more."),
        ("negative", "People shouldn't fret over this {crisis|situation}."),
        ("negative", "The pandemic affected {crude|} oil prices."),
    ),
    "toys": (
        ("non-spam", "I was a bit {disappointed|unsatisfied} with this game's performance."),
        ("non-spam", "It is just a {small|usual} item."),
        ("spam", "This store contained {classic|board} games."),
        ("spam", "That game's theme is {love|animals}."),
    ),
    "rotten-tomatoes": (
        ("negative", "I had a {bad|quiet} evening."),
        ("positive", "It was their {best|third} film."),
    ),
}
"""The sentences of the paper, by task, each with the label that it speaks for; those of the stand-in are ours."""

FIRST_TERMS = 10
PROPOSALS = 200
"""Sentences are proposed for so many top terms, with so many words to choose a substitute from."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, and with what."""

    out: Path
    data: Path | None
    tasks: Sequence[str]
    models: Sequence[str]
    settings: Sequence[str]
    seeds: Sequence[int]
    documents: int | None
    perturbator: str
    workshop: Workshop
    deadline: float = float("inf")
    training: int | None = None
    top_k: int = grid.TOP_K

    def __post_init__(self) -> None:
        """Refuse names that stand for nothing, before anything is computed."""
        known = (("task", self.tasks, tasks.NAMES), ("model", self.models, models.NAMES))
        for kind, given, names in (*known, ("setting", self.settings, tuple(grid.SETTINGS))):
            for name in given:
                if name not in names:
                    raise UnknownNameError(kind, name, names)
        if not self.seeds:
            raise InputError("Give at least one seed: --seeds 42.")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far a pass came: runs stored by it, runs still to be made, and why some were left out."""

    made: int
    left: int
    left_out: tuple[str, ...]


def reproduce(plan: Plan, say: Say) -> Outcome:
    """Make the runs that are missing, until all are there or the deadline comes."""
    made = 0
    left_out = []
    for task_name, model_name in ((t, m) for t in plan.tasks for m in plan.models):
        missing = [key for key in _keys(plan, task_name, model_name) if not _is_stored(plan, key)]
        if not (missing or _lacks_sentences(plan, task_name, model_name)) or monotonic() > plan.deadline:
            continue
        try:
            place = _Place(plan, task_name, model_name)
        except OutOfTimeError as stopped:
            say(f"{model_name}: {stopped}; the next call goes on.")
            break
        except MissingPackageError as error:
            left_out.append(f"{model_name} on {task_name}: {error}")
            say(left_out[-1])
            continue
        records.check_alike(records.read(plan.out), task_name, model_name, place.made_with())
        for key in missing:
            if monotonic() > plan.deadline:
                break
            try:
                record = place.record(key)
            except DocumentsError as error:  # a sample of a small collection may have no word often enough
                left_out.append(f"{key.file.removesuffix('.json')}: {error}")
                say(left_out[-1])
                continue
            if record is None:
                say(f"{key.file}: stopped by the deadline; the next call goes on.")
                break
            records.write(plan.out, key, record)
            made += 1
            say(f"{key.file}: {record['seconds']:.1f} s")
        place.write_sentences()
    every = [key for t in plan.tasks for m in plan.models for key in _keys(plan, t, m)]
    return Outcome(made, sum(not _is_stored(plan, key) for key in every), tuple(left_out))


def _keys(plan: Plan, task: str, model: str) -> Iterator[Key]:
    for seed in plan.seeds:
        for setting in plan.settings:
            yield Key(task, model, setting, seed)


def _is_stored(plan: Plan, key: Key) -> bool:
    return (plan.out / records.FOLDER / key.file).is_file()


def _lacks_sentences(plan: Plan, task: str, model: str) -> bool:
    """Whether what sentences do to a model is still to be measured."""
    given, proposed, optimised = (
        _is_stored(plan, Key(task, model, setting, seed))
        for setting, seed in (("sentences", 0), ("proposals", 0), ("optimised", plan.seeds[0]))
    )
    return (task in SENTENCES and not given) or (optimised and not proposed)


class _Place:
    """A task and its trained model: where runs are made."""

    def __init__(self, plan: Plan, task: str, model: str) -> None:
        whole = tasks.load(task, plan.data)
        n = plan.training
        self._plan = plan
        self._task = whole if n is None else replace(whole, train=whole.train[:n], validation=whole.validation[:n])
        self._model = model
        self._predictor: Predictor = models.load(model, self._task, plan.workshop)
        self._accuracy = models.accuracy(self._predictor, self._task.test[:2000])

    def made_with(self) -> dict[str, Any]:
        """What runs of one task and model must have in common."""
        return {"documents": self._plan.documents, "perturbator": self._plan.perturbator}

    def record(self, key: Key) -> dict[str, Any] | None:
        """Make a run; None if the deadline stopped it."""
        plan = self._plan
        setting = grid.SETTINGS[key.setting]
        rows = self._task.explained(plan.documents, setting.longest)
        settings = setting.settings(key.seed, plan.top_k, round_size(len(rows)))
        found = measure(
            self._predictor,
            _perturbator(plan, settings.top_n),
            [text for text, _ in rows],
            settings,
            folder=plan.out / "work" / key.file.removesuffix(".json"),
            training=[text for text, _ in self._task.train],
            with_aggregations=key.setting == "unoptimised",
            budget=Budget(max_seconds=max(1.0, plan.deadline - monotonic())),
        )
        if found is None:
            return None
        common = {"made": self.made_with(), "device": plan.workshop.device, "accuracy": self._accuracy}
        return {**found, **common, "stand_in": self._task.stand_in, "n_documents": len(rows)}

    def write_sentences(self) -> None:
        """What the paper's sentences do to this model, and proposed ones with the top terms of optimised G_pr; once."""
        if given := SENTENCES.get(self._task.name):
            self._write_effects("sentences", given)
        key = Key(self._task.name, self._model, "optimised", self._plan.seeds[0])
        if _is_stored(self._plan, key):
            terms = records.read(self._plan.out)[key]["terms"]
            noise = EmbeddedPerturbator(top_n=PROPOSALS)
            proposed = [
                (proposal.label, proposal.sentence)
                for label, top in terms.items()
                for proposal in propose(self._predictor, noise, label, top[:FIRST_TERMS])
            ]
            self._write_effects("proposals", proposed)

    def _write_effects(self, name: str, sentences: Sequence[tuple[str, str]]) -> None:
        key = Key(self._task.name, self._model, name, 0)
        if _is_stored(self._plan, key):
            return
        rows = self._task.explained()  # all of S, for this is one question a document
        texts = [text for text, _ in rows]
        labels = [label for _, label in rows]
        clean = clean_tweet if self._task.name in ("corona", "dilemma") else str
        found = [
            measure_sentence(
                self._predictor, texts, labels, clean(sentence), label, proposed=name == "proposals"
            ).to_dict()
            for label, sentence in sentences
        ]
        records.write(self._plan.out, key, {"sentences": found, "made": self.made_with(), "accuracy": self._accuracy})


def round_size(n_documents: int) -> int:
    """Documents a round: filters and tau-tilde learn from closed rounds, so even a small pass needs many.

    >>> round_size(100), round_size(1000), round_size(7000)
    (4, 31, 64)
    """
    return max(4, min(64, n_documents // 32))


def _perturbator(plan: Plan, top_n: int) -> Perturbator:
    """The named perturbator; on another device the embedded model runs as a Hugging Face folder."""
    device = plan.workshop.device
    name = plan.perturbator
    if name == "embedded" and device != "cpu":
        folder = plan.workshop.folder / "embedded-mlm"
        if not (folder / "config.json").is_file():
            write_folder(folder)
        name = f"masked-lm:{folder}"
    return named_perturbator(name, top_n=top_n, device=device)

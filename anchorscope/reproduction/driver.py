"""The pass through the grid: tasks x models x seeds x settings, one after another, that can be stopped any time.

Of a task, model and seed the first setting draws the samples, and the others are replayed on them (``replay.py``). A
setting that is stored is not made again; samples that the deadline stops are kept, and the next call goes on with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic, process_time
from typing import Any

from anchorscope.asking.budget import Budget
from anchorscope.asking.removals import Removals
from anchorscope.embedded_model.huggingface import write_folder
from anchorscope.errors import DocumentsError, InputError, MissingPackageError, UnknownNameError
from anchorscope.evaluation.proposals import propose
from anchorscope.evaluation.sentences import measure as measure_sentence
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.reproduction import grid, models, records, tasks
from anchorscope.reproduction.agreements import Agreements, KeptProbabilities
from anchorscope.reproduction.learnt import learnt
from anchorscope.reproduction.measure import Drawing, Subject, draw, real, replayed
from anchorscope.reproduction.models import OutOfTimeError, Workshop
from anchorscope.reproduction.records import Key
from anchorscope.reproduction.remembered import Remembered
from anchorscope.settings import Settings
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

LEARNING_ROUND = 4
"""Filter and tau-tilde learn after so many documents; rounds-1 to rounds-64 say what that changes."""

GPU_TEXTS = 4096
"""Texts that a GPU takes about as quickly as one."""


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
    serial: bool = False

    @property
    def folder(self) -> str:
        """Where the records go: those of runs of their own, made to be timed, are apart."""
        return records.SERIAL if self.serial else records.FOLDER

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
            except OutOfTimeError as stopped:
                say(f"{key.file}: {stopped}; the next call goes on.")
                break
            except DocumentsError as error:  # a sample of a small collection may have no word often enough
                left_out.append(f"{key.file.removesuffix('.json')}: {error}")
                say(left_out[-1])
                continue
            if record is None:
                say(f"{key.file}: stopped by the deadline; the next call makes it.")
                break
            records.write(plan.out, key, record, plan.folder)
            made += 1
            say(f"{key.file}: {record['cost']['samples']:,} samples, {record['seconds']:.1f} s")
            place.save()
        place.save()
        place.write_sentences()
    every = [key for t in plan.tasks for m in plan.models for key in _keys(plan, t, m)]
    return Outcome(made, sum(not _is_stored(plan, key) for key in every), tuple(left_out))


def _keys(plan: Plan, task: str, model: str) -> Iterator[Key]:
    for seed in plan.seeds:
        for setting in plan.settings:
            yield Key(task, model, setting, seed)


def _is_stored(plan: Plan, key: Key) -> bool:
    return (plan.out / plan.folder / key.file).is_file()


def _lacks_sentences(plan: Plan, task: str, model: str) -> bool:
    """Whether what sentences do to a model is still to be measured."""
    if plan.serial:
        return False
    given, proposed, optimised = (
        _is_stored(plan, Key(task, model, setting, seed))
        for setting, seed in (("sentences", 0), ("proposals", 0), ("optimised", plan.seeds[0]))
    )
    return (task in SENTENCES and not given) or (optimised and not proposed)


class _Place:
    """A task and its trained model: where settings are measured."""

    def __init__(self, plan: Plan, task: str, model: str) -> None:
        whole = tasks.load(task, plan.data)
        n = plan.training
        self._plan = plan
        self._task = whole if n is None else replace(whole, train=whole.train[:n], validation=whole.validation[:n])
        self._model = model
        self._predictor: Predictor = models.load(model, self._task, plan.workshop)
        self._remembered = Remembered(self._predictor)
        self._accuracy = models.accuracy(self._remembered, self._task.test[:2000])
        self._drawings: dict[tuple[int, int], Drawing] = {}
        self._removals: dict[tuple[int, str], Removals] = {}

    def made_with(self) -> dict[str, Any]:
        """What runs of one task and model must have in common."""
        return {"documents": self._plan.documents, "perturbator": self._plan.perturbator}

    def record(self, key: Key) -> dict[str, Any] | None:
        """Measure a setting; None if the deadline stopped it."""
        plan = self._plan
        setting = grid.SETTINGS[key.setting]
        settings = setting.settings(key.seed, plan.top_k, self._round_size(setting))
        subject = self._subject(setting.longest, settings.top_n)
        if plan.serial or setting.preset == "fast":
            left = max(1.0, plan.deadline - monotonic())
            found = real(subject, settings, Budget(max_seconds=left))
        else:
            found = self._replayed(subject, settings, setting, with_aggregations=key.setting == "unoptimised")
        if found is None:
            return None
        common = {"made": self.made_with(), "device": plan.workshop.device, "accuracy": self._accuracy}
        return {**found, **common, "stand_in": self._task.stand_in, "n_documents": len(subject.texts)}

    def save(self) -> None:
        """Write down what was drawn."""
        for drawing in self._drawings.values():
            drawing.agreements.save()
            drawing.keep.save()

    def _replayed(
        self, subject: Subject, settings: Settings, setting: grid.Setting, *, with_aggregations: bool
    ) -> dict[str, Any]:
        drawing = self._drawing(subject, settings)
        if setting.learns and drawing.at_once > 1:
            # What it reads beyond what is drawn, in large batches first: with larger rounds it reads nearly the same.
            draw(subject, replace(settings, round_size=self._large_round()), drawing)
        return replayed(subject, settings, drawing, with_aggregations=with_aggregations)

    def _round_size(self, setting: grid.Setting) -> int:
        """Where the plan does not learn, rounds change nothing but what is seen on the way."""
        return min(LEARNING_ROUND, self._large_round()) if setting.learns else self._large_round()

    def _large_round(self) -> int:
        return large_round(len(self._task.explained(self._plan.documents)))

    def _subject(self, longest: int, top_n: int) -> Subject:
        texts = [text for text, _ in self._task.explained(self._plan.documents, longest)]
        every = [text for text, _ in self._task.explained(self._plan.documents, max(grid.LENGTHS.values()))]

        def removals(label: str) -> Removals:
            if (longest, label) not in self._removals:
                self._removals[longest, label] = Removals(self._remembered, texts, label)
            return self._removals[longest, label]

        return Subject(
            asked=self._predictor,
            remembered=self._remembered,
            perturbator=learnt(_perturbator(self._plan, top_n), every),
            texts=texts,
            training=[text for text, _ in self._task.train],
            removals=removals,
        )

    def _drawing(self, subject: Subject, settings: Settings) -> Drawing:
        """Where the samples of a seed and number of proposals are kept."""
        plan = self._plan
        key = (settings.seed, settings.top_n)
        if key not in self._drawings:
            folder = plan.out / "agreements"
            name = f"{self._task.name}__{self._model}__{settings.seed}__{settings.top_n}.npz"
            noise = {"perturbator": subject.perturbator.fingerprint}
            identity = {**noise, "model": subject.asked.fingerprint, **asdict(settings.sampling)}
            is_cpu = plan.workshop.device == "cpu"
            self._drawings[key] = Drawing(
                agreements=Agreements(folder / name, identity, settings.max_samples),
                keep=KeptProbabilities(folder / f"{self._task.name}__{settings.top_n}.npz", noise),
                at_once=1 if is_cpu else GPU_TEXTS,
                deadline=plan.deadline,
                clock=process_time if is_cpu else monotonic,
            )
        return self._drawings[key]

    def write_sentences(self) -> None:
        """What the paper's sentences do to this model, and proposed ones with the top terms of optimised G_pr; once."""
        if self._plan.serial:
            return
        if given := SENTENCES.get(self._task.name):
            self._write_effects("sentences", given)
        key = Key(self._task.name, self._model, "optimised", self._plan.seeds[0])
        if _is_stored(self._plan, key):
            terms = records.read(self._plan.out)[key]["terms"]
            noise = _perturbator(replace(self._plan, perturbator="embedded"), PROPOSALS)
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
                self._remembered, texts, labels, clean(sentence), label, proposed=name == "proposals"
            ).to_dict()
            for label, sentence in sentences
        ]
        records.write(self._plan.out, key, {"sentences": found, "made": self.made_with(), "accuracy": self._accuracy})


def large_round(n_documents: int) -> int:
    """Documents a round where the plan does not learn: enough rounds for curves over time, large enough for a device.

    >>> large_round(100), large_round(1000), large_round(7000)
    (4, 31, 218)
    """
    return max(4, n_documents // 32)


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

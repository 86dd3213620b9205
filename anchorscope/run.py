"""The loop: documents in, a stream of snapshots out, a result at the end.

    documents -> words -> prediction -> plan -> measurements -> tally -> scores -> top-k

A run plans a round, has it measured, writes it down, adds it to the tally, and yields what is known. It knows no
screen. A run with a folder can be killed at any moment and goes on from its last closed round: closed rounds are
planned again (planning is a pure function of the tally) and their measurements are read instead of made. What it costs
is counted over all its lives, so a budget that is smaller than what was spent ends it after the rounds that it has.

Documents are numbered in the order of their keys, so the order in which they came changes nothing.
"""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from anchorscope import registry
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import AnchorscopeError, InputError, ModelError, RunFolderError
from anchorscope.files import refuse_foreign, refuse_irregular
from anchorscope.journal import evidence
from anchorscope.journal.columns import measurements_in, rows_of
from anchorscope.journal.database import FILE
from anchorscope.journal.identity import differences
from anchorscope.journal.opening import refuse_planted
from anchorscope.journal.reader import RunReader
from anchorscope.journal.writer import Journal, refuse_busy
from anchorscope.planning.collection import (
    Collection,
    LazyWords,
    Predictions,
    check_labels,
    choose,
    collect,
    find_candidates,
    predict,
)
from anchorscope.planning.ledger import Ledger
from anchorscope.planning.plan import Round, Strategy
from anchorscope.result import FILE as RESULT
from anchorscope.result import Result, explanation, is_result
from anchorscope.sampling.culprit import unit_of
from anchorscope.sampling.engine import Engine
from anchorscope.scoring.aggregations import aggregation
from anchorscope.settings import Settings, check_workers
from anchorscope.text.read import Documents
from anchorscope.types import Backend, Cost, Document, LocalScore, Measurements, Perturbator, Predictor, Snapshot

PREDICTED_AT_ONCE = 8192
"""The predictions of so many documents are written down together, before those of the next."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When to end early, cleanly: after so many seconds, or so many texts given to the model."""

    max_seconds: float = float("inf")
    max_model_calls: float = float("inf")

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        for option, limit in (("--max-seconds", self.max_seconds), ("--max-model-calls", self.max_model_calls)):
            if not isinstance(limit, Real) or not limit >= 0:
                raise InputError(f"{option} must be a number of at least 0, not {limit!r}.")

    @classmethod
    def of(cls, max_seconds: float | None, max_model_calls: int | None) -> Budget:
        """A budget whose limits may be missing."""
        unlimited = float("inf")
        return cls(
            unlimited if max_seconds is None else max_seconds, unlimited if max_model_calls is None else max_model_calls
        )

    def is_spent(self, cost: Cost) -> bool:
        """Whether it is time to end."""
        return cost.seconds >= self.max_seconds or cost.predictor_texts >= self.max_model_calls


class Run:
    """One explanation of one collection by one model: iterate over its snapshots, then read its result.

    Without ``keep_texts`` the folder holds no text of a document, perturbed or not.
    """

    def __init__(
        self,
        documents: Documents,
        predictor: Predictor,
        perturbator: Perturbator,
        settings: Settings,
        *,
        folder: Path | None = None,
        resume: bool = False,
        backend: str = "local",
        workers: int = 1,
        budget: Budget | None = None,
        training_texts: Sequence[str] | None = None,
        sources: Mapping[str, str] | None = None,
        keep_texts: bool = True,
    ) -> None:
        self._documents = documents
        self._predictor = (
            predictor if isinstance(predictor, RetryingPredictor) else RetryingPredictor(predictor, Retry())
        )
        self.perturbator = perturbator
        self._settings = settings
        self._aggregation = aggregation(settings.aggregation)
        self._make_backend: Callable[[LocalScore, int], Backend] = registry.resolve("backend", backend)
        self._workers = workers
        self._budget = budget or Budget()
        self._training_texts = training_texts
        self._sources = dict(sources or {})
        self._folder = folder
        self._keep_texts = keep_texts
        self._last: Snapshot | None = None
        self._finished = False
        refuse_existing(folder, resume)
        check_workers(workers)
        clock = _Clock()
        self._chosen, left_out = choose(documents.documents, settings)
        self._skipped = {**documents.skipped, **left_out}
        self._choosing = clock.spent()

    def snapshots(self) -> Generator[Snapshot, None, None]:
        """Compute, and yield what is known after each round; in a folder, the result is written at the end.

        So it is when the run is interrupted, or whoever asks for snapshots asks no more.
        """
        journal = Journal(self._folder) if self._folder else None
        try:
            for snapshot in self._snapshots(journal):
                self._last = snapshot
                yield snapshot
        except AnchorscopeError:
            if journal and journal.is_new and not journal.holds_predictions():
                journal.discard()
            raise
        except (GeneratorExit, KeyboardInterrupt):
            self._keep_result()
            raise
        else:
            self._keep_result()
        finally:
            if journal:
                journal.close()

    def _keep_result(self) -> None:
        if self._folder and self._last and (self._last.finished or self._last.cost.tests):
            self.result().save(self._folder)

    def result(self) -> Result:
        """What the last snapshot knew."""
        assert self._last is not None, "iterate over snapshots() first"
        return Result(
            explanations=self._last.explanations,
            finished=self._finished,
            settled=self._last.settled,
            interval_level=self._last.interval_level,
            settings=self._settings.to_dict(),
            cost=self._last.cost,
            documents={
                "source": self._documents.source,
                "sha256": self._documents.sha256,
                "usable": len(self._chosen),
                "skipped": self._skipped,
            },
            model={"name": self._predictor.name, "sha256": self._predictor.fingerprint},
            perturbator={"name": self.perturbator.name, "sha256": self.perturbator.fingerprint},
            versions={"anchorscope": version("anchorscope"), "python": platform.python_version()},
        )

    def kept_result(self) -> Result | None:
        """The result that the folder holds already, if there is nothing left to do; that of another run is refused."""
        if self._folder is None or not is_finished(self._folder):
            return None
        self._fit()
        with closing(RunReader(self._folder)) as kept:
            self._compare(kept.meta)
        return Result.load(self._folder)

    def _snapshots(self, journal: Journal | None) -> Iterator[Snapshot]:
        clock = _Clock()
        settings = self._settings
        labels = self._predictor.labels
        check_labels(labels, settings)
        chosen = self._chosen
        candidates = find_candidates(chosen, settings, training_texts=self._training_texts)
        texts = [document.text for document in chosen]
        self._fit()
        if journal:
            self._begin_or_compare(journal)
        predictions = self._predictions(chosen, texts, journal)
        collection = collect(chosen, labels, predictions, settings, candidates=candidates)
        if journal:
            journal.write_collection(collection)
        self._warn_of_labels_only()
        yield from self._rounds(collection, journal, self._choosing + Cost(predictor_texts=len(chosen)), clock)

    def _fit(self) -> None:
        """Let the perturbator learn from the documents; what has learnt is this run's own."""
        self.perturbator = self.perturbator.fit(LazyWords([document.text for document in self._chosen]))

    def _predictions(self, chosen: Sequence[Document], texts: Sequence[str], journal: Journal | None) -> Predictions:
        """What the model says of the documents; with a journal, written down in pieces and read from there."""
        known = journal.read_predictions(len(texts), len(self._predictor.labels)) if journal else None
        pieces = [] if known is None else [known]
        start = 0 if known is None else len(known.labels)
        at_once = PREDICTED_AT_ONCE if journal else max(1, len(texts))
        for begin in range(start, len(texts), at_once):
            try:
                piece = predict(self._predictor, texts[begin : begin + at_once])
            except ModelError as error:
                keys = [document.key for document in chosen if document.text == error.text]
                raise _about(error, f"document {keys[0]}") if keys else error from error.__cause__
            if journal:
                journal.write_predictions(begin, chosen[begin : begin + at_once], piece)
            pieces.append(piece)
        return Predictions(
            np.concatenate([piece.labels for piece in pieces]), np.concatenate([piece.confidence for piece in pieces])
        )

    def _warn_of_labels_only(self) -> None:
        by_confidence = self._settings.strategy == "scan" and self._settings.order.startswith("confidence")
        if by_confidence and not self._predictor.has_probabilities:
            warnings.warn(
                f"{self._predictor.name} answers labels without probabilities, so documents cannot be ordered by "
                "confidence: they come in the order of their keys.",
                stacklevel=2,
            )

    def _rounds(self, collection: Collection, journal: Journal | None, cost: Cost, clock: _Clock) -> Iterator[Snapshot]:
        settings = self._settings
        score: LocalScore = registry.resolve("score", str(settings.score))(self._predictor, self.perturbator, settings)
        backend = self._make_backend(score, self._workers)
        strategy: Strategy = registry.resolve("strategy", settings.strategy)(collection, settings)
        ledger = Ledger(collection, strategy, settings.empty_anchor_rule)
        closed = journal.closed_rounds() if journal else {}
        number = 0
        cost += clock.spent()
        if self._folder:
            (self._folder / RESULT).unlink(missing_ok=True)  # of an interrupted run: soon out of date
        try:
            yield self._view(collection, strategy, ledger, number, cost)
            while number in closed or not self._budget.is_spent(cost + clock.running()):
                round_ = strategy.next_round(ledger.tally)
                if round_ is None:
                    self._finished = True
                    break
                if journal and number in closed:
                    found = self._replay(journal, number, round_, collection)
                    spent = closed[number]
                else:
                    found, spent = self._measure(backend, round_, collection)
                    spent += clock.spent()
                ledger.add(round_, found)
                if journal and number not in closed:
                    rows = rows_of(round_, found, collection)
                    journal.write_round(number, rows, round_.skips, strategy.prefixes(), spent)
                cost = cost + spent
                number = number + 1
                snapshot = self._view(collection, strategy, ledger, number, cost)
                if journal:
                    journal.write_moment(number, evidence.moment(snapshot))
                yield snapshot
            if journal and self._last and journal.meta().get("evidence") != number:
                cost += self._write_evidence(journal, collection, ledger, self._last, cost)
            yield replace(self._view(collection, strategy, ledger, number, cost + clock.spent()), finished=True)
        finally:
            backend.close()

    def _replay(self, journal: Journal, number: int, round_: Round, collection: Collection) -> Measurements:
        """What a closed round measured, if it is the round that is planned now."""
        found = measurements_in(journal.read_round(number), round_, collection)
        if found is None:
            raise RunFolderError(
                f"Round {number} in the journal of {self._folder} holds other tests than this version plans; "
                "start afresh in another --out."
            )
        return found

    def _measure(self, backend: Backend, round_: Round, collection: Collection) -> tuple[Measurements, Cost]:
        """What a round measures; where the model is at fault, the error names the document."""
        try:
            return backend.measure(round_.units)
        except ModelError as error:
            sampling = self._settings.sampling
            test = self._settings.anchor_test
            unit = unit_of(error.text, round_.units, self._predictor, self.perturbator, sampling, test)
            if unit is None:
                raise
            key = collection.documents[unit.document].key
            raise _about(error, f"a perturbed text of document {key}") from error.__cause__

    def _write_evidence(
        self, journal: Journal, collection: Collection, ledger: Ledger, shown: Snapshot, cost: Cost
    ) -> Cost:
        """Write down what a report shows besides counts; what that took.

        A run whose budget is spent asks the model nothing more: its documents are kept, their samples are not.
        """
        spent = Cost()
        settings = self._settings
        if not self._budget.is_spent(cost):
            engine = Engine(self._predictor, self.perturbator, settings.sampling, settings.anchor_test)
            rows, of_samples = evidence.samples_of_terms(engine, collection, ledger, shown, settings.tau)
            curves, of_curves = evidence.aopc_curves(self._predictor, collection, shown, settings.seed)
            journal.write_evidence(rows if self._keep_texts else evidence.without_texts(rows))
            journal.begin({"aopc": curves, "evidence": shown.round})
            spent = of_samples + of_curves
        if self._keep_texts:
            journal.write_texts(evidence.texts_of_terms(collection, ledger, shown))
        return spent

    def _view(self, collection: Collection, strategy: Strategy, ledger: Ledger, number: int, cost: Cost) -> Snapshot:
        """The snapshot of this moment."""
        tally = ledger.tally
        settings = self._settings
        scores = self._aggregation.score(strategy.counted(tally), settings.alpha)
        standing = strategy.standing(tally)
        n_documents = collection.n_documents
        n_robust = ledger.n_robust()
        explanations = {
            collection.labels[label]: explanation(
                collection.labels[label],
                label,
                collection.terms,
                tally,
                scores,
                standing,
                k=settings.top_k,
                n_documents=int(n_documents[label]),
                n_robust=int(n_robust[label]),
                examples=ledger.example_keys,
            )
            for label in np.flatnonzero(collection.explained).tolist()
        }
        return Snapshot(
            explanations=explanations,
            round=number,
            tests_planned=strategy.tests_left(tally),
            settled=all(e.settled for e in explanations.values()),
            interval_level=strategy.interval_level,
            cost=cost,
        )

    def _begin_or_compare(self, journal: Journal) -> None:
        """Write down what this run is; or, for a journal that exists, refuse another model, data or setting."""
        then = journal.meta()
        if "settings" in then:
            self._compare(then)
        journal.begin({**self._identity(), "sources": self._sources})

    def _compare(self, then: Mapping[str, Any]) -> None:
        if found := differences(then, self._identity()):
            raise RunFolderError(
                f"The run in {self._folder} was started differently ({'; '.join(found)}); "
                "give the same again, or start afresh in another --out."
            )

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        return {
            "settings": self._settings.to_dict(),
            "documents": {"sha256": self._documents.sha256},
            "model": {"name": self._predictor.name, "sha256": self._predictor.fingerprint},
            "labels": list(self._predictor.labels),
            "perturbator": {"name": self.perturbator.name, "sha256": self.perturbator.fingerprint},
            "training texts": {"sha256": _digest(self._training_texts)},
            "texts": self._keep_texts,
        }


class _Clock:
    """Time in pieces that add up."""

    def __init__(self) -> None:
        self._last = monotonic()

    def spent(self) -> Cost:
        """The time since this was last asked."""
        now = monotonic()
        self._last, last = now, self._last
        return Cost(seconds=now - last)

    def running(self) -> Cost:
        """The time since the last piece was taken, which is still open."""
        return Cost(seconds=monotonic() - self._last)


def refuse_existing(folder: Path | None, resume: bool) -> None:
    """A run folder that exists is not written to without being asked, and not while another process does."""
    if folder is None:
        return
    if "\0" in str(folder):
        raise RunFolderError(f"{str(folder)!r} is no path: it holds a NUL character; choose another --out.")
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder} is a file; --out takes the folder of a run.")
    if refuse_irregular(folder / FILE) and not resume:
        raise RunFolderError(f"There is a run in {folder} already; go on with --resume, or choose another --out.")
    refuse_planted(folder)
    refuse_foreign(folder / RESULT, is_result)
    refuse_busy(folder)


def is_finished(folder: Path) -> bool:
    """Whether the run in a folder has a result and nothing left to do."""
    if not refuse_irregular(folder / FILE) or not refuse_irregular(folder / RESULT):
        return False
    try:
        return Result.load(folder).finished
    except RunFolderError:  # a run that goes on writes it again
        return False


def _digest(texts: Sequence[str] | None) -> str | None:
    if texts is None:
        return None
    return sha256("\0".join(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()


def _about(error: ModelError, what: str) -> ModelError:
    """The same error with the document in its sentence."""
    return type(error)(f"{str(error).removesuffix('.')} ({what}).", text=error.text)

"""The loop: documents in, a stream of snapshots out, a result at the end.

    documents -> words -> prediction -> plan -> perturbed texts -> agreements -> verdicts -> tally -> scores -> top-k

A run plans a round, has it judged, writes it down, adds it to the tally, and yields what is known. It knows no
screen. A run with a folder can be killed at any moment and goes on from its last closed round: closed rounds are
planned again (planning is a pure function of the tally) and their verdicts are read instead of judged. What it costs is
counted over all its lives, so a budget that is smaller than what was spent ends it after the rounds that it has.

Documents are numbered in the order of their keys, so the order in which they came changes nothing.
"""

from __future__ import annotations

import platform
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope import evidence, scores
from anchorscope.backends.local import check_workers, local_backend
from anchorscope.collection import (
    Collection,
    LazyWords,
    Predictions,
    check_labels,
    choose,
    collect,
    find_candidates,
    predict,
)
from anchorscope.errors import AnchorscopeError, InputError, ModelError, RunFolderError
from anchorscope.finished import FinishedRun
from anchorscope.hiding import Hidden
from anchorscope.journal import Journal, refuse_busy
from anchorscope.ledger import Ledger
from anchorscope.patience import Patience, Patient
from anchorscope.race import Race
from anchorscope.read import Documents
from anchorscope.result import FILE as RESULT
from anchorscope.result import Result
from anchorscope.scan import Scan, Standing
from anchorscope.schedule import Engine
from anchorscope.settings import Settings
from anchorscope.tables import FILE
from anchorscope.tally import Tally
from anchorscope.types import (
    Backend,
    Cost,
    Document,
    Explanation,
    Perturbator,
    Predictor,
    Snapshot,
    Term,
    Unit,
    Verdict,
)

FEW_DOCUMENTS = 10

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
        workers: int = 1,
        budget: Budget | None = None,
        training_texts: Sequence[str] | None = None,
        sources: Mapping[str, str] | None = None,
        keep_texts: bool = True,
    ) -> None:
        self._documents, self._perturbator = documents, perturbator
        self._predictor = predictor if isinstance(predictor, Patient) else Patient(predictor, Patience())
        self._settings, self._workers, self._budget = settings, workers, budget or Budget()
        self._training_texts, self._sources = training_texts, dict(sources or {})
        self._folder, self._resume, self._keep_texts = folder, resume, keep_texts
        self._last: Snapshot | None = None
        self._finished = False
        refuse_existing(folder, resume)
        check_workers(workers)
        clock = _Clock()
        self._chosen, left_out = choose(documents.documents, settings)
        self._skipped = {**documents.skipped, **left_out}
        self._choosing = clock.spent()

    def snapshots(self) -> Generator[Snapshot, None, None]:
        """Compute, and yield what is known after each round."""
        journal = Journal(self._folder) if self._folder else None
        try:
            for snapshot in self._snapshots(journal):
                self._last = snapshot
                yield snapshot
        except AnchorscopeError:
            if journal and journal.is_new and not journal.holds_predictions():
                journal.discard()
            raise
        finally:
            if journal:
                journal.close()

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
            perturbator={"name": self._perturbator.name, "sha256": self._perturbator.fingerprint},
            versions={"anchorscope": version("anchorscope"), "python": platform.python_version()},
        )

    def kept_result(self) -> Result | None:
        """The result that the folder holds already, if there is nothing left to do; that of another run is refused."""
        if self._folder is None or not is_finished(self._folder):
            return None
        self._perturbator.fit(LazyWords([document.text for document in self._chosen]))
        with closing(FinishedRun(self._folder)) as kept:
            self._compare(kept.meta)
        return Result.load(self._folder)

    def _snapshots(self, journal: Journal | None) -> Iterator[Snapshot]:
        clock, settings, labels = _Clock(), self._settings, self._predictor.labels
        check_labels(labels, settings)
        chosen = self._chosen
        candidates = find_candidates(chosen, settings, training_texts=self._training_texts)
        texts = [document.text for document in chosen]
        self._perturbator.fit(LazyWords(texts))
        if journal:
            self._begin_or_compare(journal)
        predictions = self._predictions(chosen, texts, journal)
        collection = collect(chosen, labels, predictions, settings, candidates=candidates)
        if journal:
            journal.write_collection(collection)
        self._warn_of_labels_only()
        yield from self._rounds(collection, journal, self._choosing + Cost(predictor_texts=len(chosen)), clock)

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
        engine = Engine(self._predictor, self._perturbator, settings.sampling, settings.anchor_test)
        backend = local_backend(engine, self._workers)
        strategy = Race(collection, settings) if settings.strategy == "race" else Scan(collection, settings)
        ledger = Ledger(collection, strategy, settings.credit)
        closed = journal.closed_rounds() if journal else {}
        hidden = None if self._keep_texts else Hidden([document.text for document in collection.documents])
        number = 0
        cost += clock.spent()
        try:
            yield self._view(collection, strategy, ledger, number, cost)
            complete = False
            while number in closed or not self._budget.is_spent(cost + clock.running()):
                round_ = strategy.next_round(ledger.tally)
                if round_ is None:
                    complete = True
                    break
                if number in closed:
                    assert journal is not None
                    verdicts, spent = _shown(journal.read_round(number), hidden), closed[number]
                    self._check_replay(number, round_.units, verdicts)
                else:
                    verdicts, spent = self._judge(backend, round_.units, collection)
                    verdicts.sort(key=lambda verdict: (verdict.document, verdict.position))
                    spent = spent + clock.spent()
                ledger.add(round_, verdicts)
                if journal and number not in closed:
                    terms = ledger.terms_of(verdicts).tolist()
                    written = zip(_hidden(verdicts, hidden), terms)
                    journal.write_round(number, round_, written, strategy.prefixes(), spent)
                cost, number = cost + spent, number + 1
                snapshot = self._view(collection, strategy, ledger, number, cost)
                if journal:
                    journal.write_moment(number, evidence.moment(snapshot))
                yield snapshot
            if journal and self._last and journal.meta().get("evidence") != number:
                cost += self._write_evidence(journal, engine, collection, ledger, self._last, cost, hidden)
            self._finished = complete
            yield replace(self._view(collection, strategy, ledger, number, cost + clock.spent()), finished=True)
        finally:
            backend.close()

    def _check_replay(self, number: int, units: Sequence[Unit], verdicts: Sequence[Verdict]) -> None:
        planned = sorted((unit.document, position) for unit in units for position in unit.positions)
        if planned != [(verdict.document, verdict.position) for verdict in verdicts]:
            raise RunFolderError(
                f"Round {number} in the journal of {self._folder} holds other tests than this version plans; "
                "start afresh in another --out."
            )

    def _judge(self, backend: Backend, units: Sequence[Unit], collection: Collection) -> tuple[list[Verdict], Cost]:
        """The verdicts of a round; where the model is at fault, the error names the document."""
        try:
            return backend.judge(units)
        except ModelError as error:
            sampling, test = self._settings.sampling, self._settings.anchor_test
            unit = evidence.origin(error.text, units, self._predictor, self._perturbator, sampling, test)
            if unit is None:
                raise
            key = collection.documents[unit.document].key
            raise _about(error, f"a perturbed text of document {key}") from error.__cause__

    def _write_evidence(
        self,
        journal: Journal,
        engine: Engine,
        collection: Collection,
        ledger: Ledger,
        shown: Snapshot,
        cost: Cost,
        hidden: Hidden | None,
    ) -> Cost:
        """Write down what a report shows besides counts; what that took.

        A run whose budget is spent asks the model nothing more: its documents are kept, their samples are not.
        """
        spent = Cost()
        if not self._budget.is_spent(cost):
            rows, of_samples = evidence.samples_of_terms(engine, collection, ledger, shown, self._settings.tau)
            curves, of_curves = evidence.aopc_curves(self._predictor, collection, shown, self._settings.seed)
            journal.write_evidence(rows if hidden is None else evidence.without_texts(rows, hidden))
            journal.begin({"aopc": curves, "evidence": shown.round})
            spent = of_samples + of_curves
        if hidden is None:
            journal.write_texts(evidence.texts_of_terms(collection, ledger, shown))
        return spent

    def _view(self, collection: Collection, strategy: Scan | Race, ledger: Ledger, number: int, cost: Cost) -> Snapshot:
        """The snapshot of this moment."""
        tally, settings = ledger.tally, self._settings
        values = scores.aggregation(settings.aggregation, alpha=settings.alpha)(strategy.counted(tally))
        standing = strategy.standing(tally)
        n_documents, n_robust, explanations = collection.n_documents, ledger.n_robust(), {}
        for label in np.flatnonzero(collection.explained):
            top = scores.ranking(values[label], tally.occurrences[label], settings.top_k)
            name = collection.labels[label]
            explanations[name] = Explanation(
                label=name,
                documents=int(n_documents[label]),
                robust=int(n_robust[label]),
                settled=bool(standing.settled[label]),
                regret=None if standing.regret is None else float(standing.regret[label]),
                terms=tuple(
                    term_view(collection.terms, tally, values, standing, int(label), int(t), ledger) for t in top
                ),
                note=_note(name, int(n_documents[label])),
            )
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
        if differences := _differences(then, self._identity()):
            raise RunFolderError(
                f"The run in {self._folder} was started differently ({'; '.join(differences)}); "
                "give the same again, or start afresh in another --out."
            )

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        return {
            "settings": self._settings.to_dict(),
            "documents": {"sha256": self._documents.sha256},
            "model": {"name": self._predictor.name, "sha256": self._predictor.fingerprint},
            "labels": list(self._predictor.labels),
            "perturbator": {"name": self._perturbator.name, "sha256": self._perturbator.fingerprint},
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
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder} is a file; --out takes the folder of a run.")
    if (folder / FILE).exists() and not resume:
        raise RunFolderError(f"There is a run in {folder} already; go on with --resume, or choose another --out.")
    refuse_busy(folder)


def is_finished(folder: Path) -> bool:
    """Whether the run in a folder has a result and nothing left to do."""
    if not (folder / FILE).exists() or not (folder / RESULT).exists():
        return False
    try:
        return Result.load(folder).finished
    except RunFolderError:  # a run that goes on writes it again
        return False


def term_view(
    terms: Sequence[str],
    tally: Tally,
    values: NDArray[np.float64],
    standing: Standing,
    label: int,
    term: int,
    ledger: Ledger | None = None,
) -> Term:
    """A term as it is shown."""
    return Term(
        term=terms[term],
        score=float(values[label, term]),
        interval=(float(standing.low[label, term]), float(standing.high[label, term])),
        membership=None if standing.membership is None else float(standing.membership[label, term]),
        anchors=int(tally.anchors[label, term]),
        non_anchors=int(tally.non_anchors[label, term]),
        skipped=int(tally.skipped[label, term]),
        occurrences=int(tally.occurrences[label, term]),
        examples=ledger.example_keys(label, term) if ledger else (),
    )


def _digest(texts: Sequence[str] | None) -> str | None:
    if texts is None:
        return None
    return sha256("\0".join(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What a journal and a new call do not agree on, in words."""
    found = [
        f"{kind} {then[kind].get('name', '')} has changed".replace("  ", " ")
        for kind in ("documents", "model", "perturbator", "training texts")
        if then[kind]["sha256"] != now[kind]["sha256"]
    ]
    if then["labels"] != now["labels"]:
        found.append(f"labels were {', '.join(then['labels'])}, now {', '.join(now['labels'])}")
    if then["texts"] != now["texts"]:
        found.append("texts were kept, now they are not" if then["texts"] else "texts were not kept, now they are")
    settings_then = Settings.from_dict(then["settings"]).to_dict()
    found += [
        f"{name} was {settings_then[name]}, now {value}"
        for name, value in now["settings"].items()
        if settings_then[name] != value
    ]
    return found


def _hidden(verdicts: Sequence[Verdict], hidden: Hidden | None) -> Sequence[Verdict]:
    """The verdicts as they are written down."""
    if hidden is None:
        return verdicts
    return [replace(v, position=hidden.hide(v.document, v.position)) for v in verdicts]


def _shown(verdicts: list[Verdict], hidden: Hidden | None) -> list[Verdict]:
    """The verdicts as they were before they were written down."""
    if hidden is None:
        return verdicts
    shown = [replace(v, position=hidden.show(v.document, v.position)) for v in verdicts]
    return sorted(shown, key=lambda v: (v.document, v.position))


def _about(error: ModelError, what: str) -> ModelError:
    """The same error with the document in its sentence."""
    return type(error)(f"{str(error).removesuffix('.')} ({what}).", text=error.text)


def _note(label: str, n_documents: int) -> str | None:
    if n_documents == 0:
        return f"No document is predicted {label!r}: there is nothing to explain."
    if n_documents < FEW_DOCUMENTS:
        return f"Only {n_documents} documents are predicted {label!r}: too few to say much."
    return None

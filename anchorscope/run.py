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
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.asking.answers import brief, shortened
from anchorscope.asking.budget import Budget, check_workers
from anchorscope.asking.devices import is_card
from anchorscope.asking.predicting import OnPredicted, Predicting, n_affordable
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.asking.timed_perturbator import TimedPerturbator
from anchorscope.backends.named import MakeBackend, named_backend
from anchorscope.errors import AnchorscopeError, RunFolderError
from anchorscope.files import JOURNAL, is_path_of_folder, refuse_foreign, refuse_irregular
from anchorscope.journal.database import reading
from anchorscope.journal.identity import differences, digest
from anchorscope.journal.opening import refuse_planted
from anchorscope.journal.reader import RunReader, read_heard
from anchorscope.journal.writer import Journal, refuse_busy
from anchorscope.local_scores.metered import MeteredScore, refuse_small_budget
from anchorscope.loop import Clock, Loop, Parts
from anchorscope.planning.candidates import Candidates, check_scripts, choose, find_candidates, priorities
from anchorscope.planning.collection import (
    Collection,
    Predictions,
    check_labels,
    collect,
    fit_surrogate,
    sample_for_surrogate,
)
from anchorscope.result import RESULT, Result, is_finished, is_result
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.surrogate import N_FOLDS, Surrogate
from anchorscope.settings import NO_PERTURBATOR, Settings, check_score, needs_perturbator, strategy
from anchorscope.text.read import Documents
from anchorscope.text.words import LazyWords
from anchorscope.types import Backend, Cost, Document, HeardLabels, Perturbator, Predictor, SharingBackend, Snapshot

TESTED_FIRST = 256
"""Documents, by priority, from which it is read what the first test takes."""


class Run:
    """One explanation of one collection by one model: iterate over its snapshots, then read its result.

    Without ``keep_texts`` the folder holds no text of a document, perturbed or not.
    """

    def __init__(
        self,
        documents: Documents,
        predictor: Predictor,
        perturbator: Perturbator | None,
        settings: Settings,
        *,
        folder: Path | None = None,
        resume: bool = False,
        backend: str | MakeBackend = "local",
        workers: int | None = None,
        budget: Budget | None = None,
        training_texts: Sequence[str] | None = None,
        sources: Mapping[str, str] | None = None,
        keep_texts: bool = True,
        price_per_1000: float | None = None,
    ) -> None:
        needs_perturbator(settings, perturbator or NO_PERTURBATOR)
        self._documents = documents
        self._predictor = (
            predictor if isinstance(predictor, RetryingPredictor) else RetryingPredictor(predictor, Retry())
        )
        self.perturbator = perturbator
        self._settings = settings
        self._aggregation = aggregation(settings.aggregation)
        self._strategy = strategy(settings.strategy)
        # Resolved now, so that an unknown name is refused before anything is computed.
        self._make_backend = named_backend(backend) if isinstance(backend, str) else backend
        self._workers = workers
        self._budget = budget or Budget()
        self._training_texts = training_texts
        self._sources = dict(sources or {})
        self._folder = folder
        self._keep_texts = keep_texts
        self._price_per_1000 = price_per_1000
        self._last: Snapshot | None = None
        self._finished = False
        self._predicting = Cost()  # what predicting the documents took, tries that failed included
        self.on_predicted: OnPredicted = lambda n, n_documents: None  # called as documents are predicted
        self.has_predicted = False  # whether the model has answered about documents, in this life or an earlier one
        self.n_drawn = 0  # documents that the model is asked about, once that is known
        self._unseen: dict[str, int] = {}  # what the model does not read
        self._left_out: dict[str, Any] = {}  # what filters of candidates leave out
        # All that can be refused without asking the model is refused here, what is cheap to look at first.
        check_score(settings, self._predictor)
        refuse_existing(folder, resume)
        if workers is not None:
            check_workers(workers)
        self._choose_documents()

    def _choose_documents(self) -> None:
        """Which documents are explained, which are skipped and why, and what cuts their words; how long that took."""
        start = monotonic()
        self._chosen, left_out = choose(self._documents.documents, self._settings)
        self._skipped = {**self._documents.skipped, **left_out}
        if self._documents.beyond is not None:
            self._skipped["not drawn, only counted"] = self._documents.beyond.n_documents - len(self._chosen)
        self._segmenters = check_scripts(self._chosen, self._settings)
        self._choosing = Cost(seconds=monotonic() - start + self._predictor.probed_seconds)

    def _leave(self, journal: Journal) -> None:
        """Remove what bad input has begun, and let go of a folder that was refused; what was found stays."""
        with suppress(AnchorscopeError):  # a journal whose file a model has closed cannot be asked: it stays as it is
            if journal.is_new and not journal.holds_predictions():
                journal.discard()
            elif not journal.is_new and self._last is None:
                journal.withdraw()

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
            if journal:
                self._leave(journal)
            raise
        except (GeneratorExit, KeyboardInterrupt):
            self._keep_result(journal)
            raise
        else:
            self._keep_result(journal)
        finally:
            if journal:
                journal.close()

    def _keep_result(self, journal: Journal | None) -> None:
        if self._folder and journal and self._last and (self._last.finished or self._last.cost.tests):
            journal.check_place()
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
                **({"unseen": self._unseen} if self._unseen else {}),
                **({"left_out": self._left_out} if self._left_out else {}),
            },
            model={"name": self._predictor.name, "sha256": self._predictor.fingerprint},
            perturbator=self._perturbator_identity(),
            price=None
            if self._price_per_1000 is None
            else self._last.cost.predictor_texts * self._price_per_1000 / 1000,
            versions={
                "anchorscope": version("anchorscope"),
                "python": platform.python_version(),
                **self._segmenters,
            },
        )

    @property
    def n_copies(self) -> int:
        """Documents whose text is that of another one: their keys say so."""
        return len(self._chosen) - len({document.key.partition("-")[0] for document in self._chosen})

    def kept_result(self) -> Result | None:
        """The result that the folder holds already, if there is nothing left to do; that of another run is refused."""
        if self._folder is None or not is_finished(self._folder):
            return None
        self._fit()
        with closing(RunReader(self._folder)) as kept:
            self._compare(kept.meta)
        if refuse_irregular(self._folder / f"{JOURNAL}-wal"):  # a kill came before the end: tidied up here
            with suppress(AnchorscopeError):
                Journal(self._folder).close()
        return Result.load(self._folder)

    def _snapshots(self, journal: Journal | None) -> Iterator[Snapshot]:
        clock = Clock()
        settings = self._settings
        check_labels(self._predictor.labels, settings)
        self._fit()
        # After the perturbator has learnt: its fingerprint is a part of what must be the same.
        known = self._begin_or_compare(journal) if journal else {}
        score = self._score()
        with closing(self._make_backend(score, self._workers)) as backend:
            collection = self._collection(score, backend, journal, known, clock)
            self._warn_of_labels_only()
            parts = Parts(
                predictor=self._predictor,
                perturbator=self._in_time(),
                settings=settings,
                budget=self._budget,
                score=score,
                backend=backend,
                journal=journal,
                folder=self._folder,
                keep_texts=self._keep_texts,
                n_documents=len(self._chosen),
                draws=self._draws,
            )
            if self._folder and journal:
                journal.check_place()
                (self._folder / RESULT).unlink(missing_ok=True)  # of an interrupted run: soon out of date
            loop = Loop(collection, parts, self._choosing + self._predicting, clock)
            for snapshot in loop.snapshots():
                self._finished = loop.finished
                self._keep_columns(journal)
                yield snapshot

    def _score(self) -> MeteredScore:
        """What is measured, within a number of calls."""
        make = registry.resolve("score", str(self._settings.score))
        devices = [getattr(model, "device", "cpu") for model in (self._predictor.predictor, self.perturbator)]
        on_card = any(is_card(str(device)) for device in devices)
        return MeteredScore(make(self._predictor, self._in_time(), self._settings), self._predictor, on_card=on_card)

    def _in_time(self) -> Perturbator | None:
        """The perturbator; where time is limited, one that knows when it is up."""
        if self.perturbator is None or not isfinite(self._budget.max_seconds):
            return self.perturbator
        return TimedPerturbator(self.perturbator, self._predictor.meter)

    def _collection(
        self, score: MeteredScore, backend: Backend, journal: Journal | None, known: Mapping[str, Any], clock: Clock
    ) -> Collection:
        """The linear pass: documents cut into terms, and what the model says of them."""
        candidates = self._candidates(backend)
        priority = priorities(self._settings.seed, [document.key for document in self._chosen])
        drawn = self._drawn(priority, known)
        self.n_drawn = len(drawn)
        is_all = len(drawn) == len(self._chosen)
        chosen = [self._chosen[number] for number in drawn.tolist()]
        inside = candidates if is_all else candidates.of(drawn)
        if journal:  # before the first call: a run that is killed while it predicts goes on with the same documents
            journal.begin({"drawn": len(drawn), "limited": isfinite(self._budget.max_model_calls)})
        self._refuse_small_budget(score, candidates, priority, journal)
        sampled = sample_for_surrogate(priority[drawn], len(self._predictor.labels))
        before = Cost(
            predictor_texts=self._predictor.n_probed + int(known.get("asked", 0)),
            predictor_tokens=self._predictor.n_probed_tokens + int(known.get("tokens", 0)),
            kept_answers=int(known.get("kept", 0)),
        )
        if journal and self._predictor.n_probed:
            journal.begin(_told(before))
        predicting = Predicting(
            self._predictor,
            backend,
            self._budget,
            spent=before,
            so_far=lambda: self._choosing + clock.running(),
            is_kept=self._folder is not None,
            on_predicted=self.on_predicted,
        )
        predictions, rows = self._predictions(predicting, chosen, sampled, journal)
        self._predicting = predicting.spent
        collection = collect(
            chosen,
            self._predictor.labels,
            predictions,
            self._settings,
            candidates=inside,
            surrogate=self._surrogate(inside, sampled, rows, priority[drawn], backend, journal),
            beyond=None
            if is_all and self._documents.beyond is None
            else self._document_frequency(candidates) - inside.document_frequency(),
            n_beyond=self._n_in_all - len(drawn),
            priority=priority[drawn],
        )
        if journal:
            journal.write_collection(collection)
        return collection

    @property
    def _n_in_all(self) -> int:
        beyond = self._documents.beyond
        return len(self._chosen) if beyond is None else beyond.n_documents

    def _document_frequency(self, candidates: Candidates) -> NDArray[np.int64]:
        """How many documents of the whole collection hold each term, (terms,)."""
        beyond = self._documents.beyond
        if beyond is None:
            return candidates.document_frequency()
        return np.array([beyond.document_frequency[term] for term in candidates.terms], np.int64)

    def _candidates(self, backend: Backend) -> Candidates:
        """The terms that may be tested, where the model reads them."""
        texts = [document.text for document in self._chosen]
        found = find_candidates(
            self._chosen,
            self._settings,
            training_texts=self._training_texts,
            seen=self._predictor.visible(texts),
            helpers=backend if isinstance(backend, SharingBackend) else None,
        )
        self._unseen = {"documents": found.n_cut, "words": found.n_unseen} if found.n_cut else {}
        self._left_out = {one.setting: {"terms": one.n_terms, "most": list(one.most)} for one in found.left_out}
        return found

    def _fit(self) -> None:
        """Let the perturbator learn from the documents; what has learnt is this run's own."""
        if self.perturbator is not None:
            self.perturbator = self.perturbator.fit(LazyWords([document.text for document in self._chosen]))

    def _perturbator_identity(self) -> dict[str, str]:
        if self.perturbator is None:
            return {"name": NO_PERTURBATOR, "sha256": ""}
        return {"name": self.perturbator.name, "sha256": self.perturbator.fingerprint}

    def _drawn(self, priority: NDArray[np.uint64], known: Mapping[str, Any]) -> NDArray[np.intp]:
        """The documents that the model is asked about: all of them, or as many by priority as a share of the
        calls suffices for.

        A run that goes on with more calls keeps to the documents that it has drawn.
        """
        # Where all are predicted, the calls left would not test a word; a share of them leaves most for tests.
        wanted = len(self._chosen)
        if self._draws:
            wanted = n_affordable(wanted, self._budget.max_model_calls)
        wanted = int(known.get("drawn", wanted))
        return np.sort(np.argsort(priority, kind="stable")[:wanted])

    @property
    def _draws(self) -> bool:
        """Whether a part of the documents is predicted, where the calls do not suffice for all."""
        return self._strategy.draws_documents

    def _refuse_small_budget(
        self, score: MeteredScore, candidates: Candidates, priority: NDArray[np.uint64], journal: Journal | None
    ) -> None:
        """Refuse a number of calls that ends before the first test; a run that goes on has made some predictions."""
        if journal is not None and journal.holds_predictions():
            return
        tested = np.flatnonzero(np.diff(candidates.first_occurrence))
        first = tested[np.argsort(priority[tested], kind="stable")][:TESTED_FIRST]
        refuse_small_budget(
            score,
            [self._chosen[number].text for number in first.tolist()],
            len(self._chosen),
            self._budget.max_model_calls,
            draws=self._draws,
            n_spent=self._predictor.n_probed,
        )

    def _predictions(
        self, predicting: Predicting, chosen: Sequence[Document], sampled: NDArray[np.intp], journal: Journal | None
    ) -> tuple[Predictions, NDArray[np.float64]]:
        """What the model says of the documents; and of the sampled ones, all of its answer.

        With a journal, answers are written down in pieces and read from there.
        """
        known = journal.read_predictions(len(chosen), len(self._predictor.labels)) if journal else None
        start = 0 if known is None else len(known)
        self.has_predicted = start > 0
        pieces = [] if known is None else [(Predictions.of(known), known[sampled[sampled < start]])]
        for begin, end, rows in predicting.pieces(chosen, start):
            self.has_predicted = True
            self._keep_columns(journal)
            if journal:
                journal.write_predictions(begin, chosen[begin:end], rows)
                journal.begin({**_told(predicting.spent), "probabilities": self._predictor.has_probabilities})
            wanted = sampled[(sampled >= begin) & (sampled < end)] - begin
            pieces.append((Predictions.of(rows), rows[wanted]))
        predictions = Predictions(
            np.concatenate([piece.labels for piece, _ in pieces]),
            np.concatenate([piece.confidence for piece, _ in pieces]),
        )
        return predictions, np.concatenate([rows for _, rows in pieces])

    def _keep_columns(self, journal: Journal | None) -> None:
        """Write down what the model calls the columns of its answers, once one has said it: a run that goes on must
        not take them for others."""
        names = self._predictor.columns.names
        if journal and names and journal.meta().get("columns") != names:
            journal.begin({"columns": names})

    def _surrogate(
        self,
        candidates: Candidates,
        sampled: NDArray[np.intp],
        rows: NDArray[np.float64],
        priority: NDArray[np.uint64],
        backend: Backend,
        journal: Journal | None,
    ) -> Surrogate | None:
        """What the predictions say of every term, where the strategy has a use for it; as it was fitted, if it was."""
        settings = self._settings
        if not (settings.surrogate and self._strategy.uses_surrogate and self._aggregation.is_graded):
            return None
        known = journal.read_surrogate(len(self._predictor.labels), len(candidates.terms)) if journal else None
        if known is not None:
            return known
        # Helpers have nothing to do now, so their cores are free.
        n_threads = backend.n_workers if isinstance(backend, SharingBackend) else 1
        fitted = fit_surrogate(rows, sampled, candidates, priority, n_threads=min(n_threads, N_FOLDS))
        if journal:
            journal.write_surrogate(fitted)
        return fitted

    def _warn_of_labels_only(self) -> None:
        by_confidence = "order" in self._strategy.reads and self._settings.order.startswith("confidence")
        if by_confidence and not self._predictor.has_probabilities:
            warnings.warn(
                f"{self._predictor.name} answers labels without probabilities, so documents cannot be ordered by "
                "confidence: they come in the order of their keys.",
                stacklevel=2,
            )

    def _begin_or_compare(self, journal: Journal) -> Mapping[str, Any]:
        """Write down what this run is; or, for a journal that exists, refuse another model, data or setting.

        What it knew before comes back.
        """
        then = journal.meta()
        if "settings" in then:
            self._compare(then)
        self._predictor.columns.remember(then.get("columns"))
        journal.begin({**self._identity(), "sources": self._sources, "heard": self._predictor.heard_names})
        return then

    def _compare(self, then: Mapping[str, Any]) -> None:
        assert self._folder is not None
        with reading(self._folder):
            found = differences(then, self._identity())
        if found:
            raise RunFolderError(
                f"The run in {self._folder} was started differently ({'; '.join(found)}); "
                "give the same again, or start afresh in another --out."
            )

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        return {
            "settings": self._settings.to_dict(),
            "documents": {"sha256": self._documents.sha256, "usable": len(self._chosen)},
            "model": {"name": self._predictor.name, "sha256": self._predictor.fingerprint},
            "labels": list(self._predictor.labels),
            "perturbator": self._perturbator_identity(),
            "training texts": {"sha256": digest(self._training_texts)},
            "texts": self._keep_texts,
            "segmenters": self._segmenters,
        }


def _told(spent: Cost) -> dict[str, int]:
    """What predicting has taken, as it is written down."""
    return {"asked": spent.predictor_texts, "tokens": spent.predictor_tokens, "kept": spent.kept_answers}


def refuse_existing(folder: Path | None, resume: bool) -> None:
    """A run folder that exists is not written to without being asked, and not while another process does."""
    if folder is None:
        return
    try:
        is_folder = is_path_of_folder(folder)
    except (ValueError, OSError) as error:
        raise RunFolderError(f"{shortened(str(folder))} is no path ({brief(error)}); choose another --out.") from error
    if folder.exists() and not is_folder:
        raise RunFolderError(f"{folder} is a file; --out takes the folder of a run.")
    if refuse_irregular(folder / JOURNAL) and not resume:
        raise RunFolderError(f"There is a run in {folder} already; go on with --resume, or choose another --out.")
    refuse_planted(folder)
    refuse_foreign(folder / RESULT, is_result)
    refuse_busy(folder)


def heard_before(folder: Path | None, resume: bool, *, of_head: bool = False) -> HeardLabels | None:
    """The labels of the run that is to go on, if there is one: its model need not be asked for them again.

    Where one label is asked about (``of_head``) those of the run are its two answers, and the model has others.
    """
    return read_heard(folder, of_head=of_head) if folder is not None and resume else None

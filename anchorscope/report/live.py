"""The live page: a run in progress, or a kept one, for the browser of whoever started it.

One thread owns the model: it plays the rounds of the run and, between two of them, answers what the page asks (a text
to try, pause, resume, stop). The server only reads what this thread last said, so neither a slow browser nor a
thousand of them hold up the run. The event stream sends the newest snapshot; a client that is slow misses some.

``server.py`` is what a browser talks to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from anchorscope import registry
from anchorscope.asking.budget import Budget
from anchorscope.errors import AnchorscopeError, RunFolderError
from anchorscope.local import explain_document, tested_positions
from anchorscope.report import view
from anchorscope.report.texts import utf16
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.types import Cost, LocalScore, Perturbator, Predictor, Snapshot

MOST_WORDS = 400
"""Words of a text that are tested on the page."""

VIEW_SECONDS = 2.0
"""The whole view is made anew no more often than this."""


@dataclass(frozen=True, slots=True)
class UntilStopped(Budget):
    """A budget that is spent when somebody says stop.

    That ends the rounds once; what a run does after them (it keeps the evidence of what it shows) goes on.
    """

    asked: Event = field(default_factory=Event)
    stopped: Event = field(default_factory=Event)

    def is_spent(self, cost: Cost) -> bool:
        """Whether it is time to end."""
        if self.asked.is_set():
            self.asked.clear()
            self.stopped.set()
            return True
        return Budget.is_spent(self, cost)

    def ended_by(self, cost: Cost) -> str | None:
        """The option that ended a run, unless somebody did."""
        return None if self.stopped.is_set() else Budget.ended_by(self, cost)


class Trial:
    """A model and what gives a fitted perturbator (where one is needed), to try a text on."""

    def __init__(self, predictor: Predictor, perturbator: Callable[[], Perturbator | None], settings: Settings) -> None:
        self._predictor = predictor
        self._perturbator = perturbator
        self._settings = settings
        self._made: LocalScore | None = None

    def answer(self, text: str, *, words: bool) -> dict[str, Any]:
        """The prediction and, if asked for, what every word does; places as JavaScript counts them."""
        kinds = str(self._settings.terms)
        if words and len(tested_positions(text, kinds=kinds)) > MOST_WORDS:
            raise AnchorscopeError(f"Words are tested in texts of up to {MOST_WORDS} words.")
        found = explain_document(text, self._predictor, self._score() if words else None, self._settings.tau, kinds)
        units = utf16(text)
        return {
            "label": found.label,
            "probabilities": {name: round(p, 6) for name, p in found.probabilities.items()},
            "words": [
                {
                    "start": int(units[word.span[0]]),
                    "end": int(units[word.span[1]]),
                    "effect": view.json_values(word.effect),
                    "deviation": view.json_values(word.deviation),
                    "anchor": word.anchor,
                    "agreements": word.agreements,
                    "samples": word.samples,
                }
                for word in found.words
            ],
        }

    def _score(self) -> LocalScore:
        # Not before the first question: by then the run has fitted the perturbator.
        if self._made is None:
            make = registry.resolve("score", str(self._settings.score))
            self._made = make(self._predictor, self._perturbator(), self._settings)
        return self._made


class LiveRun:
    """The thread that owns the model; what it last said is in ``event``, numbered by ``version``."""

    def __init__(
        self,
        folder: Path,
        *,
        run: Run | None = None,
        budget: UntilStopped | None = None,
        waiting: Mapping[str, Any] | None = None,
        trial: Trial | None = None,
        at_end: Callable[[], object] | None = None,
    ) -> None:
        """A kept run in ``folder``; or with ``run`` one that is to be played, ``waiting`` is shown till it begins."""
        self.folder = folder
        self.version = 0
        self.event = ""
        self._run = run
        self._budget = budget
        self._trial = trial
        self._at_end = at_end
        self._state = "starting" if run else "finished"
        self._snapshot: Snapshot | None = None
        self._n_predicted: tuple[int, int] | None = None
        self._error: str | None = None
        self._asked: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._view = json.dumps(waiting).encode() if waiting else None
        self._view_of: tuple[int, str] = (-1, "")
        self._view_at = 0.0
        self._view_lock = Lock()
        self._leaving = Event()
        self._thread = Thread(target=self._work, name="anchorscope-run", daemon=True)
        self._say()

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def leave(self, seconds: float = 10.0) -> None:
        """End the thread after the round in flight; the journal is closed behind it."""
        self._leaving.set()
        self._asked.put(lambda: None)
        if self._thread.is_alive():
            self._thread.join(seconds)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to come."""
        return self._state in ("finished", "stopped", "failed")

    def control(self, action: str) -> None:
        """Pause, resume or stop, after the round in flight."""
        self._asked.put(lambda: self._control(action))

    def ask(self, text: str, *, words: bool) -> Future[dict[str, Any]]:
        """What the model says of a text, when the round in flight is over."""
        future: Future[dict[str, Any]] = Future()
        trial = self._trial
        if trial is None:
            future.set_exception(AnchorscopeError("There is no model behind this page: give --model."))
            return future

        def answer() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(trial.answer(text, words=words))
            except BaseException as error:  # whatever a model raises, its thread goes on
                future.set_exception(error)

        self._asked.put(answer)
        return future

    def view(self) -> bytes:
        """The whole view as JSON: made anew if there is more to show, but not too often."""
        with self._view_lock:
            now = (self._snapshot.round if self._snapshot else 0, self._state)
            fresh = self._view_of == now or (not self.is_done and monotonic() - self._view_at < VIEW_SECONDS)
            if self._view is None or not fresh:
                try:
                    self._view = json.dumps(view.page_data(self.folder), allow_nan=False).encode()
                except RunFolderError:
                    if self._view is None:
                        raise
                else:
                    self._view_of = now
                    self._view_at = monotonic()
            return self._view

    def _work(self) -> None:
        try:
            if self._run is not None:
                self._play(self._run)
        except Exception as error:
            self._state = "failed"
            self._error = str(error) or type(error).__name__
        self._say()
        while not self._leaving.is_set():
            self._asked.get()()

    def _play(self, run: Run) -> None:
        run.on_predicted = self._predicted
        snapshots = run.snapshots()
        assert isinstance(snapshots, Generator)
        try:
            for snapshot in self._paced(snapshots):
                self._snapshot = snapshot
                if self._state == "starting":
                    self._state = "running"
                self._say()
        finally:
            snapshots.close()
        if self._snapshot and self._snapshot.finished:
            if self._at_end:
                self._at_end()
            self._state = "stopped" if self._budget and self._budget.stopped.is_set() else "finished"

    def _predicted(self, n: int, n_documents: int) -> None:
        self._n_predicted = (n, n_documents)
        self._say()

    def _paced(self, snapshots: Iterator[Snapshot]) -> Iterator[Snapshot]:
        """The snapshots; before each of them questions are answered, and a pause is waited out."""
        while not self._leaving.is_set():
            try:
                while self._snapshot:
                    self._asked.get(block=self._state == "paused")()
                    if self._leaving.is_set():
                        return
            except Empty:
                pass
            try:
                yield next(snapshots)
            except StopIteration:
                return

    def _control(self, action: str) -> None:
        if self.is_done:
            return
        if action == "stop" and self._budget:
            self._budget.asked.set()
            self._state = "stopping"
        elif action in ("pause", "resume") and self._state in ("running", "paused"):
            self._state = {"pause": "paused", "resume": "running"}[action]
        self._say()

    def _say(self) -> None:
        said = {
            "state": self._state,
            "done": self.is_done,
            "controls": self._run is not None,
            "canTry": self._trial is not None,
            "error": self._error,
            "predicted": None if self._snapshot else self._n_predicted,
            "round": self._snapshot.round if self._snapshot else 0,
            "snapshot": view.event_data(self._snapshot) if self._snapshot else None,
        }
        self.event = json.dumps(said, allow_nan=False)
        self.version += 1

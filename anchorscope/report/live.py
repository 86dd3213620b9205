"""The live page: a run in progress, or a kept one, for the browser of whoever started it.

One thread owns the model: it plays the rounds of the run and, between two of them, answers what the page asks (a text
to try, pause, resume, stop). The server only reads what this thread last said, so neither a slow browser nor a
thousand of them hold up the run. The event stream sends the newest snapshot; a client that is slow misses some.

The server listens on 127.0.0.1, and ``guard.py`` says who may ask it. Files are served by name from a fixed list: no
part of a path is looked up.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Literal

from anchorscope.errors import AnchorscopeError, InputError, MissingPackageError, RunFolderError
from anchorscope.local import explain_document, tested_positions
from anchorscope.report import page, view
from anchorscope.run import Budget, Run
from anchorscope.sampling.engine import Engine
from anchorscope.settings import ONE_DOCUMENT, Settings
from anchorscope.types import Cost, Perturbator, Predictor, Snapshot

try:
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
    from pydantic import BaseModel, Field

    from anchorscope.report.guard import Guard, PatientProtocol
except ImportError as error:
    raise MissingPackageError("fastapi", "serve", "the live page") from error

PORT = 8765
LONGEST_TEXT = 20_000
MOST_WORDS = 400
"""Words of a text whose anchors are looked for on the page."""

MOST_STREAMS = 16
POLL_SECONDS, HEARTBEAT_SECONDS = 0.15, 15.0
VIEW_SECONDS = 2.0
ANSWER_SECONDS = 120.0

TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
ASSETS = {name: TYPES[Path(name).suffix] for name in (*page.SCRIPTS, page.STYLE)}


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


class Trial:
    """A model and a fitted perturbator, to try a text on."""

    def __init__(self, predictor: Predictor, perturbator: Perturbator, settings: Settings) -> None:
        self._predictor, self._perturbator = predictor, perturbator
        self._settings = replace(settings, **ONE_DOCUMENT)
        self._made: Engine | None = None

    def answer(self, text: str, *, anchors: bool) -> dict[str, Any]:
        """The prediction and, if asked for, the test of every word; places as JavaScript counts them."""
        if anchors and len(tested_positions(text)) > MOST_WORDS:
            raise AnchorscopeError(f"Anchors are looked for in texts of up to {MOST_WORDS} words.")
        found = explain_document(text, self._predictor, self._engine() if anchors else None, self._settings.tau)
        units = view.utf16(text)
        return {
            "label": found.label,
            "probabilities": {name: round(p, 6) for name, p in found.probabilities.items()},
            "words": [
                {
                    "start": int(units[word.span[0]]),
                    "end": int(units[word.span[1]]),
                    "anchor": word.anchor,
                    "agreements": word.agreements,
                    "samples": word.samples,
                }
                for word in found.words
            ],
        }

    def _engine(self) -> Engine:
        # Not before the first question: by then the run has fitted the perturbator.
        settings = self._settings
        self._made = self._made or Engine(self._predictor, self._perturbator, settings.sampling, settings.anchor_test)
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
        self.folder, self.version, self.event = folder, 0, ""
        self._run, self._budget, self._trial, self._at_end = run, budget, trial, at_end
        self._state = "starting" if run else "finished"
        self._snapshot: Snapshot | None = None
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
        self._thread.join(seconds)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to come."""
        return self._state in ("finished", "stopped", "failed")

    def control(self, action: str) -> None:
        """Pause, resume or stop, after the round in flight."""
        self._asked.put(lambda: self._control(action))

    def ask(self, text: str, *, anchors: bool) -> Future[dict[str, Any]]:
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
                future.set_result(trial.answer(text, anchors=anchors))
            except Exception as error:
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
                    self._view_of, self._view_at = now, monotonic()
            return self._view

    def _work(self) -> None:
        try:
            if self._run is not None:
                self._play(self._run)
        except Exception as error:
            self._state, self._error = "failed", str(error) or type(error).__name__
        self._say()
        while not self._leaving.is_set():
            self._asked.get()()

    def _play(self, run: Run) -> None:
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
            "round": self._snapshot.round if self._snapshot else 0,
            "snapshot": view.event_data(self._snapshot) if self._snapshot else None,
        }
        self.event = json.dumps(said, allow_nan=False)
        self.version += 1


class Question(BaseModel):
    """A text to try."""

    text: str = Field(max_length=LONGEST_TEXT)
    anchors: bool = False


class Wish(BaseModel):
    """What the run should do."""

    action: Literal["pause", "resume", "stop"]


def make_app(live: LiveRun, *, token: str, port: int) -> Guard:
    """The page of a run, behind its guard."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    n_streams = 0

    @app.get("/")
    def index() -> HTMLResponse:
        return HTMLResponse(page.live_page())

    @app.get("/page/{name}")
    def asset(name: str) -> Response:
        if name not in ASSETS:
            raise HTTPException(404)
        return Response(page.asset(name), media_type=ASSETS[name])

    @app.get("/view.json")
    def whole_view() -> Response:
        return Response(live.view(), media_type="application/json")

    @app.get("/events")
    async def events() -> StreamingResponse:
        nonlocal n_streams
        if n_streams >= MOST_STREAMS:
            raise HTTPException(503)

        async def stream() -> AsyncIterator[str]:
            nonlocal n_streams
            n_streams += 1
            try:
                sent, last = -1, monotonic()
                while True:
                    if live.version != sent:
                        sent, last = live.version, monotonic()
                        yield f"data: {live.event}\n\n"
                    elif monotonic() - last > HEARTBEAT_SECONDS:
                        last = monotonic()
                        yield ": still here\n\n"
                    await asyncio.sleep(POLL_SECONDS)
            finally:
                n_streams -= 1

        return StreamingResponse(stream(), media_type="text/event-stream")

    @app.post("/control")
    def control(wish: Wish) -> dict[str, bool]:
        live.control(wish.action)
        return {"asked": True}

    @app.post("/try")
    async def try_it(question: Question) -> dict[str, Any]:
        try:
            answer = asyncio.wrap_future(live.ask(question.text, anchors=question.anchors))
            return await asyncio.wait_for(answer, ANSWER_SECONDS)
        except AnchorscopeError as error:
            raise HTTPException(422, str(error)) from error
        except asyncio.TimeoutError as error:
            raise HTTPException(503, "The model takes too long; try again when the run is over.") from error

    @app.exception_handler(HTTPException)
    def refused(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": error.detail}, error.status_code)

    @app.exception_handler(RequestValidationError)
    def misunderstood(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": "; ".join(str(one["msg"]) for one in error.errors())}, 422)

    @app.exception_handler(Exception)
    def failed(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": f"{type(error).__name__}: {error}"}, 500)

    return Guard(app, token=token, port=port)


def listen(port: int | None) -> socket.socket:
    """A socket on 127.0.0.1; without a port our own, or any that is free."""
    for candidate in (PORT, 0) if port is None else (port,):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", candidate))
        except OSError as error:
            listener.close()
            if port is not None:
                raise InputError(f"Port {port} cannot be used ({error.strerror}); choose another --port.") from error
        else:
            return listener
    raise InputError("There is no free port.")


def serve(live: LiveRun, *, port: int | None, announce: Callable[[str], None]) -> None:
    """Show a run until the process is interrupted; ``announce`` is given the address."""
    server, listener, address = make_server(live, port=port)
    announce(address)
    live.start()
    try:
        server.run(sockets=[listener])
    finally:
        live.leave()


def make_server(live: LiveRun, *, port: int | None = None) -> tuple[uvicorn.Server, socket.socket, str]:
    """A server, the socket it should listen on, and the address with the token."""
    listener = listen(port)
    found, token = listener.getsockname()[1], secrets.token_urlsafe(24)
    config = uvicorn.Config(
        make_app(live, token=token, port=found),
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        access_log=False,
        log_level="error",
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=16_384,
    )
    return uvicorn.Server(config), listener, f"http://127.0.0.1:{found}/?token={token}"

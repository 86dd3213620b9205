"""The server of the live page: what the browser of whoever started it may ask.

It listens on 127.0.0.1, and ``guard.py`` says who may ask it. Files are served by name from a fixed list: no part of a
path is looked up. It only reads what the thread of the run last said, and hands questions on to it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from anchorscope.errors import AnchorscopeError, InputError, MissingPackageError
from anchorscope.report import page
from anchorscope.report.live import LiveRun

try:
    import uvicorn
    from fastapi import APIRouter, FastAPI, HTTPException, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
    from pydantic import BaseModel, Field
    from starlette.types import Receive, Scope, Send

    from anchorscope.report.guard import Guard, PatientProtocol
except ImportError as error:
    raise MissingPackageError("fastapi", "serve", "the live page") from error

PORT = 8765
LAST_PORT = 65535
LONGEST_TEXT = 20_000
MOST_STREAMS = 16
POLL_SECONDS = 0.15
HEARTBEAT_SECONDS = 15.0
ANSWER_SECONDS = 120.0

_logger = logging.getLogger(__name__)

TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
ASSETS = {name: TYPES[Path(name).suffix] for name in (*page.SCRIPTS, page.STYLE)}


IsEnding = Callable[[], bool]
"""Says whether the server has been told to end."""


class Question(BaseModel):
    """A text to try; with ``words``, what each of them does."""

    text: str = Field(max_length=LONGEST_TEXT)
    words: bool = False


class Wish(BaseModel):
    """What the run should do."""

    action: Literal["pause", "resume", "stop"]


class AsciiJSON(JSONResponse):
    """JSON that can always be sent: half a character, as a model's error may hold one, is written as its number."""

    def render(self, content: Any) -> bytes:
        """The bytes of a body."""
        return json.dumps(content, allow_nan=False).encode("ascii")


class EventStream(StreamingResponse):
    """The newest snapshot whenever there is one; a place among the streams is given back however it ends."""

    def __init__(self, live: LiveRun, is_ending: IsEnding, leave: Callable[[], None]) -> None:
        super().__init__(_events(live, is_ending), media_type="text/event-stream")
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client goes."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


async def _events(live: LiveRun, is_ending: IsEnding) -> AsyncIterator[str]:
    sent = -1
    last = monotonic()
    while not is_ending():  # the server waits for a moment, and then ends with an error what has not come to its end
        if live.version != sent:
            sent = live.version
            last = monotonic()
            yield f"data: {live.event}\n\n"
        elif monotonic() - last > HEARTBEAT_SECONDS:
            last = monotonic()
            yield ": still here\n\n"
        await asyncio.sleep(POLL_SECONDS)


def make_app(live: LiveRun, *, token: str, port: int, is_ending: IsEnding = lambda: False) -> Guard:
    """The page of a run, behind its guard."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, default_response_class=AsciiJSON)
    app.include_router(_pages(live, is_ending))
    app.include_router(_questions(live, is_ending))
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(AnchorscopeError, _not_answered)
    app.add_exception_handler(Exception, _failed)
    return Guard(app, token=token, port=port)


def _pages(live: LiveRun, is_ending: IsEnding) -> APIRouter:
    """What is read: the page, its parts, the view, and the events."""
    router = APIRouter()
    streams: set[object] = set()

    @router.get("/")
    def index() -> HTMLResponse:
        return HTMLResponse(page.live_page())

    @router.get("/page/{name}")
    def asset(name: str) -> Response:
        if name not in ASSETS:
            raise HTTPException(404)
        return Response(page.asset(name), media_type=ASSETS[name])

    @router.get("/view.json")
    def whole_view() -> Response:
        return Response(live.view(), media_type="application/json")

    @router.get("/events")
    async def events() -> EventStream:
        if len(streams) >= MOST_STREAMS:
            raise HTTPException(503)
        place = object()
        streams.add(place)  # here, before anything is sent: many may ask at once
        return EventStream(live, is_ending, lambda: streams.discard(place))

    return router


def _questions(live: LiveRun, is_ending: IsEnding) -> APIRouter:
    """What is asked of the run's thread."""
    router = APIRouter()

    @router.post("/control")
    def control(wish: Wish) -> dict[str, bool]:
        live.control(wish.action)
        return {"asked": True}

    @router.post("/try")
    async def try_it(question: Question, request: Request) -> dict[str, Any]:
        answer = asyncio.wrap_future(live.ask(question.text, words=question.words))
        try:
            return await _while_somebody_waits(answer, request, is_ending)
        except asyncio.TimeoutError as error:
            raise HTTPException(503, "The model takes too long; try again when the run is over.") from error
        except BaseException as error:
            if answer.done() and not answer.cancelled() and not isinstance(error, Exception):
                # What a model raises beside Python's exceptions is the model's failure, not the server's end.
                raise HTTPException(500, f"The model failed: {type(error).__name__}: {error}") from error
            raise

    return router


async def _while_somebody_waits(
    answer: asyncio.Future[dict[str, Any]], request: Request, is_ending: IsEnding
) -> dict[str, Any]:
    """The answer; a question that nobody waits for any more is not computed, if that has not begun."""
    end = monotonic() + ANSWER_SECONDS
    while True:
        done, _ = await asyncio.wait({answer}, timeout=POLL_SECONDS)
        if done:
            return answer.result()
        if is_ending():
            answer.cancel()
            raise HTTPException(503, "The page is closed.")
        if await request.is_disconnected():
            answer.cancel()
            raise HTTPException(499, "Nobody waits for the answer any more.")
        if monotonic() > end:
            answer.cancel()
            raise asyncio.TimeoutError


def _refused(_: Request, error: Exception) -> AsciiJSON:
    assert isinstance(error, HTTPException)
    return AsciiJSON({"error": error.detail}, error.status_code)


def _misunderstood(_: Request, error: Exception) -> AsciiJSON:
    assert isinstance(error, RequestValidationError)
    return AsciiJSON({"error": "; ".join(str(one["msg"]) for one in error.errors())}, 422)


def _not_answered(_: Request, error: Exception) -> AsciiJSON:
    return AsciiJSON({"error": str(error)}, 422)


def _failed(_: Request, error: Exception) -> AsciiJSON:
    told = f"{type(error).__name__}: {error}"
    _logger.error("the page: %s (this should not happen; -v shows where it did)", told)
    _logger.info("the page failed", exc_info=error)
    return AsciiJSON({"error": told}, 500)


def listen(port: int | None) -> socket.socket:
    """A socket on 127.0.0.1; without a port our own, or any that is free."""
    if port is not None and not 0 <= port <= LAST_PORT:
        raise InputError(f"A port is a number from 0 to {LAST_PORT}, not {port}; choose another --port.")
    for candidate in (PORT, 0) if port is None else (port,):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", candidate))
            listener.listen()  # only then is the port ours: two servers that start at once could both bind it
        except OSError as error:
            listener.close()
            if port is not None:
                raise InputError(f"Port {port} cannot be used ({error.strerror}); choose another --port.") from error
        else:
            return listener
    raise InputError("There is no free port.")


def serve(live: LiveRun, *, port: int | None, announce: Callable[[str], None]) -> None:
    """Show a run until the process is interrupted; ``announce`` is given the address.

    A kept run that cannot be shown is refused here, before anybody is sent to its page.
    """
    if live.is_done:
        live.view()
    server, listener, address = make_server(live, port=port)
    with listener:
        try:  # who reads the address may end us at once, while the thread is being started
            announce(address)
            live.start()
            server.run(sockets=[listener])
        finally:
            live.leave()


def make_server(live: LiveRun, *, port: int | None = None) -> tuple[uvicorn.Server, socket.socket, str]:
    """A server, the socket it should listen on, and the address with the token."""
    listener = listen(port)
    found = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    config = uvicorn.Config(
        make_app(live, token=token, port=found, is_ending=lambda: server.should_exit),
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        access_log=False,
        log_config=None,  # messages go where ours go, in which nothing is sent to a terminal as a command
        log_level="error",
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=16_384,
    )
    server = uvicorn.Server(config)
    return server, listener, f"http://127.0.0.1:{found}/?token={token}"

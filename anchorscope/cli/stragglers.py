"""What a model has left behind, threads and last words: the command does not wait for them once it is done.

Python ends a process when the last thread that is no daemon has ended, and all that was registered with ``atexit`` has
returned. A model that starts a thread and forgets it, or that says goodbye to a server which is gone, would keep the
command alive for ever, after its result is written. Pools that are idle end by themselves, and libraries tidy up, so
they get some time.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from threading import Thread, enumerate, main_thread
from time import sleep
from typing import NoReturn

log = logging.getLogger(__name__)

PATIENCE = 3.0
"""Seconds that threads get to come to an end."""

FAREWELL = 15.0
"""Seconds that all else gets: a library that ends servers or workers of its own takes some."""


def leave_stragglers(status: int) -> None:
    """See to it that the process ends with this status, soon after its work is done."""
    Thread(target=_end, args=(status,), name="anchorscope-end", daemon=True).start()


def _end(status: int) -> None:
    sleep(PATIENCE)
    left = len(_stragglers())
    if left:
        _leave(f"{left} thread{'s' if left > 1 else ''} running", status)
    sleep(FAREWELL - PATIENCE)
    _leave("something to do at the end that takes long", status)


def _leave(what: str, status: int) -> NoReturn:
    with suppress(Exception):
        log.warning("The model has left %s, which nobody waits for.", what)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(status)


def _stragglers() -> list[Thread]:
    return [thread for thread in enumerate() if not thread.daemon and thread is not main_thread()]

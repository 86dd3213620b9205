"""Threads that a model has left behind: the command does not wait for them once it is done.

Python ends a process when the last thread that is no daemon has ended. A model that starts one and forgets it would
keep the command alive for ever, after its result is written. Pools that are idle end by themselves, so they get some
time.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from threading import Thread, enumerate, main_thread
from time import sleep

log = logging.getLogger(__name__)

PATIENCE = 3.0
"""Seconds that threads get to come to an end."""


def leave_stragglers(status: int) -> None:
    """See to it that the process ends with this status, soon after its work is done."""
    if _stragglers():
        Thread(target=_end, args=(status,), name="anchorscope-end", daemon=True).start()


def _end(status: int) -> None:
    sleep(PATIENCE)
    left = _stragglers()
    if not left:
        return
    names = f"{len(left)} thread{'s' if len(left) > 1 else ''}"
    with suppress(Exception):
        log.warning("The model has left %s running, which nobody waits for.", names)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(status)


def _stragglers() -> list[Thread]:
    return [thread for thread in enumerate() if not thread.daemon and thread is not main_thread()]

"""A model runs in our process, and may change it: what our own answers depend on is put back after every call.

    numpy's error handling   a model that says np.seterr(all="raise") would make our sums raise
    the current folder       a model that changes it would make relative paths mean something else
    the process itself       a model that forks and returns in the child would have the child write our files: the child
                             ends there, and what it had to say is lost with it

>>> with process_as_it_was("a model"):
...     _ = np.seterr(all="raise")
>>> np.geterr()["divide"] != "raise"
True
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

log = logging.getLogger(__name__)

CHILD_STATUS = 70
"""The exit status of a process that a model forked and let go on as if it were ours."""


@contextmanager
def process_as_it_was(model: str) -> Iterator[None]:
    """Put back what a model may change of the process, and say which one did."""
    number = os.getpid()
    errors = np.geterr()
    folder = _current_folder()
    try:
        yield
    finally:
        if os.getpid() != number:
            os._exit(CHILD_STATUS)
        if np.geterr() != errors:
            np.seterr(**errors)
            log.info("%s changed how numpy handles errors; that is put back.", model)
        if folder is not None and _current_folder() != folder:
            with suppress(OSError):
                os.chdir(folder)
            log.info("%s changed the current folder; that is put back.", model)


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None

"""``python -m anchorscope.cli`` is the command ``anchorscope``."""

import os
import sys
from typing import NoReturn, TextIO, cast

from anchorscope.asking.printed import HarmlessStream, show_uncaught_harmlessly
from anchorscope.cli import main, occupy_closed_streams
from anchorscope.cli.stragglers import leave_stragglers


def run() -> NoReturn:
    """Do what the process's arguments ask for, and end the process."""
    occupy_closed_streams()
    _keep_data_apart()
    show_uncaught_harmlessly()
    status = main()
    leave_stragglers(status)
    _forget_lost_streams()
    sys.stdout = _voice_of_stragglers()
    sys.exit(status)


def _keep_data_apart() -> None:
    """Give data a file that nobody else knows: what a model's library writes to the standard output by its number, or a
    process that a model starts, is no data and goes where messages go."""
    if sys.stdout is None or sys.stdout.closed:
        return
    data = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = open(data, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: SIM115


def _voice_of_stragglers() -> TextIO:
    """What is printed when all is done, by threads and at the end of the process, is no data, and harmless."""
    voice = sys.stderr
    return cast(TextIO, HarmlessStream(voice)) if voice is not None and voice.isatty() else voice


def _forget_lost_streams() -> None:
    """A stream that a model has made unusable would change the status: Python flushes it once more, and fails."""
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except (ValueError, AttributeError):
            setattr(sys, name, None)
        except OSError:
            pass  # a full disk, or a reader that has gone: Python says so itself


if __name__ == "__main__":
    run()

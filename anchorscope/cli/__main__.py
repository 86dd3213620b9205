"""``python -m anchorscope.cli`` is the command ``anchorscope``."""

import sys
from typing import NoReturn

from anchorscope.cli import main
from anchorscope.cli.stragglers import leave_stragglers


def run() -> NoReturn:
    """Do what the process's arguments ask for, and end the process."""
    status = main()
    leave_stragglers(status)
    _forget_lost_streams()
    sys.exit(status)


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

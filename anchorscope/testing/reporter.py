"""What every reporter promises. What makes one takes a text stream."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import TextIO

from anchorscope.testing.work import snapshot
from anchorscope.types import Reporter

Make = Callable[[TextIO], Reporter]


def takes_snapshots(make: Make) -> None:
    """As many as come, hostile terms and empty labels among them."""
    reporter = make(StringIO())
    reporter.open()
    for round_ in range(3):
        reporter.update(snapshot(round_))
    reporter.close()


def can_be_closed_before_the_first_one(make: Make) -> None:
    """As when a run fails at once."""
    reporter = make(StringIO())
    reporter.open()
    reporter.close()


CHECKS = (takes_snapshots, can_be_closed_before_the_first_one)

"""A run as it goes, on the error output: a live table in a terminal, else a line of progress now and then.

The table is drawn by a thread of its own a few times a second, from the last snapshot (a frozen value): a run that
reports a thousand rounds a second draws no more than one that reports ten. The live table shows as many terms as the
window holds, and goes away at the end: the final one is data, and belongs to the standard output.

Arrows tell how a term moved within the last seconds, so that they can be read before they change.
"""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack
from dataclasses import replace
from math import inf
from time import monotonic
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from anchorscope.asking.budget import Budget
from anchorscope.asking.printed import printed_above
from anchorscope.errors import plural
from anchorscope.report.lists import full_bars
from anchorscope.report.table import (
    WIDEST_BLOCK,
    Layout,
    Moves,
    block,
    colours,
    columns,
    safe,
    side_by_side,
)
from anchorscope.types import Cost, Snapshot

FRAMES_A_SECOND = 4
MOVES_SECONDS = 3.0
LINE_SECONDS = 5.0
TERM_WIDTH = 14
FEWEST_TERMS = 3

Ranks = dict[tuple[str, str], int]


class Pace:
    """How fast a run goes, read from its snapshots; what an earlier, interrupted part took counts as well.

    The time left is what the tests to come take, or what the budget leaves, whichever is less.
    """

    def __init__(self, price_per_1000: float | None = None, budget: Budget | None = None) -> None:
        self._start = monotonic()
        self._price_per_1000 = price_per_1000
        self._budget = budget or Budget()
        self._first: Cost | None = None

    def figures(self, snapshot: Snapshot) -> list[str]:
        """Tests done and to come, time passed, calls a second, time left, labels settled: in words."""
        cost = snapshot.cost
        planned = snapshot.tests_planned
        self._first = self._first or cost
        tests = cost.tests - self._first.tests
        seconds = cost.seconds - self._first.seconds
        told = [f"{cost.tests:,} of {cost.tests + planned:,} tests", clock(monotonic() - self._start)]
        if tests and seconds > 0:
            calls = cost.predictor_texts - self._first.predictor_texts
            answers = cost.answers - self._first.answers
            of_tests = seconds / tests * planned
            of_budget = min(
                self._budget.seconds_left(cost), self._budget.calls_left(cost) * seconds / answers if answers else inf
            )
            left = clock(min(of_tests, of_budget))
            is_bound = _is_race(snapshot) or of_budget < of_tests
            told += [f"{calls / seconds:,.0f} calls/s", f"at most {left} left" if is_bound else f"{left} left"]
        if cost.predictor_tokens:
            told.append(f"{cost.predictor_tokens:,} tokens")
        if self._price_per_1000 is not None:
            told.append(f"{cost.predictor_texts * self._price_per_1000 / 1000:,.2f} to be paid")
        asked = [explanation for explanation in snapshot.explanations.values() if explanation.asked]
        return [*told, f"{sum(explanation.settled for explanation in asked)} of {len(asked)} settled"]


def live_table(stream: TextIO) -> LiveTable:
    """The live table on a terminal."""
    return LiveTable(Console(file=stream, highlight=False), "the first terms come in a moment")


class LiveTable:
    """The top terms while they change."""

    def __init__(
        self, console: Console, first: str, *, price_per_1000: float | None = None, budget: Budget | None = None
    ) -> None:
        """``first`` is what is shown until there are terms."""
        self._console = console
        self._waiting = Spinner("dots", Text(safe(first), "dim"))
        self._snapshot: Snapshot | None = None
        self._pace = Pace(price_per_1000, budget)
        self._past: deque[tuple[float, Ranks]] = deque()
        self._drawing = ExitStack()
        self._live = Live(
            console=console,
            get_renderable=self._picture,
            refresh_per_second=FRAMES_A_SECOND,
            transient=True,
            redirect_stdout=False,
            vertical_overflow="crop",
        )

    def open(self) -> None:
        """Start to draw."""
        self._drawing.enter_context(printed_above(self._console))
        self._live.start()

    def update(self, snapshot: Snapshot) -> None:
        """Show this from the next frame on; before the first test there is nothing to rank."""
        if not snapshot.cost.tests:
            return
        now = monotonic()
        self._past.append((now, _ranks(snapshot)))
        while len(self._past) > 1 and self._past[1][0] <= now - MOVES_SECONDS:
            self._past.popleft()
        self._snapshot = snapshot

    def predicted(self, n: int, n_documents: int) -> None:
        """Say how many documents are predicted, until there are terms."""
        self._waiting.update(text=Text(predicted_text(n, n_documents), "dim"))

    def close(self) -> None:
        """Take the table away."""
        self._live.stop()
        self._drawing.close()

    def _picture(self) -> RenderableType:
        snapshot = self._snapshot
        if snapshot is None:
            return self._waiting
        width, height = self._console.size
        moves = _moves(self._past[0][1], snapshot)
        return Group(*_blocks(snapshot, moves, width, height - 4), *self._progress(snapshot, width))

    def _progress(self, snapshot: Snapshot, width: int) -> list[Text]:
        share = snapshot.cost.tests / (snapshot.cost.tests + snapshot.tests_planned)
        length = min(width, WIDEST_BLOCK) - 6
        filled = int(length * share)
        line = Text.assemble((f"{share:4.0%}  ", "bold"), ("━" * filled, "green"), ("─" * (length - filled), "dim"))
        figures = Text(" · ".join(self._pace.figures(snapshot)), "dim", no_wrap=True, overflow="ellipsis")
        return [Text(), line, figures]


class ProgressLines:
    """A line every few seconds, for logs."""

    def __init__(self, stream: TextIO, *, price_per_1000: float | None = None, budget: Budget | None = None) -> None:
        self._stream = stream
        self._pace = Pace(price_per_1000, budget)
        self._last = monotonic()

    def open(self) -> None:
        """Nothing to prepare."""

    def update(self, snapshot: Snapshot) -> None:
        """Say where the run stands, unless that was said just now."""
        figures = self._pace.figures(snapshot)
        if monotonic() - self._last >= LINE_SECONDS:
            self._last = monotonic()
            print(f"anchorscope: {', '.join(figures)}", file=self._stream, flush=True)

    def predicted(self, n: int, n_documents: int) -> None:
        """Say how many documents are predicted, unless something was said just now."""
        if monotonic() - self._last >= LINE_SECONDS:
            self._last = monotonic()
            print(f"anchorscope: {predicted_text(n, n_documents)}", file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing to take away."""


def predicted_text(n: int, n_documents: int) -> str:
    """How far predicting has come.

    >>> predicted_text(682, 2935)
    'predicting documents: 682 of 2,935'
    """
    return f"predicting documents: {n:,} of {n_documents:,}"


def clock(seconds: float) -> str:
    """A time as on a clock.

    >>> clock(9.6), clock(83), clock(7384)
    ('0:10', '1:23', '2:03:04')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _blocks(snapshot: Snapshot, moves: Moves, width: int, height: int) -> list[Text]:
    """The labels that fit into the window, each with as many of its lines as fit."""
    across, each = columns(len(snapshot.explanations), width)
    terms = [term for e in snapshot.explanations.values() for term in e.terms]
    layout = replace(Layout.of(terms, each, moves=True), term=TERM_WIDTH, intervals=True, members=_is_race(snapshot))
    n_rows = -(-len(snapshot.explanations) // across)
    shown_rows = max(1, min(n_rows, height // (FEWEST_TERMS + 3)))
    n_lines = max(3, height // shown_rows - 1)
    explanations = list(snapshot.explanations.values())[: shown_rows * across]
    every = zip(explanations, colours(), full_bars(explanations))
    blocks = [block(e, layout, colour, full, moves=moves)[:n_lines] for e, colour, full in every]
    lines = side_by_side(blocks, across, each)
    if hidden := len(snapshot.explanations) - len(explanations):
        lines.append(Text(f"… and {plural(hidden, 'more label')}", "dim"))
    return lines


def _is_race(snapshot: Snapshot) -> bool:
    """Whether the run ends as soon as its lists are good enough: a race has a regret."""
    return any(explanation.regret is not None for explanation in snapshot.explanations.values())


def _ranks(snapshot: Snapshot) -> Ranks:
    return {
        (label, term.term): rank
        for label, explanation in snapshot.explanations.items()
        for rank, term in enumerate(explanation.terms)
    }


def _moves(past: Ranks, snapshot: Snapshot) -> Moves:
    return {key: past[key] - rank if key in past else None for key, rank in _ranks(snapshot).items()}

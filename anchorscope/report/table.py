"""Terms as lines of text: the one layout behind the live table and the final one.

    positive · 2,158 documents · regret 1.2% · settled
      # by score                           score           tested/of
      1  performances  ██████████████████     5.52            2/64
      3  best          ████████████████▌      5.11            2/75
      not shown to do more than any other term so far:
      2  camera        ████████████████▊      5.20            2/40
      against positive:
      1  bad           ███████████████▏      -4.93            2/51

A label is a block of lines of one width, so blocks stand side by side where there is room. Widths are counted in
terminal cells: an emoji or a Chinese character takes two.

Terms, labels and texts come from strangers. They are never read as markup, and whatever could move the cursor,
change colours or turn the direction of writing is shown as a replacement character.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from anchorscope.asking.printed import safe as safe
from anchorscope.errors import clipped
from anchorscope.report.figures import DIGITS, figure, percent
from anchorscope.report.lists import NOTHING_HIDDEN, Row, full_bars, listed, parts, standing
from anchorscope.report.names import explained_names
from anchorscope.result import Result, not_tested
from anchorscope.types import Explanation, Term

WIDTH = 80
"""The width of a table that is not shown in a terminal."""

BLOCK = 72
WIDEST_BLOCK = 100
"""The least and the greatest width of a label's block; two stand side by side from 147 columns."""

GUTTER = 3
RANK = 3
MOVE = 4
SCORE = 8
INTERVAL = 13
MEMBER = 6
COUNTS = 14
SHORTEST_TERM = 8
LONGEST_TERM = 24
NARROWEST = RANK + 2 + 2 + 1 + SCORE + 2 + COUNTS
"""What the columns take that are always there, besides term and bar."""

LONGEST_SENTENCE = 4_000
"""Characters of a sentence, which may quote a stranger's label."""

BY_SCORE = "by score"
"""What the number of a term is, whether it stands above the line or below: above it numbers may be missing."""

OWN_SCALES = "Bars: the labels are far apart, so each has a scale of its own."

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")

Moves = Mapping[tuple[str, str], int | None]
"""How many ranks a (label, term) has risen of late; None where it is new in the list."""

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def result_table(result: Result, width: int = WIDTH, *, hide: Collection[str] = NOTHING_HIDDEN) -> Text:
    """The top terms of every label, as the end of a run shows them; ``.plain`` has no colours.

    ``hide`` are terms that are named in a line instead.
    """
    table = explanations_table(result.explanations, width, hide=hide)
    lines = [line for told in not_tested(result.documents) for line in _sentence(told, width, indent="")]
    return Text("\n").join([table, Text(), *lines]) if lines else table


def explanations_table(
    explanations: Mapping[str, Explanation], width: int = WIDTH, *, hide: Collection[str] = NOTHING_HIDDEN
) -> Text:
    """The blocks of all labels, as many side by side as fit."""
    terms = [term for e in explanations.values() for _, term in listed(e, hide).rows]
    across, each = columns(len(explanations), width)
    layout = Layout.of(terms, each)
    full = full_bars(explanations.values(), hide)
    every = zip(explanations.values(), colours(), full)
    blocks = [block(e, layout, colour, bar_of, hide=hide) for e, colour, bar_of in every]
    lines = side_by_side(blocks, across, each)
    if len({*full}) > 1:
        lines += [Text(), *_sentence(OWN_SCALES, width, indent="")]
    return Text("\n").join(lines)


def names_lines(settings: Mapping[str, Any], level: float, width: int) -> list[str]:
    """What each column and figure says, a paragraph each."""
    named = explained_names(settings, level).items()
    return [line for name, told in named for line in _wrapped(f"{name}: {told}", width, then="  ")]


def columns(n_blocks: int, width: int) -> tuple[int, int]:
    """How many blocks stand side by side, and how wide each is.

    >>> columns(2, 80), columns(2, 160), columns(1, 160)
    ((1, 80), (2, 78), (1, 100))
    """
    across = max(1, min(n_blocks, (width + GUTTER) // (BLOCK + GUTTER)))
    return across, min(WIDEST_BLOCK, (width + GUTTER) // across - GUTTER)


def colours() -> Iterable[str]:
    """A colour for each label, over and over."""
    while True:
        yield from COLOURS


@dataclass(frozen=True, slots=True)
class Layout:
    """The widths of a block's columns; the bar takes what the others leave."""

    width: int
    term: int
    intervals: bool
    members: bool
    anchors: bool
    moves: bool = False

    @classmethod
    def of(cls, terms: Sequence[Term], width: int, *, widest: int = LONGEST_TERM, moves: bool = False) -> Layout:
        """The columns that some terms need."""
        longest = max((cell_len(safe(term.written)) for term in terms), default=0)
        return cls(
            width=width,
            term=max(SHORTEST_TERM, min(longest, widest, width - NARROWEST)),
            intervals=any(term.interval[0] != term.interval[1] for term in terms),
            members=any(term.membership is not None for term in terms),
            anchors=any(term.anchors is not None for term in terms),
            moves=moves,
        )

    @property
    def shows_intervals(self) -> bool:
        """Where there is room for them."""
        return self.intervals and self.width >= BLOCK

    @property
    def bar(self) -> int:
        """The width of the bar."""
        extras = MOVE * self.moves + (2 + INTERVAL) * self.shows_intervals + (2 + MEMBER) * self.members
        return max(0, self.width - NARROWEST - self.term - extras)


def block(
    explanation: Explanation,
    layout: Layout,
    colour: str,
    full: float,
    *,
    hide: Collection[str] = NOTHING_HIDDEN,
    moves: Moves | None = None,
) -> list[Text]:
    """The lines of one label: who it is, drivers, the other terms, what speaks against it, what is hidden.

    ``full`` is the score of a full bar.
    """
    shown = listed(explanation, hide)
    lines = _title(explanation, layout.width, colour)
    if explanation.note:
        lines += _sentence(explanation.note, layout.width, indent="")
    for i, (line, rows) in enumerate(parts(explanation, shown)):
        lines += _sentence(f"{line}:", layout.width) if line else []
        lines += [] if i else [_header(layout)]  # right above the first row
        for rank, term in rows:
            move = (moves or {}).get((explanation.label, term.term), 0)
            lines.append(_term_line((rank, term), layout, full, colour, move, against=rows is shown.against))
    if shown.hidden:
        lines += _sentence(shown.hidden, layout.width)
    return lines


def _sentence(text: str, width: int, indent: str = "  ") -> list[Text]:
    """A sentence between the rows, in as many lines as it takes."""
    lines = _wrapped(safe(text), width, indent, indent)
    return [Text(fit(line, width), "dim italic") for line in lines]


def _wrapped(text: str, width: int, first: str = "", then: str = "") -> list[str]:
    """The lines of a sentence; none ends within a word, so that options can be copied: --max-model-calls.

    Of a longer sentence than there is, the beginning: a word of a megabyte would be cut, line by line, for minutes.
    """
    text = clipped(text, LONGEST_SENTENCE)
    return wrap(text, width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False)


def side_by_side(blocks: Sequence[Sequence[Text]], across: int, width: int) -> list[Text]:
    """Blocks in rows of ``across``, with an empty line between two rows."""
    lines: list[Text] = []
    for start in range(0, len(blocks), across):
        row = blocks[start : start + across]
        lines += [Text()] if start else []
        for i in range(max(map(len, row))):
            cells = [b[i] if i < len(b) else Text(" " * width) for b in row]
            line = Text(" " * GUTTER).join(cells)
            line.rstrip()
            lines.append(line)
    return lines


def bar(share: float, width: int) -> str:
    """A bar in eighths of a cell.

    >>> bar(0.55, 5)
    '██▊  '
    """
    eighths = round(8 * width * min(1.0, max(0.0, share)))
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).ljust(width)


def _title(explanation: Explanation, width: int, colour: str) -> list[Text]:
    """The label and where it stands; what has no room beside it goes to a line of its own."""
    label = fit(safe(explanation.label), width).rstrip()
    lines = [Text.assemble((label, f"bold {colour}"))]
    for part in standing(explanation):
        if lines[-1].cell_len + 3 + cell_len(part) > width:
            lines.append(Text(" "))
        lines[-1].append(f" · {part}" if lines[-1].cell_len > 1 else f" {part}", "dim")
    for line in lines:
        line.truncate(width, overflow="ellipsis", pad=True)
    return lines


def _header(layout: Layout) -> Text:
    first = RANK + MOVE * layout.moves + 2 + layout.term + 2 + layout.bar
    cells = [fit(f"{'#':>{RANK}} {BY_SCORE}", first), " ", "score".rjust(SCORE)]
    cells += ["  ", "interval".rjust(INTERVAL)] if layout.shows_intervals else []
    cells += ["  ", "member".rjust(MEMBER)] if layout.members else []
    cells += ["  ", ("anchors/tested" if layout.anchors else "tested/of").rjust(COUNTS)]
    return Text(fit("".join(cells), layout.width), "dim")


def _term_line(row: Row, layout: Layout, full: float, colour: str, move: int | None, *, against: bool) -> Text:
    rank, term = row
    line = Text().append(str(rank).rjust(RANK), "dim")
    if layout.moves:
        line.append(*_arrow(0 if against else move))
    line.append("  " + fit(safe(term.written), layout.term) + "  ", "bold" if term.driver else "")
    size = -term.score if against else term.score
    line.append(bar(size / full, layout.bar), colour if term.driver else "dim")
    line.append(" " + figure(term.score).rjust(SCORE))
    if layout.shows_intervals:
        line.append("  " + _interval(term).rjust(INTERVAL), "dim")
    if layout.members:
        member = "" if term.membership is None or against else percent(term.membership)
        line.append("  " + member.rjust(MEMBER))
    counts = f"{term.tested:,}/{term.occurrences:,}" if term.anchors is None else f"{term.anchors:,}/{term.tested:,}"
    line.append("  " + counts.rjust(COUNTS), "dim")
    line.truncate(layout.width, pad=True)
    return line


def _arrow(move: int | None) -> tuple[str, str]:
    if move is None:
        return " new", "green"
    if move == 0:
        return " " * MOVE, ""
    return f" {'▲' if move > 0 else '▼'}{abs(move):<2}", "green" if move > 0 else "red"


def _interval(term: Term) -> str:
    """Both ends with the digits of scores, or with fewer where these take too much room."""
    low, high = term.interval
    if low == high:
        # Verdicts are read from samples: another seed may give others, though nothing is left to test.
        return "exact" if term.anchors is None else "final"
    if not (math.isfinite(low) and math.isfinite(high)):
        return "unknown"
    every = ["…".join(figure(end, digits) for end in (low, high)) for digits in range(DIGITS, 0, -1)]
    return next((ends for ends in every if len(ends) <= INTERVAL), every[-1])


def fit(text: str, width: int) -> str:
    """The text in exactly ``width`` cells; what was cut off shows as an ellipsis."""
    text = text[: 4 * width]  # endless combining marks take no width of their own
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"

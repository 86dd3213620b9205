"""Terms as lines of text: the one layout behind the live table and the final one.

    positive · 2,158 documents, 598 robust · settled
      #  term          score                        anchors/tested
      1  performances  ██████████████████  0.00190           55/65
      2  film          ████████████████▌   0.00175         136/341

A label is a block of lines of one width, so blocks stand side by side where there is room. Widths are counted in
terminal cells: an emoji or a Chinese character takes two.

Terms, labels and texts come from strangers. They are never read as markup, and whatever could move the cursor,
change colours or turn the direction of writing is shown as a replacement character.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from anchorscope.result import Result
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

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")

Moves = Mapping[tuple[str, str], int | None]
"""How many ranks a (label, term) has risen of late; None where it is new in the list."""

_UNSAFE = regex.compile(r"[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200c\u200d\U000e0020-\U000e007f]]", regex.V1)
NOT_TOLD_APART = "  below: not told apart from any other word"

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def result_table(result: Result, width: int = WIDTH) -> Text:
    """The top terms of every label, as the end of a run shows them; ``.plain`` has no colours."""
    return explanations_table(result.explanations, width)


def explanations_table(explanations: Mapping[str, Explanation], width: int = WIDTH) -> Text:
    """The blocks of all labels, as many side by side as fit."""
    terms = [term for e in explanations.values() for term in (*e.terms, *e.against)]
    across, each = columns(len(explanations), width)
    layout = Layout.of(terms, each)
    blocks = [block(e, layout, colour) for e, colour in zip(explanations.values(), colours())]
    return Text("\n").join(side_by_side(blocks, across, each))


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
    explanation: Explanation, layout: Layout, colour: str, *, n_terms: int | None = None, moves: Moves | None = None
) -> list[Text]:
    """The lines of one label: who it is, a header, and a line a term."""
    lines = [_title(explanation, layout.width, colour)]
    if explanation.note:
        lines.append(Text(fit(safe(explanation.note), layout.width), "italic"))
    terms = explanation.terms[:n_terms]
    if terms:
        lines.append(_header(layout))
    against = explanation.against[: max(0, n_terms - len(terms))] if n_terms is not None else explanation.against
    scores = [abs(term.score) for term in (*terms, *against)]
    decimals = _decimals(scores)
    reach = max(scores, default=0.0) or 1.0
    below = False
    for rank, term in enumerate(terms, start=1):
        if not term.driver and not below:
            below = True
            lines.append(_line_below(rank > 1, layout.width))
        move = (moves or {}).get((explanation.label, term.term), 0)
        lines.append(_term_line(rank, move, term, term.score / reach, layout, decimals, "dim" if below else colour))
    if against:
        lines.append(Text(fit("  against it:", layout.width), "dim italic"))
    for rank, term in enumerate(against, start=1):
        lines.append(_term_line(rank, 0, term, -term.score / reach, layout, decimals, "dim"))
    return lines


def _line_below(is_first: bool, width: int) -> Text:
    """What is not told apart from any other word stands below this."""
    return Text(fit(NOT_TOLD_APART if is_first else f"{NOT_TOLD_APART} (yet)", width), "dim italic")


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


def safe(text: str) -> str:
    """A stranger's text as one harmless line.

    >>> safe("a\\x1b[31m b\\u202e")
    'a�[31m b�'
    """
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def counted(n: int, noun: str) -> str:
    """A number and what it counts.

    >>> counted(1, "document"), counted(4265, "document")
    ('1 document', '4,265 documents')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def bar(share: float, width: int) -> str:
    """A bar in eighths of a cell.

    >>> bar(0.55, 5)
    '██▊  '
    """
    eighths = round(8 * width * min(1.0, max(0.0, share)))
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).ljust(width)


def _title(explanation: Explanation, width: int, colour: str) -> Text:
    told = counted(explanation.documents, "document")
    if explanation.asked < explanation.documents:
        told = f"about {told}, {explanation.asked:,} asked about"
    if explanation.robust:
        told += f", {'about ' if explanation.robust_of < explanation.documents else ''}{explanation.robust:,} robust"
    if explanation.regret:
        told += f" · regret {explanation.regret:.1%}"
    if explanation.settled and explanation.terms:
        told += " · settled"
    label = safe(explanation.label)
    line = Text.assemble((label, f"bold {colour}"), (f" · {told}", "dim"))
    line.truncate(width, overflow="ellipsis", pad=True)
    return line


def _header(layout: Layout) -> Text:
    cells = ["#".rjust(RANK), " " * MOVE * layout.moves, "  ", "term".ljust(layout.term), "  "]
    cells += [" " * layout.bar, " ", "score".rjust(SCORE)]
    cells += ["  ", "interval".rjust(INTERVAL)] if layout.shows_intervals else []
    cells += ["  ", "member".rjust(MEMBER)] if layout.members else []
    cells += ["  ", ("anchors/tested" if layout.anchors else "tested/of").rjust(COUNTS)]
    return Text(fit("".join(cells), layout.width), "dim")


def _term_line(
    rank: int, move: int | None, term: Term, share: float, layout: Layout, decimals: int, colour: str
) -> Text:
    line = Text().append(str(rank).rjust(RANK), "dim")
    if layout.moves:
        line.append(*_arrow(move))
    line.append("  " + fit(safe(term.written), layout.term) + "  ", "bold" if term.driver else "")
    line.append(bar(share, layout.bar), colour)
    line.append(" " + f"{term.score:.{decimals}f}".rjust(SCORE))
    if layout.shows_intervals:
        line.append("  " + _interval(term, max(0, decimals - 1)).rjust(INTERVAL), "dim")
    if layout.members:
        line.append("  " + ("" if term.membership is None else f"{term.membership:.0%}").rjust(MEMBER))
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


def _interval(term: Term, decimals: int) -> str:
    low, high = term.interval
    if low == high:
        return "exact"
    if not (math.isfinite(low) and math.isfinite(high)):
        return "unknown"
    ends = (f"{round(end, decimals) + 0.0:.{decimals}f}" for end in (low, high))  # + 0.0: no minus before a zero
    return "…".join(ends)


def _decimals(scores: Sequence[float]) -> int:
    """So many that the largest score has three digits that count.

    >>> _decimals([0.0079, 0.0001]), _decimals([11.66]), _decimals([])
    (5, 1, 2)
    """
    largest = max((abs(score) for score in scores if math.isfinite(score)), default=0.0)
    return min(6, max(0, 2 - math.floor(math.log10(largest)))) if largest else 2


def fit(text: str, width: int) -> str:
    """The text in exactly ``width`` cells; what was cut off shows as an ellipsis."""
    text = text[: 4 * width]  # endless combining marks take no width of their own
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"

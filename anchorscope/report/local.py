"""One document's own anchors: the text with its anchors marked, and the test of each word."""

from __future__ import annotations

from textwrap import wrap

from rich.cells import cell_len
from rich.text import Text

from anchorscope.local import LocalExplanation, LocalWord
from anchorscope.report.table import LONGEST_TERM, WIDEST_BLOCK, bar, fit, safe

ANCHOR = "●"
UNDECIDED = "?"
"""Behind a word that is an anchor; behind one whose test ended at the cap on samples."""


def local_table(explanation: LocalExplanation, width: int) -> Text:
    """The prediction, the text with its [anchors] in brackets, and a line a word with its precision."""
    width = min(width, WIDEST_BLOCK)
    term = min(LONGEST_TERM, max(cell_len(safe(word.word)) for word in explanation.words))
    lines = [
        Text.assemble((safe(explanation.label), "bold"), (f" · probability {explanation.probability:.3f}", "dim")),
        *map(Text, wrap(_marked(explanation), width)),
        Text(),
        Text("  " + "word".ljust(term + 4) + "precision  agreed/samples".rjust(width - term - 6), "dim"),
    ]
    return Text("\n").join([*lines, *(_word_line(word, term, width) for word in explanation.words)])


def _marked(explanation: LocalExplanation) -> str:
    text = explanation.text
    done = 0
    pieces = []
    for word in explanation.words:
        if word.anchor:
            start, end = word.span
            pieces += [text[done:start], f"[{text[start:end]}]"]
            done = end
    return " ".join(safe(piece) for piece in "".join([*pieces, text[done:]]).split())


def _word_line(word: LocalWord, term: int, width: int) -> Text:
    precision = word.agreements / max(1, word.samples)
    colour = "green" if word.anchor else "dim"
    return Text.assemble(
        ("  " + fit(safe(word.word), term), "bold" if word.anchor else ""),
        (f" {ANCHOR if word.anchor else ' '}{' ' if word.decided else UNDECIDED} ", colour),
        (bar(precision, max(0, width - term - 30)), colour),
        f"{precision:8.3f}",
        (f"{word.agreements:,}/{word.samples:,}".rjust(16), "dim"),
    )

"""One document by itself: the text with its words shaded by their effect, and a line a word.

Where a score is graded, a word stands in [brackets] if it does much for the label, in ‹angles› if it does much against
it; in colours, blue is for the label and orange against it. A bar of light shades is an effect that is not told apart
from 0. Where words are tested for anchors, these are in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import isfinite
from textwrap import wrap

from rich.cells import cell_len
from rich.text import Text

from anchorscope.errors import clipped
from anchorscope.local import LocalExplanation, LocalWord
from anchorscope.report.figures import fixed, signed
from anchorscope.report.table import LONGEST_SENTENCE, LONGEST_TERM, WIDEST_BLOCK, bar, fit, safe
from anchorscope.settings import score_is_graded

ANCHOR = "●"
UNDECIDED = "?"
"""Behind a word that is an anchor; behind one whose test ended at the cap on samples."""

UNSURE = "░"
"""What the bar of an effect is made of that is not told apart from 0, as the page has it hatched."""

FOR, AGAINST, UNTOLD = "blue", "dark_orange", "dim"
"""The colours of a word: for the label, against it, not told apart from doing nothing."""

Mark = tuple[str, str, str]
"""What stands before a word, what stands behind it, and its style."""

MUCH = 0.25
"""A word does much that does this share of what the strongest word of the text does."""

FIGURES = 25
"""The width of what stands beside a word and its bars."""

DEVIATIONS = 2
"""An effect within so many deviations of 0 is not told apart from it."""


def local_table(explanation: LocalExplanation, width: int) -> Text:
    """The prediction, the text with its words marked, a legend, and a line a word."""
    width = min(width, WIDEST_BLOCK)
    probability = fixed(explanation.probability, 3)
    said = Text.assemble((safe(explanation.label), "bold"), (f" · probability {probability}", "dim"))
    if score_is_graded(explanation.score):
        return Text("\n").join([said, *_effects(explanation, width)])
    return Text("\n").join([said, *_anchors(explanation, width)])


def is_told_apart(word: LocalWord) -> bool:
    """Whether the effect of a word is told apart from 0."""
    return isfinite(word.effect) and abs(word.effect) > DEVIATIONS * word.deviation


def strongest(explanation: LocalExplanation) -> float:
    """The greatest effect that is told apart from 0; 1 where there is none."""
    return max((abs(word.effect) for word in explanation.words if is_told_apart(word)), default=1.0)


def _effects(explanation: LocalExplanation, width: int) -> list[Text]:
    reach = strongest(explanation)
    term = min(_longest(explanation), width - FIGURES)
    is_noisy = any(word.deviation > 0 for word in explanation.words)
    told = "effect" + " ± two deviations" * is_noisy
    removed = "" if is_noisy else "  without it"
    return [
        *_marked(explanation, lambda word: _effect_mark(word, reach), width),
        *(Text(line, "dim italic") for line in wrap(_legend(explanation), width)),
        Text(),
        Text("  " + "word".ljust(term) + (told + removed).rjust(width - term - 2), "dim"),
        *(_effect_line(word, explanation, term, reach, width, is_noisy) for word in explanation.words),
    ]


def _legend(explanation: LocalExplanation) -> str:
    """What brackets mean, and the bars of effects that are not told apart from 0, where there are such."""
    label = safe(clipped(explanation.label, LONGEST_SENTENCE))
    marks = f"[for {label}]  ‹against it›: a quarter of the strongest effect, or more"
    is_unsure = any(word.effect and isfinite(word.effect) and not is_told_apart(word) for word in explanation.words)
    return f"{marks}; {UNSURE * 2} not told apart from 0" if is_unsure else marks


def _effect_mark(word: LocalWord, reach: float) -> Mark:
    if not is_told_apart(word):
        return "", "", UNTOLD
    if abs(word.effect) < MUCH * reach:
        return "", "", ""
    return ("[", "]", f"bold {FOR}") if word.effect > 0 else ("‹", "›", f"bold {AGAINST}")


def _effect_line(
    word: LocalWord, explanation: LocalExplanation, term: int, reach: float, width: int, is_noisy: bool
) -> Text:
    colour = (FOR if word.effect > 0 else AGAINST) if is_told_apart(word) else UNTOLD
    bars = _bars(word, reach, (width - term - FIGURES) // 2)
    return Text.assemble(
        ("  " + fit(safe(word.word), term) + " ", "bold" if is_told_apart(word) else ""),
        (bars, colour),
        (signed(word.effect, 3) if isfinite(word.effect) else "unknown").rjust(9),
        (_beside(word, explanation, is_noisy).rjust(12), "dim"),
    )


def _bars(word: LocalWord, reach: float, half: int) -> str:
    """A bar to the right of a line, or to its left where the effect is negative; nothing where it is not known."""
    if not isfinite(word.effect):
        return " " * (2 * half + 1)
    size = abs(word.effect) / reach
    if not is_told_apart(word):
        cells = UNSURE * round(half * min(1.0, size))
        left, right = ("", cells) if word.effect > 0 else (cells, "")
        return f"{left.rjust(half)}│{right.ljust(half)}"
    return f"{' ' * half}│{bar(size, half)}" if word.effect > 0 else f"{_from_the_right(size, half)}│{' ' * half}"


def _beside(word: LocalWord, explanation: LocalExplanation, is_noisy: bool) -> str:
    """How far off the effect may be; where there is no noise, the label's probability without the word.

    Below 1 / labels another label is more probable: the decision flips.
    """
    if is_noisy:
        return f"± {fixed(DEVIATIONS * word.deviation, 3)}" if isfinite(word.deviation) else "± unknown"
    if not isfinite(word.effect):
        return ""
    without = explanation.probability - word.effect
    return f"{'flips ' if without < 1 / len(explanation.probabilities) else ''}{fixed(without, 3)}"


def _from_the_right(share: float, width: int) -> str:
    """A bar that grows to the left, in whole cells."""
    return ("█" * round(width * min(1.0, share))).rjust(width)


def _anchors(explanation: LocalExplanation, width: int) -> list[Text]:
    term = _longest(explanation)
    return [
        *_marked(explanation, lambda word: ("[", "]", "bold green") if word.anchor else ("", "", ""), width),
        Text("[anchor]: with this word kept and others replaced, the prediction stays", "dim italic"),
        Text(),
        Text("  " + "word".ljust(term + 4) + "precision  agreed/samples".rjust(width - term - 6), "dim"),
        *(_anchor_line(word, term, width) for word in explanation.words),
    ]


def _longest(explanation: LocalExplanation) -> int:
    return min(LONGEST_TERM, max((cell_len(safe(word.word)) for word in explanation.words), default=4))


def _marked(explanation: LocalExplanation, mark: Callable[[LocalWord], Mark], width: int) -> list[Text]:
    """The text in lines, its words in their colours, some of them between brackets."""
    text = explanation.text
    done = 0
    pieces = []
    for word in explanation.words:
        start, end = word.span
        before, after, style = mark(word)
        pieces += [(text[done:start], ""), (f"{before}{text[start:end]}{after}", style)]
        done = end
    return _wrapped([*pieces, (text[done:], "")], width)


def _wrapped(pieces: Sequence[tuple[str, str]], width: int) -> list[Text]:
    """Pieces of text, each in its style, as lines that are broken between words; white space becomes one space."""
    words = [Text()]
    for piece, style in pieces:
        for part in re.split(r"(\s+)", piece):
            if part.isspace():
                words.append(Text())
            else:
                words[-1].append(safe(part), style)
    lines = [Text()]
    for word in (part for whole in words for part in whole.divide(range(width, len(whole), width)) if part):
        if lines[-1] and lines[-1].cell_len + 1 + word.cell_len > width:
            lines.append(Text())
        lines[-1] = Text.assemble(lines[-1], " ", word) if lines[-1] else word
    return lines


def _anchor_line(word: LocalWord, term: int, width: int) -> Text:
    precision = word.agreements / max(1, word.samples)
    colour = "green" if word.anchor else "dim"
    return Text.assemble(
        ("  " + fit(safe(word.word), term), "bold" if word.anchor else ""),
        (f" {ANCHOR if word.anchor else ' '}{' ' if word.decided else UNDECIDED} ", colour),
        (bar(precision, max(0, width - term - 30)), colour),
        fixed(precision, 3).rjust(8),
        (f"{word.agreements:,}/{word.samples:,}".rjust(16), "dim"),
    )

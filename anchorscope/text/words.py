"""Text <-> words, without losing a character; the key that identifies a word; stop words.

A text is cut into words and the gaps around them (``rule.py`` says what a word is), and joins back exactly.

    "Don't  stop, 2 🇫🇷!"
    gaps   ""       "  "      ""   " "   " "    ""   ""
    words     Don't      stop    ,     2     🇫🇷    !
    terms     don't      stop    –     2     🇫🇷    –

The *term* is the word's key everywhere (tallies, stop words, removal): NFC, casefolded, ’ written as ',
without soft hyphens and variation selectors. Punctuation has none: it may be perturbed, but it is never
a candidate. Models see the original text, never terms.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from anchorscope.errors import UnknownNameError
from anchorscope.text.pairs import MARKS
from anchorscope.text.rule import are_one, key_of, pieces
from anchorscope.types import Words

AS_IS = 0
CAPITALISED = 1
CAPITALS = 2
"""How a word is written, for a fill that has no capitals of its own."""

JOINERS = frozenset("-\u2010\u2011\u2013/_&+")
"""Signs that make one word of two where no space stands beside them: hyphens, a slash and the like."""

STOP_WORDS = ("none", "short", "nltk")
"""The names of the lists: nothing; our own short one, which keeps what carries meaning; NLTK's (the paper's)."""


def split(text: str) -> Words:
    """The words of a text and the gaps around them; ``join`` is the way back.

    >>> split("Don't stop!")
    Words(words=("Don't", 'stop', '!'), gaps=('', ' ', '', ''))
    """
    found = pieces(text)
    return Words(tuple(found[1::2]), tuple(found[::2]))


def join(words: Words) -> str:
    """The text that was split.

    >>> join(split(" as it  was\\n"))
    ' as it  was\\n'
    """
    return _fill(words.words, words.gaps, tight=())


class LazyWords(Sequence[Words]):
    """The words of each text, cut when asked for."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return LazyWords(self._texts[index])
        return split(self._texts[index])

    def __iter__(self) -> Iterator[Words]:
        return map(split, self._texts)


def spans(words: Words) -> list[tuple[int, int]]:
    """Where each word starts and ends in the text, in characters.

    >>> spans(split("so good!"))
    [(0, 2), (3, 7), (7, 8)]
    """
    found = []
    end = 0
    for gap, word in zip(words.gaps, words.words, strict=False):
        start = end + len(gap)
        end = start + len(word)
        found.append((start, end))
    return found


term = key_of
"""The key of a plain word; None for what is neither letter, digit nor emoji."""


def terms(words: Words) -> tuple[str | None, ...]:
    """The key of every word.

    >>> terms(split("So good!"))
    ('so', 'good', None)
    """
    return tuple(map(term, words.words))


def compose(words: Words, fills: NDArray[np.object_]) -> list[str]:
    """A text for each row of ``fills`` (samples, words), which says what stands in the place of each word.

    A fill stands between the gaps of the word that it replaces. An empty fill removes the word and one
    adjoining gap. Where only one side has a gap, it goes if punctuation stands on the other side ("film great."
    becomes "film."), else it stays ("great, film" without the comma is "great film"; "Covid-19 panic" without the
    number is "Covid- panic", as a hyphen would join what was apart). Two words never run together into one that nobody
    wrote: a space keeps them apart.

    >>> compose(split("a great, fine film"), np.array([["a", "bad", ",", "fine", "film"],
    ...                                                ["a", "", ",", "fine", "film"],
    ...                                                ["a", "great", "and", "", ""]], object))
    ['a bad, fine film', 'a, fine film', 'a great and']
    """
    tight = [position for position in range(1, len(words)) if not words.gaps[position]]
    return [_write(row, words.gaps) if "" in row else _fill(row, words.gaps, tight) for row in fills.tolist()]


def replace(words: Words, fills: Mapping[int, str]) -> str:
    """The text with other words at some positions, by the rule of ``compose``.

    >>> replace(split("A great film."), {1: "bad", 3: "!"}), replace(split("Great film."), {0: ""})
    ('A bad film!', 'film.')
    """
    return _write([fills.get(position, word) for position, word in enumerate(words.words)], words.gaps)


def removals(text: str, positions: Sequence[Sequence[int]]) -> list[str]:
    """The text without the words at some positions, for each set of them, by the rule of ``compose``.

    >>> removals("A great, great film.", [(1, 3), (0,), ()])
    ['A, film.', 'great, great film.', 'A great, great film.']
    """
    parts = pieces(text)  # gap, word, gap, ..., word, gap
    ends = list(accumulate(map(len, parts)))
    found = []
    for places in positions:
        place = 2 * places[0] + 1 if len(places) == 1 else 1
        if 1 < place < len(parts) - 2 and parts[place - 1] and parts[place + 1]:
            # As most are: a word inside the text with a gap on either side goes with the gap before it.
            found.append(text[: ends[place - 2]] + text[ends[place] :])
        else:
            found.append(replace(split(text), dict.fromkeys(places, "")))
    return found


def stretches(words: Sequence[str], gaps: Sequence[str]) -> list[str]:
    """The text of words with no space between them, by the rule of ``compose``: cut where a space keeps two apart.

    >>> stretches(["good", ",", "film", "fan"], ["(", "", "", "", ")"])
    ['(good,film', 'fan)']
    """
    found = []
    text = gaps[0]
    last = ""
    for word, gap in zip(words, gaps[1:], strict=True):
        if last and are_one(last, word):
            found.append(text)
            text = ""
        text += word + gap
        last = "" if gap else word
    return [*found, text]


@lru_cache(maxsize=1 << 16)
def case_of(word: str) -> int:
    """How a word is written: CAPITALISED, CAPITALS (of two letters or more), or else AS_IS.

    >>> [case_of(word) for word in ("great", "Great", "GREAT", "iPhone", "I")]
    [0, 1, 2, 0, 0]
    """
    if word.islower():  # as most are
        return AS_IS
    if word.isupper() and sum(map(str.isupper, word)) > 1:
        return CAPITALS
    return CAPITALISED if word[:1].isupper() and word[1:].islower() else AS_IS


def match_case(original: str, fill: str) -> str:
    """A lower-case fill, with the capitals of the word that it replaces.

    >>> match_case("Great", "good"), match_case("GREAT", "good"), match_case("I", "they")
    ('Good', 'GOOD', 'they')
    """
    return in_case(fill, case_of(original))


def in_case(fill: str, case: int) -> str:
    """A lower-case fill, written in one of the three ways.

    >>> [in_case("good", case) for case in (AS_IS, CAPITALISED, CAPITALS)]
    ['good', 'Good', 'GOOD']
    """
    if case == CAPITALS:
        return fill.upper()
    return fill[:1].title() + fill[1:] if case == CAPITALISED else fill


def clean_tweet(text: str) -> str:
    """A tweet cleaned as in the paper's experiments: markup out, lower case, one final full stop dropped.

    >>> clean_tweet("@bob <b>Stay-at-home</b>, #COVID19 is over. https://t.co/x1")
    'stay at home, covid19 is over'
    """
    text = re.sub(r"</?[A-Za-z!][^<>]*>|https?://\S+|www\.\S+|@\w+|#", "", text)
    return text.replace("-", " ").lower().strip().removesuffix(".")


@lru_cache
def stop_words(name: str) -> frozenset[str]:
    """The terms of a list of English words that are never candidates, on either side of a pair.

    >>> sorted(stop_words("nltk") - stop_words("short"))[:4]
    ['above', 'after', 'again', 'against']
    """
    if name not in STOP_WORDS:
        raise UnknownNameError("list of stop words", name, STOP_WORDS)
    if name == "none":
        return frozenset()
    lines = resources.files("anchorscope.text").joinpath("stop_words", f"{name}.txt").read_text("utf-8").split()
    terms = [*filter(None, map(term, lines))]
    return frozenset(mark + word for mark in ("", *MARKS) for word in terms)


def function_words() -> frozenset[str]:
    """The terms that a view may hide: words that carry no meaning of their own; negations are none of them.

    >>> "of" in function_words(), "not" in function_words()
    (True, False)
    """
    return stop_words("short")


def _fill(words: Sequence[str], gaps: Sequence[str], tight: Iterable[int]) -> str:
    """Words between gaps; ``tight`` are the positions without a gap before them, where words may run together."""
    pieces = [""] * (len(words) + len(gaps))
    pieces[::2] = gaps
    pieces[1::2] = words
    for position in tight:
        if are_one(words[position - 1], words[position]):
            pieces[2 * position] = " "
    return "".join(pieces)


def _write(words: Sequence[str], gaps: Sequence[str]) -> str:
    """The same where empty words are removed ones; the gaps at both ends of the text stay."""
    written: list[str] = []
    last = -1
    for position, word in enumerate(words):
        if word:
            gap = gaps[position]
            if last < 0:
                gap = gaps[0]
            elif not (gap and gaps[last + 1]):
                gap = _gap_between(words[last], gaps[last + 1], gap, word)
            written += gap, word
            last = position
    return "".join(written) + gaps[-1]


def _gap_between(left: str, after_left: str, before_right: str, right: str) -> str:
    """What stands between two words that meet, where at most one of them had a gap on this side."""
    if gap := after_left or before_right:
        neighbour = right if after_left else left
        return gap if term(neighbour) or neighbour in JOINERS else ""
    return " " if are_one(left, right) else ""


def _show(texts: Iterable[str]) -> None:
    for text in texts:
        words = split(text)
        for (start, end), word, key in zip(spans(words), words.words, terms(words), strict=True):
            print(f"{start:4}–{end:<4} {word!r:16} {key or '–'}")


if __name__ == "__main__":
    _show(sys.argv[1:] or ["Don't  stop, 2 🇫🇷!"])

"""The terms of texts: which of their words are candidates, and where each stands.

``kinds`` names what is one, as the setting ``terms`` does: kinds of ``rule.py``, by commas; or ``plain``, the words of
the paper, each by itself.

>>> terms_of("So good, so good!!! :)", "words,signs")
[('so', (0,)), ('good', (1,)), ('so', (3,)), ('good', (4,)), ('!!!', (5, 6, 7)), (':)', (8, 9))]
>>> terms_of("a cat ␞ a pet", "words")
[('①a', (0,)), ('①cat', (1,)), ('②a', (3,)), ('②pet', (4,))]
>>> terms_of("So good!!! :)", "plain")
[('so', (0,)), ('good', (1,))]
"""

from __future__ import annotations

from collections.abc import Sequence

from anchorscope.text.cut import cut
from anchorscope.text.rule import PLAIN, keys_of
from anchorscope.text.words import spans, split
from anchorscope.types import Positions


def terms_of(text: str, kinds: str) -> list[tuple[str, Positions]]:
    """The terms of a text in their order, and the positions of the words that each takes up."""
    return terms_of_all([text], kinds)[0]


def terms_of_all(texts: Sequence[str], kinds: str) -> list[list[tuple[str, Positions]]]:
    """Those of many texts."""
    found = cut(texts, merged=kinds != PLAIN)
    keys = [*map(keys_of(kinds), found.words)]
    rows = zip(found.numbers.tolist(), found.first.tolist(), found.n_words.tolist())
    terms = [(keys[number], tuple(range(first, first + n))) for number, first, n in rows]
    ends = found.sizes.cumsum().tolist()
    return [
        [(key, positions) for key, positions in terms[end - size : end] if key is not None]
        for size, end in zip(found.sizes.tolist(), ends)
    ]


def term_spans(text: str, kinds: str) -> list[tuple[int, int]]:
    """Where every word of a text starts and ends, in characters; words that are one term are together.

    >>> text = "So good!!!"
    >>> [text[start:end] for start, end in term_spans(text, "words,signs")]
    ['So', 'good', '!!!']
    """
    found = cut([text], merged=kinds != PLAIN)
    places = spans(split(text))
    rows = zip(found.first.tolist(), found.n_words.tolist())
    return [(places[first][0], places[first + n - 1][1]) for first, n in rows]


def keys_by_position(texts: Sequence[str], kinds: str) -> list[dict[int, str]]:
    """For each text, the key of the term that a position is part of.

    >>> keys_by_position(["So good!!!"], "words,signs")
    [{0: 'so', 1: 'good', 2: '!!!', 3: '!!!', 4: '!!!'}]
    """
    return [
        {position: key for key, positions in terms for position in positions} for terms in terms_of_all(texts, kinds)
    ]

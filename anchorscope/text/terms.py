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

from collections.abc import Callable, Sequence

from anchorscope.errors import InputError, UnknownNameError
from anchorscope.text.cut import cut
from anchorscope.text.pairs import SEPARATOR, unmarked
from anchorscope.text.rule import KINDS, PLAIN, key_of, kind_and_key
from anchorscope.types import Positions


def checked_kinds(kinds: str) -> str:
    """The kinds in their order, each once.

    >>> checked_kinds("signs, words")
    'words,signs'
    """
    named = [name.strip() for name in kinds.split(",")]
    for name in named:
        if name not in (*KINDS, PLAIN):
            raise UnknownNameError("kind of terms", name, (*KINDS, PLAIN))
    if PLAIN in named and len({*named}) > 1:
        raise InputError(f"--terms {PLAIN} stands for itself: name it alone, or kinds ({', '.join(KINDS)}).")
    return PLAIN if PLAIN in named else ",".join(kind for kind in KINDS if kind in named)


def keys_of(kinds: str) -> Callable[[str], str | None]:
    """What gives a word, or words that were merged, its key; None to what is no candidate.

    >>> [keys_of("signs")(word) for word in ("good", "!")], [keys_of("plain")(word) for word in ("good", "!")]
    ([None, '!'], ['good', None])
    """
    wanted = frozenset(kinds.split(","))

    def key(written: str) -> str | None:
        if kinds == PLAIN:
            return key_of(written)
        kind, found = kind_and_key(written)
        return found if kind in wanted else None

    def key_by_side(written: str) -> str | None:
        if written == SEPARATOR:
            return None
        mark, word = unmarked(written)
        found = key(word)
        return None if found is None else mark + found

    return key_by_side


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


def keys_by_position(texts: Sequence[str], kinds: str) -> list[dict[int, str]]:
    """For each text, the key of the term that a position is part of.

    >>> keys_by_position(["So good!!!"], "words,signs")
    [{0: 'so', 1: 'good', 2: '!!!', 3: '!!!', 4: '!!!'}]
    """
    return [
        {position: key for key, positions in terms for position in positions} for terms in terms_of_all(texts, kinds)
    ]

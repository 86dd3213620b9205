"""Pairs of texts, such as a premise and a hypothesis, as one document whose words know their side.

A pair is the two texts with the sign ␞ between them. It is a word by itself that is never a candidate, removed or
replaced, so a perturbed pair is a pair, too. The words of the two sides are different terms, marked by ① and ②:

>>> pair = paired("A man sleeps.", "The man is awake.")
>>> pair, sides(pair)
('A man sleeps. ␞ The man is awake.', ('A man sleeps.', 'The man is awake.'))
>>> marked(["A", "man", "␞", "The", "man"])
['①A', '①man', '␞', '②The', '②man']

What reads texts gets the two sides of a pair (``as_read``).
"""

from __future__ import annotations

from collections.abc import Sequence

from anchorscope.errors import DocumentsError

SEPARATOR = "␞"
MARKS = ("①", "②")


def paired(first: str, second: str) -> str:
    """Two texts as one; nothing, where there is nothing on either side."""
    if SEPARATOR in first or SEPARATOR in second:
        raise DocumentsError(
            f"A side of a pair holds the sign {SEPARATOR}, which stands between the sides; replace it."
        )
    return f"{first} {SEPARATOR} {second}" if first.strip() or second.strip() else ""


def is_pair(text: str) -> bool:
    """Whether a text is a pair of texts."""
    return SEPARATOR in text


def sides(text: str) -> tuple[str, str]:
    """The two texts of a pair; of a text that is none, the second is empty."""
    first, _, second = text.partition(SEPARATOR)
    return first.removesuffix(" "), second.removeprefix(" ")


def as_read(texts: Sequence[str]) -> list[str] | list[tuple[str, str]]:
    """What a model reads: the texts, or, if they are pairs, the two sides of each.

    >>> as_read(["so good", "so bad"]), as_read(["a cat ␞ an animal"])
    (['so good', 'so bad'], [('a cat', 'an animal')])
    """
    return [*map(sides, texts)] if any(map(is_pair, texts)) else list(texts)


def marked(words: Sequence[str]) -> list[str]:
    """The words of a pair, each with the mark of its side."""
    place = list(words).index(SEPARATOR)
    first = [MARKS[0] + word for word in words[:place]]
    second = [word if word == SEPARATOR else MARKS[1] + word for word in words[place + 1 :]]
    return [*first, SEPARATOR, *second]


def unmarked(word: str) -> tuple[str, str]:
    """The mark of a word, if it has one, and the word without it.

    >>> unmarked("②cat"), unmarked("cat"), unmarked("②")
    (('②', 'cat'), ('', 'cat'), ('', '②'))
    """
    return (word[0], word[1:]) if len(word) > 1 and word[0] in MARKS else ("", word)

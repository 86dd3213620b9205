"""The rule of what a word is, in the three forms that are fast enough for what they serve. Nothing else knows it.

A word is

- letters, digits and marks, with apostrophes inside: ``don't``, ``l'été``, ``rock'n'roll``, ``19``;
- an emoji, however many code points it takes: a family, a flag, a keycap, a thumb with its skin tone;
- in scripts that put no spaces between words, what UAX #29 says: Han, kana and Thai by character
  (Katakana by run), a choice that needs no dictionary;
- any other visible character, by itself: punctuation and symbols.

Everything else (white space, controls, invisible formatting, lone surrogates) is a gap.

Left out on purpose: decimal points, hyphens and underscores inside a word (``3.5`` is three words), stemming, and
dictionaries for Thai, Chinese or Japanese.

>>> pieces("Don't stop!")
['', "Don't", ' ', 'stop', '', '!', '']
"""

from __future__ import annotations

import re
from functools import lru_cache

import regex

# The whole rule. Nothing in it can match in two ways (hence the possessive *+), so its time is linear.
_EXTEND = r"\p{M}\u200c\u200d"
_LETTER = r"[[[\p{L}&&[\p{WB=ALetter}\p{WB=Hebrew_Letter}]]\p{N}]--\p{Ideographic}]"
_PICTURE = r"[[\p{Extended_Pictographic}\p{Emoji_Modifier}]--[©®™‼⁉]][\p{Emoji_Modifier}\p{M}\U000e0020-\U000e007f]*+"
_EMOJI = rf"{_PICTURE}(?:\u200d{_PICTURE})*+|\p{{RI}}{{2}}|[0-9#*]\ufe0f?\u20e3"
_RUN = rf"{_LETTER}[{_LETTER}{_EXTEND}]*+"
_WORD = regex.compile(
    rf"({_EMOJI}"
    rf"|{_RUN}(?:['’\u00ad\u2060]{_RUN})*+"
    rf"|\p{{WB=Katakana}}[\p{{WB=Katakana}}{_EXTEND}]*+"
    rf"|[^\s\p{{Cc}}\p{{Cf}}\p{{Cs}}][{_EXTEND}]*+)",
    regex.V1,
)

# The same for texts in Latin letters and common punctuation, where the standard library is three times as fast; a test
# holds the two together.
_LATIN = "0-9A-Za-zÀ-ÖØ-öø-ɏ"
_IS_LATIN = re.compile(rf"[{_LATIN}\t\n\r -~‘’“”…–—]*")
_PLAIN = re.compile("[0-9A-Za-z]")
_LATIN_WORD = re.compile(rf"([{_LATIN}]+(?:['’][{_LATIN}]+)*|\S)")

# The same for texts in the letters of western Europe, as bytes: a word is a run of letters, with the apostrophes
# between two of them, or any other visible character by itself (``cut.py`` cuts many texts at once this way).
WESTERN_ENCODING = "cp1252"
"""A byte for each of these letters, and for the quotation marks and dashes of typesetters."""

SPACE, SYMBOL, APOSTROPHE, LETTER = range(4)
_WESTERN = "0-9A-Za-zÀ-ÖØ-öø-ÿ"
_IS_WESTERN = re.compile(rf"[{_WESTERN}\t\n\r -~‘’“”…–—]*")

_HAS_TERM = regex.compile(rf"[\p{{L}}\p{{N}}]|{_EMOJI}", regex.V1)


def pieces(text: str) -> list[str]:
    """Gaps and words in turn, beginning and ending with a gap."""
    found: list[str] = (_LATIN_WORD if _IS_LATIN.fullmatch(text) else _WORD).split(text)
    return found


def words_in(text: str) -> list[str]:
    """The words alone, in half the time."""
    found: list[str] = (_LATIN_WORD if _IS_LATIN.fullmatch(text) else _WORD).findall(text)
    return found


def has_words(text: str) -> bool:
    """Whether there is any word in the text, be it punctuation.

    >>> has_words("!"), has_words(" \\n\\t")
    (True, False)
    """
    return _PLAIN.search(text) is not None or _WORD.search(text) is not None


def has_term(word: str) -> bool:
    """Whether a word can be a candidate: it holds a letter, a digit or an emoji.

    >>> has_term("19"), has_term("…")
    (True, False)
    """
    return _HAS_TERM.search(word) is not None


def are_one(left: str, right: str) -> bool:
    """Whether two words, written without a space, would be read as one.

    >>> are_one("so", "good"), are_one("so", "!")
    (True, False)
    """
    if left.isascii() and right.isascii() and (left.isalnum() or len(left) == 1) and right[0] != "'":
        return left.isalnum() and right[0].isalnum()  # as the rule says, in a tenth of its time
    return _are_one(left, right)


@lru_cache(maxsize=1 << 16)
def _are_one(left: str, right: str) -> bool:
    found = _WORD.match(left + right)
    return found is not None and found.end() > len(left)


def is_western(text: str) -> bool:
    """Whether the form for bytes will do.

    >>> is_western("l'été"), is_western("čas")
    (True, False)
    """
    return _IS_WESTERN.fullmatch(text) is not None


def _kind(character: str) -> int:
    if re.fullmatch(f"[{_WESTERN}]", character):
        return LETTER
    if character in "'’":
        return APOSTROPHE
    return SPACE if character.isspace() else SYMBOL


KIND_OF_BYTE = bytes(_kind(bytes([code]).decode(WESTERN_ENCODING, "replace")) for code in range(256))
"""What each byte of a western text is: SPACE, SYMBOL, APOSTROPHE or LETTER."""

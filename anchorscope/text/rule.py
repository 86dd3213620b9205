"""The rule of what a word is and what a term, in forms that are fast enough for what they serve. Nothing else knows it.

A word is

- letters, digits and marks, with apostrophes inside: ``don't``, ``l'été``, ``rock'n'roll``, ``19``;
- an emoji, however many code points it takes: a family, a flag, a keycap, a thumb with its skin tone;
- in scripts that put no spaces between words, what UAX #29 says: Han, kana and Thai by character
  (Katakana by run), a choice that needs no dictionary;
- any other visible character, by itself: punctuation and symbols.

Everything else (white space, controls, invisible formatting, lone surrogates) is a gap.

Left out on purpose: decimal points, hyphens and underscores inside a word (``3.5`` is three words), stemming, and
dictionaries for Thai, Chinese or Japanese (``segmenters.py`` has them).

A term is what can be a candidate: a word, or several that stand together without a gap and mean one thing (a
*compound*: ``:-)``, ``!!!``, ``3.5``, ``#stay_home``, ``@bob``, a link). Each is of one kind:

    words         letters, perhaps with digits          covid19, don't
    numbers       digits alone, with points and commas  19, 3.5, 1,000
    signs         emoticons; ! ? $ % and the like; any sign that is repeated        :-)  !  !!!  ...
    emoji         👍🏽, 🇫🇷
    hashtags, mentions
    links         by their host: https://t.co/x1 and https://t.co/x2 are one term, t.co/…
    punctuation   a comma, a full stop, a quotation mark, a bracket, a dash by itself

The key of a term is what it is counted by: NFC, casefolded, ’ written as ', without soft hyphens and variation
selectors; of a sign that is repeated, three at most; of ! and ? mixed, ?!.

>>> pieces("Don't stop!")
['', "Don't", ' ', 'stop', '', '!', '']
>>> compounds("So good :-) #stay_home, 3.5 of 5!!!")
[(8, 11), (12, 22), (24, 27), (32, 35)]
>>> [kind_and_key(word) for word in ("Good", "3.5", ":-D", "!!!!!", "#MeToo", "https://t.co/x1", ",")]
[('words', 'good'), ('numbers', '3.5'), ('signs', ':-d'), ('signs', '!!!'), ('hashtags', '#metoo'), \
('links', 't.co/…'), ('punctuation', ',')]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from unicodedata import normalize

import numpy as np
import regex
from numpy.typing import NDArray

from anchorscope.errors import InputError, UnknownNameError
from anchorscope.text.pairs import SEPARATOR, unmarked

KINDS = ("words", "numbers", "signs", "emoji", "hashtags", "mentions", "links", "punctuation")
"""What a term can be."""

USUAL = KINDS[:-1]
"""The kinds that are candidates unless told otherwise."""

PLAIN = "plain"
"""In place of kinds: words, numbers and emoji as the paper has them, each word by itself, and nothing else."""

# The whole rule. Nothing in it can match in two ways (hence the possessive *+), so its time is linear.
_EXTEND = r"\p{M}\u200c\u200d"
_LETTER = r"[[[\p{L}&&[\p{WB=ALetter}\p{WB=Hebrew_Letter}]]\p{N}]--\p{Ideographic}]"
_FIRST_OF_PICTURE = r"[[\p{Extended_Pictographic}\p{Emoji_Modifier}]--[©®™‼⁉]]"
_PICTURE = rf"{_FIRST_OF_PICTURE}[\p{{Emoji_Modifier}}\p{{M}}\U000e0020-\U000e007f]*+"
_FLAG_OR_KEYCAP = r"\p{RI}{2}|[0-9#*]\ufe0f?\u20e3"
_EMOJI = rf"{_PICTURE}(?:\u200d{_PICTURE})*+|{_FLAG_OR_KEYCAP}"
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

_SPELLING = str.maketrans("’", "'", "\u00ad\u2060\ufe0e\ufe0f")
_PLAIN_SIGNS = str.maketrans({"！": "!", "？": "?", "‼": "!!", "⁉": "!?"})
MOST_REPEATED = 3
"""A sign that is repeated more often counts as one that is repeated so often."""

_HAS_TERM = regex.compile(rf"[\p{{L}}\p{{N}}]|{_EMOJI}", regex.V1)

# Compounds, in a form that the standard library and ``regex`` read alike. Each is found by a sign in it, since signs
# are few; those of the first group begin with the word before the sign. \w are letters, digits and underscores.
_REST = r"[^\s<>\"]*[\w/]"
_FROM_THE_WORD_BEFORE = (
    rf"(?<=\w)://{_REST}"  # https://t.co/x1
    rf"|(?<=www)\.{_REST}"
    r"|(?<=[0-9])[.,][0-9]+(?:[.,][0-9]+)*(?!\w)"  # 3.5 1,000
    r"|(?<=[oO])(?<!\w[oO])_+[oO](?!\w)|(?<=T)(?<!\wT)_+T(?!\w)|(?<=8)(?<!\w8)-[)(D]+(?!\w)"  # o_O T_T 8-)
)
_HASHTAG = r"[#＃][0-9_]*[^\W\d_]\w*(?:['’]\w+)*"
_MENTION = r"@\w+(?:['’]\w+)*"
_EMOTICON = (
    r">?[:;=]['’]?[-^]?(?:\)+|\(+|[\]\[}{|\\/*$@<>])(?![\w/])"  # :) ;-( :'( =] >:( :)))
    r"|(?<!\w)[:;=]-?[DPpdOo03bXxsScC](?!\w)"  # :D ;-P :3
    r"|(?<!\S)[)(][-^]?['’]?[:;=](?!\S)"  # (: )-:
    r"|</?3+(?!\w)"  # <3 </3
    r"|\^_*\^|-_+-|>_+<"  # ^_^ ^^ -_- >_<
)
_REPEATED = r"[!?！？]{2,}|([^\w\s])\2+"
_COMPOUND = rf"({_FROM_THE_WORD_BEFORE})|(?<![\w&/#]){_HASHTAG}|(?<![\w@.]){_MENTION}|{_EMOTICON}"
# A sign before a space begins none; most are such.
_LATIN_COMPOUND = re.compile(rf"(?=[!-/:-@\[-`{{-~…‘’“”–—]\S)(?:{_COMPOUND}|{_REPEATED})")
_ANY_COMPOUND = regex.compile(
    # Whether an emoji begins here shows with its first character: to read it to its end, from each of the many that
    # are joined in one, would take the square of their number.
    rf"(?=[^\s\p{{Cc}}\p{{Cf}}\p{{Cs}}])(?:{_COMPOUND}|(?!{_FIRST_OF_PICTURE}|{_FLAG_OR_KEYCAP})(?:{_REPEATED}))",
    regex.V1,
)
_STARTS_WITH_EMOJI = regex.compile(_EMOJI, regex.V1)
_IS_HASHTAG = regex.compile(_HASHTAG, regex.V1)
_IS_MENTION = regex.compile(_MENTION, regex.V1)
_IS_EMOTICON = re.compile(rf"{_EMOTICON}|[oO]_+[oO]|T_+T|8-[)(D]+")
_HOST = re.compile(r"(?:\w+://(?:www\.)?|www\.)([^/?#]+)")
_ORDINARY = regex.compile(r"[[\p{P}--[!?¡¿؟！？‼⁉…%&*@#§•†]]]", regex.V1)


def pieces(text: str) -> list[str]:
    """Gaps and words in turn, beginning and ending with a gap."""
    found: list[str] = (_LATIN_WORD if _IS_LATIN.fullmatch(text) else _WORD).split(text)
    return found


def words_in(text: str) -> list[str]:
    """The words alone, in half the time."""
    found: list[str] = (_LATIN_WORD if _IS_LATIN.fullmatch(text) else _WORD).findall(text)
    return found


def word_spans(text: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the words of a text start, and where they end.

    >>> [places.tolist() for places in word_spans("So good")]
    [[0, 3], [2, 7]]
    """
    pattern = _LATIN_WORD if _IS_LATIN.fullmatch(text) else _WORD
    places = np.array([found.span() for found in pattern.finditer(text)], np.intp).reshape(-1, 2)
    return places[:, 0], places[:, 1]


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


def compounds(text: str) -> list[tuple[int, int]]:
    """Where the compounds of a text stand; whoever merges words takes those whole that one begins or ends in."""
    pattern = _LATIN_COMPOUND if _IS_LATIN.fullmatch(text) else _ANY_COMPOUND
    return [(found.start() - (found.lastindex == 1), found.end()) for found in pattern.finditer(text)]


@lru_cache(maxsize=1 << 16)
def key_of(word: str) -> str | None:
    """The key of a plain word; None for what is neither letter, digit nor emoji.

    >>> key_of("DON’T"), key_of("Straße"), key_of("…")
    ("don't", 'strasse', None)
    """
    return _folded(word) if has_term(word) else None


@lru_cache(maxsize=1 << 16)
def kind_and_key(written: str) -> tuple[str, str]:
    """What a word or compound is, and the key that it is counted by."""
    if written.isalpha():  # as most are
        return "words", _folded(written)
    if written[0] in "#＃" and _IS_HASHTAG.fullmatch(written):
        return "hashtags", _folded(written).replace("＃", "#")
    if written[0] == "@" and _IS_MENTION.fullmatch(written):
        return "mentions", _folded(written)
    if host := _host(written):
        return "links", f"{_folded(host)}/…"
    if _STARTS_WITH_EMOJI.match(written):
        return "emoji", _folded(written)
    if _IS_EMOTICON.fullmatch(written):
        return "signs", re.sub(r"(.)\1+$", r"\1", _folded(written)) if len(written) > 2 else _folded(written)
    if has_term(written):
        return "words" if any(map(str.isalpha, written)) else "numbers", _folded(written)
    return _sign(written)


def _sign(written: str) -> tuple[str, str]:
    """The kind and key of what is neither letter, digit nor emoji."""
    key = _folded(written).translate(_PLAIN_SIGNS)
    if set(key) == {"…"}:
        return "signs", "..."
    if set(key) == {"!", "?"}:
        return "signs", "?!"
    if _ORDINARY.fullmatch(key):
        return "punctuation", key
    return "signs", key[:MOST_REPEATED] if len(set(key)) == 1 else key


def keys_of(kinds: str) -> Callable[[str], str | None]:
    """What gives a word, or words that were merged, its key; None to what is no candidate.

    >>> [keys_of("signs")(word) for word in ("good", "!")], [keys_of("plain")(word) for word in ("good", "!")]
    ([None, '!'], ['good', None])
    """
    wanted = frozenset(kinds.split(","))
    has_letters = kinds == PLAIN or "words" in wanted

    def key(written: str) -> str | None:
        if kinds == PLAIN:
            return key_of(written)
        kind, found = kind_and_key(written)
        return found if kind in wanted else None

    def key_by_side(written: str) -> str | None:
        if written.isascii() and written.isalpha():  # as most are, and then no mark is before it
            return written.lower() if has_letters else None
        if written == SEPARATOR:
            return None
        mark, word = unmarked(written)
        found = key(word)
        return None if found is None else mark + found

    return key_by_side


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


def shown(written: str) -> str:
    """How a term is shown that is written so: links by their host.

    >>> shown("Großartig"), shown("https://t.co/x1")
    ('Großartig', 't.co/…')
    """
    if "." not in written and "/" not in written:  # as most have not
        return written
    mark, word = unmarked(written)
    return mark + kind_and_key(word)[1] if _host(word) else written


def _host(written: str) -> str | None:
    """The host of a link."""
    if "." not in written and "/" not in written:
        return None
    found = _HOST.match(written)
    return found[1] if found else None


def _folded(word: str) -> str:
    if word.isascii():  # as most are
        return word.lower()
    return normalize("NFC", normalize("NFD", word.translate(_SPELLING)).casefold())


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

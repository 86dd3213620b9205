"""Words of scripts that put no spaces between them: Chinese, Japanese and Thai, each by a segmenter made for it.

Han, kana and Thai are words by character in ``rule.py``; a segmenter says which of these characters belong together.
Segmenters are optional packages (the extra ``cjk``), met when a text needs one. A text with kana is Japanese; Han
without kana is Chinese. Each run of such characters is segmented by itself, so a word is the same wherever it stands
between other signs. All three are dictionaries and rules, and answer the same again; a run remembers their versions.

>>> languages("这部电影"), languages("面白い映画"), languages("a film")
({'Chinese'}, {'Japanese'}, set())
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import regex

from anchorscope.errors import MissingPackageError

Cutter = Callable[[str], Iterable[str]]
"""A run of characters -> its words, which join back to it."""

NEEDED_SHARE = 0.05
"""A language in fewer documents than this share does not end a run that lacks its segmenter; it is said."""

EXTRA = "cjk"
MISSING = "not installed"


@dataclass(frozen=True, slots=True)
class Segmenter:
    """The package that finds the words of a language, and how it is made ready."""

    language: str
    package: str
    make: Callable[[], Cutter]


def _jieba() -> Cutter:
    jieba = _quietly("jieba")
    tokenizer = jieba.Tokenizer()
    # Its own way would keep the dictionary in a file among the temporary ones, and believe what it finds there.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    cut: Cutter = tokenizer.cut
    return cut


def _janome() -> Cutter:
    cut: Cutter = _quietly("janome.tokenizer").Tokenizer(wakati=True).tokenize
    return cut


def _pythainlp() -> Cutter:
    before = os.environ.get("PYTHAINLP_READ_ONLY")
    os.environ["PYTHAINLP_READ_ONLY"] = "1"  # else it makes a folder of its own in the user's
    try:
        cut: Cutter = _quietly("pythainlp.tokenize.newmm").segment
        cut("ก")  # reads the dictionary
    finally:
        if before is None:
            del os.environ["PYTHAINLP_READ_ONLY"]
        else:
            os.environ["PYTHAINLP_READ_ONLY"] = before
    return cut


def _quietly(module: str) -> Any:
    """A module, without what it says of its own old code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(module)


SEGMENTERS = {
    one.language: one
    for one in (
        Segmenter("Chinese", "jieba", _jieba),
        Segmenter("Japanese", "janome", _janome),
        Segmenter("Thai", "pythainlp", _pythainlp),
    )
}

_RUN = regex.compile(r"(?P<Thai>\p{Thai}+)|[\p{Han}\p{Hiragana}\p{Katakana}ー々]+", regex.V1)
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]", regex.V1)


def languages(text: str) -> set[str]:
    """The languages in a text whose words need a segmenter."""
    if text.isascii():
        return set()
    return {language for language, _, _ in _runs(text)}


def segments(text: str) -> list[tuple[int, int]]:
    """Where the words stand that a segmenter finds in a text; none where it is not installed."""
    found = []
    for language, start, run in _runs(text):
        for word in _cutter(language)(run):
            found.append((start, start + len(word)))
            start += len(word)
    return found


def needed_segmenters(texts: Sequence[str]) -> dict[str, str]:
    """The packages that find words in some texts, and their versions; a language without one is refused, or said."""
    counts: dict[str, int] = {}
    for text in texts:
        for language in () if text.isascii() else languages(text):
            counts[language] = counts.get(language, 0) + 1
    found = {}
    for language, n in sorted(counts.items()):
        package = SEGMENTERS[language].package
        found[package] = installed(package)
        if found[package] != MISSING:
            continue
        if n >= NEEDED_SHARE * len(texts):
            raise MissingPackageError(
                package, EXTRA, f"the words of texts in {language} (--terms plain takes each character for one)"
            )
        warnings.warn(
            f"{n} of {len(texts)} documents hold {language}, where each character is taken for a word: {package} "
            f"would find the words (pip install 'anchorscope[{EXTRA}]').",
            stacklevel=2,
        )
    return found


@lru_cache
def installed(package: str) -> str:
    """The version of a package, or that there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return MISSING


def _runs(text: str) -> Iterator[tuple[str, int, str]]:
    """Language, start and characters of each run."""
    if text.isascii():
        return
    others = ""
    for found in _RUN.finditer(text):
        if not found["Thai"]:
            others = others or ("Japanese" if _KANA.search(text) else "Chinese")
        yield "Thai" if found["Thai"] else others, found.start(), found[0]


@lru_cache
def _cutter(language: str) -> Cutter:
    try:
        return SEGMENTERS[language].make()
    except ImportError:
        return list

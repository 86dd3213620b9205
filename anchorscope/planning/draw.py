"""Some documents of very many are drawn, the others only counted; none of the others comes here.

    blocks of texts -> keys -> the first n by priority -> their texts -> the documents of all that hold their terms

A race tests the documents of a word in the order of priority, so the first n documents by priority are all that it sees
until a word has used them up. Three passes over the blocks, each where the texts are: the hash of every text comes
back (eight bytes a document), from which keys, copies and priorities follow; then the texts that are drawn; then, for
every term of these, how many documents of the whole collection hold it. What comes back adds up in any order, so who
read what shows nowhere.

The model is asked about the drawn documents alone. How many of all documents it would predict each label for is an
estimate from these, as in a run whose calls do not suffice for all documents, and is shown as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from hashlib import blake2b, sha256

import numpy as np
from numpy.typing import NDArray

from anchorscope.errors import DocumentsError, InputError, UnknownNameError
from anchorscope.planning.candidates import find_candidates, is_longer, priorities
from anchorscope.planning.tokens import document_frequencies
from anchorscope.settings import Settings
from anchorscope.text.blocks import Blocks
from anchorscope.text.read import CLEANINGS, Documents
from anchorscope.text.rule import has_words
from anchorscope.types import Beyond, Document

Digests = NDArray[np.uint64]

KEYS_AT_ONCE = 1 << 16
"""Keys that are written out at a time."""


def draw(blocks: Blocks, n: int, settings: Settings, *, clean: str = "none") -> Documents:
    """The first n documents by priority, and how many of all hold each of their terms."""
    if n < 1:
        raise InputError(f"--draw takes at least 1 document, not {n}.")
    if clean not in CLEANINGS:
        raise UnknownNameError("cleaning", clean, CLEANINGS)
    if settings.sample_documents != 1:
        raise InputError("--draw draws documents, and so does --sample-documents: leave one of them out.")
    read = [*blocks.over(partial(_hashed, clean, settings.max_words))]
    hashes = np.sort(np.concatenate([np.empty(0, np.uint64), *(some.usable for some in read)]))
    n_empty = sum(some.n_empty for some in read)
    n_long = sum(some.n_long for some in read)
    del read
    if not len(hashes):
        raise DocumentsError(f"There is no usable document in {blocks.source}: check the files and --text-column.")
    keys = _first_keys(hashes, n, settings.seed)
    documents = _fetched(blocks, keys, clean)
    found = find_candidates(documents, settings)
    counting = partial(_count, clean, settings.max_words, str(settings.terms), found.terms)
    frequency = reduce(np.add, blocks.over(counting), np.zeros(len(found.terms), np.int64))
    skipped = {"empty": n_empty, f"more than {settings.max_words} words": n_long}
    return Documents(
        documents=documents,
        skipped={reason: number for reason, number in skipped.items() if number},
        sha256=sha256(hashes.astype(">u8").tobytes()).hexdigest(),
        source=blocks.source,
        beyond=Beyond(len(hashes), dict(zip(found.terms, frequency.tolist()))),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Hashed:
    """The hashes of the texts of a block, and how many were left out."""

    usable: Digests
    n_empty: int
    n_long: int


def _usable(clean: str, max_words: int, texts: list[str]) -> tuple[list[str], int, int]:
    """The cleaned texts that have words and not too many; how many have none, and how many too many."""
    with_words = [text for text in map(CLEANINGS[clean], texts) if has_words(text)]
    usable = [text for text in with_words if not is_longer(text, max_words)]
    return usable, len(texts) - len(with_words), len(with_words) - len(usable)


def _hashed(clean: str, max_words: int, texts: list[str]) -> _Hashed:
    usable, n_empty, n_long = _usable(clean, max_words, texts)
    return _Hashed(_digests(usable), n_empty, n_long)


def _digests(texts: list[str]) -> Digests:
    joined = b"".join(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(joined, ">u8").astype(np.uint64)


def _keys(hashes: Digests) -> Iterator[list[str]]:
    """The keys of all documents, some at a time, as reading names them: a hash, and a number for every further copy."""
    is_first = np.diff(hashes, prepend=hashes[:1] + np.uint64(1)) != 0
    places = np.arange(len(hashes))
    copy = places - np.maximum.accumulate(np.where(is_first, places, 0)) + 1
    for start in range(0, len(hashes), KEYS_AT_ONCE):
        some = slice(start, start + KEYS_AT_ONCE)
        numbered = zip(hashes[some].tolist(), copy[some].tolist())
        yield [f"{digest:016x}" if number == 1 else f"{digest:016x}-{number}" for digest, number in numbered]


def _first_keys(hashes: Digests, n: int, seed: int) -> list[str]:
    """The first n keys by priority, in the order of keys."""
    of_all = np.concatenate([priorities(seed, some) for some in _keys(hashes)])
    drawn = np.zeros(len(hashes), bool)
    drawn[np.argsort(of_all, kind="stable")[:n]] = True
    starts = range(0, len(hashes), KEYS_AT_ONCE)
    return sorted(
        key
        for start, some in zip(starts, _keys(hashes))
        for key, is_drawn in zip(some, drawn[start : start + KEYS_AT_ONCE])
        if is_drawn
    )


def _fetched(blocks: Blocks, keys: list[str], clean: str) -> tuple[Document, ...]:
    """The drawn documents, in the order of their keys; copies share a text."""
    wanted = np.unique(np.array([int(key[:16], 16) for key in keys], np.uint64))
    texts: dict[int, str] = {}
    for found in blocks.over(partial(_wanted, clean, wanted)):
        texts.update(found)
    return tuple(Document(key, texts[int(key[:16], 16)]) for key in keys)


def _wanted(clean: str, wanted: Digests, texts: list[str]) -> dict[int, str]:
    usable = [text for text in map(CLEANINGS[clean], texts) if has_words(text)]
    digests = _digests(usable)
    return {int(digests[place]): usable[place] for place in np.flatnonzero(np.isin(digests, wanted)).tolist()}


def _count(clean: str, max_words: int, kinds: str, terms: tuple[str, ...], texts: list[str]) -> NDArray[np.int64]:
    usable, _, _ = _usable(clean, max_words, texts)
    held = document_frequencies(usable, kinds)
    return np.array([held.get(term, 0) for term in terms], np.int64)

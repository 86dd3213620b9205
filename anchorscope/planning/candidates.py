"""Which documents are explained, and which terms of them may be tested: the candidates, and where they occur.

Candidates are fixed before the first test: terms that are no stop words and occur often enough. Occurrences
are stored as three flat arrays, a row an occurrence, so that a million documents fit; words are numbered as they are
met, so no text is kept twice, and those of a document are cut again when it is tested.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.errors import DocumentsError
from anchorscope.planning.tokens import CUT_AT_ONCE, Vocabulary, batches, find_tokens
from anchorscope.scoring.surrogate import N_FOLDS
from anchorscope.settings import Settings
from anchorscope.text.cut import cut, distinct, ranges
from anchorscope.text.rule import PLAIN, keys_of, word_spans, words_in
from anchorscope.text.segmenters import NEEDED_SHARE, languages, needed_segmenters
from anchorscope.text.words import stop_words
from anchorscope.types import Document, SharingBackend

GROUPED_AT_ONCE = 4096
"""Documents whose tokens are sorted and grouped together."""

MOST_NAMED = 8
"""Terms that are named of those that a filter leaves out."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a filter of candidates (the name of a setting) leaves out: how many terms, and the most frequent of them."""

    setting: str
    n_terms: int
    most: tuple[str, ...]

    @classmethod
    def of(cls, setting: str, counts: Mapping[str, int]) -> LeftOut:
        """From how often each of the terms occurs.

        >>> LeftOut.of("stop_words", {"she": 2, "the": 9, "he": 2})
        LeftOut(setting='stop_words', n_terms=3, most=('the', 'he', 'she'))
        """
        return cls(setting, len(counts), tuple(nsmallest(MOST_NAMED, counts, key=lambda term: (-counts[term], term))))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidates:
    """The candidate terms, in order, how each is written most often, and their occurrences: document, term, positions.

    ``first_occurrence[d]`` is where the occurrences of document d begin, ``first_position[o]`` where the positions of
    occurrence o begin; ``training`` counts each term in the training set. ``n_unseen`` are words that are no candidates
    where they stand, because the model reads the ``n_cut`` documents that hold them only in part; ``left_out`` says
    what filters of candidates leave out.
    """

    terms: tuple[str, ...]
    written: tuple[str, ...]
    occurrence_document: NDArray[np.int32]
    occurrence_term: NDArray[np.int32]
    first_position: NDArray[np.int64]
    positions: NDArray[np.int32]
    first_occurrence: NDArray[np.int64]
    training: NDArray[np.int64]
    n_cut: int = 0
    n_unseen: int = 0
    left_out: tuple[LeftOut, ...] = ()

    def of(self, documents: NDArray[np.intp]) -> Candidates:
        """The same in some of the documents, which are numbered anew in their order; the terms stay."""
        firsts = self.first_occurrence[documents]
        sizes = self.first_occurrence[documents + 1] - firsts
        occurrences = ranges(firsts, sizes)
        starts = self.first_position[occurrences]
        lengths = self.first_position[occurrences + 1] - starts
        return Candidates(
            terms=self.terms,
            written=self.written,
            occurrence_document=np.repeat(np.arange(len(documents), dtype=np.int32), sizes),
            occurrence_term=self.occurrence_term[occurrences],
            first_position=np.concatenate([[0], np.cumsum(lengths)]),
            positions=self.positions[ranges(starts, lengths)],
            first_occurrence=np.concatenate([[0], np.cumsum(sizes)]),
            training=self.training,
            n_cut=self.n_cut,
            n_unseen=self.n_unseen,
            left_out=self.left_out,
        )

    def document_frequency(self) -> NDArray[np.int64]:
        """How many documents hold each term, (terms,)."""
        # A pair (document, term) as one number, each counted once however often the term occurs in the document.
        pairs = distinct(self.occurrence_document.astype(np.int64) * len(self.terms) + self.occurrence_term)
        return np.bincount(pairs % max(1, len(self.terms)), minlength=len(self.terms))


def choose(documents: Sequence[Document], settings: Settings) -> tuple[list[Document], dict[str, int]]:
    """The documents to explain, in the order of their keys, and how many of the others were left out, by reason."""
    sampled = sample(documents, settings.sample_documents, settings.seed)
    chosen = [document for document in sampled if not is_longer(document.text, settings.max_words)]
    if not chosen:
        raise DocumentsError(
            f"Each of the {len(sampled)} documents has more than {settings.max_words} words; raise --max-words."
        )
    left_out = {
        "not in the sample": len(documents) - len(sampled),
        f"more than {settings.max_words} words": len(sampled) - len(chosen),
    }
    chosen.sort(key=lambda document: document.key)
    return chosen, {reason: n for reason, n in left_out.items() if n}


def sample(documents: Sequence[Document], share: float, seed: int) -> list[Document]:
    """A share of the documents, chosen by a hash of seed and key: the same whatever their order."""
    if share == 1:
        return list(documents)
    wanted = max(1, round(share * len(documents)))
    chosen = sorted(documents, key=lambda document: (_priority(seed, document.key), document.key))[:wanted]
    return chosen


def priorities(seed: int, keys: Sequence[str]) -> NDArray[np.uint64]:
    """The priority of each document: a hash of seed and key, so it says nothing about the document.

    Copies of a text share their last bits, by which a surrogate's folds are told apart: none is to be expected from
    another copy of itself.

    >>> first, second = priorities(0, ["5f3a", "5f3a-2"]).tolist()
    >>> first != second, first % N_FOLDS == second % N_FOLDS
    (True, True)
    """
    begun = blake2b(f"{seed} race ".encode(), digest_size=8)

    def digest(key: str) -> bytes:
        of_key = begun.copy()
        of_key.update(key.encode())
        return of_key.digest()

    digests = bytearray()
    for key in keys:
        found = digest(key)
        text, copy, _ = key.partition("-")
        if copy:
            found = found[:-1] + bytes([found[-1] - found[-1] % N_FOLDS + digest(text)[-1] % N_FOLDS])
        digests += found
    return np.frombuffer(digests, ">u8").astype(np.uint64)


def find_candidates(
    documents: Sequence[Document],
    settings: Settings,
    *,
    training_texts: Sequence[str] | None = None,
    seen: NDArray[np.int64] | None = None,
    helpers: SharingBackend | None = None,
) -> Candidates:
    """The terms that may be tested, and where they occur.

    ``seen`` (documents, 2) is where what the model reads of each begins and ends, in characters; all of it, if None.
    ``helpers`` cut many texts in parts, each by itself; what is found is the same.
    """
    kinds = str(settings.terms)
    vocabulary = Vocabulary(kinds, stop_words(settings.stop_words))
    texts = [document.text for document in documents]
    everything = find_tokens(texts, vocabulary, helpers)
    found = everything if seen is None else everything.within(_seen_words(texts, seen))
    counts = np.bincount(found.term, minlength=len(vocabulary.terms))
    is_candidate = counts >= settings.min_occurrences
    _leave_out_long(vocabulary.terms, is_candidate)
    # Terms were numbered as they were met; from here on they are numbered in their own order.
    by_number = list(vocabulary.terms)
    first_numbers = np.array(sorted(np.flatnonzero(is_candidate).tolist(), key=by_number.__getitem__), np.intp)
    _check_some_are_left(len(first_numbers), len(counts), settings)
    chosen = [by_number[number] for number in first_numbers.tolist()]
    final_numbers = np.zeros(len(counts), np.int32)
    final_numbers[first_numbers] = np.arange(len(chosen), dtype=np.int32)
    kept = is_candidate[found.term]
    document = np.repeat(np.arange(len(documents), dtype=np.int32), found.sizes)[kept]
    tokens = _Tokens(document, final_numbers[found.term[kept]], found.first[kept], found.n_words[kept])
    grouped = _grouped(tokens, grain(settings))
    training = counts[first_numbers] if training_texts is None else _count(training_texts, chosen, kinds)
    never = LeftOut.of("stop_words", vocabulary.never_counted())
    return Candidates(
        terms=tuple(chosen),
        written=vocabulary.written(first_numbers),
        occurrence_document=grouped.document,
        occurrence_term=grouped.term,
        first_position=np.concatenate([[0], np.cumsum(grouped.n_positions)]),
        positions=grouped.position,
        first_occurrence=np.concatenate([[0], np.cumsum(np.bincount(grouped.document, minlength=len(documents)))]),
        training=training.astype(np.int64),
        n_cut=int((found.sizes < everything.sizes).sum()),
        n_unseen=len(everything.term) - len(found.term),
        left_out=tuple(one for one in (never, _rare(vocabulary.terms, counts, settings)) if one.n_terms),
    )


def _check_some_are_left(n_candidates: int, n_words: int, settings: Settings) -> None:
    if n_candidates:
        return
    advice = "lower --min-occurrences or give more documents" if n_words else f"--terms is {settings.terms}"
    raise DocumentsError(
        f"No word is left to test: of {n_words} words none occurs {settings.min_occurrences} times; {advice}."
    )


def _rare(numbers: Mapping[str, int], counts: NDArray[np.intp], settings: Settings) -> LeftOut:
    """The terms that occur too seldom to be candidates, but do occur."""
    if settings.min_occurrences <= 1:
        return LeftOut("min_occurrences", 0, ())
    is_rare = ((counts > 0) & (counts < settings.min_occurrences)).tolist()
    return LeftOut.of("min_occurrences", {term: int(counts[n]) for term, n in numbers.items() if is_rare[n]})


LONGEST_TERM = 1000
"""Characters of a term; what is longer is no word but data that somebody has put into a text."""


def _leave_out_long(terms: Mapping[str, int], is_candidate: NDArray[np.bool_]) -> None:
    """Take those out that no list could show, and say how many; documents keep them, and the model reads them."""
    long = [number for term, number in terms.items() if len(term) > LONGEST_TERM and is_candidate[number]]
    is_candidate[long] = False
    if long:
        n = len(long)
        warnings.warn(
            f"{n:,} {'word has' if n == 1 else 'words have'} more than {LONGEST_TERM:,} characters and "
            f"{'is' if n == 1 else 'are'} not tested.",
            stacklevel=3,
        )


def check_scripts(documents: Sequence[Document], settings: Settings) -> dict[str, str]:
    """The segmenters that the documents need, with their versions; refuses, or warns, where words are not told apart.

    Plain terms need none; where much of the collection is so written, that each character is a word is said.
    """
    texts = [document.text for document in documents]
    if settings.terms != PLAIN:
        return needed_segmenters(texts)
    n = sum(bool(languages(text)) for text in texts)
    if n >= NEEDED_SHARE * len(texts) and n:
        warnings.warn(
            f"{n} of {len(texts)} documents are in a script without spaces, and --terms {PLAIN} takes each character "
            "for a word.",
            stacklevel=3,
        )
    return {}


def grain(settings: Settings) -> str:
    """What the settings' local score takes for one occurrence: a token, or all tokens of a term in a document."""
    found: str = registry.resolve("score", str(settings.score)).grain
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Tokens:
    """Document and term of each token, where its first word stands, and how many it takes up."""

    document: NDArray[np.int32]
    term: NDArray[np.int32]
    first: NDArray[np.int32]
    n_words: NDArray[np.int32]

    def some(self, which: slice | NDArray[np.int64]) -> _Tokens:
        """Some of the tokens."""
        return _Tokens(self.document[which], self.term[which], self.first[which], self.n_words[which])

    def by_pair(self) -> tuple[_Tokens, NDArray[np.int64]]:
        """The tokens in the order of (document, term), those of a pair in their own; and where in that each pair
        begins."""
        pair = self.document.astype(np.int64) * (int(self.term.max(initial=0)) + 1) + self.term
        order = np.argsort(pair, kind="stable")
        return self.some(order), np.flatnonzero(np.diff(pair[order], prepend=-1))


@dataclass(frozen=True, slots=True, eq=False)
class _Grouped:
    """Occurrences: document and term of each, how many positions it has, and those of all."""

    document: NDArray[np.int32]
    term: NDArray[np.int32]
    n_positions: NDArray[np.int64]
    position: NDArray[np.int32]


def _grouped(tokens: _Tokens, grain: str) -> _Grouped:
    """Tokens as occurrences: each by itself, or those of a term in a document together."""
    # Tokens come document by document: some documents at a time, what is worked at stays in the processor's cache.
    last = int(tokens.document.max(initial=0))
    edges = np.searchsorted(tokens.document, np.arange(0, last + 1, GROUPED_AT_ONCE, dtype=np.int32)).tolist()
    ends = [*edges[1:], len(tokens.document)]
    parts = [_grouped_some(tokens.some(slice(start, end)), grain) for start, end in zip(edges, ends)]
    return _Grouped(*(np.concatenate([getattr(part, name) for part in parts]) for name in _Grouped.__slots__))


def _grouped_some(tokens: _Tokens, grain: str) -> _Grouped:
    """Those of some documents."""
    starts = np.arange(len(tokens.document))
    if grain != "token":
        tokens, starts = tokens.by_pair()
    words_before = np.concatenate([[0], np.cumsum(tokens.n_words, dtype=np.int64)])
    return _Grouped(
        tokens.document[starts],
        tokens.term[starts],
        np.diff(words_before[np.append(starts, len(tokens.document))]),
        ranges(tokens.first, tokens.n_words).astype(np.int32),
    )


def _seen_words(texts: Sequence[str], seen: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first word that the model reads of each text, if only in part, and the first that it does not read."""
    found = np.tile(np.array([0, np.iinfo(np.int64).max]), (len(texts), 1))
    for number, text in enumerate(texts):
        start, end = seen[number].tolist()
        if start > 0 or end < len(text):
            starts, ends = word_spans(text)
            found[number] = np.searchsorted(ends, start, side="right"), np.searchsorted(starts, end)
    return found


def _count(texts: Sequence[str], chosen: Sequence[str], kinds: str) -> NDArray[np.int64]:
    """How often each chosen term occurs in some texts."""
    key = keys_of(kinds)
    counts: Counter[str | None] = Counter()
    for some in batches(texts, CUT_AT_ONCE):
        found = cut(some, merged=kinds != PLAIN)
        for word, n in zip(found.words, np.bincount(found.numbers, minlength=len(found.words)).tolist()):
            counts[key(word)] += n
    return np.array([counts[word] for word in chosen], np.int64)


def is_longer(text: str, max_words: int) -> bool:
    """Whether a text has more words than that; most have not even as many characters, and are not cut for it."""
    return len(text) > max_words and len(words_in(text)) > max_words


def _priority(seed: int, key: str) -> bytes:
    return blake2b(f"{seed} {key}".encode(), digest_size=8).digest()

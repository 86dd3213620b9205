"""Words of the user's own documents, chosen by the words beside them: no weights, any language.

Two tables are counted: which words follow a word, and which words precede it; the end of a document counts as a word.
A masked position between l and r is filled, one half from each side, by

    P(w) = 1/2 P_after(w | l) + 1/2 P_before(w | r)        P_after(w | l) = (1 - u) c(l, w) / c(l) + u P(w)

where P(w) is the share of w among all words and u = t / (t + c(l)), with t the number of different words seen after l
(Witten and Bell 1991). So a neighbour seen once does not simply give back the very word that was masked, a neighbour
seen often speaks for itself, and one that was never seen, or is masked too, says nothing: u = 1. Each of the three
distributions is cut to its most frequent words, a third of ``top_n`` each.

>>> import numpy as np
>>> corpus = [Words(("a", "b"), ("", " ", "")), Words(("a", "c"), ("", " ", ""))]
>>> perturbator = CorpusPerturbator(top_n=9).fit(corpus)
>>> proposals = perturbator.propose(corpus[:1], [np.array([False, True])])
>>> for word, probability in zip(proposals.words[0], proposals.probabilities[0]):
...     if probability:
...         print(perturbator.vocabulary[word], probability)
a 0.25
b 0.375
c 0.375

(After a: b or c, u = 2/4. Before the end: b or c, u = 2/4. All words: a 1/2, b 1/4, c 1/4. So b has
1/2 (1/2 · 1/2 + 1/2 · 1/4) + the same = 3/8.)

Words are counted in lower case (not casefolded: a fill should read "straße", and "οδός" with its final sigma).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256

import numpy as np
from numpy.typing import NDArray

from anchorscope.errors import InputError
from anchorscope.types import Proposals, Words

MOST_WORDS = 10_000_000
"""Of a larger collection a sample of the texts with about so many words is counted, the same in any order."""


class CorpusPerturbator:
    """Proposals from the documents that it was fitted to; the answers are exactly the same in any batch."""

    name = "corpus"
    cased = False
    knows_originals = True

    def __init__(self, top_n: int = 50) -> None:
        if top_n < 3:
            raise InputError(f"top_n is {top_n}, but the corpus perturbator needs at least 3 proposals.")
        self.top_n = top_n
        self.vocabulary: Sequence[str] = ()
        self.fingerprint = ""

    @classmethod
    def named(cls, argument: str, *, top_n: int, device: str) -> CorpusPerturbator:
        """The perturbator as the command line names it: nothing stands behind its name."""
        if argument:
            raise InputError(f"The perturbator {cls.name!r} takes nothing after a colon, but {argument!r} was given.")
        return cls(top_n=top_n)

    def fit(self, texts: Sequence[Words]) -> CorpusPerturbator:
        """One that has counted which words stand beside which; the order of the texts does not matter."""
        fitted = CorpusPerturbator(self.top_n)
        fitted._learn(texts)
        return fitted

    def _learn(self, texts: Sequence[Words]) -> None:
        self.vocabulary, line = _number(_sample(texts))
        if not self.vocabulary:
            raise InputError("The corpus perturbator learns from the documents, but they contain no word at all.")
        n_words = len(self.vocabulary)
        n = self.top_n // 3
        self._boundary = n_words
        self._unknown = n_words + 1
        self._numbers = _Numbers(self.vocabulary, self._unknown)
        self._after = _Table.count(line[:-1], line[1:], n_words, n)
        self._before = _Table.count(line[1:], line[:-1], n_words, n)
        self._anywhere = _most_frequent(line[line < n_words], self.top_n - 2 * n)
        self.fingerprint = self._hash()

    def propose(self, texts: Sequence[Words], masks: Sequence[NDArray[np.bool_]]) -> Proposals:
        """Proposals for every True of every mask, each word at most once a row, in the order of the vocabulary."""
        return self._between(*self._neighbours(texts, masks))

    def draw(
        self,
        texts: Sequence[Words],
        masks: Sequence[NDArray[np.bool_]],
        rows: NDArray[np.intp],
        chances: NDArray[np.float64],
    ) -> NDArray[np.int32]:
        """The words at which the cumulated probabilities of the asked rows of ``propose`` pass the chances.

        What is proposed depends on the two neighbours alone, and most masks have neighbours that others have, too: each
        pair of them is looked up once.
        """
        left, right = self._neighbours(texts, masks)
        # (left, right) as one number: a distinct pair is looked up once, and ``number`` says which one a row has.
        n_contexts = self._unknown + 1
        pairs, number = np.unique((left * n_contexts + right)[rows], return_inverse=True)
        proposals = self._between(*np.divmod(pairs, n_contexts))
        cumulated = np.cumsum(proposals.probabilities, axis=1, dtype=np.float64)
        drawn = np.empty(len(rows), np.int32)
        # Inversion, pair by pair: the rows of a pair stand together in this order, and end where its count ends.
        order = np.argsort(number, kind="stable")
        ends = np.cumsum(np.bincount(number, minlength=len(pairs)))
        for pair, mine in enumerate(np.split(order, ends[:-1])):
            passed = np.searchsorted(cumulated[pair], chances[mine] * cumulated[pair, -1], side="right")
            drawn[mine] = proposals.words[pair, passed]
        return drawn

    def _between(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> Proposals:
        """What stands between two neighbours, a row a pair."""
        words_after, shares_after, unsaid_after = self._after.look_up(left)
        words_before, shares_before, unsaid_before = self._before.look_up(right)
        words, shares = self._anywhere
        return _merge(
            np.hstack([words_after, words_before, np.broadcast_to(words, (len(left), len(words)))]),
            np.hstack([shares_after, shares_before, shares * (unsaid_after + unsaid_before)]) * np.float32(0.5),
        )

    def _neighbours(
        self, texts: Sequence[Words], masks: Sequence[NDArray[np.bool_]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of the words to the left and right of every masked position."""
        if not self.vocabulary:
            raise InputError("The corpus perturbator has seen no documents yet; call fit(texts) before propose.")
        boundary = self._boundary
        number = self._numbers.__getitem__
        # The texts as one line with boundaries between them, what is masked unknown: neighbours are one place away.
        line = [found for text in texts for found in (boundary, *map(number, text.words))]
        contexts = np.array([*line, boundary])
        masked = np.concatenate([part for mask in masks for part in ([False], mask)] + [[False]])
        contexts[masked] = self._unknown
        places = np.flatnonzero(masked)
        return contexts[places - 1], contexts[places + 1]

    def _hash(self) -> str:
        digest = sha256("\0".join((str(self.top_n), *self.vocabulary)).encode("utf-8", "surrogatepass"))
        for table in (self._after, self._before):
            for array in (table.starts, table.words, table.shares, table.unsaid):
                digest.update(array.tobytes())
        for array in self._anywhere:
            digest.update(array.tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Table:
    """The n most frequent words of each context: those of context c are ``words[starts[c]:starts[c + 1]]``.

    ``shares`` are what the context says of them, and ``unsaid`` (contexts,) what it leaves to all words: together 1.
    """

    n: int
    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    shares: NDArray[np.float32]
    unsaid: NDArray[np.float32]

    @classmethod
    def count(cls, contexts: NDArray[np.int32], words: NDArray[np.int32], n_words: int, n: int) -> _Table:
        """Count the pairs; ties go in the order of the vocabulary.

        The contexts are the words, the boundary (n_words) and the unknown one (n_words + 1), which stays empty.
        """
        n_contexts = n_words + 2
        inside = words < n_words
        pairs, counts = np.unique(contexts[inside].astype(np.int64) * n_words + words[inside], return_counts=True)
        context, word = np.divmod(pairs, n_words)
        # Witten and Bell's smoothing: the more different words a context was seen with, the more it leaves to all
        # words.
        n_seen = np.bincount(context, minlength=n_contexts)
        totals = np.bincount(context, counts, minlength=n_contexts)
        unsaid = np.divide(n_seen, n_seen + totals, out=np.ones(n_contexts), where=n_seen > 0)
        # The n most frequent words of each context, and what it says of them made to add up to what it says at all.
        order = np.lexsort((word, -counts, context))
        rank = np.arange(len(order)) - np.repeat(np.cumsum(n_seen) - n_seen, n_seen)
        top = order[rank < n]
        context = context[top]
        word = word[top]
        counts = counts[top]
        said = (1 - unsaid) / np.maximum(np.bincount(context, counts, minlength=n_contexts), 1)
        return cls(
            n=n,
            starts=np.concatenate([[0], np.cumsum(np.minimum(n_seen, n))]),
            words=word.astype(np.int32),
            shares=(counts * said[context]).astype(np.float32),
            unsaid=unsaid.astype(np.float32),
        )

    def look_up(
        self, contexts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
        """Words and shares (contexts, n), padded with share 0, and what is left unsaid (contexts, 1)."""
        places = self.starts[contexts][:, None] + np.arange(self.n)
        there = places < self.starts[contexts + 1][:, None]
        places[~there] = 0
        return self.words[places], self.shares[places] * there, self.unsaid[contexts][:, None]


class _Numbers(dict[str, int]):
    """The number of every word met so far, by the word as written."""

    def __init__(self, vocabulary: Sequence[str], unknown: int) -> None:
        super().__init__(zip(vocabulary, range(len(vocabulary)), strict=True))
        self.unknown = unknown

    def __missing__(self, word: str) -> int:
        self[word] = number = self.get(_form(word), self.unknown)
        return number


def _form(word: str) -> str:
    """
    >>> _form("Straße")
    'straße'
    """
    return unicodedata.normalize("NFC", word.lower())


def _sample(texts: Sequence[Words]) -> Iterator[Words]:
    """The texts with the smallest hashes, until they have MOST_WORDS words; equal texts are interchangeable."""
    hashes_and_lengths = np.array([(_hash(text), len(text)) for text in texts], np.int64).reshape(-1, 2)
    order = np.argsort(hashes_and_lengths[:, 0], kind="stable")
    n_chosen = 1 + np.searchsorted(np.cumsum(hashes_and_lengths[order, 1]), MOST_WORDS)
    return (texts[i] for i in order[:n_chosen].tolist())  # one at a time: together they are larger than their texts


def _hash(text: Words) -> int:
    joined = "\0".join(text.words).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(joined, digest_size=7).digest(), "big")


def _number(texts: Iterable[Words]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The sorted vocabulary, and all texts as one line of its numbers, with boundaries around and between them."""
    written: dict[str | None, int] = {None: 0}
    raw = np.fromiter(
        (written.setdefault(word, len(written)) for text in texts for word in (None, *text.words)), np.int32
    )
    forms = [_form(word) for word in written if word is not None]
    vocabulary = tuple(sorted(set(forms)))
    numbers = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
    renumbered = np.array([len(vocabulary), *(numbers[form] for form in forms)], np.int32)
    return vocabulary, renumbered[np.append(raw, 0)]


def _most_frequent(line: NDArray[np.int32], n: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The n most frequent words of the line and their shares, ties in the order of the vocabulary.

    >>> _most_frequent(np.array([2, 0, 1, 1, 2], np.int32), 2)
    (array([1, 2], dtype=int32), array([0.5, 0.5], dtype=float32))
    """
    counts = np.bincount(line)
    top = np.argsort(-counts, kind="stable")[:n]
    return top.astype(np.int32), (counts[top] / counts[top].sum()).astype(np.float32)


def _merge(words: NDArray[np.int32], probabilities: NDArray[np.float32]) -> Proposals:
    """Each row with the probabilities of equal words added up; what becomes free has probability 0.

    >>> _merge(np.array([[3, 1, 3]], np.int32), np.array([[0.5, 0.25, 0.25]], np.float32)).probabilities.tolist()
    [[0.25, 0.75, 0.0]]
    """
    order = np.argsort(words, axis=1, kind="stable")
    words = np.take_along_axis(words, order, axis=1)
    probabilities = np.take_along_axis(probabilities, order, axis=1)
    # Sorted, equal words stand together; the first of them takes the sum.
    first = np.diff(words, axis=1, prepend=-1) != 0
    starts = np.flatnonzero(first)
    merged = np.zeros(words.size, np.float32)
    merged[starts] = np.add.reduceat(probabilities.ravel(), starts) if len(starts) else 0
    return Proposals(words, merged.reshape(words.shape))

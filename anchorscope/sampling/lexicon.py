"""A perturbator's vocabulary as texts need it: numbers become words, in the capitals of the words that they replace.

Perturbed texts are made of few words, and their readers want to know which; so they are not written but spelled
(``types.Spelled``): what stands between two spaces, a *stretch*, has a number, and a text is the numbers of its
stretches. Most stretches are one word, so most of a text is looked up, for all samples of many documents at once. Words
that touch are written out:

    "so good, so bad"     kept, masked, masked, kept, masked       so / nice. / so / well
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from anchorscope.text.words import AS_IS, CAPITALISED, CAPITALS, case_of, compose, in_case, stretches, term
from anchorscope.types import Perturbator, Spelled, Words

Fills = NDArray[np.int32]
"""Vocabulary numbers (samples, words); what stands where a word is kept is not read."""

BETWEEN_SPACES = ("", "")
"""The gaps of a stretch that is one word."""

NOTHING = -1
"""The number of no stretch."""

REMEMBERED = 1 << 22
"""Characters of stretches besides the vocabulary, and words that touch: remembered before all are forgotten."""


class Lexicon:
    """A perturbator's vocabulary as texts need it: by number, in three capitalisations, and by term."""

    def __init__(self, perturbator: Perturbator) -> None:
        words = self._words = list(perturbator.vocabulary)
        cases = (AS_IS, CAPITALISED, CAPITALS)
        variants = [words if perturbator.cased else [in_case(word, case) for word in words] for case in cases]
        spellings = [word for words in variants for word in words]
        self._stretches = _Stretches(spellings)
        # (3, vocabulary): the number of each word as it is, capitalised, and in capitals.
        self._variants = self._stretches.numbered(spellings).reshape(3, -1)
        self._touching: dict[tuple[str, ...], dict[bytes, bytes]] = {}
        # A fill may remove a word with a gap, or bring spaces of its own: then texts are written before they are cut.
        self._writes_all = any(not word or " " in word for word in words)

    @cached_property
    def _by_spelling(self) -> dict[str, int]:
        return {word: number for number, word in self._backwards()}

    @cached_property
    def _by_term(self) -> dict[str, int]:
        return {term(word) or word: number for number, word in self._backwards()}

    def _backwards(self) -> Iterable[tuple[int, str]]:
        """From the last word to the first, so that the first of equal ones stays."""
        return reversed(list(enumerate(self._words)))

    def numbers(self, words: Words) -> NDArray[np.int32]:
        """The vocabulary number of each word, by its spelling or else by its term; -1 where there is none."""
        return np.array([self._number(word) for word in words.words], np.int32)

    def _number(self, word: str) -> int:
        return self._by_spelling.get(word, self._by_term.get(term(word) or word, -1))

    def forget(self) -> None:
        """Make room, if there is much to remember; what was spelled before stays as it is."""
        n_touching = sum(len(gaps) * len(known) for gaps, known in self._touching.items())
        if self._stretches.n_characters + n_touching > REMEMBERED:
            self._stretches.forget()
            self._touching.clear()

    def spell(self, documents: Sequence[Words], kept: NDArray[np.bool_], fills: Fills) -> Spelled:
        """The texts of samples: kept words as they are, fills in the capitals of what they replace.

        The words of the documents stand side by side in ``kept`` and ``fills`` (samples, words of all); the texts come
        document by document.
        """
        written = [word for words in documents for word in words.words]
        cases = np.fromiter(map(case_of, written), np.intp, len(written))
        # (samples, words of all): the word itself where it is kept, else the fill in the capitals of the word.
        numbers = np.where(kept, self._stretches.numbered(written), self._variants[cases, fills])
        texts = self._written(documents, numbers) if self._writes_all else self._spelled(documents, numbers)
        return Spelled(self._stretches.written, texts)

    def _written(self, documents: Sequence[Words], numbers: NDArray[np.int32]) -> list[bytes]:
        """The texts of (samples, words of all documents), written out and cut at their spaces."""
        texts = []
        start = 0
        for words in documents:
            texts += compose(words, self._stretches.read(numbers[:, start : start + len(words)]))
            start += len(words)
        return [self._stretches.numbered(text.split(" ")).tobytes() for text in texts]

    def _spelled(self, documents: Sequence[Words], numbers: NDArray[np.int32]) -> list[bytes]:
        """The texts of (samples, words of all documents), by their stretches."""
        columns, firsts, touching = _laid_out(documents)
        # A column a stretch. One word between spaces is its own stretch; words that touch get new columns on the right,
        # as many as they are, of which NOTHING fills those that they do not need.
        table = np.empty((len(numbers), max(numbers.shape[1], *columns) + 1), np.int32)
        table[:, : numbers.shape[1]] = numbers
        for gaps, places in touching.items():
            n = len(gaps) - 1
            # All places with the same gaps at once: (places, 1) plus (words,) are the columns of each.
            words, stretches = np.array(places).T[:, :, None]
            table[:, stretches + np.arange(max(1, n))] = self._joined(gaps, numbers[:, words + np.arange(n)])
        # In the order of the texts; NOTHING is dropped, and each text is cut out of its row by how many bytes it has
        # left.
        table = table[:, columns]
        ends = table.itemsize * np.add.reduceat(table != NOTHING, firsts, axis=1, dtype=np.intp).cumsum(axis=1)
        lines = [
            [line[begin:end] for begin, end in pairwise((0, *stops))]
            for line, stops in zip((row[row != NOTHING].tobytes() for row in table), ends.tolist())
        ]
        return [text for texts in zip(*lines) for text in texts]

    def _joined(self, gaps: tuple[str, ...], numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Words that touch (samples, places, words) as stretches, with NOTHING for those that two of them share."""
        n_samples, n_places, n_words = numbers.shape
        known = self._touching.setdefault(gaps, {})
        size = n_words * numbers.itemsize
        data = numbers.tobytes()
        nothing = np.int32(NOTHING).tobytes()
        # Each combination of touching words as bytes, which a dict can look up: most have been met before.
        rows = [data[number * size : (number + 1) * size] for number in range(n_samples * n_places)]
        for row in {*rows}.difference(known):
            written = [self._stretches.written[number] for number in memoryview(row).cast("i")]
            found = array("i", map(self._stretches.__getitem__, stretches(written, gaps)))
            # Padded to the number of words, so that all rows of these gaps have one length.
            known[row] = found.tobytes() + nothing * (n_words - len(found))
        joined = b"".join([known[row] for row in rows])
        return np.frombuffer(joined, np.int32).reshape(n_samples, n_places, -1)


class _Stretches(dict[str, int]):
    """The number of every stretch met so far, ``own`` ones first; ``written`` is the way back.

    ``n_characters`` counts those of the others.
    """

    def __init__(self, own: Iterable[str]) -> None:
        self.written = [*dict.fromkeys(own)]
        super().__init__(zip(self.written, range(len(self.written))))
        self._n_own = len(self.written)
        self.n_characters = 0

    def __missing__(self, stretch: str) -> int:
        self[stretch] = number = len(self.written)
        self.written.append(stretch)
        self.n_characters += len(stretch)
        return number

    def numbered(self, stretches: Sequence[str]) -> NDArray[np.int32]:
        """The number of each."""
        return np.fromiter(map(self.__getitem__, stretches), np.int32, len(stretches))

    def read(self, numbers: NDArray[np.int32]) -> NDArray[np.object_]:
        """What is written under each number."""
        found = np.empty(numbers.size, object)
        found[:] = [self.written[number] for number in numbers.ravel().tolist()]
        return found.reshape(numbers.shape)

    def forget(self) -> None:
        """Forget all but its own."""
        for stretch in self.written[self._n_own :]:
            del self[stretch]
        self.written = self.written[: self._n_own]
        self.n_characters = 0


def _stretches_of(words: Words) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The stretches of a text: which words are in each, from where to where, and the gaps around and between them.

    >>> list(_stretches_of(Words(("So", "good", "!"), ("", " ", "", "\\n"))))
    [(0, 1, ('', '')), (1, 3, ('', '', '\\n'))]
    """
    if words.gaps == ("", *" " * (len(words) - 1), ""):  # as most are
        yield from ((position, position + 1, BETWEEN_SPACES) for position in range(len(words)))
        return
    begin = 0
    gaps = []
    for position, gap in enumerate(words.gaps):
        first, *more = gap.split(" ")
        gaps.append(first)
        for behind in more:
            yield begin, position, tuple(gaps)
            begin = position
            gaps = [behind]
    yield begin, len(words), tuple(gaps)


def _laid_out(
    documents: Sequence[Words],
) -> tuple[list[int], list[int], dict[tuple[str, ...], list[tuple[int, int]]]]:
    """The columns of the stretches of documents side by side, the first of each document, and where words touch.

    A stretch that is one word has the column of the word. Words that touch get as many new columns as they are, for
    they may be kept apart; under the gaps around and between them it says where the words begin, and where these do.
    """
    columns: list[int] = []
    firsts: list[int] = []
    touching: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    start = 0
    width = sum(map(len, documents))
    for words in documents:
        firsts.append(len(columns))
        for begin, end, gaps in _stretches_of(words):
            if gaps == BETWEEN_SPACES:
                columns.append(start + begin)
            else:
                touching.setdefault(gaps, []).append((start + begin, width))
                # The new columns stand behind all others, in the order in which their stretches are met.
                columns += range(width, width := width + max(1, end - begin))
        start += len(words)
    return columns, firsts, touching

"""Samples of many occurrences and documents, packed into batches that the models like.

An engine is given units (a document and some occurrences in it) and measures them. All units are open at once: every
stream with an open test draws its next samples, the masks of many of them are filled together, the perturbed texts of
many of them are classified together (equal texts once), each stream takes its answers back, and tests that can
decide are closed. Where the predictor can work by itself, as a GPU does, the next samples are drawn meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answered, batches
from anchorscope.sampling.draws import KEEP_AT_MOST, SHARED, KeyedGenerator, keep_probabilities
from anchorscope.sampling.fills import BlindProposals, Block, Filling, filling, original_probabilities
from anchorscope.sampling.lexicon import Lexicon
from anchorscope.sampling.sequential_test import SequentialTest
from anchorscope.sampling.stream import Stream, columns_read, read_samples, side_by_side
from anchorscope.text.pairs import SEPARATOR
from anchorscope.text.words import split
from anchorscope.types import (
    EMPTY,
    BeginningPredictor,
    Cost,
    Measurements,
    Perturbator,
    Positions,
    Predictor,
    Spelled,
    Unit,
    Words,
)

PREDICTOR_TEXTS = 4096
"""How many texts are handed to the predictor at once, sorted by length; adapters batch further as they like."""

SHARED_BLOCK = 2.4
"""Samples drawn at a time for a shared stream, in looks: a word is kept in half of them."""


_Part: TypeAlias = tuple[Sequence[Stream], NDArray[np.bool_], Callable[[], NDArray[np.float64]]]
"""Some streams, the words in their next samples (samples, words of all), and what gives the model's answers."""


KeepProbabilities: TypeAlias = MutableMapping[str, NDArray[np.float64]]
"""The probability of each word of a document to be kept, by its text."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How samples are made: everything that a sample depends on besides text, stream and number."""

    seed: int
    keep: str
    fill: str
    condition: str
    bank_pairs: int
    bank_draw: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One perturbed text, whether the occurrence is in it, and whether the prediction was kept."""

    text: str
    present: bool
    agreed: bool


class Engine:
    """A predictor, a perturbator and a test, ready to measure units of work."""

    def __init__(
        self, predictor: Predictor, perturbator: Perturbator, sampling: Sampling, test: SequentialTest
    ) -> None:
        self._predictor = predictor
        self._perturbator = perturbator
        self._sampling = sampling
        self._test = test
        self._lexicon = Lexicon(perturbator)
        self._blind = BlindProposals(perturbator)

    def calls(self, unit: Unit) -> float:
        """The texts that a unit takes at most; infinite where a test stops when it can tell."""
        if self._test.may_stop_early:
            return inf
        return self._test.max_samples * (len(unit) if self._sampling.keep == "own" else 1)

    def measure(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """A row an occurrence, in the order of the units, and what that took (without the time)."""
        session = self._session()
        streams = [stream for unit in units for stream in self._streams(unit, session)]
        opened = sorted(streams, key=Stream.n_words)  # texts of one length are classified together
        n_samples = 0
        # Every open stream gets its next samples; the model works on one part while the next is drawn (``_one_ahead``).
        while opened:
            size = opened[0].block_size
            parts = batches(opened, max(1, PREDICTOR_TEXTS // size))
            for some, present, answer in _one_ahead(self._sampled(part, session) for part in parts):
                read_samples(some, present, answer().reshape(len(some), size, -1), self._test)
            n_samples += size * len(opened)
            opened = [stream for stream in opened if stream.is_open]
        found = Measurements.join(stream.found for stream in streams)
        cost = Cost(
            documents=self._n_documents(units),
            tests=len(found),
            undecided=int((~found.decided).sum()),
            samples=n_samples,
            predictor_texts=session.n_texts,
            perturbator_passes=session.all_passes,
        )
        return found, cost

    def agreements(
        self, units: Sequence[Unit], starts: Sequence[int], n: int, keep: KeepProbabilities
    ) -> tuple[NDArray[np.bool_], Cost]:
        """Whether each of the n samples from a start on kept the prediction, (occurrences, n): a start a unit.

        The samples are those that ``measure`` reads where every occurrence has its own (keep ``own``). The keep
        probabilities of documents are read from ``keep`` by text, and added where they are missing.
        """
        assert self._sampling.keep == "own" and self._sampling.condition == "kept", "all samples keep the occurrence"
        session = self._session(keep)
        streams = []
        for unit, start in zip(units, starts):
            for stream in self._own_streams(unit, split(unit.text), session):
                stream.skip_to(start, n)
                streams.append(stream)
        order = np.argsort([stream.n_words() for stream in streams], kind="stable").tolist()
        parts = list(batches(order, max(1, PREDICTOR_TEXTS // n)))
        agreed = np.empty((len(streams), n), bool)
        begun = (self._sampled([streams[i] for i in part], session) for part in parts)
        for part, (some, _, answer) in zip(parts, _one_ahead(begun)):
            said = answer().argmax(axis=1).reshape(len(some), n)
            agreed[part] = said == np.array([stream.unit.label for stream in some])[:, None]
        cost = Cost(samples=agreed.size, predictor_texts=session.n_texts, perturbator_passes=session.all_passes)
        return agreed, cost

    def learn_keep(self, texts: Sequence[str], keep: KeepProbabilities) -> int:
        """Add the keep probabilities of documents, the perturbator being asked about all of them together; its
        passes."""
        documents = [split(text) for text in texts]
        if self._perturbator.knows_originals:
            found = original_probabilities(self._perturbator, self._lexicon, documents)
            keep.update(zip(texts, map(keep_probabilities, found)))
            return sum(map(len, documents))
        keep.update((text, np.full(len(words), KEEP_AT_MOST)) for text, words in zip(texts, documents))
        return 0

    def _n_documents(self, units: Sequence[Unit]) -> int:
        """The documents that are visited for the first time: those with the empty anchor, where it is tested."""
        with_empty = sum(EMPTY in unit.positions for unit in units)
        return with_empty or (len(units) if self._sampling.keep == "own" else 0)

    def samples(self, units: Sequence[Unit], n: int) -> tuple[list[list[Sample]], Cost]:
        """The first n samples of each unit's first occurrence, from which it was measured, and what they took."""
        if not units:
            return [], Cost()
        session = self._session()
        blocks = [self._streams(unit, session)[0].block(self._sampling.seed, 0, n, session.generator) for unit in units]
        texts, present = self._texts(blocks, session)
        agreed = session.begin(texts)().argmax(axis=1) == np.repeat([unit.label for unit in units], n)
        reads = columns_read(
            present, side_by_side([len(block.words) for block in blocks], [unit.positions[:1] for unit in units])
        )
        samples = map(Sample, texts, reads.T.ravel().tolist(), agreed.tolist())
        cost = Cost(predictor_texts=session.n_texts, perturbator_passes=session.all_passes)
        return [list(islice(samples, n)) for _ in units], cost

    def _sampled(self, opened: Sequence[Stream], session: _Session) -> _Part:
        """The next samples of some streams: the words in them, and what gives the answers about them."""
        blocks = [stream.next_block(self._sampling.seed, session.generator) for stream in opened]
        texts, present = self._texts(blocks, session)
        return opened, present, session.begin(texts)

    def _texts(self, blocks: Sequence[Block], session: _Session) -> tuple[Spelled, NDArray[np.bool_]]:
        """The texts of some samples, and which words are in each (samples, words of all blocks)."""
        words = [block.words for block in blocks]
        kept = np.hstack([block.draws.kept for block in blocks])
        fills = np.hstack(session.filling.fill(blocks))
        return self._lexicon.spell(words, kept, fills), self._present(words, kept, fills)

    def _session(self, keep: KeepProbabilities | None = None) -> _Session:
        self._lexicon.forget()
        s = self._sampling
        fills = filling(
            s.fill, self._perturbator, self._blind, seed=s.seed, bank_pairs=s.bank_pairs, bank_draw=s.bank_draw
        )
        return _Session(self._predictor, fills, keep)

    def _present(self, words: Sequence[Words], kept: NDArray[np.bool_], fills: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which words are in each sample: kept, or (condition ``present``) refilled by themselves as well."""
        if self._sampling.condition == "kept":
            return kept
        numbers = np.concatenate([self._lexicon.numbers(document) for document in words])
        return kept | ((fills == numbers) & (numbers >= 0))

    def _streams(self, unit: Unit, session: _Session) -> list[Stream]:
        words = split(unit.text)
        return self._own_streams(unit, words, session) if self._sampling.keep == "own" else [self._shared(unit, words)]

    def _shared(self, unit: Unit, words: Words) -> Stream:
        """One stream for all occurrences; a test that may stop early draws a few looks at a time."""
        test = self._test
        return Stream(
            unit,
            words,
            number=SHARED,
            keep=np.full(len(words), KEEP_AT_MOST),
            forced=_borders(words),
            positions=unit.positions,
            thresholds=unit.thresholds,
            block_size=round(SHARED_BLOCK * test.look) if test.may_stop_early else test.max_samples,
            balanced=self._sampling.keep == "balanced",
        )

    def _own_streams(self, unit: Unit, words: Words, session: _Session) -> list[Stream]:
        """A stream an occurrence, in which it is kept for sure."""
        test = self._test
        keep = session.own_keep(self._perturbator, self._lexicon, unit.text, words)
        return [
            Stream(
                unit,
                words,
                number=positions[0] if positions else EMPTY_STREAM,
                keep=keep,
                forced=_borders(words) + (positions if self._sampling.condition == "kept" else ()),
                positions=(positions,),
                thresholds=(threshold,),
                block_size=test.look if test.may_stop_early else test.max_samples,
            )
            for positions, threshold in zip(unit.positions, unit.thresholds)
        ]


def _borders(words: Words) -> Positions:
    """What is never replaced: the sign between the texts of a pair."""
    return tuple(place for place, word in enumerate(words.words) if word == SEPARATOR)


EMPTY_STREAM = -1
"""The number of the empty anchor's own stream; that of an occurrence is its first position."""


class _Session:
    """What one call of the engine remembers: predictions of perturbed texts, keep probabilities, counts."""

    def __init__(self, predictor: Predictor, fills: Filling, keep: KeepProbabilities | None = None) -> None:
        self.filling = fills
        self.generator = KeyedGenerator()
        self.n_texts = 0
        self._n_passes = 0
        self._predictor = predictor
        self._rows = np.empty((0, len(predictor.labels)))
        self._places: dict[bytes, int] = {}
        self._keep: KeepProbabilities = {} if keep is None else keep

    @property
    def all_passes(self) -> int:
        """The passes of the perturbator, for keep probabilities and fills."""
        return self._n_passes + self.filling.n_passes

    def begin(self, texts: Spelled) -> Callable[[], NDArray[np.float64]]:
        """Ask the predictor about texts; what comes back gives the probabilities (texts, labels), when they are there.

        A text that was seen before is not asked again; what was begun first must be called first.
        """
        start = self.n_texts
        places = self._places
        # Equal texts are asked about once: a text has a place among all answers, the first time that it is met.
        new = [numbers for numbers in dict.fromkeys(texts.numbers) if numbers not in places]
        places.update(zip(new, range(start, start + len(new))))
        self.n_texts += len(new)
        rows = [places[numbers] for numbers in texts.numbers]
        answers = [_begun(self._predictor, Spelled(texts.stretches, some)) for some in batches(new, PREDICTOR_TEXTS)]

        def answer() -> NDArray[np.float64]:
            if len(self._rows) < start + len(new):
                self._rows = np.concatenate([self._rows, np.empty((start + len(new), self._rows.shape[1]))])
            at = start
            for found in answers:
                piece = found()
                self._rows[at : at + len(piece)] = piece
                at += len(piece)
            return self._rows[rows]

        return answer

    def own_keep(self, perturbator: Perturbator, lexicon: Lexicon, text: str, words: Words) -> NDArray[np.float64]:
        """The keep probabilities of a document's words under the paper's policy."""
        if not perturbator.knows_originals:
            return np.full(len(words), KEEP_AT_MOST)
        if text not in self._keep:
            self._keep[text] = keep_probabilities(original_probabilities(perturbator, lexicon, [words])[0])
            self._n_passes += len(words)
        return self._keep[text]


def _begun(predictor: Predictor, texts: Spelled) -> Callable[[], NDArray[np.float64]]:
    """What gives the checked answers about texts; the predictor begins with them at once, if it can."""
    if isinstance(predictor, BeginningPredictor):
        rows = predictor.begin(texts)
        return lambda: answered(lambda _: rows(), texts, predictor.labels)

    def answer() -> NDArray[np.float64]:
        written = list(texts)
        by_length = sorted(range(len(written)), key=lambda number: len(written[number]))
        rows = np.empty((len(written), len(predictor.labels)))
        rows[by_length] = answered(predictor.predict, [written[number] for number in by_length], predictor.labels)
        return rows

    return answer


def _one_ahead(parts: Iterator[_Part]) -> Iterator[_Part]:
    """The same parts, but the next one is begun before one is handed on."""
    waiting = next(parts)
    for following in parts:
        yield waiting
        waiting = following
    yield waiting

"""Samples of many tokens and documents, packed into batches that the models like.

An engine is given units (a document and the tokens to test in it) and answers their verdicts. All units are
open at once: every stream with an open test draws its next samples, the masks of many of them are filled
together, the perturbed texts of many of them are classified together (equal texts once), each stream takes its
agreements back, and tests that can decide are closed. Where the predictor can work by itself, as a GPU does, the next
samples are drawn meanwhile.

A test reads the samples of its stream in order, up to the first look at which it can decide, and ignores
whatever else was drawn. So a verdict depends on no batch, and on no other token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from anchorscope import streams
from anchorscope.anchor import Test
from anchorscope.answers import answered
from anchorscope.fills import Block, Filling, Unseen, filling, original_probabilities
from anchorscope.lexicon import Lexicon
from anchorscope.types import (
    EMPTY,
    BeginningPredictor,
    Cost,
    Perturbator,
    Predictor,
    Spelled,
    Unit,
    Verdict,
    Words,
)
from anchorscope.words import split

T = TypeVar("T")

PREDICTOR_TEXTS = 4096
"""How many texts are handed to the predictor at once, sorted by length; adapters batch further as they like."""

SHARED_BLOCK = 2.4
"""Samples drawn at a time for a shared stream, in looks: a token is kept in half of them."""


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
    """One perturbed text, whether the token under test is in it, and whether the prediction was kept."""

    text: str
    present: bool
    agreed: bool


class Engine:
    """A predictor, a perturbator and a test, ready to judge units of work."""

    def __init__(self, predictor: Predictor, perturbator: Perturbator, sampling: Sampling, test: Test) -> None:
        self._predictor, self._perturbator, self._sampling, self._test = predictor, perturbator, sampling, test
        self._lexicon = Lexicon(perturbator)
        self._unseen = Unseen(perturbator)

    def judge(self, units: Sequence[Unit]) -> tuple[list[Verdict], Cost]:
        """The verdicts of all units, in their order, and what they took (without the time)."""
        session = self._session()
        streams_ = [stream for unit in units for stream in self._streams(unit, session)]
        opened = sorted(streams_, key=_Stream.n_words)  # texts of one length are classified together
        n_samples = 0
        while opened:
            size = opened[0].block_size
            parts = _chunks(opened, max(1, PREDICTOR_TEXTS // size))
            for some, present, answer in _one_ahead(self._sampled(part, session) for part in parts):
                _take(some, present, answer().reshape(len(some), size, -1), self._test)
            n_samples += size * len(opened)
            opened = [stream for stream in opened if stream.n_open]
        verdicts = [verdict for stream in streams_ for verdict in stream.verdicts()]
        cost = Cost(
            documents=sum(EMPTY in unit.positions for unit in units),
            tests=len(verdicts),
            undecided=sum(not verdict.decided for verdict in verdicts),
            samples=n_samples,
            predictor_texts=session.n_texts,
            perturbator_passes=session.all_passes,
        )
        return verdicts, cost

    def samples(self, units: Sequence[Unit], n: int) -> tuple[list[list[Sample]], Cost]:
        """The first n samples of each unit's first token, from which its verdict was read, and what they took."""
        if not units:
            return [], Cost()
        session = self._session()
        blocks = [self._streams(unit, session)[0].block(self._sampling.seed, 0, n, session.wheel) for unit in units]
        texts, present = self._texts(blocks, session)
        agreed = session.begin(texts)().argmax(axis=1) == np.repeat([unit.label for unit in units], n)
        reads = _columns(
            present, _places([len(block.words) for block in blocks], [unit.positions[:1] for unit in units])
        )
        samples = map(Sample, texts, reads.T.ravel().tolist(), agreed.tolist())
        cost = Cost(predictor_texts=session.n_texts, perturbator_passes=session.all_passes)
        return [list(islice(samples, n)) for _ in units], cost

    def _sampled(self, opened: Sequence[_Stream], session: _Session) -> _Part:
        """The next samples of some streams: the tokens in them, and what gives the answers about them."""
        texts, present = self._texts(
            [stream.next_block(self._sampling.seed, session.wheel) for stream in opened], session
        )
        return opened, present, session.begin(texts)

    def _texts(self, blocks: Sequence[Block], session: _Session) -> tuple[Spelled, NDArray[np.bool_]]:
        """The texts of some samples, and which tokens are in each (samples, words of all blocks)."""
        words = [block.words for block in blocks]
        kept = np.hstack([block.draws.kept for block in blocks])
        fills = np.hstack(session.filling.fill(blocks))
        return self._lexicon.spell(words, kept, fills), self._present(words, kept, fills)

    def _session(self) -> _Session:
        self._lexicon.forget()
        return _Session(self._predictor, self._filling())

    def _filling(self) -> Filling:
        s = self._sampling
        return filling(
            s.fill,
            self._perturbator,
            self._unseen,
            seed=s.seed,
            bank_pairs=s.bank_pairs,
            bank_draw=s.bank_draw,
        )

    def _present(self, words: Sequence[Words], kept: NDArray[np.bool_], fills: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which tokens are in each sample: kept, or (condition ``present``) refilled by their own word as well."""
        if self._sampling.condition == "kept":
            return kept
        numbers = np.concatenate([self._lexicon.numbers(document) for document in words])
        return kept | ((fills == numbers) & (numbers >= 0))

    def _streams(self, unit: Unit, session: _Session) -> list[_Stream]:
        words = split(unit.text)
        look = self._test.max_samples if self._test.name == "fixed" else self._test.look
        if self._sampling.keep != "own":
            keep = np.full(len(words), streams.KEEP_AT_MOST)
            size = look if self._test.name == "fixed" else round(SHARED_BLOCK * look)
            balanced = self._sampling.keep == "balanced"
            return [_Stream(unit, words, streams.SHARED, keep, None, unit.positions, unit.thresholds, size, balanced)]
        keep = session.own_keep(self._perturbator, self._lexicon, unit.text, words)
        forces = self._sampling.condition == "kept"
        return [
            _Stream(unit, words, p, keep, p if forces and p != EMPTY else None, (p,), (threshold,), look)
            for p, threshold in zip(unit.positions, unit.thresholds)
        ]


class _Session:
    """What one call of the engine remembers: predictions of perturbed texts, keep probabilities, counts."""

    def __init__(self, predictor: Predictor, filling: Filling) -> None:
        self.filling = filling
        self.wheel = streams.Wheel()
        self.n_texts = 0
        self.n_passes = 0
        self._predictor = predictor
        self._rows = np.empty((0, len(predictor.labels)))
        self._places: dict[bytes, int] = {}
        self._keep: dict[str, NDArray[np.float64]] = {}

    @property
    def all_passes(self) -> int:
        """The passes of the perturbator, for keep probabilities and fills."""
        return self.n_passes + self.filling.n_passes

    def begin(self, texts: Spelled) -> Callable[[], NDArray[np.float64]]:
        """Ask the predictor about texts; what comes back gives the probabilities (texts, labels), when they are there.

        A text that was seen before is not asked again; what was begun first must be called first.
        """
        start, places = self.n_texts, self._places
        new = [numbers for numbers in dict.fromkeys(texts.numbers) if numbers not in places]
        places.update(zip(new, range(start, start + len(new))))
        self.n_texts += len(new)
        rows = [places[numbers] for numbers in texts.numbers]
        answers = [_begun(self._predictor, Spelled(texts.stretches, some)) for some in _chunks(new, PREDICTOR_TEXTS)]

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
            return np.full(len(words), streams.KEEP_AT_MOST)
        if text not in self._keep:
            self._keep[text] = streams.keep_probabilities(original_probabilities(perturbator, lexicon, words))
            self.n_passes += len(words)
        return self._keep[text]


class _Stream:
    """A stream of samples of one document and the tests that read it."""

    def __init__(
        self,
        unit: Unit,
        words: Words,
        number: int,
        keep: NDArray[np.float64],
        forced: int | None,
        positions: Sequence[int],
        thresholds: Sequence[float],
        block_size: int,
        balanced: bool = False,
    ) -> None:
        self.unit = unit
        self._balanced = balanced
        self._words, self._number, self._keep, self._forced = words, number, keep, forced
        self.positions = np.array(positions, np.intp)
        self.thresholds = np.array(thresholds, np.float64)
        self.block_size = block_size
        self._present: list[NDArray[np.bool_]] = []
        self._probabilities: list[NDArray[np.float64]] = []
        self._n_drawn = 0
        self._closed: dict[int, Verdict] = {}

    def n_words(self) -> int:
        """How many words the document has."""
        return len(self._words)

    @property
    def n_open(self) -> int:
        """How many tests have no verdict yet."""
        return len(self.positions) - len(self._closed)

    def next_block(self, seed: int, wheel: streams.Wheel) -> Block:
        """The samples after those already taken."""
        return self.block(seed, self._n_drawn, self._n_drawn + self.block_size, wheel)

    def block(self, seed: int, start: int, stop: int, wheel: streams.Wheel) -> Block:
        """Samples ``start`` to ``stop``."""
        draws = streams.draw(
            seed=seed,
            text=self.unit.text,
            stream=self._number,
            keep=self._keep,
            forced=self._forced,
            start=start,
            stop=stop,
            balanced=self._balanced,
            wheel=wheel,
        )
        return Block(self.unit.text, self._words, draws)

    def extend(self, present: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> None:
        """Take the next samples: the tokens in them (samples, words), and what the model says (samples, labels)."""
        self._present.append(present)
        self._probabilities.append(probabilities)
        self._n_drawn += len(present)

    def close_decided(self, test: Test) -> None:
        """Let every open test read the samples from the start, and close those that can decide or are at the cap."""
        open_ = [j for j in range(len(self.positions)) if j not in self._closed]
        present, rows = np.concatenate(self._present), np.concatenate(self._probabilities)
        reading = _Reading.of(_columns(present, self.positions[open_]), rows, self.unit.label)
        ends, decisions = reading.ends(test, self.thresholds[open_])
        for column in np.flatnonzero(ends.any(axis=0)):
            row = int(np.argmax(ends[:, column]))
            j = open_[column]
            self._closed[j] = self._verdict(j, int(decisions[row, column]), test, reading, row, int(column))

    def _verdict(self, j: int, decision: int, test: Test, reading: _Reading, row: int, column: int) -> Verdict:
        threshold = float(self.thresholds[j])
        agreements, samples = int(reading.agreements[row, column]), int(reading.samples[row, column])
        anchor = decision > 0 if decision else samples > 0 and agreements / samples >= threshold
        return Verdict(
            document=self.unit.document,
            position=int(self.positions[j]),
            anchor=anchor,
            decided=decision != 0,
            agreements=agreements,
            samples=samples,
            threshold=threshold,
            gain=reading.gain(row, column),
        )

    def close(self, verdicts: Iterable[Verdict]) -> None:
        """Take the verdicts of all tests, found together with those of other streams."""
        self._closed = dict(enumerate(verdicts))

    def verdicts(self) -> Iterator[Verdict]:
        """The verdicts in the order of the positions."""
        return (self._closed[j] for j in range(len(self.positions)))


_Part: TypeAlias = tuple[Sequence[_Stream], NDArray[np.bool_], Callable[[], NDArray[np.float64]]]
"""Some streams, the tokens in their next samples (samples, words of all), and what gives the model's answers."""


def _take(opened: Sequence[_Stream], present: NDArray[np.bool_], rows: NDArray[np.float64], test: Test) -> None:
    """Hand out samples: tokens in them (samples, words of all), and what the model says (streams, samples, labels)."""
    if test.name == "fixed":
        verdicts = _fixed_verdicts(opened, present, rows)
        for stream in opened:
            stream.close(islice(verdicts, len(stream.positions)))
        return
    end = 0
    for stream, answers in zip(opened, rows):
        start, end = end, end + stream.n_words()
        stream.extend(present[:, start:end], answers)
        stream.close_decided(test)


def _fixed_verdicts(
    opened: Sequence[_Stream], present: NDArray[np.bool_], rows: NDArray[np.float64]
) -> Iterator[Verdict]:
    """All tests of some streams at their one look: the first block, which has as many samples as they read."""
    labels = np.array([stream.unit.label for stream in opened])[:, None]
    owner = np.repeat(np.arange(len(opened)), [len(stream.positions) for stream in opened])
    positions = np.concatenate([stream.positions for stream in opened])
    thresholds = np.concatenate([stream.thresholds for stream in opened])
    reads = _columns(present, _places([s.n_words() for s in opened], [s.positions for s in opened]))
    probability = np.take_along_axis(rows, labels[:, :, None], axis=2)[:, :, 0]
    samples = reads.sum(axis=0)
    agreements = (reads & (rows.argmax(axis=2) == labels).T[:, owner]).sum(axis=0)
    kept, n_others = np.where(reads, probability.T[:, owner], 0.0).sum(axis=0), len(reads) - samples
    others = probability.sum(axis=1)[owner] - kept
    gains = kept / np.maximum(samples, 1) - others / np.maximum(n_others, 1)
    gains = np.where((samples > 0) & (n_others > 0), np.round(gains, GAIN_DIGITS), 0.0)
    anchor = (samples > 0) & (agreements / np.maximum(samples, 1) >= thresholds)
    documents = np.array([stream.unit.document for stream in opened])[owner]
    columns = (documents, positions, anchor, np.ones_like(anchor), agreements, samples, thresholds, gains)
    return map(Verdict, *(column.tolist() for column in columns))


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What tests have read after each sample of a stream, each (samples, tests); running sums."""

    reads: NDArray[np.bool_]
    samples: NDArray[np.int64]
    agreements: NDArray[np.int64]
    probability_kept: NDArray[np.float64]
    probability_all: NDArray[np.float64]

    @classmethod
    def of(cls, reads: NDArray[np.bool_], rows: NDArray[np.float64], label: int) -> _Reading:
        """Sum up the samples that each test reads; ``rows`` (samples, labels) is what the model says."""
        agreed, probability = rows.argmax(axis=1) == label, rows[:, label]
        return cls(
            reads=reads,
            samples=np.cumsum(reads, axis=0),
            agreements=np.cumsum(reads & agreed[:, None], axis=0),
            probability_kept=np.cumsum(np.where(reads, probability[:, None], 0.0), axis=0),
            probability_all=np.cumsum(probability),
        )

    def ends(self, test: Test, thresholds: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
        """After which samples a test can end, and what it would say there (0: the cap ends it)."""
        looks = self.reads & (self.samples % test.look == 0)
        decisions = np.where(looks, test.decide(self.agreements, self.samples, thresholds), np.int8(0))
        at_cap = self.samples >= test.max_samples
        at_cap[_PATIENCE * test.max_samples - 1 :] = True
        return (decisions != 0) | at_cap, decisions

    def gain(self, row: int, column: int) -> float:
        """The mean probability over the samples read, less that over the others; 0 where there are no others."""
        n_read = int(self.samples[row, column])
        n_other = row + 1 - n_read
        if not n_read or not n_other:
            return 0.0
        read = float(self.probability_kept[row, column])
        return round(read / n_read - (float(self.probability_all[row]) - read) / n_other, GAIN_DIGITS)


GAIN_DIGITS = 6
"""Gains are rounded to the unit in which the tally counts them."""

_PATIENCE = 4
"""A stream ends after this many times the cap, for tokens that are hardly ever in a sample (condition ``present``)."""


def _places(n_words: Sequence[int], positions: Sequence[Sequence[int] | NDArray[np.intp]]) -> NDArray[np.intp]:
    """Positions in documents as those in the documents side by side.

    >>> _places([5, 2], [[EMPTY, 4], [EMPTY, 0, 1]]).tolist()
    [-1, 4, -1, 5, 6]
    """
    starts = np.repeat(np.cumsum([0, *n_words[:-1]]), [len(some) for some in positions])
    flat = np.concatenate(positions)
    return np.where(flat == EMPTY, EMPTY, flat + starts)


def _columns(present: NDArray[np.bool_], positions: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The samples that each position may read; the empty anchor reads all."""
    return np.where(positions == EMPTY, True, present[:, np.maximum(positions, 0)])


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


def _one_ahead(begun: Iterator[_Part]) -> Iterator[_Part]:
    """The same, but the next one is taken before one is handed on."""
    waiting = next(begun)
    for following in begun:
        yield waiting
        waiting = following
    yield waiting


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]

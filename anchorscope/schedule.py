"""Samples of many tokens and documents, packed into batches that the models like.

An engine is given units (a document and the tokens to test in it) and answers their verdicts. All units are
open at once: every stream with an open test draws its next samples, the masks of all of them are filled
together, the perturbed texts of all of them are classified together (equal texts once), each stream takes its
agreements back, and tests that can decide are closed.

A test reads the samples of its stream in order, up to the first look at which it can decide, and ignores
whatever else was drawn. So a verdict depends on no batch, and on no other token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorscope import streams
from anchorscope.anchor import Test
from anchorscope.answers import answered
from anchorscope.fills import Block, Filling, filling, original_probabilities
from anchorscope.lexicon import Lexicon
from anchorscope.types import EMPTY, Cost, Perturbator, Predictor, Proposals, Unit, Verdict, Words
from anchorscope.words import split

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
        self._by_length: dict[int, Proposals] = {}

    def judge(self, units: Sequence[Unit]) -> tuple[list[Verdict], Cost]:
        """The verdicts of all units, in their order, and what they took (without the time)."""
        session = _Session(self._predictor, self._filling())
        streams_ = [stream for unit in units for stream in self._streams(unit, session)]
        opened = list(streams_)
        n_samples = 0
        while opened:
            blocks = [stream.next_block(self._sampling.seed) for stream in opened]
            fills = session.filling.fill(blocks)
            texts = [self._lexicon.render(b.words, b.draws.kept, fill) for b, fill in zip(blocks, fills)]
            answers = session.predict([text for group in texts for text in group])
            ends = np.cumsum([len(fill) for fill in fills])
            for stream, block, fill, end in zip(opened, blocks, fills, ends.tolist()):
                stream.extend(self._present(block, fill), answers[end - len(fill) : end])
                stream.close_decided(self._test)
            n_samples += int(ends[-1])
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
        session = _Session(self._predictor, self._filling())
        blocks = [self._streams(unit, session)[0].block(self._sampling.seed, 0, n) for unit in units]
        fills = session.filling.fill(blocks)
        texts = [self._lexicon.render(b.words, b.draws.kept, fill) for b, fill in zip(blocks, fills)]
        answers = iter(session.predict([text for group in texts for text in group]))
        samples = []
        for unit, block, fill, group in zip(units, blocks, fills, texts):
            agreed = [int(next(answers).argmax()) == unit.label for _ in group]
            position = unit.positions[0]
            present = [True] * n if position == EMPTY else self._present(block, fill)[:, position].tolist()
            samples.append([Sample(*sample) for sample in zip(group, present, agreed)])
        return samples, Cost(predictor_texts=session.n_texts, perturbator_passes=session.all_passes)

    def _filling(self) -> Filling:
        s = self._sampling
        return filling(
            s.fill,
            self._perturbator,
            seed=s.seed,
            bank_pairs=s.bank_pairs,
            bank_draw=s.bank_draw,
            by_length=self._by_length,
        )

    def _present(self, block: Block, fill: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which tokens are in each sample: kept, or (condition ``present``) refilled by their own word as well."""
        if self._sampling.condition == "kept":
            return block.draws.kept
        numbers = self._lexicon.numbers(block.words)
        return block.draws.kept | ((fill == numbers) & (numbers >= 0))

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
        self.n_texts = 0
        self.n_passes = 0
        self._predictor = predictor
        self._rows: list[NDArray[np.float64]] = []
        self._places: dict[str, int] = {}
        self._keep: dict[str, NDArray[np.float64]] = {}

    @property
    def all_passes(self) -> int:
        """The passes of the perturbator, for keep probabilities and fills."""
        return self.n_passes + self.filling.n_passes

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The probabilities (texts, labels); a text that was seen before is not asked again."""
        new = sorted(sorted({text for text in texts if text not in self._places}), key=len)
        for start in range(0, len(new), PREDICTOR_TEXTS):
            some = new[start : start + PREDICTOR_TEXTS]
            self._rows.append(answered(self._predictor.predict, some, self._predictor.labels))
            self._places.update(zip(some, range(self.n_texts, self.n_texts + len(some))))
            self.n_texts += len(some)
        if len(self._rows) > 1:
            self._rows = [np.concatenate(self._rows)]
        return self._rows[0][[self._places[text] for text in texts]]

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
        self._positions = np.array(positions, np.intp)
        self._thresholds = np.array(thresholds, np.float64)
        self._block_size = block_size
        self._present: list[NDArray[np.bool_]] = []
        self._probabilities: list[NDArray[np.float64]] = []
        self._n_drawn = 0
        self._closed: dict[int, Verdict] = {}

    @property
    def n_open(self) -> int:
        return len(self._positions) - len(self._closed)

    def next_block(self, seed: int) -> Block:
        """The samples after those already taken."""
        return self.block(seed, self._n_drawn, self._n_drawn + self._block_size)

    def block(self, seed: int, start: int, stop: int) -> Block:
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
        )
        return Block(self.unit.text, self._words, draws)

    def extend(self, present: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> None:
        """Take the next samples: the tokens in them (samples, words), and what the model says (samples, labels)."""
        self._present.append(present)
        self._probabilities.append(probabilities)
        self._n_drawn += len(present)

    def close_decided(self, test: Test) -> None:
        """Let every open test read the samples from the start, and close those that can decide or are at the cap."""
        if test.name == "fixed":
            self._closed.update(enumerate(self._fixed_verdicts()))
            return
        open_ = [j for j in range(len(self._positions)) if j not in self._closed]
        present, rows = np.concatenate(self._present), np.concatenate(self._probabilities)
        reading = _Reading.of(_columns(present, self._positions[open_]), rows, self.unit.label)
        ends, decisions = reading.ends(test, self._thresholds[open_])
        for column in np.flatnonzero(ends.any(axis=0)):
            row = int(np.argmax(ends[:, column]))
            j = open_[column]
            self._closed[j] = self._verdict(j, int(decisions[row, column]), test, reading, row, int(column))

    def _verdict(self, j: int, decision: int, test: Test, reading: _Reading, row: int, column: int) -> Verdict:
        threshold = float(self._thresholds[j])
        agreements, samples = int(reading.agreements[row, column]), int(reading.samples[row, column])
        anchor = decision > 0 if decision else samples > 0 and agreements / samples >= threshold
        return Verdict(
            document=self.unit.document,
            position=int(self._positions[j]),
            anchor=anchor,
            decided=decision != 0,
            agreements=agreements,
            samples=samples,
            threshold=threshold,
            gain=reading.gain(row, column),
        )

    def _fixed_verdicts(self) -> Iterator[Verdict]:
        """All tests at their one look: the first block, which has as many samples as they read."""
        (present,), (rows,) = self._present, self._probabilities
        reads, label = _columns(present, self._positions), self.unit.label
        probability = rows[:, label]
        samples = reads.sum(axis=0)
        agreements = reads[rows.argmax(axis=1) == label].sum(axis=0)
        kept, n_others = np.where(reads, probability[:, None], 0.0).sum(axis=0), len(reads) - samples
        gains = kept / np.maximum(samples, 1) - (probability.sum() - kept) / np.maximum(n_others, 1)
        gains = np.where((samples > 0) & (n_others > 0), np.round(gains, GAIN_DIGITS), 0.0)
        anchor = (samples > 0) & (agreements / np.maximum(samples, 1) >= self._thresholds)
        columns = (self._positions, anchor, agreements, samples, self._thresholds, gains)
        for position, yes, n_agreed, n_read, threshold, gain in zip(*(column.tolist() for column in columns)):
            yield Verdict(self.unit.document, position, yes, True, n_agreed, n_read, threshold, gain)

    def verdicts(self) -> Iterator[Verdict]:
        """The verdicts in the order of the positions."""
        return (self._closed[j] for j in range(len(self._positions)))


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


def _columns(present: NDArray[np.bool_], positions: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The samples that each position may read; the empty anchor reads all."""
    return np.where(positions == EMPTY, True, present[:, np.maximum(positions, 0)])

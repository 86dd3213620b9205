"""The tests of a stream read its samples, in their order, and say what they found.

A test reads the samples that keep its token, up to the first look at which it can decide, and ignores whatever else
was drawn. So a verdict depends on no batch, and on no other token. What it found beside the verdict is the gain: the
mean probability of the prediction over the samples that it read, less that over the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from anchorscope import streams
from anchorscope.anchor import Test
from anchorscope.fills import Block
from anchorscope.types import EMPTY, Unit, Verdict, Words

GAIN_DIGITS = 6
"""Gains are rounded to the unit in which the tally counts them."""

_PATIENCE = 4
"""A stream ends after this many times the cap, for tokens that are hardly ever in a sample (condition ``present``)."""


class Stream:
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
        reading = _Reading.of(columns_read(present, self.positions[open_]), rows, self.unit.label)
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


def take(opened: Sequence[Stream], present: NDArray[np.bool_], rows: NDArray[np.float64], test: Test) -> None:
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
    opened: Sequence[Stream], present: NDArray[np.bool_], rows: NDArray[np.float64]
) -> Iterator[Verdict]:
    """All tests of some streams at their one look: the first block, which has as many samples as they read."""
    labels = np.array([stream.unit.label for stream in opened])[:, None]
    owner = np.repeat(np.arange(len(opened)), [len(stream.positions) for stream in opened])
    positions = np.concatenate([stream.positions for stream in opened])
    thresholds = np.concatenate([stream.thresholds for stream in opened])
    reads = columns_read(present, places_in_all([s.n_words() for s in opened], [s.positions for s in opened]))
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


def places_in_all(n_words: Sequence[int], positions: Sequence[Sequence[int] | NDArray[np.intp]]) -> NDArray[np.intp]:
    """Positions in documents as those in the documents side by side.

    >>> places_in_all([5, 2], [[EMPTY, 4], [EMPTY, 0, 1]]).tolist()
    [-1, 4, -1, 5, 6]
    """
    starts = np.repeat(np.cumsum([0, *n_words[:-1]]), [len(some) for some in positions])
    flat = np.concatenate(positions)
    return np.where(flat == EMPTY, EMPTY, flat + starts)


def columns_read(present: NDArray[np.bool_], positions: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The samples that each position may read; the empty anchor reads all."""
    return np.where(positions == EMPTY, True, present[:, np.maximum(positions, 0)])


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

"""The samples of a stream, and the tests that read them in their order.

A test reads the samples that keep its occurrence, up to the first look at which it can decide, and ignores whatever
else was drawn. So what it says depends on no batch, and on no other occurrence. From the same samples comes the
Banzhaf value: the mean probability of the prediction over the samples that keep the occurrence, less that over the
others.

    samples kept, replaced               probability of the label in each       value
    1 0 1 1 0 0                          .9 .5 .7 .8 .4 .6                      .8 - .5 = .3
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anchorscope.sampling.draws import BALANCED_BLOCK, KeyedGenerator, draw, share_of_noise, sharers
from anchorscope.sampling.fills import Block
from anchorscope.sampling.sequential_test import SequentialTest
from anchorscope.types import Measurements, Positions, Unit, Words

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MISTAKEN = 0.65
"""What words that share a column are mistaken for each other: some of the others are words that are never tested, which
do less."""

VALUE_DIGITS = 6
"""Values are rounded to the unit in which the tally counts them."""

LONGEST_STREAM = 4
"""A stream ends after this many times the cap, for words that are hardly ever in a sample (condition ``present``)."""


class Stream:
    """A stream of samples of one document and the tests that read it.

    ``number`` names the stream, ``keep`` is each word's probability of being kept, ``forced`` are the words that are
    kept in every sample; the tests are about ``positions``, each with its threshold.
    """

    def __init__(
        self,
        unit: Unit,
        words: Words,
        *,
        number: int,
        keep: Floats,
        forced: Positions,
        positions: Sequence[Positions],
        thresholds: Sequence[float],
        block_size: int,
        balanced: bool = False,
    ) -> None:
        self.unit = unit
        self.words = words
        self.positions = positions
        self.thresholds = np.array(thresholds, np.float64)
        self.block_size = block_size
        self.found = empty_measurements(len(positions))
        self._number = number
        self._keep = keep
        self._forced = forced
        self._balanced = balanced
        self._present: list[Bools] = []
        self._probabilities: list[Floats] = []
        self._n_drawn = 0
        self._is_open = np.ones(len(positions), bool)

    def n_words(self) -> int:
        """How many words the document has."""
        return len(self.words)

    def noise(self, present: Bools, value: Floats, variance: Floats) -> Floats:
        """The variance of the values of its tests, read from samples (samples, words), given what it would be if these
        were independent."""
        if not self._balanced:
            return variance
        noise = variance * share_of_noise(len(self.words))
        if len(self.words) < BALANCED_BLOCK:
            return noise
        # Words that share a column cannot be told apart. What they show together is mostly one word's doing: its own
        # value is right then, and that of each other one off by all of it.
        shared = sharers(present)
        # (tests,): an occurrence shares a column where all its words do; the empty anchor has no words.
        n = np.array([min((shared[i] for i in place), default=1) for place in self.positions])
        return noise + MISTAKEN * (1 - 1 / n) * value**2

    @property
    def is_open(self) -> bool:
        """Whether some test has not decided yet."""
        return bool(self._is_open.any())

    def skip_to(self, start: int, block_size: int) -> None:
        """Go on with this sample, so many at a time: those before it are known."""
        self._n_drawn = start
        self.block_size = block_size

    def next_block(self, seed: int, generator: KeyedGenerator) -> Block:
        """The samples after those already taken."""
        return self.block(seed, self._n_drawn, self._n_drawn + self.block_size, generator)

    def block(self, seed: int, start: int, stop: int, generator: KeyedGenerator) -> Block:
        """Samples ``start`` to ``stop``."""
        draws = draw(
            seed=seed,
            text=self.unit.text,
            stream=self._number,
            keep=self._keep,
            forced=self._forced,
            start=start,
            stop=stop,
            balanced=self._balanced,
            generator=generator,
        )
        return Block(self.unit.text, self.words, draws)

    def extend(self, present: Bools, probabilities: Floats) -> None:
        """Take the next samples: the words in them (samples, words), and what the model says (samples, labels)."""
        self._present.append(present)
        self._probabilities.append(probabilities)
        self._n_drawn += len(present)

    def close_decided(self, test: SequentialTest) -> None:
        """Let every open test read the samples from the start, and close those that can decide or are at the cap."""
        # A test reads its samples in order up to the first look at which it can end, whatever else was drawn: so what
        # it says does not depend on how many samples came at a time.
        open_ = np.flatnonzero(self._is_open)
        present = np.concatenate(self._present)
        rows = np.concatenate(self._probabilities)
        sums = _CumulativeSums.of(
            columns_read(present, [self.positions[j] for j in open_.tolist()]), rows, self.unit.label
        )
        ends, decisions = sums.ends(test, self.thresholds[open_])
        columns = np.flatnonzero(ends.any(axis=0))
        last = ends[:, columns].argmax(axis=0)  # the first sample at which each of them can end
        closed = open_[columns]
        self._write(closed, sums.at(last, columns), decisions[last, columns])
        self._is_open[closed] = False

    def close(self, found: Measurements) -> None:
        """Take what all tests found, read together with those of other streams."""
        self.found = found
        self._is_open[:] = False

    def _write(self, rows: NDArray[np.intp], sums: _SampleSums, decisions: NDArray[np.int8]) -> None:
        """The tests of some rows end with these sums: by their decision or, at the cap (0), by the mean."""
        found = self.found
        by_mean = sums.reaches(self.thresholds[rows])
        found.anchor[rows] = np.where(decisions == 0, by_mean, decisions > 0)
        found.decided[rows] = decisions != 0
        found.agreements[rows] = sums.agreements
        found.samples[rows] = sums.n_kept
        found.calls[rows] = sums.n_kept + sums.n_replaced
        found.value[rows] = sums.value()
        found.variance[rows] = sums.variance()


def empty_measurements(n: int) -> Measurements:
    """Room for n rows."""
    return Measurements(
        value=np.zeros(n),
        variance=np.zeros(n),
        repeat=np.full(n, np.nan),
        calls=np.zeros(n, np.int64),
        anchor=np.zeros(n, bool),
        decided=np.zeros(n, bool),
        agreements=np.zeros(n, np.int64),
        samples=np.zeros(n, np.int64),
    )


def read_samples(opened: Sequence[Stream], present: Bools, rows: Floats, test: SequentialTest) -> None:
    """Hand out samples: words in them (samples, words of all), and what the model says (streams, samples, labels)."""
    if not test.may_stop_early:
        _read_all_at_once(opened, present, rows)
        return
    end = 0
    for stream, answers in zip(opened, rows):
        start = end
        end = end + stream.n_words()
        stream.extend(present[:, start:end], answers)
        stream.close_decided(test)


def _read_all_at_once(opened: Sequence[Stream], present: Bools, rows: Floats) -> None:
    """All tests of some streams at their one look: the first block, which has as many samples as they read."""
    # Streams side by side: (samples, tests of all streams), each test with the answers about its own stream.
    labels = np.array([stream.unit.label for stream in opened])[:, None]
    sizes = [len(stream.positions) for stream in opened]
    owner = np.repeat(np.arange(len(opened)), sizes)  # the stream of each test
    reads = columns_read(present, side_by_side([s.n_words() for s in opened], [s.positions for s in opened]))
    # The label of its document for each stream, out of (streams, samples, labels).
    probability = np.take_along_axis(rows, labels[:, :, None], axis=2)[:, :, 0].T  # (samples, streams)
    agreed = (rows.argmax(axis=2) == labels).T
    sums = _SampleSums.of(reads, agreed[:, owner], probability[:, owner])
    columns = Measurements(
        value=sums.value(),
        variance=sums.variance(),
        repeat=np.full(len(owner), np.nan),
        calls=sums.n_kept + sums.n_replaced,
        anchor=sums.reaches(np.concatenate([stream.thresholds for stream in opened])),
        decided=np.ones(len(owner), bool),
        agreements=sums.agreements,
        samples=sums.n_kept,
    )
    end = first = 0
    for stream, size in zip(opened, sizes):
        start = end
        end = end + size
        found = columns[start:end]
        here = present[:, first : first + stream.n_words()]
        first += stream.n_words()
        stream.close(replace(found, variance=stream.noise(here, found.value, found.variance)))


def side_by_side(n_words: Sequence[int], positions: Sequence[Sequence[Positions]]) -> list[Positions]:
    """Positions in documents as those in the documents side by side.

    >>> side_by_side([5, 2], [[(), (4,)], [(), (0, 1)]])
    [(), (4,), (), (5, 6)]
    """
    starts = np.cumsum([0, *n_words[:-1]]).tolist()
    return [tuple(start + place for place in one) for start, some in zip(starts, positions) for one in some]


def columns_read(present: Bools, positions: Sequence[Positions]) -> Bools:
    """The samples (samples, positions) in which all words of each occurrence are; the empty anchor reads all of them.

    >>> columns_read(np.array([[True, False], [True, True]]), [(), (0,), (0, 1)]).tolist()
    [[True, True, False], [True, True, True]]
    """
    # One word each is the rule: an extra column of True stands for the empty anchor.
    padded = np.hstack([present, np.ones((len(present), 1), bool)])
    reads = padded[:, [place[0] if place else -1 for place in positions]]
    for column, place in enumerate(positions):
        if len(place) > 1:
            reads[:, column] = present[:, place].all(axis=1)
    return reads


@dataclass(frozen=True, slots=True, eq=False)
class _SampleSums:
    """What tests have read, each (tests,): samples that keep and that replace, and the probabilities in each."""

    n_kept: NDArray[np.int64]
    n_replaced: NDArray[np.int64]
    agreements: NDArray[np.int64]
    kept: Floats
    kept_squared: Floats
    replaced: Floats
    replaced_squared: Floats

    @classmethod
    def of(cls, reads: Bools, agreed: Bools, probability: Floats) -> _SampleSums:
        """Of samples: which are read, which agree, and the label's probability in each; all (samples, tests)."""
        n_kept = reads.sum(axis=0)
        kept_each = np.where(reads, probability, 0.0)
        squared = probability**2
        kept = kept_each.sum(axis=0)
        kept_squared = np.where(reads, squared, 0.0).sum(axis=0)
        return cls(
            n_kept=n_kept,
            n_replaced=len(reads) - n_kept,
            agreements=(reads & agreed).sum(axis=0),
            kept=kept,
            kept_squared=kept_squared,
            replaced=probability.sum(axis=0) - kept,
            replaced_squared=squared.sum(axis=0) - kept_squared,
        )

    def reaches(self, thresholds: Floats) -> Bools:
        """Whether the share of agreements is at least the threshold."""
        return (self.n_kept > 0) & (self.agreements / np.maximum(self.n_kept, 1) >= thresholds)

    def value(self) -> Floats:
        """The mean over the samples that keep, less that over the others; 0 where one kind is missing."""
        difference = self.kept / np.maximum(self.n_kept, 1) - self.replaced / np.maximum(self.n_replaced, 1)
        return np.where(self._has_both(), np.round(difference, VALUE_DIGITS), 0.0)

    def variance(self) -> Floats:
        """That of the difference of two means of independent samples; NaN where it cannot be told.

        Balanced samples differ otherwise (``Stream.noise``).
        """
        kept = _variance_of_mean(self.kept, self.kept_squared, self.n_kept)
        replaced = _variance_of_mean(self.replaced, self.replaced_squared, self.n_replaced)
        return kept + replaced

    def _has_both(self) -> Bools:
        return (self.n_kept > 0) & (self.n_replaced > 0)


def _variance_of_mean(total: Floats, squared: Floats, n: NDArray[np.int64]) -> Floats:
    # Of a mean of n: the sample variance over n, by the sums alone; rounding may leave it a little below 0.
    scatter = np.maximum(squared - total**2 / np.maximum(n, 1), 0.0)
    return np.where(n > 1, scatter / np.maximum(n - 1, 1) / np.maximum(n, 1), np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class _CumulativeSums:
    """What tests have read after each sample of a stream, (samples, tests): cumulative ``_SampleSums``."""

    reads: Bools
    n_kept: NDArray[np.int64]
    agreements: NDArray[np.int64]
    kept: Floats
    kept_squared: Floats
    all_: Floats
    all_squared: Floats

    @classmethod
    def of(cls, reads: Bools, rows: Floats, label: int) -> _CumulativeSums:
        """Sum up the samples that each test reads; ``rows`` (samples, labels) is what the model says."""
        agreed = rows.argmax(axis=1) == label
        probability = rows[:, label]
        return cls(
            reads=reads,
            n_kept=np.cumsum(reads, axis=0),
            agreements=np.cumsum(reads & agreed[:, None], axis=0),
            kept=np.cumsum(np.where(reads, probability[:, None], 0.0), axis=0),
            kept_squared=np.cumsum(np.where(reads, probability[:, None] ** 2, 0.0), axis=0),
            all_=np.cumsum(probability),
            all_squared=np.cumsum(probability**2),
        )

    def ends(self, test: SequentialTest, thresholds: Floats) -> tuple[Bools, NDArray[np.int8]]:
        """After which samples a test can end, and what it would say there (0: the cap ends it)."""
        # (samples, tests). A look is after every so many samples that keep the word; the cap also ends a stream that
        # hardly ever keeps it.
        looks = self.reads & (self.n_kept % test.look == 0)
        decisions = np.where(looks, test.decide(self.agreements, self.n_kept, thresholds), np.int8(0))
        at_cap = self.n_kept >= test.max_samples
        at_cap[LONGEST_STREAM * test.max_samples - 1 :] = True
        return (decisions != 0) | at_cap, decisions

    def at(self, samples: NDArray[np.intp], tests: NDArray[np.intp]) -> _SampleSums:
        """The sums of some tests, each after its own sample."""
        kept = self.kept[samples, tests]
        kept_squared = self.kept_squared[samples, tests]
        n_kept = self.n_kept[samples, tests]
        return _SampleSums(
            n_kept=n_kept,
            n_replaced=samples + 1 - n_kept,
            agreements=self.agreements[samples, tests],
            kept=kept,
            kept_squared=kept_squared,
            replaced=self.all_[samples] - kept,
            replaced_squared=self.all_squared[samples] - kept_squared,
        )

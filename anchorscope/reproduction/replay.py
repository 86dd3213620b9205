"""A run with answers that are known: the real run, loop and strategy, measured from agreements that are kept.

``Replay`` is a backend. A test reads its samples in order, up to the first look at which it can end, so where the
samples are there, what it says follows from the bits alone; where they are not, the next ones are drawn and judged,
and kept. So the first setting that is run draws, the others read, and each gives what a run of its own would give:
verdicts, lists, tests and samples are the same. Counted are samples, not distinct texts: a run asks equal texts once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from anchorscope.local_scores.anchor import as_values
from anchorscope.reproduction.agreements import Agreements, Bools, KeptProbabilities, Rows
from anchorscope.reproduction.models import OutOfTimeError
from anchorscope.sampling.engine import Engine
from anchorscope.sampling.sequential_test import SequentialTest
from anchorscope.settings import Settings
from anchorscope.types import EMPTY, Cost, Measurements, Perturbator, Predictor, Unit

Floats = NDArray[np.float64]

DOCUMENTS_AT_ONCE = 32
"""Documents whose keep probabilities are learnt together, where more than one text is asked about at once."""


class Replay:
    """Units in, measurements out, as ``AnchorScore`` gives them; ``drawing`` is the time that went into new samples.

    ``at_once`` is how many texts a device takes as quickly as one: where few tests are open, more of their samples are
    drawn at a time, though no more than they have already.
    """

    def __init__(
        self,
        predictor: Predictor,
        perturbator: Perturbator,
        settings: Settings,
        agreements: Agreements,
        keep: KeptProbabilities,
        *,
        at_once: int = 1,
        deadline: float = inf,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._test = settings.anchor_test
        self._engine = Engine(predictor, perturbator, settings.sampling, self._test)
        self._agreements = agreements
        self._keep = keep
        self._at_once = at_once
        self._deadline = deadline
        self._clock = clock
        self._knows_originals = perturbator.knows_originals
        self.drawing = 0.0

    def measure(self, units: Sequence[Unit], max_calls: float = inf) -> tuple[Measurements, Cost]:
        """A row an occurrence; no call is refused, for the samples of a replay are there or are to be."""
        self._learn_keep(units)
        rows = self._agreements.rows(units)
        thresholds = np.array([threshold for unit in units for threshold in unit.thresholds])
        found = read_tests(self._agreements.read(rows), self._agreements.drawn[rows], thresholds, self._test)
        while len(open_ := np.flatnonzero(found.samples == 0)):
            self._draw(units, rows, open_)
            bits = self._agreements.read(rows[open_])
            more = read_tests(bits, self._agreements.drawn[rows[open_]], thresholds[open_], self._test)
            for name in Measurements.__slots__:
                getattr(found, name)[open_] = getattr(more, name)
        return as_values(found, thresholds), self._cost(units, found)

    def close(self) -> None:
        """Nothing to let go."""

    def _cost(self, units: Sequence[Unit], found: Measurements) -> Cost:
        samples = int(found.samples.sum())
        words = sum(len(self._keep[unit.text]) for unit in units) if self._knows_originals else 0
        return Cost(
            documents=sum(EMPTY in unit.positions for unit in units) or len(units),
            tests=len(found),
            undecided=int((~found.decided).sum()),
            samples=samples,
            predictor_texts=samples,
            perturbator_passes=samples + words,
        )

    def _learn_keep(self, units: Sequence[Unit]) -> None:
        missing = [*dict.fromkeys(unit.text for unit in units if unit.text not in self._keep)]
        size = 1 if self._at_once == 1 else DOCUMENTS_AT_ONCE
        for start in range(0, len(missing), size):
            self._check_time()
            before = self._clock()
            passes = self._engine.learn_keep(missing[start : start + size], self._keep)
            spent = self._clock() - before
            self._keep.spent.add(spent, passes)
            self.drawing += spent

    def _draw(self, units: Sequence[Unit], rows: Rows, open_: NDArray[np.intp]) -> None:
        """The next samples of the open tests: a look each, or more where a device takes more as quickly."""
        self._check_time()
        before = self._clock()
        drawn = self._agreements.drawn[rows[open_]]
        look = self._test.look
        free = max(1, self._at_once // (len(open_) * look))
        known = max(1, int(drawn.min()) // look)
        left = (self._test.max_samples - int(drawn.max())) // look
        n = look * max(1, min(free, known, left))
        places = [(unit, j) for unit in units for j in range(len(unit))]
        single = [_single(*places[number]) for number in open_.tolist()]
        agreed, cost = self._engine.agreements(single, drawn.tolist(), n, self._keep)
        self._agreements.add(rows[open_], agreed)
        spent = self._clock() - before
        self._agreements.spent.add(spent, cost.samples)
        self.drawing += spent

    def _check_time(self) -> None:
        if monotonic() > self._deadline:
            raise OutOfTimeError("samples are drawn as far as the deadline allows")


def read_tests(bits: Bools, drawn: NDArray[np.int32], thresholds: Floats, test: SequentialTest) -> Measurements:
    """What each test says after its first look at which it can end; no samples where it cannot end on those drawn.

    ``bits`` (tests, samples) says which samples agree, ``drawn`` (tests,) how many there are of each.
    """
    # (tests, looks): agreements up to each look, for all looks at once; what was not drawn is no look.
    n_looks = bits.shape[1] // test.look
    agreements = bits[:, : n_looks * test.look].reshape(len(bits), n_looks, test.look).sum(axis=2).cumsum(axis=1)
    samples = np.arange(1, n_looks + 1) * test.look
    there = samples <= drawn[:, None]
    decisions = test.decide(agreements, np.broadcast_to(samples, agreements.shape), thresholds[:, None])
    ends = there & ((decisions != 0) | (samples >= test.max_samples))
    ended = ends.any(axis=1)
    # The first True is where a test ends. One that cannot end on these samples is answered with none: 0 of 0.
    last = ends.argmax(axis=1) if n_looks else np.zeros(len(bits), np.intp)
    each = np.arange(len(bits))
    n = np.where(ended, samples[last] if n_looks else 0, 0).astype(np.int64)
    n_agreed = np.where(ended, agreements[each, last] if n_looks else 0, 0).astype(np.int64)
    decision = np.where(ended, decisions[each, last] if n_looks else 0, 0)
    # What the cap ends is decided by the mean.
    by_mean = n_agreed / np.maximum(n, 1) >= thresholds
    return Measurements(
        value=np.zeros(len(bits)),
        variance=np.zeros(len(bits)),
        repeat=np.full(len(bits), np.nan),
        calls=n.copy(),
        anchor=np.where(decision == 0, ended & by_mean, decision > 0),
        decided=decision != 0,
        agreements=n_agreed,
        samples=n,
    )


def _single(unit: Unit, j: int) -> Unit:
    """One occurrence of a unit."""
    return Unit(unit.document, unit.text, unit.label, (unit.positions[j],), (unit.thresholds[j],), unit.probability)

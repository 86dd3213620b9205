"""Samples of many tokens and documents, packed into batches that the models like.

An engine is given units (a document and the tokens to test in it) and answers their verdicts. All units are
open at once: every stream with an open test draws its next samples, the masks of many of them are filled
together, the perturbed texts of many of them are classified together (equal texts once), each stream takes its
agreements back, and tests that can decide are closed. Where the predictor can work by itself, as a GPU does, the next
samples are drawn meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anchorscope import streams
from anchorscope.anchor import Test
from anchorscope.answers import answered
from anchorscope.fills import Block, Filling, Unseen, chunks, filling, original_probabilities
from anchorscope.lexicon import Lexicon
from anchorscope.reading import Stream, columns_read, places_in_all, take
from anchorscope.types import EMPTY, BeginningPredictor, Cost, Perturbator, Predictor, Spelled, Unit, Verdict, Words
from anchorscope.words import split

PREDICTOR_TEXTS = 4096
"""How many texts are handed to the predictor at once, sorted by length; adapters batch further as they like."""

SHARED_BLOCK = 2.4
"""Samples drawn at a time for a shared stream, in looks: a token is kept in half of them."""


_Part: TypeAlias = tuple[Sequence[Stream], NDArray[np.bool_], Callable[[], NDArray[np.float64]]]
"""Some streams, the tokens in their next samples (samples, words of all), and what gives the model's answers."""


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
        opened = sorted(streams_, key=Stream.n_words)  # texts of one length are classified together
        n_samples = 0
        while opened:
            size = opened[0].block_size
            parts = chunks(opened, max(1, PREDICTOR_TEXTS // size))
            for some, present, answer in _one_ahead(self._sampled(part, session) for part in parts):
                take(some, present, answer().reshape(len(some), size, -1), self._test)
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
        reads = columns_read(
            present, places_in_all([len(block.words) for block in blocks], [unit.positions[:1] for unit in units])
        )
        samples = map(Sample, texts, reads.T.ravel().tolist(), agreed.tolist())
        cost = Cost(predictor_texts=session.n_texts, perturbator_passes=session.all_passes)
        return [list(islice(samples, n)) for _ in units], cost

    def _sampled(self, opened: Sequence[Stream], session: _Session) -> _Part:
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

    def _streams(self, unit: Unit, session: _Session) -> list[Stream]:
        words = split(unit.text)
        look = self._test.max_samples if self._test.name == "fixed" else self._test.look
        if self._sampling.keep != "own":
            keep = np.full(len(words), streams.KEEP_AT_MOST)
            size = look if self._test.name == "fixed" else round(SHARED_BLOCK * look)
            balanced = self._sampling.keep == "balanced"
            return [Stream(unit, words, streams.SHARED, keep, None, unit.positions, unit.thresholds, size, balanced)]
        keep = session.own_keep(self._perturbator, self._lexicon, unit.text, words)
        forces = self._sampling.condition == "kept"
        return [
            Stream(unit, words, p, keep, p if forces and p != EMPTY else None, (p,), (threshold,), look)
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
        answers = [_begun(self._predictor, Spelled(texts.stretches, some)) for some in chunks(new, PREDICTOR_TEXTS)]

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

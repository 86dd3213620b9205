"""Which words come to stand at the masked positions: the perturbator proposes, a keyed draw decides.

    one-by-one   (the paper's text) masks are filled from left to right, each seeing the fills before it:
                 as many passes a sample as it has masks
    one-pass     (the authors' code) all masks of a sample at once, each drawn independently: one pass a sample
    bank         (ours) a few pairs of complementary half-masks a document go through the perturbator once; every
                 position then has a few distributions under different contexts, and any number of samples
                 draws fresh masks and takes its words from them: 2 passes a pair, whatever the samples
    blind        (ours) every place of a text, counted from its nearer end, has one distribution for all documents: what
                 the perturbator says of it where all words are masked. 1 pass, whatever the documents

A filling is asked with blocks of samples of many documents and answers the vocabulary numbers of the fills,
-1 where a word is kept. Equal requests to the perturbator that stand side by side are made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import batches
from anchorscope.errors import InputError
from anchorscope.sampling.draws import Draws, half_masks
from anchorscope.sampling.lexicon import Fills, Lexicon
from anchorscope.types import DrawingPerturbator, Perturbator, Proposals, Words

FILLINGS = ("blind", "bank", "one-pass", "one-by-one")
BANK_DRAWS = ("position", "sample")
KEPT = -1

BANK_STREAM = -2
"""The stream of the half-masks; positions are not negative, the empty anchor's is -1."""

REQUESTS = 512
"""How many texts are handed to the perturbator at once: bounds the memory of their proposals."""

UNSEEN = "x"
"""What stands under a mask, where no word of the text may matter."""

PLACES = 32
"""Words of the masked text that blind fills are read from: beyond so few, a place further inside says the same."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some samples of one document: its text and words, and the chances that were drawn."""

    text: str
    words: Words
    draws: Draws


Sample: TypeAlias = tuple[int, int]
"""The number of a block, and of a sample in it."""


def _samples_of(blocks: Sequence[Block]) -> list[Sample]:
    """All samples of some blocks."""
    return [(b, s) for b, block in enumerate(blocks) for s in range(len(block.draws.kept))]


def _unfilled(blocks: Sequence[Block]) -> list[Fills]:
    """Samples in which nothing is filled yet, (samples, words) each."""
    return [np.full(block.draws.kept.shape, KEPT, np.int32) for block in blocks]


class OnePass:
    """All masks of a sample are filled at once."""

    def __init__(self, perturbator: Perturbator) -> None:
        self._perturbator = perturbator
        self.n_passes = 0

    def fill(self, blocks: Sequence[Block]) -> list[Fills]:
        """Vocabulary numbers (samples, words) for each block."""
        answers = _unfilled(blocks)
        for some in batches(_samples_of(blocks), REQUESTS):
            self._fill_some(blocks, some, answers)
        return answers

    def _fill_some(self, blocks: Sequence[Block], samples: Sequence[Sample], answers: list[Fills]) -> None:
        # Equal masks of one text are one request, however many samples have them.
        requests: dict[tuple[str, bytes], int] = {}
        texts: list[Words] = []
        masks: list[NDArray[np.bool_]] = []
        asked = []
        for b, s in samples:
            mask = ~blocks[b].draws.kept[s]
            if not mask.any():
                continue
            key = (blocks[b].text, mask.tobytes())
            if key not in requests:
                requests[key] = len(texts)
                texts.append(blocks[b].words)
                masks.append(mask)
            asked.append((b, s, requests[key]))
        if not texts:
            return
        self.n_passes += len(texts)
        # Proposals have a row a mask, request after request; a sample asks for the rows of its request.
        starts = np.cumsum([0, *(int(mask.sum()) for mask in masks)])
        rows = np.concatenate([np.arange(starts[request], starts[request + 1]) for _, _, request in asked])
        chances = np.concatenate([blocks[b].draws.fill[s][masks[request]] for b, s, request in asked])
        numbers = _drawn(self._perturbator, texts, masks, rows, chances)
        start = 0
        for b, s, request in asked:
            stop = start + int(starts[request + 1] - starts[request])
            answers[b][s, masks[request]] = numbers[start:stop]
            start = stop


class OneByOne:
    """Masks are filled from left to right, each seeing the fills before it."""

    def __init__(self, perturbator: Perturbator) -> None:
        self._perturbator = perturbator
        self.n_passes = 0

    def fill(self, blocks: Sequence[Block]) -> list[Fills]:
        """Vocabulary numbers (samples, words) for each block."""
        answers = _unfilled(blocks)
        for some in batches(_samples_of(blocks), REQUESTS):
            texts = [blocks[b].words for b, _ in some]
            masks = [~blocks[b].draws.kept[s] for b, s in some]
            while open_ := [j for j, mask in enumerate(masks) if mask.any()]:
                self._fill_next(blocks, some, open_, texts, masks, answers)
        return answers

    def _fill_next(
        self,
        blocks: Sequence[Block],
        samples: Sequence[Sample],
        open_: list[int],
        texts: list[Words],
        masks: list[NDArray[np.bool_]],
        answers: list[Fills],
    ) -> None:
        """Fill the leftmost mask of every sample that has one."""
        requests: dict[tuple[tuple[str, ...], bytes], int] = {}
        asked = [requests.setdefault((texts[j].words, masks[j].tobytes()), j) for j in open_]
        distinct = list(requests.values())
        self.n_passes += len(distinct)
        proposals = self._perturbator.propose([texts[j] for j in distinct], [masks[j] for j in distinct])
        # The leftmost mask of a text is the first row of its proposals.
        starts = dict(zip(distinct, np.cumsum([0, *(int(masks[j].sum()) for j in distinct)])))
        first_rows = np.array([starts[j] for j in asked], np.intp)
        places = [int(np.argmax(masks[j])) for j in open_]
        chances = [blocks[samples[j][0]].draws.fill[samples[j][1], place] for j, place in zip(open_, places)]
        for j, place, number in zip(open_, places, pick(proposals, first_rows, np.array(chances))):
            b, s = samples[j]
            answers[b][s, place] = number
            masks[j][place] = False
            word = self._perturbator.vocabulary[number]
            texts[j] = replace(texts[j], words=(*texts[j].words[:place], word, *texts[j].words[place + 1 :]))


class Bank:
    """A few distributions a position, from half-masked passes; fresh masks draw from them."""

    def __init__(self, perturbator: Perturbator, *, seed: int, n_pairs: int, draw: str) -> None:
        self._perturbator = perturbator
        self._seed = seed
        self._n_pairs = n_pairs
        self._draw = draw
        self._banks: dict[str, Proposals] = {}
        self.n_passes = 0

    def fill(self, blocks: Sequence[Block]) -> list[Fills]:
        """Vocabulary numbers (samples, words) for each block."""
        self._stock({block.text: block.words for block in blocks if block.text not in self._banks})
        return [self._draw_fills(block) for block in blocks]

    def _stock(self, documents: dict[str, Words]) -> None:
        """Pass the half-masked documents through the perturbator; row j * n_pairs + c is choice c of position j."""
        for some in batches(list(documents.items()), max(1, REQUESTS // (2 * self._n_pairs))):
            masks = [
                half_masks(seed=self._seed, text=text, stream=BANK_STREAM, n_words=len(words), n_pairs=self._n_pairs)
                for text, words in some
            ]
            pairs = [(words, mask) for (_, words), group in zip(some, masks) for mask in group if mask.any()]
            self.n_passes += len(pairs)
            proposals = self._perturbator.propose([words for words, _ in pairs], [mask for _, mask in pairs])
            start = 0
            for (text, words), group in zip(some, masks):
                # Each position is masked once in every pair; a stable sort by position brings its n_pairs rows
                # together.
                rows = slice(start, start + self._n_pairs * len(words))
                positions = np.nonzero(group)[1]
                order = rows.start + np.argsort(positions, kind="stable")
                self._banks[text] = Proposals(proposals.words[order], proposals.probabilities[order])
                start = rows.stop

    def _draw_fills(self, block: Block) -> Fills:
        bank = self._banks[block.text]
        draws = block.draws
        choice = draws.choice if self._draw == "position" else np.broadcast_to(draws.choice[:, :1], draws.choice.shape)
        samples, positions = np.nonzero(~draws.kept)
        # A chance in [0, 1) times n_pairs, cut off, is one of the choices of the position.
        rows = positions * self._n_pairs + (choice[samples, positions] * self._n_pairs).astype(np.intp)
        answer = np.full(draws.kept.shape, KEPT, np.int32)
        answer[samples, positions] = pick(bank, rows, draws.fill[samples, positions])
        return answer


class BlindProposals:
    """What a perturbator says of places in a text of which no word is known; it is asked once."""

    def __init__(self, perturbator: Perturbator) -> None:
        self._perturbator = perturbator
        self.n_passes = 0

    @cached_property
    def _edges_and_words(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """The cumulated probabilities of place p, raised by p, place after place; and the words that they end."""
        blank = Words((UNSEEN,) * PLACES, ("", *[" "] * (PLACES - 1), ""))
        proposals = self._perturbator.propose([blank], [np.ones(PLACES, bool)])
        self.n_passes += 1
        cumulated = np.cumsum(proposals.probabilities, axis=1, dtype=np.float64)
        total = cumulated[:, -1:]
        if len(total) != PLACES or not ((total > 0) & np.isfinite(total)).all():
            raise InputError(
                f"The perturbator {self._perturbator.name} was asked for words at {PLACES} masks and proposes none at "
                "some of them; expected a row of probabilities a mask, each with the sum 1."
            )
        # A sum that is rounded up to the next place finds the last word, which is to be no padding.
        real = np.minimum(np.arange(cumulated.shape[1]), (cumulated < total).sum(axis=1, keepdims=True))
        words = np.take_along_axis(proposals.words, real, axis=1)
        return (cumulated / total + np.arange(PLACES)[:, None]).ravel(), words.ravel()

    def draw(self, places: NDArray[np.intp], chances: NDArray[np.float64]) -> NDArray[np.int32]:
        """A word for each place."""
        edges, words = self._edges_and_words
        n = len(edges) // PLACES
        # As the edges of place p lie between p and p + 1, one search draws the words of all places.
        found = np.searchsorted(edges, places + chances, side="right")
        drawn: NDArray[np.int32] = words[np.clip(found, places * n, places * n + n - 1)]
        return drawn


class Blind:
    """One distribution a place, the same for all documents: as if no word of the text were known.

    The blocks that are filled together have as many samples each.
    """

    def __init__(self, proposals: BlindProposals) -> None:
        self._proposals = proposals
        self._passes_before = proposals.n_passes

    @property
    def n_passes(self) -> int:
        """The one pass, if it had not been made before."""
        return self._proposals.n_passes - self._passes_before

    def fill(self, blocks: Sequence[Block]) -> list[Fills]:
        """Vocabulary numbers (samples, words) for each block."""
        kept = np.hstack([block.draws.kept for block in blocks])
        chances = np.hstack([block.draws.fill for block in blocks])
        # (words of all blocks,): the documents stand side by side, and one draw serves them all.
        places = np.concatenate([_places(len(block.words)) for block in blocks])
        answer = np.full(kept.shape, KEPT, np.int32)
        samples, positions = np.nonzero(~kept)
        answer[samples, positions] = self._proposals.draw(places[positions], chances[samples, positions])
        return np.split(answer, np.cumsum([len(block.words) for block in blocks])[:-1], axis=1)


@lru_cache(maxsize=512)
def _places(n_words: int) -> NDArray[np.intp]:
    """Where the words of a text stand in one of PLACES words: as far from the nearer end, or else in its middle.

    >>> _places(3).tolist(), _places(40).tolist()[12:28] == [12, 13, 14, *[15] * 5, *[16] * 5, 17, 18, 19]
    ([0, 1, 31], True)
    """
    from_start = np.arange(n_words)
    from_end = from_start[::-1]
    middle = PLACES // 2 - 1
    return np.where(from_start <= from_end, np.minimum(from_start, middle), PLACES - 1 - np.minimum(from_end, middle))


Filling = OnePass | OneByOne | Bank | Blind


def filling(
    name: str, perturbator: Perturbator, blind: BlindProposals, *, seed: int, bank_pairs: int, bank_draw: str
) -> Filling:
    """A fresh filling by name; it counts its passes, and a bank keeps what it was told until it is dropped."""
    if name == "blind":
        return Blind(blind)
    if name == "bank":
        return Bank(perturbator, seed=seed, n_pairs=bank_pairs, draw=bank_draw)
    return OneByOne(perturbator) if name == "one-by-one" else OnePass(perturbator)


def _drawn(
    perturbator: Perturbator,
    texts: Sequence[Words],
    masks: Sequence[NDArray[np.bool_]],
    rows: NDArray[np.intp],
    chances: NDArray[np.float64],
) -> NDArray[np.int32]:
    """A word for each asked row of the proposals; drawn by the perturbator itself where it can."""
    if isinstance(perturbator, DrawingPerturbator):
        return perturbator.draw(texts, masks, rows, chances)
    return pick(perturbator.propose(texts, masks), rows, chances)


def pick(proposals: Proposals, rows: NDArray[np.intp], chances: NDArray[np.float64]) -> NDArray[np.int32]:
    """The word of each row at which the cumulated probability passes the chance.

    >>> proposals = Proposals(np.array([[7, 8]], np.int32), np.array([[0.75, 0.25]], np.float32))
    >>> pick(proposals, np.array([0, 0]), np.array([0.7, 0.8])).tolist()
    [7, 8]
    """
    if len(rows) <= len(proposals.probabilities):
        cumulated = np.cumsum(proposals.probabilities[rows], axis=1, dtype=np.float64)
    else:  # rows are asked for many times, and cumulated once
        cumulated = np.cumsum(proposals.probabilities, axis=1, dtype=np.float64)[rows]
    # How many words the chance has passed is the number of the one that it falls on.
    passed = (cumulated <= (chances * cumulated[:, -1])[:, None]).sum(axis=1)
    numbers: NDArray[np.int32] = proposals.words[rows, passed]
    return numbers


def original_probabilities(
    perturbator: Perturbator, lexicon: Lexicon, documents: Sequence[Words]
) -> list[NDArray[np.float64]]:
    """The perturbator's probability of each word at its own place, all the others in view: a pass a word."""
    # A text for each of its words, in which that one is masked; a row of proposals each.
    texts = [words for words in documents for _ in range(len(words))]
    masks = [mask for words in documents for mask in np.eye(len(words), dtype=bool)]
    proposals = perturbator.propose(texts, masks)
    numbers = np.concatenate([lexicon.numbers(words) for words in documents])
    same = proposals.words == numbers[:, None]
    total: NDArray[np.float64] = np.where(same, proposals.probabilities, 0.0).sum(axis=1, dtype=np.float64)
    return np.split(total, np.cumsum([len(words) for words in documents])[:-1])

"""Which tokens are kept, sample by sample: keyed randomness and the keep policies.

A sample is a pure function of (seed, text, stream, sample number): sample s of a stream starts at a fixed
counter of a Philox generator whose key is a hash of seed, text and stream. Samples can therefore be drawn in
blocks of any size, in any order, in any process, and come out the same.

    own     (the paper's) the token under test is kept for sure, each other one with min(1/2, p), p being the
            perturbator's probability of the word at its place; every token has a stream of its own
    shared  (ours) every token is kept with probability 1/2, and one stream serves all tokens of the document:
            a token reads the samples in which it happens to be kept
    balanced
            (ours) as shared, but the samples come in blocks of 24 that are weighed against each other: every token is
            kept in 12 of them, and any two tokens are kept together in 6, so that what one of them does to the model
            falls out of the other's difference. For a fixed number of samples: they are not independent

>>> whole = draw(seed=0, text="a b c", stream=0, keep=np.full(3, 0.5), forced=(), start=0, stop=6)
>>> tail = draw(seed=0, text="a b c", stream=0, keep=np.full(3, 0.5), forced=(), start=4, stop=6)
>>> bool((whole.kept[4:] == tail.kept).all() and (whole.fill[4:] == tail.fill).all())
True
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from anchorscope.types import Positions

KEEP_POLICIES = ("own", "shared", "balanced")

BALANCED_BLOCK = 24
"""Samples in a balanced block; up to 23 tokens are then free of each other, with more of them some share a column."""

LEFT_BY_BALANCING = 0.06
"""What is left of the variance of independent samples in a block with a word to each column, of linear models about:
second measurements set it right (``local_scores/repeats.py``)."""

BALANCED_STREAM = -3
"""Where the chances of balanced blocks come from; -1 is the empty anchor's stream, -2 the bank's."""

SHARED = 0
"""The number of the one stream of a document under the shared policy; under own a token's position is its stream."""

KEEP_AT_MOST = 0.5
KEEP_UNKNOWN = 0.01
"""The keep probability of a word that the perturbator does not propose at its own place."""

_PHILOX_BLOCK = 4  # 64-bit numbers that one step of the counter gives


@dataclass(frozen=True, slots=True)
class Draws:
    """The chances of a block of samples, each (samples, words): what is kept, and two uniforms for the fill."""

    kept: NDArray[np.bool_]
    fill: NDArray[np.float64]
    choice: NDArray[np.float64]


class KeyedGenerator:
    """A Philox generator that is moved from place to place: making a new one takes longer than a draw from it."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._generator = np.random.Generator(self._bits)

    def at(self, key: NDArray[np.uint64], counter: int) -> np.random.Generator:
        """The generator at a place: what ``Generator(Philox(key=key, counter=counter))`` is."""
        self._bits.state = {
            "bit_generator": "Philox",
            "state": {"counter": np.array([counter, 0, 0, 0], np.uint64), "key": key},
            "buffer": np.zeros(_PHILOX_BLOCK, np.uint64),
            "buffer_pos": _PHILOX_BLOCK,  # nothing is left in it
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self._generator


def draw(
    *,
    seed: int,
    text: str,
    stream: int,
    keep: NDArray[np.float64],
    forced: Positions,
    start: int,
    stop: int,
    balanced: bool = False,
    generator: KeyedGenerator | None = None,
) -> Draws:
    """Samples ``start`` to ``stop`` of a stream; ``keep`` is each word's probability of being kept (balanced: 1/2)."""
    n = len(keep)
    generator = generator or KeyedGenerator()
    chances = uniforms(seed, text, stream, start, stop, 3 * n, generator)
    # A word has three chances in a sample: to be kept, for its fill, and for the distribution that the fill is from.
    kept_chance = chances[:, :n]
    fill = chances[:, n : 2 * n]
    choice = chances[:, 2 * n :]
    kept = _balanced(seed, text, n, start, stop, generator) if balanced else kept_chance < keep
    kept[:, list(forced)] = True
    return Draws(kept, fill, choice)


def uniforms(
    seed: int, text: str, stream: int, start: int, stop: int, width: int, generator: KeyedGenerator | None = None
) -> NDArray[np.float64]:
    """Rows ``start`` to ``stop`` of the endless table (samples, width) of uniforms that belongs to a stream."""
    # A sample takes a whole number of Philox blocks, so its place is its number times that: any sample can be drawn
    # alone.
    steps = -(-width // _PHILOX_BLOCK)
    digest = blake2b(f"{seed} {stream} ".encode() + text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    placed = (generator or KeyedGenerator()).at(np.frombuffer(digest, np.uint64), start * steps)
    return placed.random((stop - start, steps * _PHILOX_BLOCK))[:, :width]


def _balanced(
    seed: int, text: str, n_words: int, start: int, stop: int, generator: KeyedGenerator
) -> NDArray[np.bool_]:
    """Rows ``start`` to ``stop`` of the endless table (samples, words) of balanced blocks."""
    # Whole blocks from the one that holds the first sample on; a row of chances makes a block.
    first = start // BALANCED_BLOCK
    last = -(-stop // BALANCED_BLOCK)
    n_columns = BALANCED_BLOCK - 1
    chances = uniforms(seed, text, BALANCED_STREAM, first, last, n_columns + BALANCED_BLOCK + 2 * n_words, generator)
    blocks = [_block(row, n_words) for row in chances]
    return np.concatenate(blocks)[start - first * BALANCED_BLOCK : stop - first * BALANCED_BLOCK]


def _block(chances: NDArray[np.float64], n_words: int) -> NDArray[np.bool_]:
    """The Hadamard matrix, its rows and columns in a random order, each word on a column and a side of it by chance."""
    n_columns = BALANCED_BLOCK - 1
    columns = chances[:n_columns]
    rest = chances[n_columns:]
    rows = rest[:BALANCED_BLOCK]
    rest = rest[BALANCED_BLOCK:]
    words = rest[:n_words]
    sides = rest[n_words:]
    # The rank of a word's chance, modulo the columns, is its place among the shuffled columns: none is used twice
    # before all are used once. Which side of the column means kept is a coin.
    column = columns.argsort()[words.argsort().argsort() % n_columns]
    return HADAMARD[rows.argsort()[:, None], column] ^ (sides < 0.5)


def share_of_noise(n_words: int) -> float:
    """What balancing leaves of the variance that independent samples of so many words would have, about.

    What each other word does by itself falls out; what words do together does not, and that is the more the more of
    them there are. From a word to each column on, no more falls out.

    >>> share_of_noise(23), share_of_noise(11) < share_of_noise(12)
    (0.06, True)
    """
    return LEFT_BY_BALANCING * min(1.0, n_words / (BALANCED_BLOCK - 1))


def sharers(kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many words each word shares its column with, itself included, in balanced samples (samples, words).

    >>> sharers(np.array([[True, False, True], [False, True, True]])).tolist()
    [2, 2, 1]
    """
    # On either side of a column means kept: columns are compared as seen from their first sample.
    seen = kept ^ kept[:1]
    _, column, sizes = np.unique(seen, axis=1, return_inverse=True, return_counts=True)
    return sizes[column.reshape(-1)].astype(np.int64)


def _hadamard(prime: int) -> NDArray[np.bool_]:
    """Paley's construction for a prime that leaves 3 when divided by 4: (prime + 1, prime), any two columns balanced.

    >>> signs = np.where(_hadamard(23), 1, -1)
    >>> bool((signs.T @ signs == 24 * np.eye(23)).all() and (signs.sum(axis=0) == 0).all())
    True
    """
    squares = {x * x % prime for x in range(1, prime)}
    inner = [[i == j or (i - j) % prime in squares for j in range(prime)] for i in range(prime)]
    # The matrix has a row of ones on top; turning the rows whose first entry is -1 makes its first column, left out
    # here, constant.
    return np.concatenate([np.ones((1, prime), bool), ~np.array(inner)])


HADAMARD = _hadamard(BALANCED_BLOCK - 1)


def half_masks(*, seed: int, text: str, stream: int, n_words: int, n_pairs: int) -> NDArray[np.bool_]:
    """Pairs of complementary masks, each hiding half of the words: (2 * n_pairs, n_words).

    >>> masks = half_masks(seed=0, text="a b c d", stream=0, n_words=4, n_pairs=2)
    >>> masks.sum(axis=0).tolist(), masks.sum(axis=1).tolist()
    ([2, 2, 2, 2], [2, 2, 2, 2])
    """
    places = np.argsort(np.argsort(uniforms(seed, text, stream, 0, n_pairs, n_words), axis=1), axis=1)
    first = places < -(-n_words // 2)
    return np.stack([first, ~first], axis=1).reshape(2 * n_pairs, n_words)


def keep_probabilities(original: NDArray[np.float64]) -> NDArray[np.float64]:
    """The paper's: min(1/2, p) for the probability p of the word at its place, 0.01 where it is not proposed.

    >>> keep_probabilities(np.array([0.9, 0.2, 0.0])).tolist()
    [0.5, 0.2, 0.01]
    """
    return np.where(original > 0, np.minimum(KEEP_AT_MOST, original), KEEP_UNKNOWN)

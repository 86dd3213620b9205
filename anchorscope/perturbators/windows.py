"""Masked texts as the rows of numbers that a masked language model reads.

Every masked word becomes one mask piece, every other word its pieces, between a begin and an end:

    the  ___  barked       ->       [CLS]  the  [MASK]  bark  ##ed  [SEP]

A text of more pieces than the model can read is cut into blocks of half a window. The masks of a block are answered
from a window that reaches beyond the block on both sides and stays inside the text; with room for 8 pieces:

    pieces    0  1  2  3  4  5  6  7  8  9 10 11
    blocks    |--- 0 ---| |--- 1 ---| |--- 2 ---|
    windows   0 ................... 7                answers block 0
                    2 ................... 9          answers block 1
                          4 .................. 11    answers block 2

Where a window lies follows from the positions in its own text, and so does the length that it is padded to: a text is
read in the same way whatever else it is asked together with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import batches
from anchorscope.types import Proposals

USUAL_LENGTH = 64
"""A batch has its full size up to this many pieces a window, and fewer windows where they are longer."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a model reads: its special pieces, and how many pieces at most, begin and end included.

    Windows are padded to a multiple of ``padding_step`` pieces: a small one wastes less, a large one has fewer shapes.
    """

    pad: int
    begin: int
    end: int
    mask: int
    max_pieces: int
    padding_step: int = 16


@dataclass(frozen=True, slots=True)
class Window:
    """One sequence for the model: the mask pieces at ``masked`` are answered in the rows from ``first_row`` on."""

    pieces: list[int]
    masked: list[int]
    first_row: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows of one length, (windows, length): ``masked`` counts through them row by row, ``rows`` take the answer."""

    pieces: NDArray[np.int64]
    attention: NDArray[np.int64]
    masked: NDArray[np.int64]
    rows: NDArray[np.int64]


def windows(
    texts: Iterable[Sequence[str]],
    masks: Iterable[NDArray[np.bool_]],
    pieces: Mapping[str, Sequence[int]],
    layout: Layout,
) -> Iterator[Window]:
    """The windows that the masks of the texts need, text by text.

    >>> layout = Layout(pad=0, begin=2, end=3, mask=4, max_pieces=128)
    >>> mask = np.array([False, True, False])
    >>> next(windows([["the", "dog", "barked"]], [mask], {"the": [5], "barked": [6, 7]}, layout))
    Window(pieces=[2, 5, 4, 6, 7, 3], masked=[2], first_row=0)
    """
    size = layout.max_pieces - 2
    first_row = 0
    for words, mask in zip(texts, masks, strict=True):
        line, masked = _line(words, mask, pieces, layout.mask)
        for start, columns in _cut(len(line), masked, size):
            sequence = [layout.begin, *line[start : start + size], layout.end]
            yield Window(sequence, [column - start + 1 for column in columns], first_row)
            first_row += len(columns)


def batches_of_windows(windows: Iterable[Window], layout: Layout, batch_size: int) -> Iterator[Batch]:
    """The windows packed by length, shortest first."""
    by_length: defaultdict[int, list[Window]] = defaultdict(list)
    step = layout.padding_step
    for window in windows:
        by_length[min(-(-len(window.pieces) // step) * step, layout.max_pieces)].append(window)
    for length, alike in sorted(by_length.items()):
        size = max(1, batch_size * USUAL_LENGTH // max(USUAL_LENGTH, length))
        for some in batches(alike, size):
            yield _batch(some, length, layout.pad)


def gather(
    answers: Iterable[tuple[Batch, tuple[NDArray[np.int32], NDArray[np.float32]]]], n_rows: int, n: int
) -> Proposals:
    """The answers (masked, n) to all batches, each in its own rows."""
    proposals = Proposals(np.zeros((n_rows, n), np.int32), np.zeros((n_rows, n), np.float32))
    for batch, (words, probabilities) in answers:
        proposals.words[batch.rows] = words
        proposals.probabilities[batch.rows] = probabilities
    return proposals


def _line(
    words: Sequence[str], mask: NDArray[np.bool_], pieces: Mapping[str, Sequence[int]], mask_piece: int
) -> tuple[list[int], list[int]]:
    """The pieces of a masked text, and where in them the masks stand."""
    line: list[int] = []
    masked: list[int] = []
    for word, is_masked in zip(words, mask.tolist(), strict=True):
        if is_masked:
            masked.append(len(line))
            line.append(mask_piece)
        else:
            line.extend(pieces[word])
    return line, masked


def _cut(n_pieces: int, masked: list[int], size: int) -> Iterator[tuple[int, list[int]]]:
    """Where each window of ``size`` pieces starts, and the masks that it answers.

    >>> list(_cut(12, [1, 3, 4, 11], size=8))
    [(0, [1, 3]), (2, [4]), (4, [11])]
    """
    if n_pieces <= size:
        yield from [(0, masked)] if masked else []
        return
    block_size = size // 2
    for block, columns in groupby(masked, lambda column: column // block_size):
        start = block * block_size - block_size // 2
        yield min(max(start, 0), n_pieces - size), list(columns)


def _batch(windows: Sequence[Window], length: int, pad: int) -> Batch:
    pieces = np.full((len(windows), length), pad, np.int64)
    attention = np.zeros((len(windows), length), np.int64)
    for i, window in enumerate(windows):
        pieces[i, : len(window.pieces)] = window.pieces
        attention[i, : len(window.pieces)] = 1
    masked = [i * length + column for i, window in enumerate(windows) for column in window.masked]
    rows = [row for window in windows for row in range(window.first_row, window.first_row + len(window.masked))]
    return Batch(pieces, attention, np.array(masked, np.int64), np.array(rows, np.int64))

"""An epoch of masked lines, packed into steps of one size, made on the device in a few passes.

Each line gets a mask rate, each word of it is masked with that chance, and a masked word becomes one [MASK] however
many pieces it has: at run time nobody knows how many pieces the missing word had. Only words of one piece are asked
for, since only those can be proposed:

    [CLS] the ban ##jo plays [SEP]   ->   [CLS] [MASK] [MASK] plays [SEP]     asked: 'the' at place 1

Now and then two neighbouring lines are joined, so that long documents are met too. Sizes of a step never change (spare
places hold [PAD], spare questions are ignored), so that one compiled program serves the whole training.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.model import Packed
from training.wordpiece import CLS, MASK, PAD, SEP, SPECIALS, Vocabulary

IGNORED = -100
LONGEST = 128
"""No packed line is longer: attention on a GPU reads no further."""


@dataclass(frozen=True)
class Masking:
    """How lines are cut, joined and masked."""

    lowest_rate: float = 0.12
    highest_rate: float = 0.85
    longest_line: int = 126
    joined_share: float = 0.2


@dataclass(frozen=True)
class Step:
    """Packed lines, the flat places asked for, and the piece that stood at each."""

    lines: Packed
    wanted: Tensor
    answers: Tensor


@dataclass(frozen=True)
class Corpus:
    """All lines on the device: pieces (total,), the start and length of each line, and what continues a word."""

    pieces: Tensor
    starts: Tensor
    lengths: Tensor
    is_continuation: Tensor

    @classmethod
    def read(cls, data: Path, device: torch.device) -> "Corpus":
        """The corpus that `training.prepare` wrote."""
        vocabulary = Vocabulary.read(data / "vocab.txt")
        lengths = torch.from_numpy(np.load(data / "lengths.npy").astype(np.int64)).to(device)
        return cls(
            pieces=torch.from_numpy(np.load(data / "pieces.npy").astype(np.int32)).to(device),
            starts=torch.cumsum(lengths, 0) - lengths,
            lengths=lengths,
            is_continuation=torch.from_numpy(vocabulary.is_continuation).to(device),
        )


@dataclass(frozen=True)
class StepSize:
    """What every step holds: places, lines (spare places make lines too) and questions."""

    places: int
    lines: int
    questions: int

    @classmethod
    def fit(cls, corpus: Corpus, masking: Masking, places: int) -> "StepSize":
        """Room for the average step and some more."""
        mean_length = corpus.lengths.clamp(max=masking.longest_line).double().mean().item() + 2
        mean_rate = (masking.lowest_rate + masking.highest_rate) / 2
        n_lines = int(1.25 * places / mean_length) + 8 + places // LONGEST
        return cls(places, n_lines, int(0.88 * mean_rate * places) // 64 * 64)


def make_epoch(corpus: Corpus, masking: Masking, size: StepSize, random: torch.Generator) -> Iterator[Step]:
    """Every line once, in random order, under fresh masks."""
    starts, lengths = _join_lines(corpus, masking, random)
    order = torch.randperm(len(starts), generator=random, device=starts.device)
    flat, line = _lay_out(corpus, starts[order], lengths[order])
    pieces, answers, kept = _mask_words(corpus, flat, line, len(starts), masking, random)
    line_lengths = torch.bincount(line[kept], minlength=len(starts))
    return _cut_steps(pieces[kept], answers[kept], line_lengths, size)


def _join_lines(corpus: Corpus, masking: Masking, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Starts and lengths of lines, some neighbours joined: they lie side by side, so a start is dropped."""
    device = corpus.starts.device
    lengths = corpus.lengths.clamp(max=masking.longest_line)
    n_lines = len(lengths)
    offset = int(torch.randint(2, (), generator=random, device=device))
    first = torch.arange(offset, n_lines - 1, 2, device=device)
    chosen = torch.rand(len(first), generator=random, device=device) < masking.joined_share
    chosen &= lengths[first] + lengths[first + 1] <= masking.longest_line
    first = first[chosen]
    lengths = lengths.index_add(0, first, lengths[first + 1])
    alone = torch.ones(n_lines, dtype=torch.bool, device=device)
    alone[first + 1] = False
    return corpus.starts[alone], lengths[alone]


def _lay_out(corpus: Corpus, starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Pieces of the lines end to end, each between [CLS] and [SEP], and the line of every piece."""
    framed = lengths + 2
    ends = torch.cumsum(framed, 0)
    line = torch.repeat_interleave(torch.arange(len(starts), device=starts.device), framed)
    place = torch.arange(len(line), device=starts.device) - (ends - framed)[line]
    is_last = place == lengths[line] + 1
    inner = (starts[line] + place - 1).clamp_(0, len(corpus.pieces) - 1)
    flat = corpus.pieces[inner]
    flat[place == 0] = CLS
    flat[is_last] = SEP
    return flat, line


def _mask_words(
    corpus: Corpus, flat: Tensor, line: Tensor, n_lines: int, masking: Masking, random: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Pieces with [MASK]s, the answer asked at each place (or ignored), and which places stay."""
    device = flat.device
    goes_on = corpus.is_continuation[flat]
    word = torch.cumsum(~goes_on, 0) - 1
    spread = masking.highest_rate - masking.lowest_rate
    rates = masking.lowest_rate + spread * torch.rand(n_lines, generator=random, device=device)
    draws = torch.rand(int(word[-1]) + 1, generator=random, device=device)
    is_frame = (flat == CLS) | (flat == SEP)
    masked = (draws[word] < rates[line]) & ~is_frame
    has_more = torch.cat([goes_on[1:], goes_on.new_zeros(1)])
    asked = masked & ~goes_on & ~has_more & (flat >= len(SPECIALS))
    answers = torch.where(asked, flat, IGNORED)
    pieces = torch.where(masked, MASK, flat)
    return pieces, answers, ~(masked & goes_on)


def _cut_steps(pieces: Tensor, answers: Tensor, lengths: Tensor, size: StepSize) -> Iterator[Step]:
    """Steps of whole lines; the lines that are left at the end of an epoch are dropped."""
    ends = torch.cumsum(lengths, 0)
    begins = ends - lengths
    positions = torch.arange(len(pieces), device=pieces.device) - torch.repeat_interleave(begins, lengths)
    asked = torch.nonzero(answers != IGNORED).squeeze(1)
    host_ends = np.concatenate([[0], ends.cpu().numpy()])
    host_asked = asked.cpu().numpy()
    first = 0
    while host_ends[-1] - host_ends[first] > size.places:
        last = int(np.searchsorted(host_ends, host_ends[first] + size.places, side="right")) - 1
        last = min(last, first + size.lines - size.places // LONGEST - 1)
        start, stop = int(host_ends[first]), int(host_ends[last])
        questions = asked[slice(*np.searchsorted(host_asked, [start, stop]))]
        yield _make_step(pieces, positions, answers, begins[first:last], questions, start, stop, size)
        first = last


def _make_step(
    pieces: Tensor,
    positions: Tensor,
    answers: Tensor,
    begins: Tensor,
    questions: Tensor,
    start: int,
    stop: int,
    size: StepSize,
) -> Step:
    # The spare places form lines of [PAD]s; further lines are empty.
    spare = size.places - (stop - start)
    spare_bounds = torch.arange(size.lines + 1 - len(begins), device=pieces.device) * LONGEST + (stop - start)
    bounds = torch.cat([begins - start, spare_bounds.clamp_(max=size.places)]).int()
    questions = questions[: size.questions]
    unused = size.questions - len(questions)
    lines = Packed(
        pieces=torch.nn.functional.pad(pieces[start:stop], (0, spare), value=PAD),
        positions=torch.nn.functional.pad(positions[start:stop], (0, spare), value=0),
        bounds=bounds,
        longest=LONGEST,
    )
    return Step(
        lines=lines,
        wanted=torch.nn.functional.pad(questions - start, (0, unused), value=0),
        answers=torch.nn.functional.pad(answers[questions].long(), (0, unused), value=IGNORED),
    )

"""Two ways to ask a masked language model for words, under one contract.

A `Propose` takes windows (lists of piece numbers, from [CLS] to [SEP]) and n; it answers the n most probable whole
words at every [MASK], one row a mask, in order of window and place, and their probabilities among all whole words:

    [[2, 71, 4, 3], [2, 4, 4, 3]], n = 10   ->   words (3, 10), probabilities (3, 10)

Left out on purpose: batching. The caller hands over windows of similar length, few enough for one pass.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime
import torch

from training.model import MaskedLanguageModel, Packed
from training.wordpiece import MASK, PAD, Vocabulary


class Proposals(NamedTuple):
    """Piece numbers and probabilities, both (masks, n), most probable first."""

    words: np.ndarray
    probabilities: np.ndarray


Propose = Callable[[list[list[int]], int], Proposals]


def propose_with_torch(model: MaskedLanguageModel, vocabulary: Vocabulary) -> Propose:
    """Asks the weights in float32, on the device where they are."""
    device = model.vocab_projector.weight.device
    forbidden = torch.from_numpy(~vocabulary.is_fill).to(device)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32

    @torch.inference_mode()
    def propose(windows: list[list[int]], n: int) -> Proposals:
        lines = pack(windows, device)
        wanted = torch.nonzero(lines.pieces == MASK).squeeze(1)
        logits = model(lines, wanted, dtype).float().masked_fill_(forbidden, -torch.inf)
        best = torch.topk(logits.softmax(1), n)
        return Proposals(best.indices.cpu().numpy(), best.values.cpu().numpy())

    return propose


def pack(windows: list[list[int]], device: torch.device) -> Packed:
    """Windows end to end."""
    lengths = torch.tensor([len(window) for window in windows])
    bounds = torch.cat([torch.zeros(1, dtype=torch.int64), torch.cumsum(lengths, 0)])
    pieces = torch.tensor([piece for window in windows for piece in window])
    positions = torch.arange(len(pieces)) - torch.repeat_interleave(bounds[:-1], lengths)
    longest = int(lengths.max())
    return Packed(pieces.to(device), positions.to(device), bounds.int().to(device), longest)


def open_session(path: Path, n_threads: int = 2) -> onnxruntime.InferenceSession:
    """An exported model on the CPU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # as the package has it
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def propose_with_onnx(session: onnxruntime.InferenceSession) -> Propose:
    """Asks an exported model."""

    def propose(windows: list[list[int]], n: int) -> Proposals:
        return Proposals(*session.run(["words", "probabilities"], feed(windows, n)))

    return propose


def feed(windows: list[list[int]], n: int, length: int | None = None) -> dict[str, np.ndarray]:
    """The inputs of an exported model: windows padded to `length`, every [MASK] wanted."""
    length = length or max(map(len, windows))
    pieces = np.full((len(windows), length), PAD, np.int64)
    attention = np.zeros_like(pieces)
    for row, window in enumerate(windows):
        pieces[row, : len(window)] = window
        attention[row, : len(window)] = 1
    masked = np.flatnonzero(pieces == MASK)
    return {"pieces": pieces, "attention": attention, "masked": masked, "n": np.array([n])}

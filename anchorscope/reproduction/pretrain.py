"""A DeBERTa-type encoder, trained as a masked language model on plain text files.

The architecture is that of DeBERTa v2 and v3: attention scores of content to content, content to position and position
to content, over relative positions. The vocabulary is that of the embedded masked language model. 15% of the
pieces are hidden (of them 80% as [MASK], 10% as another piece, 10% as they are). Training goes on from its last
checkpoint, so it can be stopped by a deadline.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from anchorscope.asking.optional import needed
from anchorscope.errors import DocumentsError
from anchorscope.reproduction.finetune import quiet
from anchorscope.reproduction.models import OutOfTimeError

SHAPE = {"hidden_size": 384, "num_hidden_layers": 8, "num_attention_heads": 6, "intermediate_size": 1536}
"""Larger than the small BERT (7 layers of 256), smaller than deberta-v3-small (6 layers of 768)."""

RATE = 5e-4
BATCH = 256
PIECES = 64
CHECKPOINT_EVERY = 500
HIDDEN = 0.15

_OPEN: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def pretrain(
    corpus: Sequence[Path],
    folder: Path,
    *,
    device: str,
    steps: int,
    deadline: float = float("inf"),
    shape: dict[str, int] | None = None,
    batch: int = BATCH,
) -> None:
    """Write the encoder into a folder when its steps are done; before that, checkpoints beside it."""
    torch = needed("torch", "huggingface", "training a masked language model")
    transformers = needed("transformers", "huggingface", "training a masked language model")
    work = folder.with_name(folder.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(transformers, work / "tokenizer")
    blocks = _blocks(corpus, tokenizer, work / "blocks.npy")
    torch.manual_seed(0)
    model = _model(transformers, tokenizer, shape or SHAPE).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), RATE, betas=(0.9, 0.98), weight_decay=0.01)
    start = _resume(torch, work / "state.pt", model, optimiser, device)
    half = torch.autocast("cuda", torch.bfloat16) if device.startswith("cuda") else nullcontext()
    model.train()
    for step in range(start, steps):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min((step + 1) / max(1, steps // 20), (steps - step) / steps)
        torch.manual_seed(step)  # so that a checkpoint need not hold the state of the dropout
        pieces, wanted = _hidden(torch, blocks, tokenizer, step, device, batch)
        with half:
            loss = model(input_ids=pieces, labels=wanted).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        late = monotonic() > deadline
        if late or (step + 1) % CHECKPOINT_EVERY == 0:
            _save(torch, work / "state.pt", model, optimiser, step + 1)
        if late and step + 1 < steps:
            raise OutOfTimeError(f"pretraining: {step + 1} of {steps} steps")
    draft = folder.with_name(folder.name + ".part")
    with quiet(transformers):
        model.float().save_pretrained(draft)
        tokenizer.save_pretrained(draft)
    os.replace(draft, folder)
    shutil.rmtree(work)


def _model(transformers: Any, tokenizer: Any, shape: dict[str, int]) -> Any:
    with warnings.catch_warnings():  # its module uses a call that torch is about to drop
        warnings.simplefilter("ignore")
        config = transformers.DebertaV2Config(
            vocab_size=len(tokenizer),
            max_position_embeddings=128,
            pad_token_id=tokenizer.pad_token_id,
            type_vocab_size=0,
            relative_attention=True,
            position_buckets=32,
            pos_att_type=["p2c", "c2p"],
            share_att_key=True,
            norm_rel_ebd="layer_norm",
            position_biased_input=False,
            **shape,
        )
        return transformers.DebertaV2ForMaskedLM(config)


def _tokenizer(transformers: Any, folder: Path) -> Any:
    """The tokenizer of the embedded model."""
    from anchorscope.embedded_model.huggingface import write_folder

    if not folder.is_dir():
        write_folder(folder)
    return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _blocks(corpus: Sequence[Path], tokenizer: Any, kept: Path) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """All texts as pieces, in blocks of one length; computed once."""
    if kept.is_file():
        return np.load(kept, mmap_mode="r")
    inner = PIECES - 2
    blocks: list[np.ndarray[Any, np.dtype[np.uint16]]] = []
    left: list[int] = []
    for lines in _lines(corpus):
        left += [piece for row in tokenizer(lines, add_special_tokens=False)["input_ids"] for piece in row]
        whole = len(left) // inner * inner
        blocks.append(np.array(left[:whole], np.uint16).reshape(-1, inner))
        left = left[whole:]
    if not sum(map(len, blocks)):
        raise DocumentsError(f"There is not enough text in {', '.join(map(str, corpus))} to train on.")
    table = np.random.default_rng(0).permutation(np.concatenate(blocks))
    table = np.pad(table, ((0, 0), (1, 1)))
    table[:, 0] = tokenizer.cls_token_id
    table[:, -1] = tokenizer.sep_token_id
    np.save(kept.with_suffix(".part.npy"), table)
    os.replace(kept.with_suffix(".part.npy"), kept)
    return table


def _lines(corpus: Sequence[Path], at_once: int = 1000) -> Iterator[list[str]]:
    for path in corpus:
        try:
            with _OPEN.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
                some: list[str] = []
                for line in file:
                    if line.strip():
                        some.append(line.strip())
                    if len(some) == at_once:
                        yield some
                        some = []
                if some:
                    yield some
        except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
            raise DocumentsError(f"{path} cannot be read as text ({error}); name text files with --corpus.") from error


def _hidden(torch: Any, blocks: Any, tokenizer: Any, step: int, device: str, batch: int) -> tuple[Any, Any]:
    """The batch of a step: pieces with some of them hidden, and what stood there (-100 elsewhere)."""
    chances = np.random.default_rng((1, step))
    rows = np.take(blocks, np.arange(step * batch, (step + 1) * batch) % len(blocks), axis=0).astype(np.int64)
    special = np.isin(rows, [tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id])
    chosen = (chances.random(rows.shape) < HIDDEN) & ~special
    wanted = np.where(chosen, rows, -100)
    how = chances.random(rows.shape)
    rows = np.where(chosen & (how < 0.8), tokenizer.mask_token_id, rows)
    other = chances.integers(len(tokenizer), size=rows.shape)
    rows = np.where(chosen & (how >= 0.9), other, rows)
    return torch.from_numpy(rows).to(device), torch.from_numpy(wanted).to(device)


def _resume(torch: Any, path: Path, model: Any, optimiser: Any, device: str) -> int:
    """Take up the last checkpoint; the step to go on with."""
    if not path.is_file():
        return 0
    state = torch.load(path, map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["step"])


def _save(torch: Any, path: Path, model: Any, optimiser: Any, step: int) -> None:
    draft = path.with_suffix(".part")
    torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step}, draft)
    os.replace(draft, path)

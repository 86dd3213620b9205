"""Fine-tuning a pretrained encoder as a classifier: a plain loop, the best checkpoint by validation accuracy.

AdamW, a rate that rises over the first tenth of the steps and falls to 0, batches of texts of like length; on a GPU
products are taken in bfloat16. The accuracy on the validation set is taken after each epoch; the weights of the best
epoch are written.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anchorscope.asking.devices import is_card
from anchorscope.asking.optional import needed
from anchorscope.reproduction.tasks import Pairs

BATCH = 32
LONGEST = 128
SEED = 42


def finetune(
    base: Path, train: Pairs, validation: Pairs, folder: Path, device: str, *, epochs: int, rate: float
) -> list[float]:
    """Write the classifier of a task into a folder, with its accuracies in ``accuracy.json``; they are answered too."""
    torch = needed("torch", "huggingface", "training a classifier")
    transformers = needed("transformers", "huggingface", "training a classifier")
    torch.manual_seed(SEED)
    labels = sorted({label for _, label in train})
    tokenizer = transformers.AutoTokenizer.from_pretrained(base, local_files_only=True)
    with quiet(transformers):
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            base,
            local_files_only=True,
            num_labels=len(labels),
            id2label=dict(enumerate(labels)),
            label2id={label: i for i, label in enumerate(labels)},
        ).to(device)
    rows = _encoded(tokenizer, train, labels)
    checked = _encoded(tokenizer, validation, labels)
    n_steps = epochs * -(-len(rows) // BATCH)
    optimiser = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    warmup = max(1, n_steps // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warmup, max(0.0, (n_steps - step) / max(1, n_steps - warmup)))
    )
    draft = folder.with_name(folder.name + ".part")
    best = -1.0
    history = []
    shutil.rmtree(draft, ignore_errors=True)
    for epoch in range(epochs):
        model.train()
        for pieces, mask, wanted in _batches(torch, rows, tokenizer.pad_token_id, device, random.Random(SEED + epoch)):
            with torch.autocast("cuda", torch.bfloat16, enabled=is_card(device)):
                loss = model(input_ids=pieces, attention_mask=mask, labels=wanted).loss
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
        history.append(_accuracy(torch, model, checked, tokenizer.pad_token_id, device))
        if history[-1] > best:
            best = history[-1]
            with quiet(transformers):
                model.save_pretrained(draft)
                tokenizer.save_pretrained(draft)
    (draft / "accuracy.json").write_text(json.dumps({"validation": history}) + "\n", encoding="utf-8")
    os.replace(draft, folder)
    return history


def _encoded(tokenizer: Any, rows: Pairs, labels: Sequence[str]) -> list[tuple[list[int], int]]:
    pieces = tokenizer([text for text, _ in rows], truncation=True, max_length=LONGEST)["input_ids"]
    return [(row, labels.index(label)) for row, (_, label) in zip(pieces, rows)]


def _batches(
    torch: Any, rows: Sequence[tuple[list[int], int]], pad: int, device: str, chances: random.Random | None
) -> Iterator[tuple[Any, Any, Any]]:
    """Batches of like length; in a random order where there is chance."""
    order = sorted(range(len(rows)), key=lambda i: (len(rows[i][0]), chances.random() if chances else 0.0))
    starts = [*range(0, len(order), BATCH)]
    if chances:
        chances.shuffle(starts)
    for start in starts:
        some = [rows[i] for i in order[start : start + BATCH]]
        width = max(len(pieces) for pieces, _ in some)
        padded = torch.tensor([pieces + [pad] * (width - len(pieces)) for pieces, _ in some], device=device)
        mask = torch.tensor([[1] * len(pieces) + [0] * (width - len(pieces)) for pieces, _ in some], device=device)
        yield padded, mask, torch.tensor([label for _, label in some], device=device)


def _accuracy(torch: Any, model: Any, rows: Sequence[tuple[list[int], int]], pad: int, device: str) -> float:
    model.eval()
    right = 0
    with torch.inference_mode():
        for pieces, mask, wanted in _batches(torch, rows, pad, device, None):
            right += int((model(input_ids=pieces, attention_mask=mask).logits.argmax(dim=-1) == wanted).sum())
    return right / max(1, len(rows))


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """No progress bars, and no notes about a head that is new, which it is meant to be."""
    logging = transformers.utils.logging
    verbosity = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()

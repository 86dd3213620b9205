"""A pretrained encoder becomes a classifier: a plain loop over labelled texts, the best epoch by validation accuracy.

    fine_tune(Path("encoder"), train, validation, Path("classifier"), device="cuda")

The source is a Hugging Face folder with an encoder of any kind (a masked language model will do: its head is left
behind); what is written is a folder that ``HuggingFacePredictor`` reads.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anchorscope.devices import checked_device, is_card
from anchorscope.predictors.encoding import Encode, encoder

MAX_PIECES = 128

Labelled = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to fine-tune; the learning rate warms up over a tenth of the steps, then falls to zero."""

    epochs: int = 3
    batch_size: int = 64
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The validation accuracy after each epoch; the best one's weights are written."""

    accuracies: tuple[float, ...]

    @property
    def best(self) -> float:
        """The accuracy of what was written."""
        return max(self.accuracies)


def fine_tune(
    source: Path, train: Labelled, validation: Labelled, out: Path, *, recipe: Recipe | None = None, device: str = "cpu"
) -> Outcome:
    """Train a classifier from the encoder in ``source``, and write the best of its epochs to ``out``."""
    import torch
    import transformers

    recipe = recipe or Recipe()
    torch.manual_seed(recipe.seed)
    labels = sorted({label for _, label in train})
    tokenizer = transformers.AutoTokenizer.from_pretrained(source, local_files_only=True)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        source,
        local_files_only=True,
        use_safetensors=True,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    ).to(checked_device(device))
    encode = encoder(tokenizer, {"truncation": True, "max_length": MAX_PIECES})
    epochs = list(_epochs(train, recipe))
    optimiser = torch.optim.AdamW(model.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, _shape(sum(map(len, epochs))))
    accuracies: list[float] = []
    for batches in epochs:
        model.train()
        for batch in batches:
            loss = _loss(model, encode, batch, labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            schedule.step()
        accuracies.append(_accuracy(model, encode, validation, labels))
        if accuracies[-1] == max(accuracies):
            model.save_pretrained(out)
            tokenizer.save_pretrained(out)
    return Outcome(tuple(accuracies))


def _epochs(rows: Labelled, recipe: Recipe) -> Iterator[list[list[tuple[str, str]]]]:
    """The batches of each epoch, shuffled anew."""
    order = random.Random(recipe.seed)
    for _ in range(recipe.epochs):
        shuffled = order.sample(list(rows), len(rows))
        yield [shuffled[start : start + recipe.batch_size] for start in range(0, len(shuffled), recipe.batch_size)]


def _shape(n_steps: int) -> Any:
    """The learning rate as a share of its highest."""
    return lambda step: min((step + 1) / max(1, 0.1 * n_steps), max(0.0, 1 - step / n_steps))


def _loss(model: Any, encode: Encode, batch: Labelled, labels: Sequence[str]) -> Any:
    import torch

    wanted = torch.tensor([labels.index(label) for _, label in batch], device=model.device)
    return torch.nn.functional.cross_entropy(_logits(model, encode, [text for text, _ in batch]), wanted)


def _accuracy(model: Any, encode: Encode, rows: Labelled, labels: Sequence[str], at_once: int = 256) -> float:
    import torch

    model.eval()
    right = 0
    with torch.inference_mode():
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            best = _logits(model, encode, [text for text, _ in some]).argmax(-1).tolist()
            right += sum(labels[number] == label for number, (_, label) in zip(best, some))
    return right / max(1, len(rows))


def _logits(model: Any, encode: Encode, texts: Sequence[str]) -> Any:
    """The scores of the labels, in float32; on a card products are taken in bfloat16."""
    import torch

    inputs = {name: tensor.to(model.device) for name, tensor in encode(texts).items()}
    with torch.autocast("cuda", torch.bfloat16, enabled=is_card(str(model.device))):
        return model(**inputs).logits.float()

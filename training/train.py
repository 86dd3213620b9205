"""Trains the embedded masked language model from scratch, on one GPU.

    python -m training.train --corpus CORPUS --out OUT                    the shipped model
    python -m training.train --corpus CORPUS --out OUT --recipe baseline  the first trial, for comparison
    python -m training.train --corpus CORPUS --out OUT --recipe large     encoders of the sizes people use, for the
    python -m training.train --corpus CORPUS --out OUT --recipe larger    studies: DistilBERT's, and BERT-base's

Prepares the corpus (once, in OUT/data), trains, writes OUT/RECIPE: a Hugging Face folder with `model.safetensors` in
float32, and `training.json` (settings, seconds, loss every 500 steps), and prints the held-out accuracy. The same
seed gives the same masks and order; sums on a GPU may still differ in their last bits.
"""

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from anchorscope.embedded_model.huggingface import write_tokenizer
from training.evaluate import evaluate
from training.masking import Corpus, Masking, Step, StepSize, make_epoch
from training.model import MaskedLanguageModel, Packed, Shape, save
from training.optimiser import make_optimisers
from training.prepare import prepare, read_lines
from training.proposals import propose_with_torch
from training.wordpiece import Vocabulary

NOTED_EVERY = 500
SAVED_EVERY = 10_000


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the weights, beside the corpus."""

    shape: Shape
    masking: Masking
    n_steps: int
    places: int
    learning_rate: float
    decay: str
    muon: bool
    weight_decay: float = 0.05
    n_warm_up: int = 1000
    seed: int = 0


RECIPES = {
    "final": Recipe(
        shape=Shape(n_layers=7, n_heads=8),
        masking=Masking(),
        n_steps=50_000,
        places=65_536,
        learning_rate=3e-3,
        decay="linear",
        muon=True,
    ),
    # Of the size of DistilBERT and of BERT-base, trained for minutes: for studies that need such sizes, not to ship.
    "large": Recipe(
        shape=Shape(n_layers=6, dim=768, hidden_dim=3072, n_heads=12),
        masking=Masking(),
        n_steps=3_000,
        places=65_536,
        learning_rate=1e-3,
        decay="linear",
        muon=True,
        n_warm_up=200,
    ),
    "larger": Recipe(
        shape=Shape(n_layers=12, dim=768, hidden_dim=3072, n_heads=12),
        masking=Masking(),
        n_steps=2_000,
        places=65_536,
        learning_rate=1e-3,
        decay="linear",
        muon=True,
        n_warm_up=200,
    ),
    # The first trial of the project: 9,000 steps of about 2,048 lines of up to 64 pieces.
    "baseline": Recipe(
        shape=Shape(n_layers=4, n_heads=4, max_position_embeddings=64),
        masking=Masking(lowest_rate=0.15, highest_rate=0.8, longest_line=62, joined_share=0.0),
        n_steps=9_000,
        places=61_440,
        learning_rate=2e-3,
        decay="cosine",
        muon=False,
        weight_decay=0.01,
    ),
}


@dataclass
class Progress:
    """The record of a training: the loss now and then and the clock, with the model so far on disk."""

    recipe: Recipe
    data: Path
    folder: Path
    losses: dict[int, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def note(self, step: int, loss: float, model: MaskedLanguageModel) -> None:
        """Remembers and prints the mean loss since the last note, and saves the model now and then."""
        self.losses[step] = round(loss, 4)
        print(f"step {step:6d}  loss {loss:.4f}  {time.perf_counter() - self.started:6.1f} s", flush=True)
        if step % SAVED_EVERY == 0 or step == self.recipe.n_steps:
            self.save(model)

    def save(self, model: MaskedLanguageModel) -> None:
        """Writes the folder of the model."""
        record = {
            "recipe": asdict(self.recipe),
            "parameters": model.count_parameters(),
            "seconds": round(time.perf_counter() - self.started, 1),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            "torch": torch.__version__,
            "losses": self.losses,
        }
        save(model, self.folder)
        pieces = (self.data / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        write_tokenizer(self.folder, pieces, self.recipe.shape.max_position_embeddings)
        (self.folder / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def train(
    recipe: Recipe, data: Path, device: torch.device, note: Callable[[int, float, MaskedLanguageModel], None]
) -> MaskedLanguageModel:
    """The trained model: mask, predict, step; the learning rate warms up, then falls to zero."""
    torch.manual_seed(recipe.seed)
    model = MaskedLanguageModel(recipe.shape).to(device)
    optimisers = make_optimisers(model, weight_decay=recipe.weight_decay, muon=recipe.muon)
    measure = torch.compile(measure_loss) if device.type == "cuda" else measure_loss
    running = torch.zeros((), device=device)
    for number, step in enumerate(make_steps(recipe, data, device), start=1):
        loss = measure(model, step.lines.pieces, step.lines.positions, step.lines.bounds, step.wanted, step.answers)
        loss.backward()
        update(model, optimisers, recipe.learning_rate * schedule(number / recipe.n_steps, recipe))
        running += loss.detach()
        if number % NOTED_EVERY == 0 or number == recipe.n_steps:
            note(number, float(running) / (number % NOTED_EVERY or NOTED_EVERY), model)
            running.zero_()
    return model


def make_steps(recipe: Recipe, data: Path, device: torch.device) -> Iterator[Step]:
    """As many steps as the recipe asks for, epoch after epoch."""
    corpus = Corpus.read(data, device)
    size = StepSize.fit(corpus, recipe.masking, recipe.places)
    random = torch.Generator(device).manual_seed(recipe.seed)
    n_left = recipe.n_steps
    while n_left:
        for step in make_epoch(corpus, recipe.masking, size, random):
            yield step
            n_left -= 1
            if not n_left:
                return


def measure_loss(
    model: MaskedLanguageModel, pieces: Tensor, positions: Tensor, bounds: Tensor, wanted: Tensor, answers: Tensor
) -> Tensor:
    """Mean cross-entropy of the words asked for."""
    dtype = torch.bfloat16 if pieces.is_cuda else torch.float32
    logits = model(Packed(pieces, positions, bounds, longest=128), wanted, dtype)
    return F.cross_entropy(logits.float(), answers)


def update(model: nn.Module, optimisers: list[torch.optim.Optimizer], learning_rate: float) -> None:
    """One step of every optimiser along the clipped gradient."""
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = learning_rate
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)


def schedule(share: float, recipe: Recipe) -> float:
    """The learning rate as a share of its highest, after `share` of the steps."""
    warm_up = share * recipe.n_steps / recipe.n_warm_up
    fall = 1 - share if recipe.decay == "linear" else (1 + math.cos(math.pi * share)) / 2
    return min(warm_up, fall)


def main() -> None:
    """Prepares where needed, trains, writes and prints the held-out accuracy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recipe", choices=RECIPES, default="final")
    parser.add_argument("--steps", type=int, help="another number of steps than the recipe's")
    parser.add_argument("--places", type=int, help="another number of pieces a step")
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--held-out-lines", type=int, help="how many to measure on (all)")
    arguments = parser.parse_args()
    changes = {
        "n_steps": arguments.steps,
        "places": arguments.places,
        "learning_rate": arguments.learning_rate,
    }
    recipe = replace(RECIPES[arguments.recipe], **{name: value for name, value in changes.items() if value})
    data = arguments.out / "data"
    if not (data / "lengths.npy").exists():
        prepare(arguments.corpus, data, processes=os.cpu_count() or 1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    progress = Progress(recipe, data, arguments.out / arguments.recipe)
    model = train(recipe, data, device, progress.note)
    lines = read_lines(arguments.corpus / "heldout.txt.xz")[: arguments.held_out_lines]
    vocabulary = Vocabulary.read(data / "vocab.txt")
    window = recipe.shape.max_position_embeddings
    evaluate(lines, vocabulary, propose_with_torch(model, vocabulary), window).print()


if __name__ == "__main__":
    main()

"""How many sequences a second the model fills on a CPU: the exported graph beside the same weights in torch.

    python -m training.throughput MODEL_FOLDER NAME=MODEL.onnx ... [--out JSON]

A sequence has 32 pieces with [CLS] and [SEP], half of them masked; 50 words are proposed at each mask; batches of 64.
Contestants: every ONNX file, and `transformers.DistilBertForMaskedLM` on MODEL_FOLDER, once as it comes (vocabulary
head on all places) and once with the head on the masked places only, both followed by softmax and topk. They take
turns, round after round, and the best round of each counts: other work on the machine then harms none in particular.
Beside the clock the time of the processor is read, which does not count the waiting for a core that is busy elsewhere.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np
import onnxruntime
import torch
import transformers

from training.proposals import feed, open_session
from training.wordpiece import CLS, MASK, SEP, SPECIALS

LENGTH = 32
BATCH = 64
N_PROPOSALS = 50
THREADS = (1, 2)


@dataclass(frozen=True)
class Throughput:
    """A contestant's sequences a second: by the clock (best and middle round) and of processor time (best round)."""

    name: str
    threads: int
    best: float
    median: float
    best_of_processor: float


def make_windows(seed: int) -> list[list[int]]:
    """A batch of random pieces, half of them masked."""
    random = np.random.default_rng(seed)
    windows = []
    for _ in range(BATCH):
        pieces = random.integers(len(SPECIALS), 14_000, LENGTH - 2)
        pieces[random.permutation(LENGTH - 2)[: LENGTH // 2]] = MASK
        windows.append([CLS, *pieces.tolist(), SEP])
    return windows


def fill_with_onnx(path: Path, threads: int) -> Callable[[dict[str, np.ndarray]], object]:
    """One pass of an exported model."""
    session = open_session(path, threads)
    return lambda batch: session.run(None, batch)


def fill_with_torch(folder: Path, threads: int, *, masked_only: bool) -> Callable[[dict[str, np.ndarray]], object]:
    """One pass of the same weights in transformers."""
    model = transformers.DistilBertForMaskedLM.from_pretrained(folder).eval()

    @torch.inference_mode()
    def fill(batch: dict[str, np.ndarray]) -> object:
        torch.set_num_threads(threads)
        pieces, attention, masked = (torch.from_numpy(batch[name]) for name in ("pieces", "attention", "masked"))
        if masked_only:
            hidden = model.distilbert(pieces, attention_mask=attention).last_hidden_state.flatten(0, 1)[masked]
            hidden = model.vocab_layer_norm(model.activation(model.vocab_transform(hidden)))
            logits = model.vocab_projector(hidden)
        else:
            logits = model(pieces, attention_mask=attention).logits.flatten(0, 1)[masked]
        return logits.softmax(1).topk(N_PROPOSALS)

    return fill


def compete(
    contestants: dict[tuple[str, int], Callable[[dict[str, np.ndarray]], object]], n_rounds: int
) -> list[Throughput]:
    """The rounds of all contestants, taken in turns after one round to warm up."""
    batches = [feed(make_windows(seed), N_PROPOSALS) for seed in range(n_rounds + 1)]
    clock: dict[tuple[str, int], list[float]] = {key: [] for key in contestants}
    processor: dict[tuple[str, int], list[float]] = {key: [] for key in contestants}
    for batch in batches:
        for key, fill in contestants.items():
            start, start_processor = time.perf_counter(), time.process_time()
            fill(batch)
            clock[key].append(time.perf_counter() - start)
            processor[key].append(time.process_time() - start_processor)
    return [
        Throughput(
            *key, *(round(BATCH / s, 1) for s in (min(clock[key][1:]), median(clock[key][1:]), min(processor[key][1:])))
        )
        for key in contestants
    ]


def describe_machine() -> dict[str, object]:
    """What the figures depend on."""
    cpu = Path("/proc/cpuinfo")
    names = [line for line in cpu.read_text().splitlines() if line.startswith("model name")] if cpu.exists() else []
    return {
        "cpu": names[0].split(":")[1].strip() if names else platform.processor(),
        "cores": len(names),
        "onnxruntime": onnxruntime.__version__,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def main() -> None:
    """Runs the competition, prints one table and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="+", metavar="NAME=MODEL.onnx")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    paths = dict(model.split("=", 1) for model in arguments.models)
    contestants = {(name, n): fill_with_onnx(Path(path), n) for name, path in paths.items() for n in THREADS}
    for name, masked_only in (("torch", False), ("torch, head on masks", True)):
        contestants |= {(name, n): fill_with_torch(arguments.folder, n, masked_only=masked_only) for n in THREADS}
    found = compete(contestants, arguments.rounds)
    print("sequences a second          threads   best  median  best of processor time")
    for row in found:
        print(f"{row.name:28s}{row.threads:7d}{row.best:7.0f}{row.median:8.0f}{row.best_of_processor:12.0f}")
    if arguments.out:
        settings = {"length": LENGTH, "batch": BATCH, "proposals": N_PROPOSALS, "rounds": arguments.rounds}
        result = {"machine": describe_machine(), **settings, "throughput": [asdict(row) for row in found]}
        arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

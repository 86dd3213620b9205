"""How much of a hand-written loop's throughput is left while a Hugging Face encoder is explained?

    python -m benchmarks.encoder [--device cuda --layers 12 --width 768 --documents 4265 --calls 100000] [--compile]

An encoder with random weights (which are as fast as any) reads film reviews. A race by ``occlusion``, a scan by it and
a race by ``banzhaf`` note which texts they ask about; then the same texts go through a loop by hand: sorted by length,
cut by the tokenizer, judged in batches, at the batch size that is best for it. Runs and loops are timed in turn, so
that other work on the machine meets both, and the best of each counts. ``share`` is the time of the loop, divided by
that of the run from its first to its last line, with everything that a run does; ``core seconds`` do not depend on
other work. docs/performance.md has ``table``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anchorscope import Explainer
from anchorscope.demo import reviews
from anchorscope.predictors.huggingface import HuggingFacePredictor
from anchorscope.text.words import split
from benchmarks.written import DATA, rounded, write

SIZES = {"cpu": (8, 16, 32, 64, 128), "cuda": (256, 512, 1024, 2048, 4096)}
RUNS: dict[str, dict[str, Any]] = {
    "fast": {"preset": "fast"},
    "fast, every document": {"preset": "fast", "settings": {"strategy": "scan"}},
    "banzhaf": {"preset": "banzhaf"},
}
LONGEST = 128
GOALS = {"share": 0.9, "overhead in core seconds": 1.05}
"""The least share of the loop's throughput, and the most core seconds over the loop's."""


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", help="what it computes in, instead of the device's own type")
    parser.add_argument("--compile", action="store_true", help="through torch.compile, run and loop alike")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--out", type=Path, help="where to write, instead of docs/data")
    given = parser.parse_args()
    texts = list(reviews(seed=0)[1].texts[: given.documents])
    with tempfile.TemporaryDirectory() as folder:
        made(texts, given.layers, given.width, Path(folder))
        predictor = HuggingFacePredictor.from_folder(
            folder, device=given.device, dtype=given.dtype, compiled=given.compile
        )
        rows = []
        for run in RUNS:
            rows.append(compared(run, texts, predictor, given))
            print("  ".join(f"{name} {value}" for name, value in rounded(rows[-1]).items()), flush=True)
            write("encoder" if given.device == "cpu" else "encoder_cuda", given, rows)
    return 0


def made(texts: Sequence[str], layers: int, width: int, folder: Path) -> None:
    """A folder with an encoder and its tokenizer, which knows the words of the texts."""
    import torch
    import transformers

    torch.manual_seed(0)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = sorted({word.lower() for text in texts for word in split(text).words})
    vocabulary = {word: number for number, word in enumerate([*special, *known])}
    config = transformers.BertConfig(
        vocab_size=max(len(vocabulary), 8192), hidden_size=width, num_hidden_layers=layers,
        num_attention_heads=width // 64, intermediate_size=4 * width, max_position_embeddings=LONGEST,
        initializer_range=0.1, id2label={0: "negative", 1: "positive"},
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).eval().save_pretrained(folder)
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=LONGEST).save_pretrained(folder)


def table(folder: Path = DATA) -> str:
    """Every run on both machines, with what is above and below the goals."""
    heads = [
        *("where", "run", "texts", f"share of the loop's throughput (goal: at least {GOALS['share']:.0%})"),
        f"core seconds over the loop's (goal: at most {GOALS['overhead in core seconds']})",
    ]
    lines = [heads, ["---"] * len(heads)]
    for name, place in (("encoder", "CPU"), ("encoder_cuda", "NVIDIA H200")):
        found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        given = found["parameters"]
        where = f"{place}, {given['layers']} layers of {given['width']}, commit {found['commit'][:7]}"
        lines += [[where, *_cells(row)] for row in found["rows"]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: Mapping[str, Any]) -> list[str]:
    share, over = (row[name] for name in GOALS)
    return [
        row["run"],
        f"{row['texts']:,}",
        f"{share:.0%}" + ", **missed**" * (share < GOALS["share"]),
        f"{over:.2f}" + ", **missed**" * (over > GOALS["overhead in core seconds"]),
    ]


class Noting:
    """The predictor, with a note of every text that it is asked about."""

    def __init__(self, predictor: HuggingFacePredictor) -> None:
        self._predictor = predictor
        self.name, self.labels, self.has_probabilities = predictor.name, predictor.labels, True
        self.fingerprint = predictor.fingerprint
        self.asked: list[str] = []

    def predict(self, texts: Sequence[str]) -> Any:
        """As the predictor does."""
        self.asked += texts
        return self._predictor.predict(texts)

    def begin(self, texts: Any) -> Callable[[], Any]:
        """As the predictor does."""
        self.asked += texts
        return self._predictor.begin(texts)


def compared(name: str, texts: list[str], predictor: HuggingFacePredictor, given: Any) -> dict[str, Any]:
    """One row: the run and the loop, the best of some trials each."""

    def run(model: Any) -> None:
        Explainer(model, max_model_calls=given.calls, cache=False, **RUNS[name]).explain(texts)

    noting = Noting(predictor)
    run(noting)
    loop = Loop(predictor, given.device)
    sizes = SIZES["cpu" if given.device == "cpu" else "cuda"]
    some = noting.asked[: len(noting.asked) // 3]
    size = min(sizes, key=lambda size: timed(lambda: loop(some, size))[0])
    trials = [(timed(lambda: run(predictor)), timed(lambda: loop(noting.asked, size))) for _ in range(given.trials)]
    ours, by_hand = (np.min([trial[side] for trial in trials], axis=0).tolist() for side in (0, 1))
    return {
        "run": name,
        "texts": len(noting.asked),
        "best batch size by hand": size,
        "seconds of the run": ours[0],
        "seconds by hand": by_hand[0],
        "share": by_hand[0] / ours[0],
        "core seconds of the run": ours[1],
        "core seconds by hand": by_hand[1],
        "overhead in core seconds": ours[1] / by_hand[1],
    }


class Loop:
    """What somebody would write for one pass over texts."""

    def __init__(self, predictor: HuggingFacePredictor, device: str) -> None:
        import transformers

        self._model = predictor._forward
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(predictor.folder)
        self._device = device

    def __call__(self, texts: Sequence[str], size: int) -> Any:
        """Probabilities (texts, labels)."""
        import torch

        by_length = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        rows = []
        with torch.inference_mode():
            for start in range(0, len(texts), size):
                some = [texts[number] for number in by_length[start : start + size]]
                inputs = self._tokenizer(some, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
                rows.append(self._model(**inputs.to(self._device)).logits.float().softmax(dim=-1))
            found = torch.cat(rows).cpu().numpy()
        answers = np.empty_like(found)
        answers[by_length] = found
        return answers


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds that passed, and those that this process computed."""
    start, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - used


if __name__ == "__main__":
    sys.exit(main())

r"""How fast is one GPU, end to end, and how much of what it could do is that?

    python -m benchmarks.card --models MODELS --mlm MLM --data DATA [--lines LINES] --workers 8 --out card.json

    ceilings   the masked language model and the classifier alone, at 32 pieces a text: fills and judgements a second
    tweets     10,000 tweets, every candidate judged (scan) and until settled (race), with AOPC^20 beside the seconds
    million    a race over a million documents: the lines of the file LINES

``MODELS`` is what ``benchmarks.classifiers`` wrote (the large corona classifier is taken), ``MLM`` a Hugging Face
folder (``training.train --recipe large``). Seconds begin with the texts in memory and the models loaded, and end with
the result; what loading takes is a row of its own. The share of the ceiling is the time that the samples and passes of
the run would take at the ceilings, divided by the time that the run took for them; the first round is left out of both,
for worker processes load their models in it.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from anchorscope.asking.removals import Removals
from anchorscope.perturbators.masked_lm import MaskedLMPerturbator
from anchorscope.predictors.huggingface import HuggingFacePredictor
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from benchmarks import tasks, written
from benchmarks.rules import _candidates

LENGTH, BATCH, REPEATS = 32, 1024, 30
TWEETS = 10_000
SCORED = 1_000
"""Documents on which lists are scored by AOPC^20."""


def ceilings(predictor: HuggingFacePredictor, perturbator: MaskedLMPerturbator) -> dict[str, float]:
    """Judgements and fills a second of the models alone: same type, same batch, nothing else done."""
    import torch

    def rate(call: Any) -> float:
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        start = perf_counter()
        for _ in range(REPEATS):
            call()
        torch.cuda.synchronize()
        return REPEATS * BATCH / (perf_counter() - start)

    pieces = torch.randint(1000, 9000, (BATCH, LENGTH), device="cuda")
    attention = torch.ones_like(pieces)
    masked = torch.arange(0, BATCH * LENGTH, 2, device="cuda")  # half of the places, as in a bank

    def judge() -> None:
        predictor.model(input_ids=pieces, attention_mask=attention)

    def fill() -> None:
        hidden = perturbator._model.base_model(input_ids=pieces, attention_mask=attention).last_hidden_state
        states = hidden.flatten(0, 1)[masked]
        model = perturbator._model
        states = model.vocab_layer_norm(torch.nn.functional.gelu(model.vocab_transform(states)))
        model.vocab_projector(states).topk(50)

    with torch.inference_mode():
        return {"judgements_per_second": rate(judge), "fills_per_second": rate(fill)}


def explained(
    texts: Sequence[str],
    predictor: HuggingFacePredictor,
    perturbator: MaskedLMPerturbator,
    ceiling: dict[str, float],
    *,
    workers: int,
    **given: Any,
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """What a run took, in parts, and its lists."""
    start = perf_counter()
    documents = read_texts(texts)
    read = perf_counter()
    run = Run(documents, predictor, perturbator, preset("fast", **given), workers=workers)
    snapshots = run.snapshots()
    next(snapshots)
    began = perf_counter()
    moments = [(perf_counter(), snapshot) for snapshot in snapshots]
    ended, last = moments[-1]
    cost = last.cost
    (sampling, tested), (sampled, _) = moments[0], moments[-2]
    samples, passes = cost.samples - tested.cost.samples, cost.perturbator_passes - tested.cost.perturbator_passes
    at_ceiling = samples / ceiling["judgements_per_second"] + passes / ceiling["fills_per_second"]
    row = {
        "documents": len(texts),
        "seconds": ended - start,
        "reading": read - start,
        "until_first_table": began - read,
        "after_first_table": ended - began,
        "documents_per_second": len(texts) / (ended - start),
        "tested_documents": cost.documents,
        "samples": cost.samples,
        "passes": cost.perturbator_passes,
        "until_first_tests": sampling - read,
        "share_of_ceiling": at_ceiling / (sampled - sampling) if sampled > sampling else None,
        "settled": last.settled,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **given,
    }
    return row, {label: [term.term for term in last[label].terms] for label in predictor.labels}


def quality(texts: list[str], predictor: HuggingFacePredictor, lists: dict[str, list[str]]) -> dict[str, float]:
    """AOPC^20 of each list as a share of the oracle's, on some of the documents; the oracle has seen only those."""
    some = random.Random(0).sample(texts, SCORED)
    shares = {}
    for label, top in lists.items():
        removals = Removals(predictor, some, label)
        shares[label] = removals.aopc(top) / removals.aopc(removals.oracle(_candidates(some))[:20])
    return shares


def tweets(data: Path) -> list[str]:
    """10,000 tweets, of both halves of the task."""
    task = tasks.load("corona", data, 10**9)
    rest = [text for text, _ in task.train if 20 < len(text) <= 200]
    return [*dict.fromkeys([*task.texts, *rest])][:TWEETS]


def device_name() -> str:
    """What the GPU calls itself."""
    import torch

    name: str = torch.cuda.get_device_name()
    return name


@contextmanager
def timed(rows: dict[str, Any], name: str) -> Iterator[None]:
    """Note how long something takes."""
    start = perf_counter()
    yield
    rows[name] = perf_counter() - start


def main() -> None:
    """Measure what was asked for; each part is written as it ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--mlm", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--lines", type=Path, help="a file with a document a line, also .xz")
    parser.add_argument("--documents", type=int, default=1_000_000, help="how many of the lines")
    parser.add_argument("--workers", type=int, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    found: dict[str, Any] = {**written.facts(), "card": device_name()}

    def note(name: str, value: Any) -> None:
        found[name] = value
        print(name, json.dumps(value), flush=True)
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")

    loading: dict[str, float] = {}
    with timed(loading, "classifier"):
        predictor = HuggingFacePredictor.from_folder(arguments.models / "large" / "corona", device="cuda")
        predictor.predict(["a text"])
    with timed(loading, "masked_language_model"):
        perturbator = MaskedLMPerturbator(arguments.mlm, device="cuda")
    note("loading_seconds", loading)
    ceiling = ceilings(predictor, perturbator)
    note("ceilings", ceiling)
    texts = tweets(arguments.data)
    row, lists = explained(texts, predictor, perturbator, ceiling, workers=1, round_size=256)
    note("tweets, race", {**row, "aopc20_share": quality(texts, predictor, lists)})
    for workers in arguments.workers:
        scan = {"strategy": "scan", "round_size": 2048}
        row, lists = explained(texts, predictor, perturbator, ceiling, workers=workers, **scan)
        note(f"tweets, scan, {workers} workers", {**row, "aopc20_share": quality(texts, predictor, lists)})
    if arguments.lines:
        opened = lzma.open if arguments.lines.suffix == ".xz" else open
        with opened(arguments.lines, "rt", encoding="utf-8") as file:
            lines = [*dict.fromkeys(line.rstrip("\n") for line in file)][: arguments.documents]
        row, lists = explained(lines, predictor, perturbator, ceiling, workers=1, round_size=256)
        note("million, race", {**row, "aopc20_share": quality(lines, predictor, lists), "lists": lists})


if __name__ == "__main__":
    main()

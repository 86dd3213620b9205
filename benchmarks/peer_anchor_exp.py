"""anchor-exp 0.0.2.0: every token of every document judged with its own samples and bounds, masks filled in one pass.

    python -m benchmarks.peer_anchor_exp FOLDER ANSWER.json --bound own|one-step       in the environment of anchor-exp

Samples come from its ``AnchorText`` and bounds from its ``AnchorBaseBeam``, unchanged; the loop is the one in which its
beam search judges a single candidate: sample on while the bound is not clear of the threshold. ``own`` is its bound
(bisection to the end), ``one-step`` that of the paper's code (one step of the bisection). Only the masked language
model and the tokens are handed to it, instead of a download and spaCy's.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.peer_folder import Judged, Meter, read_task, write_answer

TAU, DELTA, EPSILON, BATCH = 0.95, 0.1, 0.05, 10
Bounds = Callable[[float, float], tuple[float, float]]


def judge(sample: Callable[[int], int], bounds: Bounds) -> tuple[bool, int]:
    """Whether a token is an anchor, and after how many samples; ``sample(n)`` says how many of n more agreed."""
    agreements = n = 0
    while True:
        agreements, n = agreements + sample(BATCH), n + BATCH
        mean = agreements / n
        low, high = bounds(mean, math.log(1 / DELTA) / n)
        if not ((mean >= TAU and low < TAU - EPSILON) or (mean < TAU and high >= TAU + EPSILON)):
            return mean >= TAU, n


def own_bounds(mean: float, level: float) -> tuple[float, float]:
    """The bounds of anchor-exp."""
    from anchor.anchor_base import AnchorBaseBeam

    return AnchorBaseBeam.dlow_bernoulli(mean, level), AnchorBaseBeam.dup_bernoulli(mean, level)


def one_step_bounds(mean: float, level: float) -> tuple[float, float]:
    """The bounds of the paper's code: the bisection of anchor-exp, stopped after its first step."""
    reach = math.sqrt(level / 2)
    low, high = max(0.0, mean - reach), min(1.0, mean + reach)
    half_low, half_high = (low + mean) / 2, (high + mean) / 2
    return (half_low if _kl(mean, half_low) > level else low, half_high if _kl(mean, half_high) > level else high)


def _kl(p: float, q: float) -> float:
    """The Kullback-Leibler divergence of Bernoulli(q) from Bernoulli(p), kept finite as anchor-exp does."""
    p, q = (min(1 - 1e-16, max(1e-7, x)) for x in (p, q))
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def agreements(sample: Callable[..., Any], position: int) -> Callable[[int], int]:
    """How many of n more samples that keep the token agree, by the sampling function of anchor-exp."""
    return lambda n: int(sample([position], n)[2].sum())


BOUNDS = {"own": own_bounds, "one-step": one_step_bounds}


def sampler(folder: Path, documents: list[Judged]) -> Any:
    """An ``AnchorText`` with the folder's masked language model and the documents' tokens; counts passes."""
    import torch
    from anchor.anchor_text import AnchorText, TextGenerator
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    torch.set_num_threads(1)

    class Generator(TextGenerator):
        def __init__(self) -> None:
            self.torch, self.url, self.device = torch, None, torch.device("cpu")
            self.bert_tokenizer = AutoTokenizer.from_pretrained(folder.parent / "mlm")
            self.bert = AutoModelForMaskedLM.from_pretrained(folder.parent / "mlm").eval()
            self.n_passes = 0

        def unmask(self, text_with_mask: str) -> Any:
            self.n_passes += 1
            return super().unmask(text_with_mask)

    words = {document.text: document.words for document in documents}
    explainer = AnchorText(lambda text: [SimpleNamespace(text=word, idx=0) for word in words[text]], None)
    explainer.use_unk_distribution, explainer.tg = False, Generator()
    return explainer


def main() -> None:
    """Judge every position of every document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("answer", type=Path)
    parser.add_argument("--bound", choices=BOUNDS, default="own")
    arguments = parser.parse_args()
    documents, classifier = read_task(arguments.folder)
    explainer = sampler(arguments.folder, documents)
    np.random.seed(0)
    verdicts, n_samples = [], 0
    with Meter() as meter:
        for number, document in enumerate(documents):
            if not document.positions:
                continue
            _, _, _, sample = explainer.get_sample_fn(document.text, classifier.predict, onepass=True)
            for position in document.positions:
                anchor, n = judge(agreements(sample, position), BOUNDS[arguments.bound])
                verdicts.append([number, position, bool(anchor)])
                n_samples += n
    passes = explainer.tg.n_passes
    write_answer(arguments.answer, meter, texts=classifier.n_texts, passes=passes, samples=n_samples, verdicts=verdicts)


if __name__ == "__main__":
    main()

"""What runs answer does not change when the code is rearranged: some settings, and what each said at first.

The file of answers was written by the version before the rooms (commit 0620d26) and is read here; the intervals and
memberships of graded values were written again when they began to hold the noise of measuring, all about blocks of
samples ("gain", "excess") when second measurements came to count. Where an answer is meant to change,
``REWRITE_GOLDEN=1 make test`` writes it anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anchorscope import Explainer
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.embedded import EmbeddedPerturbator
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.scoring import settling
from anchorscope.testing import WeightPredictor

GOLDEN = Path(__file__).parent / "golden" / "same_answers.json"
DIGITS = 9

WEIGHTS = {"great": 2.0, "fine": 1.0, "bad": -2.0, "dull": -1.2, "slow": -0.7, "not": -0.4, "film": 0.1, "cast": 0.05}
WORDS = [*WEIGHTS, "the", "plot", "and", "so", "Paris", "it's", "never", "always", "19"]

GRADED = {
    "score": "banzhaf",
    "surrogate": False,
    "aggregation": "total",
    "test": "fixed",
    "keep": "balanced",
    "max_samples": 24,
    "stop_words": "none",
    "min_occurrences": 1,
}
COUNTED = {
    "test": "kl",
    "delta": 0.1,
    "keep": "shared",
    "fill": "blind",
    "bank_pairs": 1,
    "tau": 0.8,
    "max_samples": 60,
    "stop_words": "none",
    "min_occurrences": 1,
}
SCAN = {"strategy": "scan", "round_size": 8}

CASES: dict[str, dict[str, Any]] = {
    "race gain blind corpus": {**GRADED, "fill": "blind", "round_size": 8},
    "race gain bank corpus": {**GRADED, "fill": "bank", "round_size": 8, "seed": 3},
    "race gain blind mask-token": {**GRADED, "fill": "blind", "round_size": 8, "perturbator": "mask-token"},
    "race gain blind embedded": {**GRADED, "fill": "blind", "round_size": 8, "perturbator": "embedded"},
    "race gain one label": {**GRADED, "fill": "blind", "round_size": 8, "only": ["yes"]},
    "race occlusion": {"perturbator": "none", "round_size": 8},
    "race occlusion no surrogate": {"perturbator": "none", "surrogate": False, "round_size": 8, "seed": 5},
    "race pr": {**COUNTED, "aggregation": "pr", "fill": "bank", "round_size": 8},
    "race sq sprt": {**COUNTED, "aggregation": "sq", "test": "sprt", "fill": "bank", "round_size": 8},
    "race pr after its start": {**COUNTED, "fill": "bank", "aggregation": "pr", "round_size": 8, "start": 24, "n": 400},
    "race av drop lift": {**COUNTED, "aggregation": "av", "robust": "drop", "lift": 0.2, "fill": "one-pass"},
    "scan gain": {**GRADED, **SCAN, "fill": "bank"},
    "scan excess fragile": {**GRADED, **SCAN, "aggregation": "excess", "weight": "fragile", "fill": "blind"},
    "scan pr optimistic tau-tilde": {**COUNTED, **SCAN, "aggregation": "pr", "filter": "optimistic", "tau_tilde": True},
    "scan pr sound": {**COUNTED, **SCAN, "aggregation": "pr", "filter": "sound", "fill": "bank"},
    "scan h sound": {**COUNTED, **SCAN, "aggregation": "h", "filter": "sound", "fill": "bank", "order": "random"},
    "scan sq one label": {**COUNTED, **SCAN, "aggregation": "sq", "fill": "one-pass", "only": ["no"]},
    "scan av5 mask-token": {**COUNTED, **SCAN, "aggregation": "av5", "fill": "one-pass", "perturbator": "mask-token"},
    "scan base present": {**COUNTED, **SCAN, "aggregation": "base", "condition": "present", "fill": "one-pass"},
    "preset paper": {"preset": "paper", "tau": 0.8, "max_samples": 60},
    "preset paper-optimised": {"preset": "paper-optimised", "tau": 0.8, "max_samples": 60},
    "preset paper embedded": {"preset": "paper", "tau": 0.8, "max_samples": 10, "perturbator": "embedded", "n": 6},
}

PERTURBATORS = {
    "none": lambda: None,
    "corpus": lambda: CorpusPerturbator(top_n=12),
    "mask-token": MaskTokenPerturbator,
    "embedded": lambda: EmbeddedPerturbator(top_n=12),
}


def texts(n: int) -> list[str]:
    chances = np.random.default_rng(7)
    return [" ".join(chances.choice(WORDS, chances.integers(3, 14))) + "." for _ in range(n)]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What a run says: of each label its standing, and of each term its score, how sure that is, and its counts.

    Terms are in the order of their scores: the answers are older than drivers, which come first now.
    """
    given = dict(case)
    perturbator = PERTURBATORS[given.pop("perturbator", "corpus")]()
    explainer = Explainer(
        WeightPredictor(WEIGHTS, bias=-0.05),
        top_k=5,
        random_state=given.pop("seed", 1),
        only=given.pop("only", None),
        perturbator=perturbator,
        preset=given.pop("preset", "fast"),
        settings={key: value for key, value in given.items() if key not in ("n", "start")},
    )
    result = explainer.explain(texts(given.get("n", 90)))
    return {
        label: {
            "standing": [e.documents, e.settled, rounded(e.regret)],
            "terms": [
                [
                    *(t.term, rounded(t.score), *map(rounded, t.interval), rounded(t.membership)),
                    *(t.anchors, t.tested - (t.anchors or 0), t.skipped, t.occurrences),
                ]
                for t in sorted(e.terms, key=lambda t: -t.score)
            ],
        }
        for label, e in result.explanations.items()
    }


def rounded(value: float | None) -> float | str | None:
    if value is None:
        return None
    return round(value, DIGITS) + 0.0 if np.isfinite(value) else str(value)


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "START_DOCUMENTS", CASES[name].get("start", settling.START_DOCUMENTS))
    known = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    found = json.loads(json.dumps(answer(CASES[name])))
    if os.environ.get("REWRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps({**known, name: found}, indent=1) + "\n", encoding="utf-8")
        return
    assert found == known[name]

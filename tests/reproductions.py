"""Tasks, subjects and settings that the tests of the reproduction share."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

from anchorscope.asking.removals import Removals
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.reproduction import driver, grid, models
from anchorscope.reproduction.agreements import Agreements, KeptProbabilities
from anchorscope.reproduction.learnt import learnt
from anchorscope.reproduction.measure import Drawing, Subject
from anchorscope.reproduction.remembered import Remembered
from anchorscope.settings import Settings
from anchorscope.testing import WeightPredictor

WEIGHTS = {"great": 2.0, "fine": 1.0, "hand": 1.2, "bad": -2.0, "dull": -1.2, "crisis": -1.0}

NEUTRAL = ("film", "cast", "the", "plot", "and", "story", "people", "today", "online", "music")


def sentences(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Short texts of 30 to 60 characters, labelled by a model that weighs words."""
    chances = np.random.default_rng(seed)
    words = [*WEIGHTS, *NEUTRAL]
    texts = [" ".join(chances.choice(words, chances.integers(6, 10))) for _ in range(n)]
    rows = WeightPredictor(WEIGHTS).predict(texts)
    return [(text, "positive" if row[1] > 0.5 else "negative") for text, row in zip(texts, rows)]


def write_table(path: Path, header: list[str], rows: list[list[str]], encoding: str = "utf-8") -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file).writerows([header, *rows])


# --- one setting, measured ---


def a_subject(n: int = 80) -> Subject:
    texts = [text for text, _ in sentences(n, seed=3)]
    model = WeightPredictor(WEIGHTS)
    return Subject(
        asked=model,
        remembered=Remembered(model),
        perturbator=learnt(CorpusPerturbator(top_n=30), texts),
        texts=texts,
        training=texts,
        removals=lambda label: Removals(model, texts, label),
    )


def a_drawing(folder: Path, top_n: int = 500, **given) -> Drawing:
    plain = {"at_once": 1, "deadline": math.inf, "clock": process_time}
    keep = KeptProbabilities(folder / f"keep{top_n}.npz", {"made": 1})
    return Drawing(agreements=Agreements(folder / f"{top_n}.npz", {"made": 1}, 1000), keep=keep, **{**plain, **given})


def settings_of(name: str, round_size: int = 8) -> Settings:
    """A setting of the grid, of which no test reads more than 60 samples: what was not decided by then counts, too."""
    return replace(grid.SETTINGS[name].settings(42, top_k=4, round_size=round_size), max_samples=60)


# --- a pass ---

SETTINGS = (
    *("unoptimised", "delta-0.5", "stop-rare", "filter", "tau-tilde", "masking", "optimised", "order-random"),
    *("order-length", "length-100", "length-400", "fast"),
)


def a_plan(out: Path, data: Path, **given) -> driver.Plan:
    plain = {
        "tasks": ["corona"],
        "models": ["logistic-regression"],
        "settings": SETTINGS,
        "seeds": [42],
        "documents": 24,
        "perturbator": "mask-token",
        "workshop": models.Workshop(out / "models"),
        "top_k": 5,
    }
    return driver.Plan(out=out, data=data, **{**plain, **given})

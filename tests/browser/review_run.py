"""A run over some of the reviews, for the tests of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anchorscope.demo import Reviews
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.predictors import as_predictor
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts


def review_run(data: tuple[Any, Reviews], folder: Path, *, n: int, budget: Any = None, **settings: Any) -> Run:
    model, explained = data
    documents = read_texts(explained.texts[:n], explained.labels[:n])
    perturbator = CorpusPerturbator(top_n=50)
    return Run(documents, as_predictor(model), perturbator, preset("fast", **settings), folder=folder, budget=budget)

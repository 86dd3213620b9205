"""A run over some of the reviews, for the tests of the page, and the order in which it shows the terms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anchorscope.demo import Reviews
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.predictors import as_predictor
from anchorscope.run import Run
from anchorscope.settings import preset, score_perturbs
from anchorscope.text.read import read_texts
from anchorscope.types import Explanation, Term


def review_run(
    data: tuple[Any, Reviews], folder: Path, *, n: int, budget: Any = None, by: str = "fast", **given: Any
) -> Run:
    """Explain the first reviews by a preset."""
    model, explained = data
    documents = read_texts(explained.texts[:n], explained.labels[:n])
    settings = preset(by, **given)
    perturbator = CorpusPerturbator(top_n=50) if score_perturbs(settings) else None
    return Run(documents, as_predictor(model), perturbator, settings, folder=folder, budget=budget)


def drivers_first(explanation: Explanation) -> list[Term]:
    """The terms of a label as the page lists them, drivers before the others; a result has them by score."""
    return sorted(explanation.terms, key=lambda term: not term.driver)

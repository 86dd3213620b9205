"""SHAP: each word's share of the prediction as a Shapley value, by the partition explainer that ``shap`` has for text.

The words are cut as everywhere here (``kinds`` says what is one, as the setting ``terms``), and a masked word is left
out. The explainer follows a binary tree over neighbouring words down to single words as far as its evaluations reach.
Needs the package ``shap``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from anchorscope.asking.answers import answered
from anchorscope.errors import MissingPackageError
from anchorscope.evaluation.attributions import Local, LocalMethod, Weights
from anchorscope.text.terms import term_spans
from anchorscope.types import Predictor

SAMPLES = 500
"""Evaluations of a document, unless told otherwise: the default of ``shap``."""

BLANK = " "


def _local(predictor: Predictor, samples: int, seed: int, kinds: str) -> Local:
    """The Shapley values of one text's words; what a word brings in several places adds up."""
    shap = _package()
    masker = shap.maskers.Text(_Cutter(kinds), mask_token=BLANK, collapse_mask_token=True)

    def local(text: str, label: int) -> Weights:
        words = [text[start:end] for start, end in term_spans(text, kinds)]
        if not words:
            return {}

        def ask(texts: Sequence[str]) -> Any:
            return answered(predictor.predict, [str(text) for text in texts], predictor.labels)[:, label]

        if len(words) == 1:  # the explainer needs two parts to compare
            whole, nothing = ask([text, ""])
            return {words[0]: float(whole - nothing)}
        explainer = shap.explainers.Partition(ask, masker)
        with _quiet_and_seeded(seed):
            values = explainer([text], max_evals=max(samples, 2), batch_size=samples, silent=True).values[0]
        found: Weights = {}
        for word, value in zip(words, values.tolist(), strict=True):
            found[word] = found.get(word, 0.0) + value
        return found

    return local


SHAP = LocalMethod(_local, SAMPLES)
"""Its values, and the mean of them over documents."""


class _Cutter:
    """Our words as a tokenizer of the shape that ``shap`` asks for."""

    def __init__(self, kinds: str) -> None:
        self._kinds = kinds

    def __call__(self, text: str, return_offsets_mapping: bool = True) -> dict[str, Any]:
        """A token a word; the blank that takes a word's place is one, too, for ``shap`` asks for its number."""
        cut = [(0, 1)] if text == BLANK else term_spans(text, self._kinds)
        return {"input_ids": list(range(len(cut))), "offset_mapping": cut}


def _package() -> Any:
    try:
        with warnings.catch_warnings():  # its colour maps use calls that matplotlib is about to drop
            warnings.simplefilter("ignore")
            import shap
    except ModuleNotFoundError as error:
        raise MissingPackageError("shap", "shap", "the weights of SHAP") from error
    return shap


@contextmanager
def _quiet_and_seeded(seed: int) -> Iterator[None]:
    """``shap`` breaks ties with numpy's global generator, which is given back as it was."""
    before = np.random.get_state()
    np.random.seed(seed % 2**32)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(before)

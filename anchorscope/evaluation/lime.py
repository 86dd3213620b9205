"""LIME: a linear model of the prediction around one document, fitted to samples that leave out words at random.

The words are cut as everywhere here (``kinds`` says what is one, as the setting ``terms``); a word is left out wherever
it occurs, and all words of a document get a weight (LIME's own habit is to keep ten of them). Needs the package
``lime``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anchorscope.asking.answers import answered
from anchorscope.errors import MissingPackageError
from anchorscope.evaluation.attributions import Local, LocalMethod, Weights
from anchorscope.text.rule import keys_of
from anchorscope.text.terms import term_spans
from anchorscope.types import Predictor

SAMPLES = 1000
"""Samples of a document, unless told otherwise (LIME's own default is 5,000)."""


def _local(predictor: Predictor, samples: int, seed: int, kinds: str) -> Local:
    """LIME's weights of one text's words; every text is sampled with the same seed."""
    try:
        from lime.lime_text import LimeTextExplainer
    except ModuleNotFoundError as error:
        raise MissingPackageError("lime", "lime", "the weights of LIME") from error

    def ask(texts: Sequence[str]) -> Any:
        return answered(predictor.predict, texts, predictor.labels)

    key_of = keys_of(kinds)

    def words(text: str) -> list[str]:
        written = [text[start:end] for start, end in term_spans(text, kinds)]
        return [word for word in written if key_of(word) is not None]

    def local(text: str, label: int) -> Weights:
        n_words = len(set(words(text)))
        if not n_words:
            return {}
        explainer = LimeTextExplainer(split_expression=words, feature_selection="none", random_state=seed)
        found = explainer.explain_instance(text, ask, labels=(label,), num_features=n_words, num_samples=samples)
        return dict(found.as_list(label))

    return local


LIME = LocalMethod(_local, SAMPLES)
"""Its weights, and the mean of them over documents."""

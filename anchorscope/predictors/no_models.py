"""Objects that people hand over and that cannot be asked about texts as they are, with what to hand over instead.

They are told by the packages that their classes come from, without importing these.

>>> refuse_other_kinds("models/bert")
Traceback (most recent call last):
anchorscope.errors.InputError: 'models/bert' is a name and no model; load what it names: \
anchorscope.predictors.load_predictor('models/bert').
"""

from __future__ import annotations

import inspect
import os
from types import MappingProxyType
from typing import Any

from anchorscope.errors import InputError, in_a_line

INSTEAD = MappingProxyType(
    {
        "transformers": "a Hugging Face model without its tokenizer; hand over both: "
        "pipeline('text-classification', model=model, tokenizer=tokenizer)",
        "spacy": "a spaCy pipeline, which is asked in a way of its own; hand over a function: "
        "lambda texts: [document.cats for document in nlp.pipe(texts)]",
        "fasttext": "a fastText model, which is asked in a way of its own; hand over a function (docs/recipes.md)",
        "onnxruntime": "a session without a tokenizer; put tokenizer.json beside the file and load both: "
        "anchorscope.predictors.load_predictor('model.onnx')",
    }
)
"""What an object of a package is, and what to do."""


def refuse_other_kinds(model: Any) -> None:
    """An InputError that says what to hand over instead, where an object is known to be no model of texts."""
    if isinstance(model, str | os.PathLike):
        name = in_a_line(os.fspath(model))
        raise InputError(
            f"{name} is a name and no model; load what it names: anchorscope.predictors.load_predictor({name})."
        )
    if inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(type(model).__call__):
        name = getattr(model, "__name__", type(model).__name__)
        raise InputError(
            f"{name} is asynchronous, and a model is called and answers: hand over lambda texts: "
            f"asyncio.run({name}(texts))."
        )
    packages = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    for package, instead in INSTEAD.items():
        if package in packages:
            raise InputError(f"{type(model).__name__} is {instead}.")

"""The adapter for a Python object, whatever kind of classifier it is; and for one that a module holds.

Objects that cannot be asked about texts as they are, are told by the packages that their classes come from, without
importing these; the error says what to hand over instead.

>>> adapted("models/bert", ModelOptions())
Traceback (most recent call last):
anchorscope.errors.InputError: 'models/bert' is a name and no model; load what it names: \
anchorscope.predictors.load_predictor('models/bert').
"""

from __future__ import annotations

import inspect
import os
import sys
from types import MappingProxyType
from typing import Any

from anchorscope import registry
from anchorscope.asking.answers import brief
from anchorscope.errors import AnchorscopeError, InputError, ModelError, ModelFileError, in_a_line, listed
from anchorscope.predictors.function import FunctionPredictor
from anchorscope.predictors.labels import chosen_labels, given_names
from anchorscope.predictors.options import ModelOptions
from anchorscope.predictors.scikit import ScikitPredictor
from anchorscope.types import Predictor

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


def adapted(model: Any, options: ModelOptions, *, name: str | None = None, fingerprint: str | None = None) -> Predictor:
    """The adapter for ``model``, under the name and fingerprint of the place that it was loaded from, if it was."""
    try:
        return _adapter(model, options, name, fingerprint)
    except ModelError as error:
        raise InputError(str(error)) from error
    except AnchorscopeError:
        raise
    except Exception as error:  # a property of the model's, say
        raise ModelFileError(
            f"{name or type(model).__name__} fails when it is asked what it is ({brief(error)}); expected a model that "
            "can say its labels."
        ) from error


def _adapter(model: Any, options: ModelOptions, name: str | None, fingerprint: str | None) -> Predictor:
    labels, head = options.labels, options.head
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class and not a model; pass a fitted instance of it.")
    if isinstance(model, Predictor):
        if labels is not None and given_names(labels) != tuple(model.labels):
            raise InputError(f"{model.name} has labels of its own ({listed(model.labels)}); leave out the others.")
        if head is not None:
            raise InputError(f"{model.name} is a Predictor, which answers one question as it is; leave out the head.")
        chosen_labels(given_names(model.labels), None, str(model.name))
        for part in ("name", "fingerprint"):
            if not isinstance(getattr(model, part), str):
                raise InputError(f"The {part} of a predictor is a string, not {getattr(model, part)!r}; give it one.")
        return model
    if _is_pipeline(model):
        from anchorscope.predictors.huggingface import PipelinePredictor

        return PipelinePredictor(model, labels, name=name, fingerprint=fingerprint, head=head)
    if hasattr(model, "predict_proba") or (hasattr(model, "predict") and hasattr(model, "classes_")):
        return ScikitPredictor(
            model, labels, name=name, fingerprint=fingerprint, text_column=options.text_column, head=head
        )
    _refuse_other_kinds(model)
    if callable(model):
        return FunctionPredictor(
            model,
            labels,
            name=name,
            fingerprint=fingerprint,
            learn_from=options.learn_from,
            retry=options.retry,
            max_seconds=options.max_seconds,
            heard=options.heard,
            head=head,
        )
    raise InputError(
        f"{name or type(model).__name__} is no model that can be asked about texts; expected a fitted classifier with "
        "predict_proba, or with predict and classes_, a Hugging Face text-classification pipeline, or a function from "
        "texts to rows of probabilities (docs/recipes.md)."
    )


def _refuse_other_kinds(model: Any) -> None:
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


def from_module(spec: str, options: ModelOptions) -> Predictor:
    """``module:attribute``: any object that ``adapted`` takes; the current folder is on the path."""
    put_current_folder_on_path(0)
    try:
        model = registry.load(spec)
    except AnchorscopeError:
        raise
    except Exception as error:
        raise ModelFileError(f"The module of {spec!r} fails when it is imported: {brief(error)}.") from error
    return adapted(model, options, name=spec)


def _is_pipeline(model: Any) -> bool:
    """Whether this is a Hugging Face pipeline, told without importing transformers."""
    return callable(model) and all(hasattr(model, part) for part in ("task", "model", "tokenizer"))


def put_current_folder_on_path(place: int) -> None:
    """Worker processes get the path of this one, so that they find the same modules."""
    here = current_folder()
    if here not in sys.path:
        sys.path.insert(place, here)


def current_folder() -> str:
    """Where we are; somebody may have removed it."""
    try:
        return os.getcwd()
    except OSError as error:
        raise InputError("The current folder has been removed; change to one that exists, then try again.") from error

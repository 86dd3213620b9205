"""Adapters to the black box: whatever a classifier is, it becomes a Predictor.

In Python, pass the object: a fitted scikit-learn pipeline, anything else with ``predict_proba``, a Hugging Face
pipeline, a function.

>>> def shouting(texts):
...     return [[0.1, 0.9] if text.isupper() else [0.8, 0.2] for text in texts]
>>> predictor = as_predictor(shouting, labels=["calm", "loud"])
>>> predictor.name, predictor.labels, predictor.predict(["GOOD"])
('shouting', ('calm', 'loud'), array([[0.1, 0.9]]))

On the command line, a model is a path or ``module:attribute``: see ``load_predictor``. One file here for each kind
of model; every answer is checked in ``answers.py``. Heavy packages are imported when a model needs them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from anchorscope import registry
from anchorscope.asking.answers import brief
from anchorscope.errors import AnchorscopeError, InputError, ModelFileError
from anchorscope.predictors.function import FunctionPredictor
from anchorscope.predictors.huggingface import HuggingFacePredictor, PipelinePredictor, is_pipeline
from anchorscope.predictors.labels import given_names
from anchorscope.predictors.scikit import ScikitPredictor, read_pickle, read_skops
from anchorscope.types import Predictor

__all__ = ["as_predictor", "load_predictor"]

PICKLES = (".pkl", ".pickle", ".joblib")
KINDS = (
    "a .skops file, a Hugging Face folder on this machine, module:attribute, "
    f"or with --allow-pickle a pickle ({', '.join(PICKLES)})"
)


def as_predictor(model: Any, *, labels: Sequence[str] | None = None) -> Predictor:
    """The Predictor for a Python object; one that is a Predictor already comes back as it is.

    ``labels`` are the names of the columns, in their order: needed for a function, which has none of its own; for
    other models they are new names.
    """
    return _adapted(model, labels)


def load_predictor(
    spec: str,
    *,
    labels: Sequence[str] | None = None,
    trust: Sequence[str] = (),
    allow_pickle: bool = False,
    device: str = "cpu",
) -> Predictor:
    """The Predictor for a model as the command line names it.

    reviews.skops             nothing is loaded unless each type in it is known to be safe or in ``trust``
    models/bert               a Hugging Face folder, with its weights as safetensors; computes on ``device``
    my_models:classifier      any object that ``as_predictor`` takes; the current folder is on the path
    old.joblib                a pickle (.pkl, .pickle, .joblib): refused unless ``allow_pickle``, as it can run any code
    """
    path = Path(spec).expanduser()
    suffix = path.suffix.lower()
    if trust and suffix != ".skops":
        raise InputError(f"Types are trusted in .skops files only, and {spec!r} is none; leave out --trust.")
    if path.is_dir():
        return HuggingFacePredictor.from_folder(path, labels=labels, device=device)
    if trust or allow_pickle:
        # Last on the path: no file that lies here may stand in for an installed module.
        _put_current_folder_on_path(len(sys.path))
    if suffix == ".skops":
        data = _contents(path)
        return _adapted(read_skops(data, path.name, trust), labels, path.name, sha256(data).hexdigest())
    if suffix in PICKLES:
        data = _contents(path)
        if not allow_pickle:
            raise ModelFileError(
                f"{path.name!r} is a pickle, which can run any code when it is read; save the model with skops "
                "instead, or, if you trust the file as you would a program, add --allow-pickle."
            )
        return _adapted(read_pickle(data, path.name), labels, path.name, sha256(data).hexdigest())
    if suffix == ".onnx":
        raise ModelFileError(
            f"{path.name!r} is an ONNX file, which does not say how texts become its inputs or what its outputs mean; "
            "wrap it in a function from texts to probabilities and name that: module:function."
        )
    if re.fullmatch(r"[\w.]+:[\w.]+", spec):
        return _adapted(_attribute(spec), labels, spec)
    fault = f"{spec!r} is a model of an unknown kind" if path.exists() else f"There is no model {spec!r} here"
    raise ModelFileError(f"{fault}; a model is {KINDS}.")


def _adapted(
    model: Any, labels: Sequence[str] | None, name: str | None = None, fingerprint: str | None = None
) -> Predictor:
    """The adapter for ``model``, under the name and fingerprint of the place that it was loaded from, if it was."""
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class and not a model; pass a fitted instance of it.")
    if isinstance(model, Predictor):
        if labels is not None and given_names(labels) != tuple(model.labels):
            raise InputError(f"{model.name} has labels of its own ({', '.join(model.labels)}); leave out the others.")
        return model
    if is_pipeline(model):
        return PipelinePredictor(model, labels, name=name, fingerprint=fingerprint)
    if hasattr(model, "predict_proba") or (hasattr(model, "predict") and hasattr(model, "classes_")):
        return ScikitPredictor(model, labels, name=name, fingerprint=fingerprint)
    if callable(model):
        return FunctionPredictor(model, labels, name=name, fingerprint=fingerprint)
    raise InputError(
        f"{name or type(model).__name__} is no model that can be asked about texts; expected a fitted classifier with "
        "predict_proba, or with predict and classes_, a Hugging Face text-classification pipeline, or a function."
    )


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"The model file {str(path)!r} cannot be read: {error.strerror}.") from error


def _attribute(spec: str) -> Any:
    _put_current_folder_on_path(0)
    try:
        return registry.load(spec)
    except AnchorscopeError:
        raise
    except Exception as error:
        raise ModelFileError(f"The module of {spec!r} fails when it is imported: {brief(error)}.") from error


def _put_current_folder_on_path(place: int) -> None:
    """Worker processes get the path of this one, so that they find the same modules."""
    if os.getcwd() not in sys.path:
        sys.path.insert(place, os.getcwd())

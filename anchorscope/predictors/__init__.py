"""Adapters to the black box: whatever a classifier is, it becomes a Predictor.

In Python, pass the object: a fitted scikit-learn pipeline, anything else with ``predict_proba``, a Hugging Face
pipeline, a function.

>>> def shouting(texts):
...     return [[0.1, 0.9] if text.isupper() else [0.8, 0.2] for text in texts]
>>> predictor = as_predictor(shouting, labels=["calm", "loud"])
>>> predictor.name, predictor.labels, predictor.predict(["GOOD"])
('shouting', ('calm', 'loud'), array([[0.1, 0.9]]))

On the command line, a model is a path, ``module:attribute``, or a kind by name and what it takes (``kind:argument``):
see ``load_predictor``. One file here for each kind of model; every answer is checked in ``asking/answers.py``. Heavy
packages are imported when a model needs them.

In: a model, as an object or as the command line names it. Out: a ``Predictor``: texts to rows of probabilities. May
import: text, asking.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

from anchorscope import registry
from anchorscope.asking.answers import brief, shortened
from anchorscope.asking.devices import is_card
from anchorscope.asking.process import process_as_it_was
from anchorscope.asking.retry import Retry
from anchorscope.errors import InputError, ModelFileError
from anchorscope.files import is_path_of_folder
from anchorscope.predictors.adapt import adapted, current_folder
from anchorscope.predictors.options import ModelOptions
from anchorscope.types import HeardLabels, Predictor

__all__ = ["as_predictor", "load_predictor", "reads_device"]

PREDICTORS = MappingProxyType(
    {
        "http": "anchorscope.predictors.remote.model:from_url",
        "huggingface": "anchorscope.predictors.huggingface:from_folder",
        "onnx": "anchorscope.predictors.onnx_file:from_onnx",
        "module": "anchorscope.predictors.adapt:from_module",
        "pickle": "anchorscope.predictors.files:from_pickle",
        "skops": "anchorscope.predictors.files:from_skops",
    }
)
"""Kinds of models; each is called with what stands behind the colon, and ``ModelOptions``."""

SUFFIXES = MappingProxyType(
    {".skops": "skops", ".onnx": "onnx", ".pkl": "pickle", ".pickle": "pickle", ".joblib": "pickle"}
)
"""The kind of a file, by its ending."""

KINDS = (
    "a .skops file, an .onnx file with its tokenizer.json beside it, a Hugging Face folder on this machine, "
    "module:attribute, http(s)://…, "
    f"or with --allow-pickle a pickle ({', '.join(end for end, kind in SUFFIXES.items() if kind == 'pickle')})"
)


def as_predictor(
    model: Any,
    *,
    labels: Sequence[str] | None = None,
    text_column: str | None = None,
    learn_from: Sequence[str] = (),
    retry: Retry | None = None,
    max_seconds: float = inf,
    heard: HeardLabels | None = None,
    head: str | None = None,
) -> Predictor:
    """The Predictor for a Python object; one that is a Predictor already comes back as it is.

    ``labels`` are the names of the columns, in their order: needed for a function whose rows do not name them; for
    other models they are new names. ``text_column`` is where a model that was fitted on a table finds its texts. A
    function that answers label names is asked about some of the documents ``learn_from``, to learn them; each call is
    tried as ``retry`` says, and all of them may take ``max_seconds``. It is not asked for labels that were ``heard``
    before. ``head`` is the one label to ask about: whether a text has it or not.
    """
    options = ModelOptions(
        labels=labels,
        text_column=text_column,
        learn_from=learn_from,
        retry=retry or Retry(),
        max_seconds=max_seconds,
        heard=heard,
        head=head,
    )
    return adapted(model, options)


def load_predictor(spec: str, **given: Any) -> Predictor:
    """The Predictor for a model as the command line names it; what is given are the fields of ``ModelOptions``.

    reviews.skops             nothing is loaded unless each type in it is known to be safe or in ``trust``
    models/model.onnx         with its tokenizer.json beside it
    models/bert               a Hugging Face folder, with its weights as safetensors; computes on ``device``
                              in ``dtype``, ``compiled`` if that is wanted
    https://host/predict      a model behind HTTP, asked as ``remote`` says
    my_models:classifier      any object that ``as_predictor`` takes; the current folder is on the path
    old.joblib                a pickle (.pkl, .pickle, .joblib): refused unless ``allow_pickle``, as it can run any code
    kind:argument             a kind by its name, be it one that another package adds
    """
    kind, argument = _kind_and_argument(spec)
    options = ModelOptions(**given)
    _refuse_useless(spec, kind, options)
    if kind != "http" and not os.path.isabs(argument):
        current_folder()  # whatever is loaded is looked for there
    read: Any = registry.resolve("predictor", kind)
    try:
        with process_as_it_was(spec):
            predictor: Predictor = read(argument, options)
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module that ends the process when it is imported, among others
        raise ModelFileError(f"The model {spec!r} fails when it is loaded: {brief(error)}.") from error
    return predictor


def reads_device(spec: str) -> bool:
    """Whether a model of the command line computes on a device that can be chosen; one of another package's kind may.

    >>> reads_device("my_models:classifier")
    False
    """
    kind, _ = _kind_and_argument(spec)
    return kind == "huggingface" or kind not in PREDICTORS


def _refuse_useless(spec: str, kind: str, options: ModelOptions) -> None:
    """Refuse options that this kind of model has no use for."""
    if options.trust and kind != "skops":
        raise InputError(f"Types are trusted in .skops files only, and {spec!r} is none; leave out --trust.")
    if options.remote is not None and kind != "http":
        raise InputError(f"{spec!r} is no model behind HTTP, and options of one were given; leave them out.")
    if (options.dtype or options.compiled) and kind != "huggingface":
        option = "--dtype" if options.dtype else "--compile"
        raise InputError(f"{option} is for Hugging Face folders, and {spec!r} is none; leave it out.")
    if is_card(options.device) and not reads_device(spec):
        raise InputError(
            f"--device {options.device} is for Hugging Face folders, and {spec!r} is none; leave it out, or put the "
            "model there yourself and name a function (module:function)."
        )


def _kind_and_argument(spec: str) -> tuple[str, str]:
    """The kind of a model, and what its reader takes."""
    if re.match(r"https?://", spec):
        return "http", spec
    try:
        path = Path(spec).expanduser()
        is_folder = is_path_of_folder(path)
    except (RuntimeError, ValueError, OSError) as error:  # no such user, a NUL in it, too long, not ours to look at
        raise ModelFileError(
            f"{shortened(spec)} is no path of a model ({brief(error)}); a model is {KINDS}."
        ) from error
    suffix = path.suffix.lower()
    if is_folder:
        return "huggingface", spec
    if suffix in SUFFIXES:
        return SUFFIXES[suffix], spec
    name, colon, argument = spec.partition(":")
    if colon and name in registry.names("predictor"):
        return name, argument
    if re.fullmatch(r"[\w.]+:[\w.]+", spec):
        return "module", spec
    fault = f"{spec!r} is a model of an unknown kind" if path.exists() else f"There is no model {spec!r} here"
    raise ModelFileError(f"{fault}; a model is {KINDS}.")

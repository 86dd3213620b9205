"""Everything that can be exchanged has a short name: built in here, or added by an outside package.

A kind has a table in the room where its members live; an entry is the object itself, or ``module:object``, imported on
first use. Outside packages add a name through an entry point of the group ``anchorscope.<kind>``:

    [project.entry-points."anchorscope.aggregation"]
    median = "my_package:MEDIAN"

    kind         what it is                                             how it is called
    aggregation  an ``Aggregation`` (scoring/aggregation.py)
    backend      makes a ``Backend`` (types/)                           (local score, workers[, argument])
    drawing      explanations -> something to look at                   (explanations, level=…)
    perturbator  makes a ``Perturbator`` (types/)                       (argument, top_n=…, device=…)
    predictor    makes a ``Predictor`` (types/)                         (argument, labels=…)
    reporter     makes a ``Reporter`` (types/)                          (text stream)
    score        makes a ``LocalScore`` (types/)                        (predictor, perturbator, settings)
    strategy     makes a ``Strategy`` (planning/plan.py)                (collection, settings)

What stands behind a colon of the name (``masked-lm:FOLDER``) is the argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from anchorscope.errors import InputError, UnknownNameError

TABLES: Mapping[str, str] = {
    "aggregation": "anchorscope.scoring.aggregations:AGGREGATIONS",
    "backend": "anchorscope.backends:BACKENDS",
    "drawing": "anchorscope.report:DRAWINGS",
    "perturbator": "anchorscope.perturbators:PERTURBATORS",
    "predictor": "anchorscope.predictors:PREDICTORS",
    "reporter": "anchorscope.report:REPORTERS",
    "score": "anchorscope.local_scores:SCORES",
    "strategy": "anchorscope.planning:STRATEGIES",
}
"""Where the built-in members of each kind are listed."""


def names(kind: str) -> list[str]:
    """The names of a kind, built in or added by outside packages.

    >>> names("strategy")
    ['race', 'scan']
    """
    return sorted({*load(TABLES[kind]), *(entry.name for entry in entry_points(group=f"anchorscope.{kind}"))})


@cache
def resolve(kind: str, name: str) -> Any:
    """The object behind a name, which stays the same while the process lasts.

    >>> resolve("aggregation", "sq").name
    'sq'
    """
    found = load(TABLES[kind]).get(name)
    if found is not None:
        return load(found) if isinstance(found, str) else found
    for entry in entry_points(group=f"anchorscope.{kind}"):
        if entry.name == name:
            return entry.load()
    raise UnknownNameError(kind, name, names(kind))


def load(path: str) -> Any:
    """The object at ``module:attribute``.

    >>> load("math:pi") > 3
    True
    """
    module_name, _, attribute = path.partition(":")
    try:
        target: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise InputError(
                f"There is no module {error.name!r} (in {path!r}); is it in this folder or installed?"
            ) from error
        raise
    for part in attribute.split("."):
        if not hasattr(target, part):
            raise UnknownNameError(
                f"attribute of {module_name}", part, [n for n in dir(target) if not n.startswith("_")]
            )
        target = getattr(target, part)
    return target

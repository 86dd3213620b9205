"""Short names for the command line: a name stands for ``module:object`` and is imported on first use.

Outside packages add a name through an entry point of the group ``anchorscope.<kind>``:

    [project.entry-points."anchorscope.aggregation"]
    median = "my_package:median_score"
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from anchorscope.errors import InputError, UnknownNameError

BUILT_IN: dict[str, dict[str, str]] = {
    "aggregation": {
        "sq": "anchorscope.scores:sq",
        "av": "anchorscope.scores:av",
        "av5": "anchorscope.scores:av5",
        "h": "anchorscope.scores:h",
        "pr": "anchorscope.scores:pr",
        "gain": "anchorscope.scores:gain",
        "excess": "anchorscope.scores:excess",
        "base": "anchorscope.scores:base",
        "pr-inverse": "anchorscope.scores:pr_inverse",
    },
    "perturbator": {
        "corpus": "anchorscope.perturbators.corpus:CorpusPerturbator",
        "embedded": "anchorscope.perturbators.embedded:EmbeddedPerturbator",
        "mask-token": "anchorscope.perturbators.mask_token:MaskTokenPerturbator",
        "masked-lm": "anchorscope.perturbators.masked_lm:MaskedLMPerturbator",
    },
}


def names(kind: str) -> list[str]:
    """The names of a kind, built in or added by outside packages.

    >>> "sq" in names("aggregation")
    True
    """
    return sorted({*BUILT_IN[kind], *(entry.name for entry in entry_points(group=f"anchorscope.{kind}"))})


def resolve(kind: str, name: str) -> Any:
    """The object behind a name.

    >>> resolve("aggregation", "sq").__name__
    'sq'
    """
    if name in BUILT_IN[kind]:
        return load(BUILT_IN[kind][name])
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

"""Which words make a text classifier say what it says?

The public names, loaded on first use, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anchorscope.asking.removals import Removals, removal_oracle
    from anchorscope.asking.retry import Retry
    from anchorscope.errors import AnchorscopeError, InputError, ModelError
    from anchorscope.explainer import Explainer
    from anchorscope.predictors import as_predictor
    from anchorscope.result import Result
    from anchorscope.types import Explanation, Perturbator, Predictor, Snapshot, Term

__all__ = [
    "AnchorscopeError",
    "Explainer",
    "Explanation",
    "InputError",
    "ModelError",
    "Perturbator",
    "Predictor",
    "Removals",
    "Result",
    "Retry",
    "Snapshot",
    "Term",
    "as_predictor",
    "removal_oracle",
]

_HOMES = {
    "AnchorscopeError": "errors",
    "Explainer": "explainer",
    "Explanation": "types",
    "InputError": "errors",
    "ModelError": "errors",
    "Retry": "asking.retry",
    "Perturbator": "types",
    "Predictor": "types",
    "Result": "result",
    "Snapshot": "types",
    "Term": "types",
    "Removals": "asking.removals",
    "as_predictor": "predictors",
    "removal_oracle": "asking.removals",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'anchorscope' has no attribute {name!r}")
    return getattr(import_module(f"anchorscope.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

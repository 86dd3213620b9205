"""The values that travel from room to room (``values.py``), and the contracts for outside code (``contracts.py``).

In: nothing. Out: frozen dataclasses and Protocols; a stage knows the one before it only by the value that it receives.
May import: errors, registry, files.
"""

from anchorscope.types.contracts import (
    Backend,
    BeginningPredictor,
    DifferentiablePredictor,
    DrawingPerturbator,
    LimitedPredictor,
    LocalScore,
    Perturbator,
    Predictor,
    Reporter,
    SharingBackend,
)
from anchorscope.types.values import (
    EMPTY,
    Beyond,
    Cost,
    Differentiable,
    Document,
    Explanation,
    HeardLabels,
    Measurement,
    Measurements,
    Occurrence,
    Positions,
    Proposals,
    Snapshot,
    Spelled,
    Term,
    Unit,
    Words,
)

__all__ = [
    "EMPTY",
    "Backend",
    "BeginningPredictor",
    "Beyond",
    "Cost",
    "Differentiable",
    "DifferentiablePredictor",
    "Document",
    "DrawingPerturbator",
    "Explanation",
    "HeardLabels",
    "LimitedPredictor",
    "LocalScore",
    "Measurement",
    "Measurements",
    "Occurrence",
    "Perturbator",
    "Positions",
    "Predictor",
    "Proposals",
    "Reporter",
    "SharingBackend",
    "Snapshot",
    "Spelled",
    "Term",
    "Unit",
    "Words",
]

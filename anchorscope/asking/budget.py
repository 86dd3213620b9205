"""How much a run may take: seconds, and texts for the model. A budget of texts is a promise.

Whatever asks the model asks through one meter (``retry.py`` has it: what is tried again is counted again), and the
meter lets no text through beyond what was allowed. Plans know what a test costs, so they hardly ever run into it;
where a model fails and has to be asked again they may.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from numbers import Integral, Real

from anchorscope.errors import AnchorscopeError, InputError
from anchorscope.types import Cost

MOST_WORKERS = 1000
"""Processes of one run: more than any machine has a use for."""


class CallsSpentError(AnchorscopeError):
    """The model may not be asked about so many texts any more; nothing was asked."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When to end early, cleanly: after so many seconds, or so many texts given to the model."""

    max_seconds: float = inf
    max_model_calls: float = inf

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        for option, limit in (("--max-seconds", self.max_seconds), ("--max-model-calls", self.max_model_calls)):
            if not isinstance(limit, Real) or not limit >= 0:
                raise InputError(f"{option} must be a number of at least 0, not {limit!r}.")

    @classmethod
    def of(cls, max_seconds: float | None, max_model_calls: int | None) -> Budget:
        """A budget whose limits may be missing."""
        return cls(inf if max_seconds is None else max_seconds, inf if max_model_calls is None else max_model_calls)

    def calls_left(self, cost: Cost) -> float:
        """The texts that the model may still be asked about."""
        return max(0.0, self.max_model_calls - cost.predictor_texts)

    def is_spent(self, cost: Cost) -> bool:
        """Whether it is time to end."""
        return cost.seconds >= self.max_seconds or cost.predictor_texts >= self.max_model_calls


class Meter:
    """Counts the texts that reach a model, and lets no more through than are allowed.

    ``tokens`` are those that a server has told, of all answers so far.
    """

    def __init__(self) -> None:
        self.sent = 0
        self.tokens = 0
        self._allowed = inf

    def allow(self, n_texts: float) -> None:
        """From now on, so many texts."""
        self._allowed = self.sent + n_texts

    def pass_on(self, n_texts: int) -> None:
        """Count texts that are about to be sent; refuse them if they are too many."""
        if self.sent + n_texts > self._allowed:
            raise CallsSpentError(
                f"The model may be asked about {self._allowed - self.sent:.0f} more texts, and {n_texts} are due."
            )
        self.sent += n_texts


def check_workers(workers: int) -> None:
    """Refuse a number of workers that cannot be."""
    if not isinstance(workers, Integral) or workers < 1:
        raise InputError(f"The number of workers must be a whole number of at least 1, not {workers!r}.")
    if workers > MOST_WORKERS:
        raise InputError(f"The number of workers must be at most {MOST_WORKERS:,}, not {workers:,}.")

"""How much a run may take: seconds, and texts for the model. A budget of texts is a promise.

Whatever asks the model asks through one meter (``retry.py`` has it: what is tried again is counted again), and the
meter lets no text through beyond what was allowed. Plans know what a test costs, so they hardly ever run into it;
where a model fails and has to be asked again they may. A budget of seconds holds within one call of the model: when
time is up no other is begun. Only the first call of all, with which nothing is lost, is left behind when time is up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Integral, Real
from time import monotonic
from typing import Any

from anchorscope.errors import AnchorscopeError, InputError, ModelError, in_a_line
from anchorscope.types import Cost

MAX_SECONDS = "--max-seconds"
MAX_MODEL_CALLS = "--max-model-calls"
"""The options that limit a run, as sentences name them."""

MOST_WORKERS = 1000
"""Processes of one run: more than any machine has a use for."""


class CallsSpentError(AnchorscopeError):
    """The model may not be asked about so many texts any more; nothing was asked."""


class TimeUpError(CallsSpentError):
    """The model may not be asked any more: the time is up, or would be before it is tried again."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When to end early, cleanly: after so many seconds, or so many texts given to the model."""

    max_seconds: float = inf
    max_model_calls: float = inf

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        for option, limit in ((MAX_SECONDS, self.max_seconds), (MAX_MODEL_CALLS, self.max_model_calls)):
            if not isinstance(limit, Real) or not limit >= 0:
                raise InputError(f"{option} must be a number of at least 0, not {limit!r}.")

    @classmethod
    def of(cls, max_seconds: float | None, max_model_calls: int | None) -> Budget:
        """A budget whose limits may be missing."""
        return cls(inf if max_seconds is None else max_seconds, inf if max_model_calls is None else max_model_calls)

    def calls_left(self, cost: Cost) -> float:
        """The texts that the model may still be asked about."""
        return max(0.0, self.max_model_calls - cost.answers)

    def seconds_left(self, cost: Cost) -> float:
        """The seconds that a run may still take."""
        return max(0.0, self.max_seconds - cost.seconds)

    def is_spent(self, cost: Cost) -> bool:
        """Whether it is time to end."""
        return cost.seconds >= self.max_seconds or cost.answers >= self.max_model_calls

    def ended_by(self, cost: Cost) -> str | None:
        """The option that ended a run with tests left: the calls that do not suffice for the next test may be a few.

        >>> Budget(max_seconds=60, max_model_calls=300).ended_by(Cost(seconds=2.0, predictor_texts=299))
        '--max-model-calls'
        """
        if cost.seconds >= self.max_seconds:
            return MAX_SECONDS
        return MAX_MODEL_CALLS if isfinite(self.max_model_calls) else None


class Meter:
    """Counts the texts that reach a model, and lets no more through than are allowed, and none when time is up.

    ``tokens`` are those that a server has told, of all answers so far; ``found`` counts answers that were kept, for
    which no text was sent: they are of what is allowed, too.
    """

    def __init__(self) -> None:
        self.sent = 0
        self.tokens = 0
        self.found = 0
        self._allowed = inf
        self._end = inf
        self._cut = inf
        self.before_each: Callable[[], None] | None = None  # called before texts are sent

    def __getstate__(self) -> dict[str, Any]:
        """Without the end: a clock is of one machine. Workers are handed what there is time for, and nobody watches."""
        return {**self.__dict__, "_end": inf, "_cut": inf, "before_each": None}

    def allow(self, n_texts: float) -> None:
        """From now on, so many texts."""
        self._allowed = self.answers + n_texts

    def end_in(self, seconds: float, *, cuts: bool = False) -> None:
        """From now on, texts for so long; with ``cuts`` a call that is in flight then is not waited for, either."""
        self._end = monotonic() + seconds
        self._cut = self._end if cuts else inf

    def seconds_to_cut(self) -> float:
        """How long a call that begins now is waited for."""
        return self._cut - monotonic()

    def check_time(self, wait: float = 0.0) -> None:
        """Refuse what is to be asked after a wait of so many seconds, if the time is up by then."""
        if monotonic() + wait >= self._end:
            raise TimeUpError("The time for asking the model is up.")

    def pass_on(self, n_texts: int) -> None:
        """Count texts that are about to be sent; refuse them if they are too many, or too late."""
        self.check_time()
        self._check_allowed(n_texts)
        if self.before_each:
            self.before_each()
        self.sent += n_texts

    def find(self, n_texts: int) -> None:
        """Count texts whose answers were kept; refuse them if they are too many."""
        self._check_allowed(n_texts)
        self.found += n_texts

    @property
    def answers(self) -> int:
        """Texts that were sent, and texts whose answers were kept."""
        return self.sent + self.found

    def _check_allowed(self, n_texts: int) -> None:
        if self.answers + n_texts > self._allowed:
            raise CallsSpentError(
                f"The model may be asked about {self._allowed - self.answers:.0f} more texts, and {n_texts} are due."
            )


MOST_TOKENS = 1 << 53
"""What a model says it took may not be more: numbers beyond it are no counts."""


def tokens_of(model: Any) -> int:
    """The tokens that a model has told so far (``n_tokens``); 0 of what tells none.

    >>> class Odd:
    ...     n_tokens = "many"
    >>> tokens_of(Odd())
    Traceback (most recent call last):
    anchorscope.errors.ModelError: The n_tokens of Odd is the number of tokens so far, not 'many'; make it a whole \
number, or leave it out.
    """
    told = getattr(model, "n_tokens", 0)
    if not isinstance(told, Integral) or not 0 <= int(told) <= MOST_TOKENS:
        name = getattr(model, "name", None) or getattr(model, "__name__", type(model).__name__)
        raise ModelError(
            f"The n_tokens of {name} is the number of tokens so far, not {in_a_line(told)}; make it a whole number, or "
            "leave it out."
        )
    return int(told)


def check_workers(workers: int) -> None:
    """Refuse a number of workers that cannot be."""
    if not isinstance(workers, Integral) or workers < 1:
        raise InputError(f"The number of workers must be a whole number of at least 1, not {workers!r}.")
    if workers > MOST_WORKERS:
        raise InputError(f"The number of workers must be at most {MOST_WORKERS:,}, not {workers:,}.")

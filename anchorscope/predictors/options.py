"""What the caller says about a model besides its name: the same for every kind of model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from anchorscope.asking.retry import Retry
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.types import HeardLabels


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """``labels`` name the model's labels, ``trust`` types that a .skops file may hold, ``device`` is where it computes.

    ``allow_pickle`` lets a file run code, ``text_column`` is where a model that reads tables finds its texts,
    ``remote`` says how a server is asked, ``learn_from`` are documents that show which label names a model answers,
    ``retry`` how a call that shows them is tried, ``max_seconds`` how long all of these calls may take; ``heard`` are
    those that an earlier life of the run has found out. ``head`` is the one label to ask about. ``dtype`` is what a
    Hugging Face model computes in, ``compiled`` whether by torch.compile. A kind of model reads what it has a use for.
    """

    labels: Sequence[str] | None = None
    trust: Sequence[str] = ()
    allow_pickle: bool = False
    device: str = "cpu"
    text_column: str | None = None
    remote: RemoteOptions | None = None
    learn_from: Sequence[str] = ()
    retry: Retry = field(default_factory=Retry)
    max_seconds: float = inf
    heard: HeardLabels | None = None
    head: str | None = None
    dtype: str | None = None
    compiled: bool = False

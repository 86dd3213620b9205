"""The settings of the experiments, by name.

The base is the method as the paper's own runs had it: every token has samples of its own, all masks of a sample are
filled in one pass out of 500 proposals, the bound of a test is the one-step bound. (The paper's text fills one mask
after another; its code, which made its figures, does not.) On it:

    unoptimised          delta 0.1, every token tested
    delta-0.15 … -0.5    a higher delta alone
    stop-rare            stop words and rare words out: the base of all that follows
    filter, tau-tilde, masking
                         one optimisation on top of stop-rare
    sample-10 … -50      a share of the documents, on top of stop-rare
    order-random, order-length
                         another order of the documents, on top of stop-rare
    length-100, -400     another bound on the length of a document, on top of stop-rare
    optimised            all optimisations together, delta 0.5
    rounds-1, -16, -64   optimised, the filter and tau-tilde learning after so many documents instead of four
    fast                 this project's own default, for comparison
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anchorscope.reproduction.tasks import LONGEST
from anchorscope.settings import Settings, preset

SEEDS = (42, 84, 126, 168, 210)
TOP_K = 20

_AS_RUN: Mapping[str, Any] = {"fill": "one-pass", "test": "kl-one-step"}
_STOP_RARE: Mapping[str, Any] = {"stop_words": "nltk", "min_occurrences": 5}


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to run: a preset, what differs from it, and the longest document in characters."""

    preset: str
    given: Mapping[str, Any]
    longest: int = LONGEST

    @property
    def learns(self) -> bool:
        """Whether the plan of a round depends on what the rounds before it found."""
        settings = self.settings(0)
        return settings.filter != "none" or settings.tau_tilde

    def settings(self, seed: int, top_k: int = TOP_K, round_size: int | None = None) -> Settings:
        """The settings of a run; the size of a round is a scan's, and is not for those that name their own."""
        rounds = {} if round_size is None or self.preset == "fast" else {"round_size": round_size}
        return preset(self.preset, seed=seed, top_k=top_k, **{**rounds, **self.given})


def _paper(*, longest: int = LONGEST, **given: Any) -> Setting:
    return Setting("paper", {**_AS_RUN, **given}, longest)


SETTINGS: Mapping[str, Setting] = {
    "unoptimised": _paper(),
    "delta-0.15": _paper(delta=0.15),
    "delta-0.2": _paper(delta=0.2),
    "delta-0.35": _paper(delta=0.35),
    "delta-0.5": _paper(delta=0.5),
    "stop-rare": _paper(**_STOP_RARE),
    "filter": _paper(**_STOP_RARE, filter="optimistic"),
    "tau-tilde": _paper(**_STOP_RARE, tau_tilde=True),
    "masking": _paper(**_STOP_RARE, top_n=50),
    "optimised": Setting("paper-optimised", _AS_RUN),
    "rounds-1": Setting("paper-optimised", {**_AS_RUN, "round_size": 1}),
    "rounds-16": Setting("paper-optimised", {**_AS_RUN, "round_size": 16}),
    "rounds-64": Setting("paper-optimised", {**_AS_RUN, "round_size": 64}),
    "sample-10": _paper(**_STOP_RARE, sample_documents=0.10),
    "sample-25": _paper(**_STOP_RARE, sample_documents=0.25),
    "sample-50": _paper(**_STOP_RARE, sample_documents=0.50),
    "order-random": _paper(**_STOP_RARE, order="random"),
    "order-length": _paper(**_STOP_RARE, order="length"),
    "length-100": _paper(longest=100, **_STOP_RARE),
    "length-400": _paper(longest=400, **_STOP_RARE),
    "fast": Setting("fast", {}),
}

DELTAS = ("unoptimised", "delta-0.15", "delta-0.2", "delta-0.35", "delta-0.5", "optimised")
OPTIMISATIONS = ("stop-rare", "filter", "tau-tilde", "masking", "optimised")
SAMPLES = ("stop-rare", "sample-50", "sample-25", "sample-10")
ORDERS = ("stop-rare", "order-random", "order-length")
ROUNDS = {"rounds-1": 1, "optimised": 4, "rounds-16": 16, "rounds-64": 64}
LENGTHS = {"length-100": 100, "stop-rare": LONGEST, "length-400": 400}
AGGREGATIONS = ("pr", "sq", "h", "av", "av5", "base", "pr-inverse")
"""What the paper compares; all of them are computed from the tally of one unoptimised run."""

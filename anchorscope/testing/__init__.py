"""For tests, ours and those of outside authors: models whose answers are known, and the suites that a plug has to pass.

>>> KeywordPredictor("great").predict(["a GREAT film", "a film"]).tolist()
[[0.0, 1.0], [1.0, 0.0]]

Whoever writes a predictor, perturbator, aggregation, local score, strategy, backend or reporter puts to the test what
makes it; each check is a function that raises an AssertionError:

    @pytest.mark.parametrize("check", checks("perturbator"), ids=lambda check: check.__name__)
    def test_mine(check):
        check(lambda: MyPerturbator())

>>> for check in checks("predictor"):
...     check(lambda: KeywordPredictor("great"))

In: what makes a plug. Out: nothing, or an AssertionError that says which promise is broken. May import: text, asking,
scoring, settings, local_scores, planning, perturbators.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from anchorscope.errors import UnknownNameError
from anchorscope.testing.models import KeywordPredictor, WeightPredictor

__all__ = ["KINDS", "KeywordPredictor", "WeightPredictor", "checks"]

KINDS = ("aggregation", "backend", "perturbator", "predictor", "reporter", "score", "strategy")
"""What has a suite, a file each."""

Check = Callable[[Callable[..., Any]], None]


def checks(kind: str) -> list[Check]:
    """The suite of a kind: functions of what makes a member of it.

    >>> [check.__name__ for check in checks("reporter")]
    ['takes_snapshots', 'can_be_closed_before_the_first_one']
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of plug", kind, KINDS)
    module = import_module(f"{__name__}.{kind}")
    found: list[Check] = list(module.CHECKS)
    return found

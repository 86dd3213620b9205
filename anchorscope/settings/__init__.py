"""Every choice that a result depends on (``choices.py``), and the presets, by name (``presets.py``).

In: names and numbers, by hand or from a kept run. Out: settings that can be. May import: text, sampling, scoring.
"""

from anchorscope.settings.choices import (
    NO_PERTURBATOR,
    PLUGS,
    Settings,
    check_score,
    needs_perturbator,
    score_counts_anchors,
    score_is_graded,
    score_perturbs,
    score_shares_calls,
    score_tests_anchors,
)
from anchorscope.settings.presets import (
    ANCHOR_TEST,
    NO_AGGREGATION,
    PRESETS,
    preset,
    preset_for_one_document,
)
from anchorscope.settings.strategies import StrategyTraits, strategy

__all__ = [
    "ANCHOR_TEST",
    "NO_AGGREGATION",
    "NO_PERTURBATOR",
    "PLUGS",
    "PRESETS",
    "Settings",
    "StrategyTraits",
    "check_score",
    "needs_perturbator",
    "preset",
    "preset_for_one_document",
    "score_counts_anchors",
    "score_is_graded",
    "score_perturbs",
    "score_shares_calls",
    "score_tests_anchors",
    "strategy",
]

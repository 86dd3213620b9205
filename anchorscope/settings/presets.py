"""The presets: settings that go together, by name.

    paper            the method of the paper's text, none of its accelerations
    paper-optimised  all of its accelerations but the sample of the documents
    banzhaf          words kept or replaced at random, half of them at a time: it sees what words do together
    fast             a good list for few calls (the default): words left out one at a time

A setting given by hand goes before the preset's.

>>> preset("paper").delta, preset("paper", delta=0.2).delta
(0.1, 0.2)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from anchorscope import registry
from anchorscope.errors import InputError, UnknownNameError, in_a_line
from anchorscope.scoring.aggregations import aggregation
from anchorscope.settings.choices import Settings, score_counts_anchors

_PAPER = {
    "aggregation": "pr",
    "test": "kl",
    "delta": 0.1,
    "max_samples": 1000,
    "strategy": "scan",
    "keep": "own",
    "fill": "one-by-one",
    "top_n": 500,
    "stop_words": "none",
    "min_occurrences": 1,
}

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "paper": _PAPER,
        "paper-optimised": {
            **_PAPER,
            "delta": 0.5,
            "top_n": 50,
            "filter": "optimistic",
            "tau_tilde": True,
            "stop_words": "nltk",
            "min_occurrences": 5,
        },
        "banzhaf": {"score": "banzhaf", "surrogate": False, "stop_words": "short", "min_occurrences": 5},
        "fast": {},
    }
)

ANCHOR_TEST: Mapping[str, Any] = MappingProxyType(
    {"test": "sprt", "delta": 0.0001, "keep": "shared", "fill": "bank", "bank_pairs": 32, "max_samples": 4000}
)
"""How anchors are tested where no preset of the paper says: what is called one is one, and again under another seed
(``benchmarks/anchors.py``)."""

NO_AGGREGATION: Mapping[str, Any] = MappingProxyType({"aggregation": "sq", "score": "anchor", "weight": "equal"})
"""The anchors of one document are not added up: no values are asked for, so all ways of sampling will do."""


def preset_for_one_document(name: str, **given: Any) -> Settings:
    """The settings of a preset where one document is explained by itself.

    >>> preset_for_one_document("fast", max_samples=12).anchor_test.max_samples
    12
    """
    return preset(name, **{**given, **NO_AGGREGATION})


def preset(name: str, **given: Any) -> Settings:
    """The settings of a preset, with some of them given by hand."""
    known = {field.name for field in fields(Settings)}
    for key in given:
        if key not in known:
            raise UnknownNameError("setting", key, known)
    chosen = {**_preset(name), **given}
    if "test" not in _preset(name) and _tests_for_anchors(chosen):
        chosen = _with_anchor_test(chosen)
    if chosen.get("test", "fixed") != "fixed":
        chosen.setdefault("keep", "shared")  # a test that may end at any look needs independent samples
    return Settings(**chosen)


def _tests_for_anchors(chosen: Mapping[str, Any]) -> bool:
    """Whether these settings count anchors; what names nothing is refused later, by the settings themselves."""
    score, summed = chosen.get("score"), chosen.get("aggregation")
    if score is None:
        return summed in registry.names("aggregation") and aggregation(summed).reads == "verdicts"
    return score in registry.names("score") and score_counts_anchors(score)


def _with_anchor_test(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """These settings, and of the test for anchors what they leave open."""
    whole = {**ANCHOR_TEST, **chosen}
    if whole["fill"] != "bank" and "bank_pairs" not in chosen:
        del whole["bank_pairs"]
    return whole


def _preset(name: str) -> Mapping[str, Any]:
    if not isinstance(name, str):
        raise InputError(f"preset must be a name ({', '.join(PRESETS)}), not {in_a_line(name)}.")
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return PRESETS[name]

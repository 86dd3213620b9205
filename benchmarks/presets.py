"""From the paper's rule to ours: each of its accelerations alone, all together, then ``fast``; time and quality.

    python -m benchmarks.presets --data FOLDER [--perturbator embedded|corpus] [--documents 100] [--seeds 5]

The baseline is ``paper`` in its one-pass form, which is the honest one: masks filled one after another, as the paper's
text has it, would cost several times as many passes. Its test is kl-one-step, the bound of the authors' code; the exact
bound is the row below. As in the paper, the accelerations are tried on top of stop and rare words being left out.
Rows that leave out words leave out the same ones (our short list; fewer than MIN_OCCURRENCES in the documents), so that
their lists can be compared. Prints a table, writes presets_PERTURBATOR.json and .csv.
"""

from __future__ import annotations

from typing import Any

from benchmarks.variants import main, parser

MIN_OCCURRENCES = 2
"""A word of fewer occurrences is rare. The presets say 5, for thousands of documents; here are about a hundred."""

_FILTERED = {"stop_words": "short", "min_occurrences": MIN_OCCURRENCES}
_RULE = {"preset": "paper", "fill": "one-pass", "test": "kl-one-step"}
VARIANTS: dict[str, dict[str, Any]] = {
    "paper's rule, all words": _RULE,
    "exact kl, all words": {**_RULE, "test": "kl"},
    "paper's rule": {**_RULE, **_FILTERED},
    "exact kl": {**_RULE, **_FILTERED, "test": "kl"},
    "delta 0.5": {**_RULE, **_FILTERED, "delta": 0.5},
    "filter": {**_RULE, **_FILTERED, "filter": "optimistic"},
    "tau~": {**_RULE, **_FILTERED, "tau_tilde": True},
    "masking 50": {**_RULE, **_FILTERED, "top_n": 50},
    "paper-optimised": {**_RULE, "preset": "paper-optimised", **_FILTERED},
    "fast, scan": {**_FILTERED, "strategy": "scan"},
    "fast": _FILTERED,
}

if __name__ == "__main__":
    main("presets", VARIANTS, parser(__doc__, VARIANTS).parse_args())

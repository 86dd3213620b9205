"""From the paper's rule to ours: each of its accelerations alone, all together, then ``fast``; time and quality.

    python -m benchmarks.presets --data FOLDER [--perturbator embedded|corpus] [--documents 100] [--seeds 5]

The baseline is ``paper`` in its one-pass form, which is the honest one: masks filled one after another, as the paper's
text has it, would cost several times as many passes. Its test is kl-one-step, the bound of the authors' code; the exact
bound is the row below. As in the paper, the accelerations are tried on top of stop and rare words being left out.
Rows that leave out words leave out the same ones (our short list of stop words, and what occurs less often than
--min-occurrences in the documents), so that their lists can be compared. Prints a table, writes
presets_PERTURBATOR.json and .csv.
"""

from __future__ import annotations

from typing import Any

from benchmarks.variants import main, study_parser

_RULE = {"preset": "paper", "fill": "one-pass", "test": "kl-one-step"}
_ONLINE = {"round_size": 8}  # what learns on the way reads closed rounds, and 64 documents a round are all there are
VARIANTS: dict[str, dict[str, Any]] = {
    "paper's rule, all words": {**_RULE, "stop_words": "none", "min_occurrences": 1},
    "exact kl, all words": {**_RULE, "test": "kl", "stop_words": "none", "min_occurrences": 1},
    "paper's rule": _RULE,
    "exact kl": {**_RULE, "test": "kl"},
    "delta 0.5": {**_RULE, "delta": 0.5},
    "filter": {**_RULE, **_ONLINE, "filter": "optimistic"},
    "tau~": {**_RULE, **_ONLINE, "tau_tilde": True},
    "masking 50": {**_RULE, "top_n": 50},
    "paper-optimised": {**_RULE, **_ONLINE, "preset": "paper-optimised"},
    "fast, scan": {"strategy": "scan"},
    "fast": {},
}

if __name__ == "__main__":
    main("presets", VARIANTS, study_parser(__doc__, VARIANTS, min_occurrences=2).parse_args())

"""What is each idea of ours worth? Each one taken out of ``fast`` alone: time and quality without it.

    python -m benchmarks.ideas --data FOLDER [--perturbator embedded|corpus] [--documents 2000] [--seeds 3]

    no race            every candidate token of every document is tested (scan)
    no balance         samples are independent, not balanced against each other (keep shared instead of balanced)
    no gain            a yes or no at tau = 0.95 over the same samples, aggregated by pr
    no fixed samples   the sequential test kl decides how many samples a token gets, which needs independent ones; gain
                       as before: compare it with "no balance"
    no blind fills     every document has a bank: fills that have seen half of its words
    a pass a sample    fills that have seen what the sample keeps
    no shared stream   every token has samples of its own, with the paper's keep probabilities. The gain compares
                       samples with and without a word, which such a stream has not, so this row falls back to pr:
                       compare it with "no gain"

Prints a table, writes ideas_PERTURBATOR.json and .csv. With the embedded masked language model the last two rows cost
hundreds of passes a document: give fewer documents.
"""

from __future__ import annotations

from typing import Any

from benchmarks.variants import main, study_parser

VARIANTS: dict[str, dict[str, Any]] = {
    "no race": {"strategy": "scan"},
    "no gain": {"aggregation": "pr"},
    "no balance": {"keep": "shared"},
    "no fixed samples": {"keep": "shared", "test": "kl", "max_samples": 1000},
    "no blind fills": {"fill": "bank"},
    "a pass a sample": {"fill": "one-pass"},
    "no shared stream": {"keep": "own", "aggregation": "pr"},
    "fast": {},
}

if __name__ == "__main__":
    main("ideas", VARIANTS, study_parser(__doc__, VARIANTS, documents=2000, seeds=3).parse_args())

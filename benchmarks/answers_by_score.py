"""Which local score finds what a model goes by, where that is easily missed, and after how many calls?

    python -m benchmarks.answers_by_score [--calls 500 1000 2000 4000] [--seeds 2] [--scores occlusion shapley …]

Rules whose answer is known (``anchorscope/evaluation/known_answers.py``): additive, redundant, saturated, negated,
long. Each score by itself, with no surrogate to help it; and the default, which is occlusion with one. A row is the
share of the answer among the first words of the list, as many as the answer has, mean over labels and seeds, for one
rule, local score and number of calls, predictions included; and the least number of calls from which on all of it is
found. The rules are functions, so there are no gradients to compare.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from anchorscope.asking.budget import Budget
from anchorscope.errors import InputError
from anchorscope.evaluation.known_answers import RULES, Rule, rule
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.run import Run
from anchorscope.settings import preset, score_perturbs
from anchorscope.text.read import read_texts
from benchmarks import written

DEFAULT = "default"
SCORES = (DEFAULT, "occlusion", "banzhaf", "shapley", "lime", "shap", "shapiq")
NO_ANSWER = ""
"""Where the calls do not suffice for one test."""


def main() -> None:
    """A row a rule, score and number of calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=RULES)
    parser.add_argument("--scores", nargs="+", default=list(SCORES), choices=SCORES)
    parser.add_argument("--calls", nargs="+", type=int, default=[500, 1000, 2000, 4000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.rules:
        for score in arguments.scores:
            found = {calls: share(name, score, calls, arguments.seeds) for calls in arguments.calls}
            row = {"rule": name, "score": score, **{f"{calls}": told for calls, told in found.items()}}
            rows.append({**row, "found after": found_after(found)})
            print("  ".join(f"{name} {value}" for name, value in written.rounded(rows[-1]).items()), flush=True)
    print(written.write("answers_by_score", arguments, rows))


def share(name: str, score: str, calls: int, seeds: int) -> float | str:
    """The share of the answer that is found, over labels and seeds."""
    try:
        return mean(one for seed in range(seeds) for one in shares(rule(name, seed=seed), score, calls, seed))
    except InputError:
        return NO_ANSWER


def shares(known: Rule, score: str, calls: int, seed: int) -> list[float]:
    """Those of every label of one run."""
    given = {} if score == DEFAULT else {"score": score, "surrogate": False}
    settings = preset("banzhaf" if score == "banzhaf" else "fast", seed=seed, **given)
    noise = CorpusPerturbator() if score_perturbs(settings) else None
    documents = read_texts(known.texts)
    *_, last = Run(documents, known.predictor, noise, settings, budget=Budget(max_model_calls=calls)).snapshots()
    return [known.score(label, [term.term for term in last[label].terms]) for label in known.answers]


def found_after(found: dict[int, float | str]) -> Any:
    """The least number of calls from which on all of the answer is found.

    >>> found_after({500: 1.0, 1000: 0.5, 2000: 1.0, 4000: 1.0}), found_after({500: 0.5})
    (2000, '')
    """
    lacking = [calls for calls, told in found.items() if told != 1.0]
    return next((calls for calls in found if calls > max(lacking, default=0)), NO_ANSWER)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table of docs/method.md: a row a score, the least number of calls under each rule."""
    found = {(row["rule"], row["score"]): row["found after"] for row in rows}
    names = {DEFAULT: "default: occlusion and a surrogate"}
    lines = [["", *RULES]]
    for score in SCORES:
        calls = [found[name, score] for name in RULES]
        lines.append([names.get(score, f"`{score}`"), *(f"{int(n):,}" if n else "–" for n in calls)])
    head, *others = (f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)
    return "\n".join([head, "|---" * len(lines[0]) + "|", *others])


if __name__ == "__main__":
    main()

"""Do intervals hold the truth where a model goes by a rule? One word, a pair, a sign, capitals, a place in the text.

    python -m benchmarks.rules --texts tweets.csv.gz [--seeds 20] [--documents 3000]

Such models are unlike those that weigh all words a little: one word does a hundred times what others do, and does the
same in nearly every document that holds it. Each rule is explained to its end once, where every score is exact, and
then by the default from several seeds. A row is a driver of a rule: its true score, how often the 90% interval held it,
of the runs that named it and had not tested it wherever it stands. Prints a line each, writes rules.json and .csv;
docs/calibration.md quotes them.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from anchorscope import Explainer
from anchorscope.result import Result
from anchorscope.text.read import read_files
from benchmarks import written

K = 4
HIGH, LOW = 0.9, 0.2
"""The probability of *yes* where a rule holds, and where it does not."""

ROUNDING = 1e-5

RULES: dict[str, Callable[[str], object]] = {
    "a word": lambda text: re.search(r"\bpanic\b", text.lower()),
    "a word in capitals": lambda text: re.search(r"\bCOVID\b", text),
    "a beginning": lambda text: re.search(r"\bshop", text.lower()),
    "a sign": lambda text: "?" in text,
    "the first word": lambda text: text.startswith("I "),
    "either of two words, unless negated": lambda text: (
        re.search(r"\b(good|great)\b", text.lower()) and not re.search(r"\b(not|no)\b", text.lower())
    ),
    "two words in a row": lambda text: re.search(r"\btoilet paper\b", text.lower()),
    "two words anywhere": lambda text: {"food", "people"} <= {*re.findall(r"\w+", text.lower())},
}


def model_of(rule: Callable[[str], object]) -> Callable[[Sequence[str]], list[dict[str, float]]]:
    """A model that is sure of *yes* where a rule holds."""
    return lambda texts: [{"no": 1 - p, "yes": p} for p in (HIGH if rule(text) else LOW for text in texts)]


def explained(rule: str, texts: Sequence[str], seed: int, **settings: float) -> Result:
    """What the default finds, with some settings changed."""
    return Explainer(model_of(RULES[rule]), top_k=K, random_state=seed, settings=settings).explain(texts)


def measured(rule: str, texts: Sequence[str], seeds: int) -> list[dict[str, Any]]:
    """A row a driver."""
    truth = {term.term: term.score for term in explained(rule, texts, 0, regret=0.0)["yes"].terms if term.driver}
    held: dict[str, list[bool]] = defaultdict(list)
    tests = 0
    for seed in range(seeds):
        result = explained(rule, texts, seed)
        tests += result.cost.tests
        for term in result["yes"].terms:
            if term.driver and term.term in truth and term.tested < term.occurrences:
                low, high = term.interval
                held[term.term].append(low - ROUNDING <= truth[term.term] <= high + ROUNDING)
    return [
        {"rule": rule, "term": term, "truth": truth[term], "held": sum(found), "of": len(found), "tests": tests / seeds}
        for term, found in held.items()
    ]


def main() -> None:
    """Explain every rule, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", required=True, nargs="+", help="documents as explain reads them, tweets best")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--out", type=Path, help="the folder for the results (docs/data)")
    arguments = parser.parse_args()
    texts = [document.text for document in read_files(arguments.texts).documents][: arguments.documents]
    rows = []
    for rule in RULES:
        for row in measured(rule, texts, arguments.seeds):
            rows.append(row)
            print("  ".join(f"{name} {value}" for name, value in written.rounded(row).items()), flush=True)
    arguments.texts = [Path(path).name for path in arguments.texts]
    print(written.write("rules", arguments, rows))


if __name__ == "__main__":
    main()

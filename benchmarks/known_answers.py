"""Does what a model goes by lead, where that is easily overlooked? Models whose answer is known.

    python -m benchmarks.known_answers --texts tweets.csv.gz

"!": a model that counts exclamation marks; he, she: a model that hires by them, on made-up applications; VADER
(pip install vaderSentiment): a lexicon of words, emoticons and emoji, with tables of negators and boosters and rules
for *but*, exclamation and question marks. Of VADER it is counted how many of the top terms are in its lexicon file, and
how many in that or its tables and rules, which is all that it goes by. In *VADER :)* one document in ten ends in an
emoticon. In *VADER, everything tested* every score is exact (a regret of 0; seeds change nothing): what a list that is
true can hold.

Prints a line each, and writes known_answers.json and .csv; docs/calibration.md quotes them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope import Explainer
from anchorscope.text.read import read_files
from anchorscope.types import Term
from benchmarks import written

JOBS = ("nurse", "engineer", "cook", "driver", "teacher", "clerk")


def main() -> None:
    """Explain the models, print a table, write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", required=True, nargs="+", help="documents as explain reads them, tweets best")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="the folder for the results (docs/data)")
    arguments = parser.parse_args()
    texts = [document.text for document in read_files(arguments.texts).documents]
    rows = [row for seed in range(arguments.seeds) for row in measured(texts, seed)]
    rows += of_vader("VADER, everything tested", texts, 0, regret=0.0)
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    arguments.texts = [Path(path).name for path in arguments.texts]
    print(written.write("known_answers", arguments, rows))


def measured(texts: Sequence[str], seed: int) -> list[dict[str, Any]]:
    """A row a model and label that is explained."""
    loud = run(count_of({"!": 1.0}), texts, seed)
    hire = run(count_of({r"\bhe\b": 1.5, r"\bshe\b": -1.5}), applications(seed), seed)
    return [
        {"model": "!", "label": "yes", "seed": seed, "leads": loud["yes"][0].written, "of": "!"},
        {"model": "hiring", "label": "yes", "seed": seed, "leads": hire["yes"][0].written, "of": "he"},
        {"model": "hiring", "label": "no", "seed": seed, "leads": hire["no"][0].written, "of": "she"},
        *of_vader("VADER", texts, seed),
        *of_vader("VADER :)", with_emoticons(texts, seed), seed),
    ]


def of_vader(name: str, texts: Sequence[str], seed: int, **settings: Any) -> list[dict[str, Any]]:
    """A row a label: how many of its top terms VADER knows, and the signs among them."""
    score, lexicon, rules = vader()
    found = []
    for label, terms in run(score, texts, seed, **settings).items():
        known = f"{count(terms, lexicon)}, with rules {count(terms, lexicon | rules)}"
        signs = " ".join(term.written for term in terms if not any(map(str.isalnum, term.written)))
        found.append({"model": name, "label": label, "seed": seed, "leads": known, "of": f"{len(terms)}: {signs}"})
    return found


def with_emoticons(texts: Sequence[str], seed: int) -> list[str]:
    """The same, one in ten with an emoticon at its end, whatever it says."""
    chance = np.random.default_rng(seed)
    ends = chance.choice(["", " :)", " :("], len(texts), p=[0.9, 0.05, 0.05])
    return [text + end for text, end in zip(texts, ends)]


def run(model: Callable[..., Any], texts: Iterable[str], seed: int, **settings: Any) -> dict[str, Sequence[Term]]:
    """The top terms of both labels."""
    result = Explainer(model, labels=["no", "yes"], random_state=seed, settings=settings).explain(texts)
    return {label: explanation.terms for label, explanation in result.explanations.items()}


def count(terms: Sequence[Term], known: set[str]) -> int:
    """How many of the terms are known, as they are written or in small letters."""
    return sum(bool({term.term, term.written, term.written.lower()} & known) for term in terms)


def count_of(weights: dict[str, float]) -> Callable[[Sequence[str]], NDArray[np.float64]]:
    """A model that counts what some patterns match."""

    def answer(texts: Sequence[str]) -> NDArray[np.float64]:
        sums = [sum(w * len(re.findall(p, text, re.IGNORECASE)) for p, w in weights.items()) for text in texts]
        return in_columns(1 / (1 + np.exp(0.5 - np.array(sums, float))))

    return answer


def vader() -> tuple[Callable[[Sequence[str]], NDArray[np.float64]], set[str], set[str]]:
    """VADER as a model, its lexicon, and the words of its rules."""
    from vaderSentiment import vaderSentiment as package

    analyzer = package.SentimentIntensityAnalyzer()

    def answer(texts: Sequence[str]) -> NDArray[np.float64]:
        return in_columns(np.array([(analyzer.polarity_scores(text)["compound"] + 1) / 2 for text in texts]))

    rules = {*package.NEGATE, *package.BOOSTER_DICT, "but", "no", "!", "!!", "!!!", "?!", "??", "???"}
    return answer, {*analyzer.lexicon, *analyzer.emojis}, rules


def in_columns(yes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of no and yes."""
    return np.stack([1 - yes, yes], axis=1)


def applications(seed: int) -> list[str]:
    """Made-up applications, half of them of women."""
    chance = np.random.default_rng(seed)
    return [
        f"{word.title()} worked as a {chance.choice(JOBS)} for {chance.integers(1, 20)} years, and {word} led "
        f"{chance.integers(2, 40)}. The references are {chance.choice(['good', 'mixed', 'excellent'])}."
        for word in chance.choice(["he", "she"], 600)
    ]


if __name__ == "__main__":
    main()

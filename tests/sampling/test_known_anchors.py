"""Models whose anchors are known: exactly those words come out on top, whatever the method is made of.

"yes" iff a keyword occurs. In a "yes" document the keyword keeps the prediction alone (precision 1), and any other
word only where the keyword happens to survive: in half of the samples, or a little more where it is filled in again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from runs import finish, make_run

from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.testing import KeywordPredictor
from anchorscope.text.words import split, terms

FILLERS = ("film", "cast", "plot", "slow", "story", "actor", "music", "scene")

FACTORS: dict[str, tuple] = {
    "perturbator": ("corpus", "removal", "UNK"),
    "test": ("kl", "kl-one-step", "sprt", "fixed"),
    "keep": ("own", "shared"),
    "fill": ("blind", "bank", "one-pass", "one-by-one"),
    "aggregation": ("sq", "av", "av5", "h", "pr", "total"),
}


def pairwise(factors: dict[str, tuple]) -> list[dict[str, str]]:
    """Combinations such that any two values of two factors meet in one of them: greedily, the best one first.

    total needs samples without the token, so it never meets keep own.
    """
    names = list(factors)
    every = [
        dict(zip(names, values, strict=True))
        for values in product(*factors.values())
        if not {"total", "own"} <= set(values)
    ]

    def pairs(case: dict[str, str]) -> set:
        return set(combinations(case.items(), 2))

    missing, chosen = set().union(*map(pairs, every)), []
    while missing:
        best = max(every, key=lambda case: len(pairs(case) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return chosen


CASES = pairwise(FACTORS)


def texts(keywords: Sequence[str], n: int = 20, seed: int = 0) -> list[str]:
    """Every second document holds one of the keywords once, among three to six other words."""
    chances = np.random.default_rng(seed)
    made = []
    for number in range(n):
        words = chances.choice(FILLERS, chances.integers(3, 7)).tolist()
        if number % 2:
            words.insert(int(chances.integers(0, len(words) + 1)), keywords[number // 2 % len(keywords)])
        made.append(" ".join(words))
    return made


def perturbator(name: str):
    return {
        "corpus": lambda: CorpusPerturbator(top_n=30),
        "removal": MaskTokenPerturbator,
        "UNK": lambda: MaskTokenPerturbator("UNK"),
    }[name]()


def top(documents: Sequence[str], model, label: str, k: int, **given) -> list[str]:
    chosen = {"tau": 0.95, "max_samples": 40, "round_size": 64, "top_k": k, **given}
    if chosen.get("aggregation") == "total":
        chosen["score"] = "banzhaf"
    run = make_run(documents, model=model, perturbator=perturbator(chosen.pop("perturbator")), **chosen)
    finish(run)
    return [term.term for term in run.result()[label].terms]


def test_the_cases_cover_all_pairs() -> None:
    """4 x 6 is the largest product of two factors, so 24 is the least; and far fewer than all 396."""
    seen = {pair for case in CASES for pair in combinations(case.values(), 2)}
    for one, other in combinations(FACTORS.values(), 2):
        assert all((a, b) in seen or {a, b} == {"total", "own"} for a, b in product(one, other))
    assert len(CASES) < 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.values()))
def test_the_keyword_is_the_top_term(case: dict) -> None:
    assert top(texts(["great"]), KeywordPredictor("great"), "yes", 1, **case) == ["great"]


@pytest.mark.parametrize("case", CASES[::4], ids=lambda case: " ".join(case.values()))
def test_two_keywords_are_the_two_top_terms(case: dict) -> None:
    found = top(texts(["great", "superb"], 32), KeywordPredictor("great", "superb"), "yes", 2, **case)
    assert set(found) == {"great", "superb"}


class Fruit:
    """Three labels: "apple" where apple occurs, else "banana" where banana does, else "none"."""

    name, labels, has_probabilities, fingerprint = "fruit", ("none", "apple", "banana"), True, "fruit"

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        found = [set(terms(split(text))) for text in texts]
        return np.eye(3)[[1 if "apple" in words else 2 if "banana" in words else 0 for words in found]]


@pytest.mark.parametrize("case", CASES[1::4], ids=lambda case: " ".join(case.values()))
def test_each_of_three_labels_has_its_own_keyword(case: dict) -> None:
    """ "none" has no anchor of its own: any word will do there, so it is not asked about."""
    documents = texts(["apple", "banana"], 32, seed=1)
    for label in ("apple", "banana"):
        assert top(documents, Fruit(), label, 1, **case) == [label]


def test_no_other_word_is_ever_an_anchor_under_removal() -> None:
    """A neighbour's precision is .5: of its tests (kl, a cap of 60) hardly one in a million ends as an anchor."""
    run = make_run(
        texts(["great"]), model=KeywordPredictor("great"), perturbator=MaskTokenPerturbator(), tau=0.95, top_k=20
    )
    finish(run)
    found = {term.term: (term.anchors, term.tested - term.anchors) for term in run.result()["yes"].terms}
    assert found["great"] == (10, 0)
    assert all(anchors == 0 for word, (anchors, _) in found.items() if word != "great")


@pytest.mark.parametrize("filter_", ["none", "optimistic", "sound"])
@pytest.mark.parametrize("tau_tilde", [False, True])
def test_filters_and_lowered_thresholds_find_the_keyword_too(filter_: str, tau_tilde: bool) -> None:
    found = top(
        texts(["great"]),
        KeywordPredictor("great"),
        "yes",
        1,
        perturbator="removal",
        filter=filter_,
        tau_tilde=tau_tilde,
        round_size=4,
    )
    assert found == ["great"]


@pytest.mark.parametrize("condition", ["kept", "present"])
def test_both_conditions_find_the_keyword(condition: str) -> None:
    found = top(
        texts(["great"]),
        KeywordPredictor("great"),
        "yes",
        1,
        perturbator="corpus",
        fill="one-pass",
        condition=condition,
    )
    assert found == ["great"]

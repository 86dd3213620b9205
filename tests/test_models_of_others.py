"""Models that nobody here wrote: the words that come out are words that they are known to weigh."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from anchorscope import Explainer
from anchorscope.demo import reviews
from anchorscope.result import Result


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(reviews(seed=0)[1].texts[:400])


def explained(model: Any, texts: list[str], **given: Any) -> Result:
    return Explainer(model, top_k=10, **given).explain(texts)


def drivers(result: Result, label: str) -> list[str]:
    return [term.term for term in result[label].drivers]


def test_vader_is_driven_by_its_lexicon(texts: list[str]) -> None:
    """VADER sums the valences of its lexicon's words; negations, boosters and *but* turn and scale them."""
    from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE, SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()

    def vader(some: list[str]) -> list[dict[str, float]]:
        compound = [analyzer.polarity_scores(text)["compound"] for text in some]
        return [{"negative": (1 - value) / 2, "positive": (1 + value) / 2} for value in compound]

    result = explained(vader, texts)
    weighed = {*analyzer.lexicon, *BOOSTER_DICT, *NEGATE, "but"}
    for label, sign in (("negative", -1), ("positive", 1)):
        found = drivers(result, label)
        assert len(found) >= 8 and {*found} <= weighed, found
        valences = [sign * analyzer.lexicon[term] for term in found if term in analyzer.lexicon]
        assert len(valences) >= 7 and min(valences) > 0, found


def test_a_filter_of_profanity_is_driven_by_words_that_it_weighs(texts: list[str]) -> None:
    """A linear model over counted words: the five words that drive "rude" the most raise it in a text that has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was fitted with another version of scikit-learn
        import profanity_check.profanity_check as check

    def rude(some: list[str]) -> list[dict[str, float]]:
        return [{"clean": 1 - p, "rude": p} for p in check.predict_prob(some)]

    rude_texts = [f"{text} you {word} idiot" for text, word in zip(texts, ["stupid", "damn", "silly", "ugly"] * 30)]
    found = drivers(explained(rude, [*texts[:40], *rude_texts[:60]]), "rude")[:5]
    assert {"idiot", "stupid"} <= {*found}
    for term in found:
        assert check.predict_prob([f"the {term} film"])[0] > check.predict_prob(["the film"])[0], term

"""Models that go by something that is easily overlooked: what they go by leads."""

import re

import numpy as np

from anchorscope import Explainer
from anchorscope.report.table import result_table
from anchorscope.report.view import page_data
from anchorscope.types import Predictor

JOBS = ("nurse", "engineer", "cook", "driver", "teacher", "clerk")
NOUNS = ("film", "plot", "cast", "score", "end")


def logistic(values: np.ndarray) -> np.ndarray:
    p = 1 / (1 + np.exp(-values))
    return np.stack([1 - p, p], axis=1)


def test_a_model_that_counts_exclamation_marks_is_explained_by_them():
    def loud(texts):
        return logistic(np.array([2.0 * text.count("!") - 1 for text in texts]))

    chance = np.random.default_rng(5)
    ends = chance.choice(["!", ".", "?", "!!!", "...", " :)"], 400, p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.1])
    texts = [f"The {chance.choice(NOUNS)} of 19 {chance.choice(NOUNS)}s was so good{end}" for end in ends]
    result = Explainer(loud, labels=["calm", "loud"]).explain(texts)
    assert [term.term for term in result["loud"].terms[:2]] == ["!", "!!!"]
    plain = Explainer(loud, labels=["calm", "loud"], settings={"terms": "plain"}).explain(texts)
    assert not {"!", "!!!"} & {term.term for term in plain["loud"].terms}


def test_a_model_that_hires_by_he_and_she_is_explained_by_them():
    def hire(texts):
        said = [[len(re.findall(rf"\b{word}\b", text, re.I)) for word in ("he", "she")] for text in texts]
        return logistic(np.array([1.5 * (he - she) - 0.1 for he, she in said]))

    chance = np.random.default_rng(3)
    texts = [
        f"{word.title()} worked as a {chance.choice(JOBS)} for {chance.integers(1, 20)} years, and {word} led "
        f"{chance.integers(2, 40)}. The references are {chance.choice(['good', 'mixed', 'excellent'])}."
        for word in chance.choice(["he", "she"], 400)
    ]
    result = Explainer(hire, labels=["reject", "hire"]).explain(texts)
    assert result["hire"].terms[0].term == "he"
    assert result["reject"].terms[0].term == "she"


def test_a_model_that_goes_by_negation_is_explained_by_it_where_few_texts_hold_it():
    """*fun* takes a text from 0.5 to 0.1, and *not* before it to 0.9: so do six of the 306 texts that are predicted
    *bad*. Of the others the model knows nothing (0.5 is *bad*, the first of two labels)."""

    def rates(texts):
        said = [0.9 if "not fun" in text else 0.1 if "fun" in text else 0.5 for text in texts]
        return np.stack([said, 1 - np.array(said)], axis=1)

    chance = np.random.default_rng(1)
    words = [*NOUNS, *JOBS, "is", "so", "really"]
    texts = [" ".join(chance.choice(words, 8)) for _ in range(300)]
    texts += [f"{text} {said}" for said, n in (("not fun", 6), ("fun", 40)) for text in texts[:n]]
    for seed in range(2):
        result = Explainer(rates, labels=["bad", "good"], random_state=seed).explain(texts)
        assert {term.term for term in result["bad"].terms if term.driver} == {"not", "fun"}
        assert {term.term for term in result["good"].terms if term.driver} == {"fun"}


def test_a_term_is_shown_as_it_is_written_most_often():
    """ "Großartig" twice and "GROSSARTIG" once are one term; iPhone keeps its capitals; scripts stand side by side."""
    texts = ["Großartig, mein iPhone", "Großartig! iPhone", "GROSSARTIG das iphone", "שלום iPhone", "مرحبا iPhone"]
    result = Explainer(lambda texts: logistic(np.array([len(t) / 9 for t in texts])), labels=["a", "b"]).explain(texts)
    written = {term.term: term.written for e in result.explanations.values() for term in (*e.terms, *e.against)}
    assert written["grossartig"] == "Großartig"
    assert written["iphone"] == "iPhone"
    assert {"שלום", "مرحبا"} <= written.keys()


class NearSighted:
    """A model that reads the first twelve characters, and says so."""

    name = "near-sighted"
    labels = ("no", "yes")
    has_probabilities = True
    fingerprint = "1"

    def predict(self, texts):
        return logistic(np.array([4.0 * ("great" in text[:12]) - 2 for text in texts]))

    def visible(self, texts):
        return np.array([(0, min(12, len(text))) for text in texts])


def test_words_that_the_model_does_not_read_are_not_tested_and_counted(tmp_path):
    """Of "a great one, and a bad end" it reads "a great one," and not the five words behind."""
    assert isinstance(NearSighted(), Predictor)
    texts = ["a great one, and a bad end", "a dull one", "a great film that is great"]
    result = Explainer(NearSighted(), settings={"terms": "words"}).explain(texts, out=tmp_path / "run")
    seen = {term.term for e in result.explanations.values() for term in (*e.terms, *e.against)}
    assert "great" in seen
    assert not seen & {"and", "bad", "end", "that", "is"}
    assert result.documents["unseen"] == {"documents": 2, "words": 7}
    told = "The model reads only a part of 2 documents: 7 words beyond that were never seen by it, nor tested."
    assert " ".join(result_table(result).plain.split()).endswith(told)
    assert told in result._repr_html_()
    assert page_data(tmp_path / "run")["about"]["not_tested"] == [told]
    whole = Explainer(NearSighted().predict, labels=["no", "yes"], settings={"terms": "words"}).explain(texts)
    assert "unseen" not in whole.documents and "never seen" not in whole._repr_html_()

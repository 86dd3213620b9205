"""The front door: a model in, its words out; what is given is stored as it is."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import reviews

from anchorscope import Explainer
from anchorscope.asking.retry import Retry
from anchorscope.errors import AnchorscopeError, DocumentsError, InputError, UnknownNameError
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.embedded import EmbeddedPerturbator
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.testing import KeywordPredictor, WeightPredictor
from anchorscope.text.words import split

TEXTS = ["a great film", "great cast , great plot", "a slow film", "slow and dull", "so great", "dull plot"]
CHEAP = {"round_size": 2}
PAPER = {"preset": "paper", "perturbator": MaskTokenPerturbator()}
BANZHAF = {
    "preset": "banzhaf",
    "perturbator": MaskTokenPerturbator(),
    "settings": {**CHEAP, "min_occurrences": 1, "stop_words": "none"},
}


def explainer(**given) -> Explainer:
    chosen = {"settings": CHEAP, "top_k": 3, **given}
    return Explainer(chosen.pop("model", KeywordPredictor("great")), **chosen)


@pytest.mark.parametrize("given", [{}, BANZHAF, PAPER], ids=["fast", "banzhaf", "paper"])
def test_the_keyword_comes_out_on_top(given: dict) -> None:
    assert explainer(**given).explain(TEXTS)["yes"].terms[0].term == "great"


def test_a_perturbator_is_refused_where_no_word_is_replaced() -> None:
    with pytest.raises(InputError, match="the local score occlusion only leaves them out: leave perturbator out"):
        explainer(perturbator=MaskTokenPerturbator()).explain(TEXTS)


def test_a_run_without_a_perturbator_says_so_and_none_may_be_named() -> None:
    for given in ({}, {"perturbator": "none"}):
        assert explainer(**given).explain(TEXTS).perturbator == {"name": "none", "sha256": ""}
    with pytest.raises(InputError, match="banzhaf replaces words, and the perturbator none has none"):
        explainer(preset="banzhaf", perturbator="none").explain(TEXTS)
    with pytest.raises(InputError, match="must be a Perturbator, such as CorpusPerturbator"):
        explainer(perturbator="corpus").explain(TEXTS)


def test_a_plain_function_is_a_model() -> None:
    def shouting(texts: list[str]) -> list[list[float]]:
        return [[0.0, 1.0] if "great" in text.split() else [1.0, 0.0] for text in texts]

    result = explainer(model=shouting, labels=["calm", "loud"]).explain(TEXTS)
    assert result["loud"].terms[0].term == "great"


def test_a_stream_ends_with_what_explain_returns() -> None:
    *_, last = explainer().stream(TEXTS)
    assert last.finished
    assert last.explanations == explainer().explain(TEXTS).explanations


def test_the_constructor_stores_what_it_is_given() -> None:
    """As in scikit-learn: every argument is an attribute of the same name, as it came."""
    settings, perturbator = {"delta": 0.2}, MaskTokenPerturbator()
    given = {"top_k": 3, "random_state": 7, "labels": ["a", "b"], "only": ["a"], "perturbator": perturbator}
    given |= {"preset": "paper", "settings": settings, "workers": 2, "max_seconds": 1.0, "max_model_calls": 9}
    given |= {
        "backend": "local",
        "retry": Retry(tries=3),
        "keep_texts": False,
        "cache": False,
        "batch_size": 8,
        "text_column": "text",
        "head": "a",
    }
    made = Explainer("no model yet", **given)
    assert set(given) | {"model"} == set(inspect.signature(Explainer.__init__).parameters) - {"self"}
    assert all(getattr(made, name) is value for name, value in given.items())


def test_random_state_is_the_seed() -> None:
    assert explainer(random_state=5).explain(TEXTS).settings["seed"] == 5


def test_settings_go_before_the_preset() -> None:
    found = explainer(**PAPER, settings={**CHEAP, "delta": 0.2}).explain(TEXTS).settings
    assert (found["delta"], found["keep"], found["test"]) == (0.2, "own", "kl")


def test_only_names_the_labels_to_explain() -> None:
    assert list(explainer(only=["yes"]).explain(TEXTS).explanations) == ["yes"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"preset": "fats"}, "did you mean 'fast'"),
        ({"settings": {"detla": 0.1}}, "did you mean 'delta'"),
        ({"settings": {"aggregation": "prr"}}, "did you mean 'pr'"),
        ({"settings": {"test": "sprr"}}, "did you mean 'sprt'"),
        ({"only": ["yess"]}, "did you mean 'yes'"),
    ],
)
def test_unknown_names_list_near_misses(given: dict, words: str) -> None:
    with pytest.raises(UnknownNameError, match=words):
        explainer(**given).explain(TEXTS)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tau": 1.0}, "tau must be between 0 and 1"),
        ({"delta": float("nan")}, "delta"),
        ({"alpha": 0}, "alpha"),
        ({"filter": "sound", "aggregation": "base"}, "filter sound knows no bound"),
        ({"filter": "optimistic", "aggregation": "base"}, "filter optimistic knows no pseudo-score"),
        ({"keep": "own", "aggregation": "total"}, "keep own"),
        ({"max_samples": 0}, "max_samples"),
        ({"score": "occlusion", "aggregation": "sq"}, "'sq' counts anchors, and score occlusion tests none"),
        ({"score": "anchor", "aggregation": "total"}, "score anchor says yes or no"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(settings: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        explainer(settings={"strategy": "scan", **settings}).explain(TEXTS)


def test_there_is_no_top_zero() -> None:
    with pytest.raises(InputError, match="top_k must be from 1"):
        explainer(top_k=0).explain(TEXTS)


def test_a_run_folder_holds_the_result(tmp_path: Path) -> None:
    result = explainer().explain(TEXTS, out=tmp_path / "run")
    assert json.loads((tmp_path / "run" / "result.json").read_text()) == json.loads(result.to_json())


def test_a_run_folder_goes_on_where_it_was_left(tmp_path: Path) -> None:
    whole = explainer().explain(TEXTS)
    stream = explainer().stream(TEXTS, out=tmp_path / "run")
    next(stream), next(stream)
    stream.close()
    assert explainer().explain(TEXTS, out=tmp_path / "run", resume=True).explanations == whole.explanations


def test_the_model_calls_of_a_budget_end_the_run() -> None:
    """Of 10 calls 4 go to documents (4 in 10), and 6 to tests."""
    result = explainer(max_model_calls=10, model=WeightPredictor({"great": 1.0}, bias=-0.5)).explain(TEXTS)
    assert sum(e.asked for e in result.explanations.values()) == 4
    assert result.cost.predictor_texts <= 10 and 0 < result.cost.tests <= 6


def test_a_budget_of_nothing_is_a_budget() -> None:
    with pytest.raises(AnchorscopeError, match=r"max_seconds 0 ends before the model has answered about the first"):
        explainer(max_seconds=0).explain(TEXTS)


def test_an_argument_and_a_setting_that_disagree_are_refused() -> None:
    with pytest.raises(InputError, match="top_k"):
        explainer(top_k=3, settings={**CHEAP, "top_k": 7}).explain(TEXTS)


def test_training_texts_are_those_of_av5() -> None:
    """ "great" four times in the training texts is one too few."""
    settings = {**CHEAP, "strategy": "scan", "aggregation": "av5", "test": "kl", "max_samples": 60}
    noise = MaskTokenPerturbator()
    for n, expected in ((4, 0.0), (5, 1.0)):
        result = explainer(settings=settings, perturbator=noise).explain(TEXTS, training_texts=["great"] * n)
        assert {t.term: t.score for t in result["yes"].terms}["great"] == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"perturbator": "corpus"}, r"perturbator must be a Perturbator, such as CorpusPerturbator\(\), not 'corpus'"),
        ({"perturbator": CorpusPerturbator}, "perturbator must be a Perturbator"),
        ({"max_seconds": "5"}, "max_seconds must be a number of at least 0, not '5'"),
        ({"max_seconds": float("nan")}, "max_seconds must be a number of at least 0, not nan"),
        ({"max_model_calls": -1}, "max_model_calls must be a number of at least 0, not -1"),
        ({"workers": 1.5}, "workers must be a whole number of at least 1, not 1.5"),
        ({"workers": "2"}, "workers must be a whole number"),
        ({"preset": None}, "preset must be a name .*, not None"),
        ({"preset": ["fast"]}, "preset must be a name"),
        ({"settings": 5}, "settings must map names to values"),
        ({"settings": {1: 2}}, "settings must map names to values"),
        ({"settings": {"delta": np.array([0.1, 0.2])}}, r"delta must be a number, not array\(\[0.1, 0.2\]\)"),
        (
            {"settings": {"max_samples": np.arange(99.0).reshape(-1, 1)}},
            "max_samples must be a whole number, not array",
        ),
        ({"only": "yes"}, r"only must be a list of names and not the text 'yes'; write only=\['yes'\]"),
        ({"only": 1}, "only must be a list of names, not 1"),
        ({"only": [1]}, r"names of labels are strings, and 1 is none; write only=\['1'\]"),
        ({"labels": [0, 1]}, "names of labels are strings"),
        ({"retry": 3}, "retry must be a Retry, not 3"),
    ],
)
def test_an_argument_of_another_kind_is_refused_in_one_sentence(given: dict, words: str) -> None:
    with pytest.raises(InputError, match=words) as refusal:
        explainer(**given).explain(TEXTS)
    assert "\n" not in str(refusal.value)


def test_numbers_of_numpy_are_numbers() -> None:
    """Scalars, and arrays of no dimension."""
    given = {"max_seconds": np.float32(9), "max_model_calls": np.int64(10**6), "workers": np.int64(1)}
    settings = {**CHEAP, "delta": np.float32(0.25), "max_samples": np.array(12)}
    found = explainer(settings=settings, top_k=np.int64(2), **given).explain(TEXTS).settings
    assert (found["delta"], found["max_samples"], found["top_k"]) == (0.25, 12, 2)


@pytest.mark.parametrize(
    ("training", "words"),
    [
        ("great film", r"training_texts is a single str; wrap it in a list: \['great film'\]"),
        ([1, 2], r"training_texts\[0\] is 1 \(a int\), not a string"),
        (5, "training_texts is a int"),
    ],
)
def test_training_texts_are_texts(training, words: str) -> None:
    with pytest.raises(InputError, match=words):
        explainer().explain(TEXTS, training_texts=training)


def test_training_texts_may_be_read_only_once(tmp_path: Path) -> None:
    """A generator is counted, and the same texts as a list go on with its run."""
    settings = {**CHEAP, "strategy": "scan", "aggregation": "av5", "test": "kl", "max_samples": 60}
    made = explainer(settings=settings, perturbator=MaskTokenPerturbator())
    once = made.explain(TEXTS, training_texts=("great" for _ in range(5)), out=tmp_path / "run")
    again = made.explain(TEXTS, training_texts=["great"] * 5, out=tmp_path / "run", resume=True)
    assert {t.term: t.score for t in once["yes"].terms}["great"] == 1.0
    assert again.explanations == once.explanations


# --- one document ---


def noisy(**given) -> Explainer:
    return explainer(perturbator=MaskTokenPerturbator(), **given)


def test_the_effects_of_one_document() -> None:
    """ "yes" iff great occurs: without all of its *great*s it is "no", and no other word matters; one call a term."""
    found = explainer().effects("a great, great film")
    assert (found.label, found.score) == ("yes", "occlusion")
    assert [(w.word, w.span, w.effect) for w in found.words] == [
        ("a", (0, 1), 0.0),
        ("great", (2, 7), 1.0),
        ("great", (9, 14), 1.0),
        ("film", (15, 19), 0.0),
    ]
    assert all(w.anchor is None and w.deviation == 0 for w in found.words) and found.anchors == ()


def test_effects_of_samples_have_a_deviation() -> None:
    """Banzhaf: with one *great* the other word changes nothing; a dozen samples that keep it make no verdict."""
    found = explainer(**BANZHAF).effects("great film")
    assert found.score == "banzhaf" and [w.word for w in found.words] == ["great", "film"]
    assert found.words[0].effect == pytest.approx(1.0) and abs(found.words[1].effect) < 0.5
    assert found.anchors == () and all(w.anchor is None and not w.samples for w in found.words)


def test_there_are_no_effects_where_anchors_are_tested() -> None:
    with pytest.raises(InputError, match=r"The preset 'paper' tests anchors: ask for anchors\(\)"):
        explainer(**PAPER).effects("a great film")


def test_effects_take_no_perturbator() -> None:
    with pytest.raises(InputError, match="occlusion only leaves them out"):
        noisy().effects("a great film")


def test_the_anchors_of_one_document() -> None:
    """ "yes" iff great occurs, removal; words with spans, punctuation left out."""
    found = noisy(settings={"test": "kl", "max_samples": 200}).anchors("a great, great film")
    assert found.label == "yes" and found.probability == 1.0
    assert found.probabilities == {"no": 0.0, "yes": 1.0}
    assert [(w.word, w.span) for w in found.words] == [
        ("a", (0, 1)),
        ("great", (2, 7)),
        ("great", (9, 14)),
        ("film", (15, 19)),
    ]
    assert found.anchors == ("great", "great")


def test_one_document_needs_a_word() -> None:
    with pytest.raises(DocumentsError, match="no word to test"):
        noisy().anchors("?!")


def test_one_document_has_stop_words_and_rare_words_tested_too() -> None:
    assert [w.word for w in noisy().anchors("the film").words] == ["the", "film"]


def test_one_document_does_not_change_the_perturbator_it_is_given() -> None:
    """Fitted to a collection, it must still propose words of that collection afterwards (and for the document)."""
    perturbator = CorpusPerturbator(top_n=30)
    perturbator = perturbator.fit([split(text) for text in reviews()])
    before = perturbator.fingerprint
    explainer(perturbator=perturbator).anchors("a great film")
    assert perturbator.fingerprint == before


def test_a_perturbator_that_has_seen_no_texts_learns_from_the_document() -> None:
    """As on the command line; and from the next document anew."""
    perturbator = CorpusPerturbator(top_n=30)
    made = explainer(perturbator=perturbator)
    assert made.anchors("a great film").anchors == ("great",)
    assert not perturbator.vocabulary
    first, again = (made.anchors("great plot , great cast") for _ in range(2))
    assert first == again


def test_without_a_perturbator_english_gets_the_embedded_one() -> None:
    found, expected = (explainer(perturbator=noise).anchors(TEXTS[0]) for noise in (None, EmbeddedPerturbator()))
    assert found == expected


def test_without_a_perturbator_other_documents_get_words_of_their_own() -> None:
    russian, learnt = "этот фильм был очень хорош и прекрасно снят", CorpusPerturbator()
    learnt = learnt.fit([split(russian)])
    model = KeywordPredictor("хорош")
    with pytest.warns(UserWarning, match="drawn from the documents themselves") as remarks:
        found = explainer(perturbator=None, model=model).anchors(russian)
    assert remarks[0].filename == __file__
    assert found == explainer(perturbator=learnt, model=model).anchors(russian)


@pytest.mark.parametrize("cap", [12, 40])
def test_one_document_is_tested_with_the_settings_that_are_given(cap: int) -> None:
    """A coin that no test can call within the cap: every word takes all of its samples, and no more."""
    model = WeightPredictor({"great": 1.0, "dull": -1.0}, bias=0.01)
    given = {"test": "sprt", "tau": 0.5, "delta": 1e-9, "look": 4, "max_samples": cap}
    found = noisy(model=model, settings=given).anchors("great dull great dull film")
    assert {word.samples for word in found.words} == {cap}
    by_default = noisy(model=model, settings={"max_samples": cap}).anchors("great dull great dull film")
    assert max(word.samples for word in by_default.words) <= cap


def test_one_document_keeps_what_is_given_to_keep() -> None:
    """Of 12 samples of its own a word is in each; of 12 that all words share, in some."""
    given = {"test": "fixed", "max_samples": 12}
    own, shared = (noisy(settings={**given, "keep": keep}).anchors("a great film") for keep in ("own", "shared"))
    assert [word.samples for word in own.words] == [12] * 3
    assert all(0 < word.samples < 12 for word in shared.words)


def test_one_document_is_a_text() -> None:
    with pytest.raises(InputError, match=r"text must be a string, not 5 \(a int\)"):
        noisy().anchors(5)


# --- texts from elsewhere ---


def test_texts_of_pandas_and_numpy_are_texts() -> None:
    pandas = pytest.importorskip("pandas")
    expected = explainer().explain(TEXTS).explanations
    for texts in (pandas.Series(TEXTS), np.array(TEXTS), tuple(TEXTS), iter(TEXTS)):
        assert explainer().explain(texts).explanations == expected


def test_a_model_of_labels_only_works() -> None:
    """In an order that needs no probabilities."""

    def named(texts: list[str]) -> list[str]:
        return ["yes" if "great" in text else "no" for text in texts]

    settings = {**CHEAP, "strategy": "scan", "aggregation": "sq", "order": "random"}
    result = explainer(model=named, labels=["no", "yes"], settings=settings).explain(TEXTS)
    assert result["yes"].terms[0].term == "great"


def test_the_order_of_confidence_needs_probabilities() -> None:
    """Confidences of a model of labels are all 1: the scan goes by key then, and must say so (warning or refusal)."""

    def named(texts: list[str]) -> list[str]:
        return ["yes" if "great" in text else "no" for text in texts]

    settings = {**CHEAP, "strategy": "scan", "aggregation": "sq", "order": "confidence"}
    with pytest.raises((InputError, UserWarning), match="probabilit"):
        explainer(model=named, labels=["no", "yes"], settings=settings).explain(TEXTS)


@pytest.mark.parametrize(
    ("given", "texts", "told"),
    [
        ({"top_k": 0}, TEXTS, "top_k must be "),
        ({"random_state": -1}, TEXTS, "random_state must be "),
        ({"settings": {"regret": 2}}, TEXTS, "regret must be "),
        ({"max_model_calls": 1}, TEXTS, "max_model_calls"),
        ({}, [], "There is no usable text among the 0 that were given; give some with words."),
        ({}, ["  "], "There is no usable text among the 1 that were given; give some with words."),
    ],
)
def test_errors_speak_of_arguments_and_not_of_options(given: dict[str, Any], texts: list[str], told: str) -> None:
    for ask in (lambda: explainer(**given).explain(texts), lambda: [*explainer(**given).stream(texts)]):
        with pytest.raises(AnchorscopeError) as caught:
            ask()
        assert told in str(caught.value) and "--" not in str(caught.value)

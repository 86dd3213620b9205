"""Multi-label models, of every kind: one question a label, whether a text has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from contracts.test_predictor_contract import tiny_bert
from tiny_onnx import tiny_onnx

from anchorscope import Explainer
from anchorscope.cli import main
from anchorscope.errors import InputError, ModelError, UnknownNameError
from anchorscope.predictors import as_predictor, load_predictor
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.testing.server import StandInServer

HEADS = ["insult", "threat"]
TEXTS = ["you fool", "get lost", "get lost you fool", "a fine day", "fool", "lost", "a day", "you fine fool"] * 4
FLAGS = np.array([["fool" in text, "lost" in text] for text in TEXTS]).astype(int)


def fitted(classifier: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(), classifier).fit(TEXTS, FLAGS)


def classifiers() -> dict[str, Any]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import LinearSVC

    regression = LogisticRegression(C=100)
    return {
        "one-vs-rest": OneVsRestClassifier(regression),
        "one-vs-rest of margins": OneVsRestClassifier(LinearSVC(random_state=0)),
        "an output each": MultiOutputClassifier(regression),
        "an output each, labels alone": MultiOutputClassifier(LinearSVC(random_state=0)),
        "a chain": ClassifierChain(regression),
        "trees": RandomForestClassifier(20, random_state=0),
        "neighbours": KNeighborsClassifier(1),
        "a network": MLPClassifier((4,), solver="lbfgs", random_state=0),
    }


@pytest.mark.parametrize("kind", classifiers())
def test_a_scikit_model_is_asked_about_one_label(kind: str) -> None:
    """The training texts are told apart by one word each, so every kind answers as they say."""
    model = fitted(classifiers()[kind])
    with pytest.raises(InputError, match=r"any number of its labels \(insult, threat\).*--head insult"):
        as_predictor(model, labels=HEADS)
    for number, head in enumerate(HEADS):
        predictor = as_predictor(model, labels=HEADS, head=head)
        assert predictor.labels == (f"not {head}", head)
        assert np.array_equal(predictor.predict(TEXTS).argmax(axis=1), FLAGS[:, number])


def test_a_head_that_has_seen_no_yes_says_no() -> None:
    """Its one column is that of no: 1 there is no probability of yes."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    texts = ["good film", "bad film"] * 4
    trees = RandomForestClassifier(n_estimators=3, random_state=0)
    model = make_pipeline(CountVectorizer(), trees).fit(texts, np.array([[1, 0], [0, 0]] * 4))
    assert as_predictor(model, labels=["a", "b"], head="b").predict(["good film"]).tolist() == [[1.0, 0.0]]
    assert as_predictor(model, labels=["a", "b"], head="a").predict(["good film"])[0, 1] > 0.5


def test_the_words_of_a_head_are_those_of_its_own_label() -> None:
    model = fitted(classifiers()["one-vs-rest"])
    result = Explainer(model, labels=HEADS, head="threat", settings={"min_occurrences": 1}).explain(TEXTS)
    assert result["threat"].terms[0].term == "lost" and "fool" not in [t.term for t in result["threat"].drivers]


def test_a_network_of_hugging_face_answers_by_sigmoids(tmp_path: Path) -> None:
    import torch

    model, tokenizer = tiny_bert()
    model.config.problem_type = "multi_label_classification"
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "bert")
    texts = ["a great film", "bad", "not a film"]
    with torch.no_grad():
        logits = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.double().numpy()
    for number, head in enumerate(("bad", "good")):
        predictor = load_predictor(str(tmp_path / "bert"), head=head)
        assert np.allclose(predictor.predict(texts)[:, 1], 1 / (1 + np.exp(-logits[:, number])), atol=1e-6)
    with pytest.raises(UnknownNameError, match="bda"):
        load_predictor(str(tmp_path / "bert"), head="bda")
    with pytest.raises(InputError, match="--head bad"):
        load_predictor(str(tmp_path / "bert"))


def test_a_pipeline_of_hugging_face_does_too() -> None:
    import transformers

    model, tokenizer = tiny_bert()
    model.config.problem_type = "multi_label_classification"
    pipeline = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)
    asked = as_predictor(pipeline, head="good").predict(["a great film"])
    scores = {score["label"]: score["score"] for score in pipeline("a great film", top_k=None)}
    assert asked[0, 1] == pytest.approx(scores["good"]) and sum(scores.values()) != pytest.approx(1, abs=1e-3)


def test_an_onnx_file_with_logits_goes_through_a_sigmoid(tmp_path: Path) -> None:
    """The logits of "great" are (-1, 1): the sigmoid of 1 is 0.731, where a softmax of both would give 0.881."""
    path = tiny_onnx(tmp_path, {"great": 2.0}, ("bad", "good"))
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "problem_type": "multi_label_classification"}))
    assert load_predictor(str(path), head="good").predict(["great"])[0, 1] == pytest.approx(0.7311, abs=1e-4)


def test_one_label_of_a_model_of_one_label_a_text_stands_against_all_others() -> None:
    predictor = as_predictor(lambda texts: [[0.2, 0.3, 0.5]] * len(texts), labels=["a", "b", "c"], head="b")
    assert predictor.labels == ("not b", "b") and predictor.predict(["x"]).tolist() == [[0.7, 0.3]]


def test_a_server_whose_rows_do_not_sum_to_one() -> None:
    class Flags:
        name, labels, has_probabilities, fingerprint = "flags", tuple(HEADS), True, "0"

        def predict(self, texts: list[str]) -> Any:
            return np.array([["fool" in text, "lost" in text] for text in texts], float)

    with StandInServer(Flags(), "torchserve") as server:
        predictor = load_predictor(server.url, head="threat", remote=RemoteOptions(api="torchserve"))
        assert predictor.predict(["get lost you fool", "fool"]).argmax(axis=1).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ([[2.0, -1.0]], "are no probabilities .* through a sigmoid"),
        ([[0.5]], r"array of shape \(1, 1\) for 1 texts; expected 2 probabilities a text"),
        ([[0.5, 0.5]] * 2, r"array of shape \(2, 2\) for 1 texts"),
        ([["a", "b"]], "values of type str32 instead of numbers"),
        ([["0.5", "0.5"]], "values of type str96 instead of numbers"),
        ([[0.5, None]], "NoneType instead of numbers"),
        ([[0.5, float("nan")]], "'x' holds NaN"),
        ([[0.5, -3.0]], "for threat are no probabilities"),
        (np.ma.masked_array([[0.5, 0.5]], mask=[[True, False]]), "values are masked"),
        (pandas.DataFrame([[0.9, 0.1]], columns=HEADS[::-1]), "columns are threat, insult; expected insult, threat"),
        (pandas.DataFrame([[0.9, 0.1]], columns=[1, 0]), "columns are 1, 0; expected 0, 1"),
    ],
)
def test_what_is_no_answer_of_heads_is_a_sentence(answer: Any, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        as_predictor(lambda texts: answer, labels=HEADS, head="insult").predict(["x"])


def test_the_columns_of_a_head_stay_as_they_were() -> None:
    """A table of numbered or of foreign columns is known by them from its first answer on."""
    answers = [pandas.DataFrame([[0.2, 0.8]], columns=names) for names in (["a", "b"], ["b", "a"])]
    predictor = as_predictor(lambda texts: answers.pop(0), labels=HEADS, head="insult")
    assert predictor.predict(["x"]).tolist() == [[0.8, 0.2]]
    with pytest.raises(ModelError, match="columns were a, b and are now b, a"):
        predictor.predict(["y"])


class Margins:
    """A classifier of margins, or of several labels, whose answers are those that it is given."""

    def __init__(self, classes: Any, *answers: Any) -> None:
        self.classes_ = classes
        self.answers = [*answers]

    def decision_function(self, texts: list[str]) -> Any:
        return self.answers.pop(0)

    def predict(self, texts: list[str]) -> Any: ...


@pytest.mark.parametrize("classes", [["bad", "good"], [[0, 1], [0, 1]]], ids=["one label", "any number of labels"])
def test_margins_are_read_like_any_other_answer(classes: Any) -> None:
    """numpy makes numbers of digits, forgets what is masked, and knows nothing of the names of columns."""

    def tables(*names: list[str]) -> list[Any]:
        return [pandas.DataFrame([[0.2, 0.8]], columns=each) for each in names]

    def asked(*answers: Any) -> Any:
        return as_predictor(Margins(classes, *answers), labels=HEADS, head="threat")

    with pytest.raises(ModelError, match="instead of numbers"):
        asked([["0.5", "1"]]).predict(["x"])
    with pytest.raises(ModelError, match="values are masked"):
        asked(np.ma.masked_array([[0.5, 0.5]], mask=[[True, False]])).predict(["x"])
    turning = asked(*tables(["a", "b"], ["b", "a"]))
    turning.predict(["x"])
    with pytest.raises(ModelError, match="are now b, a"):
        turning.predict(["y"])


def test_columns_named_as_the_classes_stand_in_their_order_under_new_names_too() -> None:
    class Renamed:
        classes_ = ("neg", "pos")

        def predict_proba(self, texts: list[str]) -> Any:
            return pandas.DataFrame([[0.9, 0.1]] * len(texts), columns=["pos", "neg"])

    with pytest.raises(ModelError, match="columns are pos, neg; expected neg, pos"):
        as_predictor(Renamed(), labels=["no", "yes"]).predict(["x"])


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "[{'insult': float('fool' in t), 'threat': float('lost' in t)} for t in texts]"
    source = f"def flags(texts):\n    return {rows}\n"
    (tmp_path / "flagging.py").write_text(source)
    (tmp_path / "comments.txt").write_text("\n".join(TEXTS))
    asked = ["explain", "comments.txt", "--model", "flagging:flags", "--min-occurrences", "1", "-q"]
    assert main([*asked, "--head", "threat", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [*result["labels"]] == ["not threat", "threat"]
    assert main([*asked, "--head", "thread"]) == 2
    assert "'thread'" in capsys.readouterr().err

"""Pairs of texts: terms know their side, what is done to a pair leaves a pair, every kind of model reads both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contracts.test_predictor_contract import tiny_bert
from hypothesis import given
from hypothesis import strategies as st
from tiny_onnx import tiny_onnx

from anchorscope import Explainer
from anchorscope.cli import main
from anchorscope.errors import DocumentsError, ModelError, UnknownNameError
from anchorscope.predictors import as_predictor, load_predictor
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.text.pairs import is_pair, paired, sides
from anchorscope.text.read import read_files
from anchorscope.text.words import removals, split

ANIMALS = ("cat", "dog", "cow", "hen")
PAIRS = [
    (f"A {animal} is {first}.", f"The {animal} is {second}.")
    for animal in ANIMALS
    for first in ("not here", "here")
    for second in ("not away", "away")
]


def denies(pairs: list[tuple[str, str]]) -> list[dict[str, float]]:
    """Goes by the word *not* in the hypothesis, and by nothing else."""
    assert all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs), pairs
    found = [0.9 if "not" in split(hypothesis).words else 0.1 for _, hypothesis in pairs]
    return [{"denies": p, "entails": 1 - p} for p in found]


@pytest.mark.parametrize("preset", ["fast", "banzhaf"])
def test_a_word_counts_on_its_side_alone(preset: str) -> None:
    """With every preset the model gets pairs and nothing else: the border between the sides is never replaced."""
    explainer = Explainer(denies, preset=preset, settings={"min_occurrences": 1})
    result = explainer.explain(PAIRS)
    terms = [term.term for term in result["denies"].terms]
    assert terms[0] == "②not" and "␞" not in "".join(terms)
    if preset == "fast":
        assert [term.term for term in result["denies"].drivers] == ["②not"]


def test_one_pair() -> None:
    found = Explainer(denies).effects(PAIRS[0])
    assert {word.word for word in found.words if abs(word.effect or 0) > 0.5} == {"not"}
    assert [word.effect for word in found.words if word.word == "not"] == pytest.approx([0.0, 0.8])


@given(st.text("ab.! ", max_size=12), st.text("cd,? ", max_size=12), st.data())
def test_whatever_is_removed_it_stays_a_pair(first: str, second: str, data: st.DataObject) -> None:
    text = paired(first, second)
    if not text:
        return
    words = split(text).words
    border = words.index("␞")
    others = [place for place in range(len(words)) if place != border]
    gone = data.draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    left = removals(text, [tuple(sorted(gone))])[0]
    assert is_pair(left)
    before, after = sides(left)
    assert split(before).words == tuple(words[i] for i in range(border) if i not in gone)
    assert split(after).words == tuple(words[i] for i in range(border + 1, len(words)) if i not in gone)


ROWS = [{"premise": a, "hypothesis": b, "gold": "x"} for a, b in PAIRS]


def as_file(kind: str, folder: Path) -> Path:
    import pandas

    path = folder / f"pairs.{kind}"
    table = pandas.DataFrame(ROWS)
    if kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, ROWS)))
    elif kind == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, sep="," if kind == "csv" else "\t", index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_two_columns_of_a_file_are_a_pair(kind: str, tmp_path: Path) -> None:
    documents = read_files(as_file(kind, tmp_path), text_column="premise, hypothesis", label_column="gold").documents
    assert [sides(document.text) for document in documents] == PAIRS and documents[0].label == "x"
    with pytest.raises(UnknownNameError, match="'hypotesis'"):
        read_files(as_file(kind, tmp_path), text_column="premise,hypotesis")


def test_a_column_whose_name_has_a_comma_is_a_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"a,b",a\none,two\n')
    assert read_files(tmp_path / "t.csv", text_column="a,b").documents[0].text == "one"


def test_the_border_may_not_be_inside() -> None:
    with pytest.raises(DocumentsError, match="holds the sign ␞"):
        Explainer(denies).explain([("a ␞ b", "c")])


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    body = "[{'no': 0.9, 'yes': 0.1} if 'not' in b else {'no': 0.1, 'yes': 0.9} for a, b in pairs]"
    (tmp_path / "inference.py").write_text(f"def denies(pairs):\n    return {body}\n")
    path = as_file("csv", tmp_path)
    asked = ["explain", str(path), "--text-column", "premise,hypothesis", "--model", "inference:denies", "-q"]
    assert main([*asked, "--min-occurrences", "1", "--json", "--out", "run"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"]["no"]["terms"][0]["term"] == "②not"
    assert main(["report", "run"]) == 0
    assert "②not" in (tmp_path / "run" / "report.html").read_text()
    assert main(["evaluate", "run", "-q", "--yes"]) == 0  # what is removed is the word on its side


def test_hugging_face_folders_and_pipelines_read_both_sides(tmp_path: Path) -> None:
    import torch
    import transformers

    model, tokenizer = tiny_bert()
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "bert")
    pairs = [("a great film", "bad"), ("film", "not a film"), ("bad", "a great great film")]
    with torch.no_grad():
        inputs = tokenizer(*map(list, zip(*pairs)), padding=True, return_tensors="pt")
        expected = model(**inputs).logits.double().softmax(dim=-1).numpy()
    assert inputs["token_type_ids"].any()
    texts = [paired(*pair) for pair in pairs]
    pipeline = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)
    for predictor in (load_predictor(str(tmp_path / "bert")), as_predictor(pipeline)):
        assert np.allclose(predictor.predict(texts), expected, atol=1e-5)


def test_a_model_that_reads_a_table_gets_two_columns() -> None:
    import pandas
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    columns = ColumnTransformer([(name, CountVectorizer(), name) for name in ("premise", "hypothesis")])
    table = pandas.DataFrame(ROWS)[["premise", "hypothesis"]]
    targets = ["denies" if "not" in hypothesis else "entails" for _, hypothesis in PAIRS]
    model = make_pipeline(columns, LogisticRegression(C=100)).fit(table, targets)
    predictor = as_predictor(model, text_column="premise,hypothesis")
    texts = [paired(*pair) for pair in PAIRS]
    assert np.allclose(predictor.predict(texts), model.predict_proba(table))
    result = Explainer(model, text_column="premise,hypothesis", settings={"min_occurrences": 1}).explain(PAIRS)
    assert result["denies"].terms[0].term == "②not"


def test_an_onnx_file_reads_both_sides(tmp_path: Path) -> None:
    """The sums of the weights of both sides: 2 and -1 make a logit of 0.5 for good, so sigmoid(1) = 0.731."""
    predictor = load_predictor(str(tiny_onnx(tmp_path, {"great": 2.0, "dull": -1.0}, ("bad", "good"))))
    assert predictor.predict(["great ␞ dull"])[0, 1] == pytest.approx(0.7311, abs=1e-4)


def test_a_form_of_ones_own_has_a_hole_for_each_side() -> None:
    from anchorscope.predictors.remote.forms import make_form

    request = '{"premise": "{first}", "hypothesis": "{second}"}'
    form = make_form(RemoteOptions(request=request, answer="scores"), None)
    assert form.body(["a {second} cat ␞ a pet"]) == {"premise": "a {second} cat", "hypothesis": "a pet"}
    assert make_form(RemoteOptions(api="huggingface"), None).body(["a ␞ b"])["inputs"] == {
        "text": "a",
        "text_pair": "b",
    }
    chat = make_form(RemoteOptions(api="openai", api_model="m"), ["no", "yes"])
    assert chat.body(["a ␞ b"])["messages"][-1]["content"] == "1: a\n2: b"


def test_a_form_that_sends_one_text_says_so() -> None:
    predictor = load_predictor("http://127.0.0.1:9/", labels=["a", "b"], remote=RemoteOptions(api="mlflow"))
    with pytest.raises(ModelError, match="sends one text, and these are pairs; write the request"):
        predictor.predict(["a ␞ b"])

"""Classifiers in ONNX files: their rows, their labels, and what is wrong with files that are none."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from tiny_onnx import tiny_onnx

from anchorscope import Explainer
from anchorscope.errors import InputError, ModelError, ModelFileError
from anchorscope.predictors import load_predictor

WEIGHTS = {"great": 2.0, "bad": -1.5, "film": 0.1}
LABELS = ("no", "yes")
TEXTS = ["a great film", "bad", "", "Great great bad plot", "film " * 40]


def expected(texts: list[str]) -> np.ndarray:
    """The softmax of (-s, s) / 2 is the logistic function of the sum s."""
    sums = np.array([sum(WEIGHTS.get(word, 0.0) for word in text.lower().split()) for text in texts])
    yes = 1 / (1 + np.exp(-sums))
    return np.stack([1 - yes, yes], axis=1)


@pytest.mark.parametrize("softmax", [False, True])
def test_its_rows_are_worked_out_by_hand(softmax: bool, tmp_path: Path) -> None:
    predictor = load_predictor(str(tiny_onnx(tmp_path, WEIGHTS, LABELS, softmax=softmax)))
    assert predictor.labels == LABELS
    assert np.allclose(predictor.predict(TEXTS), expected(TEXTS), atol=1e-6)


def test_labels_may_be_given(tmp_path: Path) -> None:
    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    (tmp_path / "config.json").unlink()
    with pytest.raises(InputError, match=r"labels of .*model.onnx are not known"):
        load_predictor(str(file))
    assert load_predictor(str(file), labels=["down", "up"]).labels == ("down", "up")


def test_the_words_that_it_weighs_come_out(tmp_path: Path) -> None:
    model = load_predictor(str(tiny_onnx(tmp_path, WEIGHTS, LABELS)))
    texts = ["great film plot", "bad film cast", "great cast and plot", "bad plot and so", "great so", "bad so"] * 4
    result = Explainer(model, top_k=1, settings={"min_occurrences": 1, "stop_words": "none"}).explain(texts)
    assert [result[label].terms[0].term for label in LABELS] == ["bad", "great"]


def test_a_dynamically_quantised_model_answers_alike_in_every_batch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Asked in one batch, its answers would differ by what stands beside a text, as onnxruntime's own do here."""
    from onnxruntime import InferenceSession
    from onnxruntime.quantization import quantize_dynamic

    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    quantize_dynamic(file, tmp_path / "small.onnx", extra_options={"MatMulConstBOnly": True})
    session = InferenceSession(tmp_path / "small.onnx")
    ids = np.array([[2, 0, 0], [2, 2, 4]])
    masks = (ids > 0).astype(np.int64)
    together = session.run(None, {"input_ids": ids, "attention_mask": masks})[0][0]
    alone = session.run(None, {"input_ids": ids[:1], "attention_mask": masks[:1]})[0][0]
    assert not np.array_equal(together, alone)
    with caplog.at_level(logging.WARNING, "anchorscope"):
        predictor = load_predictor(str(tmp_path / "small.onnx"))
    assert "quantised dynamically" in caplog.text
    rows = predictor.predict(TEXTS)
    assert np.array_equal(rows, np.concatenate([predictor.predict([text]) for text in TEXTS]))
    assert np.allclose(rows, expected(TEXTS), atol=0.05)


def test_long_texts_are_cut_where_the_configuration_says(tmp_path: Path) -> None:
    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    (tmp_path / "config.json").write_text(
        json.dumps({"id2label": dict(enumerate(LABELS)), "max_position_embeddings": 2})
    )
    assert np.allclose(load_predictor(str(file)).predict(["film film great"]), expected(["film film"]), atol=1e-6)


def test_what_is_no_model_is_refused_in_a_sentence(tmp_path: Path) -> None:
    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    (tmp_path / "broken.onnx").write_bytes(file.read_bytes()[:200])
    with pytest.raises(ModelFileError, match=r"'broken.onnx' cannot be read as an ONNX file .*is it whole\?"):
        load_predictor(str(tmp_path / "broken.onnx"))
    (tmp_path / "outside.onnx").write_bytes(file.read_bytes() + b"\n\x08location\x12\x0b/etc/passwd")
    with pytest.raises(ModelFileError, match="keeps its weights in another file, which is not followed"):
        load_predictor(str(tmp_path / "outside.onnx"))
    with pytest.raises(ModelError, match=r"shape \(1, 2\) for 1 texts; expected \(1, 3\) for the labels a, b, c"):
        (tmp_path / "config.json").unlink()
        load_predictor(str(file), labels=["a", "b", "c"]).predict(["great"])
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelFileError, match=r"tokenizer.json beside 'model.onnx' cannot be read"):
        load_predictor(str(file), labels=LABELS)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelFileError, match=r"no tokenizer.json beside 'model.onnx'.*save_pretrained"):
        load_predictor(str(file), labels=LABELS)

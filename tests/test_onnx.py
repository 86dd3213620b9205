"""Classifiers in ONNX files: their rows, their labels, and what is wrong with files that are none."""

from __future__ import annotations

import json
import logging
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from tiny_onnx import tiny_onnx

from anchorscope import Explainer
from anchorscope.cli import main
from anchorscope.errors import InputError, ModelError, ModelFileError
from anchorscope.predictors import load_predictor
from anchorscope.predictors.onnx_weights import INSIDE, TENSOR, names_other_files

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


def test_a_model_that_sees_padding_answers_alike_in_every_batch(tmp_path: Path) -> None:
    """A mean over what pads a text, too: beside a text of three words, one word would weigh a third."""
    predictor = load_predictor(str(tiny_onnx(tmp_path, WEIGHTS, LABELS, sees_padding=True)))
    yes = [1 / (1 + np.exp(-mean)) for mean in (2.0, -1.5 / 3, 0.1, (2.0 - 1.5) / 2)]
    rows = predictor.predict(["great", "bad and so", "film", "great bad"])
    assert np.allclose(rows[:, 1], yes, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, "length"), ("n", 6), (1, 6), (4, 6)])
def test_a_model_that_was_exported_for_one_shape_reads_that_shape(
    shape: tuple[int | str, int | str], tmp_path: Path
) -> None:
    """As torch exports it where nobody names what may vary; a longer text is cut at the last piece."""
    predictor = load_predictor(str(tiny_onnx(tmp_path, WEIGHTS, LABELS, shape=shape)))
    read = TEXTS[:4] if shape[1] == 6 else TEXTS
    assert np.allclose(predictor.predict(TEXTS)[: len(read)], expected(read), atol=1e-6)
    if shape[1] == 6:
        assert np.allclose(predictor.predict(TEXTS)[4:], expected(["film " * 6]), atol=1e-6)


def test_it_says_how_far_it_reads(tmp_path: Path) -> None:
    predictor = load_predictor(str(tiny_onnx(tmp_path, WEIGHTS, LABELS, shape=("n", 2))))
    pair = "film great\u241efilm great"
    assert predictor.visible(["bad film", "bad film, great", "", pair]).tolist() == [[0, 8], [0, 8], [0, 0], [0, 21]]


def test_labels_first_instead_of_numbers_are_refused_when_it_is_loaded(tmp_path: Path) -> None:
    """As classifiers that were converted from scikit-learn have them."""
    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    model = onnx.load(file)
    model.graph.node.append(onnx.helper.make_node("ArgMax", ["logits"], ["label"], axis=1, keepdims=0))
    model.graph.output.insert(0, onnx.helper.make_tensor_value_info("label", onnx.TensorProto.INT64, ["n"]))
    onnx.save(model, file)
    with pytest.raises(ModelFileError, match=r"tensor\(int64\) as its first output; expected a row of logits"):
        load_predictor(str(file))


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
    with pytest.raises(ModelError, match=r"shape \(4, 2\) for 4 texts; expected \(4, 3\) for the labels a, b, c"):
        (tmp_path / "config.json").unlink()
        load_predictor(str(file), labels=["a", "b", "c"])
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelFileError, match=r"tokenizer.json beside 'model.onnx' cannot be read"):
        load_predictor(str(file), labels=LABELS)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelFileError, match=r"no tokenizer.json beside 'model.onnx'.*save_pretrained"):
        load_predictor(str(file), labels=LABELS)


def field(number: int, data: bytes, *, overlong: bool = False) -> bytes:
    """A field of protobuf that holds few bytes; its length may be written with a byte more than it needs."""
    return bytes([number << 3 | 2, *([len(data) | 0x80, 0] if overlong else [len(data)])]) + data


def elsewhere(*, overlong: bool) -> bytes:
    """A tensor whose values are said to lie in /etc/passwd."""
    entry = field(1, b"location", overlong=overlong) + field(2, b"/etc/passwd")
    return bytes([1 << 3, 4, 2 << 3, 1]) + field(8, b"w") + field(13, entry, overlong=overlong) + bytes([14 << 3, 1])


WAYS = {
    "initializer": (7, 5),
    "sparse initializer": (7, 15, 1),
    "attribute of a node": (7, 1, 5, 5),
    "graph in a node": (7, 1, 5, 6, 5),
    "function": (25, 7, 5, 10),
    "training": (20, 2, 5),
}


@pytest.mark.parametrize("overlong", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_weights_in_other_files_are_found_however_they_are_written(way: str, overlong: bool, tmp_path: Path) -> None:
    """Where the lengths are written with a byte more, the bytes of a usual entry are nowhere in the file."""
    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    data = elsewhere(overlong=overlong)
    for number in reversed(WAYS[way]):
        data = bytes([*varint(number << 3 | 2), *varint(len(data))]) + data
    assert (b"\n\x08location" in data) != overlong
    file.write_bytes(file.read_bytes() + data)
    with pytest.raises(ModelFileError, match="keeps its weights in another file, which is not followed"):
        load_predictor(str(file))


def varint(value: int) -> list[int]:
    """An integer as protobuf writes it, up to 14 bits."""
    return [value] if value < 128 else [value & 0x7F | 0x80, value >> 7]


def test_every_message_that_can_hold_a_tensor_is_walked() -> None:
    """Against the definition that comes with the onnx package."""
    kinds: dict[str, dict[int, str]] = {}
    left = [onnx.ModelProto.DESCRIPTOR]
    while left:
        kind = left.pop()
        if kind.name not in kinds:
            inner = {one.number: one.message_type for one in kind.fields if one.message_type}
            kinds[kind.name] = {number: message.name for number, message in inner.items()}
            left += inner.values()
    holding = {TENSOR}
    while more := {name for name, inside in kinds.items() if holding & {*inside.values()}} - holding:
        holding |= more
    expected = {
        name: {number: kind for number, kind in inside.items() if kind in holding}
        for name, inside in kinds.items()
        if name in holding - {TENSOR}
    }
    assert expected == INSIDE


def test_a_sound_file_names_no_others(tmp_path: Path) -> None:
    model = tiny_onnx(tmp_path, WEIGHTS, LABELS).read_bytes()
    assert not names_other_files(model)
    for end in (1, 10, len(model) // 2):
        with pytest.raises(ValueError, match=r"a field is longer than what holds it|an integer has no end"):
            names_other_files(model[:-end])


# --- functions in the file ---


def with_functions(folder: Path, *functions: onnx.FunctionProto, **handed: onnx.GraphProto) -> Path:
    """The tiny model, whose logits go through the first of some functions; ``handed`` are graphs for it."""
    file = tiny_onnx(folder, WEIGHTS, LABELS)
    model = onnx.load(file)
    model.graph.node[-1].output[0] = "sums_of_labels"
    model.graph.node.append(onnx.helper.make_node("F0", ["sums_of_labels"], ["logits"], domain="local", **handed))
    model.opset_import.append(onnx.helper.make_opsetid("local", 1))
    model.functions.extend(functions)
    onnx.save(model, file)
    return file


def function(number: int, *called: str) -> onnx.FunctionProto:
    """One that calls others in turn; without any, it hands its input on."""
    names = ["x", *(f"v{place}" for place in range(1, len(called) or 1)), "y"]
    nodes = [
        onnx.helper.make_node(name, [before], [after], domain="local" if name.startswith("F") else "")
        for name, before, after in zip(called or ["Identity"], names, names[1:])
    ]
    imported = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("local", 1)]
    return onnx.helper.make_function("local", f"F{number}", ["x"], ["y"], nodes, imported)


def test_a_model_with_functions_answers(tmp_path: Path) -> None:
    file = with_functions(tmp_path, function(0, "F1", "F1"), function(1, "F2", "Identity", "F2"), function(2))
    assert np.allclose(load_predictor(str(file)).predict(TEXTS), expected(TEXTS), atol=1e-6)


BOMBS = {
    "each calls the next twice": (
        [*(function(n, f"F{n + 1}", f"F{n + 1}") for n in range(40)), function(40)],
        "50,000",
    ),
    "one calls itself": ([function(0, "F0")], "without end"),
    "two call each other": ([function(0, "F1"), function(1, "F0")], "without end"),
    "a long row": ([*(function(n, f"F{n + 1}") for n in range(9999)), function(9999)], "more than 64 deep"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_functions_that_would_be_written_out_for_ever_are_refused(kind: str, tmp_path: Path) -> None:
    """Of the first, onnxruntime would make 2^40 copies: 15 of its 40 steps take it 15 seconds."""
    functions, said = BOMBS[kind]
    with pytest.raises(ModelFileError, match=f"'model.onnx' would take onnxruntime too long to load .*{said}"):
        load_predictor(str(with_functions(tmp_path, *functions)))


def test_a_function_that_is_handed_a_graph_is_refused(tmp_path: Path) -> None:
    """It may hold the graph twice, in which another is handed one …"""
    graph = onnx.helper.make_graph([], "g", [], [])
    with pytest.raises(ModelFileError, match="is handed a graph, of which it may make any number of copies"):
        load_predictor(str(with_functions(tmp_path, function(0), body=graph)))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_each_file_makes_the_fingerprint_and_stays_as_it_is(name: str, tmp_path: Path) -> None:
    folder, other = tmp_path / "model", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    file = tiny_onnx(folder, WEIGHTS, LABELS)
    before = load_predictor(str(file))
    luggage = pickle.dumps(before)
    copy = shutil.copytree(folder, tmp_path / "copy") / file.name
    assert load_predictor(str(copy)).fingerprint == before.fingerprint
    tiny_onnx(other, {**WEIGHTS, "film": 0.2, "plot": 1.0}, LABELS)
    (other / "config.json").write_text(json.dumps({"id2label": dict(enumerate(LABELS)), "max_position_embeddings": 2}))
    (other / name).rename(folder / name)
    assert load_predictor(str(file)).fingerprint != before.fingerprint
    if name != "config.json":  # which is read once
        with pytest.raises(ModelFileError, match=f"'{name}' has changed since the run began"):
            pickle.loads(luggage).predict(["great"])


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_each_file_is_a_regular_one(kind: str, name: str, tmp_path: Path) -> None:
    """The link of a model that is named is the caller's own, and followed."""
    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    if kind == "link" and name == file.name:
        (tmp_path / "named.onnx").symlink_to(file)
        assert load_predictor(str(tmp_path / "named.onnx")).labels == LABELS
        return
    (tmp_path / name).rename(tmp_path / "moved")
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to(tmp_path / "moved")
    with pytest.raises(ModelFileError, match=f"'{name}' is no regular file"):
        load_predictor(str(file))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[" * 100_000, "config.json beside 'model.onnx' is no JSON (RecursionError"),
        ("[1]", "holds no options; expected a JSON object"),
        ('{"id2label": {"0": "a", "1": "b"}, "max_position_embeddings": 1%s}' % ("0" * 30), "1,000,000,000 at most"),
        ('{"id2label": {"\u00b2": "a", "1": "b"}}', "model.onnx are not known"),
        ('{"id2label": {"%s": "a", "1": "b"}}' % ("9" * 5000), "model.onnx are not known"),
    ],
    ids=["deep", "a list", "huge", "superscript", "many digits"],
)
def test_a_configuration_that_is_none_is_told_in_a_sentence(
    config: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    (tmp_path / "config.json").write_text(config)
    assert main(["explain", "--document", "a great film", "--model", str(file)]) == 2
    told = capsys.readouterr().err
    assert said in told and told.startswith("anchorscope: error: ") and told.count("\n") == 1


def test_a_model_that_reads_no_word_is_refused(tmp_path: Path) -> None:
    """[CLS] and [SEP] fill the two positions."""
    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    tokenizer["post_processor"] = {"type": "BertProcessing", "sep": ["[UNK]", 1], "cls": ["[PAD]", 0]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert load_predictor(str(file)).predict(["great"]).shape == (1, 2)
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 2}')
    with pytest.raises(ModelFileError, match=r"reads 2 tokens, and tokenizer.json puts 2 around each text"):
        load_predictor(str(file), labels=LABELS)


def test_onnxruntime_writes_nothing_to_the_screen(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its own messages hold the names in the file as they are."""
    file = tiny_onnx(tmp_path, WEIGHTS, LABELS)
    model = onnx.load(file)
    model.graph.node[0].name = "\x1b]0;title\x07"
    onnx.save(model, file)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["[UNK]"] = 999
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(ModelFileError, match=r"fails on a text of five words \(.*out of data bounds"):
        load_predictor(str(file))
    assert "".join(capfd.readouterr()) == ""

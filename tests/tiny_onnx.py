"""A classifier in an ONNX file whose answers are known by hand: the logit of a label is a sum over the words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

INPUTS = ("input_ids", "attention_mask")


def tiny_onnx(
    folder: Path,
    weights: Mapping[str, float],
    labels: Sequence[str],
    *,
    softmax: bool = False,
    shape: tuple[int | str, int | str] = ("n", "length"),
    sees_padding: bool = False,
) -> Path:
    """model.onnx, tokenizer.json and config.json; logits are (-s, s) / 2 for the sum s of a text's weights.

    One that ``sees_padding`` takes their mean, over what pads the text, too.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    words = ["[PAD]", "[UNK]", *weights]
    table = np.zeros((len(words), 4), np.float32)
    table[2:, 0] = list(weights.values())
    table[2:, 1] = 0.5
    head = np.zeros((4, 2), np.float32)
    head[0] = [-0.5, 0.5]
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "input_ids"], ["rows"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["mask", "last"], ["wide"]),
        node("Mul", ["rows", "wide"], ["seen"]),
        node("ReduceMean", ["rows"], ["sums"], axes=[1], keepdims=0)
        if sees_padding
        else node("ReduceSum", ["seen", "middle"], ["sums"], keepdims=0),
        node("MatMul", ["sums", "head"], ["logits"]),
        *([node("Softmax", ["logits"], ["probabilities"])] if softmax else []),
    ]
    constants = {"table": table, "head": head, "last": np.array([2]), "middle": np.array([1])}
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("probabilities" if softmax else "logits", TensorProto.FLOAT, [shape[0], 2])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    onnx.save(model, folder / "model.onnx")
    _write_tokenizer(folder, words)
    named = {str(number): label for number, label in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps({"id2label": named, "max_position_embeddings": 3000}))
    return folder / "model.onnx"


def _write_tokenizer(folder: Path, words: Sequence[str]) -> None:
    """tokenizer.json: a token a word, in lower case."""
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "post_processor": None,
        "decoder": None, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))

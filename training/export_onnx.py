"""A trained model as an ONNX graph that answers words at masked places, and nothing else.

    python -m training.export_onnx MODEL OUT [--precision float16|float32]

MODEL is a folder of `training.train`. OUT gets `model.onnx` (graph and weights), `vocab.txt` and `config.json` (sizes,
hashes, and where each weight lies in `model.onnx`).

    inputs    pieces         int64 (batch, length), padded with 0
              attention      int64 (batch, length), 1 for a piece, 0 for padding
              masked         int64 (masks,), the wanted places as row * length + column
              n              int64 (1,), how many words each
    outputs   words          int64 (masks, n), whole words only, most probable first
              probabilities  float32 (masks, n), among all whole words (not only these n)

Weights are stored in half precision and expanded when the graph is loaded; all sums are taken in float32. The answer
for a sequence does not depend on its neighbours, its padding or the threads, to the last bit. Three things ensure that:

- the attention weights are normalised after the product with the values, by a column of ones beside these. A product
  adds its terms one after another, so the exact zeros of the padding at the end change nothing; a plain sum over a row
  may add in an order that depends on the length of the row;
- one row more than asked for goes through the head, since a product with a single row takes another path;
- every other sum runs over the width of the model or over the vocabulary, which never change.

The n best words are found in two rounds, group by group: they lie in the n groups with the largest best words.
"""

import argparse
import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from training.wordpiece import SPECIALS, Vocabulary

OPSET = 20
GROUP = 16
NORM_EPSILON = 1e-12


@dataclass
class Graph:
    """Nodes in order; each method adds a node and answers the name of its output."""

    n_heads: int
    width: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def add(self, operation: str, *inputs: str, output: str = "", n_outputs: int = 1, **attributes: object) -> str:
        """Adds a node; the name of its (last) output."""
        name = output or f"{operation}_{len(self.nodes)}"
        outputs = [f"{name}_{i}" for i in range(n_outputs - 1)] + [name]
        self.nodes.append(helper.make_node(operation, inputs, outputs, name=name, **attributes))
        return name

    def constant(self, value: Sequence[int] | float, shape: tuple[int, ...] | None = None) -> str:
        """Adds a small constant: integers are int64, a float is float32."""
        array = np.array(value, np.float32 if isinstance(value, float) else np.int64)
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array.reshape(shape or array.shape), name))
        return name

    def weight(self, name: str) -> str:
        """A weight in float32: expanded and folded when the graph is loaded."""
        return self.add("Cast", name, to=TensorProto.FLOAT)

    def linear(self, hidden: str, name: str) -> str:
        """hidden (rows, in) times weight (out, in), plus bias."""
        weights = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("Gemm", hidden, *weights, output=name, transB=1)

    def norm(self, hidden: str, name: str) -> str:
        """Layer norm over the width."""
        weights = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", hidden, *weights, axis=-1, epsilon=NORM_EPSILON)


def build_graph(config: dict[str, int], vocabulary: Vocabulary) -> Graph:
    """The graph of a model, weights left out: embed, layer after layer, then words at the wanted places."""
    graph = Graph(config["n_heads"], config["dim"])
    batch_length = graph.add("Shape", "pieces")
    hidden = add_embedding(graph, batch_length)
    bias = add_attention_bias(graph)
    for number in range(config["n_layers"]):
        hidden = add_layer(graph, hidden, bias, batch_length, f"distilbert.transformer.layer.{number}")
    add_words(graph, add_logits(graph, hidden, vocabulary), int(vocabulary.is_fill.sum()))
    return graph


def add_embedding(graph: Graph, batch_length: str) -> str:
    """ShuffledPositions states (batch * length, width)."""
    name = "distilbert.embeddings"
    length = graph.add("Slice", batch_length, graph.constant([1]), graph.constant([2]))
    positions = graph.add(
        "Slice", graph.weight(f"{name}.position_embeddings.weight"), graph.constant([0]), length, graph.constant([0])
    )
    pieces = graph.add("Gather", graph.weight(f"{name}.word_embeddings.weight"), "pieces")
    hidden = graph.norm(graph.add("Add", pieces, positions), f"{name}.LayerNorm")
    return graph.add("Reshape", hidden, graph.constant([-1, graph.width]))


def add_attention_bias(graph: Graph) -> str:
    """(batch, 1, 1, length): 0 at pieces, the most negative number at padding, so that its weight is exactly 0."""
    padding = graph.add("Equal", "attention", graph.constant([0]))
    bias = graph.add("Where", padding, graph.constant(float(np.finfo(np.float32).min)), graph.constant(0.0))
    return graph.add("Unsqueeze", bias, graph.constant([1, 2]))


def add_layer(graph: Graph, hidden: str, bias: str, batch_length: str, name: str) -> str:
    """One layer of the encoder."""
    attended = add_attention(graph, hidden, bias, batch_length, f"{name}.attention")
    hidden = graph.norm(graph.add("Add", attended, hidden), f"{name}.sa_layer_norm")
    inner = graph.add("Gelu", graph.linear(hidden, f"{name}.ffn.lin1"))
    return graph.norm(graph.add("Add", graph.linear(inner, f"{name}.ffn.lin2"), hidden), f"{name}.output_layer_norm")


def add_attention(graph: Graph, hidden: str, bias: str, batch_length: str, name: str) -> str:
    """Attention with the normalisation last: exp(scores) (values, 1), then the first part over the second."""
    head_width = graph.width // graph.n_heads
    shape = graph.add("Concat", batch_length, graph.constant([graph.n_heads, head_width]), axis=0)
    query, key, value = (
        graph.add("Transpose", graph.add("Reshape", graph.linear(hidden, f"{name}.{part}"), shape), perm=order)
        for part, order in (("q_lin", [0, 2, 1, 3]), ("k_lin", [0, 2, 3, 1]), ("v_lin", [0, 2, 1, 3]))
    )
    query = graph.add("Mul", query, graph.constant(head_width**-0.5))
    scores = graph.add("Add", graph.add("MatMul", query, key), bias)
    scores = graph.add("Sub", scores, graph.add("ReduceMax", scores, graph.constant([3]), keepdims=1))
    ones = graph.add("Pad", value, graph.constant([0, 0, 0, 0, 0, 0, 0, 1]), graph.constant(1.0))
    sums = graph.add("MatMul", graph.add("Exp", scores), ones)
    graph.add("Split", sums, graph.constant([head_width, 1]), output=f"{name}.parts", n_outputs=2, axis=3)
    mixed = graph.add("Div", f"{name}.parts_0", f"{name}.parts")
    rows = graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), graph.constant([-1, graph.width]))
    return graph.linear(rows, f"{name}.out_lin")


def add_logits(graph: Graph, hidden: str, vocabulary: Vocabulary) -> str:
    """Logits (masks + 1, whole words): whole words are neighbours in the vocabulary, so the head is cut to them."""
    first, last = _word_range(vocabulary)
    wanted = graph.add("Concat", "masked", graph.constant([0]), axis=0)
    rows = graph.add("Gather", hidden, wanted)
    rows = graph.norm(graph.add("Gelu", graph.linear(rows, "vocab_transform")), "vocab_layer_norm")
    ends = graph.constant([first]), graph.constant([last]), graph.constant([0])
    weight = graph.add("Slice", graph.weight("distilbert.embeddings.word_embeddings.weight"), *ends)
    bias = graph.add("Slice", graph.weight("vocab_projector.bias"), *ends)
    return graph.add("Gemm", rows, weight, bias, output="vocab_projector", transB=1)


def add_words(graph: Graph, logits: str, n_words: int) -> None:
    """The outputs: the n most probable words and their probabilities, without the row of its own."""
    n_groups = n_words // GROUP
    chances = graph.add("Softmax", logits, axis=1)
    groups = graph.add("Reshape", chances, graph.constant([-1, GROUP, n_groups]))
    largest = graph.add("ReduceMax", groups, graph.constant([1]), keepdims=0)
    n_chosen = graph.add("Min", "n", graph.constant([n_groups]))
    group = graph.add("TopK", largest, n_chosen, n_outputs=2, axis=1, sorted=0)
    members = graph.constant([n_groups * i for i in range(GROUP)], (1, GROUP, 1))
    candidates = graph.add("Add", graph.add("Unsqueeze", group, graph.constant([1])), members)
    candidates = graph.add("Reshape", candidates, graph.constant([0, -1]))
    best = graph.add("TopK", graph.add("GatherElements", chances, candidates, axis=1), "n", n_outputs=2, axis=1)
    words = graph.add("Add", graph.add("GatherElements", candidates, best, axis=1), graph.constant([len(SPECIALS)]))
    for name, rows in (("words", words), ("probabilities", f"{best}_0")):
        graph.add("Slice", rows, graph.constant([0]), graph.constant([-1]), output=name)


def _word_range(vocabulary: Vocabulary) -> tuple[int, int]:
    """First whole word and the number after the last; they lie side by side."""
    fills = np.flatnonzero(vocabulary.is_fill)
    first, last = int(fills[0]), int(fills[-1]) + 1
    assert last - first == len(fills) and len(fills) % GROUP == 0 and first == len(SPECIALS)
    return first, last


def export(folder: Path, out: Path, precision: str = "float16") -> None:
    """Writes the files named above."""
    out.mkdir(parents=True, exist_ok=True)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    vocabulary = Vocabulary.read(folder / "vocab.txt")
    shutil.copy(folder / "vocab.txt", out / "vocab.txt")
    weights = read_weights(folder / "model.safetensors", precision)
    onnx.save(make_model(build_graph(config, vocabulary), weights), out / "model.onnx")
    description = describe(config, out) | {"precision": precision, "weights": locate(weights, out / "model.onnx")}
    (out / "config.json").write_text(json.dumps(description) + "\n", encoding="utf-8")


def read_weights(path: Path, precision: str) -> list[onnx.TensorProto]:
    """The weights, rounded to the precision, under their names in transformers."""
    from safetensors.numpy import load_file

    return [numpy_helper.from_array(array.astype(precision), name) for name, array in load_file(path).items()]


def make_model(graph: Graph, weights: list[onnx.TensorProto]) -> onnx.ModelProto:
    """The graph with its inputs, outputs and weights."""
    integer, real = TensorProto.INT64, TensorProto.FLOAT
    inputs = [
        helper.make_tensor_value_info("pieces", integer, ["batch", "length"]),
        helper.make_tensor_value_info("attention", integer, ["batch", "length"]),
        helper.make_tensor_value_info("masked", integer, ["masks"]),
        helper.make_tensor_value_info("n", integer, [1]),
    ]
    outputs = [
        helper.make_tensor_value_info("words", integer, ["masks", "words"]),
        helper.make_tensor_value_info("probabilities", real, ["masks", "words"]),
    ]
    proto = helper.make_graph(graph.nodes, "masked_language_model", inputs, outputs, weights + graph.constants)
    return helper.make_model(proto, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def describe(config: dict[str, int], out: Path) -> dict[str, object]:
    """What the package needs to know, and what the files hash to."""
    files = ("model.onnx", "vocab.txt")
    return {
        "name": "anchorscope-english",
        "layers": config["n_layers"],
        "width": config["dim"],
        "inner_width": config["hidden_dim"],
        "heads": config["n_heads"],
        "parameters": config["parameters"],
        "vocabulary": config["vocab_size"],
        "max_pieces": config["max_position_embeddings"],
        "special_pieces": {name: number for number, name in enumerate(SPECIALS)},
        "lower_case": True,
        "sha256": {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in files},
    }


def locate(weights: list[onnx.TensorProto], path: Path) -> dict[str, dict[str, object]]:
    """Where each weight lies in the file, in bytes: so it can be read without the onnx package."""
    content = path.read_bytes()
    places: dict[str, dict[str, object]] = {}
    offset = 0
    for weight in weights:  # they lie there in this order
        offset = content.index(weight.raw_data, offset)
        places[weight.name] = {"offset": offset, "shape": list(weight.dims)}
        offset += len(weight.raw_data)
    return places


def main() -> None:
    """Exports one model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--precision", choices=["float16", "float32"], default="float16")
    arguments = parser.parse_args()
    export(arguments.model, arguments.out, arguments.precision)


if __name__ == "__main__":
    main()

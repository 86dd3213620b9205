"""The embedded perturbator: on a model of the same make with random weights, and on the shipped one where present."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from anchorscope.errors import InputError, ModelFileError
from anchorscope.perturbators import embedded
from anchorscope.perturbators.embedded import ENGLISH_SHARE, EmbeddedPerturbator
from anchorscope.types import Proposals, Words

CORES = 5
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
VOCABULARY = [*embedded.SPECIAL, "the", "film", "was", "don't", "good", ".", *LETTERS, *(f"##{x}" for x in LETTERS)]


class Graph:
    """An ONNX graph in the making: a call adds a node and gives the name of its output."""

    def __init__(self, seed: int) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(seed)

    def __call__(self, operation: str, *inputs: str, outputs: Sequence[str] = (), **attributes: object) -> str:
        outputs = outputs or [f"{operation}{len(self.nodes)}"]
        self.nodes.append(helper.make_node(operation, inputs, outputs, **attributes))
        return outputs[0]

    def constant(self, values: NDArray[np.generic] | Sequence[int] | float) -> str:
        array = np.asarray(values)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        self.constants.append(numpy_helper.from_array(array, f"constant{len(self.constants)}"))
        return self.constants[-1].name

    def random(self, *shape: int) -> str:
        return self.constant(self._random.normal(size=shape) * shape[0] ** -0.5)


def build_embedded(
    folder: Path, vocabulary: Sequence[str] = VOCABULARY, *, dim: int = 64, n_layers: int = 2, max_pieces: int = 32
) -> Path:
    """A folder like the shipped one: a small transformer with random weights behind the same inputs and outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in vocabulary), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"max_pieces": max_pieces}))
    add = Graph(seed=0)
    table = add.random(len(vocabulary), dim)
    hidden = add("Gather", table, "pieces")
    hidden = add("Mul", hidden, add.constant(len(vocabulary) ** 0.5))
    places = add("Slice", add.random(max_pieces, dim), add.constant([0]), add("Shape", "pieces", start=1, end=2))
    hidden = add("Add", hidden, places)
    hide = add("Sub", add("Cast", "attention", to=TensorProto.FLOAT), add.constant(1.0))
    hide = add("Unsqueeze", add("Mul", hide, add.constant(1e9)), add.constant([1]))
    for _ in range(n_layers):
        hidden = _layer(add, hidden, hide, dim)
    hidden = add("Gather", add("Reshape", hidden, add.constant([-1, dim])), "masked")
    is_word = np.array([not piece.startswith("##") and piece not in embedded.SPECIAL for piece in vocabulary])
    scores = add("MatMul", hidden, add("Transpose", table, perm=[1, 0]))
    scores = add("Add", scores, add.constant(np.where(is_word, 0.0, -1e9)))
    add("TopK", add("Softmax", scores), "n", outputs=("probabilities", "words"))
    _save(add, folder / "model.onnx")
    return folder


def _layer(add: Graph, hidden: str, hide: str, dim: int) -> str:
    query, key, value = (add("MatMul", hidden, add.random(dim, dim)) for _ in range(3))
    scores = add("Mul", add("MatMul", query, add("Transpose", key, perm=[0, 2, 1])), add.constant(dim**-0.5))
    seen = add("MatMul", add("Softmax", add("Add", scores, hide)), value)
    scale, shift = add.constant(np.ones(dim)), add.constant(np.zeros(dim))
    hidden = add("LayerNormalization", add("Add", hidden, seen), scale, shift)
    inner = add("Relu", add("MatMul", hidden, add.random(dim, 4 * dim)))
    return add("LayerNormalization", add("Add", hidden, add("MatMul", inner, add.random(4 * dim, dim))), scale, shift)


def _save(add: Graph, path: Path) -> None:
    inputs = {"pieces": ["batch", "length"], "attention": ["batch", "length"], "masked": ["n_masked"], "n": [1]}
    graph = helper.make_graph(
        add.nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in inputs.items()],
        [
            helper.make_tensor_value_info("words", TensorProto.INT64, ["n_masked", "n"]),
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n_masked", "n"]),
        ],
        add.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, path)


SHIPPED = Path(embedded.__file__).parents[1] / "embedded_model"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_embedded(tmp_path_factory.mktemp("embedded"))


@pytest.fixture(scope="module", params=["tiny", "shipped"])
def folder(request: pytest.FixtureRequest) -> Path:
    if request.param == "tiny":
        return request.getfixturevalue("tiny")
    if not (SHIPPED / "model.onnx").is_file():
        pytest.skip("the shipped model is not there yet")
    return SHIPPED


def as_words(text: str) -> Words:
    words = tuple(text.split())
    return Words(words, ("", *[" "] * (len(words) - 1), ""))


def masked_at(text: Words, *positions: int) -> NDArray[np.bool_]:
    return np.isin(np.arange(len(text)), positions)


def assert_same(one: Proposals, other: Proposals) -> None:
    np.testing.assert_array_equal(one.words, other.words)
    np.testing.assert_array_equal(one.probabilities, other.probabilities)


def test_a_text_is_read_as_its_pieces_between_begin_and_end(tiny: Path) -> None:
    """The Film ___ bad . = [CLS] the film [MASK] b ##a ##d . [SEP]: the mask is piece 3; padded to 12 pieces."""
    perturbator = EmbeddedPerturbator(folder=tiny, top_n=5)
    number = VOCABULARY.index
    pieces = [number(p) for p in ("[CLS]", "the", "film", "[MASK]", "b", "##a", "##d", ".", "[SEP]")]
    words, probabilities = perturbator._session.run(
        ["words", "probabilities"],
        {
            "pieces": np.array([pieces + [0] * 3]),
            "attention": np.array([[1] * 9 + [0] * 3]),
            "masked": np.array([3]),
            "n": np.array([5]),
        },
    )
    text = as_words("The Film was bad .")
    proposals = perturbator.propose([text], [masked_at(text, 2)])
    np.testing.assert_array_equal(proposals.words, words)
    np.testing.assert_allclose(proposals.probabilities, probabilities / probabilities.sum(), rtol=1e-6)


def test_a_long_text_is_read_by_windows(tiny: Path) -> None:
    """30 pieces fit beside begin and end, a block is 15: piece 40 is in block 2 = 30..44, read from 30 - 7 = 23 on.

    Piece 58 is in block 3 = 45..59; its window would be 38..67 and is moved to the end of the text: 30..59.
    """
    perturbator = EmbeddedPerturbator(folder=tiny)
    text = as_words(" ".join(VOCABULARY[5 + i % 11] for i in range(60)))
    whole = perturbator.propose([text], [masked_at(text, 40, 58)])
    for row, (start, place) in enumerate([(23, 40), (30, 58)]):
        part = as_words(" ".join(text.words[start : start + 30]))
        mask = masked_at(part, *(column - start for column in (40, 58) if column < start + 30))
        alone = perturbator.propose([part], [mask])
        answered = int(mask[: place - start].sum())
        np.testing.assert_array_equal(whole.words[row], alone.words[answered])
        np.testing.assert_array_equal(whole.probabilities[row], alone.probabilities[answered])


@pytest.mark.parametrize(("said", "threads"), [("3", 3), ("4,2", 4), (" 2 , 1", 2), ("", CORES), ("many", CORES)])
def test_openmp_says_how_many_batches_are_answered_at_a_time(
    said: str, threads: int, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenMP allows a list: a number for each level of nesting."""
    asked: list[int] = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, n_threads: int) -> None:
            asked.append(n_threads)
            super().__init__(n_threads)

    monkeypatch.setenv("OMP_NUM_THREADS", said)
    monkeypatch.setattr(embedded, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(os, "cpu_count", lambda: CORES)
    text = as_words("the film was good")
    EmbeddedPerturbator(folder=tiny, batch_size=1).propose([text] * 3, [masked_at(text, 1)] * 3)
    assert asked == [threads]


def test_answers_are_the_same_bit_for_bit_in_any_batch_and_on_any_number_of_threads(folder: Path) -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(1, 40, 300)
    texts = [as_words(" ".join(random.choice(VOCABULARY[5:37], n))) for n in lengths]
    masks = [random.random(len(text)) < random.choice([0.1, 0.5, 0.9]) for text in texts]
    expected = EmbeddedPerturbator(folder=folder, threads=1).propose(texts, masks)
    for threads in (1, 2):
        for batch_size in (1, 64, 256):
            perturbator = EmbeddedPerturbator(folder=folder, threads=threads, batch_size=batch_size)
            assert_same(perturbator.propose(texts, masks), expected)


def test_proposals_are_whole_words_the_likeliest_first(folder: Path) -> None:
    perturbator = EmbeddedPerturbator(folder=folder, top_n=20)
    text = as_words("the film was good .")
    proposals = perturbator.propose([text], [masked_at(text, 1, 3)])
    assert proposals.words.shape == (2, 20)
    assert (np.diff(proposals.probabilities, axis=1) <= 0).all()
    for number in proposals.words.ravel():
        piece = perturbator.vocabulary[number]
        assert piece not in embedded.SPECIAL and not piece.startswith("##")


def test_no_more_proposals_than_there_are_whole_words(tiny: Path) -> None:
    """The vocabulary has 6 words and marks and 26 letters that stand alone."""
    perturbator = EmbeddedPerturbator(folder=tiny, top_n=500)
    text = as_words("the film")
    assert perturbator.propose([text], [masked_at(text, 0)]).words.shape == (1, 32)


def test_the_share_in_vocabulary_counts_whole_words_with_letters(tiny: Path) -> None:
    """Of The, film, war, gut and Don’t three are whole words; 42 and ! have no letter."""
    perturbator = EmbeddedPerturbator(folder=tiny)
    assert perturbator.share_in_vocabulary([as_words("The film war gut !"), as_words("Don’t 42")]) == 3 / 5
    assert perturbator.share_in_vocabulary([as_words("42")]) == 0


ENGLISH = "It was the best film that I have seen this year , and I would watch it again with my friends ."
GERMAN = "Das war der beste Film , den ich in diesem Jahr gesehen habe , und ich würde ihn wieder ansehen ."
SPANISH = "Fue la mejor película que he visto este año y la volvería a ver con mis amigos sin dudarlo ."


@pytest.mark.skipif(not (SHIPPED / "vocab.txt").is_file(), reason="the shipped model is not there yet")
def test_the_shipped_vocabulary_tells_english_from_other_languages() -> None:
    perturbator = EmbeddedPerturbator()
    assert perturbator.share_in_vocabulary([as_words(ENGLISH)]) > 0.9 > ENGLISH_SHARE
    for foreign in (GERMAN, SPANISH, "这 部 电 影 太 长 了"):
        assert perturbator.share_in_vocabulary([as_words(foreign)]) < ENGLISH_SHARE - 0.1


def test_it_travels_as_its_parameters(tiny: Path) -> None:
    perturbator = EmbeddedPerturbator(folder=tiny, top_n=7, threads=1, batch_size=3)
    perturbator.propose([as_words("the film")], [np.array([True, False])])
    payload = pickle.dumps(perturbator)
    assert len(payload) < 1000
    copy = pickle.loads(payload)
    assert (copy.top_n, copy.threads, copy.batch_size, copy.folder) == (7, 1, 3, tiny)


def test_the_fingerprint_changes_with_the_number_of_proposals(tiny: Path) -> None:
    fingerprints = {EmbeddedPerturbator(folder=tiny, top_n=n).fingerprint for n in (5, 50)}
    assert len(fingerprints) == 2


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"no model\.onnx in .*use perturbator corpus"):
        EmbeddedPerturbator(folder=tmp_path)


def test_no_proposals_cannot_be_asked_for(tiny: Path) -> None:
    with pytest.raises(InputError, match="top_n is 0"):
        EmbeddedPerturbator(folder=tiny, top_n=0)

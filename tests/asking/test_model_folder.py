"""Hugging Face folders: weights are regular safetensors files inside, and no option loads code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from anchorscope.asking.model_folder import load, weights_in
from anchorscope.errors import ModelFileError
from anchorscope.predictors.fingerprints import of_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two pieces of weights."""
    folder = tmp_path / "model"
    folder.mkdir()
    write(folder / "config.json", {"model_type": "bert"})
    for name in ("model-1.safetensors", "model-2.safetensors"):
        (folder / name).write_bytes(name.encode())
    return folder


def write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values))


INDEX = "model.safetensors.index.json"


def test_a_sound_folder_is_taken(folder: Path) -> None:
    write(folder / INDEX, {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})
    assert [path.name for path in weights_in(folder)] == ["model-1.safetensors", "model-2.safetensors"]


@pytest.mark.parametrize(
    "named", ["pytorch_model.bin", "../outside.safetensors", "/etc/passwd", "sub/model.safetensors", "", None, 7, ["x"]]
)
def test_an_index_names_weights_in_the_folder_and_no_others(named: Any, folder: Path) -> None:
    for name in ("../outside.safetensors", "pytorch_model.bin"):
        (folder / name).write_bytes(b"")
    write(folder / INDEX, {"weight_map": {"a": "model-1.safetensors", "b": named}})
    with pytest.raises(ModelFileError, match=r"as a file with weights; expected \.safetensors files in its folder"):
        weights_in(folder)


@pytest.mark.parametrize("values", [[], "x", {"weight_map": []}])
def test_an_index_that_is_none_is_refused(values: Any, folder: Path) -> None:
    write(folder / INDEX, values)
    with pytest.raises(ModelFileError):
        weights_in(folder)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_weights_are_regular_files(kind: str, folder: Path, tmp_path: Path) -> None:
    path = folder / "model-2.safetensors"
    path.unlink()
    (tmp_path / "outside.safetensors").write_bytes(b"")
    make = {"link": lambda: path.symlink_to(tmp_path / "outside.safetensors"), "pipe": lambda: os.mkfifo(path)}
    make.get(kind, path.mkdir)()
    with pytest.raises(ModelFileError, match="no regular file"):
        weights_in(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    "option",
    [
        {"auto_map": {"AutoModel": "evil.Model"}},
        {"attn_implementation": "somebody/kernel"},
        {"_attn_implementation": "flash_attention_2"},
        {"text_config": {"_attn_implementation": "somebody/kernel"}},
        {"parts": [{"custom_pipelines": {}}]},
        {"quantization_config": {"quant_method": "custom"}},
        {"experts_implementation": "somebody/kernel"},
        {"_attn_implementation_internal": "somebody/kernel"},
        {"keypoint_detector_config": {"trust_remote_code": True}},
        {"transformers_weights": "sub/model.safetensors.index.json"},
        {"configuration_files": ["config.4.0.0.json"]},
        {"fast_tokenizer_files": ["../tokenizer.4.0.0.json"]},
        {"gguf_file": "model.gguf"},
        {"tokenizer_file": "/dev/zero"},
        {"vocab_file": "../config.json"},
    ],
    ids=lambda option: next(iter(option)),
)
def test_an_option_that_loads_code_is_refused_by_name(option: dict[str, Any], name: str, folder: Path) -> None:
    """flash_attention_2 is fetched from a hub where the package is not installed."""
    write(folder.parent / "config.json", {})
    write(folder / name, {"model_type": "bert", **option})
    with pytest.raises(ModelFileError, match=r"sets '\w+' to .*load code or other files"):
        weights_in(folder)


@pytest.mark.parametrize("value", [None, "vocab.txt", "./config.json", "/nowhere/tokenizer.json", 7])
def test_files_of_the_folder_and_files_that_are_gone_may_be_named(value: object, folder: Path) -> None:
    """Older versions of transformers wrote down where the tokenizer had been loaded from."""
    write(folder / "tokenizer_config.json", {"tokenizer_file": value, "special_tokens_map_file": value})
    assert weights_in(folder)


@pytest.mark.parametrize("value", [None, "eager", "sdpa"])
def test_ways_of_computing_that_come_with_torch_are_taken(value: str | None, folder: Path) -> None:
    write(folder / "config.json", {"model_type": "bert", "attn_implementation": value})
    assert weights_in(folder)


def test_an_adapter_is_refused(folder: Path) -> None:
    write(folder / "adapter_config.json", {"base_model_name_or_path": "../other"})
    with pytest.raises(ModelFileError, match="adapter of another model"):
        weights_in(folder)


def test_a_configuration_is_a_regular_file(folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").rename(tmp_path / "config.json")
    (folder / "config.json").symlink_to(tmp_path / "config.json")
    with pytest.raises(ModelFileError, match="no regular file"):
        weights_in(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.txt", "special_tokens_map.json", "chat_template.jinja"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_whatever_else_is_read_is_a_regular_file(kind: str, name: str, folder: Path, tmp_path: Path) -> None:
    """The words of a linked vocabulary would not be in the fingerprint's keeping."""
    (tmp_path / "outside").write_text("{}")
    if kind == "link":
        (folder / name).symlink_to(tmp_path / "outside")
    else:
        os.mkfifo(folder / name)
    with pytest.raises(ModelFileError, match=rf"{name}' is no regular file .* copy what it stands for"):
        weights_in(folder)


def safetensors(n_tensors: int, size: int = 0) -> bytes:
    """A file that lists so many tensors of so many numbers: the length of their list, and the list."""
    listed = {str(number): {"dtype": "F32", "shape": [size], "data_offsets": [0, 0]} for number in range(n_tensors)}
    data = json.dumps(listed).encode()
    return len(data).to_bytes(8, "little") + data


@pytest.mark.parametrize(
    "option", [{"num_hidden_layers": 100_000}, {"text_config": {"n_layers": 13}}, {"block_sizes": [4, 100_000]}]
)
def test_more_layers_than_tensors_are_refused_unbuilt(option: dict[str, Any], folder: Path) -> None:
    """Two files of six tensors hold at most twelve layers."""
    for path in weights_in(folder):
        path.write_bytes(safetensors(6))
    write(folder / "config.json", {"model_type": "bert", **option})
    with pytest.raises(ModelFileError, match=r"sets '\w+' to .* and the weights have 12 tensors in all"):
        load(folder, "AutoModel", "model")


@pytest.mark.parametrize("size", [3, 10**9])
@pytest.mark.parametrize("option", [{"num_labels": 10**9}, {"text_config": {"num_labels": 10**9}}])
def test_more_labels_than_rows_are_refused_unnamed(option: dict[str, Any], size: int, folder: Path) -> None:
    """A file of some hundred bytes holds no tensor of 10^9 rows, whatever it says."""
    for path in weights_in(folder):
        path.write_bytes(safetensors(6, size))
    write(folder / "config.json", {"model_type": "bert", **option})
    with pytest.raises(ModelFileError, match=r"sets 'num_labels' to '1000000000', and the weights have no tensor of"):
        load(folder, "AutoModel", "model")


@pytest.mark.parametrize(
    "data", [b"", b"\x02" + bytes(7) + b"[]", (1 << 62).to_bytes(8, "little") + b"{}", safetensors(6)[:-1]]
)
def test_weights_that_are_no_safetensors_are_refused(data: bytes, folder: Path) -> None:
    for path in weights_in(folder):
        path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"cannot be read as safetensors .*is it whole\?"):
        load(folder, "AutoModel", "model")


def test_an_option_is_found_however_deep_it_lies(folder: Path) -> None:
    deep: Any = {"auto_map": {}}
    for _ in range(900):
        deep = [deep]
    write(folder / "config.json", {"deep": deep})
    with pytest.raises(ModelFileError, match="sets 'auto_map'"):
        weights_in(folder)


def test_every_piece_of_the_weights_is_in_the_fingerprint(folder: Path) -> None:
    before = of_folder(folder)
    for path in weights_in(folder):
        path.write_bytes(b"other weights")
        assert of_folder(folder) != before
        before = of_folder(folder)

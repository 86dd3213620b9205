"""The embedded model as a Hugging Face folder, so that other tools can run on identical weights.

    write_folder(Path("mlm"))
    AutoModelForMaskedLM.from_pretrained("mlm")        the DistilBERT architecture, float32
    AutoTokenizer.from_pretrained("mlm")               words, folding and pieces as here

Needs neither torch, transformers nor onnx: ``config.json`` says where each weight lies in ``model.onnx``. The weights
are shipped in half precision and written in float32, which changes no number: the package computes with these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORD = r"[\p{L}\p{M}\p{N}_]+(?:'[\p{L}\p{M}\p{N}]+)*|\S"
"""A word of a folded text, in the dialect that tokenizer.json speaks: those of ``training/wordpiece.py``, by which the
pieces were learnt. The package itself has words by the rule of ``text/rule.py`` alone, whose sets of letters by
word-break class that dialect has no way to write."""


def write_folder(folder: Path) -> None:
    """Writes the five files; the folder is made where needed."""
    folder.mkdir(parents=True, exist_ok=True)
    source = files("anchorscope").joinpath("embedded_model")
    config = json.loads(source.joinpath("config.json").read_text(encoding="utf-8"))
    vocabulary = source.joinpath("vocab.txt").read_text(encoding="utf-8")
    pieces = vocabulary.removesuffix("\n").split("\n")
    _write_json(folder / "config.json", _describe(config))
    write_tokenizer(folder, pieces, config["max_pieces"])
    weights = read_weights(source.joinpath("model.onnx").read_bytes(), config)
    (folder / "model.safetensors").write_bytes(_safetensors(weights))


def write_tokenizer(folder: Path, pieces: Sequence[str], max_pieces: int) -> None:
    """Writes the three files of the tokenizer: words, folding and pieces as the package has them."""
    _write_json(folder / "tokenizer.json", _tokenizer(pieces))
    _write_json(folder / "tokenizer_config.json", _tokenizer_config(max_pieces))
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")


def read_weights(content: bytes, config: Mapping[str, Any]) -> dict[str, NDArray[np.float32]]:
    """The weights by name, from the bytes of ``model.onnx``."""
    weights = {}
    for name, place in config["weights"].items():
        size = int(np.prod(place["shape"]))
        array = np.frombuffer(content, config["precision"], size, place["offset"])
        weights[name] = array.reshape(place["shape"]).astype(np.float32)
    return weights


def _describe(config: Mapping[str, Any]) -> dict[str, Any]:
    """What `transformers.DistilBertConfig` reads."""
    return {
        "architectures": ["DistilBertForMaskedLM"],
        "model_type": "distilbert",
        "activation": "gelu",
        "vocab_size": config["vocabulary"],
        "n_layers": config["layers"],
        "dim": config["width"],
        "hidden_dim": config["inner_width"],
        "n_heads": config["heads"],
        "max_position_embeddings": config["max_pieces"],
        "pad_token_id": SPECIAL.index("[PAD]"),
        "tie_weights_": True,
    }


def _tokenizer(pieces: Sequence[str]) -> dict[str, Any]:
    """What the `tokenizers` library reads: fold, cut into words, cut into pieces, frame."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    begin, end = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]"))
    pair = {"Sequence": {"id": "B", "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": name, **flags} for number, name in enumerate(SPECIAL)],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Lowercase"},
                {"type": "NFC"},
                {"type": "Replace", "pattern": {"String": "’"}, "content": "'"},
            ],
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {"type": "Split", "pattern": {"Regex": WORD}, "behavior": "Isolated", "invert": False},
            ],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, sequence, end],
            "pair": [begin, sequence, end, pair, end],
            "special_tokens": {
                name: {"id": name, "ids": [SPECIAL.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: number for number, piece in enumerate(pieces)},
        },
    }


def _tokenizer_config(max_pieces: int) -> dict[str, Any]:
    """What `transformers.AutoTokenizer` reads; a named class would cut words by rules of its own."""
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_pieces,
        "model_input_names": ["input_ids", "attention_mask"],
        **dict(zip(names, SPECIAL, strict=True)),
    }


def _safetensors(weights: Mapping[str, NDArray[np.float32]]) -> bytes:
    """The safetensors format: length of the header, header, arrays end to end."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for name, array in weights.items():
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [start, start + array.nbytes]}
        start += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in weights.values())


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

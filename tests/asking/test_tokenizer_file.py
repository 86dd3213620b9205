"""A tokenizer.json that would make texts far longer than they are is refused; those that are in use are not."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tiny_onnx import tiny_onnx

from anchorscope.asking.model_folder import load
from anchorscope.asking.tokenizer_file import check_growth
from anchorscope.errors import ModelFileError
from anchorscope.predictors import load_predictor


def replace(pattern: Any, content: str, **more: Any) -> dict[str, Any]:
    return {"pattern": pattern, "content": content, **more}


def table(*strings: str) -> dict[str, Any]:
    """A table that finds nothing (its tree is one empty unit) and could write these strings."""
    data = bytes([4, 0, 0, 0, 0, 0, 0, 0]) + b"".join(string.encode() + b"\0" for string in strings)
    return {"type": "Precompiled", "precompiled_charsmap": b64encode(data).decode()}


def raw_table(data: bytes) -> dict[str, Any]:
    return {"normalizer": {"type": "Precompiled", "precompiled_charsmap": b64encode(data).decode()}}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
DOUBLE = replace({"String": "a"}, "aa", type="Replace")
BOMBS: dict[str, tuple[dict[str, Any], str]] = {
    "an empty table": (raw_table(b""), "is not whole"),
    "a table without a tree": (raw_table(bytes(4)), "is not whole"),
    "a table that ends in its tree": (raw_table(bytes([8, 0, 0, 0, 0, 0, 0, 0])), "is not whole"),
    "a table with half a unit": (raw_table(bytes([3, 0, 0, 0, 0, 0, 0, 0])), "is not whole"),
    "a table of no text": (raw_table(bytes([4, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0])), "utf-8"),
    "a long content": ({"normalizer": replace({"String": "a"}, "b" * 10**6, type="Replace")}, "1,000,000 times"),
    "an empty pattern": ({"normalizer": replace({"String": ""}, "b" * 40, type="Replace")}, "41 times"),
    "an expression": ({"normalizer": replace({"Regex": "x*"}, "b" * 40, type="Replace")}, "41 times"),
    "doubled forty times": (
        {"normalizer": {"type": "Sequence", "normalizers": [DOUBLE] * 40}},
        "1,099,511,627,776 times",
    ),
    "without kinds": ({"normalizer": {"normalizers": [replace({"String": "a"}, "aa")] * 6}}, "64 times"),
    "bytes of bytes": ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTE_LEVEL] * 40}}, "times as long"),
    "doubled a thousand times": ({"normalizer": {"normalizers": [DOUBLE] * 1000}}, "more than 100 steps"),
    "a long string in a table": ({"normalizer": table("b" * 65)}, "a string of more than 64 bytes"),
    "two tables": ({"normalizer": {"normalizers": [table("b"), table("c")]}}, "more than one precompiled table"),
    "put before each text": ({"normalizer": {"type": "Prepend", "prepend": "b" * 10**6}}, "its prepend has more than"),
    "put before each piece": (
        {"model": {"type": "WordPiece", "continuing_subword_prefix": "#" * 10**6}},
        "its continuing_subword_prefix has more than",
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_what_would_make_texts_too_long_is_refused(kind: str) -> None:
    written, said = BOMBS[kind]
    with pytest.raises(ValueError, match=said):
        check_growth(json.dumps(written).encode())


@pytest.mark.parametrize("kind", ["doubled forty times", "bytes of bytes"])
def test_wherever_it_lies(kind: str, tmp_path: Path) -> None:
    """Beside an ONNX file and in a Hugging Face folder; of the latter, before any weights are read."""
    file = tiny_onnx(tmp_path, {"great": 1.0}, ("no", "yes"))
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **BOMBS[kind][0]}))
    with pytest.raises(ModelFileError, match=r"tokenizer.json beside 'model.onnx' cannot be read .*times as long"):
        load_predictor(str(file))
    (tmp_path / "model.safetensors").write_bytes(b"\x02" + bytes(7) + b"{}")
    with pytest.raises(ModelFileError, match=r"tokenizer.json' is no tokenizer that can be used .*times as long"):
        load(tmp_path, "AutoModelForSequenceClassification", "classifier")


@pytest.mark.parametrize(
    "written",
    [
        {"normalizer": {"type": "BertNormalizer", "lowercase": True}, "pre_tokenizer": {"type": "BertPreTokenizer"}},
        {"normalizer": None, "pre_tokenizer": BYTE_LEVEL, "model": {"type": "BPE", "continuing_subword_prefix": ""}},
        {
            "normalizer": {
                "type": "Sequence",
                "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace({"String": " "}, "▁", type="Replace")],
            }
        },
        {
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    replace({"String": "``"}, '"', type="Replace"),
                    {"type": "NFKD"},
                    table("صلى الله عليه وسلم"),
                    replace({"Regex": " {2,}"}, "▁", type="Replace"),
                ],
            },
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        },
    ],
    ids=["BERT", "RoBERTa", "Llama", "ALBERT"],
)
def test_what_is_in_use_is_taken(written: dict[str, Any]) -> None:
    check_growth(json.dumps(written).encode())

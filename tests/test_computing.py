"""Where a Hugging Face model computes, in what, and compiled or not: the same answers, or a sentence."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from contracts.test_predictor_contract import tiny_bert

from anchorscope.asking.devices import computed_in
from anchorscope.cli import main
from anchorscope.errors import InputError
from anchorscope.predictors import load_predictor
from anchorscope.predictors.huggingface import HuggingFacePredictor

TEXTS = ["great", "a bad film", "great great bad film", "", "film " * 20]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bert")
    for part in tiny_bert():
        part.save_pretrained(path)
    return path


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_a_compiled_model_answers_the_same_and_travels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is traced for all lengths; machine code of it, a minute's work, is made in ``heavy/``."""
    import torch

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    plain = load_predictor(str(folder))
    compiled = load_predictor(str(folder), compiled=True)
    assert isinstance(compiled, HuggingFacePredictor)
    assert type(compiled._forward).__name__ == "OptimizedModule"
    expected = plain.predict(TEXTS)
    assert np.allclose(compiled.predict(TEXTS), expected, atol=1e-6)
    assert np.allclose(pickle.loads(pickle.dumps(compiled)).predict(TEXTS[:1]), expected[:1], atol=1e-6)
    # The last digits may differ: a run of one is not gone on with by the other.
    assert compiled.fingerprint != plain.fingerprint


def test_a_compiler_that_fails_is_named_before_anything_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def broken(model: object, **_: object) -> object:
        def fails(**_: object) -> object:
            raise RuntimeError("no compiler found")

        return fails

    monkeypatch.setattr(torch, "compile", broken)
    with pytest.raises(InputError, match=r"torch cannot compile .*no compiler found.*; leave out --compile"):
        load_predictor(str(folder), compiled=True)


def test_each_way_to_compute_has_a_fingerprint_of_its_own() -> None:
    ways = [(dtype, compiled) for dtype in ("float32", "bfloat16", "float16") for compiled in (False, True)]
    assert len({computed_in("model", dtype, compiled=compiled) for dtype, compiled in ways}) == len(ways)
    assert computed_in("model", "float32") == "model"


@pytest.mark.parametrize(
    ("dtype", "sentence"),
    [
        ("bfloat16", "On a CPU models compute in float32, not in bfloat16: leave it out, or name a card"),
        ("int8", "There is no type 'int8' to compute in; there is: float32, bfloat16, float16"),
    ],
)
def test_a_type_that_is_not_there_is_named(folder: Path, dtype: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load_predictor(str(folder), dtype=dtype)


@pytest.mark.parametrize("option", [("--dtype", "float16"), ("--compile",)])
def test_other_models_have_no_use_for_it(
    option: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = tmp_path / "documents.txt"
    documents.write_text("one\ntwo\n")
    assert main(["explain", str(documents), "--model", "json:loads", *option]) == 2
    assert f"{option[0]} is for Hugging Face folders, and 'json:loads' is none" in capsys.readouterr().err

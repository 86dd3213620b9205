"""Predictors by name on the command line, and fingerprints."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import LABELS, text_pipeline, tiny_bert

from anchorscope.errors import InputError, ModelFileError, UnknownNameError
from anchorscope.predictors import load_predictor
from anchorscope.predictors.fingerprints import of_object
from anchorscope.predictors.function import FunctionPredictor
from anchorscope.predictors.huggingface import HuggingFacePredictor
from anchorscope.predictors.scikit import ScikitPredictor


class TestModuleAttribute:
    SOURCE = """
import numpy as np

class Model:
    classes_ = np.array([0, 1])
    def predict_proba(self, texts):
        return np.array([[0.25, 0.75]] * len(texts))

class nested:
    model = Model()

def score(texts):
    return [[0.5, 0.5] for _ in texts]
"""

    @pytest.mark.parametrize(("attribute", "kind"), [("nested.model", ScikitPredictor), ("score", FunctionPredictor)])
    def test_the_current_folder_is_on_the_path(self, here: Path, attribute: str, kind: type) -> None:
        (here / "models_of_mine.py").write_text(self.SOURCE)
        predictor = load_predictor(f"models_of_mine:{attribute}", labels=LABELS)
        assert isinstance(predictor, kind)
        assert predictor.name == f"models_of_mine:{attribute}"
        assert predictor.predict(["a", "b"]).shape == (2, 2)
        del sys.modules["models_of_mine"]

    def test_bad_names(self, here: Path) -> None:
        (here / "models_of_yours.py").write_text("classifier = 1")
        (here / "broken_module.py").write_text("1 / 0")
        with pytest.raises(InputError, match="There is no module 'no_such_module'"):
            load_predictor("no_such_module:model")
        with pytest.raises(UnknownNameError, match="did you mean 'classifier'"):
            load_predictor("models_of_yours:clasifier")
        with pytest.raises(InputError, match="models_of_yours:classifier is no model that can be asked"):
            load_predictor("models_of_yours:classifier")
        with pytest.raises(ModelFileError, match="fails when it is imported: ZeroDivisionError: division by zero"):
            load_predictor("broken_module:model")


class TestKinds:
    @pytest.mark.parametrize(
        ("spec", "sentence"),
        [
            ("model.xyz", "'model.xyz' is a model of an unknown kind; a model is a .skops file, an .onnx file"),
            ("nowhere/bert", "There is no model 'nowhere/bert' here; a model is a .skops file"),
            ("ftp://example.org/predict", "There is no model 'ftp://example.org/predict' here"),
            ("nowhere.skops", "The model file 'nowhere.skops' cannot be read: No such file"),
            ("nowhere.pkl", "The model file 'nowhere.pkl' cannot be read: No such file"),
        ],
    )
    def test_what_is_no_model(self, here: Path, spec: str, sentence: str) -> None:
        (here / "model.xyz").touch()
        with pytest.raises(ModelFileError) as caught:
            load_predictor(spec)
        assert sentence in str(caught.value)

    def test_trust_is_for_skops_files(self, here: Path) -> None:
        with pytest.raises(InputError, match="leave out --trust"):
            load_predictor("models:classifier", trust=["some.type"])

    def test_nothing_heavy_is_imported(self) -> None:
        check = "import sys, anchorscope.predictors; print([m for m in sys.argv[1:] if m in sys.modules])"
        heavy = ["torch", "transformers", "sklearn", "skops", "joblib", "pandas"]
        assert subprocess.check_output([sys.executable, "-c", check, *heavy], text=True) == "[]\n"


class TestFingerprints:
    def test_equal_estimators_have_one_and_others_another(self) -> None:
        from sklearn.linear_model import LogisticRegression

        model, other = text_pipeline(), text_pipeline(LogisticRegression(C=2))
        loaded = pickle.loads(pickle.dumps(model))
        loaded[0]._stop_words_id = 1  # an address, which another process would not share
        assert of_object(model) == of_object(text_pipeline()) == of_object(loaded)
        assert of_object(model) != of_object(other)
        assert of_object(model.predict_proba) != of_object(other.predict_proba)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ([1, 23], [12, 3]),
            (["a", "b"], ["a,b"]),
            (np.array([1, 2]), np.array([[1, 2]])),
            (np.float32([0]), np.int32([0])),
            (re.compile("a"), re.compile("b")),
            (partial(sorted, reverse=True), partial(sorted, reverse=False)),
            (np.array([None, "a"], dtype=object), np.array([None, "b"], dtype=object)),
        ],
    )
    def test_other_values_have_another(self, one: Any, other: Any) -> None:
        assert of_object(one) == of_object(copy.deepcopy(one))
        assert of_object(one) != of_object(other)

    def test_objects_that_hold_themselves(self) -> None:
        loop: list[Any] = [1]
        loop.append(loop)
        assert of_object(loop) != of_object([1])

    def test_the_order_of_sets_does_not_matter(self) -> None:
        """Sets of strings come in another order in each process."""
        code = "from anchorscope.predictors.fingerprints import of_object; print(of_object({'stop', 'word', 'list'}))"
        seeds = [
            subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": s}) for s in "12"
        ]
        assert seeds[0] == seeds[1]

    def test_what_cannot_be_pickled_has_the_name_of_its_class(self) -> None:
        first, second = (type(name, (), {"__reduce__": None})() for name in ("First", "Second"))
        assert of_object(first) != of_object(second)

    def test_functions(self) -> None:
        def one(texts: list[str]) -> None: ...
        def other(texts: list[str]) -> None: ...

        typed: dict[str, Callable[..., Any]] = {}
        exec("def typed(texts): ...", typed)
        assert len({of_object(f) for f in (one, other, typed["typed"], len)}) == 4

    def test_models_in_memory_and_on_disk(self, bert_folder: Path, tmp_path: Path) -> None:
        model, tokenizer = tiny_bert()
        before = HuggingFacePredictor(model, tokenizer).fingerprint
        assert before == HuggingFacePredictor(*tiny_bert()).fingerprint
        model.classifier.bias.data += 1
        assert before != HuggingFacePredictor(model, tokenizer).fingerprint
        for part in tiny_bert():
            part.save_pretrained(tmp_path / "elsewhere")
        assert load_predictor(str(tmp_path / "elsewhere")).fingerprint == load_predictor(str(bert_folder)).fingerprint

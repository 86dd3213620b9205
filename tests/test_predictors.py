"""Every kind of model becomes a Predictor, every bad answer a sentence, and no file runs code that nobody trusted."""

from __future__ import annotations

import copy
import io
import json
import logging
import os
import pickle
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anchorscope import Explainer
from anchorscope.asking.answers import answered, checked, one_hot
from anchorscope.asking.columns import Columns
from anchorscope.errors import InputError, MissingPackageError, ModelError, ModelFileError, UnknownNameError
from anchorscope.predictors import as_predictor, encoding, load_predictor
from anchorscope.predictors.encoding import Reach
from anchorscope.predictors.fingerprints import of_object
from anchorscope.predictors.function import PROBE, FunctionPredictor
from anchorscope.predictors.huggingface import HuggingFacePredictor, PipelinePredictor
from anchorscope.predictors.scikit import ScikitPredictor
from anchorscope.types import Spelled

TEXTS = ["a great film", "a bad film", "great great", "bad", "not great at all", "a film"]
TARGETS = ["good", "bad", "good", "bad", "bad", "good"]
LABELS = ["bad", "good"]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "great", "bad", "film", "not", "at", "all"]


def text_pipeline(classifier: Any = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), classifier or LogisticRegression()).fit(TEXTS, TARGETS)


def tiny_bert(head: str = "BertForSequenceClassification", **settings: Any) -> tuple[Any, Any]:
    import torch
    import transformers

    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    names = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
    config = transformers.BertConfig(
        **{
            "vocab_size": len(WORDS),
            "max_position_embeddings": 16,
            "initializer_range": 1.0,
            **sizes,
            **names,
            **settings,
        }
    )
    tokenizer = transformers.BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}, model_max_length=16)
    return getattr(transformers, head)(config).eval(), tokenizer


@pytest.fixture(scope="session")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    for part in tiny_bert():
        part.save_pretrained(folder)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty; what a test puts on sys.path is taken off again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


class TestAnswers:
    BAD: ClassVar[dict[str, tuple[Any, str]]] = {
        "none": (None, "answered None; expected 2 rows of 2 probabilities (bad, good); does the function return"),
        "too few rows": ([[0.5, 0.5]], "answered 1 rows for a batch of 2; expected one for each text"),
        "too many rows": ([[0.5, 0.5]] * 3, "answered 3 rows for a batch of 2"),
        "no rows": ([], "answered 0 rows for a batch of 2"),
        "a flat list": ([0.2, 0.7], "one number a text; expected 2 (bad, good); return 1 - p beside p"),
        "one column": ([[0.2], [0.7]], "one number a text; expected 2 (bad, good); return 1 - p beside p"),
        "three columns": ([[0.2, 0.3, 0.5]] * 2, "answered 3 numbers a text; expected 2 (bad, good)"),
        "three axes": (np.full((2, 2, 1), 0.5), "array of shape (2, 2, 1); expected (2, 2)"),
        "a number": (0.5, "answered a single float instead of numbers"),
        "a dict": ({"good": 1.0}, "answered a single dict instead of numbers"),
        "a generator": ((row for row in [[0, 1]] * 2), "answered a single generator instead of numbers"),
        "ragged": ([[0.5, 0.5], [1.0]], "the row for 'second' has length 1"),
        "ragged inside": ([[[1], [2, 3]], [1.0, 0.0]], "its rows differ in length"),
        "text": ([["0.5", "0.5"]] * 2, "answered values of type str"),
        "None inside": ([[0.5, None], [0.5, 0.5]], "answered values of type NoneType instead of numbers"),
        "decimals": ([[Decimal(1), Decimal(0)]] * 2, "answered values of type Decimal"),
        "complex": ([[1j, 1 - 1j]] * 2, "answered values of type complex128"),
        "NaN": ([[0.5, 0.5], [np.nan, 1.0]], "row for 'second' holds NaN"),
        "infinity": ([[0.5, 0.5], [np.inf, 0.0]], "row for 'second' holds an infinite number"),
        "both infinities": ([[np.inf, -np.inf], [0.5, 0.5]], "row for 'first' holds an infinite number"),
        "negative": (
            [[0.5, 0.5], [-0.25, 1.25]],
            "row for 'second' holds a negative number (-0.25); are these logits?",
        ),
        "logits": ([[2.2, 1.0], [0.5, 0.5]], "row for 'first' sums to 3.2 and not to 1; are these logits? Put them"),
        "multi-label": (
            [[0.9, 0.8], [0.5, 0.5]],
            "row for 'first' sums to 1.7 and not to 1; is it a multi-label model?",
        ),
        "too little": ([[0.5, 0.498], [0.5, 0.5]], "row for 'first' sums to 0.998 and not to 1"),
    }

    @pytest.mark.parametrize("kind", BAD)
    def test_a_bad_answer_is_named(self, kind: str) -> None:
        rows, sentence = self.BAD[kind]
        predictor = as_predictor(lambda texts: rows, labels=LABELS)
        with pytest.raises(ModelError) as caught:
            predictor.predict(["first", "second"])
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        "rows", [[[1, 0]], [[True, False]], ((0.5, 0.5),), np.float32([[0.3, 0.7]]), [[0.5, 0.4995]]]
    )
    def test_a_good_answer_is_kept_as_it_is(self, rows: Any) -> None:
        answer = checked(rows, ["text"], LABELS)
        assert answer.dtype == np.float64
        assert np.array_equal(answer, np.asarray(rows, dtype=np.float64))

    def test_an_array_of_number_objects_is_good(self) -> None:
        assert checked(np.array([[0.25, np.float32(0.75)]], dtype=object), ["text"], LABELS).tolist() == [[0.25, 0.75]]

    def test_the_answer_is_a_copy(self) -> None:
        buffer = np.array([[1.0, 0.0]])
        answer = checked(buffer, ["text"], LABELS)
        buffer[:] = 0.5
        assert answer.tolist() == [[1.0, 0.0]]

    def test_tensors_are_read(self) -> None:
        import torch

        assert checked(torch.tensor([[0.25, 0.75]]), ["text"], LABELS).tolist() == [[0.25, 0.75]]
        with pytest.raises(ModelError, match=r"is no array \(RuntimeError"):
            checked(torch.tensor([[0.25, 0.75]], requires_grad=True), ["text"], LABELS)

    @given(st.lists(st.lists(st.floats(width=32), min_size=2, max_size=2), min_size=1, max_size=5))
    def test_any_rows_of_floats_are_distributions_or_an_error(self, rows: list[list[float]]) -> None:
        texts = ["text"] * len(rows)
        fine = all(0 <= x <= 1.002 for row in rows for x in row) and all(abs(sum(row) - 1) <= 1e-3 for row in rows)
        try:
            checked(rows, texts, LABELS)
        except ModelError:
            assert not fine
        else:
            assert fine

    def test_long_texts_are_shortened(self) -> None:
        with pytest.raises(ModelError) as caught:
            checked([[np.nan, 1]], ["word " * 10_000], LABELS)
        assert len(str(caught.value)) < 200

    def test_an_unknown_label_name_has_near_misses(self) -> None:
        with pytest.raises(
            ModelError, match=r"'goood' for 'text', which is none of its labels \(bad, good\); did you mean 'good'"
        ):
            one_hot(["goood"], ["text"], LABELS)
        with pytest.raises(ModelError, match="name every label"):
            one_hot(["7"], ["text"], LABELS)

    def test_label_names_are_counted(self) -> None:
        with pytest.raises(ModelError, match="answered 1 label names for a batch of 2"):
            as_predictor(lambda texts: ["bad"], labels=LABELS).predict(["a", "b"])


class Neg(NamedTuple):
    neg: float
    pos: float


class Pos(NamedTuple):
    pos: float
    neg: float


class Sized(NamedTuple):
    good: float
    bad: float


def series(*names: Any) -> Any:
    return pandas.Series([0.25, 0.75], [*names])


class TestRowsWithNames:
    """Rows are read by position, whatever their entries are called: other names, or another order, are refused."""

    @pytest.mark.parametrize("head", [None, "good"])
    @pytest.mark.parametrize("kind", [list, tuple, deque])
    @pytest.mark.parametrize(
        "rows",
        [(series("a", "b"), series("b", "a")), (series(0, 1), series(1, 0)), (Neg(0.25, 0.75), Pos(0.25, 0.75))],
        ids=["series", "numbered series", "named tuples"],
    )
    def test_an_order_that_turns(self, rows: Any, kind: Any, head: str | None) -> None:
        answers = [kind([rows[0]] * 2), kind([rows[1]] * 2), kind(rows)]
        predictor = as_predictor(lambda texts: answers.pop(0), labels=LABELS, head=head)
        assert predictor.predict(["a", "b"]).tolist() == [[0.25, 0.75]] * 2
        with pytest.raises(ModelError, match=r"columns were .* and are now .*: they would be read as other labels"):
            predictor.predict(["a", "b"])
        with pytest.raises(ModelError, match=r"rows name their columns differently \(.*; .*\)"):
            predictor.predict(["a", "b"])

    @pytest.mark.parametrize("row", [series("good", "bad"), Sized(0.25, 0.75)])
    def test_the_labels_in_another_order(self, row: Any) -> None:
        with pytest.raises(ModelError, match="columns are good, bad; expected bad, good"):
            as_predictor(lambda texts: [row] * len(texts), labels=LABELS).predict(["a"])

    def test_numbers_in_another_order(self) -> None:
        with pytest.raises(ModelError, match="columns are 1, 0; expected 0, 1"):
            as_predictor(lambda texts: [series(1, 0)] * len(texts), labels=LABELS).predict(["a"])
        named_so = as_predictor(lambda texts: [series(1, 0)] * len(texts), labels=["1", "0"])
        assert named_so.predict(["a"]).tolist() == [[0.25, 0.75]]

    def test_some_with_names_and_some_without(self) -> None:
        with pytest.raises(ModelError, match=r"differently \(neg, pos; no names\)"):
            as_predictor(lambda texts: [Neg(0.25, 0.75), [0.25, 0.75]], labels=LABELS).predict(["a", "b"])

    def test_they_name_the_labels(self) -> None:
        assert as_predictor(lambda texts: [Neg(0.25, 0.75)] * len(texts)).labels == ("neg", "pos")

    def test_rows_of_a_database(self) -> None:
        with closing(sqlite3.connect(":memory:")) as db:
            db.row_factory = sqlite3.Row
            rows = [db.execute(f"SELECT 0.25 AS {a}, 0.75 AS {b}").fetchone() for a, b in ("xy", "yx")]
        with pytest.raises(ModelError, match=r"differently \(x, y; y, x\)"):
            as_predictor(lambda texts: rows, labels=LABELS).predict(["a", "b"])

    def test_masked_values_in_a_row(self) -> None:
        """numpy would take what lies below the mask."""
        row = np.ma.masked_array([0.25, 0.75], mask=[True, False])
        with pytest.raises(ModelError, match="values are masked"):
            as_predictor(lambda texts: [row] * len(texts), labels=LABELS).predict(["a"])


class TestFailures:
    def test_what_the_model_raises_is_chained(self) -> None:
        def fails(texts: list[str]) -> Any:
            raise OSError("disk on fire\nand more")

        with pytest.raises(ModelError) as caught:
            as_predictor(fails, labels=LABELS).predict(["first", "second"])
        assert str(caught.value) == (
            "The model failed on a batch of 2 texts: OSError: disk on fire; first text: 'first'."
        )
        assert isinstance(caught.value.__cause__, OSError)

    def test_interrupts_pass(self) -> None:
        def interrupted(texts: list[str]) -> Any:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            as_predictor(interrupted, labels=LABELS).predict(["text"])

    @pytest.mark.parametrize("error", [SystemExit(0), MemoryError(), ZeroDivisionError(), GeneratorExit()])
    @pytest.mark.parametrize("part", ["__array__", "__iter__", "columns"])
    def test_an_answer_that_raises_when_it_is_read_is_a_failure(self, part: str, error: BaseException) -> None:
        """A SystemExit would end the process with the status 0, and without a word."""

        def fail(*_: Any, **__: Any) -> Any:
            raise error

        base = object if part == "__array__" else list
        answer = type("Answer", (base,), {part: property(fail) if part == "columns" else fail})()
        with pytest.raises(ModelError, match=type(error).__name__):
            answered(lambda texts: answer, ["text"], LABELS, Columns(LABELS))

    def test_an_exception_that_cannot_be_written_is_named(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise ValueError

        def fails(texts: list[str]) -> Any:
            raise Mute

        with pytest.raises(ModelError, match="1 texts: Mute; first"):
            as_predictor(fails, labels=LABELS).predict(["text"])

    def test_a_long_exception_is_cut(self) -> None:
        def fails(texts: list[str]) -> Any:
            raise ValueError("x" * 10_000_000)

        with pytest.raises(ModelError) as caught:
            as_predictor(fails, labels=LABELS).predict(["text"])
        assert len(str(caught.value)) < 1000

    def test_many_labels_and_long_ones_are_cut(self) -> None:
        labels = [f"{number:0100}" for number in range(20_000)]
        for answer in ([[0.5, 0.5]], None, ["x" * 1_000_000], [{"x" * 1_000_000: 1.0}]):
            with pytest.raises(ModelError) as caught:
                as_predictor(lambda texts, answer=answer: answer, labels=labels).predict(["text"])
            assert len(str(caught.value)) < 8000 and "20,000" in str(caught.value)

    def test_a_model_whose_labels_raise_is_named(self) -> None:
        class Odd:
            @property
            def classes_(self) -> Any:
                raise ZeroDivisionError("classes")

            def predict_proba(self, texts: list[str]) -> Any:
                return [[0.5, 0.5]] * len(texts)

        with pytest.raises(ModelFileError, match=r"Odd fails when it is asked what it is \(ZeroDivisionError: classes"):
            as_predictor(Odd())

    @pytest.mark.parametrize("told", ["many", 10**400, -1, None])
    def test_tokens_that_are_no_count_are_refused(self, told: Any) -> None:
        class Odd:
            n_tokens = told

            def __call__(self, texts: list[str]) -> Any:
                return [[0.5, 0.5]] * len(texts)

        with pytest.raises(InputError, match="n_tokens of Odd is the number of tokens so far"):
            as_predictor(Odd(), labels=LABELS)

    def test_no_texts_are_no_call(self) -> None:
        answer = as_predictor(lambda texts: 1 / 0, labels=LABELS).predict([])
        assert answer.shape == (0, 2)


class TestLabels:
    def test_a_function_needs_them(self) -> None:
        def score(texts: list[str]) -> Any: ...

        with pytest.raises(InputError, match=r"labels of score are not known; .* --labels negative,positive"):
            as_predictor(score)

    @pytest.mark.parametrize("labels", [["only"], ["same", "same"], []])
    def test_two_different_ones_are_needed(self, labels: list[str]) -> None:
        with pytest.raises(InputError, match="two or more different labels"):
            as_predictor(lambda texts: None, labels=labels)

    def test_a_text_is_no_list_of_labels(self) -> None:
        with pytest.raises(InputError, match=r"write labels=\['bad', 'good'\]"):
            as_predictor(lambda texts: None, labels="bad,good")

    @pytest.mark.parametrize("labels", [[0, 1], np.array([0, 1]), ["0", 1]])
    def test_numbers_are_no_names(self, labels: Any) -> None:
        for model in (lambda texts: None, text_pipeline(), as_predictor(text_pipeline())):
            with pytest.raises(InputError, match=r"are strings, and .* is none; write labels=\['0', '1'\]"):
                as_predictor(model, labels=labels)

    def test_a_number_of_labels_is_no_list_of_them(self) -> None:
        with pytest.raises(InputError, match="labels must be a list of names, not 2"):
            as_predictor(lambda texts: None, labels=2)

    def test_given_names_replace_the_models_own(self) -> None:
        assert as_predictor(text_pipeline(), labels=["thumb down", "thumb up"]).labels == ("thumb down", "thumb up")

    def test_a_wrong_number_of_names_is_refused(self) -> None:
        with pytest.raises(InputError, match=r"LogisticRegression has 2 labels \(bad, good\), but 3 names"):
            as_predictor(text_pipeline(), labels=["a", "b", "c"])

    def test_the_models_own_names_in_another_order_are_refused(self) -> None:
        """Taken as new names, ``good,bad`` would swap the explanations of the two."""
        with pytest.raises(InputError, match=r"in the order \(bad, good\)"):
            as_predictor(text_pipeline(), labels=["good", "bad"])


class TestObjects:
    def test_a_predictor_comes_back_as_it_is(self) -> None:
        predictor = as_predictor(text_pipeline())
        assert as_predictor(predictor) is predictor
        assert as_predictor(predictor, labels=LABELS) is predictor
        with pytest.raises(InputError, match=r"labels of its own \(bad, good\)"):
            as_predictor(predictor, labels=["a", "b"])

    @pytest.mark.parametrize("thing", [None, 3, "model.skops", [1, 2]])
    def test_other_objects_are_refused(self, thing: Any) -> None:
        with pytest.raises(InputError, match=f"{type(thing).__name__} is no model that can be asked about texts"):
            as_predictor(thing)

    def test_a_class_is_refused(self) -> None:
        from sklearn.linear_model import LogisticRegression

        with pytest.raises(InputError, match="LogisticRegression is a class"):
            as_predictor(LogisticRegression)

    def test_a_regressor_is_refused(self) -> None:
        from sklearn.linear_model import Ridge

        with pytest.raises(InputError, match="Ridge is no model"):
            as_predictor(Ridge())


class TestFunctions:
    def test_label_names_make_a_label_only_predictor(self) -> None:
        predictor = as_predictor(
            lambda texts: np.array(["good" if "great" in t else "bad" for t in texts]), labels=LABELS
        )
        assert predictor.predict(["great", "film"]).tolist() == [[0, 1], [1, 0]]
        assert predictor.has_probabilities is False

    def test_callable_objects_and_methods(self) -> None:
        class Scorer:
            def __call__(self, texts: list[str]) -> list[list[float]]:
                return [[1.0, 0.0]] * len(texts)

        assert as_predictor(Scorer(), labels=LABELS).name == "Scorer"
        model = text_pipeline()
        by_method = as_predictor(model.predict_proba, labels=LABELS)
        assert np.array_equal(by_method.predict(TEXTS), model.predict_proba(TEXTS))


class LabelsOnly:
    """A fitted model of which nothing but the predictions is known."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classes_ = model.classes_

    def predict(self, texts: list[str]) -> Any:
        return self.model.predict(texts)


class TestNamedRows:
    def test_the_texts_that_find_the_labels_count_for_the_budget(self) -> None:
        """What the run says it asked is what reached the function."""
        asked: list[str] = []

        def model(texts: list[str]) -> list[dict[str, float]]:
            asked.extend(texts)
            return [{"bad": 0.9, "good": 0.1} if "bad" in text else {"good": 0.8, "bad": 0.2} for text in texts]

        result = Explainer(model, settings={"min_occurrences": 1}).explain(TEXTS)
        assert result.cost.predictor_texts == len(asked) and {*result.explanations} == {"bad", "good"}

    def test_a_function_that_fails_on_the_first_texts_says_so(self) -> None:
        with pytest.raises(InputError, match=r"labels of <lambda> are not known, and it fails .*ZeroDivisionError"):
            as_predictor(lambda texts: 1 / 0)

    def test_names_are_learnt_from_the_documents_and_each_call_is_counted(self) -> None:
        asked: list[str] = []

        def kinds(texts: list[str]) -> list[str]:
            asked.extend(texts)
            return ["ham" if "lunch" in text else "spam" if "win" in text else "none" for text in texts]

        texts = ["win a prize"] * 300 + ["lunch today"] * 300
        predictor = as_predictor(kinds, learn_from=texts)
        assert predictor.labels == ("ham", "none", "spam")
        assert predictor.n_probed == len(asked) == 2 + 256  # the two of the probe, and the most that it learns from
        assert not as_predictor(kinds, labels=["ham", "none", "spam"]).n_probed

    def test_a_budget_limits_what_names_are_learnt_from(self) -> None:
        """A tenth of 60 calls is 6 documents: these and the probe's two are part of the 60."""
        asked: list[str] = []

        def kinds(texts: list[str]) -> list[str]:
            asked.extend(texts)
            return ["spam" if "win" in text else "ham" for text in texts]

        texts = ["win a prize", "lunch today", "a prize", "so we win", "today"] * 8
        result = Explainer(kinds, max_model_calls=60, settings={"min_occurrences": 1}).explain(texts)
        assert {*result.explanations} == {"ham", "spam"}
        assert len(asked) == result.cost.predictor_texts <= 60

    @pytest.mark.parametrize("rounds", [0, 1])
    def test_a_run_that_goes_on_does_not_learn_the_names_again(self, rounds: int, tmp_path: Path) -> None:
        asked: list[str] = []

        def kinds(texts: list[str]) -> list[str]:
            asked.extend(texts)
            return ["spam" if "win" in text else "ham" for text in texts]

        texts = ["win a prize", "lunch today", "a prize", "so we win", "today"] * 8
        explainer = Explainer(kinds, settings={"min_occurrences": 1, "round_size": 2})
        whole = explainer.explain(texts)
        n_whole = len(asked)
        stream = explainer.stream(texts, out=tmp_path / "run")
        for _ in range(rounds + 1):
            next(stream)
        stream.close()
        before = len(asked)
        result = explainer.explain(texts, out=tmp_path / "run", resume=True)
        assert result.explanations == whole.explanations
        assert asked[before:][:2] != [*PROBE]
        assert len(asked) - n_whole == result.cost.predictor_texts == whole.cost.predictor_texts

    def test_a_name_that_turns_up_later_is_a_sentence(self) -> None:
        predictor = as_predictor(lambda texts: [text[:1] for text in texts], labels=["a", "b"])
        with pytest.raises(ModelError, match=r"answered 'c' for 'c', which is none of its labels \(a, b\); name every"):
            predictor.predict(["a", "c"])

    def test_a_table_names_its_labels(self) -> None:
        import pandas

        assert as_predictor(lambda texts: pandas.DataFrame({"no": [0.5] * len(texts), "yes": 0.5})).labels == (
            "no",
            "yes",
        )

    def test_rows_that_name_their_labels_now_and_then_are_refused(self) -> None:
        predictor = as_predictor(lambda texts: [{"no": 1.0, "yes": 0.0}, [0.5, 0.5]], labels=["no", "yes"])
        with pytest.raises(ModelError, match="row for 'b' names no labels, and others do"):
            predictor.predict(["a", "b"])


class TestTables:
    def model(self, *columns: str) -> Any:
        import pandas
        from sklearn.compose import ColumnTransformer
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        table = pandas.DataFrame(dict.fromkeys(columns, TEXTS))
        first = ColumnTransformer([("words", TfidfVectorizer(), columns[0])])
        return make_pipeline(first, LogisticRegression()).fit(table, ["a", "b"] * 3)

    def test_the_only_column_needs_no_name(self) -> None:
        import pandas

        model = self.model("review")
        expected = model.predict_proba(pandas.DataFrame({"review": TEXTS}))
        assert np.array_equal(as_predictor(model).predict(TEXTS), expected)

    def test_one_of_several_is_named(self) -> None:
        model = self.model("review", "title")
        with pytest.raises(InputError, match=r"columns review, title; say which .* --text-column review"):
            as_predictor(model)
        assert np.array_equal(
            as_predictor(model, text_column="review").predict(TEXTS),
            self.model("review").predict_proba(__import__("pandas").DataFrame({"review": TEXTS})),
        )

    def test_a_model_that_reads_more_than_the_texts_says_so(self) -> None:
        with pytest.raises(ModelError, match=r"cannot read a table of the one column 'title' .*columns are missing"):
            as_predictor(self.model("review", "title"), text_column="title").predict(TEXTS)


class TestScikit:
    def test_it_answers_what_the_model_answers(self) -> None:
        model = text_pipeline()
        predictor = as_predictor(model)
        assert isinstance(predictor, ScikitPredictor)
        assert (predictor.name, predictor.labels, predictor.has_probabilities) == (
            "LogisticRegression",
            ("bad", "good"),
            True,
        )
        assert np.array_equal(predictor.predict(TEXTS), model.predict_proba(TEXTS))

    @pytest.mark.parametrize("read", ["filename", "file"])
    @pytest.mark.parametrize("depth", [0, 1])
    def test_a_vectoriser_that_opens_what_a_text_names_is_refused(self, depth: int, read: str) -> None:
        from sklearn.pipeline import make_pipeline, make_union

        model = text_pipeline()
        model[0].input = read
        if depth:
            model = make_pipeline(make_union(model[0]), model[-1])
        with pytest.raises(ModelFileError, match=rf"reads files that the texts name \(input='{read}'\)"):
            as_predictor(model)

    def test_margins_stand_for_probabilities_and_that_is_told(self, caplog: pytest.LogCaptureFixture) -> None:
        """Two labels: 1 / (1 + exp(-margin)) for the second."""
        from sklearn.svm import LinearSVC

        model = text_pipeline(LinearSVC())
        with caplog.at_level(logging.WARNING, "anchorscope"):
            predictor = as_predictor(model)
        assert np.allclose(predictor.predict(TEXTS)[:, 1], 1 / (1 + np.exp(-model.decision_function(TEXTS))))
        assert predictor.has_probabilities and "a softmax of its margins stands for them" in caplog.text

    def test_margins_of_three_labels_keep_what_the_model_predicts(self) -> None:
        from sklearn.svm import LinearSVC

        model = text_pipeline(LinearSVC()).fit(TEXTS, [1, 0, 1, 0, 0, 2])
        rows = as_predictor(model).predict(TEXTS)
        assert rows.shape == (6, 3) and np.array_equal(rows.argmax(axis=1), model.predict(TEXTS))

    def test_label_only_models(self) -> None:
        from sklearn.svm import LinearSVC

        model = LabelsOnly(text_pipeline(LinearSVC()))
        predictor = as_predictor(model, labels=["down", "up"])
        assert predictor.has_probabilities is False
        assert [["bad", "good"][row.argmax()] for row in predictor.predict(TEXTS)] == list(model.predict(TEXTS))
        assert set(predictor.predict(TEXTS).ravel()) == {0.0, 1.0}

    def test_classes_of_any_type_are_named_as_strings(self) -> None:
        from sklearn.linear_model import LogisticRegression

        model = text_pipeline(LogisticRegression()).fit(TEXTS, [1, 0, 1, 0, 0, 2])
        assert as_predictor(model).labels == ("0", "1", "2")

    def test_a_classifier_without_vectoriser(self) -> None:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        for bare in (LogisticRegression(), LinearSVC()):
            model = bare.fit([[0.0, 1.0], [1.0, 0.0]], LABELS)
            with pytest.raises(
                ModelError, match=r"table of 2 columns and cannot read texts .* pipeline with a vectoriser"
            ):
                as_predictor(model).predict(["text"])

    def test_an_unfitted_model(self) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        model = make_pipeline(TfidfVectorizer(), LogisticRegression())
        with pytest.raises(InputError, match="labels of LogisticRegression are not known"):
            as_predictor(model)
        with pytest.raises(ModelError, match="NotFittedError"):
            as_predictor(model, labels=LABELS).predict(["text"])

    def test_several_outputs_are_refused(self) -> None:
        from sklearn.dummy import DummyClassifier

        model = DummyClassifier().fit([[0], [1]], [["a", "x"], ["b", "y"]])
        with pytest.raises(InputError, match="DummyClassifier predicts several things at once"):
            as_predictor(model)


class TestSkops:
    def save(self, model: Any, path: Path) -> Path:
        import skops.io

        skops.io.dump(model, path)
        return path

    def test_a_plain_pipeline_needs_no_trust(self, tmp_path: Path) -> None:
        model = text_pipeline()
        path = self.save(model, tmp_path / "reviews.skops")
        predictor = load_predictor(str(path))
        assert predictor.name == "reviews.skops"
        assert predictor.fingerprint == sha256(path.read_bytes()).hexdigest()
        assert np.array_equal(predictor.predict(TEXTS), model.predict_proba(TEXTS))

    def test_untrusted_types_are_listed_and_not_touched(self, here: Path) -> None:
        (here / "shouting_helpers.py").write_text("def shout(texts):\n    return [text.upper() for text in texts]\n")
        sys.path.insert(0, str(here))
        import shouting_helpers  # type: ignore[import-not-found]
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        path = self.save(make_pipeline(FunctionTransformer(shouting_helpers.shout), text_pipeline()), here / "m.skops")
        del sys.modules["shouting_helpers"]
        sys.path.remove(str(here))

        with pytest.raises(
            ModelFileError, match=r"nothing was loaded; .* add --trust shouting_helpers\.shout \(in Python"
        ):
            load_predictor("m.skops")
        assert "shouting_helpers" not in sys.modules
        with pytest.raises(ModelFileError, match=r"does not vouch for: shouting_helpers.shout;"):
            load_predictor("m.skops", trust=["some.other"])
        predictor = load_predictor(str(path), trust=["shouting_helpers.shout"])
        assert predictor.predict(["great"]).shape == (1, 2)

    def test_a_call_in_disguise_is_not_made(self, tmp_path: Path) -> None:
        from sklearn.preprocessing import FunctionTransformer

        path = self.save(FunctionTransformer(os.system), tmp_path / "m.skops")
        with pytest.raises(ModelFileError, match=r"--trust posix.system|--trust nt.system"):
            load_predictor(str(path))

    @pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken"])
    def test_broken_files(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "m.skops"
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"'m.skops' cannot be read as a skops file"):
            load_predictor(str(path))

    def repacked(self, path: Path, change: Callable[[str, bytes], bytes]) -> Path:
        """The same archive with changed entries, packed."""
        with zipfile.ZipFile(path) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in entries.items():
                archive.writestr(name, change(name, data))
        return path

    def test_a_packed_model_is_read(self, tmp_path: Path) -> None:
        path = self.repacked(self.save(text_pipeline(), tmp_path / "m.skops"), lambda name, data: data)
        assert load_predictor(str(path)).predict(["great"]).shape == (1, 2)

    @pytest.mark.parametrize("kind", ["one entry", "an archive in it", "one entry for many arrays"])
    def test_a_file_that_would_fill_the_memory_is_refused_unread(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """3 MB of zeros in a few kB, where 1 MB is harmless: as 4 GB would be in 4 MB."""
        import skops.io

        monkeypatch.setattr("anchorscope.predictors.skops_size.HARMLESS", 1 << 20)
        monkeypatch.setattr(skops.io, "get_untrusted_types", lambda **given: pytest.fail("the file was read"))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data.npy", bytes(3_000_000))
        path = self.save(text_pipeline(), tmp_path / "m.skops")

        with zipfile.ZipFile(path) as archive:
            first = next(name for name in archive.namelist() if name.endswith(".npy"))
        arrays = {"one entry": bytes(3_000_000), "an archive in it": packed.getvalue()}

        def change(name: str, data: bytes) -> bytes:
            if name == "schema.json" and kind not in arrays:
                more = [{"file": first, "__id__": number} for number in range(1, 31)]
                return json.dumps({**json.loads(data), "more": more}).encode()
            return arrays.get(kind, bytes(100_000)) if name == first else data

        self.repacked(path, change)
        with pytest.raises(ModelFileError, match=r"'m.skops' has [\d,]+ bytes and would become [34],\d{3},\d{3} when"):
            load_predictor(str(path))

    def test_a_pipe_is_not_waited_for_and_a_link_is_followed(self, tmp_path: Path) -> None:
        self.save(text_pipeline(), tmp_path / "m.skops")
        (tmp_path / "link.skops").symlink_to("m.skops")
        assert load_predictor(str(tmp_path / "link.skops")).predict(["great"]).shape == (1, 2)
        for name in ("pipe.skops", "pipe.pkl"):
            os.mkfifo(tmp_path / name)
            with pytest.raises(ModelFileError, match=f"{name}' is no regular file"):
                load_predictor(str(tmp_path / name), allow_pickle=name.endswith("pkl"))

    def test_another_version_is_told_and_no_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        import sklearn
        import sklearn.base

        with monkeypatch.context() as patch:
            patch.setattr(sklearn.base, "__version__", "1.0.1")
            path = self.save(text_pipeline(), tmp_path / "m.skops")
        with caplog.at_level(logging.WARNING, "anchorscope"):
            load_predictor(str(path))
        assert caplog.messages == [
            f"m.skops: made with scikit-learn 1.0.1 and read with {sklearn.__version__}; "
            "its answers may differ: fit it again if you can."
        ]

    def test_skops_may_be_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "m.skops").write_bytes(b"")
        monkeypatch.setitem(sys.modules, "skops.io", None)
        with pytest.raises(MissingPackageError, match=r"anchorscope\[scikit\]"):
            load_predictor(str(tmp_path / "m.skops"))


class Touch:
    """Pickled, it is the command to create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


class TestPickles:
    @pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".PKL"])
    def test_they_are_refused_unread(self, tmp_path: Path, suffix: str) -> None:
        trace, path = tmp_path / "was-here", tmp_path / f"m{suffix}"
        path.write_bytes(pickle.dumps(Touch(trace)))
        with pytest.raises(ModelFileError, match=r"is a pickle, which can run any code .* --allow-pickle"):
            load_predictor(str(path))
        assert not trace.exists()

    def test_allowed_ones_are_read(self, tmp_path: Path) -> None:
        import joblib

        model = text_pipeline()
        (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
        joblib.dump(model, tmp_path / "m.joblib")
        for name in ("m.pkl", "m.joblib"):
            predictor = load_predictor(str(tmp_path / name), allow_pickle=True)
            assert predictor.name == name
            assert np.array_equal(predictor.predict(TEXTS), model.predict_proba(TEXTS))

    def test_broken_ones(self, tmp_path: Path) -> None:
        (tmp_path / "m.pkl").write_bytes(b"no pickle")
        with pytest.raises(ModelFileError, match=r"'m.pkl' cannot be read as a pickle file"):
            load_predictor(str(tmp_path / "m.pkl"), allow_pickle=True)


class TestHuggingFace:
    def test_a_folder_answers_as_the_bare_model(self, bert_folder: Path) -> None:
        """Against one text at a time, without padding, sorting or batches of ours."""
        import torch

        rng = np.random.default_rng(0)
        texts = [" ".join(rng.choice(WORDS[5:], size=rng.integers(0, 12))) for _ in range(70)]
        model, tokenizer = tiny_bert()
        with torch.inference_mode():
            expected = [
                model(**tokenizer(t, return_tensors="pt")).logits.double().softmax(-1)[0].numpy() for t in texts
            ]
        predictor = load_predictor(str(bert_folder))
        assert (predictor.name, predictor.labels, predictor.has_probabilities) == ("tiny-bert", ("bad", "good"), True)
        assert np.allclose(predictor.predict(texts), expected, atol=1e-6)
        assert np.ptp(expected) > 0.5

    def test_a_pipeline_answers_the_same(self, bert_folder: Path) -> None:
        import transformers

        texts = [*TEXTS, "great " * 100, "", "lone \ud800 surrogate"]
        model, tokenizer = tiny_bert()
        predictor = as_predictor(transformers.pipeline("text-classification", model=model, tokenizer=tokenizer))
        assert isinstance(predictor, PipelinePredictor)
        assert predictor.labels == ("bad", "good")
        assert np.allclose(predictor.predict(texts), load_predictor(str(bert_folder)).predict(texts), atol=1e-6)

    def test_settings_of_a_pipeline_stay(self) -> None:
        import transformers

        model, tokenizer = tiny_bert()
        short = transformers.pipeline(
            "text-classification", model=model, tokenizer=tokenizer, truncation=True, max_length=3
        )
        same = as_predictor(short).predict(["great film film", "great bad bad"])
        assert np.allclose(same[0], same[1], atol=1e-6)

    def test_other_pipelines_are_refused(self) -> None:
        import transformers

        model, tokenizer = tiny_bert("BertForMaskedLM")
        with pytest.raises(InputError, match="pipeline for fill-mask; expected one for text-classification"):
            as_predictor(transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer))

    @pytest.mark.parametrize("longest", [-5, 0, 2, "many"])
    def test_a_longest_input_without_a_word_is_refused(self, longest: Any, bert_folder: Path, tmp_path: Path) -> None:
        """[CLS], a word and [SEP] are three tokens."""
        folder = shutil.copytree(bert_folder, tmp_path / "model")
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": longest}))
        with pytest.raises(InputError, match=r"longest input of .* tokens, and the shortest one with a word has 3"):
            load_predictor(str(folder))

    def test_it_travels_as_its_path(self, bert_folder: Path) -> None:
        predictor = HuggingFacePredictor.from_folder(bert_folder, labels=["down", "up"], batch_size=2)
        luggage = pickle.dumps(predictor)
        assert len(luggage) < 2000
        arrived = pickle.loads(luggage)
        assert (arrived.labels, arrived.batch_size) == (("down", "up"), 2)
        assert np.array_equal(arrived.predict(TEXTS), predictor.predict(TEXTS))

    def test_a_folder_that_changed_on_the_way_is_refused(self, tmp_path: Path) -> None:
        for part in tiny_bert():
            part.save_pretrained(tmp_path)
        luggage = pickle.dumps(HuggingFacePredictor.from_folder(tmp_path))
        (tmp_path / "vocab.txt").write_text("another")
        with pytest.raises(ModelFileError, match="has changed since the run began"):
            pickle.loads(luggage)

    def test_roberta_holds_fewer_tokens_than_positions(self) -> None:
        """18 positions, counted from padding_idx + 1 = 2: 16 tokens, though the tokenizer knows no limit."""
        import transformers

        words = ["[UNK]", "[PAD]", *WORDS[2:]]
        tokenizer = transformers.BertTokenizer(vocab={word: i for i, word in enumerate(words)})
        config = transformers.RobertaConfig(
            vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
            max_position_embeddings=18, type_vocab_size=2, pad_token_id=1,
        )  # fmt: skip
        predictor = HuggingFacePredictor(transformers.RobertaForSequenceClassification(config), tokenizer)
        assert predictor.encode(["great " * 100, "bad"])["input_ids"].shape == (2, 16)
        assert predictor.predict(["great " * 100, "bad"]).shape == (2, 2)

    @pytest.mark.parametrize(
        ("n_cores", "parallel", "by_stretch"), [(2, "true", True), (64, "true", False), (64, "false", True)]
    )
    def test_the_short_way_to_pieces_is_the_usual_one(
        self, n_cores: int, parallel: str, by_stretch: bool, monkeypatch
    ) -> None:
        """Asked directly, the engine of a tokenizer gives the numbers and the padding that transformers gives."""
        monkeypatch.setattr("os.cpu_count", lambda: n_cores)
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", parallel)
        _, tokenizer = tiny_bert()
        truncation = {"truncation": True, "max_length": 8}
        short = encoding.encoder(tokenizer, truncation)
        assert isinstance(short, encoding.Direct) and short._by_stretch == by_stretch

        @settings(max_examples=100, deadline=None)
        @given(
            st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=4)
        )
        @example(["great", "", "a bad  bad film , really ? !", "film " * 20, "a[MASK]b\tc\x1cd\u3000e \u0301 \x00"])
        def compare(texts: list[str]) -> None:
            usual = tokenizer(texts, padding=True, return_tensors="pt", **truncation)
            for name, tensor in short(texts).items():
                assert tensor.tolist() == usual[name].tolist(), name

        compare()

    def test_spelled_texts_have_the_pieces_of_the_written_ones(self) -> None:
        """Whatever their stretches are; in batches of 2, those of like length together, each text once."""
        _, tokenizer = tiny_bert()
        truncation = {"truncation": True, "max_length": 8}
        encode = encoding.encoder(tokenizer, truncation)

        @settings(max_examples=100, deadline=None)
        @given(
            st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=5),
            st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=12), min_size=1, max_size=5),
        )
        @example(["great", "", "film,", "a\u0301\n", "[MASK]"], [[0, 1, 2], [1], [2, 4, 3, 0, 0, 0, 0], [3]])
        def compare(stretches: list[str], rows: list[list[int]]) -> None:
            numbers = [np.array(row, np.int32) % len(stretches) for row in rows]
            texts = Spelled(stretches, [row.astype(np.int32).tobytes() for row in numbers])
            asked = []
            for batch, inputs in encoding.batches(encode, texts, 2):
                usual = tokenizer([texts[i] for i in batch.tolist()], padding=True, return_tensors="pt", **truncation)
                for name, tensor in inputs.items():
                    assert tensor.tolist() == usual[name].tolist(), name
                asked += batch.tolist()
            assert sorted(asked) == list(range(len(rows)))

        compare()

    @pytest.mark.parametrize("spells", [True, False])
    def test_what_is_begun_is_what_is_predicted(self, spells: bool) -> None:
        """Also where the tokenizer must see whole texts, here because it pads on the left."""
        model, tokenizer = tiny_bert()
        tokenizer.padding_side = "right" if spells else "left"
        predictor = HuggingFacePredictor(model, tokenizer, batch_size=2)
        assert isinstance(predictor.encode, encoding.Direct) == spells
        spelled = encoding._spelled(TEXTS)
        assert list(spelled) == list(TEXTS)
        assert np.allclose(predictor.begin(spelled)(), predictor.predict(TEXTS), atol=1e-6)

    @pytest.mark.parametrize("side", ["padding_side", "truncation_side"])
    def test_a_tokenizer_that_pads_or_cuts_on_the_left_is_asked_as_usual(self, side: str) -> None:
        _, tokenizer = tiny_bert()
        setattr(tokenizer, side, "left")
        assert isinstance(encoding.encoder(tokenizer, {}), encoding.Usual)

    @pytest.mark.parametrize("n_cores", [2, 64])
    def test_a_tokenizer_to_which_the_first_word_is_another_is_asked_as_usual(self, n_cores: int, monkeypatch) -> None:
        """It cuts at spaces, but marks the beginning of the text; many cores do not hide that."""
        import tokenizers
        import transformers
        from tokenizers.pre_tokenizers import Metaspace, Sequence, WhitespaceSplit

        monkeypatch.setattr("os.cpu_count", lambda: n_cores)
        numbers = {"[PAD]": 0, "[UNK]": 1, "words,": 2, "▁words,": 3}
        engine = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, unk_token="[UNK]"))
        engine.pre_tokenizer = Sequence([WhitespaceSplit(), Metaspace(prepend_scheme="first")])
        first = transformers.PreTrainedTokenizerFast(tokenizer_object=engine, pad_token="[PAD]", unk_token="[UNK]")
        assert isinstance(encoding.encoder(first, {}), encoding.Usual)

    def test_a_text_without_any_piece_is_padding(self) -> None:
        """As the empty text is to a tokenizer that sets nothing around a text."""
        import tokenizers
        import transformers

        engine = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1}, unk_token="[UNK]"))
        engine.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        bare = transformers.PreTrainedTokenizerFast(tokenizer_object=engine, pad_token="[PAD]", unk_token="[UNK]")
        inputs = encoding.encoder(bare, {})([""])
        assert {name: tensor.tolist() for name, tensor in inputs.items()} == {
            "input_ids": [[0]],
            "attention_mask": [[0]],
        }

    def test_the_pieces_that_are_remembered_have_a_limit(self, monkeypatch) -> None:
        """Also where every text is one long stretch; 3 texts of 16 pieces at a time."""
        monkeypatch.setattr(encoding, "REMEMBERED", 100)
        encode = encoding.encoder(tiny_bert()[1], {})
        for number in range(20):
            texts = Spelled(
                [f"film{',' * 10}{number}{end}!!!" for end in "?,!"], [np.int32(i).tobytes() for i in range(3)]
            )
            assert len(list(encoding.batches(encode, texts, 3))) == 1
            assert sum(len(pieces) for pieces in encode._known.values()) < 200

    def test_a_device_that_is_not_there_is_named(self, bert_folder: Path) -> None:
        with pytest.raises(InputError, match=r"There is no device 'cuda:99' here; there is: cpu"):
            HuggingFacePredictor.from_folder(bert_folder, device="cuda:99")

    def test_without_a_padding_token_texts_go_one_by_one(self) -> None:
        model, tokenizer = tiny_bert()
        expected = HuggingFacePredictor(model, tokenizer).predict(TEXTS)
        tokenizer.pad_token = None
        assert np.allclose(HuggingFacePredictor(model, tokenizer).predict(TEXTS), expected, atol=1e-6)

    @pytest.mark.parametrize(
        ("kind", "told"), [("regression", "regression"), (["x"], r"\['x'\]"), (["x" * 999], ".*…")]
    )
    def test_other_problems_are_refused(self, kind: Any, told: str) -> None:
        model, tokenizer = tiny_bert()
        model.config.problem_type = kind
        with pytest.raises(InputError, match=f"model for {told}; expected one that gives texts labels"):
            HuggingFacePredictor(model, tokenizer)

    def test_pickled_weights_are_refused_unread(self, bert_folder: Path, tmp_path: Path) -> None:
        trace = tmp_path / "was-here"
        folder = tmp_path / "folder"
        folder.mkdir()
        (folder / "config.json").write_bytes((bert_folder / "config.json").read_bytes())
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Touch(trace)))
        with pytest.raises(ModelFileError, match=r"only in pickled form .* safetensors with model.save_pretrained"):
            load_predictor(str(folder))
        assert not trace.exists()

    def test_code_in_the_folder_is_not_run(self, bert_folder: Path, tmp_path: Path) -> None:
        trace = tmp_path / "was-here"
        folder = tmp_path / "folder"
        folder.mkdir()
        for file in bert_folder.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        own = {
            "model_type": "evil",
            "auto_map": {"AutoConfig": "evil.C", "AutoModelForSequenceClassification": "evil.M"},
        }
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **own}))
        (folder / "evil.py").write_text(f"import pathlib\npathlib.Path({str(trace)!r}).touch()\n")
        with pytest.raises(ModelFileError, match=r"sets 'auto_map' to .* load code"):
            load_predictor(str(folder))
        assert not trace.exists()

    def test_a_head_is_not_made_up(self, tmp_path: Path) -> None:
        for part in tiny_bert("BertForMaskedLM"):
            part.save_pretrained(tmp_path)
        with pytest.raises(ModelFileError, match=r"no trained sequence classifier: it lacks .*classifier\.weight"):
            load_predictor(str(tmp_path))

    def test_a_vocabulary_is_not_made_up(self, tmp_path: Path) -> None:
        tiny_bert()[0].save_pretrained(tmp_path)
        with pytest.raises(ModelFileError, match="holds no tokenizer"):
            load_predictor(str(tmp_path))

    @pytest.mark.parametrize("kind", ["T5Tokenizer", "DebertaV2Tokenizer", "MBartTokenizer", "SplinterTokenizer"])
    @pytest.mark.parametrize("beside", [None, "merges.txt"])
    def test_nor_is_one_of_a_class_that_begins_with_some_pieces(
        self, beside: str | None, kind: str, tmp_path: Path
    ) -> None:
        tiny_bert()[0].save_pretrained(tmp_path)
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
        if beside:
            (tmp_path / beside).write_text("#version: 0.2\n")
        with pytest.raises(ModelFileError, match="holds no tokenizer"):
            load_predictor(str(tmp_path))

    def test_a_tokenizer_of_characters_needs_no_vocabulary(self, tmp_path: Path) -> None:
        tiny_bert(vocab_size=300)[0].save_pretrained(tmp_path)
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "ByT5Tokenizer"}))
        assert list(load_predictor(str(tmp_path)).labels) == LABELS

    def test_folders_of_something_else(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match=r"has no config.json"):
            load_predictor(str(tmp_path))
        (tmp_path / "config.json").write_text("{}")
        with pytest.raises(ModelFileError, match="holds no weights"):
            load_predictor(str(tmp_path))

    def test_transformers_may_be_missing(self, bert_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "transformers", None)
        with pytest.raises(MissingPackageError, match=r"anchorscope\[huggingface\]"):
            load_predictor(str(bert_folder))


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


class TestVisible:
    """A tiny BERT reads sixteen pieces, two of which frame the text: fourteen words of it."""

    def test_a_model_says_how_far_it_reads(self) -> None:
        model, tokenizer = tiny_bert()
        word = next(word for word in WORDS if word.isalpha())
        long = " ".join([word] * 20)
        seen = HuggingFacePredictor(model, tokenizer).visible(["", word, long])
        assert seen.tolist() == [[0, 0], [0, len(word)], [0, 14 * (len(word) + 1) - 1]]

    def test_one_that_cuts_at_the_left_reads_the_end(self) -> None:
        model, tokenizer = tiny_bert()
        tokenizer.truncation_side = "left"
        word = next(word for word in WORDS if word.isalpha())
        long = " ".join([word] * 20)
        assert HuggingFacePredictor(model, tokenizer).visible([long]).tolist() == [[6 * (len(word) + 1), len(long)]]

    def test_a_tokenizer_without_places_is_asked_about_parts(self) -> None:
        class Slow:
            is_fast = False
            truncation_side = "right"

            def __call__(self, text: str, **_: Any) -> dict[str, Any]:
                return {"input_ids": [0, *map(len, text.split()), 0]}

        reach = Reach(Slow(), {"truncation": True, "max_length": 5})
        assert reach(["a bc def ghij", "a bc def"]).tolist() == [[0, 9], [0, 8]]
        assert Reach(Slow(), {})(["a " * 50]).tolist() == [[0, 100]]

    def test_a_run_does_not_test_what_the_model_does_not_read(self, bert_folder: Path) -> None:
        words = [word for word in WORDS if word.isalpha()][:2]
        texts = [" ".join([words[0]] * 14 + [words[1]] * 3), words[0]]
        result = Explainer(HuggingFacePredictor.from_folder(bert_folder)).explain(texts)
        assert result.documents["unseen"] == {"documents": 1, "words": 3}

"""What a model answers is checked, whatever it came as: probabilities, labels, rows with names."""

from __future__ import annotations

import re
import sqlite3
from collections import deque
from contextlib import closing
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_models import LABELS

from anchorscope.asking.answers import checked, one_hot
from anchorscope.errors import ModelError
from anchorscope.predictors import as_predictor


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
        "percentages": ([[20, 80], [50, 50]], "row for 'first' sums to 100 and not to 1; are these percentages?"),
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

    def test_rows_in_another_form_are_told_how_to_become_rows(self) -> None:
        from scipy.sparse import csr_matrix

        rows = [[0.25, 0.75]]
        columns = {"bad": [0.25], "good": [0.75]}
        for answer, step in (
            (columns, "np.column_stack(list(answer.values()))"),
            (iter(rows), "list(answer)"),
            (csr_matrix(rows), "answer.toarray()"),
        ):
            with pytest.raises(ModelError, match=f"; .*: {re.escape(step)}"):
                checked(answer, ["text"], LABELS)
        assert checked(np.column_stack(list(columns.values())), ["text"], LABELS).tolist() == rows

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

"""What can be read in two ways is named, not resolved."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from anchorscope.asking.answers import checked
from anchorscope.errors import DocumentsError, InputError, ModelError
from anchorscope.text.read import read_files, read_texts


@pytest.mark.parametrize("ending, comma", [(".csv", ","), (".tsv", "\t")])
def test_two_columns_of_the_name_that_was_asked_for(ending: str, comma: str, tmp_path: Path) -> None:
    path = tmp_path / f"documents{ending}"
    path.write_text(f"text{comma}text{comma}x{comma}x\ngreat{comma}bad{comma}a{comma}b\n")
    with pytest.raises(DocumentsError, match=r"has 2 columns called 'text'; name them differently"):
        read_files(path)
    with pytest.raises(DocumentsError, match=r"has 2 columns called 'x'"):
        read_files(path, text_column="x")


def test_other_columns_may_be_there_twice(tmp_path: Path) -> None:
    """Nobody asked for them."""
    (tmp_path / "documents.csv").write_text("x,text,x\na,great,b\n")
    assert [d.text for d in read_files(tmp_path / "documents.csv").documents] == ["great"]


@pytest.mark.parametrize("line", ['{"text": "great", "text": "bad"}', '{"text": "a film", "label": "x", "label": "y"}'])
def test_two_keys_of_the_name_that_was_asked_for(line: str, tmp_path: Path) -> None:
    (tmp_path / "documents.jsonl").write_text('{"text": "fine", "label": "x"}\n' + line + "\n")
    with pytest.raises(DocumentsError, match=r"line 2 is no JSON \(it has the key '(text|label)' twice\)"):
        read_files(tmp_path / "documents.jsonl", label_column="label")


@pytest.mark.parametrize(
    "lines",
    [
        ['{"a": {"text": "x"}, "a.text": "y"}'],
        ['{"a": {"text": "x"}, "a.text": null}'],
        ['{"a": {"text": "a film"}}', '{"a.text": "a film"}'],
    ],
)
@pytest.mark.parametrize("asked", ["text_column", "label_column"])
def test_a_key_with_a_dot_beside_a_field_inside_an_object(lines: list[str], asked: str, tmp_path: Path) -> None:
    more = ', "text": "great"}'
    (tmp_path / "documents.jsonl").write_text("\n".join(line[:-1] + more for line in lines))
    with pytest.raises(DocumentsError, match=rf"line {len(lines)}: 'a.text' is a key, and names a field inside"):
        read_files(tmp_path / "documents.jsonl", **{asked: "a.text"})


def test_either_is_read_where_the_other_is_not(tmp_path: Path) -> None:
    for line in ('{"a": {"text": "so good"}}', '{"a": {"b": 1}, "a.text": "so good"}'):
        (tmp_path / "documents.jsonl").write_text(line)
        assert [d.text for d in read_files(tmp_path / "documents.jsonl", text_column="a.text").documents] == ["so good"]


def test_a_column_with_a_dot_beside_a_field_inside_another(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from anchorscope.text.blocks import ParquetBlocks

    path = tmp_path / "documents.parquet"
    parquet.write_table(pyarrow.table({"a": [{"text": "so good"}], "a.text": ["so bad"], "text": ["fine"]}), path)
    with pytest.raises(DocumentsError, match=r"a column called 'a.text', which names a field inside the column 'a'"):
        read_files(path, text_column="a.text")
    with pytest.raises(DocumentsError, match=r"a column called 'a.text', which names a field inside the column 'a'"):
        read_files(path, label_column="a.text")
    with pytest.raises(DocumentsError, match=r"a column called 'a.text', which names a field inside the column 'a'"):
        [*ParquetBlocks([path], "a.text").over(len)]
    assert [d.text for d in read_files(path).documents] == ["fine"]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_column_whose_name_may_be_a_pair_of_others(ending: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / f"documents{ending}"
    table = pandas.DataFrame({"a": ["so good"], "b": ["so bad"], "a,b": ["fine"]})
    write = {
        ".csv": lambda: table.to_csv(path, index=False),
        ".jsonl": lambda: table.to_json(path, orient="records", lines=True),
        ".parquet": lambda: table.to_parquet(path),
    }
    write[ending]()
    with pytest.raises(DocumentsError, match=r"a column called 'a,b', and two that this may name as a pair"):
        read_files(path, text_column="a,b")
    assert len(read_files(path, text_column="b,a")) == 1


def test_masked_texts() -> None:
    texts = np.ma.masked_array(["great", "bad"], mask=[False, True])
    with pytest.raises(InputError, match="values are masked; leave these out first"):
        read_texts(texts)
    assert len(read_texts(np.ma.masked_array(["great", "bad"]))) == 2


def test_masked_answers() -> None:
    rows = np.ma.masked_array([[0.5, 0.5]], mask=[[True, False]])
    with pytest.raises(ModelError, match="values are masked"):
        checked(rows, ["great"], ["no", "yes"])


@pytest.mark.parametrize("texts", [np.array("great"), np.array([["great"], ["bad"]])])
def test_arrays_that_are_no_list(texts: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"of [02] axes; pass a list of strings"):
        read_texts(texts)


@pytest.mark.parametrize("columns", [[0, 1], ["a", "b"], [None, "x"]])
def test_columns_that_change_their_order(columns: list[object]) -> None:
    """They are the labels' or anybody's: from the first call on they are compared."""
    pandas = pytest.importorskip("pandas")
    from anchorscope.predictors import as_predictor

    calls: list[int] = []

    def turning(texts: list[str]) -> object:
        calls.append(len(texts))
        table = pandas.DataFrame([[0.2, 0.8]] * len(texts), columns=columns)
        return table if len(calls) < 3 else table[columns[::-1]]

    predictor = as_predictor(turning, labels=["no", "yes"])
    for _ in range(2):
        predictor.predict(["great"])
    with pytest.raises(
        ModelError, match=r"The model's columns were .* and are now .*: they would be read as other labels"
    ):
        predictor.predict(["great"])


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_table_that_is_parted_by_another_mark(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"text{mark}label\ngood film{mark}good\n")
    expected = f", in which {mark!r} seems to part columns; part them by commas (.csv) or tabs (.tsv)"
    with pytest.raises(InputError, match=re.escape(expected)):
        read_files(path)

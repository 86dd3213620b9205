"""Documents that are read block by block: what is no sound Parquet file is refused in a sentence, and nothing hangs."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from anchorscope.errors import DocumentsError
from anchorscope.text import blocks
from anchorscope.text.blocks import ParquetBlocks


def written(path: Path, texts: list[str]) -> Path:
    parquet.write_table(pa.table({"text": texts}), path)
    return path


def texts_in(*paths: Path) -> list[str]:
    return [text for block in ParquetBlocks(paths).over(list) for text in block]


def test_texts_come_in_their_order(tmp_path: Path) -> None:
    assert texts_in(written(tmp_path / "a.parquet", ["so good", "", "so bad"])) == ["so good", "", "so bad"]


def test_a_file_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path) -> None:
    assert texts_in(written(tmp_path / "a[1].parquet", ["here"])) == ["here"]


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(DocumentsError, match="no regular file"):
        ParquetBlocks([tmp_path])


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    parquet.write_table(table, tmp_path / "twice.parquet")
    with pytest.raises(DocumentsError, match="2 columns called 'text'"):
        ParquetBlocks([tmp_path / "twice.parquet"])


def test_a_small_file_may_not_stand_for_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MOST_BYTES", 1000)
    with pytest.raises(DocumentsError, match="divide its texts"):
        texts_in(written(tmp_path / "large.parquet", ["x" * 100] * 20))
    assert len(texts_in(written(tmp_path / "small.parquet", ["x" * 100] * 9))) == 9


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "damaged.parquet", [f"text number {n}" for n in range(2000)])
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(data)
    with pytest.raises(DocumentsError, match=r"damaged\.parquet cannot be read"):
        texts_in(path)


def test_a_file_with_a_column_whose_name_is_none_is_named(tmp_path: Path) -> None:
    """Two bytes of its name are changed into some that no character has."""
    path = tmp_path / "named.parquet"
    parquet.write_table(pa.table({"text": ["a"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"text", b"te\xc2t"))
    with pytest.raises(DocumentsError, match=r"named\.parquet cannot be read"):
        ParquetBlocks([path])


def test_no_path_is_no_folder() -> None:
    with pytest.raises(DocumentsError, match="There is no Parquet file"):
        ParquetBlocks([""])

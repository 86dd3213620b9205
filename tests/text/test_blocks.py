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
from anchorscope.text.read import read_files


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


# --- other file systems ---


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for ``s3://bucket``, without a network."""
    from pyarrow import fs

    def from_uri(uri: str) -> tuple[fs.FileSystem, str]:
        if not uri.startswith("s3://"):
            return fs.FileSystem.from_uri(uri)
        return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), uri.removeprefix("s3://")

    (tmp_path / "bucket" / "below").mkdir(parents=True)
    written(tmp_path / "bucket" / "a.parquet", ["so good"])
    written(tmp_path / "bucket" / "b.parquet", ["so bad"])
    written(tmp_path / "bucket" / "below" / "c.parquet", ["so so"])
    (tmp_path / "bucket" / "notes.txt").write_text("no table\n")
    monkeypatch.setattr("anchorscope.text.elsewhere._from_uri", from_uri)
    return tmp_path / "bucket"


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://bucket/a.parquet", ["so good"]),
        ("s3://bucket", ["so good", "so bad", "so so"]),
        ("s3://bucket/*.parquet", ["so good", "so bad"]),
        ("s3://bucket/*/[a-c].parquet", ["so so"]),
    ],
)
def test_a_uri_is_a_file_a_folder_or_a_pattern(uri: str, expected: list[str], bucket: Path) -> None:
    blocks = ParquetBlocks([uri])
    assert [text for block in blocks.over(list) for text in block] == expected and blocks.source == uri


def test_the_guards_hold_elsewhere(bucket: Path) -> None:
    with pytest.raises(DocumentsError, match=r"s3://bucket/a.parquet unpacks to more than 3 bytes"):
        list(ParquetBlocks(["s3://bucket/a.parquet"], limit=3).over(len))
    (bucket / "a.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DocumentsError, match=r"s3://bucket/a.parquet cannot be read .*whole Parquet file"):
        ParquetBlocks(["s3://bucket/a.parquet"])


def test_files_elsewhere_are_read_as_those_here(bucket: Path) -> None:
    found = read_files(["s3://bucket/a.parquet", "s3://bucket/notes.txt", f"file://{bucket}/b.parquet"])
    assert [document.text for document in found.documents] == ["so good", "no table", "so bad"]
    assert found.source == f"s3://bucket/a.parquet, s3://bucket/notes.txt, file://{bucket}/b.parquet"
    for uri, told in (("s3://bucket", "is a folder or a pattern; name its files"), ("s3://bucket/x.csv", "no file s3")):
        with pytest.raises(DocumentsError, match=told):
            read_files(uri)


def test_a_uri_of_this_machine_is_a_path(tmp_path: Path) -> None:
    file = written(tmp_path / "a b.parquet", ["here"])
    for uri in (file.as_uri(), tmp_path.as_uri(), f"{tmp_path.as_uri()}/*.parquet"):
        blocks = ParquetBlocks([uri])
        assert [text for block in blocks.over(list) for text in block] == ["here"]
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(DocumentsError, match="no regular file"):
        ParquetBlocks([f"{tmp_path.as_uri()}/pipe.parquet"])


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("foo://bucket/a.parquet", "foo://bucket/a.parquet is on no file system that pyarrow reads .*mounted"),
        ("mock:///a.parquet", "There is no .*file mock:///a.parquet"),
        ("file:///nowhere/a.parquet", "There is no .*file .*/nowhere/a.parquet"),
        ("file://host/a.parquet", "file://host/a.parquet cannot be read .*check the address"),
        ("s3://key:secret@bucket/a.parquet", "holds a password, which would be written down"),
    ],
)
def test_what_no_uri_leads_to(uri: str, told: str) -> None:
    for read in (read_files, lambda uri: ParquetBlocks([uri])):
        with pytest.raises(DocumentsError, match=told) as found:
            read(uri)
        assert "secret" not in str(found.value)


@pytest.mark.parametrize(
    "error", [OSError("AWS Error NETWORK_CONNECTION"), OSError("AWS Error ACCESS_DENIED"), ImportError("without S3")]
)
def test_a_file_system_that_does_not_answer(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def from_uri(uri: str) -> None:
        raise error

    monkeypatch.setattr("anchorscope.text.elsewhere._from_uri", from_uri)
    with pytest.raises(
        DocumentsError, match=rf"s3://b/a.parquet cannot be read \({error}\); .*the network, and the cred"
    ):
        ParquetBlocks(["s3://b/a.parquet"])

"""Packed documents: unpacked as a stream and no further than a limit; what follows them is not passed over."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from anchorscope.errors import DocumentsError
from anchorscope.text.blocks import ParquetBlocks
from anchorscope.text.parquet_pages import directory, pages
from anchorscope.text.read import read_files
from anchorscope.text.unpack import PACKINGS, unpacked
from reliability.bad_inputs import contradicting, understated

zstandard = pytest.importorskip("zstandard")

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def test_every_packing_is_tested() -> None:
    assert PACK.keys() == PACKINGS.keys()


@pytest.mark.parametrize("ending", PACK)
def test_pieces_one_after_another_are_one_file(ending: str) -> None:
    """Twice ten bytes; gzip and xz may fill up the end with zeros."""
    pieces = PACK[ending](b"text\ngreat") + PACK[ending](b" film\nbad\n")
    assert unpacked(io.BytesIO(pieces), ending, "file").read() == b"text\ngreat film\nbad\n"
    if PACKINGS[ending].may_be_padded:
        assert unpacked(io.BytesIO(pieces + bytes(8)), ending, "file").read() == b"text\ngreat film\nbad\n"


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("junk", [b"junk", b"\x1f", b"text\nanother\n"])
def test_junk_after_the_packed_data_is_named(ending: str, junk: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"documents.csv{ending}"
    path.write_bytes(PACK[ending](b"text\ngreat\n") + junk)
    with pytest.raises(DocumentsError, match="goes on after its packed data"):
        read_files(path)


@pytest.mark.parametrize("ending", PACK)
def test_a_file_that_breaks_off_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"documents.csv{ending}"
    path.write_bytes(PACK[ending](b"text\ngreat\n" * 50)[:-7])
    with pytest.raises(DocumentsError, match="cannot be read"):
        read_files(path)


@pytest.mark.parametrize("ending", PACK)
def test_a_bomb_is_refused_before_it_fills_the_memory(ending: str, tmp_path: Path) -> None:
    """Fifty megabytes in a small file, of which 20,000 bytes are allowed; xz needs eight of its own."""
    path = tmp_path / f"documents.txt{ending}"
    path.write_bytes(PACK[ending](b"great " + bytes(50 << 20)))
    assert path.stat().st_size < 1 << 16
    tracemalloc.start()
    try:
        with pytest.raises(DocumentsError, match=r"more than 20,000 bytes; .*--max-unpacked"):
            read_files(path, max_unpacked=20_000)
        assert tracemalloc.get_traced_memory()[1] < 36 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("ending", PACK)
def test_the_limit_can_be_raised(ending: str, tmp_path: Path) -> None:
    """Sixteen bytes are more than fifteen."""
    path = tmp_path / f"documents.csv{ending}"
    path.write_bytes(PACK[ending](b"text\ngreat film\n"))
    assert len(read_files(path, max_unpacked=16).documents) == 1
    with pytest.raises(DocumentsError, match="more than 15 bytes"):
        read_files(path, max_unpacked=15)


def test_a_file_that_asks_for_a_large_dictionary_is_refused(tmp_path: Path) -> None:
    """A few bytes of xz may say that a gigabyte is needed to unpack them."""
    packed = bytearray(lzma.compress(b"text\ngreat film\n"))
    header = bytes([2, 0, 0x21, 1, 36, 0, 0, 0])  # one filter, LZMA2, whose dictionary takes a gigabyte
    packed[12:24] = header + zlib.crc32(header).to_bytes(4, "little")
    path = tmp_path / "documents.csv.xz"
    path.write_bytes(packed)
    with pytest.raises(DocumentsError, match="Memory usage limit exceeded"):
        read_files(path)


# --- parquet, which is packed inside ---


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def write(how: Mapping[str, Any] | None = None, **columns: object) -> Path:
        path = tmp_path / "documents.parquet"
        parquet.write_table(pyarrow.table(columns), path, **(how or {}))
        return path

    return write


def test_a_value_that_occurs_a_million_times_is_counted_as_often(table: Callable[..., Path]) -> None:
    """Three hundred times 700,000 bytes in a small file, of which a million is allowed: twenty are never there."""
    path = table(text=["so bad " * 100_000] * 300)
    assert path.stat().st_size < 1 << 17
    assert memory_of_refusal(path) < 20 << 20


def memory_of_refusal(path: Path, **given: Any) -> int:
    """The bytes that pyarrow needs at once to find out that a file holds more than a million."""
    pyarrow = pytest.importorskip("pyarrow")
    before = pyarrow.default_memory_pool()
    watched = pyarrow.proxy_memory_pool(before)
    pyarrow.set_memory_pool(watched)
    try:
        with pytest.raises(DocumentsError, match="more than 1,000,000 bytes"):
            read_files(path, max_unpacked=1_000_000, **given)
    finally:
        pyarrow.set_memory_pool(before)
    return int(watched.max_memory())


@pytest.mark.parametrize(
    "how",
    [
        {"data_page_size": 1 << 30},
        {"use_dictionary": False},
        {"use_dictionary": False, "data_page_size": 1 << 30},
        {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
        {"use_dictionary": False, "column_encoding": "DELTA_LENGTH_BYTE_ARRAY"},
    ],
    ids=str,
)
def test_large_cells_that_differ_are_refused_before_they_fill_the_memory(
    how: Mapping[str, Any], table: Callable[..., Path]
) -> None:
    """Two thousand times 40,000 bytes, which are packed well."""
    path = table({"compression": "zstd", **how}, text=["x" * 40_000 + f" {number}" for number in range(2000)])
    assert path.stat().st_size < 1 << 18
    assert memory_of_refusal(path) < 20 << 20


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"data_page_version": "2.0"},
        {"compression": "gzip", "row_group_size": 100, "data_page_size": 100},
        {"compression": "none", "use_dictionary": False, "write_statistics": False},
        {"write_page_index": True, "write_page_checksum": True, "store_decimal_as_integer": True},
        {"column_encoding": "DELTA_LENGTH_BYTE_ARRAY", "use_dictionary": False, "version": "1.0"},
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_the_pages_of_every_way_to_write_are_read(how: Mapping[str, Any], n: int, table: Callable[..., Path]) -> None:
    """What they say of themselves is what the directory says of them, but for their headers."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import ParquetFile

    texts = [f"so bad a film, number {number} " * 9 for number in range(n)]
    path = table(how, text=pyarrow.array(texts, pyarrow.string()))
    metadata = ParquetFile(path).metadata
    chunks = [metadata.row_group(number).column(0) for number in range(metadata.num_row_groups)]
    with path.open("rb") as data:
        groups = directory(data)
        found = [[*pages(data, group.chunks[0])] for group in groups]
    assert [group.n_rows for group in groups] == [metadata.row_group(number).num_rows for number in range(len(chunks))]
    for chunk, some in zip(chunks, found, strict=True):
        around = chunk.total_uncompressed_size - sum(page.n_bytes for page in some)
        assert not some if not n else 0 < around <= 700 * len(some)  # the least and the largest cell take most of it
    assert [text for block in ParquetBlocks([path]).over(list) for text in block] == texts


def test_a_directory_that_lies_about_its_pages_is_not_believed(table: Callable[..., Path]) -> None:
    """Two thousand times 40,000 bytes in one page, of which the directory says that they are one."""
    texts = ["x" * 40_000 + f" {number}" for number in range(2000)]
    path = table({"compression": "zstd", "use_dictionary": False, "data_page_size": 1 << 30}, text=texts)
    path.write_bytes(understated(path.read_bytes()))
    assert memory_of_refusal(path) < 20 << 20


def test_a_directory_that_lies_about_its_cells_is_not_believed(table: Callable[..., Path]) -> None:
    """Two thousand cells that begin with the same 40,000 bytes, as cells do of which each stands for itself."""
    texts = ["x" * 40_000 + f" {number}" for number in range(2000)]
    path = table({"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}, text=texts)
    data = path.read_bytes()
    told = bytes([0x19, 0x25, 0x06, 0x0E])  # a list of two ways to write things down: that of levels, and this one
    assert data.count(told) == 1
    path.write_bytes(data.replace(told, bytes([0x19, 0x25, 0x06, 0x00])))
    assert memory_of_refusal(path) < 20 << 20


def test_a_schema_that_contradicts_its_chunks_does_not_end_the_process(table: Callable[..., Path]) -> None:
    path = table(text=["great film", "bad"])
    path.write_bytes(contradicting(path.read_bytes(), "text"))
    with pytest.raises(DocumentsError, match="cannot be read"):
        read_files(path)
    with pytest.raises(DocumentsError, match="cannot be read"):
        list(ParquetBlocks([path]).over(len))


def test_a_file_that_is_drawn_from_unpacks_to_no_more_than_the_limit(table: Callable[..., Path]) -> None:
    """Three hundred times 700 bytes; a drawn file is read in blocks, and counted all the same."""
    path = table(text=["so bad " * 100] * 300)
    blocks = ParquetBlocks([path], limit=300 * 700)
    assert sum(blocks.over(len)) == 300
    with pytest.raises(DocumentsError, match=r"more than 209,999 bytes; .*--max-unpacked"):
        list(ParquetBlocks([path], limit=300 * 700 - 1).over(len))


def test_cells_that_begin_as_the_one_before_are_read(table: Callable[..., Path]) -> None:
    path = table({"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}, text=["a bad film", "a bad day"])
    assert [document.text for document in read_files(path).documents] == ["a bad film", "a bad day"]


def test_labels_of_a_fixed_size_are_refused_before_they_fill_the_memory(table: Callable[..., Path]) -> None:
    """They are no strings, so they do not stay in their dictionary: two thousand times 40,000 bytes."""
    pyarrow = pytest.importorskip("pyarrow")
    path = table(text=["bad"] * 2000, label=pyarrow.array([b"x" * 40_000] * 2000, pyarrow.binary(40_000)))
    assert path.stat().st_size < 1 << 18
    assert memory_of_refusal(path, label_column="label") < 20 << 20


def test_cells_may_be_written_down_with_much_around_them(table: Callable[..., Path]) -> None:
    """Of a byte each, the length of a cell takes more than the cell."""
    path = table({"use_dictionary": False, "compression": None}, text=["a", "b"] * 500_000)
    assert len(read_files(path, max_unpacked=1_000_000).documents) > 0


def test_labels_count_too(table: Callable[..., Path]) -> None:
    """Twice three bytes of text and twice five of labels are sixteen."""
    path = table(text=["bad", "bad"], label=["bad 1", "bad 2"])
    assert len(read_files(path, label_column="label", max_unpacked=16).documents) == 2
    with pytest.raises(DocumentsError, match="more than 15 bytes"):
        read_files(path, label_column="label", max_unpacked=15)


def test_missing_cells_are_nothing(table: Callable[..., Path]) -> None:
    assert [d.text for d in read_files(table(text=["great film", None, "bad"])).documents] == ["great film", "bad"]


def test_a_column_of_lists_is_named(table: Callable[..., Path]) -> None:
    with pytest.raises(DocumentsError, match="the column 'text' holds lists"):
        read_files(table(text=[["great"], ["bad"]]))

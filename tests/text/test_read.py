import bz2
import codecs
import gc
import gzip
import hashlib
import json
import lzma
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from anchorscope.errors import DocumentsError, InputError, MissingPackageError, UnknownNameError
from anchorscope.text.formats import FORMATS
from anchorscope.text.read import Documents, read_files, read_texts

ROWS = [("a fine film", "pos"), ('he said "no", twice', "neg"), ("two\nlines", "pos"), ("été 👍", "neg")]
COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def table(delimiter):
    """ROWS as a table, each field in double quotes and those inside it doubled."""
    rows = [("text", "label"), *ROWS]
    return "".join(
        delimiter.join('"' + field.replace('"', '""') + '"' for field in row) + "\r\n" for row in rows
    ).encode()


def json_lines():
    return "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS).encode()


def parquet():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]}), sink)
    return sink.getvalue().to_pybytes()


CONTENTS = {
    ".csv": table(","),
    ".tsv": table("\t"),
    ".jsonl": json_lines(),
    ".ndjson": json_lines(),
    ".parquet": parquet(),
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a file into the current folder and gives its name back."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write


def texts(documents: Documents):
    return [document.text for document in documents.documents]


def pairs(documents: Documents):
    return [(document.text, document.label) for document in documents.documents]


# Files that can be read


@pytest.mark.parametrize("extension", CONTENTS)
@pytest.mark.parametrize("compression", ["", *COMPRESS])
def test_every_format_compressed_or_not(write, extension, compression):
    content = CONTENTS[extension]
    name = write(f"reviews.v1{extension}{compression}", COMPRESS[compression](content) if compression else content)
    assert pairs(read_files([name], label_column="label")) == ROWS


@pytest.mark.parametrize("compression", ["", *COMPRESS])
def test_a_text_file_has_a_document_a_line(write, compression):
    content = "one film\r\ntwo films\n\n \nvertical\vtab and\u2028separator".encode()
    name = write(f"reviews.TXT{compression}", COMPRESS[compression](content) if compression else content)
    documents = read_files(name)
    assert pairs(documents) == [("one film", None), ("two films", None), ("vertical\vtab and\u2028separator", None)]
    assert documents.skipped == {"empty": 2}
    assert documents.source == name


def test_several_files_are_one_collection(write):
    names = [write("a.txt", "same\nother\n"), write("b.csv", "text\nsame\n")]
    documents = read_files(names)
    assert texts(documents) == ["same", "other", "same"]
    assert documents.documents[2].key == documents.documents[0].key + "-2"
    assert documents.source == "a.txt, b.csv"


def test_columns_are_chosen_by_name(write):
    name = write("a.csv", "id,review,stars\n1,fine film,5\n2,bad film,\n3\n")
    documents = read_files(name, text_column="review", label_column="stars")
    assert pairs(documents) == [("fine film", "5"), ("bad film", None)]
    assert documents.skipped == {"empty": 1}


@pytest.mark.parametrize("extension", [".csv", ".jsonl", ".txt"])
def test_a_byte_order_mark_is_no_text(write, extension):
    content = {".csv": "text\nfilm\n", ".jsonl": '{"text": "film"}\n', ".txt": "film\n"}[extension]
    for encoding, mark in (("utf-8", codecs.BOM_UTF8), ("UTF8", codecs.BOM_UTF8), ("utf-16", codecs.BOM_UTF16_LE)):
        name = write(f"a{extension}", mark + content.encode("utf-16-le" if encoding == "utf-16" else "utf-8"))
        assert texts(read_files(name, encoding=encoding)) == ["film"]


def test_another_encoding(write):
    assert texts(read_files(write("a.txt", "été".encode("latin-1")), encoding="latin-1")) == ["été"]


def test_fields_of_any_size_and_nul_bytes(write):
    large = "word " * 100_000
    assert texts(read_files(write("a.csv", f'text\n"{large}"\n'))) == [large]
    if sys.version_info >= (3, 11):  # the csv module of Python 3.10 refuses them
        assert texts(read_files(write("b.csv", "text\nno\0gap\n"))) == ["no\0gap"]
    assert texts(read_files(write("b.txt", "no\0gap\n"))) == ["no\0gap"]


def test_missing_texts_are_counted_not_fatal(write):
    name = write("a.jsonl", '{"text": "film", "label": 1}\n{"text": null}\n{"text": NaN}\n{"text": ""}\n\n{"id": 1}\n')
    documents = read_files(name, label_column="label")
    assert pairs(documents) == [("film", "1")]
    assert documents.skipped == {"empty": 4}
    pq.write_table(pa.table({"text": ["film", None, " "]}), "a.parquet")
    assert read_files("a.parquet").skipped == {"empty": 2}


def test_punctuation_alone_is_no_empty_document(write):
    assert texts(read_files(write("a.txt", "!!!\n\u200b\n"))) == ["!!!"]


def test_members_and_frames_that_follow_each_other(write):
    for extension, compress in COMPRESS.items():
        name = write(f"a.txt{extension}", compress(b"one\n") + compress(b"two\n"))
        assert texts(read_files(name)) == ["one", "two"]


def test_cleaning_is_an_option_by_name(write):
    name = write("a.txt", "#Great film.\n@bob\n")
    documents = read_files(name, clean="tweets")
    assert texts(documents) == ["great film"]
    assert documents.skipped == {"empty": 1}
    with pytest.raises(UnknownNameError, match="There is no cleaning 'tweet'; did you mean 'tweets'"):
        read_files(name, clean="tweet")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b'\xef\xbb\xbf\n {"text": "one"}\n{"text": "two"}\n', ["one", "two"]),
        (gzip.compress(b"one\ntwo\n", mtime=0), ["one", "two"]),
        (COMPRESS[".zst"](b'{"text": "one"}\n'), ["one"]),
    ],
)
def test_standard_input_is_lines_or_json_lines_compressed_or_not(write, monkeypatch, content, expected):
    with open(write("input", content)) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        documents = read_files(["-"])
        assert not stdin.closed
        os.fstat(stdin.fileno())
    assert texts(documents) == expected
    assert documents.source == "-"


def test_standard_input_may_be_a_pipe():
    program = "from anchorscope.text.read import read_files; print(len(read_files('-')))"
    done = subprocess.run([sys.executable, "-c", program], input=b"word\n" * 5000, capture_output=True, check=True)
    assert int(done.stdout) == 5000


# Keys and the hash of the collection


def test_a_key_is_a_hash_of_the_text_and_counts_its_copies():
    digest = hashlib.blake2b(b"film", digest_size=8).hexdigest()
    assert [document.key for document in read_texts(["film"] * 3).documents] == [digest, f"{digest}-2", f"{digest}-3"]
    assert read_texts(["lone \ud800 surrogate"]).documents[0].key  # has a key although it cannot be encoded


@given(st.lists(st.sampled_from(["one", "two", "three"]), min_size=1), st.randoms(use_true_random=False))
def test_the_hash_does_not_depend_on_the_order(collection, random):
    shuffled = random.sample(collection, len(collection))
    assert read_texts(shuffled).sha256 == read_texts(collection).sha256
    assert read_texts([*collection, "one"]).sha256 != read_texts(collection).sha256


def test_the_hash_is_of_the_texts_not_of_the_files(write):
    apart = [write("a.csv", "text\none\n"), write("b.txt", "two\n\n")]
    assert read_files(apart).sha256 == read_texts(["two", "one"], ["neg", "pos"]).sha256


# Files that cannot be read: one sentence each, with the file in it and the next step


def refused(error, *paths, **options):
    with pytest.raises(error) as caught:
        read_files(list(paths), **options)
    message = str(caught.value)
    assert "\n" not in message and message.endswith(".")
    return message


def test_no_such_file(write):
    message = refused(DocumentsError, "missing.csv")
    assert message.startswith("There is no file missing.csv; check the path")


def test_every_file_is_looked_for_before_one_is_read(write):
    name = write("broken.jsonl", "[")
    assert "There is no file missing.csv" in refused(DocumentsError, name, "missing.csv")


def test_no_file_at_all():
    assert refused(DocumentsError).startswith("No file was named")


def test_a_folder(tmp_path):
    assert f"{tmp_path} is a folder; name the files in it" in refused(DocumentsError, tmp_path)


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz", ".csv", "a.csv.zip"])
def test_an_unknown_kind_of_file_lists_the_known_ones(write, name):
    message = refused(DocumentsError, write(name, "text\nfilm\n"))
    assert f"{name} is of no known kind: known are .csv .tsv .jsonl .ndjson .parquet .txt" in message


@pytest.mark.parametrize("extension", [".csv", ".jsonl", ".parquet", ".txt", ".csv.gz", ".txt.zst"])
def test_an_empty_file(write, extension):
    assert f"a{extension} is empty" in refused(DocumentsError, write(f"a{extension}", b""))


@pytest.mark.parametrize("content", [{".csv": "text\n"}, {".csv": "text,b\n,1\n"}, {".txt": " \n\n"}, {".jsonl": "\n"}])
def test_no_usable_document(write, content):
    [(extension, text)] = content.items()
    assert f"There is no usable document in a{extension}" in refused(DocumentsError, write(f"a{extension}", text))


@pytest.mark.parametrize("extension", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_no_such_column_lists_near_misses_and_the_file(write, extension):
    name = write(f"a{extension}", CONTENTS[extension])
    expected = f"There is no text column in {name} called 'txt'; did you mean 'text'? Known: label, text"
    expected += "; say which it is: --text-column NAME."
    assert refused(UnknownNameError, name, text_column="txt") == expected
    expected = f"There is no label column in {name} called 'lable'; did you mean 'label'? Known: label, text"
    expected += "; say which it is: --label-column NAME."
    assert refused(UnknownNameError, name, label_column="lable") == expected


def test_a_text_file_has_no_label_column(write):
    assert "a.txt has no label column" in refused(DocumentsError, write("a.txt", "film"), label_column="label")


def test_undecodable_bytes_are_found_at_their_line(write):
    """The file is longer than a block of the decoder, so that the bad byte is in a later one."""
    lines = [b"text", *(b"a fine film" for _ in range(5000))]
    lines[4321] = "l'été".encode("latin-1")
    for name in (write("a.csv", b"\n".join(lines)), write("a.txt.gz", gzip.compress(b"\n".join(lines)))):
        message = refused(DocumentsError, name)
        assert message.startswith(f"{name}, line 4322: byte 0xe9 is not utf-8; name the encoding")
        assert "--encoding" in message


@pytest.mark.parametrize("encoding", ["utf-9", "base64", "no\0name"])
def test_an_unknown_encoding(write, encoding):
    message = refused(UnknownNameError, write("a.txt", "film"), encoding=encoding)
    assert message.startswith("There is no encoding")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "film"', "line 3 is no JSON (Expecting ',' delimiter)"),
        ('["film"]', "line 3 is a list, not an object"),
        ('"film"', "line 3 is a str, not an object"),
        ("[" * 100_000, "line 3 is no JSON"),
        ("1" * 10_000, "line 3 is "),
    ],
)
def test_malformed_json_lines(write, line, problem):
    name = write("a.jsonl", f'{{"text": "film"}}\n\n{line}\n')
    assert f"{name}, {problem}" in refused(DocumentsError, name)


def test_a_text_that_is_no_string(write):
    name = write("a.jsonl", '{"text": "film"}\n{"text": 5}\n')
    assert f"{name}, row 2: the text is 5 (a int), not a string" in refused(DocumentsError, name)
    pq.write_table(pa.table({"text": [1, 2]}), "a.parquet")
    assert "a.parquet, row 1: the text is 1" in refused(DocumentsError, "a.parquet")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("text,label\nfine, I think,pos\n", "line 2: 3 fields under a header of 2; put double quotes"),
        ('text,label\nfine,pos\n"never closed,neg\nfine,pos\n', "line 4: unexpected end of data"),
        ('text,label\n"no" she said,pos\n', "line 2: ',' expected after '\"'"),
    ],
)
def test_a_table_whose_quotes_do_not_match(write, content, problem):
    assert f"a.csv, {problem}" in refused(DocumentsError, write("a.csv", content))


@pytest.mark.parametrize("extension", COMPRESS)
def test_a_compressed_file_that_breaks_off_or_is_none(write, extension):
    noise = random.Random(0).randbytes(50_000).hex().encode()
    whole = COMPRESS[extension](b"text\n" + noise)
    for content in (whole[: len(whole) // 2], whole[:-1], b"no such thing" * 9):
        name = write(f"a.csv{extension}", content)
        assert f"{name} cannot be read (" in refused(DocumentsError, name)


@pytest.mark.parametrize("extension", [".gz", ".zst"])
def test_a_compressed_file_with_something_after_it(write, extension):
    """The standard library ignores what follows in .bz2 and .xz, as their command-line tools do."""
    name = write(f"a.csv{extension}", COMPRESS[extension](b"text\nfilm\n") + b"x" * 99)
    assert f"{name} cannot be read (" in refused(DocumentsError, name)


def test_damaged_parquet_files(write):
    for content in (b"PAR1 and no more", parquet()[:-20], b"PAR1" + b"x" * 500 + parquet()[-8:]):
        assert "a.parquet cannot be read (" in refused(DocumentsError, write("a.parquet", content))


def test_missing_packages_are_named_with_their_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert "anchorscope[parquet]" in refused(MissingPackageError, write("a.parquet", parquet()))
    assert "anchorscope[zstd]" in refused(MissingPackageError, write("a.txt.zst", COMPRESS[".zst"](b"film")))


# Python objects


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        np.array,
        lambda values: np.array(values, object),
        pd.Series,
        lambda values: pd.Series(values, index=[7, 7], dtype="string"),
        lambda values: datasets.Dataset.from_dict({"text": values})["text"],
    ],
)
def test_anything_that_yields_strings(make):
    documents = read_texts(make(["a film", "two"]), make(["pos", "neg"]))
    assert pairs(documents) == [("a film", "pos"), ("two", "neg")]
    assert {type(value) for pair in pairs(documents) for value in pair} == {str}


def test_labels_become_strings_and_may_be_missing():
    labels = [1, np.int64(2), True, None, float("nan"), np.float32("nan"), pd.NA, "", "None"]
    documents = read_texts(["film"] * len(labels), labels)
    assert [document.label for document in documents.documents] == ["1", "2", "True", *[None] * 5, "None"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "None (a NoneType)"), (float("nan"), "nan (a float)"), (5, "5 (a int)"), ({"text": "x"}, "(a dict)")],
)
def test_a_row_that_is_no_string_is_named(value, shown):
    with pytest.raises(InputError) as caught:
        read_texts(["film", value])
    assert str(caught.value).startswith("texts[1] is ")
    assert shown in str(caught.value)


def test_a_series_with_missing_values_names_the_first():
    with pytest.raises(InputError, match=r"texts\[1\] is "):
        read_texts(pd.Series(["film", None]))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ("one film", r"texts is a single str; wrap it in a list: \['one film'\]"),
        (b"one film", "texts is a single bytes"),
        ({"text": ["film"]}, r"texts is a whole table \(dict\); pass one column"),
        (pd.DataFrame({"text": ["film"]}), r"texts is a whole table \(DataFrame\); pass one column"),
        (5, "texts is a int; pass a list of strings"),
        (datasets.Dataset.from_dict({"text": ["film"]}), "pass one column"),
    ],
)
def test_what_is_no_list_of_texts(values, problem):
    with pytest.raises(InputError, match=problem):
        read_texts(values)


def test_texts_and_labels_of_different_numbers():
    with pytest.raises(InputError, match="There are 2 texts but 1 labels"):
        read_texts(["one", "two"], ["pos"])


@pytest.mark.parametrize("values", [[], ["", " "]])
def test_no_usable_text(values):
    with pytest.raises(DocumentsError, match="There is no usable text"):
        read_texts(values)


@pytest.mark.parametrize("is_enabled", [True, False])
def test_reading_leaves_the_search_for_garbage_as_it_was(is_enabled):
    was_enabled = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        read_texts(["a text"])
        with pytest.raises(DocumentsError):
            read_texts([""])
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


# --- fields inside others ---


def test_a_field_inside_an_object_is_named_with_dots(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"doc": {"body": {"de": "so gut"}}, "meta": {"y": "ja"}}\n{"doc": {"body": {"de": "so so"}}}\n')
    read = read_files(path, text_column="doc.body.de", label_column="meta.y")
    assert [(document.text, document.label) for document in read.documents] == [("so gut", "ja"), ("so so", None)]


@pytest.mark.parametrize("path", ["\ud800", "a\ud800.csv", "folder/a\udfff.txt.gz"])
def test_half_a_character_is_in_no_path(path: str) -> None:
    r"""A folder of a run can name it, as JSON writes it down: "\ud800"."""
    with pytest.raises(DocumentsError, match=r"is no path: it holds half a character"):
        read_files(path, format="csv")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/urandom"])
@pytest.mark.parametrize("format", ["txt", "csv", "jsonl", "parquet"])
def test_a_device_holds_no_documents(device: str, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be read for ever, by its name or as standard input."""
    with pytest.raises(DocumentsError, match=f"{device} is a device and holds no documents"):
        read_files(device, format=format)
    with open(device) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(DocumentsError, match="Standard input is a device and holds no documents"):
            read_files("-", format=format)


def test_the_empty_device_is_an_empty_file() -> None:
    with pytest.raises(DocumentsError, match="/dev/null is empty"):
        read_files("/dev/null", format="txt")


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "PIPE"])
def test_pipes_hold_documents(name: str, tmp_path: Path) -> None:
    """Also one with a name, as the shell makes for <(…)."""
    os.mkfifo(tmp_path / "PIPE")
    ask = "import sys; from anchorscope.text.read import read_files; print(len(read_files(sys.argv[1], format='txt')))"
    write = "printf 'so good\\nso bad\\n'"
    whole = f'{write} > PIPE & exec "$@"' if name == "PIPE" else f'{write} | "$@"'
    command = ["sh", "-c", whole, "sh", sys.executable, "-c", ask, name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "2\n", done.stderr


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_terminal_holds_what_is_typed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = os.openpty()
    saved = os.dup(0)
    try:
        os.write(keyboard, b"so good\nso bad\n\x04")
        os.dup2(terminal, 0)
        with open(0, closefd=False) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            assert len(read_files(name, format="txt")) == 2
    finally:
        os.dup2(saved, 0)
        for number in (saved, keyboard, terminal):
            os.close(number)


def test_what_does_not_fit_into_the_memory_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> object:
        raise MemoryError

    (tmp_path / "documents.csv").write_text("text\nso good\n")
    monkeypatch.setitem(FORMATS, ".csv", full)
    with pytest.raises(DocumentsError, match=r"documents\.csv does not fit into the memory; explain a part of it"):
        read_files(tmp_path / "documents.csv")


def test_a_key_with_dots_in_it_is_a_key(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"a.b": "by its name", "a": {"c": "inside"}}\n')
    assert read_files(path, text_column="a.b").documents[0].text == "by its name"


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("doc", "a field inside it is named with dots: --text-column doc.FIELD."),
        ("body", "did you mean 'doc.body'?"),
        ("doc.bodi", "did you mean 'doc.body'?"),
    ],
)
def test_who_misses_a_field_inside_is_told_how_it_is_named(column: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"doc": {"body": "so gut"}}\n')
    with pytest.raises((DocumentsError, UnknownNameError), match=re.escape(told)):
        read_files(path, text_column=column)


def test_a_key_that_is_there_twice_inside_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"doc": {"body": "one", "body": "two"}}\n')
    with pytest.raises(DocumentsError, match="'body' twice"):
        read_files(path, text_column="doc.body")


@pytest.mark.parametrize("column", ["doc", "doc.body"])
def test_a_nested_column_of_parquet_is_called_so(column: str, tmp_path: Path) -> None:
    path = tmp_path / "docs.parquet"
    pq.write_table(pa.table({"doc": [{"body": "so gut", "id": 1}]}), path)
    with pytest.raises(
        DocumentsError, match=r"'doc' is nested, with the fields body, id; .*flatten.* calls one 'doc.body'"
    ):
        read_files(path, text_column=column)

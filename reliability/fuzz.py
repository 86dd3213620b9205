"""A hundred thousand fuzzed inputs to every parser: are there other errors than the documented ones?

Whatever comes from elsewhere is read by one of parsers.py: document files of each format, texts, result.json,
journals, settings, the command line, a model's answers, model files, requests to the live page. hypothesis makes inputs
of three kinds: noise, pieces that mean something to the format in any order, and real files with some of their bytes or
values changed. To each come nineteen variations of it, which cost less: bytes, characters and values changed at random.
A parser may answer, or raise one of the errors of errors.py; anything else is a finding.

atheris (libFuzzer, guided by coverage) does the same to the readers of results and journals, if it is installed. Of a
journal it changes the content of one cell: nearly all else that is changed in the file is refused by SQLite.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from inspect import unwrap
from pathlib import Path
from time import monotonic
from types import FunctionType
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from anchorscope import registry, result
from anchorscope.errors import AnchorscopeError
from anchorscope.journal import database, measurements, reader, standings
from anchorscope.report import kept, view
from anchorscope.settings import preset
from reliability.parsers import TABLES, Parsers
from reliability.tables import ROOT, Study, options

NAMES = (
    *("documents .csv", "documents .tsv", "documents .jsonl", "documents .txt", "documents .parquet"),
    *("documents .csv.gz", "documents .csv.bz2", "documents .csv.xz", "documents .csv.zst", "texts"),
    *("result.json, bytes", "result.json, values", "result, atheris", "settings", "model answers", "model file .skops"),
    *("requests", "command line", "journal, bytes", "journal, cells", "journal, resumed"),
    *("journal, atheris",),
)
"""Every parser; those with atheris are fuzzed by it, the others by hypothesis."""

ATHERIS = ", atheris"

READERS = (result, database, measurements, reader, standings, kept, view)
"""Modules of which atheris is told which lines an input has reached."""

AT_ONCE = 20
"""Inputs to one example of hypothesis: itself and its variations. To make an example costs more than most parsers."""

SCALARS = (None, True, 0, -1, 2**63, 1e308, float("nan"), float("-inf"), "", "text", "\ud800", "=1", [], {}, [[]])

NOISE = st.binary(max_size=200)
WORDS = rb'text label , " "" { } [ ] : "text" null true 1e999 NaN \ud800 great film =1+1 -1 PK PAR1'.split()
SIGNS = [b" ", b"\n", b"\r\n", b"\r", b"\t", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"a" * 300]
SIGNS += ["שלום".encode(), "👩‍👧".encode(), b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"]
PIECES = st.lists(st.sampled_from([*WORDS, *SIGNS]), max_size=40).map(b"".join)
ANY_BYTES = NOISE | PIECES
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)


def mutated(original: bytes) -> st.SearchStrategy[bytes]:
    """A real file with some of its bytes changed, cut off, or doubled."""
    place = st.integers(0, max(0, len(original) - 1))

    def change(edits: list[tuple[int, int, bytes]]) -> bytes:
        data = bytearray(original)
        for at, length, new in edits:
            data[at : at + (len(new) if length > 4 else length)] = new  # mostly nothing moves
        return bytes(data)

    edit = st.tuples(place, st.integers(0, 20), st.binary(max_size=8))
    cut = place.map(lambda at: original[:at])
    return st.lists(edit, min_size=1, max_size=6).map(change) | cut


def varied(value: Any, chances: random.Random) -> Any:
    """Nearly the same value: bytes or characters changed, an item dropped, doubled, varied, or replaced."""
    if isinstance(value, bytes | str):
        empty = value[:0]
        for _ in range(chances.randint(1, 4)):
            at = chances.randint(0, len(value))
            new = chances.randbytes(chances.randint(0, 4))
            put = new if isinstance(value, bytes) else "".join(chr(chances.choice((b, b * 257, b * 31))) for b in new)
            gone = len(put) if chances.random() < 0.7 else chances.randint(0, 3)
            value = value[:at] + (put or empty) + value[at + gone :]
        return value
    if isinstance(value, list | tuple) and value:
        at = chances.randrange(len(value))
        if isinstance(value, list) and chances.random() < 0.3:
            return value[:at] + value[at + 1 :] if chances.random() < 0.5 else value[:at] + value[at:] + value[at:]
        items = [varied(item, chances) if i == at else item for i, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict) and value:
        name = chances.choice(list(value))
        return {**value, name: varied(value[name], chances)}
    if isinstance(value, list | dict | tuple):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value + chances.choice((-1, 1, 7, 1000))
    return chances.choice(SCALARS)


def fed_parsers(made: Parsers) -> dict[str, tuple[Callable[[Any], None], st.SearchStrategy[Any]]]:
    """The parsers by name, each with what it is fed."""
    csv = mutated(b'text,label\r\n"a great film",good\r\n"so, bad",bad\r\n')
    tabs = mutated(b"text\tlabel\r\ngreat film\tgood\r\nbad\tbad\r\n")
    lines = mutated(b'{"text": "a great film", "label": "good"}\n{"text": "bad"}\n')
    cell = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=10) | st.binary(max_size=10)
    cell |= JSON.map(json.dumps)
    edits = st.tuples(st.sampled_from(TABLES), st.integers(0, 12), st.integers(0, 20), cell)
    words = ["explain", "top", "compare", "report", "serve", "--model", "--out", "--top-k", "--seed", "-q", "--"]
    words += ["--help", "--tau", "--label", "--max-seconds"]
    words += ["--no-texts", "a.csv", "-1", "nan", "", "--=", "-vq", "--resume", "--version"]
    values = [b"anchorscope-8765=x", b"http://127.0.0.1:8765", b"-1", b"a=b; ;;=="]
    header = st.tuples(
        st.sampled_from([b"host", b"origin", b"cookie", b"content-length", b"x"]),
        st.binary(max_size=30) | st.sampled_from(values),
    )
    request = st.tuples(
        st.sampled_from(["GET", "POST", "PUT", "get", ""]),
        NOISE | st.sampled_from([b"/", b"/view.json", b"/page/../../etc/passwd"]),
        NOISE | st.sampled_from([b"token=", b"token=a&token=b", b"token=%ff", b"token=" + b"a" * 300]),
        st.lists(header, max_size=5),
    )
    rows = st.lists(st.lists(st.floats() | st.none() | st.text(max_size=2), max_size=3), max_size=3) | JSON
    setting = st.sampled_from([*preset("fast").to_dict(), "unknown"])
    return {
        "documents .csv": (made.documents(".csv"), ANY_BYTES | csv),
        "documents .tsv": (made.documents(".tsv"), ANY_BYTES | tabs),
        "documents .jsonl": (made.documents(".jsonl"), ANY_BYTES | lines),
        "documents .txt": (made.documents(".txt"), ANY_BYTES),
        "documents .parquet": (made.documents(".parquet"), ANY_BYTES | mutated(a_parquet())),
        "documents .csv.gz": (made.documents(".csv.gz"), ANY_BYTES | mutated(gzip.compress(b"text\ngreat\n", mtime=0))),
        "documents .csv.bz2": (made.documents(".csv.bz2"), ANY_BYTES | mutated(bz2.compress(b"text\ngreat\n"))),
        "documents .csv.xz": (made.documents(".csv.xz"), ANY_BYTES | mutated(lzma.compress(b"text\ngreat\n"))),
        "documents .csv.zst": (made.documents(".csv.zst"), ANY_BYTES | mutated(a_zstd())),
        "texts": (made.texts, st.text(st.characters(), max_size=60)),
        "result.json, bytes": (made.result, ANY_BYTES | mutated(made.real_result)),
        "result.json, values": (made.changed_result, st.tuples(st.integers(0, 10_000), JSON)),
        "journal, bytes": (made.journal, mutated(made.real_journal)),
        "journal, cells": (made.changed_journal, st.lists(edits, min_size=1, max_size=4)),
        "journal, resumed": (made.resumed, mutated(made.real_journal)),
        "settings": (made.settings, st.dictionaries(setting, JSON, max_size=4)),
        "command line": (made.command_line, st.lists(st.sampled_from(words) | st.text(max_size=8), max_size=8)),
        "model answers": (made.answers, rows),
        "model file .skops": (made.model_file, ANY_BYTES | mutated(a_skops())),
        "requests": (made.request, request),
    }


def a_parquet() -> bytes:
    """A small parquet file."""
    import pyarrow
    from pyarrow import parquet

    sink = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": ["a great film", "bad"]}), sink)
    return sink.getvalue()


def a_zstd() -> bytes:
    """A small .zst file."""
    import zstandard

    return zstandard.compress(b"text\ngreat\n")


def a_skops() -> bytes:
    """A small .skops file."""
    from sklearn.linear_model import LogisticRegression
    from skops import io as skops

    return bytes(skops.dumps(LogisticRegression()))


def main() -> int:
    """Run the study; or, with --atheris, one of its parts in this process."""
    parser = options(__doc__, inputs=100_000, only="", minutes_each=60.0, processes=2)
    parser.add_argument("--add", action="store_true", help="keep what the last pass found of the other parsers")
    parser.add_argument("--atheris", choices=["result", "journal"], help="fuzz one reader with atheris, and exit")
    given_ = parser.parse_args()
    if given_.atheris:
        return with_atheris(given_.atheris, given_.inputs, 60 * given_.minutes_each)
    n_inputs = 400 if given_.quick else given_.inputs
    study = Study(
        "fuzz",
        f"{n_inputs:,} fuzzed inputs to every parser",
        "only documented errors",
        given_.seed,
        not given_.in_full and not given_.add,
    )
    names = [name for name in NAMES if given_.only in name]
    task = partial(fuzz_one, n_inputs=n_inputs, seed=study.seed, seconds=60 * given_.minutes_each)
    with multiprocessing.get_context("spawn").Pool(given_.processes) as pool:
        found = {row["parser"]: row for row in study.last_rows()} if given_.add else {}
        for row in pool.imap(task, names):
            found[row["parser"]] = row
    for name in NAMES:
        if name in found:
            study.add(**found[name])
    findings = [row for row in study.rows if row["finding"]]
    fewest = min(row["inputs"] for row in study.rows)
    n_all = sum(row["inputs"] for row in study.rows)
    return study.end(
        reached=not findings and fewest >= n_inputs,
        found=f"{len(study.rows)} parsers, {n_all:,} inputs (at least {fewest:,} each), {len(findings)} findings",
    )


def fuzz_one(name: str, *, n_inputs: int, seed: int, seconds: float) -> dict[str, Any]:
    """One parser, in a folder of its own."""
    if name.endswith(ATHERIS):
        return {"parser": name, **in_a_process(name.removesuffix(ATHERIS), n_inputs, seconds)}
    look_for_packages_once()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="anchorscope-fuzz-", dir="/dev/shm") as scratch:
        parse_, strategy = fed_parsers(Parsers(Path(scratch)))[name]
        return {"parser": name, **feed(parse_, strategy, n_inputs, seed, seconds)}


def look_for_packages_once() -> None:
    """Every page looks for what outside packages add, in the folder where packages are: a third of what one takes."""
    registry.entry_points = cache(registry.entry_points)


def feed(
    parse_: Callable[[Any], None], strategy: st.SearchStrategy[Any], n_inputs: int, seed: int, seconds: float = 600.0
) -> dict[str, Any]:
    """How many inputs were taken and how many refused; and the first that was neither."""
    counts = {"inputs": 0, "taken": 0, "refused": 0}
    end = monotonic() + seconds

    @seeded(seed)
    @settings(
        max_examples=max(1, n_inputs // AT_ONCE),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy, st.integers(0, 2**32))
    def one(made: Any, number: int) -> None:
        if monotonic() > end:
            return
        chances, value = random.Random(number), made
        for _ in range(AT_ONCE):
            counts["inputs"] += 1
            try:
                parse_(value)
            except AnchorscopeError:
                counts["refused"] += 1
            except Exception as error:
                raise Finding(f"{type(error).__name__}: {error} on {value!r:.300}") from error
            else:
                counts["taken"] += 1
            value = varied(made, chances)

    try:
        one()
    except Finding as finding:
        return {**counts, "finding": str(finding)}
    return {**counts, "finding": ""}


class Finding(Exception):
    """Another error than the documented ones."""


def in_a_process(reader: str, n_inputs: int, seconds: float) -> dict[str, Any]:
    """What atheris finds; it ends the process that it runs in."""
    command = [sys.executable, "-m", "reliability.fuzz", "--atheris", reader, "--inputs", str(n_inputs)]
    command += ["--minutes-each", str(seconds / 60)]
    with tempfile.TemporaryDirectory(prefix="anchorscope-atheris-", dir="/dev/shm") as scratch:
        environment = {**os.environ, "TMPDIR": scratch}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return told_by_atheris(done.returncode, done.stderr)


def told_by_atheris(status: int, said: str) -> dict[str, Any]:
    """How many inputs there were, and the error that ended them: of any, libFuzzer says last that the target exited."""
    if "No module named 'atheris'" in said:
        return {"inputs": 0, "taken": 0, "refused": 0, "finding": "", "note": "atheris is not installed"}
    ended = re.search(r"Done (\d+) runs", said)
    ran = int(ended.group(1)) if ended else 0
    uncaught = re.search(r"=== Uncaught Python exception: ===\n(.*)", said)
    last = [line for line in said.splitlines() if line.strip()][-6:]
    finding = "" if status == 0 and ran else uncaught.group(1) if uncaught else " | ".join(last)
    return {"inputs": ran, "taken": 0, "refused": 0, "finding": finding}


def with_atheris(reader: str, n_inputs: int, seconds: float) -> int:
    """Guided by coverage: the readers, from real content on."""
    import atheris

    scratch = Path(tempfile.mkdtemp())
    made = Parsers(scratch)
    read = made.result if reader == "result" else made.overwritten_journal
    look_for_packages_once()
    for function in functions_of_the_readers():
        atheris.instrument_func(function)
    corpus = scratch / "corpus"
    corpus.mkdir()
    real = [made.real_result] if reader == "result" else made.cells_as_bytes()
    for number, content in enumerate(real):
        (corpus / str(number)).write_bytes(content)

    def one(data: bytes) -> None:
        with suppress(AnchorscopeError):
            read(data)

    longest = 2 * max(map(len, real))
    arguments = [f"-runs={n_inputs}", f"-max_len={longest}", "-seed=1", f"-artifact_prefix={scratch}/"]
    # All real cells reach the same lines: by default all but the smallest would be dropped, and inputs would be short.
    arguments += ["-keep_seed=1", "-len_control=0", f"-max_total_time={max(1, round(seconds))}"]
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], one)
    random.seed(0)
    warnings.simplefilter("ignore")
    atheris.Fuzz()
    return 0


def functions_of_the_readers() -> Iterator[FunctionType]:
    """Every function and method of the modules that read results and journals, and make pages of them."""
    for module in READERS:
        classes = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
        for member in (member for owner in (module, *classes) for member in vars(owner).values()):
            for inside in ("__func__", "func", "fget"):  # of a class method, a cached property, a property
                member = getattr(member, inside, member)
            function = unwrap(member) if callable(member) else member
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                yield function


if __name__ == "__main__":
    raise SystemExit(main())

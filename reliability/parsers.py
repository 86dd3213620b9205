"""Every parser of what comes from elsewhere, each as a function of bytes or of values, on a real run to start from."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import sqlite3
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, redirect_stdout, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from anchorscope import cli
from anchorscope.asking.answers import checked
from anchorscope.files import JOURNAL
from anchorscope.journal.measurements import ROW
from anchorscope.journal.reader import RunReader
from anchorscope.journal.writer import Journal
from anchorscope.predictors.scikit import read_skops
from anchorscope.report.flat import to_csv
from anchorscope.report.guard import Guard
from anchorscope.report.page import report
from anchorscope.report.table import result_table
from anchorscope.report.view import page_data
from anchorscope.result import RESULT, Result
from anchorscope.run import Run
from anchorscope.settings import Settings, preset
from anchorscope.testing import WeightPredictor
from anchorscope.text.read import read_files, read_texts
from anchorscope.text.words import spans, split, terms

TABLES = (
    *("meta", "labels", "documents", "terms", "counts", "surrogate", "rounds", "measurements", "skips", "prefixes"),
    *("evidence", "texts", "moments", "placebo"),
)

NUMBERS = tuple(ROW.fields or ())
"""What a measurement consists of, packed with others into one cell."""


def small_run(folder: Path) -> None:
    """A real run to start from."""
    weights = WeightPredictor({"great": 2.0, "bad": -2.0})
    texts = ["a great film", "a bad film", "great great cast", "bad plot", "so great so bad", "film and cast", "a plot"]
    chosen = Settings(min_occurrences=1, stop_words="none", round_size=3, top_k=3, strategy="scan")
    run = Run(read_texts(texts), weights, None, chosen, folder=folder)
    for _ in run.snapshots():
        pass


def read_run(folder: Path) -> None:
    """Everything that is read from a journal."""
    with closing(RunReader(folder)) as run:
        run.tally()
        run.closed_rounds()
    report(page_data(folder))


class Parsers:
    """Every parser, as a function of bytes or of values; what each may raise is an AnchorscopeError."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        small_run(scratch / "real")
        with closing(sqlite3.connect(scratch / "real" / JOURNAL)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("PRAGMA journal_mode=DELETE")
        self.real_result = (scratch / "real" / RESULT).read_bytes()
        self.real_journal = (scratch / "real" / JOURNAL).read_bytes()
        self._beside = ThreadPoolExecutor(1)
        made = cache(cli.make_parsers)  # to make them costs a hundred times what they take to parse
        cli.make_parsers = lambda named=tuple(cli.COMMANDS): made(tuple(named))

    def documents(self, suffix: str) -> Callable[[bytes], None]:
        """A file of documents."""

        def read(data: bytes) -> None:
            path = self.scratch / f"documents{suffix}"
            path.write_bytes(data)
            read_files(path, label_column=None)

        return read

    def texts(self, text: str) -> None:
        """A text, cut into words and put together again."""
        words = split(text)
        joined = "".join(a + b for a, b in zip(words.gaps, (*words.words, "")))
        assert joined == text, "a character was lost"
        assert all(text[a:b] == word for (a, b), word in zip(spans(words), words.words))
        terms(words)
        read_texts([text])

    def result(self, data: bytes) -> None:
        """A result.json, and everything that is made of one."""
        folder = self.scratch / "result"
        folder.mkdir(exist_ok=True)
        (folder / RESULT).write_bytes(data)
        result = Result.load(folder)
        result.to_json()
        result_table(result, 80)
        to_csv(result.explanations)

    def changed_result(self, change: tuple[int, Any]) -> None:
        """A real result.json with one value put in the place of another."""
        values = json.loads(self.real_result)
        replace_one(values, *change)
        self.result(json.dumps(values).encode("utf-8", "surrogatepass"))

    def _run_folder(self, name: str, journal: bytes) -> Path:
        """A folder with nothing but a journal."""
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / JOURNAL).write_bytes(journal)
        return folder

    def journal(self, data: bytes) -> None:
        """A journal, and everything that is read from one."""
        read_run(self._run_folder("journal", data))

    def resumed(self, data: bytes) -> None:
        """A journal that a run is to go on with, and everything that it reads from it."""
        folder = self._run_folder("resumed", data)
        with closing(Journal(folder)) as journal:
            journal.meta()
            journal.read_predictions(n_documents=7, n_labels=2)
            for number in journal.closed_rounds():
                journal.read_round(number)

    def changed_journal(self, edits: list[tuple[str, int, int, Any]]) -> None:
        """A real journal with cells put in the place of others."""
        folder = self._run_folder("cells", self.real_journal)
        with closing(sqlite3.connect(folder / JOURNAL)) as db, db:
            for table, column, row, value in edits:
                if table not in TABLES:
                    continue
                if table == "measurements" and column > 1:
                    _change_measurement(db, NUMBERS[column % len(NUMBERS)], row, value)
                    continue
                _change_cell(db, table, column, row, value)
        read_run(folder)

    @cached_property
    def cells(self) -> list[tuple[str, int, int, Any]]:
        """The cells of a real journal: table, column, row, value."""
        with closing(sqlite3.connect(self.scratch / "real" / JOURNAL)) as db:
            return [
                (table, column, number, value)
                for table in TABLES
                for number, row in enumerate(db.execute(f"SELECT * FROM {table}"))
                for column, value in enumerate(row)
            ]

    def cells_as_bytes(self) -> list[bytes]:
        """Each cell as it is, as ``overwritten_journal`` takes it."""
        return [number.to_bytes(2, "little") + as_content(cell[-1]) for number, cell in enumerate(self.cells)]

    def overwritten_journal(self, data: bytes) -> None:
        """A real journal with other content in one cell: the first two bytes say in which, the rest is the content."""
        table, column, row, before = self.cells[int.from_bytes(data[:2], "little") % len(self.cells)]
        folder = self._run_folder("overwritten", self.real_journal)
        with closing(sqlite3.connect(folder / JOURNAL)) as db, db:
            _change_cell(db, table, column, row, of_the_kind(before, data[2:]))
        read_run(folder)

    def settings(self, values: Any) -> None:
        """Settings by name, as a journal or a caller gives them."""
        known = preset("fast").to_dict()
        Settings.from_dict({**known, **values})

    def command_line(self, arguments: list[str]) -> None:
        """The arguments of a command."""
        try:
            with redirect_stdout(io.StringIO()):
                cli.parse(arguments)
        except SystemExit as end:
            assert end.code == 0, "only --help and --version end here"

    def answers(self, rows: Any) -> None:
        """What a model says of two texts."""
        found = checked(rows, ["one", "two"], ["bad", "good"])
        assert found.shape == (2, 2) and np.isfinite(found).all()

    def model_file(self, data: bytes) -> None:
        """A .skops file."""
        read_skops(data, "fuzzed.skops", ())

    def request(self, scope: tuple[str, bytes, bytes, list[tuple[bytes, bytes]]]) -> None:
        """A request to the live page without its token: nothing but a refusal may come back."""
        statuses: list[int] = []

        async def inside(*_: Any) -> None:
            raise AssertionError("the guard let it in")

        async def send(message: Any) -> None:
            statuses.extend([message["status"]] if message["type"] == "http.response.start" else [])

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        method, path, query, headers = scope
        asked = {
            **{"type": "http", "method": method, "path": path.decode("latin-1"), "query_string": query},
            "headers": [(b"host", b"127.0.0.1:8765"), *headers],
        }
        guard = Guard(inside, token="a secret that no fuzzer finds", port=8765)
        self._beside.submit(asyncio.run, guard(asked, receive, send)).result()  # this thread may have a loop already
        assert len(statuses) == 1 and 400 <= statuses[0] < 500, statuses


def _change_cell(db: sqlite3.Connection, table: str, column: int, row: int, value: Any) -> None:
    """Put a value in the place of one cell, if there are so many rows and the table takes it."""
    columns = db.execute(f"PRAGMA table_info({table})").fetchall()
    names = [name for _, name, *_ in columns]
    found = db.execute(f"SELECT * FROM {table} LIMIT 1 OFFSET ?", (row,)).fetchone()
    if found is None:
        return
    keys = [number for number, *_, key in columns if key] or range(len(columns))
    where = " AND ".join(f"{names[number]} IS ?" for number in keys)
    in_key = [found[number] for number in keys]
    with suppress(sqlite3.Error, OverflowError, UnicodeError):
        db.execute(f"UPDATE {table} SET {names[column % len(names)]} = ? WHERE {where}", (value, *in_key))


def _change_measurement(db: sqlite3.Connection, name: str, row: int, value: Any) -> None:
    """Put a value in the place of a number of one measurement, inside the cell that holds a round of them."""
    for round_, blob in db.execute("SELECT round, rows FROM measurements ORDER BY round").fetchall():
        if not isinstance(blob, bytes) or len(blob) % ROW.itemsize:
            return
        rows = np.frombuffer(blob, ROW).copy()
        if row < len(rows):
            try:
                rows[name][row] = value
            except (ValueError, TypeError, OverflowError):
                return
            db.execute("UPDATE measurements SET rows = ? WHERE round = ?", (rows.tobytes(), round_))
            return
        row -= len(rows)


def as_content(value: Any) -> bytes:
    """The value of a cell as bytes.

    >>> as_content("film"), as_content(2)
    (b'film', b'\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00')
    """
    if isinstance(value, int | float):
        return struct.pack("<q" if isinstance(value, int) else "<d", value)
    return value.encode() if isinstance(value, str) else value or b""


def of_the_kind(before: Any, content: bytes) -> Any:
    """The way back: bytes as a value of the kind that a cell has held.

    >>> of_the_kind("film", b"cast"), of_the_kind(2, b"\\x03")
    ('cast', 3)
    """
    if isinstance(before, int):
        return int.from_bytes(content[:8], "little", signed=True)
    if isinstance(before, float):
        return struct.unpack("<d", content[:8].ljust(8, b"\0"))[0]
    return content.decode("utf-8", "replace") if isinstance(before, str | None) else content


def replace_one(values: Any, place: int, new: Any) -> None:
    """Put ``new`` in the place of one of the values inside, counted through."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, inner in list(pairs):
            places.append((node, key))
            walk(inner)

    walk(values)
    node, key = places[place % len(places)]
    node[key] = new

"""What somebody may have done to a run folder before they hand it on.

Every entry of ``KINDS`` changes a copy of a real run: ``folder`` is the copy, ``outside`` holds a file that is not
theirs (``VICTIM``) and is watched; whatever runs there as code writes ``CANARY`` into it.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import socket
import sqlite3
import struct
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from anchorscope.asking.answers_file import ANSWERS, open_answers
from anchorscope.files import JOURNAL
from anchorscope.journal.database import COUNTED
from anchorscope.journal.opening import INDEX, LOG, ROLLBACK
from anchorscope.journal.writer import LOCK

VICTIM = "victim"
CANARY = "canary"

KEPT = "kept"
"""The folder beside the run in which answers are kept, where there is one."""

RESULT = "result.json"
REPORT = "report.html"
EVALUATION = "evaluation.json"
NAMES = (JOURNAL, LOG, INDEX, ROLLBACK, LOCK, RESULT, REPORT, EVALUATION)
OURS = (LOCK, RESULT, REPORT, EVALUATION)
"""Those that a run, a report and an evaluation replace; the others are SQLite's."""

ALMOST_OURS = {
    "a schema of their own": '{\n  "schema": "http://example.org/mine",\n  "precious": 1\n}\n',
    "labels of their own": '{\n  "schema": 2,\n  "labels": {\n    "cat": {\n      "colour": "red"\n    }\n  }\n}\n',
    "nothing after the schema": '{\n  "schema": 2',
    "a page that quotes ours": '<!doctype html>\n<!-- unlike <meta name="generator" content="anchorscope"> -->\n',
    "a page of our generator": '<!doctype html>\n<meta name="generator" content="anchorscope">\n<p>My own.</p>\n',
}
"""What begins as files of ours do, and is none: what it is, and its text."""

DRAFTS = tuple(f"{name}.part" for name in (RESULT, REPORT, EVALUATION))
"""Names under which drafts were once written."""

SCHEMAS = {
    "a table": "CREATE TABLE more (x)",
    "a view": "CREATE VIEW more AS SELECT * FROM meta",
    "a trigger": "CREATE TRIGGER more AFTER INSERT ON rounds BEGIN DELETE FROM rounds; END",
    "an index": "CREATE INDEX more ON terms (term)",
    "a virtual table": "CREATE VIRTUAL TABLE more USING fts5 (x)",
    "a column": "ALTER TABLE texts ADD COLUMN more TEXT",
    "a generated column": "ALTER TABLE texts ADD COLUMN more AS (upper(text))",
    "another name": "ALTER TABLE texts RENAME TO more",
    "one less": "DROP TABLE moments",
    "statistics": "ANALYZE",
}
"""What a database may hold that no run writes."""

VALUES = (
    None,
    True,
    -1,
    2**62,
    1e308,
    "",
    "\x1b]0;title\x07",
    "\u202etxt",
    "1e999",
    "[" * 2000,
    "../../x",
    b"\xff" * 58,
)
VALUES += ('{"a": NaN}', "null", "constructor", "=cmd|' /C calc'!A0")

JSON_VALUES = (*(value for value in VALUES if not isinstance(value, bytes)), [], {}, [[]], -1_000_000_000, 0.5, 10**30)
JSON_VALUES += ("x", "\ud800", {"a": []})
"""What may stand in a cell that holds JSON, in the place of something else."""

JSON_CELLS = (("meta", "value"), ("rounds", "cost"), ("moments", "moment"))
"""The cells of a journal that hold JSON: table and column."""

MAGIC = bytes.fromhex("d9d505f920a163d7")
SECTOR = 512
LOCK_BYTE = 0x40000000


@dataclass(frozen=True, slots=True)
class Plant:
    """A folder to be spoilt, what must not be touched, and chances."""

    folder: Path
    outside: Path
    chances: random.Random
    theirs: dict[str, bytes] = field(default_factory=dict)
    """Files of somebody else under names of ours, which no command may change: what is in them, by name."""

    @property
    def victim(self) -> Path:
        """A file of somebody else."""
        return self.outside / VICTIM

    @property
    def canary(self) -> Path:
        """What code of theirs would write."""
        return self.outside / CANARY

    def database(self) -> closing[sqlite3.Connection]:
        """The journal, to be changed."""
        return closing(sqlite3.connect(self.folder / JOURNAL, isolation_level=None))


# --- files in the place of others ---


def linked(plant: Plant, name: str, target: str) -> None:
    """A link: to the victim, to a file that could be made, or to one that never ends."""
    path = plant.folder / name
    path.unlink(missing_ok=True)
    path.symlink_to({"victim": plant.victim, "nothing": plant.outside / "new", "endless": Path("/dev/zero")}[target])


def shared(plant: Plant, name: str) -> None:
    """A file that has a second name outside, where it is watched."""
    (plant.folder / name).touch()
    plant.victim.unlink()
    os.link(plant.folder / name, plant.victim)


def piped(plant: Plant, name: str) -> None:
    """A pipe that nobody writes to."""
    (plant.folder / name).unlink(missing_ok=True)
    os.mkfifo(plant.folder / name)


def in_a_folder(plant: Plant, name: str) -> None:
    """A folder where a file should be."""
    (plant.folder / name).unlink(missing_ok=True)
    (plant.folder / name).mkdir()


def listening(plant: Plant, name: str) -> None:
    """A socket; its path may not be long, so it is made elsewhere and moved."""
    (plant.folder / name).unlink(missing_ok=True)
    short = Path("/tmp") / f"anchorscope-{os.getpid()}"
    with closing(socket.socket(socket.AF_UNIX)) as one:
        one.bind(str(short))
    os.rename(short, plant.folder / name)


def holes(plant: Plant, name: str, size: int = 2 << 40) -> None:
    """Two terabytes that take no room, or less."""
    with open(plant.folder / name, "ab"):
        pass
    os.truncate(plant.folder / name, size)


def foreign(plant: Plant, name: str) -> None:
    """A file of somebody else under the name of ours."""
    (plant.folder / name).write_text("a letter", encoding="utf-8")
    if name in OURS:
        plant.theirs[name] = b"a letter"


def almost_ours(plant: Plant, name: str, content: str) -> None:
    """The same, and it begins as a file of ours does, or quotes one."""
    (plant.folder / name).write_text(content, encoding="utf-8")
    plant.theirs[name] = content.encode()


# --- what SQLite would do ---


def plant_rollback(journal: Path, victim: Path) -> None:
    """A rollback journal without pages, whose super-journal is the victim: whoever rolls it back deletes that."""
    data = journal.read_bytes()
    page_size = int.from_bytes(data[16:18], "big") or 4096
    page_size = 65536 if page_size == 1 else page_size
    name = os.fsencode(victim)
    header = MAGIC + struct.pack(">IIIII", 0, 0, len(data) // page_size, SECTOR, page_size)
    record = struct.pack(">I", LOCK_BYTE // page_size + 1) + name
    record += struct.pack(">II", len(name), sum(name) & 0xFFFFFFFF) + MAGIC
    journal.with_name(journal.name + "-journal").write_bytes(header.ljust(SECTOR, b"\0") + record)


def hot(plant: Plant) -> None:
    """A hot journal that names the victim."""
    plant_rollback(plant.folder / JOURNAL, plant.victim)


def hot_answers(plant: Plant) -> None:
    """The same beside kept answers."""
    file = plant.folder.parent / KEPT / ANSWERS
    open_answers(file).close()
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
    plant_rollback(file, plant.victim)


def linked_answers(plant: Plant, target: str) -> None:
    """A link in the place of kept answers: to the victim, or to a file that could be made."""
    (plant.folder.parent / KEPT).mkdir()
    (plant.folder.parent / KEPT / ANSWERS).symlink_to(plant.outside / target)


def hot_with_log(plant: Plant) -> None:
    """The same beside a log with rows."""
    logged(plant)
    hot(plant)


def other_schema(plant: Plant, change: str) -> None:
    """Something that no run writes."""
    with plant.database() as db:
        db.execute(SCHEMAS[change])


def other_version(plant: Plant) -> None:
    """A version that there is not."""
    with plant.database() as db:
        value = plant.chances.choice(['"2"', "3", "1", "null", "[2]", "1e999", '"\\u001b[31m"', "{", "-1"])
        db.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (value,))


def logged(plant: Plant) -> None:
    """Rows that are in the log only, as a kill leaves them."""
    with plant.database() as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA wal_autocheckpoint=0")
        db.execute("UPDATE meta SET value = value || ' '")
        kept = {name: (plant.folder / name).read_bytes() for name in (JOURNAL, LOG)}
    for name, data in kept.items():
        (plant.folder / name).write_bytes(data)


# --- changed bytes and cells ---


def changed_bytes(plant: Plant, name: str) -> None:
    """Some bytes changed, cut off or doubled."""
    if name == LOG:
        logged(plant)
    path = plant.folder / name
    data = bytearray(path.read_bytes())
    for _ in range(plant.chances.randint(1, 12)):
        place = plant.chances.randrange(len(data))
        new = plant.chances.randbytes(plant.chances.randint(1, 8))
        data[place : place + len(new)] = new
    cut = plant.chances.randrange(len(data)) if plant.chances.random() < 0.2 else len(data)
    path.write_bytes(data[:cut])


def changed_cells(plant: Plant) -> None:
    """Some cells with values that no run writes there."""
    with plant.database() as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(plant.chances.randint(1, 4)):
            table = plant.chances.choice(tables)
            columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
            column = plant.chances.choice(columns)
            # One cell or all of them: the first row that the condition finds.
            where = (
                "" if plant.chances.random() < 0.3 else f" WHERE {columns[0]} = (SELECT max({columns[0]}) FROM {table})"
            )
            with suppress(sqlite3.Error, OverflowError):
                db.execute(f"UPDATE {table} SET {column} = ?{where}", (plant.chances.choice(VALUES),))


def changed_json(plant: Plant, table: str, column: str) -> None:
    """Inside the JSON of one cell of a table, or of all, a value in the place of another; or one more, or one less."""
    with plant.database() as db:
        rows = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        chosen = rows if plant.chances.random() < 0.3 else [plant.chances.choice(rows)]
        new = plant.chances.choice(JSON_VALUES)
        place = plant.chances.random()
        for number, cell in chosen:
            changed = json.dumps(_with_another(json.loads(cell), new, place))
            db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, number))


def changed_sources(plant: Plant) -> None:
    """The same inside what the folder says its documents and its model were."""
    with plant.database() as db:
        said = json.loads(db.execute("SELECT value FROM meta WHERE key = 'sources'").fetchone()[0])
        changed = _with_another(said, plant.chances.choice(JSON_VALUES), plant.chances.random())
        db.execute("UPDATE meta SET value = ? WHERE key = 'sources'", (json.dumps(changed),))


def below_zero(plant: Plant) -> None:
    """Every round took so much less than nothing that no budget would ever be spent."""
    with plant.database() as db:
        for number, cell in db.execute("SELECT number, cost FROM rounds").fetchall():
            cost = json.loads(cell)
            field = plant.chances.choice([*cost])
            changed = json.dumps({**cost, field: -1_000_000_000})
            db.execute("UPDATE rounds SET cost = ? WHERE number = ?", (changed, number))


def commanding_cost(plant: Plant) -> None:
    """The cost of every round names something that a terminal takes for a command."""
    with plant.database() as db:
        db.execute("UPDATE rounds SET cost = ?", (json.dumps({"\x1b]0;title\x07\x1b[2J": 1}),))


def miscounted(plant: Plant, key: str) -> None:
    """A count of before the first round that is none; or so far below zero that no budget would ever be spent."""
    with plant.database() as db:
        value = plant.chances.choice(["null", "[]", '"x"', "-1000000000", "1e300", '{"usable": null}'])
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def odd_moments(plant: Plant) -> None:
    """What was shown after each round is no list."""
    with plant.database() as db:
        value = plant.chances.choice(["5", "[]", "{}", '{"labels": {"no": 5}}', '{"labels": {"no": {"terms": [5]}}}'])
        db.execute("UPDATE moments SET moment = ?", (value,))


def odd_number(plant: Plant) -> None:
    """A number of the result that JSON knows and no run has: infinite, or of four thousand digits."""
    path = plant.folder / RESULT
    numbers = [*re.finditer(r": (-?[0-9][0-9.e+-]*)", path.read_text(encoding="utf-8"))]
    chosen = plant.chances.choice(numbers)
    text = path.read_text(encoding="utf-8")
    odd = plant.chances.choice(["1e999", "-1e999", "1" + "0" * 4000])
    path.write_text(text[: chosen.start(1)] + odd + text[chosen.end(1) :], encoding="utf-8")


def name_twice(plant: Plant) -> None:
    """A name of the result that stands twice in one place."""
    path = plant.folder / RESULT
    text = path.read_text(encoding="utf-8")
    name = plant.chances.choice(["finished", "settled", "seed", "tested", "score"])
    path.write_text(text.replace(f'"{name}":', f'"{name}": 0, "{name}":'), encoding="utf-8")


def odd_setting(plant: Plant) -> None:
    """A setting of the result of another kind."""
    path = plant.folder / RESULT
    values = json.loads(path.read_bytes())
    values["settings"][plant.chances.choice(["aggregation", "score", "strategy", "tau", "regret", "top_k"])] = []
    path.write_text(json.dumps(values, indent=2), encoding="utf-8")


def shared_pages(plant: Plant) -> None:
    """Two texts on the same pages: so a small file may say that each of many cells is as large as all of it."""
    path = plant.folder / JOURNAL
    with plant.database() as db:
        db.executemany("INSERT INTO texts VALUES (?, ?)", ((10_000 + n, mark * 9000) for n, mark in enumerate("\1\2")))
        (page_size,) = db.execute("PRAGMA page_size").fetchone()
    data = path.read_bytes()
    first, second = (
        next(n for n in range(1, len(data) // page_size) if data[n * page_size + 4 :].startswith(mark * 1000)) + 1
        for mark in (b"\1", b"\2")
    )
    pointer = b"\2" + second.to_bytes(4, "big")  # after what of the text lies in the cell itself
    assert data.count(pointer) == 1
    path.write_bytes(data.replace(pointer, b"\2" + first.to_bytes(4, "big")))


def missing_label(plant: Plant) -> None:
    """The label that was asked for is none of the model's."""
    with plant.database() as db:
        db.execute("UPDATE meta SET value = json_set(value, '$.labels', json('[\"maybe\"]')) WHERE key = 'settings'")


def long_label(plant: Plant) -> None:
    """A label of megabytes, in which there is no place to begin a new line."""
    with plant.database() as db:
        db.execute("UPDATE labels SET name = ? WHERE number = 1", ("x" * 8_000_000,))


def many_labels(plant: Plant, n_labels: int = 1_500, n_terms: int = 60_000) -> None:
    """A small file that asks for a large table."""
    with plant.database() as db:
        n_now = db.execute("SELECT max(number) FROM terms").fetchone()[0]
        db.execute("BEGIN")
        db.executemany("INSERT INTO labels VALUES (?, ?)", ((i, str(i)) for i in range(2, n_labels)))
        rows = ((i, str(i), "") for i in range(n_now + 1, n_terms))
        db.executemany("INSERT INTO terms VALUES (?, ?, ?, 0, 0)", rows)
        db.execute("COMMIT")


def many_labels_in_holes(plant: Plant) -> None:
    """The same in a file that is larger than what is in it: the pages that its header counts are holes."""
    many_labels(plant, n_labels=1_000)
    size = 64 << 20
    with open(plant.folder / JOURNAL, "r+b") as file:
        file.truncate(size)
        page_size = int.from_bytes(file.read(18)[16:], "big")
        file.seek(28)
        file.write((size // page_size).to_bytes(4, "big"))


def many_labels_in_free_pages(plant: Plant) -> None:
    """The same in a file whose pages are free ones, of rows that were removed."""
    many_labels(plant, n_labels=1_000)
    with plant.database() as db:
        for change in (
            "INSERT INTO texts VALUES (1000, zeroblob(64000000))",
            "DELETE FROM texts WHERE document = 1000",
        ):
            db.execute(change)


def _with_another(values: Any, new: Any, place: float) -> Any:
    """The values with one of them, at some place between 0 and 1 of all, in the place of another; what holds no
    values is that one itself.

    >>> _with_another({"a": [1, 2]}, "new", 0.5)
    {'a': ['new', 2]}
    """
    places: list[tuple[Any, Any]] = []
    left = [values]
    for node in left:  # grows meanwhile
        pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, inner in pairs:
            places.append((node, key))
            left.append(inner)
    if not places:
        return new
    node, key = places[int(place * len(places))]
    node[key] = new
    return values


def changed_result(plant: Plant) -> None:
    """A value of result.json in the place of another, or a list without end."""
    path = plant.folder / RESULT
    new = plant.chances.choice(JSON_VALUES)
    values = _with_another(json.loads(path.read_bytes()), new, plant.chances.random())
    nested = plant.chances.random() < 0.2
    path.write_text("[" * 100_000 if nested else json.dumps(values), encoding="utf-8")


# --- code ---


class Payload:
    """What a pickle runs when it is read."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.canary}",)


def set_sources(plant: Plant, **sources: Any) -> None:
    """What the folder says its documents and its model were."""
    with plant.database() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('sources', ?)", (json.dumps(sources),))


def pickled_model(plant: Plant, permissions: Mapping[str, Any]) -> None:
    """A pickle, with permissions."""
    path = plant.folder / "model.pkl"
    path.write_bytes(pickle.dumps(Payload(plant.canary)))
    set_sources(plant, documents=[str(plant.victim)], model=str(path), **permissions)


def shell_model(plant: Plant) -> None:
    """A function that hands the texts to a shell, and a text that is a command."""
    path = plant.folder / "commands.txt"
    path.write_text(f"touch {plant.canary}\n", encoding="utf-8")
    set_sources(plant, documents=[str(path)], model="subprocess:getoutput", names="a,b", yes="yes")


def module_model(plant: Plant) -> None:
    """A module beside the journal that writes the canary when it is imported."""
    (plant.folder / "planted_module.py").write_text(f"open({str(plant.canary)!r}, 'w').close()\n", encoding="utf-8")
    set_sources(plant, documents=["planted_module.py"], model="planted_module:model", names="a,b")


def other_sources(plant: Plant) -> None:
    """Sources of a kind that no run writes."""
    said = plant.chances.choice(
        [
            *([], 7, "x", {"documents": 7}, {"documents": [[]]}, {"model": {}}, {"model": "\x1b[2J"}),
            *({"documents": [path], "format": "csv"} for path in ("\ud800", "a\0b", "a" * 300, "", ".", "/dev/zero")),
        ]
    )
    with plant.database() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('sources', ?)", (json.dumps(said),))


def other_perturbator(plant: Plant) -> None:
    """A perturbator that is a folder with a pickle in it."""
    model = plant.folder / "hf"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "bert", "auto_map": {"AutoModel": "evil.Model"}}')
    (model / "evil.py").write_text(f"open({str(plant.canary)!r}, 'w').close()\n", encoding="utf-8")
    (model / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(plant.canary)))
    with plant.database() as db:
        named = {"name": plant.chances.choice([f"masked-lm:{model}", str(model), "os:system"]), "sha256": "0" * 64}
        db.execute("UPDATE meta SET value = ? WHERE key = 'perturbator'", (json.dumps(named),))


KINDS: dict[str, Callable[[Plant], None]] = {
    **{
        f"{name} is a link to {to}": partial(linked, name=name, target=to)
        for name in NAMES
        for to in ("victim", "nothing")
    },
    **{f"{name} is an endless link": partial(linked, name=name, target="endless") for name in (JOURNAL, LOG, RESULT)},
    **{f"{name} is a link to victim": partial(linked, name=name, target="victim") for name in DRAFTS},
    **{f"{name} has a second name outside": partial(shared, name=name) for name in NAMES},
    **{f"{name} is a pipe": partial(piped, name=name) for name in NAMES},
    **{f"{name} is a folder": partial(in_a_folder, name=name) for name in NAMES},
    **{f"{name} is a socket": partial(listening, name=name) for name in (JOURNAL, LOG, RESULT)},
    **{
        f"{name} is somebody's": partial(foreign, name=name)
        for name in (LOG, INDEX, ROLLBACK, LOCK, RESULT, REPORT, EVALUATION)
    },
    **{
        f"{name} is {what}": partial(almost_ours, name=name, content=content)
        for name in (RESULT, REPORT, EVALUATION)
        for what, content in ALMOST_OURS.items()
    },
    **{f"{name} has two terabytes": partial(holes, name=name) for name in (JOURNAL, LOG, RESULT, REPORT)},
    "a log of three gigabytes of holes": partial(holes, name=LOG, size=3 << 30),
    **{f"schema: {change}": partial(other_schema, change=change) for change in SCHEMAS},
    "another version": other_version,
    "a hot journal": hot,
    "a hot journal and a log": hot_with_log,
    "kept answers with a hot journal": hot_answers,
    "kept answers in the victim": partial(linked_answers, target=VICTIM),
    "kept answers in a file to be made": partial(linked_answers, target="new"),
    "rows in the log only": logged,
    "bytes of the journal": partial(changed_bytes, name=JOURNAL),
    "bytes of the log": partial(changed_bytes, name=LOG),
    "bytes of the result": partial(changed_bytes, name=RESULT),
    "cells": changed_cells,
    **{f"{key} is no count": partial(miscounted, key=key) for key in (*COUNTED, "documents")},
    **{
        f"values in {table}.{column}": partial(changed_json, table=table, column=column) for table, column in JSON_CELLS
    },
    "values in the sources": changed_sources,
    "costs below zero": below_zero,
    "moments of another kind": odd_moments,
    "a number of the result": odd_number,
    "a setting of the result": odd_setting,
    "a name of the result twice": name_twice,
    "a cost with commands to a terminal": commanding_cost,
    "values of the result": changed_result,
    "two texts on the same pages": shared_pages,
    "a label of megabytes": long_label,
    "a label that there is not": missing_label,
    "many labels and terms": many_labels,
    "many labels and terms in a megabyte": partial(many_labels, n_labels=140),
    "many labels and terms in holes": many_labels_in_holes,
    "many labels and terms in free pages": many_labels_in_free_pages,
    "a pickle as model": partial(pickled_model, permissions={"allow_pickle": "yes", "trust": "os.system", "yes": "1"}),
    "a pickle as model, allowed": partial(pickled_model, permissions={"allow_pickle": True, "trust": [], "yes": True}),
    "a shell as model": shell_model,
    "a module as model": module_model,
    "sources of another kind": other_sources,
    "code as perturbator": other_perturbator,
}
"""What is done to a folder, by name."""

OFTEN = (
    "bytes of the journal",
    "bytes of the log",
    "bytes of the result",
    "cells",
    "values of the result",
    "a number of the result",
    "moments of another kind",
    "another version",
    "sources of another kind",
    *(f"values in {table}.{column}" for table, column in JSON_CELLS),
    "values in the sources",
)
"""Kinds in which chance has a say: they are tried again and again."""

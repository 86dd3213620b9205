"""One small JSON file a run, written whole or not at all; figures and pages are made from these files alone.

The name says which run it is (``corona__small-bert__delta-0.5__42.json``), so the files of passes made on different
machines can be copied together. Runs of one task and model belong together only if they explained the same number
of documents with the same perturbator: a folder that mixes them is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anchorscope.errors import RunFolderError
from anchorscope.files import read_regular, write_whole

RECORD_SCHEMA = 2
FOLDER = "runs"
SERIAL = "serial"
"""Where the records of settings are, and those of runs of their own that were made to be timed."""

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Which run."""

    task: str
    model: str
    setting: str
    seed: int

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.task}__{self.model}__{self.setting}__{self.seed}.json"


def write(out: Path, key: Key, record: Record, kind: str = FOLDER) -> None:
    """Store a run's record."""
    folder = out / kind
    folder.mkdir(parents=True, exist_ok=True)
    values = {"schema": RECORD_SCHEMA, "task": key.task, "model": key.model, "setting": key.setting, "seed": key.seed}
    text = json.dumps({**values, **record}, allow_nan=False) + "\n"
    write_whole(folder / key.file, text, is_ours=lambda head: _is_record(head, values))


def _is_record(head: bytes, begun: Record) -> bool:
    """Whether the first bytes of a file are those of a record of that run, of whatever schema.

    >>> _is_record(b'{"schema": 1, "task": "corona", "seconds": 3}', {"schema": 2, "task": "corona"})
    True
    """
    schema, _, rest = json.dumps(dict(begun)).removesuffix("}").partition(", ")
    beginning = re.sub(r"\d+", r"\\d+", schema.replace("{", r"\{")) + ", " + re.escape(rest)
    return re.match(beginning.encode(), head) is not None


def read(out: Path, kind: str = FOLDER) -> dict[Key, Record]:
    """All records of a folder."""
    found = {}
    for path in sorted((out / kind).glob("*.json")):
        try:
            values = json.loads(read_regular(path))
            if values["schema"] != RECORD_SCHEMA:
                raise ValueError(f"schema {values['schema']}")
            found[Key(values["task"], values["model"], values["setting"], values["seed"])] = values
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise RunFolderError(f"{path} is no record of a run ({error}); take it out of the folder.") from error
    return found


def check_alike(records: Mapping[Key, Record], task: str, model: str, made: Mapping[str, Any]) -> None:
    """Refuse to add runs made otherwise than those of the same task and model that are there."""
    for key, record in records.items():
        differing = [name for name in made if record["made"].get(name) != made[name]]
        if (key.task, key.model) == (task, model) and differing:
            name = differing[0]
            raise RunFolderError(
                f"The folder has runs of {model} on {task} made with {name} {record['made'].get(name)}, "
                f"not {made[name]}: give the same again, or another --out."
            )


def select(records: Mapping[Key, Record], *, task: str, model: str, setting: str) -> list[Record]:
    """The runs of one task, model and setting, by seed."""
    return [records[key] for key in sorted(records) if (key.task, key.model, key.setting) == (task, model, setting)]


def present(values: Iterable[str], order: Iterable[str]) -> list[str]:
    """The values that are there, in a known order.

    >>> present(["b", "a", "b"], ["a", "b", "c"])
    ['a', 'b']
    """
    there = {*values}
    return [name for name in order if name in there]

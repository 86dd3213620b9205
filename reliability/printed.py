"""What a model prints, whenever and however it does: does a terminal get commands, or a file what is no data?

Each model says something that a terminal would take for a command, or that would make a text be read backwards: while
its module is loaded or it is asked, as text, as bytes, by a child process, in a warning, a log message or an exception,
in a thread, after all is done. The command is given a terminal of its own, with and without workers, and none of it may
arrive as it is. Then it is given a pipe for its data, which must be the JSON of a quiet model to the last byte.

Not tried is what a model writes to the error output itself, by its number or its name: that is its own voice.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reliability.tables import ROOT, Study, options

RAW = "\x1b]0;owned\x07 \u202edenwo"
COMMANDS = ("\x1b]0;", "\x07", "\u202e")
"""What no terminal may get; colours and cursors of our own are others."""

MODULE = """
import atexit, logging, os, subprocess, sys, threading, time, warnings
RAW = {raw!r}
{before}
class Falling:
    def __del__(self):
        raise ValueError(RAW)

def fail():
    raise ValueError(RAW)

def later():
    time.sleep(1)
    print(RAW)

def model(texts):
    {inside}
    return [[0.1, 0.9] if "great" in text else [0.8, 0.2] for text in texts]
"""

ONCE = "if not hasattr(later, 'begun'): later.begun = True; "

WAYS: dict[str, tuple[str, str]] = {
    "nothing": ("", "pass"),
    "while it is loaded": ("print(RAW)", "pass"),
    "when it is asked": ("", "print(texts[0], RAW)"),
    "without a line's end": ("", "print(RAW, end='', flush=True)"),
    "in lines": ("", "sys.stdout.writelines([RAW, chr(10)])"),
    "as bytes": ("", "sys.stdout.buffer.write(RAW.encode()); sys.stdout.flush()"),
    "by a stream that it kept": ("kept = sys.stdout", "print(RAW, file=kept)"),
    "in a log message": ("", "logging.getLogger('theirs').error(RAW)"),
    "in a warning": ("", "warnings.warn(RAW)"),
    "in an exception of a thread": ("", "thread = threading.Thread(target=fail); thread.start(); thread.join()"),
    "in an exception that is ignored": ("", "Falling()"),
    "in a thread when all is done": ("", ONCE + "threading.Thread(target=later).start()"),
    "as its last words": ("", ONCE + "atexit.register(print, RAW)"),
}
"""What a model does: when it is loaded, and when it is asked."""

NO_DATA: dict[str, tuple[str, str]] = {
    "by the number of the standard output": ("", "os.write(1, b'no data')"),
    "by Python's own name for it": ("", "sys.__stdout__.write('no data'); sys.__stdout__.flush()"),
    "by a child": ("", "subprocess.run(['echo', 'no data'], check=True)"),
}
"""Ways that are the model's own voice in a terminal, and must not be data all the same."""

PLACES: dict[str, tuple[str, ...]] = {"here": (), "live": (), "two workers": ("--workers", "2")}


def main() -> int:
    """Run the study."""
    given = options(__doc__).parse_args()
    study = Study(
        "printed",
        f"{len(WAYS) + len(NO_DATA) - 1} ways in which a model says something, in a terminal and beside data",
        "nothing in it commands a terminal; the data are those of a quiet model, to the last byte",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-printed-") as scratch:
        return listen(study, Path(scratch), [*WAYS][:4] if given.quick else [*WAYS])


def listen(study: Study, scratch: Path, ways: Sequence[str]) -> int:
    """Every way, in each place."""
    (scratch / "docs.txt").write_text("a great film\na bad film\nno film\nso great\n", encoding="utf-8")
    expected = ""
    for way in [*ways, *NO_DATA]:
        before, inside = {**WAYS, **NO_DATA}[way]
        module = MODULE.format(raw=RAW, before=before, inside=inside)
        (scratch / "prints.py").write_text(module, encoding="utf-8")
        for place, more in PLACES.items():
            quiet = () if place == "live" else ("-q",)
            status, printed = beside_data(scratch, *more, "-q", "--json")
            expected = expected or without_cost(printed)
            said = in_a_terminal(scratch, *more, *quiet) if way in WAYS else ""
            raw = [ascii(one) for one in COMMANDS if one in said]
            study.add(way=way, place=place, status=status, is_data=without_cost(printed) == expected, raw=raw)
    n_bad = sum(bool(row["raw"]) or not row["is_data"] or row["status"] != 0 for row in study.rows)
    return study.end(
        reached=not n_bad, found=f"{len(study.rows)} cases, {n_bad} that commanded a terminal or were data"
    )


def command(*more: str) -> list[str]:
    """The command line."""
    model = ("--model", "prints:model", "--labels", "no,yes", "--min-occurrences", "1")
    return [sys.executable, "-m", "anchorscope", "explain", "docs.txt", *model, *more]


def environment() -> dict[str, str]:
    """What the command sees."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "OMP_NUM_THREADS": "1"}


def beside_data(folder: Path, *more: str) -> tuple[int, str]:
    """The exit status, and what comes out of the standard output."""
    given: Any = {"cwd": folder, "env": environment(), "text": True, "check": False}
    done = subprocess.run(command(*more), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **given)
    return done.returncode, done.stdout


def without_cost(printed: str) -> str:
    """All of a result but what it took and what it asked; what is no JSON, as it is."""
    try:
        values = json.loads(printed)
    except ValueError:
        return printed
    del values["cost"], values["model"]
    return json.dumps(values)


def in_a_terminal(folder: Path, *more: str) -> str:
    """All that a terminal gets."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        command(*more), cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=its, stderr=its
    )
    os.close(its)
    said = b""
    try:
        while piece := os.read(ours, 1 << 16):
            said += piece
    except OSError:  # Linux: nobody has the other side open any more
        pass
    finally:
        os.close(ours)
    process.wait()
    return said.decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    raise SystemExit(main())

"""Nothing raw from a journal, a path or a label reaches a terminal, whatever is shown there and in whatever form."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from anchorscope import cli
from reliability import hostile_folders, printed
from reliability.planted import KINDS, Plant
from reliability.tables import ROOT

TITLE = "\x1b]0;owned\x07"
TURNED = "\u202eeman\u2066"
CLEAR = "\x9b2J\x1b[2J"
RAW = ("\x1b]", "\x07", "\u202e", "\u2066", "\x9b", "\x1b[2J")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Plant:
    """A run whose folder, labels, terms, texts and sources would speak to a terminal."""
    scratch = tmp_path_factory.mktemp("terminal")
    hostile_folders.make_real(scratch)
    KINDS["nothing"] = lambda plant: None
    made = hostile_folders._planted(scratch / "one", scratch, "nothing", 0)
    del KINDS["nothing"]
    folder = made.folder.rename(made.folder.with_name(f"run{TITLE}{TURNED}"))
    plant = Plant(folder, made.outside, made.chances)
    with plant.database() as db:
        db.execute("UPDATE labels SET name = name || ?", (TITLE + TURNED,))
        db.execute("UPDATE terms SET term = term || ?, written = written || ?", (CLEAR + TURNED, CLEAR + TURNED))
        db.execute("UPDATE texts SET text = text || ?", (TITLE,))
        said = {"documents": [f"docs{TITLE}{TURNED}.csv"], "model": f"m{CLEAR}{TURNED}:x"}
        db.execute("INSERT OR REPLACE INTO meta VALUES ('sources', ?)", (json.dumps(said),))
    return plant


def shown(*arguments: str, and_then: Callable[[], None] = lambda: None) -> str:
    """What a terminal gets to show both what is printed and what is said."""
    terminal = Terminal()
    with redirect_stdout(terminal), redirect_stderr(terminal):
        cli.main(list(arguments))
        and_then()
    return terminal.getvalue()


def raw_in(text: str) -> list[str]:
    return [raw for raw in RAW if raw in text]


@pytest.mark.parametrize("form", ["table", "csv", "md", "json"])
def test_top(form: str, plant: Plant) -> None:
    found = shown("top", str(plant.folder), "--format", form)
    assert not raw_in(found) and ("great" in found or "too few" in found)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "RUN"),
        ("report", "RUN/missing\x1b]0;x\x07"),
        ("evaluate", "RUN"),
        ("evaluate", "RUN", "-v"),
        ("top", "RUN", "--label", "x"),
        ("top", "RUN", "--label", "x", "-v"),
        ("top", "RUN", "--aggregation", "\x1b]0;x\x07"),
        ("compare", "RUN", "RUN"),
        ("explain", "nothing\u202e.csv", "--model", "\x1b]0;x\x07"),
    ],
)
def test_other_commands(arguments: tuple[str, ...], plant: Plant) -> None:
    found = shown(*(word.replace("RUN", str(plant.folder)) for word in arguments))
    assert not raw_in(found) and found.strip()


def test_log_messages(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may hold a model's words, and so a document's."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(logging.root.manager, "disable", logging.NOTSET)  # an earlier test was quiet
    log = logging.getLogger("somebody")
    found = shown("top", str(plant.folder), and_then=lambda: log.warning("failed on %s", TITLE + TURNED + CLEAR))
    assert "anchorscope: failed on" in found and not raw_in(found)


def test_a_file_gets_what_there_is(plant: Plant) -> None:
    """What is no terminal is data: a CSV file holds the terms as they are."""
    output = io.StringIO()
    with redirect_stdout(output):
        assert cli.main(["top", str(plant.folder), "--format", "csv"]) == 0
    assert TURNED in output.getvalue()


def test_what_a_model_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may print the texts that it gets, which are a stranger's."""
    (tmp_path / "prints.py").write_text(
        "def model(texts):\n    print(texts[0])\n    return [[0.5, 0.5]] * len(texts)\n"
    )
    monkeypatch.chdir(tmp_path)
    document = f"a great film{TITLE}{TURNED}{CLEAR}"
    text = shown("explain", "-q", "--document", document, "--model", "prints:model", "--labels", "no,yes")
    assert "a great film" in text and not raw_in(text)


PRINTING = """
import os, sys
RAW = {raw!r}

def say():
    print("printed", os.getpid(), RAW)
    print("[link=https://example.org]printed[/link][/x]", RAW, end="", flush=True)
    sys.stdout.writelines(["printed ", RAW, chr(10)])
    sys.stdout.buffer.write(b"printed \\x1b]0;owned\\x07\\x9b2J" + RAW.encode())
    sys.stdout.buffer.flush()

say()

def model(texts):
    say()
    return [[0.5, 0.5]] * len(texts)
"""


TWO = ("--workers", "2")


@pytest.mark.parametrize(
    ("options", "n_heard"), [((), {1}), (("-q",), {1}), (TWO, {2, 3}), (("--backend", "ray", *TWO), {1})], ids=str
)
def test_what_a_model_prints_in_a_real_terminal(options: tuple[str, ...], n_heard: set[int], tmp_path: Path) -> None:
    """As text, as bytes and as markup of rich's; while its module is loaded, under the live table, and in a worker,
    which loads it as well; the first worker may be done before the second has begun. What a worker on Ray prints goes
    to a log of Ray's."""
    (tmp_path / "prints.py").write_text(PRINTING.format(raw=TITLE + TURNED + CLEAR))
    (tmp_path / "docs.txt").write_text("a great film\na bad film\nno film\n")
    found = in_a_terminal(tmp_path, "explain", "docs.txt", "--model", "prints:model", "--labels", "no,yes", *options)
    assert found.count("printed") > 3 and not raw_in(found) and "\udc9b" not in found, "a byte that is no UTF-8"
    assert len({*re.findall(r"printed (\d+)", found)}) in n_heard, "processes that were heard"


SAYING = """
import atexit, os, subprocess, sys, threading, time
RAW = {raw!r}

class Falling:
    def __del__(self):
        raise ValueError("printed falling " + RAW)

def fail():
    raise ValueError("printed thread " + RAW)

def later():
    time.sleep(0.5)
    print("printed later", RAW)

atexit.register(print, "printed last", RAW)
threading.Thread(target=later).start()

def model(texts):
    Falling()
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    return [[0.5, 0.5]] * len(texts)
"""


def test_what_nobody_catches_and_what_comes_when_all_is_done(tmp_path: Path) -> None:
    """Python itself writes exceptions of threads, and threads go on printing after the result."""
    (tmp_path / "prints.py").write_text(SAYING.format(raw=TITLE + TURNED + CLEAR))
    (tmp_path / "docs.txt").write_text("a great film\na bad film\nno film\n")
    for more in ((), TWO):
        found = in_a_terminal(
            tmp_path, "explain", "-q", "docs.txt", "--model", "prints:model", "--labels", "no,yes", *more
        )
        assert all(f"printed {what}" in found for what in ("falling", "thread", "later", "last")), found
        assert not raw_in(found)


def test_what_reaches_the_standard_output_by_its_number_is_no_data(tmp_path: Path) -> None:
    """A library in C writes there, and a child of the model's: that is said beside the data, and after them."""
    says = "import os, subprocess, sys\n\ndef model(texts):\n    os.write(1, b'printed by number')\n"
    says += "    subprocess.run(['echo', 'printed by a child'])\n    sys.__stdout__.write('printed by name')\n"
    (tmp_path / "prints.py").write_text(says + "    return [[0.5, 0.5]] * len(texts)\n")
    (tmp_path / "docs.txt").write_text("a great film\na bad film\nno film\n")
    command = ["explain", "docs.txt", "--model", "prints:model", "--labels", "no,yes", "--json", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "anchorscope", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["finished"]
    assert all(f"printed by {what}" in done.stderr for what in ("number", "a child", "name"))


def in_a_terminal(folder: Path, *arguments: str) -> str:
    """What a command sends to a terminal that it is alone with."""
    ours, its = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "anchorscope", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=its,
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
    assert done.wait() == 0, said.decode("utf-8", "replace")
    return said.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("way", ["in a log message", "in a warning"])
def test_what_a_worker_logs_and_warns_of_is_harmless_and_quiet_where_that_is_asked(way: str, tmp_path: Path) -> None:
    before, inside = printed.WAYS[way]
    inside = inside.replace(".error(", ".warning(")
    (tmp_path / "prints.py").write_text(printed.MODULE.format(raw=printed.RAW, before=before, inside=inside), "utf-8")
    (tmp_path / "docs.txt").write_text("a great film\na bad film\nno film\nso great\n", encoding="utf-8")
    said = printed.in_a_terminal(tmp_path, "--workers", "2")
    assert not [command for command in printed.COMMANDS if command in said]
    assert "anchorscope: \N{REPLACEMENT CHARACTER}" in said
    assert "\N{REPLACEMENT CHARACTER}" not in printed.in_a_terminal(tmp_path, "--workers", "2", "-q")

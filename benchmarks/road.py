"""The road of one run through the house: how many modules it enters, how many distinct hops lie between them, and how
many calls.

    python -m benchmarks.road [--preset fast] [--perturbator NAME] [--merged LINES]

A small run of the command line is traced, 120 documents of two words that matter and a function for a model; in a
process of its own, so that nothing is loaded before. A *module* is one in which a function was called, a *hop* an
ordered pair of modules in which two calls came after one another, whoever made the second; a *call* one in which the
first called the second. What is done when a module is imported does not count. Prints one line: the options, modules,
hops, calls and the commit. With ``--merged``, a second one: what would be left if files of a room were made one, that
pair first which takes most hops away, while together they have no more than so many lines.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
import threading
from contextlib import redirect_stdout
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.written import facts

MODEL = "def model(texts):\n    return [[.1, .9] if 'great' in text else [.8, .2] for text in texts]\n"
DOCUMENTS = [f"a {word} film number {i} with a plot and a cast" for i in range(60) for word in ("great", "dull")]


class Road:
    """The modules that a run went through, and the hops and calls between them, as the interpreter tells them."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.hops: set[tuple[str, str]] = set()
        self.calls: set[tuple[str, str]] = set()
        self._last = ""
        self._n_importing = 0

    def watch(self, frame: FrameType, event: str, _: Any) -> None:
        """Take one event of ``sys.setprofile``."""
        name = _module(frame)
        if not name:
            return
        if frame.f_code.co_name == "<module>":
            self._n_importing += {"call": 1, "return": -1}.get(event, 0)
            return
        # The body of a class and its decorators are calls, too, and belong to the import of their module.
        if event != "call" or self._n_importing:
            return
        self.modules.add(name)
        if self._last and self._last != name:
            self.hops.add((self._last, name))
        self._last = name
        caller = frame.f_back
        while caller is not None and not _module(caller):  # what a library calls is called by who called the library
            caller = caller.f_back
        if caller is not None and _module(caller) != name:
            self.calls.add((_module(caller), name))


def _module(frame: FrameType) -> str:
    """The module of ours that a function is defined in; nothing for those of others."""
    name = str(frame.f_globals.get("__name__", ""))
    return name if name.partition(".")[0] == "anchorscope" else ""


def traced(options: list[str]) -> Road:
    """The road of ``anchorscope explain`` with some options; one that fails is an error here, and no short road."""
    from anchorscope.cli import main

    road = Road()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        work = Path(folder)
        (work / "toy.py").write_text(MODEL)
        with (work / "documents.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["text"], *([text] for text in DOCUMENTS)])
        sys.path.insert(0, folder)
        command = ["-q", "explain", str(work / "documents.csv"), "--model", "toy:model", "--labels", "no,yes", "--json"]
        threading.setprofile(road.watch)
        sys.setprofile(road.watch)
        try:
            status = main([*command, "--out", str(work / "run"), *options])
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            sys.path.remove(folder)
    if status:
        raise SystemExit(f"The run with {' '.join(options) or 'the defaults'} failed, so it has no road.")
    return road


def merged(road: Road, most_lines: int) -> tuple[int, int]:
    """The modules and hops that are left when files of a room are made one, greedily."""
    lines = {name: _n_lines(name) for name in road.modules}
    hops = road.hops
    while True:
        pairs = [
            (len(hops) - len(_with_one(hops, one, other)), one, other)
            for one, other in combinations(sorted(lines), 2)
            if one.split(".")[:2] == other.split(".")[:2] and lines[one] + lines[other] <= most_lines
        ]
        saved, one, other = max(pairs, default=(0, "", ""))
        if not saved:
            return len(lines), len(hops)
        hops = _with_one(hops, one, other)
        lines[one] += lines.pop(other)


def _with_one(hops: set[tuple[str, str]], one: str, other: str) -> set[tuple[str, str]]:
    """The hops where the other module is a part of the one."""
    renamed = {(one if a == other else a, one if b == other else b) for a, b in hops}
    return {(a, b) for a, b in renamed if a != b}


def _n_lines(module: str) -> int:
    return Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8").count("\n")


def main() -> None:
    """Trace and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset")
    parser.add_argument("--perturbator")
    parser.add_argument("--merged", type=int, metavar="LINES")
    given = vars(parser.parse_args())
    most_lines = given.pop("merged")
    options = [f"--{name}={value}" for name, value in given.items() if value is not None]
    road = traced(options)
    commit = facts()["commit"]
    counts = f"{len(road.modules)} modules, {len(road.hops)} hops, {len(road.calls)} calls"
    print(f"{' '.join(options) or 'default'}: {counts}, commit {commit[:9]}")
    if most_lines is not None:
        n_modules, n_hops = merged(road, most_lines)
        print(f"merged up to {most_lines} lines: {n_modules} modules, {n_hops} hops")


if __name__ == "__main__":
    main()

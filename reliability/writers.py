"""Ten processes on one run folder: does one write, and are the others refused at once?

Ten processes wait for a common moment and then start the same run in the same folder. One must finish it; nine must be
refused with exit status 2 and one sentence, each within a second of asking for the folder (the start of Python and the
imports come before and are not counted). The result must be that of a run alone.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from time import time

from reliability.tables import ROOT, Study, options
from reliability.work import VARIANTS, Work, found, leftovers

N = 10

WRITER = """
import sys, time, json
from anchorscope.cli import parse
from anchorscope.cli.explain import run
from anchorscope.errors import AnchorscopeError
import anchorscope.run, anchorscope.cli.watch, anchorscope.perturbators.corpus, anchorscope.predictors, loky
import anchorscope.perturbators.choose, reliability.models
given = parse(sys.argv[2:])
time.sleep(max(0, float(sys.argv[1]) - time.time()))
begun = time.monotonic()
try:
    status, said = run(given, open("/dev/null", "w")), ""
except AnchorscopeError as error:
    status, said = 2, str(error)
print(json.dumps([status, said, time.monotonic() - begun]))
"""


def main() -> int:
    """Run the study."""
    given = options(__doc__, times=10).parse_args()
    study = Study(
        "writers",
        "10 processes on one run folder",
        "one writes, nine refused within a second, nothing corrupted",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-writers-") as scratch:
        return contend(study, Path(scratch), 1 if given.quick else given.times)


def contend(study: Study, scratch: Path, n_times: int) -> int:
    """Ten at once, several times over."""
    work = Work.make(scratch / "work", 400)
    chosen = VARIANTS["scan, gain"]
    assert work.finish(scratch / "alone", *chosen)[0] == 0
    expected = found(scratch / "alone")
    for time_ in range(n_times):
        run = scratch / "run"
        answers = ten_at_once(work, run, chosen)
        wrote = [answer for answer in answers if answer[0] == 0]
        refused = [seconds for status, said, seconds in answers if status == 2 and "Another process is writing" in said]
        with closing(sqlite3.connect(run / "journal.sqlite")) as db:
            sound = db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        study.add(
            time=time_,
            wrote=len(wrote),
            refused=len(refused),
            slowest_refusal=round(max(refused, default=0.0), 3),
            same=found(run) == expected and not leftovers(run),
            sound=sound,
        )
        shutil.rmtree(run)
    rows = study.rows
    slowest = max(row["slowest_refusal"] for row in rows)
    right = all(row["wrote"] == 1 and row["refused"] == N - 1 and row["same"] and row["sound"] for row in rows)
    return study.end(
        reached=right and slowest < 1,
        found=f"{len(rows)} times: {rows[0]['wrote']} wrote, {rows[0]['refused']} refused, the slowest in {slowest} s; "
        f"{'nothing' if right else 'SOMETHING'} corrupted",
    )


def ten_at_once(work: Work, run: Path, chosen: tuple[str, ...]) -> list[tuple[int, str, float]]:
    """Exit status, what was said and the seconds of each."""
    arguments = work.command(run, *chosen)[3:]
    start = str(time() + 5 + 1.5 * (os.getloadavg()[0]))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, start, *arguments],
            cwd=ROOT,
            env=work.environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(N)
    ]
    return [tuple(json.loads(process.communicate()[0].splitlines()[-1])) for process in processes]  # type: ignore[misc]


if __name__ == "__main__":
    raise SystemExit(main())

"""Ten processes on one run folder: does one write, and are the others refused at once?

Ten processes read documents and model, wait for a common moment, and then ask for the same folder. One must finish the
run; nine must be refused with one sentence within a second of asking. The result must be that of a run alone. (A
process that comes while the run is on its way is refused before it reads anything.)
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
from reliability.work import Work, found, leftovers

N = 10

WRITER = """
import json, sys, time
from pathlib import Path
from anchorscope.errors import AnchorscopeError
from anchorscope.text.read import read_files
from anchorscope.run import Run
from anchorscope.settings import Settings
from reliability.models import reviews
settings = Settings(strategy="scan", round_size=6)
run = Run(read_files(sys.argv[2]), reviews, None, settings, folder=Path(sys.argv[3]))
time.sleep(max(0, float(sys.argv[1]) - time.time()))
begun = time.monotonic()
said = ""
try:
    for snapshot in run.snapshots():
        pass
except AnchorscopeError as error:
    said = str(error)
print(json.dumps([said, time.monotonic() - begun]))
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
    at_once(work, scratch / "alone", 1)
    expected = found(scratch / "alone")
    for time_ in range(n_times):
        run = scratch / "run"
        answers = at_once(work, run, N)
        wrote = [seconds for said, seconds in answers if not said]
        refused = [seconds for said, seconds in answers if "Another process is writing" in said]
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


def at_once(work: Work, run: Path, n: int) -> list[tuple[str, float]]:
    """What each of so many processes was told, and after how many seconds it ended."""
    start = str(time() + 5 + 2 * os.getloadavg()[0])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, start, str(work.folder / "reviews.csv"), str(run)],
            cwd=ROOT,
            env=work.environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(n)
    ]
    return [tuple(json.loads(process.communicate()[0].splitlines()[-1])) for process in processes]  # type: ignore[misc]


if __name__ == "__main__":
    raise SystemExit(main())

"""Ten processes on one run folder: does one write, and are the others refused at once?

Ten processes read documents and model, wait for a common moment, and then ask for the same folder. One must finish the
run; nine must be refused with one sentence within a second of asking. The result must be that of a run alone. (A
process that comes while the run is on its way is refused before it reads anything.)

Then a run loses its folder, which is removed or moved while it goes on, and another run begins in one of the same name:
the first must end with one sentence, and the second with its own result.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import time
from typing import Any

from anchorscope.errors import StorageError
from anchorscope.result import Result
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.text.read import read_files
from reliability.models import FOLDER, reviews
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
        "10 processes on one run folder; a run whose folder is taken away and made anew by another",
        "one writes, nine refused within a second, nothing corrupted; nothing written into the other's folder",
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
    rows = [*study.rows]
    for way, take_away in AWAY.items():
        study.add(way=way, **displaced(work, scratch / way, take_away))
    n_apart = sum(row["apart"] for row in study.rows[len(rows) :])
    slowest = max(row["slowest_refusal"] for row in rows)
    right = all(row["wrote"] == 1 and row["refused"] == N - 1 and row["same"] and row["sound"] for row in rows)
    return study.end(
        reached=right and slowest < 1 and n_apart == len(AWAY),
        found=f"{len(rows)} times: {rows[0]['wrote']} wrote, {rows[0]['refused']} refused, the slowest in {slowest} s; "
        f"{'nothing' if right else 'SOMETHING'} corrupted; {n_apart} of {len(AWAY)} ways to lose a folder kept two "
        "runs apart",
    )


AWAY: dict[str, Callable[[Path], object]] = {
    "removed": shutil.rmtree,
    "moved": lambda run: run.rename(run.with_name("elsewhere")),
}
"""Ways in which a run may lose its folder."""


def displaced(work: Work, scratch: Path, take_away: Callable[[Path], object]) -> dict[str, Any]:
    """What two runs come to, of which the second begins in the folder that the first has lost."""
    os.environ[FOLDER] = str(work.folder)
    run = scratch / "run"
    first, second = (run_of(work, run, top_k) for top_k in (20, 3))
    going = first.snapshots()
    next(going)
    take_away(run)
    begun = second.snapshots()
    next(begun)
    before = sorted(path.name for path in run.iterdir())
    said = ""
    try:
        for _ in going:
            pass
    except StorageError as error:
        said = str(error)
    untouched = sorted(path.name for path in run.iterdir()) == before
    for _ in begun:
        pass
    apart = "not the folder any more" in said and untouched and Result.load(run) == second.result()
    return {"apart": apart, "said": said.replace(str(scratch), "")}


def run_of(work: Work, folder: Path, top_k: int) -> Run:
    """A run over some of the reviews."""
    settings = Settings(strategy="scan", round_size=20, top_k=top_k)
    return Run(read_files(work.folder / "reviews.csv"), reviews, None, settings, folder=folder)


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

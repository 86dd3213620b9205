"""A disk that is full at twenty points of a run: is the error clean, does the journal open, does resume go on?

A small file system in memory (tmpfs, which needs root) is filled up so that little is left, a little more each time:
from no room for the journal at all to no room for the last page of the report. The command must end with one sentence
and no traceback; the journal, if there is one, must be sound; then room is made, and the resumed run must give the
result of a run on an ordinary disk.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from reliability.tables import Study, options
from reliability.work import VARIANTS, Work, found, leftovers, rounds

SIZE = 64 * 2**20
PAGE = 4096


def main() -> int:
    """Run the study."""
    given = options(__doc__, points=20).parse_args()
    study = Study(
        "full_disk",
        "the disk is full at 20 points",
        "a clean error; the journal opens; resume gives the same result",
        given.seed,
        not given.in_full,
    )
    if os.geteuid() != 0:
        print("A file system can be mounted by root only: nothing was measured.")
        return 1
    with tempfile.TemporaryDirectory(prefix="anchorscope-disk-") as scratch:
        return fill(study, Path(scratch), 3 if given.quick else given.points)


def fill(study: Study, scratch: Path, n_points: int) -> int:
    """The points, evenly from nothing to what a run needs."""
    work = Work.make(scratch / "work", 120)
    for name in ("scan, total", "race"):
        assert work.finish(scratch / name, *VARIANTS[name])[0] == 0
    with mounted(scratch / "disk"):
        need = measure(work, scratch / "disk" / "run", VARIANTS["scan, total"])
        for point in range(n_points):
            name = ("scan, total", "race")[point % 2]
            one(study, work, scratch, name, room=need * point // n_points // PAGE * PAGE)
    clean, sound, same = (sum(row[key] for row in study.rows) for key in ("clean", "sound", "same"))
    n_ended = sum(row["status"] != 0 for row in study.rows)
    return study.end(
        reached=clean == sound == same == n_points,
        found=f"{n_points} points, {n_ended} of them ended the run; {clean} clean errors, {sound} sound journals, "
        f"{same} same results after resume",
    )


def one(study: Study, work: Work, scratch: Path, name: str, *, room: int) -> None:
    """A run with so many bytes of room, and again with enough."""
    disk = scratch / "disk"
    run, ballast = disk / "run", disk / "ballast"
    fill_up(ballast, disk, leave=room)
    status, said = work.finish(run, *VARIANTS[name])
    sound = is_sound(run)
    ballast.unlink()
    n_closed = rounds(run)
    again, said_then = work.finish(run, *VARIANTS[name])
    same = again == 0 and found(run) == found(scratch / name) and not leftovers(run)
    one_line = [line for line in said.splitlines() if line.startswith("anchorscope: error:")]
    clean = status == 0 or (
        status in (1, 2) and len(one_line) == 1 and "Traceback" not in said and "should not happen" not in said
    )
    study.add(
        room=room,
        status=status,
        rounds=n_closed,
        clean=clean,
        sound=sound,
        same=same,
        said=(one_line[0].replace(str(scratch), "") if one_line else said[-200:]),
    )
    if not same:
        print(said_then)
    subprocess.run(["rm", "-rf", str(run)], check=True)


@contextmanager
def mounted(folder: Path) -> Iterator[None]:
    """A small file system in memory."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def measure(work: Work, run: Path, chosen: tuple[str, ...]) -> int:
    """The bytes that a whole run takes on the disk at its widest, with a little to spare."""
    assert work.finish(run, *chosen)[0] == 0
    used = sum(path.stat().st_size for path in run.iterdir())
    subprocess.run(["rm", "-rf", str(run)], check=True)
    return int(used * 1.6)


def fill_up(ballast: Path, disk: Path, *, leave: int) -> None:
    """Write until so much is left."""
    free = os.statvfs(disk)
    with open(ballast, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(PAGE, free.f_bavail * free.f_frsize - leave))


def is_sound(run: Path) -> bool:
    """Whether the journal opens and holds together, the disk being full still."""
    if not (run / "journal.sqlite").exists():
        return True
    with closing(sqlite3.connect(f"file:{run / 'journal.sqlite'}?mode=ro", uri=True)) as db:
        try:
            return bool(db.execute("PRAGMA integrity_check").fetchone()[0] == "ok")
        except sqlite3.OperationalError as error:  # no room to look: opened again below, when there is
            print(error)
            return "full" in str(error) or "I/O" in str(error) or "unable to open" in str(error)


if __name__ == "__main__":
    raise SystemExit(main())

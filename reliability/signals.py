"""A signal to the parent alone, at a random moment: do its workers end with it, and does the run go on later?

Every trial starts the command with two workers in a session of its own and sends its first process, and no other, one
of the signals that end a process. Five seconds later nothing of the session may be alive, and nobody may hold the pipe
of its messages open. Then the run is resumed, and ``result.json`` compared with that of a run left in peace.

The live page of a run that nobody keeps is sent the same signals but the last, which nobody hears: nothing of it may be
left among the temporary files, where its texts were.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from reliability.tables import ROOT, Study, options
from reliability.work import Work, found, leftovers

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT, signal.SIGKILL)
SETTINGS = ("--strategy", "scan", "--round-size", "8", "--workers", "2")

GRACE_SECONDS = 5.0

SERVED_SECONDS = 3.0
"""A page that nobody keeps is ended within so many."""


def main() -> int:
    """Run the study."""
    given = options(__doc__, trials=200, documents=80).parse_args()
    study = Study(
        "signals",
        "a signal to the parent alone, with two workers, at random moments; then resume",
        f"nothing alive after {GRACE_SECONDS:g} seconds; every result.json is byte-identical but for the cost; "
        "of a page that nobody keeps no file is left",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-signals-") as scratch:
        return campaign(study, Path(scratch), 5 if given.quick else given.trials, given.documents)


def campaign(study: Study, scratch: Path, n_trials: int, n_documents: int) -> int:
    """All trials, in turn over the signals."""
    work = Work.make(scratch / "work", n_documents)
    chances = random.Random(study.seed)
    seconds = min(_in_peace(work, scratch / f"peace {turn}") for turn in range(3))
    peace = found(scratch / "peace 0")
    run = scratch / "run"
    for trial in range(n_trials):
        number = SIGNALS[trial % len(SIGNALS)]
        moment = chances.uniform(0, seconds)
        process = _started(work, run, moment)
        n_before = len(alive(process.pid))
        process.send_signal(number)
        after = ended_after(process)
        status, said = work.finish(run, *SETTINGS)
        same = status == 0 and found(run) == peace and not leftovers(run)
        if not same:
            print(said)
        took = {"status": process.returncode, "processes": n_before, "ended_after": after, "same": same}
        study.add(trial=trial, signal=number.name, moment=round(moment, 2), **took)
        shutil.rmtree(run)
    for trial in range(max(len(SIGNALS) - 1, n_trials // 5)):
        serve_and_end(study, work, scratch / "temporary", SIGNALS[trial % (len(SIGNALS) - 1)], chances)
    return _end(study)


def serve_and_end(study: Study, work: Work, temporary: Path, number: signal.Signals, chances: random.Random) -> None:
    """The page of a run without --out, ended at a random moment; what is left of it among the temporary files."""
    temporary.mkdir()
    moment = chances.uniform(0, SERVED_SECONDS)
    process = subprocess.Popen(
        [*work.served(), "--port", "0"],
        **{"cwd": ROOT, "env": {**work.environment(), "TMPDIR": str(temporary)}, "text": True},
        **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE},
        start_new_session=True,
        preexec_fn=as_in_a_terminal,
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(moment)
    process.send_signal(number)
    after = ended_after(process)
    left = sorted(str(path.relative_to(temporary)) for path in temporary.rglob("*"))
    took = {"status": process.returncode, "processes": 1, "ended_after": after, "same": not left}
    study.add(signal=number.name, moment=round(moment, 2), **took, left=left)
    shutil.rmtree(temporary)


def _in_peace(work: Work, run: Path) -> float:
    """The seconds that a run takes which nobody ends."""
    begun = monotonic()
    status, said = work.finish(run, *SETTINGS)
    assert status == 0, said
    return monotonic() - begun


def _started(work: Work, run: Path, moment: float) -> subprocess.Popen[str]:
    """A run that has gone on for so long; one that has ended by then is begun anew, for a little less."""
    while True:
        process = work.start(run, *SETTINGS, preexec_fn=as_in_a_terminal)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            return process
        process.communicate()
        shutil.rmtree(run)
        moment *= 0.9


def _end(study: Study) -> int:
    n_trials = len(study.rows)
    served = [row for row in study.rows if "left" in row]
    n_served = len(served)
    n_clean = sum(not row["left"] for row in served)
    n_ended = sum(row["ended_after"] is not None for row in study.rows)
    n_same = sum(row["same"] for row in study.rows)
    n_workers = sum(row["processes"] > 1 for row in study.rows)
    n_done = sum(row["status"] == 0 for row in study.rows)
    slowest = max((row["ended_after"] or 0.0) for row in study.rows)
    return study.end(
        reached=n_ended == n_same == n_trials,
        found=f"{n_ended} of {n_trials} left nothing alive (the slowest took {slowest:.2f} s; {n_workers} had workers "
        f"then, {n_done} came to their end all the same); {n_same - n_clean} of {n_trials - n_served} "
        f"resumed to the same result, {n_clean} of {n_served} pages left no file",
    )


def ended_after(process: subprocess.Popen[str]) -> float | None:
    """The seconds until all of a session has ended and its pipe is closed; None if that takes too long."""
    begun = monotonic()
    try:
        process.communicate(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return _ended_by_force(process)
    while alive(process.pid):
        if monotonic() - begun > GRACE_SECONDS:
            return _ended_by_force(process)
        sleep(0.02)
    return round(monotonic() - begun, 2)


def _ended_by_force(process: subprocess.Popen[str]) -> None:
    for left in alive(process.pid):
        print("still alive:", left, Path(f"/proc/{left}/cmdline").read_bytes()[:200])
        with suppress(ProcessLookupError):
            os.kill(left, signal.SIGKILL)
    process.communicate()


def alive(session: int) -> list[int]:
    """The processes of a session; those that have ended and are not yet waited for do not count."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, of_session = path.read_text().rpartition(")")[2].split()[:4]
            if int(of_session) == session and state not in "ZX":
                found.append(int(path.parent.name))
    return found


def as_in_a_terminal() -> None:
    """A shell lets what it starts behind it ignore some signals; and SIGQUIT would write the memory to a file."""
    import resource

    for number in SIGNALS[:-1]:  # nobody can ignore the last one
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    raise SystemExit(main())

"""kill -9 at random moments, then resume, or two resumes at once: is anything lost, or done twice?

Every trial starts the command, kills its whole process group at a random moment of its life (from before the first
import to the writing of the report), resumes it, and compares ``result.json`` with that of a run left in peace.
Every call of the model is on record, so what was asked twice is known: at most the texts of one round, or of the
predictions, which are written down as one piece here, or, once all rounds are closed, of the evidence.

Every second trial is resumed by two processes at once: one of them ends the run, and the other is refused in a
sentence, or comes late and finds all done.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from dataclasses import dataclass
from json import loads
from operator import or_
from pathlib import Path
from time import monotonic

from reliability.tables import Study, options
from reliability.work import VARIANTS, Work, found, leftovers, rounds


def main() -> int:
    """Run the study."""
    given = options(__doc__, trials=200, documents=120).parse_args()
    n_trials = 4 if given.quick else given.trials
    study = Study(
        "kills",
        "kill -9 at random moments, then resume, or two resumes at once",
        "every result.json is byte-identical but for the cost; at most one round repeated a kill",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-kills-") as scratch:
        return campaign(study, Path(scratch), n_trials, given.documents)


def campaign(study: Study, scratch: Path, n_trials: int, n_documents: int) -> int:
    """All trials, in turn over the variants."""
    work, chances = Work.make(scratch / "work", n_documents), random.Random(study.seed)
    references = {name: reference(work, scratch / f"reference {i}", name) for i, name in enumerate(VARIANTS)}
    n_same = n_within = n_early = 0
    for trial in range(n_trials):
        name = list(VARIANTS)[trial % len(VARIANTS)]
        peace = references[name]
        run = scratch / "run"
        process = work.start(run, *VARIANTS[name])
        moment = chances.uniform(0, peace.seconds)
        try:
            process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        asked_first, closed = work.n_asked(), rounds(run)
        n_resumes = 1 + (trial + trial // len(VARIANTS)) % 2
        ended, said = resumed(work, run, name, n_resumes)
        again = asked_first + work.n_asked() - peace.n_asked
        same = ended and found(run) == peace.result and not leftovers(run)
        limit = peace.of_evidence if closed == peace.n_rounds else peace.largest_round
        within = again <= limit
        n_same, n_within, n_early = n_same + same, n_within + within, n_early + (closed == 0)
        row = {"variant": name, "moment": round(moment, 2), "rounds": closed, "resumes": n_resumes}
        study.add(trial=trial, **row, same=same, again=again, limit=limit)
        if not same:
            print(said)
        shutil.rmtree(run)
    n_twice = sum(row["resumes"] > 1 for row in study.rows)
    return study.end(
        reached=n_same == n_within == n_trials,
        found=f"{n_same} of {n_trials} identical, {n_twice} of them resumed by two at once; "
        f"{n_within} of {n_trials} repeated at most one round "
        f"({n_early} of the kills came before the first round was closed)",
    )


def resumed(work: Work, run: Path, name: str, n: int) -> tuple[bool, str]:
    """Whether one of so many resumes at once ended the run, and each other one did, too, or was refused in a sentence;
    and what they said."""
    processes = [work.start(run, *VARIANTS[name]) for _ in range(n)]
    said = [process.communicate()[1] for process in processes]
    ended = [process.returncode == 0 for process in processes]
    refused = [process.returncode == 2 and REFUSED in told for process, told in zip(processes, said)]
    return any(ended) and all(map(or_, ended, refused)), "".join(said)


REFUSED = "Another process is writing"


@dataclass(frozen=True, slots=True)
class Peace:
    """A run that nobody killed: its result, how long it took, and the texts that it asked the model about."""

    result: bytes
    seconds: float
    n_asked: int
    n_rounds: int
    largest_round: int
    of_evidence: int


def reference(work: Work, run: Path, name: str) -> Peace:
    """The run of a variant, left in peace."""
    begun = monotonic()
    status, said = work.finish(run, *VARIANTS[name])
    seconds = monotonic() - begun
    assert status == 0, said
    with closing(sqlite3.connect(run / "journal.sqlite")) as db:
        costs = [loads(cost)["predictor_texts"] for (cost,) in db.execute("SELECT cost FROM rounds")]
        n_documents = db.execute("SELECT count(*) FROM documents").fetchone()[0]
    n_asked = work.n_asked()
    of_evidence = n_asked - sum(costs) - n_documents
    return Peace(found(run), seconds, n_asked, len(costs), max(*costs, n_documents), of_evidence)


if __name__ == "__main__":
    raise SystemExit(main())

"""A million documents: how much memory does a run take beside the texts, and does it grow from round to round?

Reviews are cut into words and put together anew until there are as many documents as asked for, and explained by race
into a folder; the model counts words. Resident memory is read when the documents are there, after the predictions, and
after every round; a thread watches for the peak. "Beside the texts" is what comes on top of the documents as they were
read. Flat means: the second half of the rounds ends where it began, within 50 megabytes.
"""

from __future__ import annotations

import csv
import random
import tempfile
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from anchorscope.asking.budget import Budget
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.testing import WeightPredictor
from anchorscope.text.read import read_files
from reliability.tables import Study, options

CEILING_MB, FLAT_MB = 2048, 50


def main() -> int:
    """Run the study."""
    given = options(__doc__, documents=1_000_000, seconds=900.0).parse_args()
    n_documents = 20_000 if given.quick else given.documents
    study = Study(
        "memory",
        f"memory over {n_documents:,} documents",
        f"at most {CEILING_MB} MB beside the texts, flat from round to round",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-memory-") as scratch:
        path = Path(scratch) / "documents.csv"
        write_documents(path, n_documents, study.seed)
        return watch(study, path, Path(scratch) / "run", given.seconds)


def write_documents(path: Path, n_documents: int, seed: int) -> None:
    """Reviews of 5 to 30 words, the words drawn from real reviews as often as they occur there."""
    from anchorscope.demo import reviews

    words = [word for text in reviews(seed=0)[1].texts for word in text.split()]
    chances = random.Random(seed)
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text"])
        for _ in range(n_documents):
            table.writerow([" ".join(chances.choices(words, k=chances.randint(5, 30)))])


def watch(study: Study, path: Path, folder: Path, seconds: float) -> int:
    """One run under observation."""
    weights = {"good": 1.5, "best": 1.2, "funny": 1.0, "bad": -1.5, "too": -0.8, "dull": -1.2, "like": -0.2}
    before = resident()
    documents = read_files(path)
    base = resident()
    study.add(at="documents read", resident_mb=base, of_texts=base - before)
    settings = Settings(strategy="race", top_k=20)
    run = Run(
        documents,
        WeightPredictor(weights),
        None,
        settings,
        folder=folder,
        budget=Budget(max_seconds=seconds),
    )
    with Peak() as peak:
        begun = monotonic()
        for snapshot in run.snapshots():
            study.add(at=f"round {snapshot.round}", resident_mb=resident(), seconds=round(monotonic() - begun))
    rounds = [row["resident_mb"] for row in study.rows if row["at"] != "documents read"]
    beside = peak.mb - base
    later = rounds[len(rounds) // 2 :]
    growth = later[-1] - later[0]
    end = "settled" if snapshot.settled else "not settled"
    return study.end(
        reached=beside <= CEILING_MB and growth <= FLAT_MB,
        found=f"peak {peak.mb} MB, {base} MB of them Python and {len(documents):,} texts: {beside} MB beside them; "
        f"{growth:+d} MB over the second half of {len(rounds)} rounds; {end}",
        peak_mb=peak.mb,
        beside_texts_mb=beside,
    )


class Peak:
    """The largest resident memory while it is open, in megabytes."""

    def __init__(self) -> None:
        self.mb, self._over = 0, Event()
        self._thread = Thread(target=self._look, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            self.mb = max(self.mb, resident())


def resident() -> int:
    """The memory that this process holds now, in megabytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024


if __name__ == "__main__":
    raise SystemExit(main())

"""A folder with real work: film reviews in a CSV, a trained classifier, and the command that explains it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reliability.models import FOLDER, write_weights
from reliability.tables import ROOT

PLAIN = ("--seed", "3", "-q")

PERTURBED = ("--preset", "banzhaf", "--perturbator", "corpus")

VARIANTS: dict[str, tuple[str, ...]] = {
    "scan, total": (*PERTURBED, "--strategy", "scan", "--round-size", "6"),
    "race": ("--strategy", "race", "--round-size", "6", "--regret", "0.2"),
    "scan, pr, tau-tilde, filtered": (
        *("--perturbator", "corpus", "--strategy", "scan", "--aggregation", "pr", "--test", "kl"),
        *("--tau-tilde", "--filter", "optimistic", "--round-size", "6", "--max-samples", "60"),
    ),
    "scan, two workers": (*PERTURBED, "--strategy", "scan", "--round-size", "16", "--workers", "2"),
}
"""How a review run is made, by name."""


@dataclass(frozen=True, slots=True)
class Work:
    """The folder and how many documents it has."""

    folder: Path
    n_documents: int

    @classmethod
    def make(cls, folder: Path, n_documents: int) -> Work:
        """Write reviews and model."""
        from anchorscope.demo import reviews, train

        training, explained = reviews(seed=0)
        folder.mkdir(parents=True, exist_ok=True)
        write_weights(train(training), folder)
        with open(folder / "reviews.csv", "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["text"])
            table.writerows([text] for text in explained.texts[:n_documents])
        return cls(folder, n_documents)

    def command(self, run: Path, *options: str) -> list[str]:
        """The command line that explains the reviews into ``run``, or goes on with it."""
        documents = str(self.folder / "reviews.csv")
        model = ("--model", "reliability.models:reviews", "--out", str(run), "--resume")
        return [sys.executable, "-m", "anchorscope.cli", "explain", documents, *model, *PLAIN, *options]

    def served(self) -> list[str]:
        """The command line of the live page of a run that nobody keeps."""
        documents = str(self.folder / "reviews.csv")
        return [sys.executable, "-m", "anchorscope.cli", "serve", documents, "--model", "reliability.models:reviews"]

    def environment(self) -> dict[str, str]:
        """What the process of a command sees."""
        return {**os.environ, FOLDER: str(self.folder), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}

    def start(self, run: Path, *options: str, **more: Any) -> subprocess.Popen[str]:
        """The command in a process group of its own, so that its workers die with it."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **more}
        return subprocess.Popen(
            self.command(run, *options), cwd=ROOT, env=self.environment(), text=True, start_new_session=True, **quiet
        )

    def finish(self, run: Path, *options: str) -> tuple[int, str]:
        """Run to the end: the exit status and what was said."""
        process = self.start(run, *options)
        _, said = process.communicate()
        return process.returncode, said

    def n_asked(self) -> int:
        """The texts that the model was asked about since this was last asked."""
        log = self.folder / "calls.log"
        asked = sum(map(int, log.read_text(encoding="ascii").split())) if log.exists() else 0
        log.unlink(missing_ok=True)
        return asked


def found(run: Path) -> bytes:
    """The terms of a result, byte by byte: all of result.json but what it took."""
    values = json.loads((run / "result.json").read_bytes())
    del values["cost"]
    return json.dumps(values).encode()


def rounds(run: Path) -> int:
    """The rounds on record; read from a copy, as SQLite leaves files beside what it reads."""
    with TemporaryDirectory(prefix="anchorscope-rounds-") as scratch:
        for path in run.glob("journal.sqlite*"):
            shutil.copy(path, scratch)
        try:
            with closing(sqlite3.connect(Path(scratch) / "journal.sqlite")) as db:
                return int(db.execute("SELECT count(*) FROM rounds").fetchone()[0])
        except sqlite3.Error:
            return 0


def leftovers(run: Path) -> Sequence[str]:
    """Files in a finished run folder that should not be there."""
    expected = {"journal.sqlite", "result.json", "report.html", "journal.lock"}
    return sorted(path.name for path in run.iterdir() if path.name not in expected)

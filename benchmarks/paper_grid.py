"""The paper's grid on one GPU, in pieces: several ``anchorscope reproduce`` at a time, until a deadline.

    python -m benchmarks.paper_grid --data DATA --corpus TEXT.xz … --out runs/paper --deadline 560

A process measures one model, task and seed. Several share the card, since drawing words and reading tests is the
processor's work. What a call leaves in --out the next one goes on with: pretraining from its checkpoint, samples and
records from where they are. deberta's first process pretrains; its others begin when the encoder is there.
``--pack FOLDER`` writes records and agreements into archives of a few megabytes; unpacked in one folder elsewhere, they
are what ``anchorscope reproduce --out`` goes on with and draws from.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

MARGIN = 15
"""Seconds before its own deadline in which no process is begun."""

LAST = 40
"""Seconds that a process is given beyond its own deadline, to end the setting that it is at and write it down."""


@dataclass(frozen=True, slots=True)
class Job:
    """One process."""

    model: str
    task: str
    seed: int

    @property
    def name(self) -> str:
        """What it is called in the log."""
        return f"{self.model}__{self.task}__{self.seed}"


def jobs(models: Sequence[str], tasks: Sequence[str], seeds: Sequence[int]) -> list[Job]:
    """All of them: seeds first, so that an early end leaves whole rows for one seed."""
    return [Job(model, task, seed) for seed in seeds for task in tasks for model in models]


def may_begin(job: Job, running: Sequence[Job], out: Path) -> bool:
    """An encoder is pretrained, and the classifier of a task fine-tuned, by one process; the others wait for it."""
    is_trained = job.model == "logistic-regression" or (out / "models" / f"{job.task}__{job.model}").is_dir()
    others = [other for other in running if other.model == job.model]
    if job.model == "deberta" and not (out / "models" / "deberta-pretrained").is_dir():
        return not others
    return is_trained or all(other.task != job.task for other in others)


def run(options: argparse.Namespace) -> int:
    """Begin what may begin, as many at a time as are asked for, until all is done or the time is up."""
    end = monotonic() + options.deadline
    waiting = jobs(options.models, options.tasks, options.seeds)
    running: dict[Job, subprocess.Popen[bytes]] = {}
    failed = 0
    while (waiting or running) and monotonic() < end:
        for job in [job for job, process in running.items() if process.poll() is not None]:
            code = running.pop(job).returncode
            failed += code != 0
            print(f"{job.name}: ended with {code}, {end - monotonic():.0f} s left", flush=True)
        for job in list(waiting):
            is_time = monotonic() < end - LAST - MARGIN
            if is_time and len(running) < options.processes and may_begin(job, [*running], options.out):
                waiting.remove(job)
                running[job] = _begin(job, options, end - monotonic())
        if not running and monotonic() > end - LAST - MARGIN:
            break
        sleep(0.2)
    for process in running.values():
        process.terminate()
        process.wait()
    print(f"{len(waiting) + len(running)} not ended, {failed} failed", flush=True)
    return 1 if failed else 0


def _begin(job: Job, options: argparse.Namespace, left: float) -> subprocess.Popen[bytes]:
    asked = ["--models", job.model, "--tasks", job.task, "--seeds", str(job.seed), "--out", str(options.out)]
    given = ["--data", str(options.data), "--device", options.device, "--deadline", f"{left - LAST:.0f}"]
    given += ["--corpus", *map(str, options.corpus)] if options.corpus else []
    given += ["--pretraining-steps", str(options.pretraining_steps), "--perturbator", options.perturbator]
    given += ["--documents", str(options.documents)] if options.documents else []
    given += ["--settings", *options.settings] if options.settings else []
    logs = options.out / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "anchorscope.cli", "reproduce", *asked, *given]
    threads = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (logs / f"{job.name}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=threads)


def pack(out: Path, folder: Path) -> None:
    """Records in one archive, the agreements of each model in another."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / "records.tar.xz", "w:xz") as file:
        for name in ("runs", "serial", "logs"):
            if (out / name).is_dir():
                file.add(out / name, name)
        for told in (out / "models").glob("*/accuracy.json"):
            file.add(told, told.relative_to(out))
    parts: dict[str, list[Path]] = {}
    for path in sorted((out / "agreements").glob("*.npz")):
        names = path.stem.split("__")
        parts.setdefault(names[1] if len(names) > 2 else "keep", []).append(path)
    for model, paths in parts.items():
        with tarfile.open(folder / f"agreements-{model}.tar", "w") as file:
            for path in paths:
                file.add(path, path.relative_to(out))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_grid", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--deadline", type=float, default=560)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--models", nargs="+", default=["small-bert", "deberta"])
    parser.add_argument("--tasks", nargs="+", default=["corona", "dilemma", "rotten-tomatoes", "amazon"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[42, 84])
    parser.add_argument("--settings", nargs="+")
    parser.add_argument("--documents", type=int)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--perturbator", default="embedded")
    parser.add_argument("--pretraining-steps", type=int, default=6000)
    parser.add_argument("--pack", type=Path)
    return parser


if __name__ == "__main__":
    chosen = _parser().parse_args()
    status = run(chosen)
    if chosen.pack:
        pack(chosen.out, chosen.pack)
    sys.exit(status)

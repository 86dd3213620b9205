"""An hour of runs, kills and resumes: does memory, do files or descriptors grow?

One process goes round and round. In each turn it explains a few hundred reviews by itself (in memory; into a folder;
with two workers; over a model that fails in a tenth of its calls; ended early by a budget and resumed), and starts the
command in a process of its own, kills it at a random moment and resumes it. Each result must be the one of the first
turn. After each turn it looks at itself: resident memory, open descriptors, threads, children, files left behind.

Growth is the slope of the memory over the second half of the turns, when caches are full, with its error.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from scipy.stats import linregress
from scipy.stats import t as student

from anchorscope import Explainer
from anchorscope.asking.retry import Retry
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.result import Result
from reliability.models import FOLDER, Counted
from reliability.tables import Study, options, quantile
from reliability.work import VARIANTS, Work, found, leftovers

GROWTH_KB = 2.0
"""Kilobytes a turn that do not count: the rows of this study are kept, too."""

STRETCHES = 8
"""So many parts of the second half of the turns are compared."""

PRESETS = ("fast", "banzhaf")
"""One a turn: a score that leaves words out, and one that fills other words in."""


class Flaky(Counted):
    """Fails in a tenth of its calls."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.chances = random.Random(seed)

    def predict(self, texts: Sequence[str]) -> Any:
        """Probabilities, or a bad moment."""
        if self.chances.random() < 0.1:
            raise self.chances.choice([TimeoutError("no answer"), ConnectionError("reset"), MemoryError()])
        return super().predict(texts)


def main() -> int:
    """Run the study."""
    given = options(__doc__, minutes=60.0, documents=150).parse_args()
    study = Study(
        "soak",
        "repeated runs, kills and resumes",
        "no growth of memory, files or descriptors; every result the same",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-soak-") as scratch:
        return soak(study, Path(scratch), 60 * (0.5 if given.quick else given.minutes), given.documents)


def soak(study: Study, scratch: Path, seconds: float, n_documents: int) -> int:
    """Turns until the time is over."""
    work, chances = Work.make(scratch / "work", n_documents), random.Random(study.seed)
    os.environ[FOLDER] = str(work.folder)
    texts = [line for line in (work.folder / "reviews.csv").read_text(encoding="utf-8").splitlines()[1:] if line]
    expected = {preset: outcome(explainer(Counted(), preset).explain(texts)) for preset in PRESETS}
    killed = dict[str, bytes]()
    n_wrong = n_kills = 0
    end = monotonic() + seconds
    turn = 0
    while monotonic() < end:
        preset = PRESETS[turn % len(PRESETS)]
        results = in_this_process(texts, scratch / "mine", preset, turn)
        n_wrong += sum(outcome(result) != expected[preset] for result in results)
        name = list(VARIANTS)[turn % len(VARIANTS)]
        n_kills += kill_once(work, scratch / "run", name, chances)
        status, said = work.finish(scratch / "run", *VARIANTS[name])
        same = status == 0 and killed.setdefault(name, found(scratch / "run")) == found(scratch / "run")
        n_wrong += not same or bool(leftovers(scratch / "run"))
        if not same:
            print(said)
        shutil.rmtree(scratch / "run")
        work.n_asked()
        study.add(turn=turn, **look(scratch), wrong=n_wrong)
        turn += 1
    return verdict(study, n_wrong, n_kills)


def explainer(model: Any, preset: str, **given: Any) -> Explainer:
    """The same explanation every time."""
    return Explainer(
        model,
        top_k=10,
        preset=preset,
        perturbator=CorpusPerturbator() if preset == "banzhaf" else None,
        settings={"round_size": 16, "strategy": "scan"},
        retry=Retry(first_wait=0.001),
        **given,
    )


def in_this_process(texts: Sequence[str], folder: Path, preset: str, turn: int) -> list[Result]:
    """Some runs as a program makes them that uses the library; one in ten turns has workers."""
    results = [
        explainer(Counted(), preset).explain(texts),
        explainer(Flaky(turn), preset).explain(texts, out=folder / "flaky"),
    ]
    explainer(Counted(), preset, max_model_calls=1500).explain(texts, out=folder / "early")
    results.append(explainer(Counted(), preset).explain(texts, out=folder / "early", resume=True))
    if turn % 10 == 0:
        results.append(explainer(Counted(), preset, workers=2).explain(texts, out=folder / "workers"))
    shutil.rmtree(folder)
    return results


def outcome(result: Result) -> str:
    """All of a result but its cost and the name of its model's class."""
    values = result.to_dict()
    return json.dumps({key: values[key] for key in ("labels", "settled", "finished", "settings", "documents")})


def kill_once(work: Work, run: Path, name: str, chances: random.Random) -> bool:
    """Start the command and kill it at some moment of its first seconds."""
    process = work.start(run, *VARIANTS[name])
    try:
        process.communicate(timeout=chances.uniform(0.3, 4.0))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    return False


def look(scratch: Path) -> dict[str, int]:
    """What this process holds now."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return {
        "resident_kb": int(resident.split()[1]),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "children": len(children),
        "files": sum(len(files) for _, _, files in os.walk(scratch)),
    }


def verdict(study: Study, n_wrong: int, n_kills: int) -> int:
    """Compare the turns, from the middle on."""
    later = study.rows[len(study.rows) // 2 :]
    memory = [row["resident_kb"] for row in later]
    slope, error = growth(memory)
    grown = {
        kind: later[-1][kind] - min(row[kind] for row in study.rows[1:] or study.rows)
        for kind in ("descriptors", "threads", "files")
    }
    quiet = all(n <= 0 for n in grown.values()) if len(study.rows) > 2 else True
    return study.end(
        reached=n_wrong == 0 and quiet and slope - error <= GROWTH_KB,
        found=f"{len(study.rows)} turns, {n_kills} kills, {n_wrong} wrong results; memory {slope:+.1f} ± {error:.1f} "
        f"kB a turn over the second half (median {quantile(memory, 0.5) / 1024:.0f} MB); "
        + ", ".join(f"{kind} {n:+d}" for kind, n in grown.items()),
        kilobytes_a_turn=round(slope, 3),
        give_or_take=round(error, 3),
    )


def growth(memory: Sequence[float]) -> tuple[float, float]:
    """The slope of the memory, a turn, and how far off it may be (95%): a line through the medians of some stretches.

    Memory stays at one of a few levels for dozens of turns, so turns are no independent measurements; stretches are
    nearly so.
    """
    if len(memory) < 4 * STRETCHES:
        return 0.0, 0.0
    stretches = np.array_split(np.asarray(memory, float), STRETCHES)
    middles = np.cumsum([len(stretch) for stretch in stretches])
    line = linregress(middles, [np.median(stretch) for stretch in stretches])
    return float(line.slope), float(line.stderr * student.ppf(0.975, STRETCHES - 2))


if __name__ == "__main__":
    raise SystemExit(main())

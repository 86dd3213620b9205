"""How do time and memory grow with the collection? From a thousand to a million distinct documents, scan and race.

    OMP_NUM_THREADS=1 python -m benchmarks.growth --data FOLDER [--race 1000 … 1000000] [--scan 1000 10000]

FOLDER holds texts, a document a line (``*.txt.xz``), and some more in heldout.txt.xz that no run sees. The sizes are
nested: the first lines in the order of a hash. A linear classifier of Rotten Tomatoes is explained by the preset
``fast`` with the perturbator ``corpus``. Every run has a process of its own. Reported are, in CPU seconds of one
thread, the one linear pass up to the first snapshot, part by part (read, cut into candidates, fit the perturbator,
predict, index), and what comes after it; the peak of memory, and how much of it is beside the texts and what the
process held before it read them (code and models); and the AOPC^20 of the list on the held-out documents, as a share of
that of their own oracle (candidates removed one at a time). Scans beyond the sizes that are run are extrapolated by
documents, and say so. Prints a table, writes growth.json and .csv.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import tempfile
from collections.abc import Callable, Iterator
from hashlib import blake2b
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from rich.console import Console
from rich.table import Table

from anchorscope.asking.removals import Removals
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.planning.candidates import find_candidates
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_files, read_texts
from anchorscope.types import Predictor
from benchmarks import classifiers, tasks, written

RACE_SIZES = (1_000, 10_000, 50_000, 100_000, 1_000_000)
SCAN_SIZES = (1_000, 10_000)
HELD_OUT = "heldout.txt.xz"
MEGABYTE = 2**20
LINEAR_PARTS = {
    ("anchorscope.run", "find_candidates"): "candidates",
    ("anchorscope.run", "predict"): "predict",
    ("anchorscope.local_scores.banzhaf", "Engine"): "fit",
    ("anchorscope.planning.race", "Race"): "index",
    ("anchorscope.planning.scan", "Scan"): "index",
}
"""What the loop calls before its first snapshot, and the part of the linear pass that it belongs to."""


class Stopwatch:
    """CPU seconds by part."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("read", *LINEAR_PARTS.values()), 0.0)
        self.strategy: Any = None

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, with its time added to a part; the strategy is kept at hand."""

        def call(*given: Any, **named: Any) -> Any:
            start = process_time()
            answer = function(*given, **named)
            self.seconds[part] += process_time() - start
            if part == "index":
                self.strategy = answer
            return answer

        return call


def measure(strategy: str, size: int, lines: Path, held_out: list[str]) -> dict[str, Any]:
    """One run in a fresh process: a row of the table."""
    predictor, watch = _classifier(), Stopwatch()
    perturbator = CorpusPerturbator()
    perturbator.fit = watch.timed("fit", perturbator.fit)
    for (place, name), part in LINEAR_PARTS.items():
        module = import_module(place)
        setattr(module, name, watch.timed(part, getattr(module, name)))
    before, wall, cpu = _memory("VmRSS"), perf_counter(), process_time()
    documents = watch.timed("read", read_files)(lines)
    texts = sum(sys.getsizeof(document.text) for document in documents.documents) / MEGABYTE
    snapshots = Run(documents, predictor, perturbator, preset("fast", strategy=strategy)).snapshots()
    next(snapshots)
    linear_wall, linear = perf_counter() - wall, process_time() - cpu
    *_, last = snapshots
    beyond_wall, beyond = perf_counter() - wall - linear_wall, process_time() - cpu - linear
    peak, explanations = _memory("VmHWM"), last.explanations.values()
    return {
        "strategy": strategy,
        "documents": size,
        "extrapolated": False,
        **{f"{part}_seconds": seconds for part, seconds in watch.seconds.items()},
        "linear_seconds": linear,
        "beyond_seconds": beyond,
        "linear_wall": linear_wall,
        "beyond_wall": beyond_wall,
        "documents_tested": last.cost.documents,
        "tests": last.cost.tests,
        "rounds": last.round,
        "documents_indexed": watch.strategy.n_indexed if strategy == "race" else None,
        "settled": last.settled,
        "regret": max((e.regret for e in explanations if e.regret is not None), default=None),
        "peak_mb": peak,
        "texts_mb": texts,
        "beside_mb": peak - before - texts,
        **{f"aopc_{e.label}": _share(predictor, held_out, e.label, [t.term for t in e.terms]) for e in explanations},
    }


def _share(predictor: Predictor, texts: list[str], label: str, terms: list[str]) -> float:
    """AOPC^20 of a list as a share of that of the oracle's list."""
    removals = Removals(predictor, texts, label)
    candidates = find_candidates(read_texts(texts).documents, preset("fast")).terms
    return removals.aopc(terms) / removals.aopc(removals.oracle(candidates)[: len(terms)])


def _classifier() -> Predictor:
    return classifiers.train("linear", tasks.load("rotten-tomatoes", None, 1).train)


def _memory(field: str) -> float:
    """What the system says of this process, in megabytes: VmRSS is held now, VmHWM was the most."""
    rows = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith(field)) / 1024


def extrapolated(rows: list[dict[str, Any]], sizes: list[int]) -> Iterator[dict[str, Any]]:
    """Scans of the sizes that only a race was run with: the time of the largest one that was run, by documents."""
    scans = [row for row in rows if row["strategy"] == "scan"]
    for size in sizes:
        race = next(row for row in rows if row["strategy"] == "race" and row["documents"] == size)
        if scans and size > scans[-1]["documents"]:
            factor = size / scans[-1]["documents"]
            blank = dict.fromkeys(race)
            told = {
                "strategy": "scan",
                "documents": size,
                "extrapolated": True,
                "linear_seconds": race["linear_seconds"],
            }
            yield {**blank, **told, "beyond_seconds": factor * scans[-1]["beyond_seconds"], "documents_tested": size}


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows as people read them."""
    parts = list(dict.fromkeys(("read", *LINEAR_PARTS.values())))
    labels = [name for name in rows[0] if name.startswith("aopc_")]
    shown = Table("strategy", "documents", *parts, "linear", "beyond", "tested", "tests", "peak MB", "beside", *labels)
    for row in rows:
        mark = "~" if row["extrapolated"] else ""
        seconds = [row[f"{part}_seconds"] for part in parts]
        cells = [*seconds, row["linear_seconds"], row["beyond_seconds"], row["documents_tested"], row["tests"]]
        cells += [row["peak_mb"], row["beside_mb"]]
        digits = [1] * (len(seconds) + 2) + [0] * 4
        told = ["" if cell is None else f"{cell:,.{n}f}" for cell, n in zip(cells, digits)]
        quality = ["" if row[label] is None else f"{row[label]:.3f}" for label in labels]
        shown.add_row(row["strategy"] + mark, f"{row['documents']:,}", *told, *quality)
    return shown


def _lines(folder: Path) -> list[str]:
    """All lines but the held-out ones, each once, in the order of a hash."""
    files = [path for path in sorted(folder.glob("*.txt.xz")) if path.name != HELD_OUT]
    if not files or not (folder / HELD_OUT).exists():
        raise SystemExit(
            f"--data needs a folder with texts, a document a line, in *.txt.xz, and {HELD_OUT} beside them."
        )
    found = {line for path in files for line in _read(path)} - set(_read(folder / HELD_OUT))
    return sorted(found, key=lambda line: blake2b(line.encode(), digest_size=8).digest())


def _read(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        yield from (line.rstrip("\n") for line in lines)


def main() -> None:
    """Run every size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--race", type=int, nargs="*", default=list(RACE_SIZES))
    parser.add_argument("--scan", type=int, nargs="*", default=list(SCAN_SIZES))
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    plan = [("scan", size) for size in sorted(arguments.scan)] + [("race", size) for size in sorted(arguments.race)]
    console, rows, processes = Console(width=200), [], get_context("spawn")
    held_out = list(_read(arguments.data / HELD_OUT))
    with tempfile.TemporaryDirectory() as folder:
        lines = _lines(arguments.data)
        for size in {size for _, size in plan}:
            if size > len(lines):
                raise SystemExit(f"There are {len(lines)} documents, not {size}.")
            (Path(folder) / f"{size}.txt").write_text("\n".join(lines[:size]) + "\n", encoding="utf-8")
        del lines
        for strategy, size in plan:
            with processes.Pool(1) as pool:
                rows.append(pool.apply(measure, (strategy, size, Path(folder) / f"{size}.txt", held_out)))
            console.print(table(rows[-1:]))
            written.write("growth", arguments, rows)
    rows += extrapolated(rows, sorted(arguments.race))
    console.print(table(rows))
    written.write("growth", arguments, rows)


if __name__ == "__main__":
    main()

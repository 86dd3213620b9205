"""What does a run take as the collection grows, by one process and by several? Checks the cost model of docs/scale.md.

    OMP_NUM_THREADS=1 python -m benchmarks.scale --data FOLDER [--sizes 1000 … 1000000]
        [--by local:1 local:2 ray:2 ray:2:draw] [--strategy race] [--repeats 1] [--milliseconds 0] [--name scale]

FOLDER holds plain texts, a document a line (``*.txt.xz``; lines of heldout.txt.xz are left out). Sizes are nested;
beyond the lines that there are,
lines are varied (two words of one are swapped, by a seed), and the row says how many. With ``draw`` 10,000 documents
are drawn of Parquet files of 100,000 rows, and the others are counted where they are. A linear classifier of film
reviews is explained by the preset ``fast``; with ``--milliseconds`` it keeps one core busy for so long for each text.
Every run has a process of its own; those of a size follow each other at once, in turn, so that what else the machine
does falls on all of them. Reported are wall seconds of the *linear pass* (reading, starting workers, choosing, cutting,
predicting, fitting the surrogate, indexing: up to the first snapshot) and of what comes after it, CPU seconds of the
process and of its workers (not of Ray's, which are not its children), the peak of its memory, the texts that the model
was asked about, and a hash of the result without its cost. Prints a table, writes NAME.json and .csv, from which
``python -m benchmarks.scale_page`` redraws docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from statistics import median
from time import perf_counter, process_time
from typing import Any

from rich.console import Console
from rich.table import Table

from anchorscope.backends.named import named_blocks
from anchorscope.planning.draw import draw
from anchorscope.run import Run
from anchorscope.settings import Settings, preset
from anchorscope.text.read import Documents, read_files
from anchorscope.text.segmenters import segments
from benchmarks import classifiers, tasks, written
from benchmarks.busy import BusyPredictor
from benchmarks.lines import lines as all_lines
from benchmarks.lines import memory

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BY = ("local:1", "local:2")
DRAWN = 10_000
PARQUET_ROWS = 100_000


def read(backend: str, workers: int, settings: Settings, lines: Path, *, is_drawn: bool) -> Documents:
    """All documents, or some drawn of them."""
    if not is_drawn:
        return read_files(lines)
    with named_blocks(backend, [lines.with_suffix("")], None, workers) as blocks:
        return draw(blocks, DRAWN, settings)


def measure(by: str, strategy: str, lines: Path, milliseconds: float = 0.0) -> dict[str, Any]:
    """One run in a fresh process: a row of the table."""
    backend, workers, *drawn = by.split(":")
    settings = preset("fast", strategy=strategy)
    predictor = classifiers.train("linear", tasks.load("rotten-tomatoes", None, 1).train)
    if milliseconds:
        predictor = BusyPredictor(predictor, milliseconds)
    for text in ("電影很好看", "これは映画です", "ภาพยนตร์เรื่องนี้ดี"):  # dictionaries, which large collections need
        segments(text)
    held = memory("VmRSS")
    wall, cpu = perf_counter(), process_time()
    documents = read(backend, int(workers), settings, lines, is_drawn=drawn == ["draw"])
    reading = perf_counter() - wall
    run = Run(documents, predictor, None, settings, backend=backend, workers=int(workers))
    snapshots = run.snapshots()
    next(snapshots)
    linear, linear_cpu = perf_counter() - wall, process_time() - cpu
    *_, last = snapshots
    beyond = perf_counter() - wall - linear
    found = {key: value for key, value in run.result().to_dict().items() if key != "cost"}
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "read_seconds": reading,
        "linear_seconds": linear,
        "linear_cpu": linear_cpu,
        "beyond_seconds": beyond,
        "cpu": process_time() - cpu,
        "workers_cpu": children.ru_utime + children.ru_stime,
        "peak_mb": memory("VmHWM"),
        "beside_mb": memory("VmHWM") - held,
        "tests": last.cost.tests,
        "calls": last.cost.predictor_texts,
        "terms": len({term.term for e in last.explanations.values() for term in e.terms}),
        "rounds": last.round,
        "result": sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16],
    }


def write_lines(lines: list[str], size: int, path: Path, seed: int = 0) -> int:
    """Write so many lines; answers how many of them had to be varied."""
    chances = random.Random(seed)
    n_varied = max(0, size - len(lines))
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines[:size])
        for number in range(n_varied):
            words = lines[number % len(lines)].split(" ")
            one, other = chances.randrange(len(words)), chances.randrange(len(words))
            words[one], words[other] = words[other], words[one]
            file.write(" ".join(words) + "\n")
    return n_varied


def write_parquet(lines: Path) -> None:
    """The same documents in a folder of Parquet files."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    folder = lines.with_suffix("")
    folder.mkdir()
    with lines.open(encoding="utf-8") as file:
        for number in count():
            some = [line.rstrip("\n") for line in islice(file, PARQUET_ROWS)]
            if not some:
                break
            write_table(pa.table({"text": some}), folder / f"{number}.parquet", row_group_size=PARQUET_ROWS // 4)


def table(rows: list[dict[str, Any]]) -> Table:
    """The median row of every size and way, and how much quicker its linear pass is than that of the first way."""
    columns = ("documents", "by", "read", "linear pass", "beyond", "quicker", "CPU", "workers' CPU", "peak MB", "tests")
    shown = Table(*columns, "same")
    for size in dict.fromkeys(row["documents"] for row in rows):
        of_size = [row for row in rows if row["documents"] == size]
        ways = list(dict.fromkeys(row["by"] for row in of_size))
        first = median(row["linear_seconds"] for row in of_size if row["by"] == ways[0])
        same = "yes" if len({row["result"] for row in of_size}) == 1 else "NO"
        for by in ways:
            some = [row for row in of_size if row["by"] == by]
            names = ("read_seconds", "linear_seconds", "beyond_seconds", "cpu", "workers_cpu", "peak_mb", "tests")
            read, linear, beyond, cpu, workers_cpu, peak, tests = (median(row[name] for row in some) for name in names)
            cells = [f"{value:.1f}" for value in (read, linear, beyond)]
            more = [f"{first / linear:.2f}x", f"{cpu:.1f}", f"{workers_cpu:.1f}", f"{peak:,.0f}", f"{tests:,.0f}"]
            shown.add_row(f"{size:,}", by, *cells, *more, same)
    return shown


def main() -> None:
    """Run every size in every way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--by", nargs="+", default=list(BY))
    parser.add_argument("--strategy", default="race")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--milliseconds", type=float, default=0.0)
    parser.add_argument("--name", default="scale")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    lines = all_lines(arguments.data)
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.sizes:
            path = Path(folder, f"{size}.txt")
            n_varied = write_lines(lines, size, path)
            write_parquet(path)
            for _ in range(arguments.repeats):
                for by in arguments.by:
                    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                        found = pool.submit(measure, by, arguments.strategy, path, arguments.milliseconds).result()
                    rows.append({"documents": size, "varied": n_varied, "by": by, **found})
            path.unlink()
            rmtree(path.with_suffix(""))
            Console(width=160).print(table([row for row in rows if row["documents"] == size]))
            written.write(arguments.name, arguments, rows)
    Console(width=160).print(table(rows))


if __name__ == "__main__":
    main()

"""Extrapolation: what would 1 to 256 GPUs take for 100 million to 10 billion documents, and what breaks first?

    OMP_NUM_THREADS=1 python -m benchmarks.scale_simulation --data FOLDER

Nothing here was run at these sizes. What a block of documents costs a worker and the driver in each pass of ``--draw``
is measured (CPU seconds, on 25,000 documents of FOLDER, as ``benchmarks.scale`` has it); a discrete simulation then
plays the passes: workers take blocks, their answers queue for the driver's one link and one core, and a worker waits
while too many answers do. The three passes (hash, fetch, count) ask no model; a GPU is counted as the 16 cores that
come with it. Memory of the driver is what its arrays take: 32 bytes a document while keys are ordered. Prints a table,
writes scale_simulation.json and .csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import product
from pathlib import Path
from pickle import dumps
from time import process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from anchorscope.planning import draw
from anchorscope.planning.candidates import find_candidates
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from benchmarks import written
from benchmarks.lines import lines

BLOCK = 25_000
DRAWN = 10_000
CORES_A_GPU = 16
LINK = 1.25e9
"""Bytes a second into the driver: ten gigabits."""
WAITING = 64
"""Answers that may wait for the driver before workers do."""
BYTES_A_DOCUMENT = 32
"""In the driver, while keys are ordered: hash, priority, order, and a copy."""
GPUS = (1, 4, 16, 64, 256)
SIZES = (10**8, 10**9, 10**10)


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over all blocks: seconds of a worker and of the driver a block, bytes that come back of it."""

    name: str
    worker: float
    driver: float
    size: float


@dataclass(frozen=True, slots=True)
class Played:
    """What a pass took: its length, how long the driver was at work, and how long its link was."""

    seconds: float
    driver: float
    link: float


def play(a_pass: Pass, n_blocks: int, n_workers: int) -> Played:
    """Blocks are taken in turn by whoever is free; answers pass the link and the driver one after another.

    >>> play(Pass("two blocks at once", 1.0, 0.25, 0.0), 4, 2).seconds
    2.5
    """
    free = [0.0] * min(n_workers, n_blocks)
    link_free = driver_free = 0.0
    merged: list[float] = []
    for number in range(n_blocks):
        begun = heappop(free)
        if number >= n_workers + WAITING:
            begun = max(begun, merged[number - n_workers - WAITING])  # backpressure
        answered = begun + a_pass.worker
        heappush(free, answered)
        link_free = max(link_free, answered) + a_pass.size / LINK
        driver_free = max(driver_free, link_free) + a_pass.driver
        merged.append(driver_free)
    return Played(driver_free, n_blocks * a_pass.driver, n_blocks * a_pass.size / LINK)


def timed(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """CPU seconds, the least of some, and the answer."""
    found = []
    for _ in range(repeats):
        start = process_time()
        answer = function()
        found.append(process_time() - start)
    return min(found), answer


def measured_passes(lines: list[str]) -> tuple[list[Pass], float]:
    """The passes with their constants; and the driver's seconds a document between the first two."""
    settings = preset("fast")
    texts = lines[:BLOCK]
    drawn = read_texts(lines[BLOCK : BLOCK + DRAWN]).documents
    terms = find_candidates(drawn, settings).terms
    kinds = str(settings.terms)
    wanted = np.sort(draw._digests([document.text for document in drawn]))
    hashing, hashed = timed(lambda: draw._hashed("none", settings.max_words, texts))
    fetching, fetched = timed(lambda: draw._wanted("none", wanted, texts))
    counting, counted = timed(lambda: draw._count("none", settings.max_words, kinds, terms, texts))
    merging, _ = timed(lambda: counted + counted, 20)
    ordering, _ = timed(lambda: draw._first_keys(np.sort(hashed.usable), DRAWN, 0))
    task = 1e-3  # what handing out a task and fetching its answer takes the driver: measured as 0.9 ms on Ray 2.60
    passes = [
        Pass("hash", hashing, task, len(dumps(hashed))),
        Pass("fetch", fetching, task, len(dumps(fetched))),
        Pass("count", counting, task + merging, len(dumps(counted))),
    ]
    return passes, ordering / BLOCK


def simulated(passes: list[Pass], ordering: float, n_gpus: int, size: int) -> dict[str, Any]:
    """One row: seconds of each pass, and what the driver would have to bear."""
    n_blocks = size // BLOCK
    row: dict[str, Any] = {"gpus": n_gpus, "documents": size}
    for a_pass in passes:
        played = play(a_pass, n_blocks, n_gpus * CORES_A_GPU)
        row[f"{a_pass.name}_seconds"] = played.seconds
        row[f"{a_pass.name}_driver"] = played.driver / played.seconds
        row[f"{a_pass.name}_link"] = played.link / played.seconds
    row["ordering_seconds"] = ordering * size
    row["drawn_seconds"] = row["hash_seconds"] + ordering * size + row["fetch_seconds"] + row["count_seconds"]
    row["documents_per_second"] = size / row["drawn_seconds"]
    row["driver_gb"] = BYTES_A_DOCUMENT * size / 1e9
    return row


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows as people read them."""
    columns = ("documents", "GPUs", "hash s", "order s", "fetch s", "count s", "a second", "driver's core", "its link")
    shown = Table(*columns, "driver GB")
    for row in rows:
        names = ("hash_seconds", "ordering_seconds", "fetch_seconds", "count_seconds", "documents_per_second")
        shares = [f"{row['count_driver']:.0%}", f"{row['count_link']:.0%}"]
        cells = [f"{row[name]:,.0f}" for name in names]
        shown.add_row(f"{row['documents']:,}", str(row["gpus"]), *cells, *shares, f"{row['driver_gb']:,.0f}")
    return shown


def main() -> None:
    """Measure the constants, play the passes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    passes, ordering = measured_passes(lines(arguments.data))
    sizes = [(size, n) for size, n in product(SIZES, GPUS)]
    rows = [simulated(passes, ordering, n, size) for size, n in sizes]
    constants = [
        {"pass": p.name, "worker": p.worker, "driver": p.driver, "bytes": p.size, "block": BLOCK} for p in passes
    ]
    Console(width=170).print(table(rows))
    Console(width=170).print(*constants, {"ordering, a document": ordering}, sep="\n")
    written.write("scale_simulation", arguments, rows, constants=constants, ordering=ordering)


if __name__ == "__main__":
    main()

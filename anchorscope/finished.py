"""A run folder, read without documents or model: while the run goes on, or long after.

Nothing is locked and nothing is written. A folder may come from elsewhere: what is wrong with it is a RunFolderError
(``tables.py``, ``rows.py``), here or at any later question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.errors import RunFolderError
from anchorscope.progress import Progress
from anchorscope.race import priorities
from anchorscope.recount import Verdicts
from anchorscope.rows import defensive, of_kinds, read_costs, read_json, read_meta, read_verdicts, reading
from anchorscope.settings import Settings
from anchorscope.tables import FILE, check_tables, connect
from anchorscope.tally import Tally
from anchorscope.types import EMPTY, Cost, Verdict


class FinishedRun:
    """A reader of a run folder: labels, terms and the tally, without documents or model."""

    def __init__(self, folder: Path) -> None:
        if not (folder / FILE).is_file():
            raise RunFolderError(
                f"{folder} is no run folder: it holds no {FILE}; make one with: explain … --out {folder}"
            )
        self._folder = folder
        self._db = connect(folder)
        try:
            check_tables(self._db, folder)
            self._begin_reading()
        except BaseException:
            self._db.close()
            raise

    def _begin_reading(self) -> None:
        with reading(self._folder):
            self.meta = read_meta(self._db)
            self.labels = tuple(str(name) for (name,) in self._db.execute("SELECT name FROM labels ORDER BY number"))
            terms = self._db.execute("SELECT term, training FROM terms ORDER BY number").fetchall()
        if not self.labels or not terms:
            raise RunFolderError(
                f"The run in {self._folder} was interrupted before its first test; go on with --resume."
            )
        with reading(self._folder):
            self.terms = tuple(str(term) for term, _ in terms)
            self._training = np.array([training for _, training in terms], np.int64)
            _check_meta(self.meta)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @defensive
    def tally(self) -> Tally:
        """The tally of all closed rounds, as the run's own settings count it."""
        tally = self._before_any_test()
        verdicts = self._counted_verdicts()
        tally = tally.observe(verdicts.label, verdicts.term, verdicts.anchor, verdicts.gain)
        skips = np.array(self._db.execute("SELECT label, term, n FROM skips").fetchall(), np.int64).reshape(-1, 3)
        return tally.skip(skips[:, 0], skips[:, 1], skips[:, 2])

    @defensive
    def progress(self) -> Progress:
        """How far the words of a race have come."""
        progress = Progress.zero(self._before_any_test().documents)
        for (label, term, _), (gain, anchors) in self._counted_verdicts().brought().items():
            progress.count(label, term, gain, anchors)
        return progress

    def _before_any_test(self) -> Tally:
        zero = Tally.zero(len(self.labels), len(self.terms))
        for label, term, occurrences, documents in self._db.execute("SELECT * FROM counts"):
            zero.occurrences[label, term], zero.documents[label, term] = occurrences, documents
        return replace(zero, training=self._training)

    def _counted_verdicts(self) -> Verdicts:
        """All verdicts of a scan; of a race, those within the prefix of their word."""
        rows = self._db.execute(
            "SELECT d.predicted, v.term, v.document, v.anchor, v.gain, 1.0 * v.agreements / max(v.samples, 1), "
            "e.anchor, 1.0 * e.agreements / max(e.samples, 1) "
            "FROM verdicts v JOIN documents d ON d.number = v.document "
            "JOIN verdicts e ON e.document = v.document AND e.position = ? "
            "WHERE v.position != ? ORDER BY v.document, v.position",
            (EMPTY, EMPTY),
        ).fetchall()
        verdicts = Verdicts.of(rows, Settings.from_dict(self.meta["settings"]).credit)
        return self._within_prefixes(verdicts) if self.meta["settings"]["strategy"] == "race" else verdicts

    def _within_prefixes(self, verdicts: Verdicts) -> Verdicts:
        seed = self.meta["settings"]["seed"]
        rows = self._db.execute("SELECT number, key FROM documents WHERE number IN (SELECT document FROM verdicts)")
        keys = dict(of_kinds(rows, int, str))
        order = dict(zip(keys, priorities(seed, list(keys.values())).tolist()))
        prefixes = {(label, term): n for label, term, n in self._db.execute("SELECT * FROM prefixes")}
        return verdicts.within(prefixes, order)

    @defensive
    def closed_rounds(self) -> dict[int, Cost]:
        """The rounds that are written down, and what each took."""
        return read_costs(self._db)

    @defensive
    def moments(self) -> list[dict[str, Any]]:
        """What was shown after each round."""
        return [read_json(moment) for (moment,) in self._db.execute("SELECT moment FROM moments ORDER BY round")]

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
        last = len(self.terms), 0, 0
        return {number: texts[number] for number in sorted(texts, key=lambda number: places.get(number, last))}

    @defensive
    def documents(self, numbers: Iterable[int]) -> dict[int, tuple[str, str | None, int, float]]:
        """Key, label that came with it, number of the predicted label and confidence of some documents."""
        query = "SELECT key, label, predicted, confidence FROM documents WHERE number = ?"
        found = {}
        for number in numbers:
            rows = self._db.execute(query, (number,)).fetchall()
            if not rows or not 0 <= rows[0][2] < len(self.labels):
                raise LookupError(f"there is no document {number} with a label")
            found[number] = next(of_kinds(rows, str, (str, NoneType), int, float))
        return found

    @defensive
    def verdicts_of(self, document: int) -> list[Verdict]:
        """All verdicts about one document, in the order of its words; the empty anchor comes first."""
        return read_verdicts(self._db, "document", document)

    @defensive
    def evidence(self) -> list[tuple[int, int, int, int, bool, str, bool, bool]]:
        """(label, term, document, position, anchor, perturbed text, present, agreed) a row, in the order written."""
        rows = self._db.execute(
            "SELECT label, term, document, position, anchor, text, present, agreed FROM evidence ORDER BY rowid"
        )
        checked = of_kinds(rows, int, int, int, int, int, str, int, int)
        return [(*row[:4], bool(row[4]), row[5], bool(row[6]), bool(row[7])) for row in checked]

    @defensive
    def documents_per_label(self) -> NDArray[np.int64]:
        """How many documents were predicted each label."""
        return self._per_label("SELECT predicted, count(*) FROM documents GROUP BY predicted")

    @defensive
    def robust_per_label(self) -> NDArray[np.int64]:
        """How many documents of each label keep their prediction with no token forced."""
        return self._per_label(
            "SELECT d.predicted, count(*) FROM verdicts v JOIN documents d ON d.number = v.document "
            f"WHERE v.position = {EMPTY} AND v.anchor GROUP BY d.predicted"
        )

    @defensive
    def tests_left(self) -> int:
        """At most so many tests are still to come: occurrences of explained labels, neither tested nor skipped."""
        of_label = self._per_label("SELECT label, sum(occurrences) FROM counts GROUP BY label")
        of_label -= self._per_label("SELECT label, sum(n) FROM skips GROUP BY label")
        of_label -= self._per_label(
            "SELECT d.predicted, count(*) FROM verdicts v JOIN documents d ON d.number = v.document "
            f"WHERE v.position != {EMPTY} GROUP BY d.predicted"
        )
        explained = self.meta["settings"]["labels"] or self.labels
        return int(sum(n for name, n in zip(self.labels, of_label.tolist()) if name in explained))

    def _per_label(self, query: str) -> NDArray[np.int64]:
        counts = np.zeros(len(self.labels), np.int64)
        for label, n in self._db.execute(query):
            counts[label] = n
        return counts


def _check_meta(meta: Mapping[str, Any]) -> None:
    """What everybody reads of a run is there, and of its kind."""
    Settings.from_dict(meta["settings"])
    if not isinstance(meta["texts"], bool):
        raise TypeError("whether texts are kept is neither true nor false")
    for part in ("model", "perturbator"):
        for field in ("name", "sha256"):
            if not isinstance(meta[part][field], str):
                raise TypeError(f"the {field} of the {part} is no string")

"""Kinds of bad predictor output: is each a named error, and is what came before it kept?

Each kind is answered by a model that was right until then: in its fifth call, in the middle of a run into a folder. The
run must end with a ModelError that says what was wrong; then the same folder, resumed with a model that is right again,
must give the result of a run without fault.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import namedtuple
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anchorscope.asking.kept_answers import KeptAnswers
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import ModelError
from anchorscope.journal.reader import RunReader
from anchorscope.predictors import as_predictor
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.text.read import read_files
from reliability.models import FOLDER, Counted
from reliability.tables import Study, options
from reliability.work import Work

Rows = np.ndarray[Any, np.dtype[np.float64]]
SETTINGS = Settings(strategy="scan", round_size=8, top_k=5)


def changed(rows: Rows, value: Sequence[float]) -> Rows:
    """The rows with another one in the middle."""
    rows = rows.copy()
    rows[len(rows) // 2] = value
    return rows


def table(rows: Rows) -> Any:
    """A table whose columns have changed their order."""
    import pandas

    return pandas.DataFrame({"positive": rows[:, 1], "negative": rows[:, 0]})


def series(rows: Rows) -> Any:
    """A series a row, whose entries are named as the labels and have changed their order."""
    import pandas

    return [pandas.Series({"positive": p, "negative": n}) for n, p in rows]


def named_tuples(rows: Rows) -> Any:
    """A named tuple a row, the last one of another type than the others."""
    one, other = (namedtuple("Row", names) for names in ("neg pos", "pos neg"))
    return [one(*row) for row in rows[:-1]] + [other(*row) for row in rows[-1:]]


def masked_rows(rows: Rows) -> Any:
    """An array a row, in one of which a value is masked."""
    return [np.ma.masked_array(row, mask=[number == 0, False]) for number, row in enumerate(rows)]


def raises(error: BaseException) -> Any:
    """Raise instead of answering."""
    raise error


KINDS: dict[str, tuple[Callable[[Rows], Any], str]] = {
    "None": (lambda rows: None, "answered None"),
    "a single number": (lambda rows: 0.5, "a single float"),
    "one number a text": (lambda rows: rows[:, 1], "one number a text"),
    "a column too many": (lambda rows: np.hstack([rows / 2, rows[:, :1] / 2]), "3 numbers a text"),
    "a column too few": (lambda rows: rows[:, :1], "one number a text"),
    "a row too few": (lambda rows: rows[:-1], "rows for a batch of"),
    "a row too many": (lambda rows: np.vstack([rows, rows[:1]]), "rows for a batch of"),
    "no rows at all": (lambda rows: [], "answered 0 rows"),
    "three dimensions": (lambda rows: rows[:, :, None].repeat(2, axis=2), "an array of shape"),
    "NaN in one row": (lambda rows: changed(rows, [np.nan, 1.0]), "a changed text of document"),
    "infinity in one row": (lambda rows: changed(rows, [np.inf, 0.0]), "infinite"),
    "a negative number in one row": (lambda rows: changed(rows, [-0.5, 1.5]), "negative"),
    "logits": (lambda rows: rows * 9, "logits"),
    "sums to 0.7": (lambda rows: rows * 0.7, "sums to 0.7"),
    "rows of different lengths": (lambda rows: [*rows[:-1].tolist(), [1.0]], "no array"),
    "strings of digits": (lambda rows: rows.astype(str), "instead of numbers"),
    "None in one row": (lambda rows: changed(rows.astype(object), [None, 1.0]), "NoneType"),
    "complex numbers": (lambda rows: rows.astype(complex), "complex"),
    "dicts of other labels": (lambda rows: [{"bad": n, "good": p} for n, p in rows], "bad, good"),
    "a generator": (lambda rows: (row for row in rows), "a single generator"),
    "a sparse matrix": (lambda rows: __import__("scipy.sparse").sparse.csr_matrix(rows), "a single csr_matrix"),
    "label names instead of probabilities": (lambda rows: ["positive"] * len(rows), "label names now"),
    "columns in another order": (table, "columns are positive, negative"),
    "rows whose names are in another order": (series, "columns are positive, negative"),
    "rows that differ in their names": (named_tuples, "name their columns differently (neg, pos; pos, neg)"),
    "a masked value": (lambda rows: np.ma.masked_array(rows, mask=rows > 0.5), "values are masked"),
    "a masked value in a row": (masked_rows, "values are masked"),
    "an exception": (lambda rows: raises(ValueError("broken")), "ValueError: broken"),
    "an exit": (lambda rows: raises(SystemExit(3)), "SystemExit"),
}


HEAD = "positive"

ASKED_ABOUT_ONE = {
    **dict.fromkeys(("one number a text", "a column too few", "no rows at all"), "an array of shape"),
    **dict.fromkeys(("a column too many", "a row too few", "a row too many"), "an array of shape"),
    **dict.fromkeys(("a negative number in one row", "logits"), "no probabilities"),
}
"""What is said of a kind instead where the model is asked about one label."""

NO_FAULT_OF_ONE = ("sums to 0.7",)
"""The probabilities of several labels need not sum to 1."""


class Odd:
    """Right but for one call."""

    def __init__(self, kind: str | None, model: Counted, *, at: int = 5) -> None:
        self.kind, self.model, self.at, self.n_calls = kind, model, at, 0

    def __call__(self, texts: list[str]) -> Any:
        """What a user's function would answer."""
        self.n_calls += 1
        rows = self.model.predict(texts)
        return rows if self.kind is None or self.n_calls < self.at else KINDS[self.kind][0](rows)


def main() -> int:
    """Run the study."""
    given = options(__doc__).parse_args()
    study = Study(
        "bad_answers",
        f"{2 * len(KINDS) - len(NO_FAULT_OF_ONE) + 3} kinds of bad predictor output, of all labels and of one",
        "as many named errors, 0 silent; what came before is kept, and resumes to the same result",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-answers-") as scratch:
        return ask_all(study, Path(scratch))


def ask_all(study: Study, scratch: Path) -> int:
    """Every kind, one after another."""
    work = Work.make(scratch / "work", 60)
    os.environ[FOLDER] = str(work.folder)
    for head in (HEAD, None):
        expected = result(run_of(work, Odd(None, Counted()), scratch / f"peace-{head}", head=head))
        for kind, (_, words) in KINDS.items():
            if head and kind in NO_FAULT_OF_ONE:
                continue
            wanted = ASKED_ABOUT_ONE.get(kind, words) if head else words
            said = fault(run_of(work, Odd(kind, Counted()), scratch / "run", head=head))
            found = judge(work, scratch / "run", said, wanted, expected, head=head)
            study.add(kind=f"{kind}, asked about one label" if head else kind, **found)
    study.add(kind="labels that change their order", **changed_labels(work, scratch / "run", expected))
    study.add(kind="columns in another order after a kill", **turned_columns(work, scratch / "run", expected))
    found = turned_since_kept(work, scratch, expected)
    study.add(kind="columns in another order than in answers that are kept", **found)
    n_named, n_kept = (sum(row[key] for row in study.rows) for key in ("named", "kept"))
    n = len(study.rows)
    return study.end(
        reached=n_named == n_kept == n, found=f"{n_named} of {n} named, {n - n_named} silent; {n_kept} of {n} resumed"
    )


def run_of(
    work: Work, model: Odd, folder: Path, *, resume: bool = False, head: str | None = None, kept: Path | None = None
) -> Run:
    """A run over a function; ``kept`` is where its answers are kept."""
    predictor = as_predictor(model, labels=Counted.labels, head=head)
    predictor.fingerprint = "odd"
    answers = KeptAnswers(kept, predictor.fingerprint, predictor.labels, always=True) if kept else None
    retrying = RetryingPredictor(predictor, Retry(tries=2, first_wait=0.0), kept=answers)
    documents = read_files(work.folder / "reviews.csv")
    return Run(documents, retrying, None, SETTINGS, folder=folder, resume=resume)


def fault(run: Run) -> str:
    """What the ModelError of a run says; nothing where there is none."""
    try:
        for _ in run.snapshots():
            pass
    except ModelError as error:
        return str(error)
    return ""


def judge(work: Work, folder: Path, said: str, words: str, expected: Any, *, head: str | None = None) -> dict[str, Any]:
    """Whether the error names its reason, and whether the run goes on."""
    reader = RunReader(folder)
    n_rounds = len(reader.closed_rounds())
    reader.close()
    again = result(run_of(work, Odd(None, Counted()), folder, resume=True, head=head))
    shutil.rmtree(folder)
    return {"named": words in said, "kept": n_rounds > 0 and again == expected, "rounds": n_rounds, "said": said}


def changed_labels(work: Work, folder: Path, expected: Any) -> dict[str, Any]:
    """The labels of the predictor itself change their order in the middle."""
    run = run_of(work, Odd(None, Counted()), folder)
    said = ""
    try:
        for snapshot in run.snapshots():
            if snapshot.round == 3:
                run._predictor.predictor.labels = ("positive", "negative")  # type: ignore[attr-defined]
    except ModelError as error:
        said = str(error)
    return judge(work, folder, said, "are now positive, negative", expected)


class Tabled(Counted):
    """Answers tables, whose columns have names of their own and stand as it says."""

    def __init__(self, *columns: str) -> None:
        super().__init__()
        self.columns = columns

    def predict(self, texts: Sequence[str]) -> Any:
        """A table of probabilities."""
        import pandas

        return pandas.DataFrame(super().predict(texts), columns=["neg", "pos"])[[*self.columns]]


def turned_columns(work: Work, folder: Path, expected: Any) -> dict[str, Any]:
    """A run ends in the middle, and goes on with a model that puts its columns into another order."""
    fault(run_of(work, Odd("an exception", Tabled("neg", "pos")), folder))
    said = fault(run_of(work, Odd(None, Tabled("pos", "neg")), folder, resume=True))
    return judge(work, folder, said, "are now pos, neg", expected)


def turned_since_kept(work: Work, scratch: Path, expected: Any) -> dict[str, Any]:
    """A run ends in the middle and its answers are kept; another one, in a folder of its own, finds those of them that
    it needs and asks for the rest, of a model that puts its columns into another order."""
    kept = scratch / "kept"
    fault(run_of(work, Odd("an exception", Tabled("neg", "pos")), scratch / "first", kept=kept))
    said = fault(run_of(work, Odd(None, Tabled("pos", "neg")), scratch / "run", kept=kept))
    return judge(work, scratch / "run", said, "are now pos, neg", expected)


def result(run: Run) -> dict[str, Any]:
    """What a run finds, but for its cost."""
    for _ in run.snapshots():
        pass
    values = run.result().to_dict()
    del values["cost"]
    return values


if __name__ == "__main__":
    raise SystemExit(main())

"""Answers that are kept from run to run: found again, never mixed up, no call for a budget, and no text in the file."""

from __future__ import annotations

import logging
import os
import pickle
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from runs import WEIGHTS, make_run, outcome, reviews

from anchorscope import Explainer
from anchorscope.asking.answers_file import ANSWERS, open_answers
from anchorscope.asking.budget import Budget
from anchorscope.asking.kept_answers import KeptAnswers, kept_for
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.cli import main
from anchorscope.errors import ModelError, SomeFailedError
from anchorscope.predictors import as_predictor
from anchorscope.testing import WeightPredictor
from anchorscope.testing.server import Faults, StandInServer
from reliability.planted import plant_rollback

LABELS = ("no", "yes")
TEXTS = reviews(20)


class Paid(WeightPredictor):
    """Counts its calls; ``act`` may raise before it answers."""

    is_fully_fingerprinted = True
    is_remote = True

    def __init__(self, **given: Any) -> None:
        super().__init__(WEIGHTS, **given)
        self.asked: list[str] = []

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return super().predict(texts)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANCHORSCOPE_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def asking(model: Any, wanted: bool | None = None) -> RetryingPredictor:
    return RetryingPredictor(model, Retry(first_wait=0.0), kept=kept_for(model, wanted))


def kept(folder: Path, fingerprint: str = "m", **given: Any) -> KeptAnswers:
    return KeptAnswers(folder, fingerprint, LABELS, **{"always": True, **given})


def test_what_is_kept_is_not_asked_again() -> None:
    first, second = Paid(), Paid()
    rows = asking(first).predict(TEXTS)
    again = asking(second)
    assert np.array_equal(again.predict([*TEXTS, "new"])[:-1], rows)
    assert second.asked == ["new"] and again.meter.sent == 1 and again.meter.found == len(TEXTS)


def test_another_model_other_labels_and_other_texts_find_nothing(folder: Path) -> None:
    kept(folder).keep(["great"], np.array([[0.25, 0.75]]), True)
    assert kept(folder).find(["great"])[0].tolist() == [0.25, 0.75]
    assert kept(folder).find(["great "]) == {} == kept(folder, "n").find(["great"])
    assert KeptAnswers(folder, "m", ("bad", "good"), always=True).find(["great"]) == {}


def test_the_file_holds_no_text(folder: Path) -> None:
    asking(Paid()).predict(["a very private sentence"])
    for file in folder.iterdir():
        assert b"private" not in file.read_bytes()


def test_answers_that_came_before_a_failure_are_kept() -> None:
    """Two texts of three are answered, then the calls are spent: the next run asks about the third alone."""

    class Half(Paid):
        def predict(self, texts: Sequence[str]) -> np.ndarray:
            rows = super().predict(texts)
            raise SomeFailedError("429", [2], rows[:2]) from ConnectionError("429")

    first = asking(Half())
    first.meter.allow(3)
    with pytest.raises(Exception, match="0 more texts, and 1 are due"):
        first.predict(TEXTS[:3])
    second = Paid()
    asking(second).predict(TEXTS[:3])
    assert second.asked == [TEXTS[2]]


def test_a_quick_model_is_asked_and_a_slow_one_is_kept(folder: Path) -> None:
    """1 ms a text; the first call may be slow because the model wakes up."""
    quick, slow, asleep = (kept(folder, name, always=False) for name in ("quick", "slow", "asleep"))
    for answers, first, later in ((quick, 0.0001, 0.0005), (slow, 0.0001, 0.002), (asleep, 0.01, 0.0005)):
        answers.timed(100, 100 * first)
        answers.timed(100, 100 * later)
    assert (quick.is_used, slow.is_used, asleep.is_used) == (False, True, False)
    slow.keep(["a"], np.array([[1.0, 0.0]]), False)
    known = kept(folder, "slow", always=False)
    assert known.is_used and known.has_probabilities is False and len(known.find(["a"])) == 1


def test_functions_are_kept_only_if_that_is_wanted() -> None:
    """Their fingerprint does not notice what they call."""
    model = as_predictor(lambda texts: [[0.5, 0.5] for _ in texts], labels=LABELS)
    assert kept_for(model) is None and kept_for(model, False) is None and kept_for(model, True) is not None
    assert kept_for(Paid(), False) is None


def test_off_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANCHORSCOPE_CACHE", "off")
    assert kept_for(Paid(), True) is None


def test_the_file_stays_within_its_limit(folder: Path) -> None:
    answers = kept(folder, megabytes=0.2)
    for start in range(0, 8000, 500):
        texts = [f"text {number}" for number in range(start, start + 500)]
        answers.keep(texts, np.tile([0.25, 0.75], (500, 1)), True)
    assert (folder / ANSWERS).stat().st_size < 400_000
    assert answers.find(["text 0"]) == {} and len(answers.find(["text 7999"])) == 1


def test_a_file_that_is_none_is_done_without(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.mkdir()
    (folder / ANSWERS).write_bytes(b"no database at all, but long enough to look at" * 100)
    with caplog.at_level(logging.WARNING, "anchorscope"):
        asked = asking(model := Paid())
        assert np.array_equal(asked.predict(TEXTS), asked.predict(TEXTS))
    assert len(model.asked) == 2 * len(TEXTS)
    assert len(caplog.messages) == 1 and caplog.messages[0].startswith("Answers are not kept")


def changed(folder: Path, *statements: str) -> None:
    """Change the file of kept answers, and keep it with a rollback journal, as no run does."""
    with closing(sqlite3.connect(folder / ANSWERS)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.executescript(";".join(statements))


def planted_rollback(folder: Path, outside: Path) -> None:
    changed(folder)
    plant_rollback(folder / ANSWERS, outside / "precious")


def moved(folder: Path, name: str, outside: Path, target: str) -> None:
    """A link in the place of a file."""
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside / target)


def piped(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x"
PLANTED: dict[str, Callable[[Path, Path], None]] = {
    "a hot journal that names a file": planted_rollback,
    "a link to an empty file": lambda folder, outside: moved(folder, ANSWERS, outside, "empty"),
    "a link to nothing": lambda folder, outside: moved(folder, ANSWERS, outside, "new"),
    "a link as its log": lambda folder, outside: moved(folder, ANSWERS + "-wal", outside, "empty"),
    "a pipe": lambda folder, outside: piped(folder, ANSWERS),
    "an empty file": lambda folder, outside: (folder / ANSWERS).write_bytes(b"") and None,
    "a log without its file": lambda folder, outside: (folder / ANSWERS).rename(folder / (ANSWERS + "-wal")) and None,
    "a file to which others write": lambda folder, outside: (folder / ANSWERS).chmod(0o666),
    "a folder to which others write": lambda folder, outside: folder.chmod(0o777),
    "a trigger": lambda folder, outside: changed(
        folder,
        f"CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM models WHERE model IN ({ENDLESS} FROM c); END",
    ),
    "an endless view": lambda folder, outside: changed(
        folder, "DROP TABLE answers", f"CREATE VIEW answers AS {ENDLESS} AS number, x AS key, x AS row FROM c"
    ),
    "numbers that are texts": lambda folder, outside: changed(
        folder, "DROP TABLE answers", "CREATE TABLE answers (number TEXT DEFAULT 'x', key BLOB UNIQUE, row BLOB)"
    ),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_file_that_is_not_surely_ours_is_done_without(
    kind: str, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing outside of the folder is made, changed or deleted."""
    open_answers(folder / ANSWERS).close()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    (outside / "empty").write_bytes(b"")
    PLANTED[kind](folder, outside)
    with caplog.at_level(logging.WARNING, "anchorscope"):
        rows = asking(model := Paid()).predict(TEXTS)
    assert np.array_equal(rows, Paid().predict(TEXTS)) and model.asked == TEXTS
    assert len(caplog.messages) == 1 and caplog.messages[0].startswith("Answers are not kept")
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"precious": b"precious", "empty": b""}


def test_somebody_elses_file_is_done_without(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept(folder).keep(["great"], np.array([[0.25, 0.75]]), True)
    monkeypatch.setattr(os, "geteuid", lambda: (folder / ANSWERS).stat().st_uid + 1)
    with caplog.at_level(logging.WARNING, "anchorscope"):
        assert kept(folder).find(["great"]) == {}
    assert "somebody else's" in caplog.text


@pytest.mark.parametrize(
    "row",
    [*(np.array(row).tobytes() for row in ([np.nan, 1], [np.inf, 0], [-3.0, 4.0])), 7, 7.0, "x" * 16, b"x" * 15],
    ids=["NaN", "infinite", "negative", "integer", "real", "text", "too short"],
)
def test_a_row_that_is_no_answer_is_asked_again_and_put_right(row: Any, folder: Path) -> None:
    rows = asking(Paid()).predict(TEXTS)
    with closing(sqlite3.connect(folder / ANSWERS)) as database, database:
        database.execute("UPDATE answers SET row = ?", (row,))
        database.execute("UPDATE models SET has_probabilities = 'x'")
    asked = asking(model := Paid())
    assert np.array_equal(asked.predict(TEXTS), rows) and model.asked == TEXTS
    assert np.array_equal(asking(again := Paid()).predict(TEXTS), rows) and again.asked == []


def test_changed_bytes_end_no_run(folder: Path, tmp_path: Path) -> None:
    """What is found are probabilities, or nothing."""
    rows = asking(Paid()).predict(TEXTS)
    with closing(sqlite3.connect(folder / ANSWERS)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    real = (folder / ANSWERS).read_bytes()
    chances = random.Random(0)
    for number in range(200):
        data = bytearray(real)
        for _ in range(chances.randint(1, 8)):
            place = chances.randrange(len(data))
            data[place : place + 2] = chances.randbytes(2)
        here = tmp_path / str(number)
        here.mkdir(mode=0o700)
        (here / ANSWERS).write_bytes(data)
        answers = KeptAnswers(here, Paid().fingerprint, Paid().labels, always=True, megabytes=0.001)
        assert all(np.allclose(row.sum(), 1, atol=1e-3) for row in answers.find(TEXTS).values())
        answers.keep(TEXTS, rows, True)


def test_it_travels_to_workers(folder: Path) -> None:
    answers = kept(folder)
    answers.keep(["great"], np.array([[0.25, 0.75]]), True)
    assert len(pickle.loads(pickle.dumps(answers)).find(["great"])) == 1


@pytest.mark.parametrize("calls", [30, 60, 10_000])
def test_a_second_run_costs_no_call_and_ends_alike(calls: int) -> None:
    """Within a budget, too: what is known from before counts for it, so it buys the same tests."""
    settings = {"aggregation": "total", "score": "occlusion", "strategy": "race"}
    first = make_run(TEXTS, model=asking(Paid()), budget=Budget(max_model_calls=calls), **settings)
    list(first.snapshots())
    second = make_run(TEXTS, model=asking(model := Paid()), budget=Budget(max_model_calls=calls), **settings)
    list(second.snapshots())
    assert outcome(second) == outcome(first) and model.asked == []
    assert first.result().cost.answers == second.result().cost.answers <= calls
    asked = first.result().cost.predictor_texts
    assert second.result().cost.predictor_texts == 0 < asked <= second.result().cost.kept_answers


@pytest.mark.parametrize("workers", [1, 2])
def test_answers_that_were_kept_are_counted_wherever_they_are_found(workers: int) -> None:
    """All that is not asked is found, in this process and in others."""
    settings = {"aggregation": "total", "score": "occlusion"}
    costs = []
    for _ in range(2):
        run = make_run(TEXTS, model=asking(Paid()), workers=workers, **settings)
        list(run.snapshots())
        costs.append(run.result().cost)
    first, second = (cost.answers for cost in costs)
    assert first == second == costs[1].kept_answers


def test_over_a_shaky_server_nothing_is_answered_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Explained, evaluated and explained again: every text is answered once in all; the last run is free."""
    (tmp_path / "docs.txt").write_text("\n".join(TEXTS))
    with StandInServer(WeightPredictor(WEIGHTS), "torchserve", faults=Faults(0.1, 0.0, 0.1)) as server:
        model = ["--model", server.url, "--api", "torchserve", "--labels", "no,yes"]
        explain = ["explain", str(tmp_path / "docs.txt"), *model, "--min-occurrences", "1", "--price-per-1000", "5"]
        assert main([*explain, "--out", str(tmp_path / "run")]) == 0
        n_texts = sum(server.asked.values())
        assert f"{n_texts} model calls, {n_texts * 5 / 1000:.2f} to be paid" in capsys.readouterr().err
        assert main(["evaluate", str(tmp_path / "run"), *model, "--docs", str(tmp_path / "docs.txt"), "-q"]) == 0
        assert {*server.answered.values()} == {1}
        before = sum(server.asked.values())
        capsys.readouterr()
        assert main([*explain, "--no-texts", "--out", str(tmp_path / "again")]) == 0
        assert sum(server.asked.values()) == before
        said = capsys.readouterr().err
        assert "0 model calls, 0.00 to be paid" in said
        assert "answers were kept from before and cost nothing: --no-cache would ask again." in said


def test_no_cache_asks(tmp_path: Path) -> None:
    with StandInServer(WeightPredictor(WEIGHTS), "torchserve") as server:
        given = ["explain", "--document", "great film", "--model", server.url, "--api", "torchserve", "-q"]
        for option in ([], ["--no-cache"], []):
            before = sum(server.asked.values())
            assert main([*given, "--labels", "no,yes", *option]) == 0
            asked = sum(server.asked.values()) - before
            assert (asked > 0) == (before == 0 or option == ["--no-cache"])


def test_a_dry_run_tells_the_price(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs.txt").write_text("\n".join(TEXTS))
    (tmp_path / "model.py").write_text("def f(texts):\n    return [{'no': 0.5, 'yes': 0.5} for _ in texts]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        given = ["explain", "docs.txt", "--model", "model:f", "--dry-run", "--min-occurrences", "1"]
        assert main([*given, "--price-per-1000", "2"]) == 0
    told = capsys.readouterr().out
    n_texts = int(told.split("model calls")[1].split()[0].replace(",", ""))
    assert f"{n_texts * 2 / 1000:,.2f}  at most: at 2 per 1,000 calls" in told


def test_the_explainer_keeps_answers_too() -> None:
    for expected in (True, False):
        model = Paid()
        Explainer(model, settings={"min_occurrences": 1}).explain(TEXTS)
        assert bool(model.asked) == expected


class Tabled(Paid):
    """Answers tables, whose columns have names of their own and stand as it says."""

    def __init__(self, *order: str) -> None:
        super().__init__()
        self.order = [*order]

    def predict(self, texts: Sequence[str]) -> Any:
        return pandas.DataFrame(super().predict(texts), columns=["neg", "pos"])[self.order]


def test_columns_that_turn_between_two_runs_are_refused() -> None:
    """Some answers are found and others given: their columns must mean the same. Another order is not written down."""
    rows = asking(Tabled("neg", "pos")).predict(TEXTS)
    for texts in ([*TEXTS, "new"], ["new"]):
        with pytest.raises(ModelError, match=r"were neg, pos \(in answers that are kept; --no-cache asks anew\)"):
            asking(Tabled("pos", "neg")).predict(texts)
    again = asking(model := Tabled("neg", "pos"))
    assert np.array_equal(again.predict([*TEXTS, "new"])[:-1], rows) and model.asked == ["new"]


def test_columns_that_turn_between_two_runs_at_once_are_refused() -> None:
    """Nothing is kept when the second is asked; the first, which is quicker, is believed."""

    class Overtaken(Tabled):
        def predict(self, texts: Sequence[str]) -> Any:
            asking(Tabled("neg", "pos")).predict(["great"])
            return super().predict(texts)

    with pytest.raises(ModelError, match=r"were neg, pos \(in answers that are kept.*are now pos, neg"):
        asking(Overtaken("pos", "neg")).predict(["bad"])
    asking(model := Tabled("neg", "pos")).predict(["great", "bad"])
    assert model.asked == ["bad"], "what was refused is not kept"


@pytest.mark.parametrize("names", ["7", "[7]", "x", "[" * 100_000, b"x"])
def test_names_of_columns_that_are_none_are_done_without(
    names: Any, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asking(Tabled("neg", "pos")).predict(TEXTS)
    with closing(sqlite3.connect(folder / ANSWERS)) as database, database:
        database.execute("UPDATE columns SET names = ?", (names,))
    with caplog.at_level(logging.WARNING, "anchorscope"):
        asking(model := Tabled("neg", "pos")).predict(TEXTS)
    assert model.asked == TEXTS and "names of columns in it are none" in caplog.text

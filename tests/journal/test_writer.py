"""What a run writes down: enough to go on, to count again, and to refuse what does not belong to it."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from runs import finish, make_run, predictor, reviews

from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.backends import local
from anchorscope.errors import InputError, ModelError, RunFolderError, StorageError
from anchorscope.files import JOURNAL
from anchorscope.journal.measurements import ROW, packed, unpacked
from anchorscope.journal.reader import RunReader
from anchorscope.journal.writer import Journal
from anchorscope.loop import Loop
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.report.view import page_data
from anchorscope.result import RESULT, Result
from anchorscope.run import Run
from anchorscope.scoring.aggregations import AGGREGATIONS, aggregation
from anchorscope.scoring.surrogate import N_FOLDS
from anchorscope.scoring.tally import Tally
from anchorscope.testing import WeightPredictor
from anchorscope.text.words import split, terms
from anchorscope.types import Measurement, Unit


def same(one: Tally, other: Tally) -> bool:
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(Tally))


def tally_of(run: Run, monkeypatch: pytest.MonkeyPatch, **given) -> Tally:
    """Finish a run and catch its last tally, which it shows to nobody."""
    seen: list[Tally] = []
    view = Loop._view

    def watched(loop):
        seen.append(loop._ledger.tally)
        return view(loop)

    monkeypatch.setattr(Loop, "_view", watched)
    finish(run, **given)
    monkeypatch.setattr(Loop, "_view", view)
    return seen[-1]


# --- the tally of a run folder is the tally of the run ---


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"robust": "drop"},
        {"lift": 0.5},
        {"aggregation": "total", "score": "banzhaf", "weight": "fragile"},
        {"aggregation": "total"},
        {"aggregation": "total", "strategy": "race", "regret": 0.5},
        {"filter": "optimistic", "top_k": 1},
        {"filter": "sound", "aggregation": "sq", "top_k": 1},
        {"tau_tilde": True},
        {"aggregation": "total", "score": "banzhaf", "test": "fixed", "max_samples": 12},
        {"labels": ("yes",)},
        {"min_occurrences": 9},
    ],
    ids=str,
)
def test_the_tally_of_the_folder_is_that_of_the_run(given: dict, tmp_path: Path, monkeypatch) -> None:
    expected = tally_of(make_run(folder=tmp_path / "run", **given), monkeypatch)
    assert same(RunReader(tmp_path / "run").tally(), expected)


def test_robust_documents_make_a_difference_that_the_folder_knows(tmp_path: Path) -> None:
    """The same tests and the same verdicts, but those of robust documents count as non-anchors."""
    for robust in ("keep", "drop"):
        finish(make_run(folder=tmp_path / robust, robust=robust))
    kept, dropped = (RunReader(tmp_path / robust).tally() for robust in ("keep", "drop"))
    assert dropped.anchors.sum() < kept.anchors.sum()
    assert np.array_equal(dropped.anchors + dropped.non_anchors, kept.anchors + kept.non_anchors)


def test_the_filters_of_these_tests_do_skip(tmp_path: Path) -> None:
    """Else two cases above would say nothing."""
    for number, given in enumerate(({"filter": "optimistic"}, {"filter": "sound", "aggregation": "sq"})):
        finish(make_run(folder=tmp_path / str(number), top_k=1, **given))
        assert RunReader(tmp_path / str(number)).tally().untested.sum() > 0


def test_training_counts_travel_with_the_folder(tmp_path: Path) -> None:
    """ "great" six times in the training texts, "film" once: av5 reads these and not the collection's counts."""
    finish(make_run(folder=tmp_path / "run", training_texts=["great " * 6, "film"]))
    reader = RunReader(tmp_path / "run")
    counts = dict(zip(reader.terms, reader.tally().training.tolist(), strict=True))
    assert (counts["great"], counts["film"], counts["bad"]) == (6, 1, 0)


def test_labels_terms_and_documents_can_be_read_without_a_model(tmp_path: Path) -> None:
    finish(make_run(["great film", "bad film", "bad cast", "great great"], folder=tmp_path / "run"))
    reader = RunReader(tmp_path / "run")
    assert reader.labels == ("no", "yes")
    assert reader.terms == ("bad", "cast", "film", "great")
    assert reader.documents_per_label().tolist() == [2, 2]


def test_an_interrupted_run_has_a_tally_too(tmp_path: Path, monkeypatch) -> None:
    expected = tally_of(make_run(folder=tmp_path / "run"), monkeypatch, rounds=2)
    found = RunReader(tmp_path / "run").tally()
    assert same(found, expected)
    assert found.untested.any()


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_any_aggregation_can_be_read_from_the_folder(name: str, tmp_path: Path, monkeypatch) -> None:
    """Law 2: an unfiltered run made for one function gives the scores of a run made for another that it can feed."""
    graded = AGGREGATIONS[name].is_graded
    score = {"score": "banzhaf"} if graded else {}
    finish(make_run(folder=tmp_path / "run", aggregation="total" if graded else "pr", **score))
    expected = tally_of(make_run(aggregation=name, **score), monkeypatch)
    found, own = (aggregation(name).score(tally, 0.5) for tally in (RunReader(tmp_path / "run").tally(), expected))
    assert np.array_equal(found, own)


# --- resume refuses what does not belong to it ---


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"delta": 0.2}, "delta was 0.1, now 0.2"),
        ({"seed": 5}, "seed was 0, now 5"),
        ({"aggregation": "sq", "top_k": 7}, "top_k was 4, now 7"),
        ({"texts": reviews(29)}, "documents has changed"),
        ({"model": WeightPredictor({"great": 1.0})}, "model weights has changed"),
        ({"perturbator": MaskTokenPerturbator()}, "perturbator corpus has changed"),
        ({"training_texts": ["great film"]}, "training"),
    ],
)
def test_resume_refuses_a_run_that_was_started_differently(given: dict, words: str, tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"), rounds=1)
    with pytest.raises(RunFolderError, match=words):
        finish(make_run(folder=tmp_path / "run", resume=True, **given))


def test_resume_names_every_difference(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"), rounds=1)
    with pytest.raises(RunFolderError, match=r"delta was 0\.1, now 0\.2; top_k was 4, now 7|top_k.*delta"):
        finish(make_run(folder=tmp_path / "run", resume=True, delta=0.2, top_k=7))


def test_a_refused_resume_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"), rounds=2)
    before = RunReader(tmp_path / "run").meta
    with pytest.raises(RunFolderError):
        finish(make_run(folder=tmp_path / "run", resume=True, seed=9))
    assert RunReader(tmp_path / "run").meta == before


def test_a_refused_resume_does_not_remove_a_run_that_has_only_its_predictions(tmp_path: Path) -> None:
    """All documents were predicted, which may have taken hours, and no round was closed: it is still somebody's run."""
    finish(make_run(folder=tmp_path / "run"), rounds=0)
    with pytest.raises(RunFolderError, match="seed was 0, now 9"):
        finish(make_run(folder=tmp_path / "run", resume=True, seed=9))
    assert (tmp_path / "run" / JOURNAL).exists()


def test_predictions_survive_a_model_that_fails_in_the_first_round(tmp_path: Path) -> None:
    """A kill loses at most the round in flight; a model that is away for a moment should not lose more."""

    class Away(WeightPredictor):
        n_asked = 0

        def predict(self, texts):
            self.n_asked += 1
            if self.n_asked > 2:  # two documents, then the others
                raise ConnectionError("the server is away")
            return super().predict(texts)

    model = Away(predictor().weights, bias=-0.05)
    with pytest.raises(ModelError, match="the server is away"):
        finish(make_run(folder=tmp_path / "run", model=RetryingPredictor(model, Retry(tries=2, first_wait=0))))
    reader = RunReader(tmp_path / "run")
    assert reader.documents_per_label().sum() == 30


def test_labels_given_as_a_list_are_the_same_labels(tmp_path: Path) -> None:
    """Settings(labels=["yes"]) is what Explainer(settings={"labels": ["yes"]}) makes; JSON knows no tuples anyway."""
    finish(make_run(folder=tmp_path / "run", labels=["yes"]), rounds=1)
    finish(make_run(folder=tmp_path / "run", resume=True, labels=["yes"]))


def test_an_existing_run_is_refused_without_resume(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"), rounds=1)
    with pytest.raises(RunFolderError, match="go on with --resume"):
        make_run(folder=tmp_path / "run")


def test_resume_on_a_missing_folder_starts_afresh(tmp_path: Path) -> None:
    assert finish(make_run(folder=tmp_path / "new", resume=True))[-1].finished


def test_a_file_is_no_run_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunFolderError, match="is a file"):
        make_run(folder=tmp_path / "file")


@pytest.mark.parametrize("given", [{"labels": ("mabye",)}, {"min_occurrences": 1000}, {"sample_documents": 2.0}])
def test_input_that_is_refused_leaves_no_run_behind(given: dict, tmp_path: Path) -> None:
    """The next try, with the mistake mended, must not be told that there is a run already."""
    with pytest.raises(InputError):
        finish(make_run(folder=tmp_path / "run", **given))
    assert not (tmp_path / "run").exists()
    finish(make_run(folder=tmp_path / "run"))


def test_input_that_is_refused_leaves_a_folder_that_was_there(tmp_path: Path) -> None:
    """Empty, or with what somebody has put there."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    for name, left in (("full", ["notes.txt"]), ("empty", [])):
        with pytest.raises(InputError):
            finish(make_run(folder=tmp_path / name, min_occurrences=1000))
        assert [path.name for path in (tmp_path / name).iterdir()] == left


# --- one writer ---


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    first = Journal(tmp_path / "run")
    try:
        with pytest.raises(RunFolderError, match="Another process is writing"):
            Journal(tmp_path / "run")
    finally:
        first.close()
    Journal(tmp_path / "run").close()


def _try_to_write(folder: Path, answer) -> None:
    try:
        Journal(folder).close()
        answer.put("let in")
    except RunFolderError as error:
        answer.put(str(error))


def test_a_second_process_is_refused_while_a_run_is_watched(tmp_path: Path) -> None:
    stream = make_run(folder=tmp_path / "run").snapshots()
    next(stream)
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    other = context.Process(target=_try_to_write, args=(tmp_path / "run", answer))
    other.start()
    found = answer.get(timeout=60)
    other.join()
    stream.close()
    assert "Another process is writing" in found


def _moved(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


@pytest.mark.parametrize("leave", [shutil.rmtree, _moved], ids=["removed", "moved"])
def test_a_run_writes_into_no_folder_but_its_own(leave: Callable[[Path], None], tmp_path: Path) -> None:
    """Its folder goes, and another run begins in one of the same name: nothing of that is replaced."""
    stream = make_run(folder=tmp_path / "run").snapshots()
    next(stream)
    leave(tmp_path / "run")
    other = make_run(folder=tmp_path / "run", top_k=1)
    others = other.snapshots()
    next(others)
    before = {path.name for path in (tmp_path / "run").iterdir()}
    with pytest.raises(StorageError, match="not the folder any more"):
        list(stream)
    assert {path.name for path in (tmp_path / "run").iterdir()} == before
    list(others)
    assert Result.load(tmp_path / "run") == other.result()


def test_an_interrupted_run_writes_its_result_into_no_folder_but_its_own(tmp_path: Path) -> None:
    stream = make_run(folder=tmp_path / "run").snapshots()
    next(stream), next(stream)
    _moved(tmp_path / "run")
    (tmp_path / "run").mkdir()
    with pytest.raises(StorageError, match="not the folder any more"):
        stream.close()
    assert not [*(tmp_path / "run").iterdir()]
    finish(make_run(folder=tmp_path / "elsewhere", resume=True))


def test_bad_input_removes_no_run_but_its_own(tmp_path: Path) -> None:
    """The model fails on the first documents; meanwhile another run has begun in a folder of the same name."""

    class Displaced(WeightPredictor):
        def predict(self, texts):
            if not (tmp_path / "elsewhere").exists():
                _moved(tmp_path / "run")
                finish(make_run(folder=tmp_path / "run"))
            raise ValueError("no")

    with pytest.raises(ModelError, match="ValueError: no"):
        finish(make_run(folder=tmp_path / "run", model=Displaced({"great": 1.0})))
    assert RunReader(tmp_path / "run").closed_rounds()


def test_a_folder_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    stream = make_run(folder=tmp_path / "run").snapshots()
    next(stream), next(stream)
    assert RunReader(tmp_path / "run").tally().anchors.sum() >= 0
    stream.close()


def test_a_run_that_fails_lets_the_next_writer_in(tmp_path: Path) -> None:
    class Broken(WeightPredictor):
        def predict(self, texts):
            raise ValueError("no")

    with pytest.raises(ModelError, match="ValueError: no"):
        finish(make_run(folder=tmp_path / "run", model=Broken({"great": 1.0})))
    Journal(tmp_path / "run").close()


# --- what is no journal of ours ---


def test_another_schema_is_refused_and_named(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"), rounds=1)
    with sqlite3.connect(tmp_path / "run" / JOURNAL) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    db.close()
    for opened in (RunReader, Journal):
        with pytest.raises(RunFolderError, match="schema 99"):
            opened(tmp_path / "run")


PAIRS = {"strategy": "race", "score": "occlusion", "aggregation": "total"}


def test_a_surrogate_in_another_number_of_folds_is_another_versions(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run", **PAIRS), rounds=1)
    with closing(sqlite3.connect(tmp_path / "run" / JOURNAL)) as db, db:
        assert db.execute("DELETE FROM surrogate WHERE fold >= 2").rowcount == 2 * (N_FOLDS - 2)
    said = "was fitted by another version, in 2 folds where this one has 8; begin a new run in another --out"
    with pytest.raises(RunFolderError, match=said):
        finish(make_run(folder=tmp_path / "run", resume=True, **PAIRS))


def test_a_surrogate_with_a_gap_is_nobodys(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run", **PAIRS), rounds=1)
    with closing(sqlite3.connect(tmp_path / "run" / JOURNAL)) as db, db:
        assert db.execute("DELETE FROM surrogate WHERE fold = 2 AND label = 1").rowcount == 1
    with pytest.raises(RunFolderError, match=r"holds what no run has written .*surrogate is not complete"):
        finish(make_run(folder=tmp_path / "run", resume=True, **PAIRS))


@pytest.mark.parametrize(
    "opened",
    [
        RunReader,
        Journal,
    ],
)
def test_a_file_that_is_no_database_is_refused(opened, tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(b"this is no database, but it has the name of one " * 40)
    with pytest.raises(RunFolderError, match="cannot be read"):
        opened(tmp_path)


def test_a_refused_journal_is_let_go(tmp_path: Path) -> None:
    """After a refusal for its schema the folder must not stay locked by this process."""
    finish(make_run(folder=tmp_path / "run"), rounds=1)
    with sqlite3.connect(tmp_path / "run" / JOURNAL) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    refusals = []
    for _ in range(2):
        with pytest.raises(RunFolderError) as refusal:
            Journal(tmp_path / "run")
        refusals.append(refusal)  # keeps the traceback, and with it the half-made journal, alive
    db.close()
    assert "schema 99" in str(refusals[1].value)


def test_a_folder_without_a_journal_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is no run folder"):
        RunReader(tmp_path)


def test_a_run_that_ended_before_its_predictions_has_nothing_to_show(tmp_path: Path) -> None:
    Journal(tmp_path / "run").close()
    with pytest.raises(RunFolderError, match="before its first test"):
        RunReader(tmp_path / "run")


def test_a_journal_that_was_begun_and_no_more_goes_on(tmp_path: Path) -> None:
    """A kill right after the tables were made: nothing in it but the schema."""
    Journal(tmp_path / "run").close()
    assert finish(make_run(folder=tmp_path / "run", resume=True))[-1].finished


# --- rounds and evidence ---


def test_a_round_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """What cannot be stored (no such type) takes the whole round with it: what was measured, skipped and counted."""
    finish(make_run(folder=tmp_path / "run"), rounds=1)
    journal = Journal(tmp_path / "run")
    closed, rows = journal.closed_rounds(), journal.read_round(0)
    for skips, prefixes in ((((0, 0, object()),), []), (((0, 0, 1),), [(0, 0, object())])):
        with pytest.raises(RunFolderError, match="does not take what this run writes"):
            journal.write_round(99, rows, skips, prefixes, closed[0])
    assert journal.closed_rounds() == closed
    journal.close()
    db = sqlite3.connect(tmp_path / "run" / JOURNAL)
    for table in ("measurements", "skips"):
        assert db.execute(f"SELECT count(*) FROM {table} WHERE round = 99").fetchone() == (0,)
    db.close()


def named(unit: Unit) -> list[tuple[int, str, int]]:
    """Document, term ("" for the empty anchor) and ordinal of each row of a unit, counted in its text."""
    cut = terms(split(unit.text))
    places = [cut[: positions[0] + 1] if positions else [""] for positions in unit.positions]
    return [(unit.document, str(until[-1]), until[:-1].count(until[-1])) for until in places]


@pytest.mark.parametrize("score", ["anchor", "banzhaf"])
def test_measurements_come_back_as_they_were(score: str, tmp_path: Path, monkeypatch) -> None:
    """To the last bit, floats being stored as doubles; but for the threshold, which has half the digits."""
    measured: list[dict] = []
    original = local.InProcess.measure

    def watched(self, units, *given):
        found, cost = original(self, units, *given)
        names = [name for unit in units for name in named(unit)]
        thresholds = [threshold for unit in units for threshold in unit.thresholds]
        measured.append(dict(zip(names, zip(map(str, found.rows()), thresholds, strict=True), strict=True)))
        return found, cost

    monkeypatch.setattr(local.InProcess, "measure", watched)
    summed = "total" if score == "banzhaf" else "pr"
    finish(make_run(folder=tmp_path / "run", tau_tilde=True, score=score, aggregation=summed))
    reader, journal = RunReader(tmp_path / "run"), Journal(tmp_path / "run")
    columns = [field.name for field in fields(Measurement)]
    for number, expected in zip(sorted(journal.closed_rounds()), measured, strict=True):
        rows = journal.read_round(number)
        names = [("", *reader.terms)[term + 1] for term in rows["term"].tolist()]
        found = [str(Measurement(*row)).replace("repeat=nan", "repeat=None") for row in rows[columns].tolist()]
        keys = zip(rows["document"].tolist(), names, rows["ordinal"].tolist(), strict=True)
        assert dict(zip(keys, zip(found, rows["threshold"].tolist(), strict=True), strict=True)) == expected
    assert len({threshold for expected in measured for _, threshold in expected.values()}) > 1, "tau~ moved nothing"
    journal.close()


def test_evidence_holds_samples_of_shown_terms(tmp_path: Path) -> None:
    """For every shown term with an anchor: samples with and without it; agreed is what the model says of the text."""
    run = make_run(folder=tmp_path / "run")
    finish(run)
    shown = {(label, term.term) for label, e in run.result().explanations.items() for term in e.terms if term.anchors}
    db = sqlite3.connect(tmp_path / "run" / JOURNAL)
    rows = db.execute(
        "SELECT l.name, t.term, e.text, e.agreed FROM evidence e "
        "JOIN labels l ON l.number = e.label JOIN terms t ON t.number = e.term"
    ).fetchall()
    db.close()
    assert shown <= {(label, term) for label, term, *_ in rows}
    model = predictor()
    for label, _, text, agreed in rows[::7]:
        assert bool(agreed) == (model.labels[int(model.predict([text])[0].argmax())] == label)


def test_the_meta_data_say_what_the_run_was(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run", seed=3))
    meta = RunReader(tmp_path / "run").meta
    assert meta["settings"]["seed"] == 3
    assert meta["model"]["name"] == "weights"
    assert json.dumps(meta)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE documents SET confidence = 9e999 WHERE number = 0",
        'UPDATE moments SET moment = replace(moment, \'"seconds": \', \'"seconds": 1e999, "was": \')',
        "UPDATE rounds SET cost = '{\"seconds\": NaN}'",
    ],
)
def test_a_number_that_is_not_finite_is_no_runs(change: str, tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path))
    with sqlite3.connect(tmp_path / JOURNAL) as db:
        assert db.execute(change).rowcount > 0
    with pytest.raises(RunFolderError, match="holds what no run has written"):
        page_data(tmp_path)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("value", -np.inf),
        ("value", np.nan),
        ("threshold", np.nan),
        ("variance", np.inf),
        ("variance", -1.0),
        ("samples", -1),
        ("agreements", -1),
        ("calls", -1),
        ("ordinal", -1),
        ("document", -1),
        ("document", 30),
        ("term", -2),
        ("term", 12),
    ],
)
def test_a_measurement_that_no_run_makes_is_refused(column: str, value: float, tmp_path: Path) -> None:
    """There are thirty documents and twelve terms."""
    finish(make_run(folder=tmp_path))
    with closing(Journal(tmp_path)) as journal:
        rows = journal.read_round(0).copy()
    rows[column][-1] = value
    overwrite(tmp_path, packed(rows))
    with pytest.raises(RunFolderError, match="holds what no run has written"):
        page_data(tmp_path)


@pytest.mark.parametrize(
    ("column", "greatest"), [("value", 1e6), ("threshold", 1e6), ("expected", 1e6), ("repeat", 1e6), ("variance", 1e12)]
)
def test_what_is_greater_than_any_effect_is_refused(column: str, greatest: float) -> None:
    """Finite all the same, and what is made of it may not be: its square, or its digits on a page."""
    rows = np.zeros(2, ROW)
    rows["repeat"] = np.nan
    for value in (1e300, np.nextafter(greatest, np.inf), *([] if column == "variance" else [-1e300])):
        rows[column][1] = value
        with pytest.raises(ValueError, match=r"greater than .*any effect"):
            unpacked(packed(rows))
    rows[column][1] = greatest
    assert packed(unpacked(packed(rows))) == packed(rows)


@pytest.mark.parametrize("blob", [b"\0", b"\2" * ROW.itemsize, "a text", 3])
def test_what_is_no_row_of_measurements_is_refused(blob: object, tmp_path: Path) -> None:
    """Half a row; a truth value that is neither true nor false; other kinds of values."""
    finish(make_run(folder=tmp_path))
    overwrite(tmp_path, blob)
    with pytest.raises(RunFolderError, match="holds what no run has written"):
        page_data(tmp_path)
    with pytest.raises(RunFolderError, match="holds what no run has written"):
        finish(make_run(folder=tmp_path, resume=True))


def overwrite(folder: Path, blob: object) -> None:
    """Let the first round have measured something else."""
    with closing(sqlite3.connect(folder / JOURNAL)) as db, db:
        assert db.execute("UPDATE measurements SET rows = ? WHERE round = 0", (blob,)).rowcount == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE documents SET predicted = 2 WHERE number = 0",
        "UPDATE documents SET predicted = 'good' WHERE number = 0",
        "UPDATE documents SET confidence = 0.1 WHERE number = 0",
        "UPDATE documents SET probabilities = x'00' WHERE number = 0",
        "UPDATE documents SET probabilities = zeroblob(16) WHERE number = 0",
        "INSERT INTO documents SELECT 1000, 'another', label, predicted, confidence, probabilities FROM documents "
        "WHERE number = 0",
        "DELETE FROM documents WHERE number = 3",
        "UPDATE documents SET number = 1000 WHERE number = 3",
    ],
)
def test_predictions_that_no_run_has_made_are_not_gone_on_with(change: str, tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path))
    (tmp_path / RESULT).unlink(missing_ok=True)
    with sqlite3.connect(tmp_path / JOURNAL) as db:
        assert db.execute(change).rowcount == 1
    with pytest.raises(RunFolderError, match="holds what no run has written"):
        finish(make_run(folder=tmp_path, resume=True))


def test_what_sqlite_cannot_name_is_refused(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path))
    with sqlite3.connect(tmp_path / JOURNAL) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA journal_mode=DELETE")
    data = (tmp_path / JOURNAL).read_bytes()
    assert b"tablemetameta" in data and b"CREATE TABLE meta" in data
    data = data.replace(b"tablemetameta", b"table\xff\xfe\xff\xfemeta").replace(
        b"CREATE TABLE meta", b"CREATE TABEL meta"
    )
    (tmp_path / JOURNAL).write_bytes(data)
    for suffix in ("-wal", "-shm"):
        (tmp_path / (JOURNAL + suffix)).unlink(missing_ok=True)
    with pytest.raises(RunFolderError, match="cannot be read"):
        Journal(tmp_path)

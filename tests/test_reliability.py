"""The fast part of the studies under ``reliability/``: poison documents, fuzzed inputs, a full disk, no texts kept."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from runs import explained, finish, make_run, outcome, predictor, reviews

from anchorscope import Explainer, result
from anchorscope.asking.budget import Budget
from anchorscope.errors import InputError, ModelFileError, RunFolderError, StorageError
from anchorscope.files import JOURNAL
from anchorscope.journal import writer
from anchorscope.journal.measurements import ROW, packed, unpacked
from anchorscope.journal.reader import RunReader
from anchorscope.journal.writer import LOCK, Journal
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.predictors import load_predictor
from anchorscope.report.page import write_report
from anchorscope.report.view import page_data
from anchorscope.result import Result, is_finished
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.testing import KeywordPredictor
from anchorscope.text.read import read_texts
from reliability import advisories, fuzz, hostile_folders, page, poison, same, signals, soak
from reliability.models import FOLDER
from reliability.parsers import Parsers
from reliability.tables import ROOT, Study
from reliability.work import Work


def test_the_page_shows_what_was_measured() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.with_table(text) == text, "run: python -m reliability.page"


@pytest.mark.parametrize("preset", soak.PRESETS)
def test_a_turn_of_the_soak_comes_to_one_result(preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work.make(tmp_path / "work", 40)
    monkeypatch.setenv(FOLDER, str(work.folder))
    texts = (work.folder / "reviews.csv").read_text(encoding="utf-8").splitlines()[1:]
    results = soak.in_this_process(texts, tmp_path / "mine", preset, turn=1)
    assert len(results) == 3 and len({soak.outcome(result) for result in results}) == 1


def test_a_known_hole_is_found_and_what_is_mended_or_withdrawn_is_not(tmp_path: Path) -> None:
    events = [{"introduced": "0"}, {"fixed": "1.2"}, {"introduced": "2.0"}, {"last_affected": "2.1"}]
    affected = {
        "package": {"ecosystem": "PyPI", "name": "Lib_One"},
        "ranges": [{"type": "ECOSYSTEM", "events": events}],
    }
    listed = {"package": {"ecosystem": "PyPI", "name": "other"}, "versions": ["3.0"]}
    advisory = {"id": "HOLE-1", "affected": [affected, listed]}
    (tmp_path / "one.json").write_text(json.dumps(advisory))
    (tmp_path / "two.yaml").write_text(json.dumps({**advisory, "id": "HOLE-2", "withdrawn": "2024-01-01"}))
    versions = advisories.pinned(
        "lib-one==1.1 \\\n  --hash=x\nlib.one==1.2\nLib-One==2.1\nlib-one==2.2\nother==3.0\nother==3.1\n"
    )
    found = [
        (hole.package, hole.version, hole.number) for hole in advisories.holes(versions, [*advisories.read(tmp_path)])
    ]
    assert found == [("lib-one", "1.1", "HOLE-1"), ("lib-one", "2.1", "HOLE-1"), ("other", "3.0", "HOLE-1")]


def test_a_leak_is_told_from_memory_that_jumps() -> None:
    """A few kilobytes a turn, in memory that has levels a hundred times as far apart."""
    levels = np.repeat(np.random.default_rng(0).choice([212_000.0, 216_000.0, 218_000.0], 30), 8)
    slope, error = soak.growth(levels)
    assert abs(slope) <= error
    slope, error = soak.growth(levels + 60 * np.arange(len(levels)))
    assert slope - error > soak.GROWTH_KB and abs(slope - 60) < error


def test_runs_that_fail_alike_are_not_the_same_result() -> None:
    """A study whose every run fails has measured nothing."""
    study = Study("same", "", "", 0, quick=True)
    for preset in same.PRESETS:
        study.add(preset=preset, result="1f")
    assert same.verdict(study) == 0
    for row in study.rows:
        row["result"] = None
    assert same.verdict(study) == 1


# --- poison documents ---


@pytest.mark.filterwarnings("ignore:.*script without spaces")
def test_a_hundred_poison_documents_come_through_or_are_counted(tmp_path: Path) -> None:
    texts = poison.documents()
    settings = Settings(score="banzhaf", strategy="scan", min_occurrences=2, top_k=10, max_samples=12)
    run = Run(read_texts(texts), KeywordPredictor("great"), CorpusPerturbator(), settings, folder=tmp_path / "run")
    finish(run)
    found = run.result()
    write_report(tmp_path / "run")
    skipped = dict(found.documents["skipped"])
    n_empty, n_long = skipped.pop("empty"), skipped.pop(f"more than {settings.max_words} words")
    assert not skipped and n_empty and n_long
    processed = int(RunReader(tmp_path / "run").documents_per_label().sum())
    assert processed == found.documents["usable"]
    assert processed + n_empty + n_long == len(texts) == 100


def test_a_document_that_is_lost_on_the_way_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of ten is neither explained nor counted as left out: the study finds nine."""
    monkeypatch.setattr(poison, "Counted", lambda: KeywordPredictor("great"))
    read, study = read_texts(["the great bad film"] * 10), Study("poison", "", "", 0, True)
    poison.one(study, "whole", read, CorpusPerturbator(), tmp_path / "whole", 10)
    monkeypatch.setattr("anchorscope.run.choose", lambda documents, settings: (list(documents[1:]), {}))
    poison.one(study, "lossy", read, CorpusPerturbator(), tmp_path / "lossy", 10)
    assert [row["processed"] + row["skipped"] for row in study.rows] == [10, 9]


def test_every_kind_of_the_issue_is_among_them() -> None:
    assert len(poison.KINDS) >= 14 and len(set(poison.documents())) > 85


# --- parsers ---


@pytest.fixture(scope="module")
def parsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield fuzz.fed_parsers(Parsers(tmp_path_factory.mktemp("fuzz")))


NAMES = [name for name in fuzz.NAMES if not name.endswith(fuzz.ATHERIS)]


def test_every_parser_is_fuzzed_here(parsers: dict) -> None:
    assert sorted(parsers) == sorted(NAMES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_a_parser_raises_documented_errors_only(name: str, parsers: dict) -> None:
    found = fuzz.feed(*parsers[name], 200, seed=5)
    assert not found["finding"] and found["inputs"] >= 200


def test_a_finding_would_be_found() -> None:
    found = fuzz.feed(lambda data: data[3], fuzz.NOISE, 200, seed=0)
    assert "IndexError" in found["finding"]


def test_what_atheris_finds_is_named() -> None:
    """It ends with the same sentence whatever the error, which stands above a long traceback."""
    said = "=== Uncaught Python exception: ===\nValueError: inf\n" + 9 * "File\n" + "libFuzzer: fuzz target exited\n"
    assert fuzz.told_by_atheris(77, said)["finding"] == "ValueError: inf"
    assert fuzz.told_by_atheris(0, "Done 400 runs in 2 second(s)")["inputs"] == 400
    assert "out-of-memory" in fuzz.told_by_atheris(71, "libFuzzer: out-of-memory")["finding"]


def test_what_atheris_changes_in_a_journal_is_one_cell(tmp_path: Path) -> None:
    """As it is, each cell makes the journal that it is from; with other content, one that our own code refuses."""
    made = Parsers(tmp_path)
    names = [table for table, *_ in made.cells]
    assert {"meta", "measurements", "placebo", "texts"} <= {*names}
    for content in made.cells_as_bytes():
        made.overwritten_journal(content)
    cell = next(number for number, one in enumerate(made.cells) if one[:2] == ("measurements", 1))
    with pytest.raises(RunFolderError, match="the measurements of a round take 2 bytes"):
        made.overwritten_journal(cell.to_bytes(2, "little") + b"no")


def test_a_journal_with_a_view_in_the_place_of_a_table_is_refused(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"))
    with sqlite3.connect(tmp_path / "run" / JOURNAL) as db:
        db.execute("ALTER TABLE texts RENAME TO hidden")
        db.execute("CREATE VIEW texts AS SELECT 1 AS document, 'x' AS text")
    db.close()
    with pytest.raises(RunFolderError, match="other tables than a run writes"):
        RunReader(tmp_path / "run")


def test_a_round_that_does_not_fit_the_plan_is_refused(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"), rounds=2)
    with sqlite3.connect(tmp_path / "run" / JOURNAL) as db:
        (blob,) = db.execute("SELECT rows FROM measurements WHERE round = 1").fetchone()
        rows = unpacked(blob)
        assert (rows["term"] < 0).any()
        db.execute("UPDATE measurements SET rows = ? WHERE round = 1", (packed(rows[rows["term"] >= 0]),))
    db.close()
    with pytest.raises(RunFolderError, match=r"Round 1 .* holds other tests"):
        finish(make_run(folder=tmp_path / "run", resume=True))


# --- a full disk ---


def test_a_disk_that_is_full_is_said_and_the_run_goes_on_later(tmp_path: Path, monkeypatch) -> None:
    """SQLite is told that the file may not grow; what was written before stays."""
    opened, texts = writer.open_for_writing, reviews(150)

    def nearly_full(folder: Path) -> sqlite3.Connection:
        db = opened(folder)
        db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0] + 5}")
        return db

    monkeypatch.setattr(writer, "open_for_writing", nearly_full)
    with pytest.raises(StorageError, match=r"cannot be written \(database or disk is full\).*--resume"):
        finish(make_run(texts, folder=tmp_path / "run"))
    monkeypatch.undo()
    reader = RunReader(tmp_path / "run")
    assert 0 < len(reader.closed_rounds()) < 38
    reader.close()
    again = make_run(texts, folder=tmp_path / "run", resume=True)
    finish(again)
    assert outcome(again) == explained(texts=texts)


@pytest.mark.parametrize("write", ["result", "report"])
def test_no_half_file_is_left_behind(write: str, tmp_path: Path, monkeypatch) -> None:
    """A run writes its result at its end, and the report is written from what it left."""
    if write == "report":
        finish(make_run(folder=tmp_path))
    monkeypatch.setattr("os.replace", full)
    with pytest.raises(StorageError, match="No space left on device"):
        finish(make_run(folder=tmp_path)) if write == "result" else write_report(tmp_path)
    before = {result.RESULT} if write == "report" else set()
    assert {path.name for path in tmp_path.iterdir()} == {JOURNAL, LOCK} | before


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


# --- no texts ---


def test_no_texts_keeps_them_out_of_every_byte(tmp_path: Path) -> None:
    """Documents of a word each would be in the list of words; these have words that stay below --min-occurrences."""
    texts = [f"{text} and so great was its ending" for text in reviews(40)]
    run = make_run(texts, folder=tmp_path / "run", min_occurrences=3, keep_texts=False)
    finish(run)
    write_report(tmp_path / "run")
    everything = b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    # A piece of three words is in no word of the list.
    pieces = {" ".join(text.split()[i : i + 3]) for text in texts for i in range(len(text.split()) - 2)}
    assert not [piece for piece in pieces if piece.encode() in everything]
    reader = RunReader(tmp_path / "run")
    rows = reader.evidence()
    assert not reader.texts() and rows and {text for *_, text, _, _ in rows} == {""}
    reader.close()


@pytest.mark.parametrize("keep_texts", [True, False])
def test_a_journal_keeps_the_order_of_the_words_out(keep_texts: bool, tmp_path: Path) -> None:
    """Nothing in it says where a word stands: what was measured in a document comes in the order of its terms.

    Both documents have the same words, in another order: of both it says the same.
    """
    texts = ["slow great film so great bad cast dull plot", "plot dull so cast bad film great slow great"]
    finish(make_run(texts, folder=tmp_path / "run", keep_texts=keep_texts))
    with closing(sqlite3.connect(tmp_path / "run" / JOURNAL)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name for table in tables for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}
        terms = [term for (term,) in db.execute("SELECT term FROM terms ORDER BY number")]
        rounds = [unpacked(blob) for (blob,) in db.execute("SELECT rows FROM measurements")]
        evidence = db.execute("SELECT document, term, ordinal FROM evidence").fetchall()
    assert not [name for name in (*columns, *ROW.names) if "position" in name]
    assert {"document", "term", "ordinal"} < {*ROW.names} and len(ROW.names) == 13, "what else names an occurrence?"
    measured = {0: [], 1: []}
    for rows in rounds:
        for document, term, ordinal in rows[["document", "term", "ordinal"]].tolist():
            measured[document].append(("", *terms)[term + 1] + " " + str(ordinal))
    expected = ["bad", "cast", "dull", "film", "great", "great", "plot", "slow", "so"]
    named = [" 0", *(f"{word} {expected[:place].count(word)}" for place, word in enumerate(expected))]
    assert measured == {0: named, 1: named}
    assert {ordinal for _, term, ordinal in evidence if terms[term] != "great"} == {0}


def test_with_texts_the_same_search_finds_them(tmp_path: Path) -> None:
    texts = [f"{text} and so great was its ending" for text in reviews(40)]
    finish(make_run(texts, folder=tmp_path / "run", min_occurrences=3))
    everything = b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    assert b"and so great was its ending" in everything


def test_a_report_without_texts_says_so(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run", keep_texts=False))
    shown = page_data(tmp_path / "run")
    assert shown["about"]["texts"] is False and shown["documents"] == []
    piece = shown["evidence"][0]
    assert sum(piece["counts"].values()) > 0 and not any(piece[kind] for kind in piece["counts"])


def test_a_run_without_texts_resumes_to_the_same_result(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run", keep_texts=False), rounds=3)
    again = make_run(folder=tmp_path / "run", keep_texts=False, resume=True)
    finish(again)
    assert outcome(again) == explained()


@pytest.mark.parametrize("first", [True, False])
def test_texts_are_not_added_or_dropped_on_the_way(first: bool, tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run", keep_texts=first), rounds=1)
    with pytest.raises(RunFolderError, match="texts were"):
        finish(make_run(folder=tmp_path / "run", keep_texts=not first, resume=True))


def test_the_explainer_keeps_no_texts_where_asked(tmp_path: Path) -> None:
    explainer = Explainer(predictor(), keep_texts=False, settings={"min_occurrences": 1, "stop_words": "none"})
    explainer.explain(reviews(), out=tmp_path / "run")
    assert b"film" in (tmp_path / "run" / JOURNAL).read_bytes()  # a word
    reader = RunReader(tmp_path / "run")
    assert not reader.texts()
    reader.close()


# --- finished, budgets, other models ---


def test_a_result_says_whether_there_was_anything_left_to_do(tmp_path: Path) -> None:
    run = make_run(folder=tmp_path / "run", budget=Budget(max_model_calls=100))
    finish(run)
    assert not run.result().finished and not is_finished(tmp_path / "run")
    again = make_run(folder=tmp_path / "run", resume=True)
    finish(again)
    assert again.result().finished and is_finished(tmp_path / "run")
    assert again.kept_result() == Result.load(tmp_path / "run")


def test_a_broken_result_is_no_finished_run(tmp_path: Path) -> None:
    run = make_run(folder=tmp_path / "run")
    finish(run)
    (tmp_path / "run" / result.RESULT).write_text('{"schema": 1}')
    assert not is_finished(tmp_path / "run")


def test_a_finished_run_is_refused_to_another_model(tmp_path: Path) -> None:
    run = make_run(folder=tmp_path / "run")
    finish(run)
    with pytest.raises(RunFolderError, match=r"model .* has changed"):
        make_run(model=KeywordPredictor("great"), folder=tmp_path / "run", resume=True).kept_result()


def test_labels_in_another_order_are_another_model(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"), rounds=1)
    turned = predictor()
    turned.labels = ("yes", "no")
    with pytest.raises(RunFolderError, match="labels were no, yes, now yes, no"):
        finish(make_run(model=turned, folder=tmp_path / "run", resume=True))


def test_a_smaller_budget_loses_no_round(tmp_path: Path) -> None:
    whole = finish(make_run(folder=tmp_path / "run"))[-1]
    less = finish(make_run(folder=tmp_path / "run", resume=True, budget=Budget(max_model_calls=1)))[-1]
    assert less.round == whole.round and less.explanations == whole.explanations


def test_a_run_ended_by_its_budget_keeps_documents(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run", budget=Budget(max_model_calls=400)))
    reader = RunReader(tmp_path / "run")
    assert reader.closed_rounds() and reader.texts() and not reader.evidence()
    reader.close()


def test_predictions_are_kept_in_pieces(tmp_path: Path, monkeypatch) -> None:
    """A model that fails on the second piece is asked about that one only, afterwards."""
    monkeypatch.setattr("anchorscope.asking.predicting.AT_ONCE", 10)
    run = make_run(folder=tmp_path / "run")
    kept = Journal.write_predictions

    def fails_later(self: Journal, start: int, *rest: object) -> None:
        if start >= 20:
            raise StorageError("full")
        kept(self, start, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Journal, "write_predictions", fails_later)
    with pytest.raises(StorageError):
        finish(run)
    monkeypatch.setattr(Journal, "write_predictions", kept)
    again = make_run(folder=tmp_path / "run", resume=True)
    finish(again)
    assert outcome(again) == explained()


# --- model files ---


@pytest.mark.parametrize("content", [b"", b"\x08\x07", b"(cos\nsystem\n"])
def test_an_onnx_file_without_a_tokenizer_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"no tokenizer.json beside 'model.onnx'"):
        load_predictor(str(tmp_path / "model.onnx"))


# --- the command line ---

MODEL = """
import sys

def model(texts):
    print("the model talks")
    return [[0.1, 0.9] if "great" in text else [0.8, 0.2] for text in texts]
"""


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    (tmp_path / "talking.py").write_text(MODEL)
    rows = "".join(f'"{text}"\n' for text in reviews(40))
    (tmp_path / "docs.csv").write_text("text\n" + rows)
    return tmp_path


def explain(workplace: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "anchorscope.cli", "explain", "docs.csv", "--model", "talking:model"]
    more = ["--labels", "no,yes", "--json", *options]
    return subprocess.run([*command, *more], cwd=workplace, capture_output=True, text=True, check=False)


def test_what_a_model_prints_in_a_worker_is_no_data(workplace: Path) -> None:
    done = explain(workplace, "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["finished"] and "the model talks" in done.stderr


def test_no_texts_on_the_command_line(workplace: Path) -> None:
    done = explain(workplace, "--no-texts", "--out", "run", "-q")
    assert done.returncode == 0, done.stderr
    everything = b"".join(path.read_bytes() for path in (workplace / "run").iterdir())
    assert not [text for text in reviews(40) if len(text.split()) > 2 and text.encode() in everything]
    again = explain(workplace, "--out", "run", "--resume", "-q")
    assert again.returncode == 2 and "texts were not kept, now they are" in again.stderr


def test_settings_of_the_wrong_kind_are_one_sentence() -> None:
    for given in ({"tau": None}, {"order": 3}, {"labels": "yes"}, {"tau_tilde": "no"}):
        with pytest.raises(InputError, match="must be"):
            replace(Settings(), **given)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_page_that_nobody_keeps_leaves_no_texts_behind(number: signal.Signals, tmp_path: Path) -> None:
    """Three documents, a page, a signal: the scratch folder of its run goes with the process."""
    documents = tmp_path / "documents.csv"
    documents.write_text("text\na great film\na bad film\na plot\n", encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "anchorscope.cli", "serve", str(documents), *hostile_folders.MODEL, "--port", "0", "-q"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=signals.as_in_a_terminal,
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        assert list(temporary.iterdir())
        process.send_signal(number)
        assert process.wait(20) == -number
    assert not list(temporary.iterdir())

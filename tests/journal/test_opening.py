"""A journal in somebody else's folder: nothing is repaired or followed there, and what is read is one state."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from runs import explained, finish, make_run, outcome
from test_files import IRREGULAR

from anchorscope.errors import RunFolderError
from anchorscope.files import JOURNAL, read_regular
from anchorscope.journal import opening, reader
from anchorscope.journal.opening import INDEX, LARGEST_COPY, LOG, ROLLBACK, open_for_reading
from anchorscope.journal.reader import RunReader
from anchorscope.journal.writer import LOCK, Journal
from reliability.planted import SCHEMAS, plant_rollback


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("made") / "run"
    finish(make_run(folder=folder))
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where private copies go."""
    folder = tmp_path / "copies"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def killed(run: Path, tmp_path: Path) -> Path:
    """A run whose last rounds are in the log only, as a kill leaves it; and how many rounds it has."""
    with closing(sqlite3.connect(run / JOURNAL)) as db:
        db.execute("PRAGMA wal_autocheckpoint=0")
        with db:
            db.execute("INSERT INTO rounds SELECT number + 100, cost FROM rounds")
        folder = Path(shutil.copytree(run, tmp_path / "killed"))
    assert (folder / LOG).stat().st_size > 0
    return folder


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file, its bytes and when it was written."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir() if path.is_file()}


def n_rounds(folder: Path) -> int:
    with closing(RunReader(folder)) as kept:
        return len(kept.closed_rounds())


# --- nothing in the folder is touched ---


def test_reading_leaves_no_trace(run: Path, copies: Path) -> None:
    before = state(run)
    with closing(RunReader(run)) as kept:
        kept.tally()
        assert not [*copies.iterdir()], "there is no log: no copy is needed"
    assert state(run) == before


def test_rows_in_the_log_are_read_from_a_copy_that_has_no_name(killed: Path, copies: Path) -> None:
    """Nothing is left of it while it is read: not even a kill leaves texts behind."""
    before = state(killed)
    kept = RunReader(killed)
    assert not [*copies.iterdir()]
    rounds = sorted(kept.closed_rounds())
    assert rounds[len(rounds) // 2 :] == [number + 100 for number in rounds[: len(rounds) // 2]]
    kept.tally(), kept.texts()
    kept.close()
    assert state(killed) == before and not [*copies.iterdir()]


def test_a_copy_that_cannot_be_read_is_removed_too(killed: Path, copies: Path) -> None:
    (killed / JOURNAL).write_bytes(b"no journal" * 1000)
    with pytest.raises(RunFolderError):
        RunReader(killed)
    assert not [*copies.iterdir()]


def test_an_empty_log_needs_no_copy(run: Path, copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run / LOG).touch()
    monkeypatch.setattr(opening, "mkdtemp", None)
    assert n_rounds(run) > 1


def test_a_folder_whose_name_is_no_text_is_read(run: Path) -> None:
    """File names are bytes."""
    odd = run.with_name(os.fsdecode(b"caf\xe9 ?#%41"))
    run.rename(odd)
    assert n_rounds(odd) > 1
    finish(make_run(folder=odd, resume=True))


# --- planted files ---


def test_the_planted_journal_would_delete_a_file(run: Path, tmp_path: Path) -> None:
    """The control: whoever opens the file as usual deletes the victim."""
    (tmp_path / "victim").write_text("precious")
    plant_rollback(run / JOURNAL, tmp_path / "victim")
    with closing(sqlite3.connect(run / JOURNAL)) as db:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("with_log", [False, True])
def test_a_planted_journal_deletes_nothing_for_readers(with_log: bool, run: Path, killed: Path, tmp_path: Path) -> None:
    folder = killed if with_log else run
    (tmp_path / "victim").write_text("precious")
    plant_rollback(folder / JOURNAL, tmp_path / "victim")
    before = state(folder)
    assert n_rounds(folder) > 1
    assert (tmp_path / "victim").read_text() == "precious" and state(folder) == before


@pytest.mark.parametrize("with_log", [False, True])
def test_a_planted_journal_is_not_gone_on_with(with_log: bool, run: Path, killed: Path, tmp_path: Path) -> None:
    folder = killed if with_log else run
    (tmp_path / "victim").write_text("precious")
    plant_rollback(folder / JOURNAL, tmp_path / "victim")
    for write in (lambda: make_run(folder=folder, resume=True), lambda: Journal(folder)):
        with pytest.raises(RunFolderError, match=ROLLBACK):
            write()
    assert (tmp_path / "victim").read_text() == "precious" and (folder / ROLLBACK).exists()


@pytest.mark.parametrize("kind", IRREGULAR)
@pytest.mark.parametrize("name", [JOURNAL, LOG])
def test_no_reader_follows_what_is_no_file(name: str, kind: str, run: Path) -> None:
    (run / name).unlink(missing_ok=True)
    IRREGULAR[kind](run / name)
    with pytest.raises(RunFolderError, match="no regular file"):
        RunReader(run)


@pytest.mark.parametrize("kind", IRREGULAR)
@pytest.mark.parametrize("name", [JOURNAL, LOG, INDEX, LOCK, "result.json"])
def test_no_run_goes_on_through_what_is_no_file(name: str, kind: str, run: Path) -> None:
    (run / name).unlink(missing_ok=True)
    IRREGULAR[kind](run / name)
    with pytest.raises(RunFolderError, match="no regular file"):
        make_run(folder=run, resume=True)
    if kind == "link":
        assert (run / "victim").read_text() == "precious"


@pytest.mark.parametrize("name", [LOG, INDEX])
def test_a_log_without_its_journal_is_no_runs(name: str, tmp_path: Path) -> None:
    """It would be put over the journal that is made, and be deleted with it."""
    (tmp_path / name).write_bytes(b"somebody's")
    with pytest.raises(RunFolderError, match="the log of a journal and no journal"):
        finish(make_run(folder=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"somebody's"


def test_a_journal_that_was_kept_otherwise_is_gone_on_with_in_our_way(run: Path) -> None:
    """A tool may have written it without a log: a kill would then leave a rollback journal, which is refused."""
    with closing(sqlite3.connect(run / JOURNAL)) as db:
        assert db.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",)
    Journal(run).close()
    with closing(sqlite3.connect(run / JOURNAL)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("change", SCHEMAS)
def test_no_schema_but_ours_is_read_or_gone_on_with(change: str, run: Path) -> None:
    with closing(sqlite3.connect(run / JOURNAL)) as db, db:
        db.execute(SCHEMAS[change])
    for opened in (RunReader, Journal):
        with pytest.raises(RunFolderError, match="other tables than a run writes"):
            opened(run)


# --- one state ---


def test_a_log_of_an_earlier_try_is_not_put_over_the_file(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While file and log are copied, the writer closes another round, ends, and takes the log in: once more, then.

    If the log of the first try were left there, it would undo the last round.
    """
    (run / "result.json").unlink()
    journal = Journal(run)
    closed = journal.closed_rounds()
    journal.write_round(len(closed), journal.read_round(0), (), (), closed[0])
    moment = opening._moment
    calls: list[Path] = []

    def watched(folder: Path) -> opening.Moment:
        calls.append(folder)
        if len(calls) == 3:  # when it is opened, before the first try, and after it
            journal.write_round(len(closed) + 1, journal.read_round(0), (), (), closed[0])
            journal.close()
            assert not (run / LOG).exists()
        return moment(folder)

    monkeypatch.setattr(opening, "_moment", watched)
    with closing(RunReader(run)) as kept:
        assert sorted(kept.closed_rounds()) == [*range(len(closed) + 2)]
    assert len(calls) == 5


def test_who_read_a_file_that_was_written_to_is_told(run: Path) -> None:
    """A run that goes on writes into its log; at its end that is taken into the file, under the eyes of the reader."""
    kept = RunReader(run)
    with closing(sqlite3.connect(run / JOURNAL)) as db, db:
        db.execute("DELETE FROM rounds")
    with pytest.raises(RunFolderError, match="was written to while it was read; try again"):
        kept.close()
    kept.close()


def test_who_read_a_file_that_has_gone_read_what_it_was(run: Path) -> None:
    kept = RunReader(run)
    shutil.rmtree(run)
    assert kept.closed_rounds()
    kept.close()


WRITES = """
import sys
sys.path.insert(0, "tests")
from pathlib import Path
from runs import make_run
for seed in range(3):
    for snapshot in make_run(folder=Path(sys.argv[1]) / str(seed), round_size=1, seed=seed).snapshots():
        pass
"""


def test_a_reader_sees_whole_rounds_while_a_run_writes(tmp_path: Path, copies: Path) -> None:
    """Thirty rounds each in three runs, read all the time: as many rounds as measurements, one after another.

    What was shown after a round is written right after it: it may be one behind.
    """
    writer = subprocess.Popen([sys.executable, "-c", WRITES, str(tmp_path)], cwd=Path(__file__).parents[2])
    seen: set[tuple[str, int]] = set()
    while writer.poll() is None:
        for folder in (tmp_path / str(seed) for seed in range(3)):
            try:
                with closing(RunReader(folder)) as kept:
                    rounds = kept.closed_rounds()
                    measured = [number for (number,) in kept._db.execute("SELECT round FROM measurements ORDER BY 1")]
                    shown = len(kept.moments())
                    kept.tally()
            except RunFolderError as error:
                told = str(error)
                assert any(
                    part in told for part in ("is no run folder", "before its first test", "while it was read")
                ), told
                continue
            assert sorted(rounds) == measured == [*range(len(rounds))]
            assert len(rounds) - shown in (0, 1)
            seen.add((folder.name, len(rounds)))
    assert writer.returncode == 0 and len(seen) > 3
    assert not [*copies.iterdir()]


def test_a_killed_run_resumes_to_the_same(tmp_path: Path) -> None:
    """A copy of the folder while the run goes on is what a kill leaves."""
    stream = make_run(folder=tmp_path / "run").snapshots()
    for _ in range(4):
        next(stream)
    shutil.copytree(tmp_path / "run", tmp_path / "killed")
    stream.close()
    (tmp_path / "killed" / LOCK).write_text("")
    assert (tmp_path / "killed" / LOG).stat().st_size > 0
    again = make_run(folder=tmp_path / "killed", resume=True)
    finish(again)
    assert outcome(again) == explained()
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == sorted([JOURNAL, LOCK, "result.json"])


# --- what is asked for ---


def test_a_log_of_holes_is_not_copied(run: Path, copies: Path) -> None:
    """Two terabytes that take no room here would fill the disk."""
    (run / LOG).touch()
    os.truncate(run / LOG, LARGEST_COPY + 1)
    with pytest.raises(RunFolderError, match="no file of a run has more"):
        RunReader(run)
    assert not [*copies.iterdir()]


def test_a_small_journal_may_not_ask_for_a_large_table(run: Path) -> None:
    """1,500 labels and 100,000 terms, 150 million cells, in a file of two megabytes."""
    with closing(sqlite3.connect(run / JOURNAL)) as db, db:
        db.executemany("INSERT INTO labels VALUES (?, ?)", ((i, str(i)) for i in range(2, 1500)))
        db.executemany("INSERT INTO terms VALUES (?, ?, ?, 0, 0)", ((i, str(i), str(i)) for i in range(12, 100_000)))
    assert (run / JOURNAL).stat().st_size < 3 << 20
    with pytest.raises(RunFolderError, match="a table of 150,000,000 cells"):
        RunReader(run)


def ask_for_a_large_table(db: sqlite3.Connection, n_labels: int) -> None:
    """A hundred thousand terms of each label, in less than two megabytes, which explain some seven million cells."""
    with db:
        db.executemany("INSERT INTO labels VALUES (?, ?)", ((i, str(i)) for i in range(2, n_labels)))
        db.executemany("INSERT INTO terms VALUES (?, ?, '', 0, 0)", ((i, str(i)) for i in range(12, 100_000)))


def sparse(folder: Path) -> None:
    """The pages that are missing are holes; the header counts them."""
    size = 8 << 20
    os.truncate(folder / JOURNAL, size)
    with open(folder / JOURNAL, "r+b") as file:
        page_size = int.from_bytes(file.read(18)[16:], "big")
        file.seek(28)
        file.write((size // page_size).to_bytes(4, "big"))


def freed(folder: Path) -> None:
    """The pages that are missing are free ones, of rows that were removed."""
    with closing(sqlite3.connect(folder / JOURNAL)) as db:
        with db:
            db.execute("INSERT INTO texts VALUES (1000, ?)", ("x" * (8 << 20),))
        with db:
            db.execute("DELETE FROM texts WHERE document = 1000")


@pytest.mark.parametrize(
    ("inflate", "told"),
    [
        (lambda folder: None, "a table of 10,000,000 cells"),
        (sparse, "its pages are not those of its tables"),
        (freed, "a table of 10,000,000 cells"),
    ],
    ids=["as it is", "sparse", "freed"],
)
def test_what_holds_nothing_explains_nothing(inflate: Callable[[Path], None], told: str, run: Path) -> None:
    """Eight megabytes would explain the table; the holes and free pages among them do not."""
    with closing(sqlite3.connect(run / JOURNAL)) as db:
        ask_for_a_large_table(db, 100)
    inflate(run)
    with closing(sqlite3.connect(run / JOURNAL)) as db:
        n_pages, page_size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    assert inflate not in (sparse, freed) or n_pages * page_size >= 8 << 20
    with pytest.raises(RunFolderError, match=told):
        RunReader(run)


def test_rows_in_the_log_explain_what_they_ask_for(run: Path, tmp_path: Path) -> None:
    """Three million cells: the file holds nothing of them yet, the log all that explains them."""
    with closing(sqlite3.connect(run / JOURNAL)) as db:
        db.execute("PRAGMA wal_autocheckpoint=0")
        ask_for_a_large_table(db, 30)
        folder = Path(shutil.copytree(run, tmp_path / "logged"))
    assert (folder / JOURNAL).stat().st_size < 1 << 19 < (folder / LOG).stat().st_size
    RunReader(folder).close()


def test_a_small_file_may_ask_for_what_it_explains(monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    """Two labels and twelve terms are 24 cells; beyond what is free, a byte explains so many."""
    size = (run / JOURNAL).stat().st_size
    with closing(sqlite3.connect(run / JOURNAL)) as db:
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
    monkeypatch.setattr(reader, "FREE_CELLS", 1)
    monkeypatch.setattr(reader, "CELLS_A_BYTE", 24 / size)
    RunReader(run).close()
    monkeypatch.setattr(reader, "CELLS_A_BYTE", 23 / size)
    with pytest.raises(RunFolderError, match="a table of 24 cells"):
        RunReader(run)


def test_open_for_reading_is_what_readers_use(run: Path) -> None:
    """Read-only and immutable: a write is refused by SQLite itself."""
    opened = open_for_reading(run)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        opened.db.execute("DELETE FROM rounds")
    opened.close()
    assert read_regular(run / JOURNAL)[:15] == b"SQLite format 3"

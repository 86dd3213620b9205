"""The paper's experiments in small: loaders on made files, a pass that stops and goes on, pictures, tables, claims."""

from __future__ import annotations

import copy
import csv
import gzip
import json
import math
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import numpy as np
import pytest

from anchorscope.asking.removals import Removals
from anchorscope.cli import main
from anchorscope.errors import DocumentsError, InputError, RunFolderError, UnknownNameError
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.reproduction import claims, driver, grid, models, records, rules, tables, tasks
from anchorscope.reproduction.agreements import Agreements, KeptProbabilities
from anchorscope.reproduction.figures import OURS
from anchorscope.reproduction.learnt import learnt
from anchorscope.reproduction.measure import Drawing, Subject, draw, replayed
from anchorscope.reproduction.page import page, write_page
from anchorscope.reproduction.records import Key
from anchorscope.reproduction.remembered import Remembered
from anchorscope.reproduction.replay import Replay
from anchorscope.reproduction.summary import Box, Summary
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.testing import WeightPredictor
from anchorscope.text.read import read_texts
from anchorscope.types import Snapshot
from benchmarks import paper_grid

WEIGHTS = {"great": 2.0, "fine": 1.0, "hand": 1.2, "bad": -2.0, "dull": -1.2, "crisis": -1.0}
NEUTRAL = ("film", "cast", "the", "plot", "and", "story", "people", "today", "online", "music")


def sentences(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Short texts of 30 to 60 characters, labelled by a model that weighs words."""
    chances = np.random.default_rng(seed)
    words = [*WEIGHTS, *NEUTRAL]
    texts = [" ".join(chances.choice(words, chances.integers(6, 10))) for _ in range(n)]
    rows = WeightPredictor(WEIGHTS).predict(texts)
    return [(text, "positive" if row[1] > 0.5 else "negative") for text, row in zip(texts, rows)]


def write_table(path: Path, header: list[str], rows: list[list[str]], encoding: str = "utf-8") -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tasks as text,label files."""
    folder = tmp_path_factory.mktemp("data")
    write_table(folder / "rotten_tomatoes.csv", ["text", "label"], [list(row) for row in sentences(120)])
    write_table(folder / "corona_train_3class.csv", ["text", "label"], [list(row) for row in sentences(120, seed=1)])
    return folder


# --- tasks ---


def test_kaggles_corona_file(tmp_path: Path) -> None:
    """Latin-1, its own columns, five labels: extreme ones merged, neutral dropped, tweets cleaned."""
    labels = ["Extremely Negative", "Negative", "Neutral", "Positive", "Extremely Positive"]
    rows = [["1", f"@bob Caf\xe9 closed, #COVID19 day {i} https://t.co/x", labels[i % 5]] for i in range(100)]
    write_table(tmp_path / "Corona_NLP_train.csv", ["UserName", "OriginalTweet", "Sentiment"], rows, "latin-1")
    task = tasks.load("corona", tmp_path)
    every = [*task.train, *task.validation, *task.test]
    assert len(every) == 80 and {label for _, label in every} == {"negative", "positive"}
    assert (len(task.train), len(task.validation), len(task.test)) == (40, 10, 30)
    assert sorted(every)[0][0].startswith("caf\xe9 closed, covid19 day")
    assert not task.stand_in


def test_kaggles_dilemma_file_is_balanced(tmp_path: Path) -> None:
    rows = [[f"tweet number {i} about it", "Positive" if i % 4 else "Negative", "x"] for i in range(200)]
    write_table(tmp_path / "TheSocialDilemma.csv", ["text", "Sentiment", "source"], rows)
    task = tasks.load("dilemma", tmp_path)
    every = [*task.train, *task.validation, *task.test]
    assert len(every) == 100 and sum(label == "negative" for _, label in every) == 50
    assert len(task.train) == 45


def test_kaggles_spam_file_is_json_lines(tmp_path: Path) -> None:
    lines = [json.dumps({"reviewText": f"a toy of kind {i}", "class": float(i % 2)}) for i in range(40)]
    (tmp_path / "Toys_and_Games.json").write_text("\n".join(lines) + "\n")
    task = tasks.load("toys", tmp_path)
    assert {label for _, label in task.train} == {"spam", "non-spam"}


def test_packed_tables_and_the_documents_that_are_explained(tmp_path: Path) -> None:
    texts = ["x" * n for n in range(10, 260)]
    lines = "".join(f"{text},{'positive' if len(text) % 2 else 'negative'}\n" for text in texts)
    with gzip.open(tmp_path / "amazon_snippets_hutto.csv.gz", "wt", encoding="utf-8") as file:
        file.write("text,label\n" + lines)
    task = tasks.load("amazon", tmp_path)
    explained = task.explained()
    assert task.stand_in and {len(text) for text, _ in explained} == {*range(21, 201)}, "of so few rows, all"
    tested = replace(task, explains_all=False)
    assert tested.explained() == [(text, label) for text, label in task.test if 20 < len(text) <= 200]
    assert task.explained(5) == explained[:5]
    assert max(len(text) for text, _ in task.explained(longest=100)) <= 100
    assert tasks.load("amazon", tmp_path) == task, "the split is the same every time"


@pytest.mark.parametrize(
    "name, content, told",
    [
        ("corona", "a,b\n1,2\n", "has no columns text and label"),
        ("corona", "text,label\nfine,positive\n", "needs documents of two labels"),
        ("dilemma", None, "expected TheSocialDilemma.csv or dilemma_3class.csv"),
    ],
    ids=["columns", "one-label", "missing"],
)
def test_a_folder_in_another_format_is_refused(tmp_path: Path, name: str, content: str | None, told: str) -> None:
    if content is not None:
        (tmp_path / "corona_train_3class.csv").write_text(content)
    with pytest.raises(DocumentsError, match=told):
        tasks.load(name, tmp_path)
    with pytest.raises(DocumentsError, match="is no folder"):
        tasks.load("corona", tmp_path / "nowhere")


# --- the grid ---


def test_each_setting_differs_from_its_base_in_what_it_is_named_for() -> None:
    def changed(name: str, base: str) -> set[str]:
        mine, other = (grid.SETTINGS[n].settings(42).to_dict() for n in (name, base))
        return {key for key in mine if mine[key] != other[key]}

    assert changed("delta-0.35", "unoptimised") == {"delta"}
    assert changed("stop-rare", "unoptimised") == {"stop_words", "min_occurrences"}
    assert changed("filter", "stop-rare") == {"filter"}
    assert changed("tau-tilde", "stop-rare") == {"tau_tilde"}
    assert changed("masking", "stop-rare") == {"top_n"}
    assert changed("sample-25", "stop-rare") == {"sample_documents"}
    assert changed("order-length", "stop-rare") == {"order"}
    assert changed("length-400", "stop-rare") == set() and grid.SETTINGS["length-400"].longest == 400
    assert changed("optimised", "stop-rare") == {"delta", "filter", "tau_tilde", "top_n"}
    assert [grid.SETTINGS[n].settings(42).delta for n in grid.DELTAS] == [0.1, 0.15, 0.2, 0.35, 0.5, 0.5]


# --- one setting, measured ---


def a_subject(n: int = 80) -> Subject:
    texts = [text for text, _ in sentences(n, seed=3)]
    model = WeightPredictor(WEIGHTS)
    return Subject(
        asked=model,
        remembered=Remembered(model),
        perturbator=learnt(CorpusPerturbator(top_n=30), texts),
        texts=texts,
        training=texts,
        removals=lambda label: Removals(model, texts, label),
    )


def a_drawing(folder: Path, top_n: int = 500, **given) -> Drawing:
    plain = {"at_once": 1, "deadline": math.inf, "clock": process_time}
    keep = KeptProbabilities(folder / f"keep{top_n}.npz", {"made": 1})
    return Drawing(agreements=Agreements(folder / f"{top_n}.npz", {"made": 1}, 1000), keep=keep, **{**plain, **given})


def settings_of(name: str, round_size: int = 8) -> Settings:
    """A setting of the grid, of which no test reads more than 60 samples: what was not decided by then counts, too."""
    return replace(grid.SETTINGS[name].settings(42, top_k=4, round_size=round_size), max_samples=60)


def test_a_record_holds_the_quality_of_what_was_shown(tmp_path: Path) -> None:
    subject = a_subject()
    record = replayed(subject, settings_of("unoptimised"), a_drawing(tmp_path), with_aggregations=True)
    model = subject.asked
    for label in model.labels:
        last = record["moments"][-1]["labels"][label]
        assert last["terms"] == record["terms"][label] == record["aggregations"]["pr"][label]["terms"][:4]
        assert last["aopc"] == pytest.approx(Removals(model, subject.texts, label).aopc(last["terms"]))
        for name in ("sq", "av"):
            whole = record["aggregations"][name][label]
            assert record["over_time"][name][-1]["labels"][label]["terms"] == whole["terms"]
            assert whole["curve"][-1] == pytest.approx(Removals(model, subject.texts, label).aopc(whole["terms"]))
        places = [word for word, _ in record["positions"][label]["sq"]]
        for word, place in record["positions"][label]["pr"]:
            assert places[place] == word
    seconds = [moment["seconds"] for moment in record["moments"]]
    assert seconds == sorted(seconds) and record["seconds"] == seconds[-1]
    assert record["anchors"]["words"] >= record["anchors"]["of_one_class"] > 0


# --- replays ---

REPLAYED = [name for name in grid.SETTINGS if name != "fast"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Agreements of the setting that reads deepest with a fixed threshold, as they come back from the disk."""
    folder = tmp_path_factory.mktemp("drawn")
    for name in ("unoptimised", "masking"):
        drawing = a_drawing(folder, settings_of(name).top_n)
        draw(a_subject(), settings_of(name, 40), drawing)
        drawing.agreements.save()
        drawing.keep.save()
    return folder


def shown_by(subject: Subject, settings: Settings, replay: Replay | None = None) -> list[Snapshot]:
    """The snapshots of a replay, or of a run of its own."""
    backend = "local" if replay is None else lambda score, workers: replay
    run = Run(read_texts(subject.texts), subject.asked, subject.perturbator, settings, backend=backend)
    return list(run.snapshots())


@pytest.mark.parametrize("name", REPLAYED)
def test_a_replay_is_the_run(drawn: Path, name: str) -> None:
    """Lists with all their counts after every round, tests, samples and documents: for every setting of the grid."""
    subject = a_subject()
    settings = settings_of(name)
    drawing = a_drawing(drawn, settings.top_n)
    known = drawing.agreements.spent.drawn
    replay = Replay(subject.asked, subject.perturbator, settings, drawing.agreements, drawing.keep)
    shown = (shown_by(subject, settings, replay), shown_by(subject, settings))
    assert len(shown[0]) == len(shown[1]) > 2
    for mine, other in zip(*shown):
        assert {**mine.explanations} == {**other.explanations}
        counted = [(one.cost.documents, one.cost.tests, one.cost.undecided, one.cost.samples) for one in (mine, other)]
        assert counted[0] == counted[1]
    if settings.tau_tilde or name == "masking":
        return  # a lowered threshold may ask for more than was drawn
    assert drawing.agreements.spent.drawn == known, "nothing was drawn again"


def test_every_aggregation_is_replayed(drawn: Path) -> None:
    subject = a_subject()
    for aggregation in grid.AGGREGATIONS:
        settings = replace(settings_of("unoptimised"), aggregation=aggregation)
        drawing = a_drawing(drawn)
        replay = Replay(subject.asked, subject.perturbator, settings, drawing.agreements, drawing.keep)
        mine = shown_by(subject, settings, replay)[-1]
        assert mine.explanations == shown_by(subject, settings)[-1].explanations, aggregation


def test_drawing_that_was_stopped_goes_on_to_the_same_bits(drawn: Path, tmp_path: Path) -> None:
    """A deadline that comes in the middle, time and again; and large blocks read deeper, but begin alike."""
    settings = settings_of("unoptimised", 40)
    parts = 0
    while True:  # each call has twice the time of the last, so that a busy machine ends, too
        drawing = a_drawing(tmp_path, deadline=monotonic() + 0.02 * 2**parts)
        try:
            draw(a_subject(), settings, drawing)
            break
        except models.OutOfTimeError:
            parts += 1
        finally:
            drawing.agreements.save()
            drawing.keep.save()
    assert parts > 1
    whole = a_drawing(drawn)
    wide = a_drawing(tmp_path / "wide", at_once=4096)
    draw(a_subject(), settings, wide)
    rows = np.arange(len(whole.agreements))
    assert (drawing.agreements.drawn[rows] == whole.agreements.drawn[rows]).all()
    assert (drawing.agreements.read(rows) == whole.agreements.read(rows)).all()
    assert wide.agreements.spent.drawn > whole.agreements.spent.drawn
    n = int(whole.agreements.drawn[rows].min())
    assert (wide.agreements.read(rows)[:, :n] == whole.agreements.read(rows)[:, :n]).all()


def test_agreements_of_something_else_are_refused(drawn: Path, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="holds samples of another made"):
        Agreements(drawn / "500.npz", {"made": 2}, 1000)
    (tmp_path / "broken.npz").write_bytes(b"PK")
    with pytest.raises(RunFolderError, match="cannot be read"):
        KeptProbabilities(tmp_path / "broken.npz", {})


def becomes(value: Any) -> Callable[[Any], Any]:
    """Something else in place of a column."""
    return lambda column: value


DAMAGE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "no identity": ("identity", becomes(None)),
    "an identity that is a list": ("identity", becomes("[]")),
    "an identity without what was spent": ("identity", becomes('{"made": 1}')),
    "less than no time": ("identity", becomes('{"made": 1, "spent": {"seconds": -1, "drawn": 2}}')),
    "time that is none": ("identity", becomes('{"made": 1, "spent": {"seconds": "long", "drawn": 2}}')),
    "an identity in many brackets": ("identity", becomes("[" * 10**5)),
    "no documents": ("documents", becomes(None)),
    "documents as numbers": ("documents", lambda column: column.astype(float)),
    "one document twice": ("documents", np.zeros_like),
    "a column too few": ("where", lambda column: column[:, :1]),
    "an occurrence of no document": ("where", lambda column: column + 10**6),
    "an occurrence twice": ("where", np.zeros_like),
    "other numbers of rows": ("drawn", lambda column: column[:-1]),
    "more samples than there are": ("drawn", lambda column: column + 10**6),
    "samples of more than a test": ("bits", lambda column: np.zeros((len(column), 10**4), np.uint8)),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_agreements_that_no_run_has_written_are_one_sentence(kind: str, drawn: Path, tmp_path: Path) -> None:
    with np.load(drawn / "500.npz") as file:
        columns = {name: file[name] for name in file.files}
    name, damaged = DAMAGE[kind]
    columns[name] = damaged(columns[name])
    columns = {name: column for name, column in columns.items() if column is not None}
    path = tmp_path / "agreements.npz"
    np.savez(path, **columns)
    with pytest.raises(RunFolderError, match=r"agreements.npz cannot be read \(.+\); take it out of the folder"):
        Agreements(path, {"made": 1}, 1000)


@pytest.mark.parametrize(
    "change",
    [
        {"n_words": np.array([-1], np.int32)},
        {"n_words": np.array([2], np.int32)},
        {"keep": np.array([1.5])},
        {"keep": np.array([np.nan])},
        {"keep": np.array(["x"])},
    ],
    ids=str,
)
def test_probabilities_that_no_run_has_written_are_one_sentence(change: dict[str, Any], tmp_path: Path) -> None:
    identity = json.dumps({"spent": {"seconds": 1.0, "drawn": 1}})
    sound = {
        "identity": identity,
        "documents": np.zeros((1, 16), np.uint8),
        "n_words": np.ones(1, np.int32),
        "keep": np.full(1, 0.5),
    }
    np.savez(tmp_path / "keep.npz", **sound)
    assert len(KeptProbabilities(tmp_path / "keep.npz", {})) == 1
    np.savez(tmp_path / "keep.npz", **{**sound, **change})
    with pytest.raises(RunFolderError, match=r"keep.npz cannot be read \(.+\); take it out of the folder"):
        KeptProbabilities(tmp_path / "keep.npz", {})


def test_an_array_and_a_damaged_file_are_no_agreements(drawn: Path, tmp_path: Path) -> None:
    data = bytearray((drawn / "500.npz").read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    (tmp_path / "damaged.npz").write_bytes(data)
    with (tmp_path / "array.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    for name in ("damaged", "array"):
        with pytest.raises(RunFolderError, match="cannot be read"):
            Agreements(tmp_path / f"{name}.npz", {"made": 1}, 1000)


def test_a_model_is_asked_once_for_a_text() -> None:
    asked = []

    class Counting(WeightPredictor):
        def predict(self, texts):
            asked.extend(texts)
            return super().predict(texts)

    model = Remembered(Counting(WEIGHTS))
    first = model.predict(["a great film", "a bad film", "a great film"])
    again = model.predict(["a bad film", "a great film"])
    assert sorted(asked) == ["a bad film", "a great film"] and (again == first[[1, 0]]).all()


# --- records ---


def test_records_are_read_back_and_mixed_ones_refused(tmp_path: Path) -> None:
    key = Key("corona", "deberta", "filter", 42)
    records.write(tmp_path, key, {"made": {"documents": 60}})
    found = records.read(tmp_path)
    assert found[key]["made"] == {"documents": 60} and [*found] == [key]
    records.check_alike(found, "corona", "deberta", {"documents": 60})
    records.check_alike(found, "corona", "small-bert", {"documents": 90})
    with pytest.raises(RunFolderError, match="made with documents 60, not 90"):
        records.check_alike(found, "corona", "deberta", {"documents": 90})
    (tmp_path / records.FOLDER / "other.json").write_text('{"schema": 9}')
    with pytest.raises(RunFolderError, match="is no record of a run"):
        records.read(tmp_path)


# --- a pass ---

SETTINGS = (
    *("unoptimised", "delta-0.5", "stop-rare", "filter", "tau-tilde", "masking", "optimised", "order-random"),
    *("order-length", "length-100", "length-400", "fast"),
)


@pytest.fixture(scope="module")
def a_pass(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small pass through most of the grid, in two calls with different seeds."""
    out = tmp_path_factory.mktemp("pass")
    for seed in (42, 84):
        plan = a_plan(out, data, seeds=[seed])
        outcome = driver.reproduce(plan, lambda sentence: None)
        assert (outcome.made, outcome.left) == (len(SETTINGS), 0), outcome.left_out
    return out


def a_plan(out: Path, data: Path, **given) -> driver.Plan:
    plain = {
        "tasks": ["corona"],
        "models": ["logistic-regression"],
        "settings": SETTINGS,
        "seeds": [42],
        "documents": 24,
        "perturbator": "mask-token",
        "workshop": models.Workshop(out / "models"),
        "top_k": 5,
    }
    return driver.Plan(out=out, data=data, **{**plain, **given})


def test_what_is_stored_is_not_run_again(a_pass: Path, data: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (a_pass / records.FOLDER).iterdir()}
    assert driver.reproduce(a_plan(a_pass, data), lambda sentence: None).made == 0
    assert {path: path.stat().st_mtime_ns for path in (a_pass / records.FOLDER).iterdir()} == before
    with pytest.raises(RunFolderError, match="documents 24, not 31"):
        driver.reproduce(a_plan(a_pass, data, documents=31, seeds=[126]), lambda sentence: None)


def test_a_deadline_ends_a_pass(tmp_path: Path, data: Path) -> None:
    outcome = driver.reproduce(a_plan(tmp_path, data, deadline=monotonic() - 1), lambda sentence: None)
    assert (outcome.made, outcome.left) == (0, len(SETTINGS))


def test_a_pass_makes_every_output(a_pass: Path, tmp_path: Path) -> None:
    written = {path.name for path in write_page(records.read(a_pass), tmp_path / "page.md")}
    figures = ("intro", "aggregations", "deltas", "optimisations", "samples", "shared", "shared-deltas", "lengths")
    for name in figures:
        assert {f"page_{name}_logistic-regression{suffix}" for suffix in (".svg", ".png")} <= written
    tables = ("aggregations", "settings", "over_time", "top_terms", "side_by_side", "positions", "accuracy_drop")
    assert {f"page_{name}.csv" for name in tables} <= written
    text = (tmp_path / "page.md").read_text()
    assert text.count("\n### ") == len(claims.CLAIMS) and "A small pass" in text
    with (tmp_path / "data" / "page_aggregations.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["aggregation"] for row in rows} == {*grid.AGGREGATIONS} and {row["seeds"] for row in rows} == {"2"}


@pytest.mark.parametrize("name", ["page.md", "data/page_claims.csv", "data/page_intro_logistic-regression.svg"])
def test_files_of_somebody_else_are_not_drawn_over(name: str, a_pass: Path, tmp_path: Path) -> None:
    """Its own files a pass replaces; another's is refused, even if it quotes ours."""
    stored = records.read(a_pass)
    written = {path.relative_to(tmp_path): path.read_bytes() for path in write_page(stored, tmp_path / "page.md")}
    write_page(stored, tmp_path / "page.md")
    assert {path: (tmp_path / path).read_bytes() for path in written} == written
    theirs = b"mine, not: " + written[Path(name)]
    (tmp_path / name).write_bytes(theirs)
    with pytest.raises(RunFolderError, match="no file that a run has written"):
        write_page(stored, tmp_path / "page.md")
    assert (tmp_path / name).read_bytes() == theirs


def test_a_page_of_somebody_else_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("a letter")
    assert main(["reproduce", "--quick", "--out", str(tmp_path / "out"), "--page", str(tmp_path / "page.md")]) == 2
    assert not (tmp_path / "out").exists()


def test_figures_of_somebody_else_are_known_by_their_maker(a_pass: Path, tmp_path: Path) -> None:
    """Matplotlib names itself in what it draws for others; no drawing of theirs is ours because a comment says so."""
    from matplotlib.figure import Figure

    for suffix in (".svg", ".png"):
        Figure().savefig(path := tmp_path / f"theirs{suffix}")
        drawn = path.read_bytes()
        assert not OURS.match(drawn)
        assert not OURS.match(drawn.replace(b"<metadata>", b"<metadata><!-- <dc:title>Anchorscope</dc:title> -->"))


def test_a_record_of_another_run_is_not_overwritten(tmp_path: Path) -> None:
    """The same run's is, of whatever schema."""
    key = Key("corona", "small-bert", "fast", 42)
    for text in ('{"schema": "mine"}', '{"schema": 2, "task": "dilemma", '):
        (tmp_path / "runs").mkdir(exist_ok=True)
        (tmp_path / "runs" / key.file).write_text(text)
        with pytest.raises(RunFolderError, match="no file that a run has written"):
            records.write(tmp_path, key, {})
    (tmp_path / "runs" / key.file).unlink()
    records.write(tmp_path, key, {"seconds": 1})
    records.write(tmp_path, key, {"seconds": 2})
    assert records.read(tmp_path)[key]["seconds"] == 2


def test_the_page_says_which_runs_are_missing_and_which_are_unlike_the_others(a_pass: Path) -> None:
    stored = copy.deepcopy(records.read(a_pass))
    whole = page(Summary(stored), [], "page")
    assert "are missing of" not in whole and "not all alike" not in whole
    del stored[Key("corona", "logistic-regression", "filter", 84)]
    stored[Key("corona", "logistic-regression", "fast", 42)]["settings"]["fill"] = "bank"
    told = page(Summary(stored), [], "page")
    assert "Some or all seeds are missing of filter on corona" in told
    assert "of the 2 runs of *fast*, fill is bank in 1 and blind in 1" in told


def test_the_papers_sentences_are_measured_on_corona(a_pass: Path) -> None:
    """The model of the made data weighs "hand" and "crisis", and knows none of the substitutes."""
    rows = list(Summary(records.read(a_pass)).sentence_rows())
    given, proposed = ([row for row in rows if row["proposed"] == so] for so in (False, True))
    assert proposed and all(row["in_top_10"] for row in proposed)
    drops = {row["alternative"]: row["drop"] for row in given if row["alternative"]}
    assert len(given) == 8 and drops["hand"] > 0 and drops["crisis"] > max(0, drops["situation"])


def test_rows_are_means_over_seeds(a_pass: Path) -> None:
    stored = records.read(a_pass)
    summary = Summary(stored)
    runs = [stored[Key("corona", "logistic-regression", "filter", seed)] for seed in (42, 84)]
    row = next(
        row
        for row in summary.setting_rows()
        if (row["task"], row["setting"], row["label"]) == ("corona", "filter", "positive")
    )
    assert row["seconds"] == pytest.approx(np.mean([run["seconds"] for run in runs]))
    reference = [stored[Key("corona", "logistic-regression", "unoptimised", s)]["terms"]["positive"] for s in (42, 84)]
    shares = [len({*run["terms"]["positive"]} & {*terms}) / len(terms) for run, terms in zip(runs, reference)]
    assert row["shared"] == pytest.approx(np.mean(shares))
    overlap = len({*reference[0]} & {*reference[1]}) / len(reference[0])
    assert summary.seed_overlap(Box("corona", "logistic-regression", "positive")) == overlap


# --- claims: the verdict follows the records ---


def altered(a_pass: Path, change) -> Summary:
    stored = copy.deepcopy(records.read(a_pass))
    for key, record in stored.items():
        if "with_evidence" in record:
            record["with_evidence"] = dict.fromkeys(record["terms"], 5)
        change(key, record)
    return Summary(stored)


def test_the_verdict_on_time_follows_the_times(a_pass: Path) -> None:
    def times(seconds: dict[str, float]):
        def change(key: Key, record: dict) -> None:
            record["made"]["perturbator"] = "embedded"
            if key.setting in seconds:
                record["seconds"] = seconds[key.setting]

        return change

    fast = {
        "unoptimised": 310.0,
        "optimised": 10.0,
        "stop-rare": 100.0,
        "filter": 65.0,
        "tau-tilde": 50.0,
        "masking": 90.0,
    }
    summary = altered(a_pass, times(fast))
    assert rules.times_faster(summary)[1] == rules.HOLDS and "31.0x" in rules.times_faster(summary)[0]
    assert rules.filter_saves(summary)[1] == rules.HOLDS and "35%" in rules.filter_saves(summary)[0]
    assert rules.each_accelerates(summary)[1] == rules.HOLDS
    slow = altered(a_pass, times({**fast, "unoptimised": 50.0, "filter": 110.0, "masking": 101.0}))
    assert rules.times_faster(slow)[1] == rules.FAILS
    assert rules.filter_saves(slow)[1] == rules.FAILS
    assert rules.each_accelerates(slow)[1] == rules.FAILS


def test_the_verdict_on_quality_follows_the_quality(a_pass: Path) -> None:
    def quality(values: dict[str, float]):
        def change(key: Key, record: dict) -> None:
            record["made"]["perturbator"] = "embedded"
            for label in record.get("terms", {}) if key.setting in values else ():
                record["moments"][-1]["labels"][label]["aopc"] = values[key.setting]

        return change

    good = altered(a_pass, quality({"unoptimised": 0.10, "delta-0.5": 0.097, "stop-rare": 0.1, "masking": 0.12}))
    assert rules.delta(good)[1] == rules.HOLDS and rules.masking(good)[1] == rules.HOLDS
    poor = altered(a_pass, quality({"unoptimised": 0.10, "delta-0.5": 0.06, "stop-rare": 0.1, "masking": 0.05}))
    assert rules.delta(poor)[1] == rules.FAILS and rules.masking(poor)[1] == rules.FAILS
    assert rules.masking(Summary(records.read(a_pass)))[1] == rules.UNTESTABLE, "mask-token proposes nothing"


def test_unlike_set_ups_are_judged_by_themselves(a_pass: Path) -> None:
    """With seed 42 the runs are made those of another model: its filter saves 30%, that of the first costs 20%."""
    stored = copy.deepcopy(records.read(a_pass))
    for key in [*stored]:
        record = stored[key]
        if "with_evidence" not in record:
            continue
        record["with_evidence"] = dict.fromkeys(record["terms"], 5)
        record["made"] = {**record["made"], "perturbator": "corpus"}
        record["seconds"] = 120.0 if key.setting == "filter" else 100.0
        if key.seed == 42:
            other = stored[replace(key, model="small-bert")] = stored.pop(key)
            other["made"] = {**other["made"], "perturbator": "embedded"}
            other["seconds"] = 70.0 if key.setting == "filter" else 100.0
    measured, verdict = rules.filter_saves(Summary(stored))
    assert "logistic-regression (corpus fills): saves -20% of the time" in measured
    assert "small-bert (embedded fills): saves 30% of the time" in measured
    assert verdict == "does not hold with logistic-regression (corpus fills), holds with small-bert (embedded fills)"
    alike = {key: {**record, "seconds": 100.0} for key, record in stored.items() if "with_evidence" in record}
    assert rules.filter_saves(Summary(alike))[1] == rules.FAILS, "verdicts that agree are one"


def test_a_difference_within_the_spread_of_the_boxes_is_not_told_apart(a_pass: Path) -> None:
    """Of two boxes tau-tilde costs .08 in one and nothing in the other: -.04 in the mean, sd .057; or .08 in both."""

    def tau(costs: dict[str, float]) -> Summary:
        def change(key: Key, record: dict) -> None:
            record["made"]["perturbator"] = "embedded"
            for label in record.get("terms", {}) if key.setting in ("filter", "tau-tilde", "masking") else ():
                cost = costs[label] if key.setting == "tau-tilde" else 0.0
                record["moments"][-1]["labels"][label]["aopc"] = 0.1 - cost

        return altered(a_pass, change)

    measured, verdict = rules.tau_tilde(tau({"negative": 0.08, "positive": 0.0}))
    assert verdict == rules.NOT_TOLD and "-0.0400, sd 0.0566, -0.0800 in corona negative" in measured
    assert rules.tau_tilde(tau({"negative": 0.08, "positive": 0.07}))[1] == rules.HOLDS
    assert rules.tau_tilde(tau({"negative": -0.01, "positive": -0.011}))[1] == rules.FAILS


def test_time_is_linear_in_the_bound_or_in_the_length_alone(a_pass: Path) -> None:
    """Bounds of 100, 200, 400: documents of 80, 140, 190 characters; seconds in proportion to one or the other."""

    def lasting(seconds: dict[int, float]) -> Summary:
        def change(key: Key, record: dict) -> None:
            bound = grid.LENGTHS.get(key.setting)
            if bound:
                record["characters"] = {100: 80.0, 200: 140.0, 400: 190.0}[bound]
                record["seconds"] = seconds[bound] * record["n_documents"]

        return altered(a_pass, change)

    assert rules.linear_in_length(lasting({100: 1.0, 200: 2.0, 400: 4.0}))[1] == rules.HOLDS
    measured, verdict = rules.linear_in_length(lasting({100: 0.8, 200: 1.4, 400: 1.9}))
    assert verdict == rules.IN_PART and "more slowly than linearly" in measured
    assert rules.linear_in_length(lasting({100: 1.0, 200: 1.0, 400: 1.0}))[1] == rules.FAILS


def test_pairs_with_a_top_term_are_named(a_pass: Path) -> None:
    """The model of the made data goes by "hand" and "crisis", of the paper's four."""
    measured, _ = rules.sentences(Summary(records.read(a_pass)))
    assert "of the 4 pairs have a word of our top ten: hand/nothing" in measured
    assert "the others: support/back" in measured


def test_lists_without_evidence_decide_nothing(a_pass: Path) -> None:
    """One of five words was an anchor: the others stand there in the order of the alphabet."""

    def padded(key: Key, record: dict) -> None:
        if "with_evidence" in record:
            record["with_evidence"] = dict.fromkeys(record["terms"], 1)

    findings = {finding.claim.name: finding for finding in claims.judge_all(altered(a_pass, padded))}
    for name in ("G_pr starts steepest", "Up to 30x", "About 80% of terms shared", "The filter saves 30 to 40%"):
        assert findings[name].verdict == rules.TOO_SMALL and "in none of 2 boxes" in findings[name].measured
    assert findings["Anchors appear mostly in one class"].verdict != rules.TOO_SMALL


def test_each_setting_has_to_share_80_percent_by_itself(a_pass: Path) -> None:
    """Of five terms one setting shares none, another all: 50% in the mean, and neither is around 80%."""
    given = {"unoptimised": "abcde", "stop-rare": "fghij", "delta-0.5": "abcde"}

    def with_terms(key: Key, record: dict) -> None:
        if "terms" in record:
            record["terms"] = {label: list(given.get(key.setting, "abcdf")) for label in record["terms"]}

    summary = altered(a_pass, with_terms)
    measured, verdict = rules.shared(summary)
    there = {key.setting for key in summary.records} & {*rules.SHARING}
    assert {"stop-rare", "delta-0.5"} < there
    assert measured.startswith("mean shares from 0.00 (stop-rare) to 1.00 (delta-0.5)")
    assert f"between 0.7 and 0.9 in {len(there) - 2} of {len(there)} settings" in measured
    assert verdict == rules.IN_PART


def test_seconds_are_those_to_the_unoptimised_quality(a_pass: Path) -> None:
    """The optimised run ends at half of the unoptimised AOPC: its own 80% is reached, the other's is not."""

    def worse(key: Key, record: dict) -> None:
        for moment in record.get("moments", ()):
            for one in moment["labels"].values():
                one["aopc"] = {"unoptimised": 0.10, "optimised": 0.05}.get(key.setting, one["aopc"])

    measured, verdict = rules.seconds(altered(a_pass, worse))
    assert verdict == rules.FAILS and "reached at all in 0" in measured


def test_without_records_nothing_is_claimed() -> None:
    empty = Summary({})
    for finding in claims.judge_all(empty):
        assert finding.verdict == rules.UNTESTABLE, finding.claim.name


# --- the study of aggregations ---


def test_the_study_of_aggregations_compares_orders(data: Path) -> None:
    """Of three pairs two are in the same order and one is not: 1/3; a word with a weight for its label comes first."""
    from benchmarks import aggregations

    assert aggregations.agreement({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "c": 2}) == pytest.approx(1 / 3)
    assert aggregations.agreement({"a": 1, "b": 1}, {"a": 2, "b": 2}) == 1
    task = tasks.load("corona", data)
    texts = [text for text, _ in task.explained(24)]
    model = models.load("logistic-regression", task, models.Workshop(Path()))
    found = aggregations.explain(model, texts, "mask-token", "shared", "kl", 0)
    ranked = found["positive"]["total"]["all"]
    assert WEIGHTS[ranked[0]] > 0 and sorted(ranked) == sorted(found["positive"]["sq"]["all"])


# --- models ---


def test_a_small_bert_is_fine_tuned_and_read_back(data: Path, tmp_path: Path) -> None:
    whole = tasks.load("rotten-tomatoes", data)
    task = tasks.Task(whole.name, whole.train[:24], whole.validation[:8], whole.test[:8], True)
    workshop = models.Workshop(tmp_path, epochs=1)
    predictor = models.load("small-bert", task, workshop)
    assert predictor.labels == ("negative", "positive")
    written = json.loads((tmp_path / "rotten-tomatoes__small-bert" / "accuracy.json").read_text())
    assert written["validation"] == [models.accuracy(predictor, task.validation)]
    again = models.load("small-bert", task, workshop)
    assert again.fingerprint == predictor.fingerprint, "trained once"


def test_a_deberta_is_trained_in_pieces_and_fine_tuned(data: Path, tmp_path: Path) -> None:
    """Stopped after its first step, training goes on with the second; the weights are those of one go."""
    from anchorscope.reproduction.pretrain import pretrain

    text = tmp_path / "text.txt"
    text.write_text("\n".join(text for text, _ in sentences(120, seed=9)))
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    small = {"device": "cpu", "steps": 3, "shape": shape, "batch": 4}
    with pytest.raises(models.OutOfTimeError, match="1 of 3 steps"):
        pretrain([text], tmp_path / "deberta-pretrained", deadline=monotonic() - 1, **small)
    pretrain([text], tmp_path / "deberta-pretrained", **small)
    pretrain([text], tmp_path / "at-once", **small)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("deberta-pretrained", "at-once")]
    assert weights[0] == weights[1]
    config = json.loads((tmp_path / "at-once" / "config.json").read_text())
    assert config["model_type"] == "deberta-v2" and config["pos_att_type"] == ["p2c", "c2p"]
    whole = tasks.load("rotten-tomatoes", data)
    task = tasks.Task(whole.name, whole.train[:16], whole.validation[:4], whole.test[:4], True)
    predictor = models.load("deberta", task, models.Workshop(tmp_path, epochs=1))
    assert predictor.predict(["a great film"]).shape == (1, 2)


def test_deberta_without_text_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name text files with --corpus"):
        models.load("deberta", tasks.load("corona", data), models.Workshop(tmp_path))
    with pytest.raises(UnknownNameError, match="did you mean 'deberta'"):
        models.load("debreta", tasks.load("corona", data), models.Workshop(tmp_path))


# --- the command ---


def test_the_command_runs_and_draws(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--settings", "stop-rare", "--seeds", "42", "--documents", "20", "--perturbator", "mask-token"]
    small = ["--tasks", "corona", "--models", "logistic-regression", "--data", str(data), "--out", str(tmp_path)]
    assert main(["reproduce", *small, *asked]) == 0
    told = capsys.readouterr()
    assert "1 runs made, 0 left" in told.err and str(tmp_path / "reproduction.md") in told.out
    assert main(["reproduce", "--draw", "--out", str(tmp_path), "--page", str(tmp_path / "docs" / "page.md")]) == 0
    assert (tmp_path / "docs" / "data" / "page_settings.csv").is_file()


def test_the_claims_of_a_readme_are_written_between_its_marks(a_pass: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{tables.BEGIN}\nof before\n{tables.END}\nafter\n")
    drawn = ["reproduce", "--draw", "--out", str(a_pass), "--page", str(tmp_path / "page.md"), "--readme", str(readme)]
    assert main(drawn) == 0
    text = readme.read_text()
    assert text.startswith("before") and text.endswith("after\n") and "of before" not in text
    assert text.count("\n| ") == 1 + len(claims.CLAIMS)
    readme.write_text("nothing here")
    assert main(drawn) == 2


def test_the_readme_has_the_claims_of_the_page() -> None:
    """``anchorscope reproduce --draw --page docs/reproduction.md --readme README.md`` writes both."""
    root = Path(__file__).parent.parent
    table = tables.claims_table(root / "docs" / "data" / "reproduction_claims.csv")
    assert table in (root / "README.md").read_text(encoding="utf-8")
    page_text = (root / "docs" / "reproduction.md").read_text(encoding="utf-8")
    for claim in claims.CLAIMS:
        assert f"| {claim.name} |" in table and f"| {claim.name} |" in page_text


def test_a_process_waits_for_the_encoder_that_another_trains(tmp_path: Path) -> None:
    """deberta is pretrained by one process; then a task's classifier is trained by one, whatever its seed."""
    first, other, seed = (
        paper_grid.Job("deberta", *rest) for rest in (("corona", 42), ("dilemma", 42), ("corona", 84))
    )
    assert paper_grid.jobs(["deberta"], ["corona", "dilemma"], [42, 84])[:2] == [first, other]
    assert paper_grid.may_begin(first, [], tmp_path) and not paper_grid.may_begin(other, [first], tmp_path)
    (tmp_path / "models" / "deberta-pretrained").mkdir(parents=True)
    assert paper_grid.may_begin(other, [first], tmp_path) and not paper_grid.may_begin(seed, [first], tmp_path)
    (tmp_path / "models" / "corona__deberta").mkdir()
    assert paper_grid.may_begin(seed, [first], tmp_path)


def test_what_is_packed_goes_on_elsewhere(a_pass: Path, data: Path, tmp_path: Path) -> None:
    paper_grid.pack(a_pass, tmp_path / "packed")
    for archive in (tmp_path / "packed").iterdir():
        with tarfile.open(archive) as file:
            file.extractall(tmp_path / "there", filter="data")
    assert records.read(tmp_path / "there") == records.read(a_pass)
    (tmp_path / "there" / records.FOLDER / "corona__logistic-regression__filter__42.json").unlink()
    told: list[str] = []
    assert driver.reproduce(a_plan(tmp_path / "there", data), told.append).made == 1
    key = Key("corona", "logistic-regression", "filter", 42)
    assert records.read(tmp_path / "there")[key]["terms"] == records.read(a_pass)[key]["terms"]


@pytest.mark.parametrize(
    "argv, told",
    [
        (["--tasks", "corana"], "did you mean 'corona'"),
        (["--settings", "delta-0.6"], "There is no setting 'delta-0.6'"),
        (["--models", "bert"], "There is no model 'bert'"),
        (["--data", "nowhere"], "nowhere is no folder"),
        (["--draw"], "There is no run in"),
        (["--pretrained", "deberta"], "--pretrained takes a model and its folder"),
    ],
    ids=["task", "setting", "model", "data", "draw", "pretrained"],
)
def test_bad_input_is_one_sentence(
    tmp_path: Path, argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = ["--tasks", "corona", "--models", "logistic-regression"] if argv[0] not in ("--tasks", "--models") else []
    assert main(["reproduce", "--out", str(tmp_path), *plain, *argv]) == 2
    error = capsys.readouterr().err
    assert told in error and len(error.strip().splitlines()) == 1

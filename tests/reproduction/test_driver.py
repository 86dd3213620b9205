"""Records, a pass with its outputs, and the command."""

from __future__ import annotations

import copy
import csv
import tarfile
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from reproductions import SETTINGS, a_plan

from anchorscope.cli import main
from anchorscope.errors import RunFolderError
from anchorscope.reproduction import claims, driver, grid, records, tables
from anchorscope.reproduction.figures import OURS
from anchorscope.reproduction.page import page, write_page
from anchorscope.reproduction.records import Key
from anchorscope.reproduction.summary import Box, Summary
from benchmarks import paper_grid

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
    root = Path(__file__).parent.parent.parent
    table = tables.claims_table(root / "docs" / "data" / "reproduction_claims.csv")
    assert table in (root / "README.md").read_text(encoding="utf-8")
    page_text = (root / "docs" / "reproduction.md").read_text(encoding="utf-8")
    for claim in claims.CLAIMS:
        assert f"| {claim.name} |" in table and f"| {claim.name} |" in page_text


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

"""What the README and the page of evaluation show of the command line is what comes out (``REWRITE_README=1`` writes it
anew)."""

from __future__ import annotations

import csv
import os
import re
import shlex
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path

import pytest
import skops.io

from anchorscope.cli import main
from anchorscope.demo import reviews, train

README = Path(__file__).parent.parent / "README.md"
EVALUATION = README.parent / "docs" / "evaluation.md"
SHOWN = re.compile(r"^    anchorscope (?P<command>.+)\n\n```\n(?P<block>(?:.*\n)*?)```$", re.MULTILINE)
NUMBER = re.compile(r"(-?\d[\d,]*\.?\d*)(%?)")
BARS = re.compile("[▏▎▍▌▋▊▉█│ ]+")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the README's commands are typed: the demo's model and reviews, written as it says there."""
    training, explained = reviews(seed=0)
    monkeypatch.chdir(tmp_path)
    known = {"model": train(training), "explained": explained}
    section = README.read_text(encoding="utf-8").split("## On the command line")[1]
    for example in DocTestParser().get_examples(section):
        exec(example.source, known)
    assert (tmp_path / "reviews.skops").exists() and (tmp_path / "reviews.csv").exists()
    return tmp_path


def written(text: str) -> Iterator[tuple[str, list[float]]]:
    """Each line without its bars and numbers, and the numbers: their last digits may differ between machines, a tenth
    of most and one of a percentage, so that these are told in tens."""
    for line in text.splitlines():
        numbers = [float(number.replace(",", "")) / (10 if percent else 1) for number, percent in NUMBER.findall(line)]
        yield BARS.sub(" ", NUMBER.sub(r"#\2", line)), numbers


def shown_and_printed(page: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What a page shows below each of its commands, and what the command prints; the page is written anew if asked."""
    text = page.read_text(encoding="utf-8")
    found = {}
    for shown in SHOWN.finditer(text):
        assert main(shlex.split(shown["command"])) == 0
        found[shown["block"]] = capsys.readouterr().out.strip("\n") + "\n"
    if os.environ.get("REWRITE_README"):
        for block, printed in found.items():
            text = text.replace(block, printed)
        page.write_text(text, encoding="utf-8")
    return found


def test_commands_print_what_the_readme_shows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown_and_printed(README, capsys)
    assert len(found) == 4
    for block, printed in found.items():
        for (shape, numbers), (shape_now, numbers_now) in zip(written(block), written(printed), strict=True):
            assert shape_now == shape
            assert numbers_now == pytest.approx(numbers, rel=0.01, abs=0.11)


def test_commands_print_what_the_page_of_evaluation_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its run is made first; how many tests that took is said in the text."""
    training, explained = reviews(seed=0)
    monkeypatch.chdir(tmp_path)
    skops.io.dump(train(training), "reviews.skops")
    with Path("reviews.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *zip(explained.texts, explained.labels)])
    text = EVALUATION.read_text(encoding="utf-8")
    made = re.search("^    anchorscope (explain .+)$", text, re.MULTILINE)
    assert made and main(shlex.split(made[1])) == 0
    taken = re.search("documents, ([0-9,]+ tests),", capsys.readouterr().err)
    assert taken
    if os.environ.get("REWRITE_README"):
        EVALUATION.write_text(re.sub("one seed, [0-9,]+ tests", f"one seed, {taken[1]}", text), encoding="utf-8")
    assert f"one seed, {taken[1]}." in EVALUATION.read_text(encoding="utf-8")
    found = shown_and_printed(EVALUATION, capsys)
    assert len(found) == 3
    for block, printed in found.items():
        for (shape, numbers), (shape_now, numbers_now) in zip(written(block), written(printed), strict=True):
            assert shape_now == shape
            assert numbers_now == pytest.approx(numbers, rel=0.02, abs=0.0006)


def test_every_extra_is_in_the_readme() -> None:
    """But for those of this project's own tests, and the parts of the extra scores."""
    project = (README.parent / "pyproject.toml").read_text("utf-8")
    table = re.split(r"^\[", project.partition("[project.optional-dependencies]\n")[2], flags=re.MULTILINE)[0]
    extras = {*re.findall(r"^(\w+) = ", table, re.MULTILINE)}
    told = {*re.findall(r"pip install '\.\[(\w+)\]'", README.read_text("utf-8"))}
    assert told == extras - {"test", "reliability", "lime", "shap"}

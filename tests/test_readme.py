"""What the README shows of the command line is what comes out (``REWRITE_README=1`` writes it anew)."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path

import pytest

from anchorscope.cli import main
from anchorscope.demo import reviews, train

README = Path(__file__).parent.parent / "README.md"
SHOWN = re.compile(r"^    anchorscope (?P<command>.+)\n\n```\n(?P<block>(?:.*\n)*?)```$", re.MULTILINE)
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")
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
    """Each line without its bars and numbers, and the numbers: their last digits may differ between machines."""
    for line in text.splitlines():
        yield BARS.sub(" ", NUMBER.sub("#", line)), [float(n.replace(",", "")) for n in NUMBER.findall(line)]


def test_commands_print_what_the_readme_shows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text(encoding="utf-8")
    found = {}
    for shown in SHOWN.finditer(text):
        assert main(shlex.split(shown["command"])) == 0
        found[shown["block"]] = capsys.readouterr().out.strip("\n") + "\n"
    assert len(found) == 4
    if os.environ.get("REWRITE_README"):
        for block, printed in found.items():
            text = text.replace(block, printed)
        README.write_text(text, encoding="utf-8")
    for block, printed in found.items():
        for (shape, numbers), (shape_now, numbers_now) in zip(written(block), written(printed), strict=True):
            assert shape_now == shape
            assert numbers_now == pytest.approx(numbers, rel=0.01, abs=0.11)

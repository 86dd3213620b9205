"""docs/your-model.md: its Python is run, and each of its commands, against a stand-in for the server that it names."""

from __future__ import annotations

import csv
import doctest
import re
import shlex
from pathlib import Path

import pytest
from runs import WEIGHTS, reviews
from tiny_onnx import tiny_onnx

from anchorscope.cli import main
from anchorscope.evaluation.kept import sources
from anchorscope.predictors.remote.forms import FORMS
from anchorscope.testing import WeightPredictor
from anchorscope.testing.server import Faults, StandInServer

PAGE = Path(__file__).parents[1] / "docs" / "your-model.md"
COMMANDS = [line.strip() for line in PAGE.read_text().splitlines() if line.startswith("    anchorscope ")]


class Named(WeightPredictor):
    """The known model under the labels of the page."""

    labels = ("negative", "positive")


def test_its_python_says_what_it_shows() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 30 and not failed


def test_it_has_an_example_of_each_form() -> None:
    shown = re.findall(r"--api (\w+)", "\n".join(COMMANDS))
    assert {*shown} == {*FORMS} and any("--request" in command for command in COMMANDS)


def test_its_figures_of_traffic_are_those_of_the_benchmark() -> None:
    with (PAGE.parent / "data" / "remote.csv").open(newline="") as file:
        row = {line["figure"]: line["value"] for line in csv.DictReader(file)}
    number = {name: float(value) for name, value in row.items() if value != "True"}
    told = [
        f"{number['texts a second, 1 in flight']:.1f} texts a second with one request in flight",
        f"{number['texts a second, 32 in flight']:.0f} with 32",
        f"{number['share of 32 times the single rate']:.0%} of 32 times as many",
        f"takes {number['milliseconds of a core a request']:.2f} ms of a core",
        f"{number['texts asked']:,.0f} texts asked, all of them counted, {number['texts answered']:,.0f} answered, "
        f"{number['answered twice']:.0f} of them twice; {number['20% faults: seconds']:.0f} seconds",
    ]
    page = " ".join(PAGE.read_text().split())
    assert [words for words in told if words not in page] == []
    assert row["same result"] == "True" and row["texts by the meter"] == row["texts asked"]


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews.csv").write_text("text\n" + "\n".join(reviews(12)))
    tiny_onnx(tmp_path, WEIGHTS, Named.labels)
    form = re.findall(r"--api (\w+)", command) or ["own"]
    with StandInServer(Named(WEIGHTS), form[0], faults=Faults(too_many=0.05, dropped=0.05)) as server:
        words = [server.url if word.startswith("http://") else word for word in shlex.split(command)[1:]]
        assert main([*words, "--min-occurrences", "1", "-q"]) == 0
        assert (server.n_requests > 0) == ("http" in command)


@pytest.mark.parametrize(("label", "told"), [("yes", "no,yes"), ("yes, please", 'no,"yes, please"')])
def test_a_run_tells_learnt_labels_as_the_command_line_would(
    label: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the run again takes them for --labels; a label with a comma stands in quotes there."""
    monkeypatch.chdir(tmp_path)
    answers = f"[{label!r} if 'good' in text else 'no' for text in texts]"
    (tmp_path / f"polite_{len(label)}.py").write_text(f"def answer(texts):\n    return {answers}\n")
    (tmp_path / "docs.txt").write_text("\n".join(f"a {word} film {n}" for n in range(20) for word in ("good", "bad")))
    assert main(["explain", "docs.txt", "--model", f"polite_{len(label)}:answer", "-q", "--out", "run"]) == 0
    assert sources(tmp_path / "run").get("names") == told


def test_a_label_with_a_comma_is_named_in_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "so_so.py").write_text("def answer(texts):\n    return [[0.3, 0.7] for _ in texts]\n")
    (tmp_path / "docs.txt").write_text("\n".join(f"a film {n}" for n in range(20)))
    command = ["explain", "docs.txt", "--model", "so_so:answer", "-q", "--labels"]
    assert main([*command, 'bad,"na, ja"', "--out", "run"]) == 0
    assert "na, ja" in capsys.readouterr().out
    assert main([*command, 'bad,"na, ja']) == 2
    assert "put double quotes around one with a comma in it" in capsys.readouterr().err

"""docs/your-model.md: its Python is run, and each of its commands, against a stand-in for the server that it names."""

from __future__ import annotations

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


@pytest.mark.parametrize(("label", "told"), [("yes", "no,yes"), ("yes, please", None)])
def test_a_run_tells_learnt_labels_as_the_command_line_would(
    label: str, told: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the run again takes them for --labels; a label with a comma cannot be told so, and is not."""
    monkeypatch.chdir(tmp_path)
    answers = f"[{label!r} if 'good' in text else 'no' for text in texts]"
    (tmp_path / f"polite_{len(label)}.py").write_text(f"def answer(texts):\n    return {answers}\n")
    (tmp_path / "docs.txt").write_text("\n".join(f"a {word} film {n}" for n in range(20) for word in ("good", "bad")))
    assert main(["explain", "docs.txt", "--model", f"polite_{len(label)}:answer", "-q", "--out", "run"]) == 0
    assert sources(tmp_path / "run").get("names") == told

"""A package of somebody else's, installed as a user would: what it adds is found by name, and passes the suites."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "outside"

ADDED = {
    "aggregation": "per-document",
    "backend": "one-by-one",
    "perturbator": "dots",
    "predictor": "shouting",
    "reporter": "ticks",
    "score": "replacement",
    "strategy": "backwards",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The package beside ours, in a folder of its own on the path, with its entry points."""
    source, target = tmp_path_factory.mktemp("source") / "outside", tmp_path_factory.mktemp("site")
    shutil.copytree(SOURCE, source)
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*install, "--target", str(target), str(source)], check=True, capture_output=True, text=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), str(SOURCE.parent.parent)])}


def python(environment: dict[str, str], code: str) -> str:
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_every_kind_of_plug_is_found_by_name(environment: dict[str, str]) -> None:
    code = "from anchorscope import registry; print([(k, n) for k in registry.TABLES for n in registry.names(k)])"
    found = python(environment, code)
    for kind, name in ADDED.items():
        assert repr((kind, name)) in found


MAKE = {
    "aggregation": "lambda: found",
    "perturbator": "lambda: found('', top_n=9, device='cpu')",
    "predictor": "lambda: found('great', None)",
}


@pytest.mark.parametrize("kind", ADDED)
def test_it_passes_the_suite_of_its_kind(kind: str, environment: dict[str, str]) -> None:
    python(
        environment,
        f"from anchorscope import registry\nfrom anchorscope.testing import checks\n"
        f"found = registry.resolve({kind!r}, {ADDED[kind]!r})\n"
        f"for check in checks({kind!r}):\n    check({MAKE.get(kind, 'found')})\n",
    )


TEXTS = [
    f"{a} {b} film, {c}" for a in ("a great", "a dull", "the") for b in ("new", "old") for c in ("so", "so so", "ok")
]


def test_one_of_each_together_on_the_command_line(environment: dict[str, str], tmp_path: Path) -> None:
    """*great* is what the model goes by; there are dots in its place in six documents, at .5 each."""
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    options = [f"--{kind}={name}" for kind, name in ADDED.items() if kind != "predictor"]
    command = [sys.executable, "-m", "anchorscope.cli", "explain", str(tmp_path / "texts.txt"), *options]
    plain = ["--model", "shouting:great", "--min-occurrences=1", "--stop-words=none", "--json", "--out"]
    answer = subprocess.run(
        [*command, *plain, str(tmp_path / "run")], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    result = json.loads(answer.stdout)
    first = result["labels"]["loud"]["terms"][0]
    assert (first["term"], first["score"]) == ("great", pytest.approx(0.5))
    assert result["perturbator"]["name"] == "dots" and "tick 1" in answer.stderr and "tock" in answer.stderr
    again = subprocess.run(
        [sys.executable, "-m", "anchorscope.cli", "top", str(tmp_path / "run"), "--format", "csv", "--label", "loud"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert again.stdout.splitlines()[1].startswith("loud,1,great,great,0.5,"), again.stderr


def test_one_of_each_together_in_python(environment: dict[str, str]) -> None:
    code = (
        "from anchorscope import Explainer\nfrom outside_plugs import Dots, Shouting\n"
        "settings = {'score': 'replacement', 'strategy': 'backwards', 'aggregation': 'per-document',"
        " 'min_occurrences': 1, 'stop_words': 'none'}\n"
        "explainer = Explainer(Shouting('great'), perturbator=Dots(), backend='one-by-one', settings=settings)\n"
        f"print(explainer.explain({TEXTS!r})['loud'].terms[0].term)"
    )
    assert python(environment, code).strip() == "great"


BACKWARDS = {"score": "occlusion", "strategy": "backwards", "aggregation": "total"}

ASKED = f"""
from anchorscope.asking.budget import Budget
from anchorscope.journal.reader import RunReader
from anchorscope.predictors import as_predictor
from anchorscope.report.view import waiting_data
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.text.read import read_texts
from outside_plugs import Shouting
from pathlib import Path
settings = Settings(**{BACKWARDS!r})
budget = Budget(max_model_calls=20)
run = Run(read_texts({TEXTS!r}), Shouting("great"), None, settings, budget=budget, folder=Path(FOLDER))
*_, last = run.snapshots()
"""


def test_a_strategy_says_itself_what_other_rooms_ask_of_it(environment: dict[str, str], tmp_path: Path) -> None:
    """Of 20 calls 8 predict as many of the 18 documents, a surrogate is fitted to these, and intervals hold at 80%."""
    told = "; ".join(
        (
            "print(run.n_drawn, last.interval_level, run.result().interval_level)",
            "waiting = waiting_data('', model='', perturbator='', labels=['a'], n_documents=1, settings=settings)",
            "print(waiting['about']['interval_level'], waiting['about']['estimated'])",
            "print(bool(RunReader(Path(FOLDER)).sums().expected.any()))",
        )
    )
    code = f"FOLDER = {str(tmp_path / 'run')!r}\n{ASKED}\n{told}"
    assert python(environment, code).split() == ["8", "0.8", "0.8", "0.8", "False", "True"]


@pytest.mark.parametrize("option", ["--filter=sound", "--regret=0.1", "--tau-tilde", "--order=random"])
def test_a_setting_that_a_strategy_does_not_read_is_refused(option: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "anchorscope", "explain", "x.txt", "--strategy=backwards", option]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert answer.returncode == 2
    assert option.partition("=")[0] in answer.stderr and ("the scan" in answer.stderr or "a race" in answer.stderr)


def test_a_strategy_that_does_not_say_what_it_has_to_is_refused(environment: dict[str, str]) -> None:
    code = (
        "from anchorscope.settings import Settings\nfrom outside_plugs import Backwards\n"
        "del Backwards.draws_documents\n"
        f"try:\n    Settings(**{BACKWARDS!r})\nexcept Exception as error:\n    print(error)"
    )
    assert "The strategy 'backwards' lacks an attribute draws_documents" in python(environment, code)


def test_a_name_that_nobody_has_is_refused_with_those_that_there_are(environment: dict[str, str]) -> None:
    code = "from anchorscope.cli import main; raise SystemExit(main(['explain', 'x.txt', '--strategy', 'backward']))"
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert answer.returncode == 2
    assert "There is no strategy 'backward'; did you mean 'backwards'? Known: backwards, race, scan." in answer.stderr

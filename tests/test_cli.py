"""The command line, from the outside: what goes in, what comes out where, with which exit status."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import jsonschema
import pytest
from golden import assert_golden
from runs import finish, make_run

from anchorscope import registry
from anchorscope.cli import main, make_parsers, parse
from anchorscope.cli.options import FORMS_HELP, PLUG_HELP, a_path
from anchorscope.errors import InputError
from anchorscope.result import json_schema
from anchorscope.scoring.aggregations import AGGREGATIONS
from anchorscope.settings import ANCHOR_TEST, PLUGS, PRESETS, Settings
from anchorscope.settings.choices import _NAMED

ROOT = Path(__file__).parent.parent
PYTHON = [sys.executable, "-m", "anchorscope.cli"]

MODELS = '''
"""Models that write down every call, a line with the number of texts; "yes" iff *great* occurs."""
import time
import numpy as np
from sklearn.base import BaseEstimator

def rows(texts):
    with open("calls", "a") as file:
        print(len(texts), file=file)
    yes = np.array(["great" in text for text in texts], float)
    return np.stack([1 - yes, yes], axis=1)

class Model:
    classes_ = ["no", "yes"]
    def predict_proba(self, texts):
        return rows(texts)

class Slow(Model):
    def predict_proba(self, texts):
        time.sleep(0.03)
        return rows(texts)

class Own(BaseEstimator):
    classes_ = np.array(["no", "yes"])
    def predict_proba(self, texts):
        return rows(texts)

class FailsLater(Model):
    n_calls = 0
    def predict_proba(self, texts):
        self.n_calls += 1
        if self.n_calls > 2:  # two documents, then the others
            raise RuntimeError("no more")
        return rows(texts)

class Chatty(Model):
    def predict_proba(self, texts):
        print("I am a model")
        return rows(texts)

good, slow, fails_later, chatty = Model(), Slow(), FailsLater(), Chatty()
function = rows
one_number = lambda texts: rows(texts)[:, 1]
one_row = lambda texts: rows(texts)[:1]
nan = lambda texts: rows(texts) * np.nan
infinite = lambda texts: rows(texts) + np.inf
negative = lambda texts: rows(texts) - 0.5
unsummed = lambda texts: rows(texts) * 0.7
three = lambda texts: np.hstack([rows(texts), np.zeros((len(texts), 1))])
'''

N_DOCUMENTS = 60


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents and models; *great* in every other document, *dull* in the rest."""
    import skops.io

    folder = tmp_path_factory.mktemp("workplace")
    (folder / "models.py").write_text(MODELS)
    texts = [f"a {'great' if i % 2 else 'dull'} film with number{i % 5} in it" for i in range(N_DOCUMENTS)]
    with (folder / "docs.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((text, "yes" if "great" in text else "no") for text in texts)])
    (folder / "empty.csv").write_text("")
    (folder / "blank.csv").write_text("text\n   \n\n")
    (folder / "gaps.csv").write_text((folder / "docs.csv").read_text() + '"",no\n"  ",no\n')
    (folder / "latin.csv").write_bytes("text\ncaf\xe9\n".encode("latin-1"))
    (folder / "model.bin").write_bytes(b"?")
    sys.path.insert(0, str(folder))
    from models import Own  # type: ignore[import-not-found]

    skops.io.dump(Own(), folder / "own.skops")
    (folder / "own.pkl").write_bytes(pickle.dumps(Own()))
    skops.io.dump(_pipeline(texts), folder / "model.skops")
    return folder


def _pipeline(texts: Sequence[str]) -> object:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, ["great" in text for text in texts])


@pytest.fixture
def run(workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """The command, called in the workplace; no calls of a model so far."""
    monkeypatch.chdir(workplace)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    Path("calls").write_text("")

    def call(*arguments: str) -> Outcome:
        status = main(arguments)
        return Outcome(status, *capsys.readouterr())

    yield call
    for folder in ("run", "other"):
        shutil.rmtree(folder, ignore_errors=True)


def calls() -> list[int]:
    """How many texts each call of a model had."""
    return [int(line) for line in Path("calls").read_text().split()]


EXPLAIN = ("explain", "docs.csv", "--model", "models:good")
CORPUS = ("--perturbator", "corpus")
BANZHAF = (*EXPLAIN, "--preset", "banzhaf", *CORPUS)
FREQUENT = ("--stop-words", "short", "--min-occurrences", "5")
SCAN = (*EXPLAIN, *CORPUS, "--strategy", "scan", "--aggregation", "pr", *FREQUENT)


# What it does


def test_explain_prints_a_plain_table(run: Command) -> None:
    done = run(*EXPLAIN)
    assert done.status == 0 and "\x1b" not in done.out
    blocks = done.out.split("\n\n")
    assert [block.split()[0] for block in blocks] == ["no", "yes"]
    assert blocks[1].splitlines()[2].split()[1] == "great"
    assert max(map(len, done.out.splitlines())) <= 80
    assert "60 documents" in done.err


def test_what_can_be_copied_stands_on_lines_of_its_own(run: Command) -> None:
    """No terminal of 80 columns breaks the command; a folder with a space in its name is quoted."""
    folder = "other/run of " + "60 documents and more " * 2
    told = run(*EXPLAIN, "--out", folder).err
    command = f"anchorscope top '{folder}' --top-k 40"
    assert f":\n  {folder}/report.html\n  {command}\n" in told
    assert run(*shlex.split(command)[1:]).status == 0


def test_skops_model_and_true_labels(run: Command) -> None:
    done = run(
        *("explain", "docs.csv", "--model", "model.skops", "--label-column", "label"),
        *("--preset", "banzhaf", "--perturbator", "mask-token"),
    )
    assert done.status == 0 and "True" in done.out


def test_trusted_types_and_allowed_pickles_are_read(run: Command) -> None:
    assert run("explain", "docs.csv", "--model", "own.skops", "--trust", "models.Own", *EXPLAIN[4:]).status == 0
    assert run("explain", "docs.csv", "--model", "own.pkl", "--allow-pickle", *EXPLAIN[4:]).status == 0


def test_function_with_names_for_its_labels(run: Command) -> None:
    done = run("explain", "docs.csv", "--model", "models:function", "--labels", "bad,good", *EXPLAIN[4:], "-q")
    assert done.status == 0 and done.out.startswith("bad ") and done.err == ""


def test_standard_input(workplace: Path) -> None:
    lines = "\n".join(json.dumps({"text": f"so {'great' if i % 2 else 'dull'}"}) for i in range(20))
    command = [*PYTHON, "explain", "-", *EXPLAIN[2:], "--json"]
    done = subprocess.run(command, cwd=workplace, input=lines, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["documents"]["usable"] == 20


def test_settings_by_hand_go_before_the_preset(run: Command) -> None:
    scan = (*EXPLAIN, *CORPUS, "--strategy", "scan", "--aggregation", "pr")
    done = run(*scan, "--preset", "paper-optimised", "--delta", "0.2", "--no-tau-tilde", "--fill", "one-pass", "--json")
    settings = json.loads(done.out)["settings"]
    assert (settings["delta"], settings["tau_tilde"], settings["stop_words"]) == (0.2, False, "nltk")


@pytest.mark.parametrize("strategy", ["race", "scan"])
def test_json_is_the_result_and_follows_its_schema(run: Command, strategy: str) -> None:
    done = run(*EXPLAIN, "--strategy", strategy, "--out", "run", "--json")
    assert done.out == Path("run/result.json").read_text()
    jsonschema.validate(json.loads(done.out), json_schema(), cls=jsonschema.Draft202012Validator)


def test_schema_names_every_setting() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert set(json_schema()["properties"]["settings"]["properties"]) == {field.name for field in fields(Settings)}


def test_stream_has_a_snapshot_a_line(run: Command) -> None:
    done = run(*SCAN, "--stream", "--round-size", "20")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [line["finished"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert [line["round"] for line in lines] == [0, 1, 2, 3, 3]
    assert lines[-1]["labels"]["yes"]["terms"][0]["term"] == "great"


def test_what_the_model_prints_is_no_data(run: Command) -> None:
    done = run("explain", "docs.csv", "--model", "models:chatty", *EXPLAIN[4:], "--json")
    json.loads(done.out)
    assert "I am a model" in done.err


def test_one_label_only(run: Command) -> None:
    assert list(json.loads(run(*EXPLAIN, "--label", "yes", "--json").out)["labels"]) == ["yes"]


ONE = ("explain", "--document", "One great film.", "--model", "models:good")


def test_document_has_the_effects_of_its_words(run: Command) -> None:
    """One call for the document, and one for the document without each of its three words."""
    found = json.loads(run(*ONE, "--json").out)
    assert found["score"] == "occlusion"
    assert [(word["word"], word["effect"], word["anchor"]) for word in found["words"]] == [
        ("One", 0.0, None),
        ("great", 1.0, None),
        ("film", 0.0, None),
    ]
    assert sum(calls()) == 4


def test_document_has_its_anchors_marked(run: Command) -> None:
    done = run(*ONE, "--score", "anchor", *CORPUS)
    assert done.status == 0 and "One [great] film." in done.out
    found = json.loads(run(*ONE, "--score", "anchor", *CORPUS, "--json").out)
    assert found["score"] == "anchor"
    assert [(word["word"], word["anchor"]) for word in found["words"]] == [
        ("One", False),
        ("great", True),
        ("film", False),
    ]


@pytest.mark.parametrize("given", [("--max-samples", "50"), ("--tau", "0.9"), ("--keep", "shared")], ids=str)
def test_options_of_a_test_are_refused_for_effects(run: Command, given: tuple[str, ...]) -> None:
    refused(run(*ONE, *given), f"{given[0]} belongs to perturbed texts: add --score anchor")
    assert run(*ONE, "--score", "anchor", *CORPUS, *given).status == 0


def test_document_with_samples_of_each_token_its_own(run: Command) -> None:
    for further in ((), ("--preset", "fast", "--test", "kl")):
        done = run(*ONE, "--score", "anchor", *CORPUS, "--keep", "own", *further)
        assert done.status == 0 and "One [great] film." in done.out


def test_dry_run_says_that_a_race_takes_less(run: Command) -> None:
    race, scan = (run(*BANZHAF, "--dry-run", "--strategy", strategy).out for strategy in ("race", "scan"))
    for line in ("samples", "time"):
        told = [next(row for row in out.splitlines() if row.startswith(line)) for out in (race, scan)]
        assert "at most" in told[0] and "at most" not in told[1]


def test_dry_run_asks_the_model_about_one_text_and_one_batch(run: Command) -> None:
    """Seven words a document, none of them twice: twelve terms in all; a text for each, and one for the document."""
    found = json.loads(run(*EXPLAIN, "--dry-run", "--json").out)
    assert calls() == [1, 16]
    assert (found["documents"], found["terms"], found["occurrences"]) == (60, 12, 420)
    assert found["predictor_texts"] == 60 + 420 and found["perturbator_passes"] == 0
    assert found["seconds"] > 0 and found["measured_on"] == 16


def test_dry_run_of_samples(run: Command) -> None:
    """Three words of a document are no stop words: great or dull, film, and one of five numbers; eight terms in all."""
    done = run(*BANZHAF, "--dry-run", "--json")
    found = json.loads(done.out)
    assert calls() == [1, 16]
    assert (found["documents"], found["terms"], found["occurrences"]) == (60, 8, 180)
    assert found["predictor_texts"] == found["documents"] + found["samples"] > 60
    assert found["perturbator_passes"] == 1
    banks = json.loads(run(*BANZHAF, "--fill", "bank", "--dry-run", "--json").out)
    assert banks["perturbator_passes"] == 2 * 60
    assert found["seconds"] > 0 and found["measured_on"] == 16
    assert "one batch of 16 texts" in run(*BANZHAF, "--dry-run").out


def test_budget_ends_a_run_cleanly(run: Command) -> None:
    done = run(*SCAN, "--max-model-calls", "100", "--round-size", "10", "--out", "run")
    assert done.status == 0 and "--resume" in done.err
    assert "--max-model-calls ended the run; raise it, and give the same command again" in done.err
    assert sum(calls()) < 1000
    done = run(*SCAN, "--round-size", "10", "--out", "run", "--resume")
    assert done.status == 0 and "--resume" not in done.err


def test_a_greater_budget_asks_about_no_more_documents_and_says_so(run: Command) -> None:
    """40 calls draw 16 of the 60 documents; what was drawn stays, whatever --resume allows."""
    first = run(*EXPLAIN, "--max-model-calls", "40", "--out", "run")
    again = run(*EXPLAIN, "--max-model-calls", "4000", "--out", "run", "--resume")
    for done in (first, again):
        assert "Asked about: 16 of 60 documents; a run keeps to those that it drew" in done.err
    free = run(*EXPLAIN, "--max-model-calls", "4000", "--out", "other")
    assert "Asked about" not in free.err


# Runs that are kept


def test_kept_run_is_refused_without_resume_before_the_model_is_loaded(run: Command) -> None:
    run(*EXPLAIN, "--out", "run")
    done = run("explain", "docs.csv", "--model", "no_such_module:model", "--out", "run")
    assert done.status == 2 and "--resume" in done.err and "no_such_module" not in done.err


@pytest.mark.parametrize("strategy", ["race", "scan"])
def test_resume_of_a_finished_run_prints_its_result_without_computing(run: Command, strategy: str) -> None:
    first = run(*EXPLAIN, "--strategy", strategy, "--out", "run", "--json")
    n_calls = len(calls())
    assert run("explain", "--out", "run", "--resume", "--json").out == first.out
    assert len(calls()) == n_calls


@pytest.mark.parametrize("strategy", [("race", "--label", "yes"), ("race",), ("scan", "--filter", "sound")])
def test_resume_of_a_finished_run_streams_its_last_line(run: Command, strategy: tuple[str, ...]) -> None:
    """With documents and model or without: the line that the run itself ended with."""
    asked = (*EXPLAIN, "--strategy", *strategy, "--top-k", "1", "--out", "run", "--stream")
    *_, last = run(*asked).out.splitlines(keepends=True)
    assert run("explain", "--out", "run", "--resume", "--stream").out == last
    assert run(*asked, "--resume").out == last


def test_resume_of_a_missing_run_starts_afresh(run: Command) -> None:
    assert run(*EXPLAIN, "--out", "run", "--resume").status == 0


def test_resume_with_another_setting_is_refused(run: Command) -> None:
    run(*SCAN, "--out", "run", "--max-model-calls", "300")
    done = run(*SCAN, "--out", "run", "--resume", "--seed", "7")
    assert done.status == 2 and "seed was 0, now 7" in done.err


def _start(workplace: Path) -> subprocess.Popen[str]:
    """A slow run in a process of its own, with at least two rounds on record."""
    command = [*PYTHON, *SCAN, "--round-size", "6", "--out", "run", "--model", "models:slow"]
    process = subprocess.Popen(
        command,
        cwd=workplace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever runs the tests may ignore it
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and _rounds(workplace / "run" / "journal.sqlite") < 2:
        time.sleep(0.02)
    return process


def _rounds(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM rounds").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_killed_run_goes_on_to_the_same_result(run: Command, workplace: Path) -> None:
    process = _start(workplace)
    process.kill()
    process.communicate()
    assert not Path("run/result.json").exists()
    resumed = run(*SCAN, "--round-size", "6", "--out", "run", "--model", "models:slow", "--resume", "--json")
    whole = run(*SCAN, "--round-size", "6", "--out", "other", "--model", "models:slow", "--json")
    assert json.loads(resumed.out)["labels"] == json.loads(whole.out)["labels"]


def test_interrupted_run_shows_what_it_knows_and_how_to_go_on(run: Command, workplace: Path) -> None:
    process = _start(workplace)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "great" in out and "--resume" in err and "Traceback" not in err
    jsonschema.validate(json.loads(Path("run/result.json").read_text()), json_schema())
    done = run(*SCAN, "--round-size", "6", "--out", "run", "--model", "models:slow", "--resume")
    assert done.status == 0 and "At most" not in done.err


# top: from the journal alone


def test_top_agrees_with_the_run_and_calls_no_model(run: Command) -> None:
    first = json.loads(run(*SCAN, "--out", "run", "--json").out)
    n_calls = len(calls())
    terms = json.loads(run("top", "run", "--format", "json").out)["terms"]
    for label, explanation in first["labels"].items():
        here = [term for term in terms if term["label"] == label]
        assert [(t["term"], t["score"], t["low"]) for t in here] == [
            (t["term"], t["score"], t["interval"][0]) for t in explanation["terms"]
        ]
    assert len(calls()) == n_calls


@pytest.mark.parametrize("aggregation", sorted(AGGREGATIONS))
def test_top_by_any_aggregation_equals_a_run_by_it(run: Command, aggregation: str) -> None:
    """From a run that counts anchors, or from one that has values to add up."""
    values = (*EXPLAIN, *CORPUS, "--strategy", "scan", "--score", "banzhaf", *FREQUENT)
    explain, own_name = (values, "total") if AGGREGATIONS[aggregation].is_graded else (SCAN, "pr")
    run(*explain, "--aggregation", own_name, "--out", "run")
    again = json.loads(run("top", "run", "--aggregation", aggregation, "--format", "json").out)
    own = json.loads(run(*explain, "--aggregation", aggregation, "--json").out)
    listed = [(t["label"], t["term"], t["score"]) for t in again["terms"] if t["side"] == "for"]
    assert listed == [(label, t["term"], t["score"]) for label, e in own["labels"].items() for t in e["terms"]]


def test_top_of_a_race_agrees_with_the_race(run: Command) -> None:
    for explain, n_calls in ((EXPLAIN, "180"), (BANZHAF, "600")):
        budget = ("--max-model-calls", n_calls, "--round-size", "4", "--out", "run")
        first = json.loads(run(*explain, *budget, "--json").out)["labels"]["yes"]
        again = json.loads(run("top", "run", "--format", "json", "--label", "yes").out)["terms"]
        assert [(t["term"], t["score"], [t["low"], t["high"]], t["membership"], t["side"]) for t in again] == [
            (t["term"], t["score"], t["interval"], t["membership"], side)
            for side, terms in (("for", first["terms"]), ("against", first["against"]))
            for t in terms
        ]
        shutil.rmtree("run")


@pytest.mark.parametrize("aggregation", sorted(AGGREGATIONS))
def test_top_of_a_race_has_intervals_under_any_aggregation(run: Command, aggregation: str) -> None:
    """One that reads no test is known exactly; of one that says no interval, nothing is known."""
    counted = (*EXPLAIN, *CORPUS, "--aggregation", "sq", "--test", "fixed", "--max-samples", "24")
    explain = counted if AGGREGATIONS[aggregation].reads == "verdicts" else BANZHAF
    run(*explain, "--out", "run", "--max-model-calls", "600", "--round-size", "4")
    terms = json.loads(run("top", "run", "--aggregation", aggregation, "--format", "json").out)["terms"]
    one = AGGREGATIONS[aggregation]
    if not one.is_bounded and not one.can_race:
        assert terms and all(t["low"] is t["high"] is None for t in terms)
        return
    assert terms and all(t["low"] <= t["high"] for t in terms)
    assert one.reads == "counts" or any(t["low"] < t["high"] for t in terms)


def test_top_formats(run: Command) -> None:
    run(*SCAN, "--out", "run", "--model", "models:function", "--labels", "=no,yes")
    rows = list(csv.DictReader(io.StringIO(run("top", "run", "--format", "csv", "--top-k", "2").out)))
    assert [row["label"] for row in rows] == ["'=no", "'=no", "yes", "yes"]
    assert run("top", "run", "--format", "md", "--label", "yes").out.splitlines()[2].startswith("| yes | 1 | great |")
    assert run("top", "run", "--label", "yes", "--top-k", "1").out.splitlines()[2].split()[1] == "great"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere",), "no run folder"),
        (("run", "--label", "yess"), "did you mean 'yes'"),
        (("run", "--aggregation", "qp"), "There is no aggregation 'qp'"),
        (("run", "--aggregation", "total"), "--score anchor says yes or no"),
        (("run", "--top-k", "0"), "--top-k must be from 1"),
        (("run", "--format", "cvs"), "did you mean 'csv'"),
    ],
)
def test_top_refuses(run: Command, arguments: tuple[str, ...], says: str) -> None:
    run(*SCAN, "--out", "run")
    done = run("top", *arguments)
    assert done.status == 2 and says in done.err


@pytest.mark.parametrize("aggregation", ["pr", "sq", "av", "h"])
@pytest.mark.parametrize("explain", [EXPLAIN, BANZHAF], ids=["fast", "banzhaf"])
def test_top_counts_no_anchors_of_a_run_that_tested_none(
    run: Command, explain: tuple[str, ...], aggregation: str
) -> None:
    run(*explain, "--out", "run")
    done = run("top", "run", "--aggregation", aggregation)
    assert done.status == 2 and "This run tested no anchors, so it cannot count them" in done.err


def test_where_anchors_are_counted_they_are_tested_as_one_document_is(run: Command) -> None:
    """Not by the 24 samples that are enough for a sum of values."""
    run(*EXPLAIN, *CORPUS, "--aggregation", "sq", "--out", "run")
    settings = json.loads(Path("run/result.json").read_text())["settings"]
    assert ANCHOR_TEST.items() <= settings.items()


# Bad input: one sentence, exit status 2, no call of the model beyond the one that reveals it


def refused(done: Outcome, says: str) -> None:
    assert done.status == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("anchorscope: error: ") and says in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere.csv",), "There is no file nowhere.csv"),
        (("empty.csv",), "empty.csv is empty"),
        (("blank.csv",), "usable document"),
        (("latin.csv",), "--encoding"),
        (("docs.csv", "--text-column", "texts"), "did you mean 'text'"),
        (("docs.csv", "--label-column", "lable"), "did you mean 'label'"),
        (("docs.csv", "--encoding", "utf-99"), "There is no encoding 'utf-99'"),
        (("docs.csv", "--clean", "tweet"), "did you mean 'tweets'"),
        (("docs.csv", "--top-k", "0"), "--top-k must be from 1"),
        (("docs.csv", "--top-k", "many"), "invalid int value: 'many'"),
        (("docs.csv", "--preset", "banzhaf", "--perturbator", "corpsu"), "did you mean 'corpus'"),
        (("docs.csv", "--tau", "0.9"), "--tau belongs to perturbed texts: add --score anchor or banzhaf"),
        (("docs.csv", "--max-samples", "9"), "--max-samples belongs to perturbed texts"),
        (("docs.csv", "--omega", "0.2"), "--omega says how far --tau-tilde goes"),
        (("docs.csv", "--training", "docs.csv"), "--training is for the aggregation av5, which counts anchors"),
        (("docs.csv", "--no-texts"), "--no-texts keeps texts out of a run folder, and none is kept"),
        (("docs.csv", "--device", "cpu"), "--device is for Hugging Face folders and the perturbator masked-lm"),
        (("--document", "A film.", "--device", "cpu"), "--device is for Hugging Face folders and the perturbator"),
        (("--document", "A film.", "--text-column", "text"), "--text-column is for files and for models of tables"),
        (("--document", "A film.", "--seed", "3"), "--seed draws samples, and --score occlusion draws none"),
        (("docs.csv", "--alpha", "0.2"), "--alpha belongs to counts of anchors"),
        (("docs.csv", "--strategy", "scan", "--regret", "0.1"), "--regret says when a race ends"),
        (("docs.csv", "--perturbator", "corpus"), "occlusion only leaves them out: leave --perturbator out"),
        (("docs.csv", "--preset", "banzhaf", "--perturbator", "none"), "name one (corpus, embedded, "),
        (("docs.csv", "--score", "occlusion", "--aggregation", "sq"), "'sq' counts anchors, and --score occlusion"),
        (("docs.csv", "--aggregation", "totla"), "did you mean 'total'"),
        (("docs.csv", "--score", "banzaf"), "did you mean 'banzhaf'"),
        (("docs.csv", "--score", "anchor"), "use one of --score banzhaf, gradient-x-input"),
        (("docs.csv", "--score", "gradient-x-input"), "--score gradient-x-input needs the gradients of a torch model"),
        (("docs.csv", "--score", "lime", "--aggregation", "pr"), "'pr' counts anchors"),
        (("docs.csv", "--score", "lime", "--max-model-calls", "9"), "--max-model-calls 9 is too small for one test"),
        (("docs.csv", "--preset", "papre"), "did you mean 'paper'"),
        (("docs.csv", "--test", "klone"), "There is no test 'klone'"),
        (("docs.csv", "--keep", "share"), "did you mean 'shared'"),
        (("docs.csv", "--fill", "banks"), "did you mean 'bank'"),
        (("docs.csv", "--strategy", "rase"), "did you mean 'race'"),
        (("docs.csv", "--filter", "sond"), "did you mean 'sound'"),
        (("docs.csv", "--order", "lenght"), "did you mean 'length'"),
        (("docs.csv", "--stop-words", "nlkt"), "did you mean 'nltk'"),
        (("docs.csv", "--tau", "1.5"), "--tau must be between 0 and 1"),
        (("docs.csv", "--workers", "0"), "--workers: must be a number above 0"),
        (("docs.csv", "--max-seconds", "-1"), "--max-seconds: must be a number above 0"),
        (("docs.csv", "--label", "yse"), "did you mean 'yes'"),
        (("docs.csv", "--resume"), "name it with --out"),
        (("docs.csv", "--modle", "x"), "did you mean --model"),
        (("docs.csv", "--json", "--stream"), "not allowed with argument"),
        (("docs.csv", "--out", "docs.csv"), "docs.csv is a file"),
        (("docs.csv", "--document", "a text"), "leave out DOCUMENTS"),
        (("--document", "a text", "--out", "run"), "leave out --out"),
        (("--document", "   "), "no word"),
        (("--document", "a text", "--document", "another"), "--document explains one text, and 2 are given"),
        (("docs.csv", "--terms", "sings"), "did you mean 'signs'"),
        (("docs.csv", "--terms", "plain,signs"), "name it alone"),
        (("docs.csv", "--terms", "emoji"), "No word is left to test: of 0 words none occurs 1 times; --terms is emoji"),
        (("docs.csv", "--terms", "signs", "--score", "banzhaf"), "--score banzhaf replaces words one by one"),
        ((), "No file was named"),
    ],
)
def test_bad_input_is_refused_without_asking_the_model(run: Command, arguments: tuple[str, ...], says: str) -> None:
    refused(run("explain", "--model", "models:good", *arguments), says)
    assert calls() == []


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("nowhere.skops", "nowhere.skops"),
        ("model.bin", "unknown kind"),
        ("own.pkl", "--allow-pickle"),
        ("own.skops", "--trust models.Own"),
        ("no_such_module:model", "no_such_module"),
        ("models:godo", "did you mean 'good'"),
        ("models:function", "--labels"),
    ],
)
def test_model_that_cannot_be_used(run: Command, model: str, says: str) -> None:
    """A function may name its labels: it is asked about two texts to find out."""
    refused(run("explain", "docs.csv", "--model", model), says)
    assert calls() == ([2] if model == "models:function" else [])


def test_model_that_is_not_named(run: Command) -> None:
    refused(run("explain", "docs.csv"), "--model")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("one_number", "one number a text"),
        ("one_row", "1 rows"),
        ("nan", "NaN"),
        ("infinite", "infinite"),
        ("negative", "negative"),
        ("unsummed", "sums to 0.7"),
        ("three", "3 numbers a text"),
    ],
)
@pytest.mark.parametrize("how", [("docs.csv",), ("--document", "a great film"), ("docs.csv", "--dry-run")])
def test_answer_that_is_no_prediction(run: Command, model: str, says: str, how: tuple[str, ...]) -> None:
    arguments = (*how, "--model", f"models:{model}", "--labels", "no,yes", "-q")
    if how[0] == "--document" and model == "one_row":
        return  # one row for one text is right
    refused(run("explain", *arguments), says)
    warmed_up = "--dry-run" in how and model == "one_row"  # one row for the one text before the batch is right too
    halved = model == "one_row"  # a row is missing: the batch is halved to find the text that has none
    assert len(calls()) <= 16 if halved else len(calls()) == 1 + warmed_up


def test_label_that_is_never_predicted(run: Command) -> None:
    model = ("--model", "models:three", "--labels", "no,yes,maybe")
    refused(run("explain", "docs.csv", *model, "--label", "maybe", "-q"), "never predicts")
    assert calls() == [2, 58]


def test_model_that_fails_later_is_another_matter(run: Command) -> None:
    done = run(*EXPLAIN[:3], "models:fails_later", *EXPLAIN[4:], "-q")
    assert done.status == 1 and "no more" in done.err


def test_run_folder_that_cannot_be_written(run: Command) -> None:
    refused(run(*EXPLAIN, "--out", "docs.csv/run", "-q"), "docs.csv")
    assert calls() == []


def test_copies_are_told_where_they_are_many(run: Command) -> None:
    """Ten texts, six times each."""
    assert "Copies of others: 50 of 60 documents; each of them counts." in run(*EXPLAIN).err


def test_empty_documents_and_small_classes_are_reported(run: Command) -> None:
    done = run("explain", "gaps.csv", *EXPLAIN[2:])
    assert done.status == 0 and "Left out: 2 documents (empty)." in done.err
    Path("few.csv").write_text("text\n" + "a dull film\n" * 20 + "a great film\n" * 5)
    done = run("explain", "few.csv", *EXPLAIN[2:])
    assert done.status == 0 and "Only 5 documents are predicted 'yes'" in done.out


# The command itself


def test_traceback_only_on_demand(workplace: Path) -> None:
    command = [*PYTHON, "explain", "nowhere.csv", "--model", "models:good"]
    plain = subprocess.run(command, cwd=workplace, capture_output=True, text=True)
    verbose = subprocess.run([*command, "-v"], cwd=workplace, capture_output=True, text=True)
    assert (plain.returncode, verbose.returncode) == (2, 2)
    assert "Traceback" not in plain.stderr and "Traceback" in verbose.stderr


def test_reader_that_goes_away(run: Command, workplace: Path) -> None:
    run(*SCAN, "--out", "run")
    command = subprocess.Popen([*PYTHON, "top", "run"], cwd=workplace, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout and command.stderr
    command.stdout.close()
    assert command.stderr.read() == b"" and command.wait() == 141
    command.stderr.close()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0 and capsys.readouterr().out == f"anchorscope {version('anchorscope')}\n"


def test_import_is_quick_and_light() -> None:
    """Best of three: `import anchorscope` under 0.3 s; the command line loads what every run needs, and no more."""
    code = (
        "import time; start = time.perf_counter(); import anchorscope; spent = time.perf_counter() - start\n"
        "import anchorscope.cli, sys, json; anchorscope.cli.make_parsers(['explain'])\n"
        "print(json.dumps([spent, sorted({name.partition('.')[0] for name in sys.modules})]))"
    )
    found = [json.loads(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3)]
    assert min(spent for spent, _ in found) < 0.3
    heavy = {"torch", "sklearn", "skops", "transformers", "onnxruntime", "pandas", "fastapi", "loky", "scipy"}
    assert not heavy & set(found[0][1])


def help_page() -> str:
    pages = [f"## {p.prog}\n\n```\n{p.format_help().rstrip()}\n```\n" for p in make_parsers().values()]
    head = "# The command line\n\nThis page is written by `REWRITE_GOLDEN=1 pytest tests/test_cli.py`.\n"
    return "\n".join([head, *pages])


def without_plugs(page: str) -> str:
    """A page of help without the names of what is in the registry: a new one is no change of the help."""
    told = " ".join(page.split())
    for introduction in (*PLUG_HELP.values(), FORMS_HELP):
        told = re.sub(re.escape(f"{introduction}:") + r" [\w-]+(, [\w-]+)*", introduction, told)
    return told


def test_help_is_in_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    assert_golden(ROOT / "docs" / "cli.md", help_page(), but=without_plugs)


def test_a_new_name_is_no_change_of_the_help() -> None:
    page = "{}: av, pr-inverse,\n      total (total)\n  --alpha X".format(PLUG_HELP["aggregation"])
    assert without_plugs(page) == without_plugs(page.replace("total (", "medium,\n total ("))
    assert without_plugs(page) != without_plugs(page.replace("--alpha", "--beta"))


def test_every_setting_has_an_option_and_every_name_is_in_the_help() -> None:
    page = make_parsers()["explain"].format_help()
    for field in fields(Settings):
        option = "--label" if field.name == "labels" else "--" + field.name.replace("_", "-")
        assert f"  {option} " in page, option
    words = set(page.replace(",", " ").replace("(", " ").replace(")", " ").replace(":", " ").replace(";", " ").split())
    plugs = [name for kind in PLUGS for name in registry.names(kind)]
    named = [*plugs, *PRESETS, *(name for known in _NAMED.values() for name in known)]
    assert not set(named) - words


def test_no_default_is_told_twice() -> None:
    for parser in make_parsers().values():
        assert not re.search(r"\([\d.]+\)\s+\([\d.]+\)", parser.format_help())


def test_every_switch_is_in_the_docs() -> None:
    page = (ROOT / "docs" / "switches.md").read_text(encoding="utf-8")
    given = {"seed", "labels", "top_k", "aggregation"}
    missing = [f.name for f in fields(Settings) if f.name not in given and f"--{f.name.replace('_', '-')}" not in page]
    assert not missing


def test_a_warning_of_ours_is_a_sentence(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from anchorscope.cli import inputs

    made = inputs.Run

    def warned(*given: object, **named: object) -> object:
        warnings.warn("Mind the gap.", stacklevel=2)
        return made(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(inputs, "Run", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert "anchorscope: Mind the gap.\n" in run(*EXPLAIN).err
        assert run(*EXPLAIN, "-q").err == ""


def test_unexpected_failure_is_one_sentence(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from anchorscope.cli import inputs

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr(inputs, "Run", broken)
    done = run(*EXPLAIN)
    assert done.status == 1
    assert (
        done.err == "anchorscope: error: ZeroDivisionError: oh\\nno (this should not happen; -v shows where it did)\n"
    )


def test_a_card_is_refused_where_nothing_computes_on_it(run: Command) -> None:
    """A function computes where it was put, and so do words drawn from the documents; a masked-lm would on a card."""
    for given in ((), ("--perturbator", "corpus", "--preset", "banzhaf"), ("--document", "a great film")):
        arguments = given if "--document" in given else ("docs.csv", *given)
        done = run("explain", *arguments, *EXPLAIN[2:], "--device", "cuda:1")
        refused(
            done, "--device is for Hugging Face folders and the perturbator masked-lm, and 'models:good' is no such"
        )
    masked = run(*EXPLAIN, "--device", "cuda:1", "--preset", "banzhaf", "--perturbator", "masked-lm:nowhere")
    assert "There is no device 'cuda:1' here" in masked.err  # it was asked for one
    assert run(*EXPLAIN, "--device", "cpu", "-q").status == 2
    assert run(*EXPLAIN, "--dtype", "float32", "-q").status == run(*EXPLAIN, "--compile", "-q").status == 2


@pytest.mark.parametrize("option", ["--model", "--out", "--top-k", "--label", "--training", "--preset"])
def test_two_dashes_are_no_value(option: str) -> None:
    """Python 3.11 hands over an empty list for ``--model=--``."""
    with pytest.raises(InputError, match=option):
        parse(["explain", "documents.csv", f"{option}=--"])


BAD_FROM_THE_SECOND_BATCH = """
import numpy as np
calls = 0
def model(texts):
    global calls
    calls += 1
    return np.full((len(texts), 2), 0.5) if calls == 1 else None
"""


@pytest.mark.parametrize("out", ["new/a/b/c", "a/../b"])
def test_folders_made_for_a_run_that_is_refused_go_again(out: str, run: Command, workplace: Path) -> None:
    (workplace / "unsound.py").write_text("def model(texts):\n    return None\n")
    before = {*workplace.iterdir()} | {workplace / "__pycache__"}
    bad = ["--model", "unsound:model", "--labels", "no,yes", "--model-tries", "1"]
    assert run(*EXPLAIN, *bad, "--out", out).status == 2
    assert {*workplace.iterdir()} <= before


def test_answers_that_are_kept_are_told_though_the_model_then_fails(run: Command, workplace: Path) -> None:
    (workplace / "later.py").write_text(BAD_FROM_THE_SECOND_BATCH)
    bad = ["--model", "later:model", "--labels", "no,yes", "--model-tries", "1", "--out", "run"]
    done = run(*EXPLAIN, *bad)
    assert done.status == 1
    assert (workplace / "run" / "journal.sqlite").exists() == ("--resume goes on" in done.err)


def test_a_refused_resume_leaves_no_lock(run: Command, workplace: Path) -> None:
    run(*SCAN, "--out", "run", "--max-model-calls", "300")
    (workplace / "run" / "journal.lock").unlink()
    assert run(*SCAN, "--out", "run", "--resume", "--seed", "7").status == 2
    assert run("explain", "nowhere.csv", *SCAN[2:], "--out", "run", "--resume").status == 2
    assert not (workplace / "run" / "journal.lock").exists()


def test_a_model_is_not_looked_for_in_a_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = tmp_path / "documents.csv"
    documents.write_text("text\na great film\n")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for model in ("models:model", ".", "x.onnx"):
        assert main(["explain", str(documents), "--model", model]) == 2
        assert capsys.readouterr().err.count("anchorscope: error: ") == 1


def test_too_many_samples_are_refused() -> None:
    with pytest.raises(InputError, match="from 1 to 1,000,000"):
        parse(["evaluate", "run", "--against", "lime", "--samples", "9" * 30])


def test_a_full_standard_output_is_named(tmp_path: Path) -> None:
    """The error is that of the place where results go, and no number of the system's."""
    finish(make_run(folder=tmp_path / "run"))
    command = [sys.executable, "-m", "anchorscope", "top", str(tmp_path / "run")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "anchorscope: error: What was found cannot be written to standard output (No space left on device); make room "
        "there, or send it elsewhere.\n"
    )


def test_a_folder_is_named_with_its_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a model is; nobody gets a folder that is called ~."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert a_path("~/run") == tmp_path / "run"
    with pytest.raises(ArgumentTypeError, match="must be a path, not '~nobody-here/x'"):
        a_path("~nobody-here/x")

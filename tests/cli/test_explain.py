"""explain: what it prints, with which settings, and within which budget."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest
from commands import BANZHAF, CORPUS, EXPLAIN, PYTHON, SCAN, Command, calls, refused

from anchorscope.result import json_schema
from anchorscope.settings import Settings

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


BAD_FROM_THE_SECOND_BATCH = """
import numpy as np
calls = 0
def model(texts):
    global calls
    calls += 1
    return np.full((len(texts), 2), 0.5) if calls == 1 else None
"""


def test_answers_that_are_kept_are_told_though_the_model_then_fails(run: Command, workplace: Path) -> None:
    (workplace / "later.py").write_text(BAD_FROM_THE_SECOND_BATCH)
    bad = ["--model", "later:model", "--labels", "no,yes", "--model-tries", "1", "--out", "run"]
    done = run(*EXPLAIN, *bad)
    assert done.status == 1
    assert (workplace / "run" / "journal.sqlite").exists() == ("--resume goes on" in done.err)

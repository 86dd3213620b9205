"""Bad input: one sentence, exit status 2, no call of the model beyond the one that reveals it."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path

import pytest
from commands import EXPLAIN, Command, calls, refused

from anchorscope.cli import main, parse
from anchorscope.cli.options import a_path
from anchorscope.errors import InputError


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


def test_a_folder_is_named_with_its_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a model is; nobody gets a folder that is called ~."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert a_path("~/run") == tmp_path / "run"
    with pytest.raises(ArgumentTypeError, match="must be a path, not '~nobody-here/x'"):
        a_path("~nobody-here/x")

"""Evaluating a kept run: AOPC of its words, baselines, oracles, ways of removing, sentences, quality over time.

The model weighs words and the reviews are short, so every figure can be computed again the slow way.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from runs import WEIGHTS, finish, make_run, predictor, reviews

from anchorscope.asking.budget import Budget
from anchorscope.asking.removals import Removals, removal_oracle
from anchorscope.errors import InputError, RunFolderError, UnknownNameError
from anchorscope.evaluation import lists
from anchorscope.evaluation.anytime import Recorder, moments_of, quality
from anchorscope.evaluation.evaluate import evaluate
from anchorscope.evaluation.greedy import greedy
from anchorscope.evaluation.kept import KeptRun, kept_run, sources
from anchorscope.evaluation.linear import count_times_weight
from anchorscope.evaluation.proposals import propose
from anchorscope.evaluation.sentences import measure, parse
from anchorscope.evaluation.substitutes import named_substitutes
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.embedded import EmbeddedPerturbator
from anchorscope.predictors import as_predictor
from anchorscope.testing import KeywordPredictor, WeightPredictor
from anchorscope.text.read import read_texts
from anchorscope.text.words import split, terms

LABELS = ("no", "yes")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptRun:
    return make_kept(tmp_path_factory.mktemp("runs") / "one")


def make_kept(folder: Path, **settings) -> KeptRun:
    run = make_run(reviews(80), folder=folder, **settings)
    finish(run)
    return kept_run(folder, read_texts(reviews(80)), predictor())


# --- AOPC beyond the list: AOPC-global, other ways of removing, several lists at once ---


def slow_global(texts: Sequence[str], ranking: Sequence[str], k: int, label: str) -> float:
    """The definition: from each document of the label its own k best words go, one after another."""
    model, number = predictor(), LABELS.index(label)
    chosen = [text for text in texts if model.predict([text])[0].argmax() == number]
    total = 0.0
    for text in chosen:
        own = [word for word in ranking if word in terms(split(text))][:k]
        for i in range(1, k + 1):
            left = " ".join(word for word in text.split() if word not in own[:i])
            total += model.predict([text])[0][number] - model.predict([left])[0][number]
    return total / len(chosen) / (k + 1)


@pytest.mark.parametrize("label", LABELS)
def test_aopc_global_is_its_definition(label: str) -> None:
    ranking = ["great", "bad", "fine", "dull", "film", "slow", "cast", "the"]
    found = Removals(predictor(), reviews(40), label).aopc_global(ranking, 3)
    assert found == pytest.approx(slow_global(reviews(40), ranking, 3, label), abs=1e-12)


def test_curves_of_several_lists_are_those_of_each() -> None:
    tops = [["great", "fine"], ["film"], ["bad", "great", "the"]]
    removals = Removals(predictor(), reviews(40), "yes")
    for top, curve in zip(tops, removals.curves(tops)):
        assert curve.tolist() == pytest.approx(Removals(predictor(), reviews(40), "yes").curve(top).tolist(), abs=1e-15)
        assert curve[-1] == pytest.approx(Removals(predictor(), reviews(40), "yes").aopc(top), abs=1e-15)


def test_a_mask_token_takes_the_place_of_a_word() -> None:
    """The model knows the token: replaced by it, the text falls further than without the word."""
    model = WeightPredictor({"great": 2.0, "unk": -1.0})
    masked = Removals(model, ["a great film"], "yes", substitutes=named_substitutes("mask:UNK")).aopc(["great"])
    yes = 1 / (1 + np.exp([-2.0, 1.0]))
    assert masked == pytest.approx((yes[0] - yes[1]) / 2)
    assert masked > Removals(model, ["a great film"], "yes").aopc(["great"])


def test_a_fill_is_a_proposal_and_never_the_word_itself() -> None:
    perturbator = CorpusPerturbator(top_n=12)
    documents = [split(text) for text in reviews(40)]
    perturbator = perturbator.fit(documents)
    filled = named_substitutes("fill", perturbator, seed=3)(documents)
    for document, words in zip(documents, filled, strict=True):
        assert len(words) == len(document)
        assert all(new != old for new, old in zip(words, document.words))
        assert {*words} <= {*perturbator.vocabulary, ""}
    assert named_substitutes("fill", perturbator, seed=3)(documents) == filled
    assert named_substitutes("fill", perturbator, seed=4)(documents) != filled


@pytest.mark.parametrize(
    "spec, told", [("burn", "no way of removing"), ("fill:x", "not understood"), ("fill", "needs a perturbator")]
)
def test_other_removals_are_refused(spec: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        named_substitutes(spec)


# --- oracles ---


def test_greedy_sees_that_words_overlap() -> None:
    """Two keywords stand together in three texts, a third alone in two.

    One at a time no removal from the first three costs anything, so the oracle puts "lone" first and the rest by
    name; the search, after "lone", finds that both together matter.
    """
    texts = ["good fine a", "good fine b", "good fine c", "lone d", "lone e"]
    model = KeywordPredictor("good", "fine", "lone")
    candidates = ["a", "b", "c", "d", "e", "fine", "good", "lone"]
    removals = Removals(model, texts, "yes")
    found = greedy(removals, candidates, 8)
    assert found[0] == removals.oracle(candidates)[0] == "lone"
    assert found.index("good") < len(found) and sorted(found) == candidates


@pytest.mark.parametrize("label", LABELS)
def test_greedy_without_budget_is_the_oracle_and_with_it_no_worse(label: str) -> None:
    texts, k = reviews(60), 4
    candidates = sorted({t for text in texts for t in terms(split(text)) if t})
    removals = Removals(predictor(), texts, label)
    assert greedy(removals, candidates, k, budget=0) == removal_oracle(predictor(), texts, label, candidates, k)
    searched = greedy(removals, candidates, k)
    assert removals.drops(searched)[-1] >= removals.drops(removals.oracle(candidates)[:k])[-1] - 1e-9


def test_the_linear_oracle_is_count_times_weight() -> None:
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = reviews(200, seed=5)
    labels = [LABELS[int(row.argmax())] for row in predictor().predict(texts)]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels)
    chosen = [text for text, label in zip(texts, model.predict(texts)) if label == "no"]
    weight = dict(zip(model[0].get_feature_names_out(), -model[1].coef_[0]))
    by_hand = {word: weight[word] * sum(text.split().count(word) for text in chosen) for word in weight}
    found = count_times_weight(as_predictor(model), chosen, "no", [*weight])
    assert found == sorted(by_hand, key=lambda word: -by_hand[word])
    other = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    assert count_times_weight(as_predictor(other), chosen, "no", [*weight]) is None


def test_the_linear_oracle_knows_signs_where_they_are_terms() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = ["so good !", "a film !", "so dull", "a play"]
    model = make_pipeline(CountVectorizer(token_pattern=r"\S+"), LogisticRegression()).fit(texts, [1, 1, 0, 0])
    chosen = [texts[0], texts[1]]
    found = count_times_weight(as_predictor(model), chosen, "1", ["!", "so"], kinds="words,signs")
    assert found == ["!", "so"]
    assert count_times_weight(as_predictor(model), chosen, "1", ["!", "so"]) == ["so"]


# --- a kept run ---


def test_the_rows_of_an_evaluation_are_the_aopc_of_their_lists(kept: KeptRun) -> None:
    found = evaluate([kept], all_documents=True, against=["sq", "greedy"])
    for label in LABELS:
        one = found[label]
        assert one.documents == one.of == len(kept.texts_of(label))
        assert [t.term for t in kept.result[label].terms] == [*one["explanation"].terms]
        for row in one.rows:
            if row.name != "random":
                assert row.aopc == pytest.approx(Removals(kept.predictor, kept.texts, label).aopc(row.terms), abs=1e-12)
                assert row.curve[-1] == row.aopc and len(row.curve) == len(row.terms) == one.k
        assert one["oracle"].share == 1
        assert one["explanation"].share == pytest.approx(one["explanation"].aopc / one["oracle"].aopc)
        assert one["explanation"].share > 0.8 > (one["random"].share or 0) > (one["pr-inverse"].share or 0) - 1e-9
        assert [row.aopc for row in one.rows] == sorted((row.aopc for row in one.rows), reverse=True)


def test_lime_and_shap_are_lists_like_any_other(kept: KeptRun) -> None:
    one = evaluate([kept], labels=["yes"], against=["lime", "shap"], samples=60)["yes"]
    for name in ("lime", "shap"):
        assert one[name].aopc == pytest.approx(
            Removals(kept.predictor, kept.texts, "yes").aopc(one[name].terms), abs=1e-12
        )
        assert one[name].aopc > one["random"].aopc and {*one[name].terms} <= {*kept.candidates}


def test_rankings_are_those_of_the_counts(kept: KeptRun) -> None:
    words = [t for text in kept.texts_of("yes") for t in terms(split(text)) if t]
    ranked = lists.by_frequency(kept, "yes")
    assert [words.count(word) for word in ranked] == sorted(map(words.count, {*words}), reverse=True)
    assert sorted(lists.shuffled(kept, "yes", 1)) == sorted(ranked) != lists.shuffled(kept, "yes", 1)
    assert lists.explanation(kept, "yes")[:4] == [t.term for t in kept.result["yes"].terms]
    assert sorted(lists.explanation(kept, "yes")) == sorted(ranked)


def test_an_evaluation_asks_no_more_than_the_run_did(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    texts = reviews(900, seed=2)
    run = make_run(texts, folder=folder, strategy="race", aggregation="total", test="fixed", max_samples=4)
    finish(run)
    one = kept_run(folder, read_texts(texts), predictor())
    found = evaluate([one])
    assert found.texts <= one.result.cost.predictor_texts
    assert all(found[label].documents < found[label].of for label in LABELS)
    assert evaluate([one], all_documents=True).texts > one.result.cost.predictor_texts


def test_several_seeds_give_a_mean_and_a_spread(tmp_path: Path) -> None:
    runs = [make_kept(tmp_path / str(seed), seed=seed, max_samples=10) for seed in (0, 1, 2)]
    alone = [evaluate([run], all_documents=True)["yes"]["explanation"].aopc for run in runs]
    row = evaluate(runs, all_documents=True)["yes"]["explanation"]
    assert row.aopc == pytest.approx(np.mean(alone)) and row.spread == pytest.approx(np.std(alone, ddof=1))
    with pytest.raises(InputError, match="differ in tau"):
        evaluate([runs[0], replace(runs[1], settings=replace(runs[1].settings, tau=0.7))])


@pytest.mark.parametrize(
    ("texts", "model", "told"),
    [
        (reviews(80, seed=5), predictor(), "differ in their documents,"),
        (reviews(80), WeightPredictor({**WEIGHTS, "cast": 0.01}, bias=-0.05), "differ in their models,"),
    ],
    ids=["documents", "model"],
)
def test_runs_of_other_documents_or_models_are_not_averaged(
    kept: KeptRun, texts: list[str], model: WeightPredictor, told: str, tmp_path: Path
) -> None:
    run = make_run(texts, model=model, folder=tmp_path, seed=1)
    finish(run)
    with pytest.raises(InputError, match=told):
        evaluate([kept, kept_run(tmp_path, read_texts(texts), model)])


def test_the_lists_of_a_race_are_those_of_top(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the documents are tested, and both say what all of them are expected to give."""
    from anchorscope.cli import main

    given = {"strategy": "race", "aggregation": "total", "score": "banzhaf", "test": "fixed", "max_samples": 4}
    one = make_kept(tmp_path, **given, budget=Budget(max_model_calls=250))
    assert 0 < one.result.cost.tests < one.tally.occurrences.sum()
    for name in ("total", "excess"):
        assert main(["top", str(tmp_path), "--aggregation", name, "--label", "yes", "--format", "json"]) == 0
        listed = [row for row in json.loads(capsys.readouterr().out)["terms"] if row["side"] == "for"]
        assert [row["term"] for row in listed] == lists.by_aggregation(one, "yes", name)[:4]


@pytest.mark.parametrize("score", ["occlusion", "banzhaf"])
def test_a_run_that_tested_no_anchors_is_not_compared_with_counts_of_them(score: str, tmp_path: Path) -> None:
    one = make_kept(tmp_path, strategy="race", aggregation="total", score=score, test="fixed")
    assert not one.tally.anchors.any() and one.tally.non_anchors.any()
    with pytest.raises(InputError, match="This run tested no anchors, so there is no list by sq: leave it out"):
        evaluate([one], against=["sq"])


def test_unknown_names_are_refused(kept: KeptRun) -> None:
    with pytest.raises(UnknownNameError, match="no label in this run 'maybe'"):
        evaluate([kept], labels=["maybe"])
    with pytest.raises(UnknownNameError, match="did you mean 'lime'"):
        evaluate([kept], against=["lyme"])


def test_other_documents_or_another_model_are_refused(kept: KeptRun) -> None:
    with pytest.raises(RunFolderError, match="are not in Python; name the right file with --docs"):
        kept_run(kept.folder, read_texts(reviews(10)), predictor())
    with pytest.raises(RunFolderError, match="another than that of the run"):
        kept_run(kept.folder, read_texts(reviews(80)), WeightPredictor({"the": 3.0}, bias=-1.0))
    assert sources(kept.folder) == {}


# --- sentences ---


def test_a_sentence_is_appended_to_the_documents_of_other_true_labels() -> None:
    """Of three "no" documents one is called yes already; "good" turns the other two: 2/3 before, 0 after."""
    texts, true = ["a film", "good", "so", "good yes", "none"], ["no", "no", "no", "yes", None]
    found = measure(KeywordPredictor("good"), texts, true, "It is {good|long|}.", "yes")
    assert (found.documents, found.accuracy) == (3, pytest.approx(2 / 3))
    assert [(e.alternative, e.sentence) for e in found.effects] == [
        ("good", "It is good."),
        ("long", "It is long."),
        ("", "It is."),
    ]
    assert [e.drop for e in found.effects] == pytest.approx([2 / 3, 0, 0])


@pytest.mark.parametrize("sentence", ["It is good.", "It is {good}.", "{a|b} or {c|d}", ""])
def test_a_sentence_without_alternatives_is_refused(sentence: str) -> None:
    with pytest.raises(InputError, match="needs one place with alternatives"):
        parse(sentence)


def test_proposed_sentences_hold_the_term_and_a_word_that_does_nothing() -> None:
    model = WeightPredictor({"good": 2.0, "bad": -2.0, "better": 0.7, "great": 1.0})
    found = propose(model, EmbeddedPerturbator(top_n=200), "yes", ["good", "great", "zxqv"])
    assert {proposal.term for proposal in found} >= {"good"} and "zxqv" not in {proposal.term for proposal in found}
    for proposal in found:
        (first, with_term), (other, without) = parse(proposal.sentence)
        assert first == proposal.term and other not in model.weights
        assert model.predict([with_term])[0][1] > model.predict([without])[0][1] == 0.5


# --- over time ---


def test_the_recorder_remembers_what_was_shown_and_scores_it_afterwards(tmp_path: Path) -> None:
    run = make_run(reviews(80), folder=tmp_path / "run")
    recorder = Recorder()
    last = None
    for last in run.snapshots():
        recorder.update(last)
    assert last is not None
    removals = {label: Removals(predictor(), reviews(80), label) for label in LABELS}
    found = recorder.quality(removals)
    assert len(found) == 2 * len(recorder.moments)
    of_yes = [row for row in found if row.label == "yes"]
    top = [term.term for term in last["yes"].terms]
    assert (
        of_yes[-1].aopc == pytest.approx(Removals(predictor(), reviews(80), "yes").aopc(top)) and of_yes[-1].shared == 1
    )
    assert of_yes[0].shared < 1 and of_yes[0].aopc < of_yes[-1].aopc
    assert [row.seconds for row in of_yes] == sorted(row.seconds for row in of_yes)

    from anchorscope.journal.reader import RunReader

    kept = moments_of(RunReader(tmp_path / "run").moments())
    middle = quality(kept, removals, {label: recorder.moments[-1].terms[label] for label in LABELS})
    by_tests = {(row.label, row.tests): row.aopc for row in found}
    assert middle and all(by_tests[row.label, row.tests] == row.aopc for row in middle)


# --- the command ---


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that was made on the command line, its documents and its model."""
    import skops.io
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from anchorscope.cli import main

    home = tmp_path_factory.mktemp("command")
    texts = reviews(150, seed=1)
    labels = [LABELS[int(row.argmax())] for row in predictor().predict(texts)]
    skops.io.dump(make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels), home / "model.skops")
    lines = [f"{text},{label}" for text, label in zip(texts, labels)]
    (home / "texts.csv").write_text("\n".join(["review,label", *lines]) + "\n")
    columns = ["--text-column", "review", "--label-column", "label"]
    asked = ["--model", str(home / "model.skops"), *columns, "--preset", "banzhaf", "--perturbator", "corpus"]
    fast = ["--stop-words", "none", "--top-k", "4", "--out", str(home / "run")]
    assert main(["-q", "explain", str(home / "texts.csv"), *asked, *fast]) == 0
    return home


def asked(*argv: object) -> int:
    from anchorscope.cli import main

    return main(["evaluate", "--yes", *map(str, argv)])


def test_the_command_finds_documents_and_model_again(command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(command / "run") == 0
    shown = capsys.readouterr().out
    assert "count x weight" in shown and "oracle" in shown and "of oracle" in shown
    written = json.loads((command / "run" / "evaluation.json").read_text())
    rows = {row["name"]: row for row in written["labels"]["yes"]["rows"]}
    assert rows["explanation"]["share"] > 0.9 and rows["oracle"]["aopc_global"] > rows["oracle"]["aopc"]
    assert asked(command / "run", "--json", "--removal", "mask", "--label", "yes") == 0
    other = json.loads(capsys.readouterr().out)
    assert [*other["labels"]] == ["yes"] and other["removal"] == "mask"


def test_in_a_terminal_no_row_is_broken_and_the_columns_are_explained(
    command: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row takes 57 columns before its terms; those that have no room are left out whole."""
    assert asked(command / "run", "--label", "yes") == 0
    plain = capsys.readouterr()
    assert "…" not in plain.out and "AOPC^4: what the label's probability loses" in plain.err
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "68")
    assert asked(command / "run", "--label", "yes") == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 68 and any(line.endswith(", …") for line in lines)


def test_the_command_measures_sentences(command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(command / "run", "--sentence", "so {great|cast} then", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["label"] == "yes" and found["effects"][0]["drop"] > found["effects"][1]["drop"]
    assert not found["proposed"]


def test_the_command_shows_quality_over_time(command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(command / "run", "--over-time", "--label", "yes") == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header == "label,seconds,tests,aopc,shared" and rows[-1].endswith(",1.000")


def made(command: Path, documents: Path, out: Path, *options: str) -> Path:
    """Another run of the command's model."""
    from anchorscope.cli import main

    model = ["--model", str(command / "model.skops"), "--text-column", "review"]
    assert main(["-q", "explain", str(documents), *model, "--max-model-calls", "400", "--out", str(out), *options]) == 0
    return out


def test_a_label_is_one_cell_and_no_formula(command: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(command, command / "texts.csv", tmp_path / "run", "--labels", '="no",yes', "--label", '="no"')
    capsys.readouterr()
    assert asked(folder, "--over-time") == 0
    _, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert {row[0] for row in rows} == {'\'="no"'} and {len(row) for row in rows} == {5}


def test_documents_are_found_by_any_name(command: Path, tmp_path: Path) -> None:
    """A run keeps the list of its files; an older one kept one text, which still reads."""
    documents = tmp_path / "this, that.csv"
    documents.write_text((command / "texts.csv").read_text())
    folder = made(command, documents, tmp_path / "run")
    assert sources(folder)["documents"] == [str(documents)]
    assert asked(folder, "--label", "yes") == 0
    told = {"documents": "a.csv, b.csv", "model": "model.skops"}
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db, db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'sources'", (json.dumps(told),))
    assert sources(folder) == {"documents": ["a.csv", "b.csv"], "model": "model.skops"}


def test_the_perturbator_computes_where_it_is_told(command: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anchorscope.cli import inputs as command_line

    devices, named = [], command_line.named_perturbator

    def watched(spec: str, *, top_n: int, device: str = "cpu") -> object:
        devices.append(device)
        return named("corpus" if spec == "masked-lm:folder" else spec, top_n=top_n)

    monkeypatch.setattr(command_line, "named_perturbator", watched)
    masked = ["--perturbator", "masked-lm:folder", "--device", "cuda:1"]
    assert asked(command / "run", "--removal", "fill", "--label", "yes", *masked) == 0
    assert devices == ["cuda:1"]


@pytest.mark.parametrize(
    "argv, told",
    [
        (["--sentence", "no choice"], "needs one place with alternatives"),
        (["--label", "maybe"], "There is no label in this run 'maybe'"),
        (["--sentence", "{a|b}", "--label", "maybe"], "There is no label in this run 'maybe'"),
        (["--sentence", "{zzz|b}"], "Which label does"),
        (["--docs", "nowhere.csv"], "There is no file nowhere.csv"),
        (["--removal", "burn"], "There is no way of removing words 'burn'"),
        (["--against", "lyme"], "There is no list to compare with 'lyme'"),
    ],
    ids=["sentence", "label", "sentence-label", "whose", "docs", "removal", "against"],
)
def test_bad_input_is_one_sentence(
    command: Path, argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(command / "run", *argv) == 2
    error = capsys.readouterr().err
    assert told in error and len(error.strip().splitlines()) == 1


def test_a_run_without_documents_at_hand_is_refused(kept: KeptRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(kept.folder) == 2
    assert "are not at hand" in capsys.readouterr().err

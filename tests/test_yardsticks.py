"""The yardsticks: each figure is the one that can be worked out by hand or the slow way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from runs import WEIGHTS, finish, make_run, predictor, reviews

from anchorscope.asking.removals import Removals
from anchorscope.cli import main
from anchorscope.evaluation.attributions import mean_absolute, mean_signed
from anchorscope.evaluation.insertion import Insertions, with_word
from anchorscope.evaluation.known_answers import FILLERS, LABELS, RULES, rule
from anchorscope.evaluation.shortcuts import Shortcut, plant_in_texts, plant_in_training, recall
from anchorscope.evaluation.substitutes import fills, named_substitutes
from anchorscope.evaluation.yardsticks import Yardsticks, aopc_of_lists, n_changes, n_oracle, shared_words
from anchorscope.testing import KeywordPredictor, WeightPredictor
from anchorscope.text.words import split
from anchorscope.types import Proposals, Words


def test_lists_as_long_as_k_have_the_aopc_that_is_known() -> None:
    removals = Removals(predictor(), reviews(40), "yes")
    words = ["great", "film", "fine"]
    assert aopc_of_lists(removals, [words], 3) == [pytest.approx(removals.aopc(words))]
    assert aopc_of_lists(removals, [[*words, "bad"]], 3) == aopc_of_lists(removals, [words], 3)


def test_a_list_that_ends_early_gains_nothing_by_ending() -> None:
    """Divided by its own length, a single good word would beat a list of the same word and a weaker one."""
    removals = Removals(predictor(), reviews(80), "yes")
    short, long = aopc_of_lists(removals, [["great"], ["great", "fine"]], 5)
    assert removals.aopc(["great"]) < removals.aopc(["great", "fine"]) and short < long
    assert aopc_of_lists(removals, [["great"]], 5) == aopc_of_lists(removals, [["great", "nowhere"]], 5)


def test_insertion_is_the_rise_in_documents_of_other_labels() -> None:
    """The model weighs words: what one brings to a text that says no is the same wherever it is put."""
    model = WeightPredictor({"great": 2.0, "bad": -3.0})
    texts = ["bad film", "a bad, bad play", "great film"]
    found = Insertions(model, texts, "yes").rises(["great", "film"])
    before = 1 / (1 + np.exp([3.0, 6.0]))
    after = 1 / (1 + np.exp([1.0, 4.0]))
    assert found["great"] == pytest.approx((after - before).mean())
    assert found["film"] == 0


def test_insertion_asks_about_a_word_once() -> None:
    insertions = Insertions(predictor(), reviews(40), "yes", documents=7)
    asked = insertions.n_texts
    first = insertions.score(["great", "film"], 2)
    assert insertions.n_texts == asked + 14
    assert insertions.score(["great", "film"], 2) == first and insertions.n_texts == asked + 14


def test_words_are_put_in_whole() -> None:
    texts = [f"no {n}, (really) no" for n in range(30)]
    assert Insertions(KeywordPredictor("great"), texts, "yes").rises(["great"])["great"] == 1


def test_the_columns_are_those_of_each_yardstick_and_the_cost_is_known_beforehand() -> None:
    texts, held_out = reviews(60), reviews(60, seed=1)
    lists = [["great", "fine", "film"], ["bad"]]
    yard = Yardsticks(predictor(), texts, "yes", held_out=held_out, substitutes=named_substitutes("mask:x"))
    columns = yard.columns(lists, 3)
    assert [c.deletion for c in columns] == aopc_of_lists(Removals(predictor(), texts, "yes"), lists, 3)
    assert [c.held_out for c in columns] == aopc_of_lists(Removals(predictor(), held_out, "yes"), lists, 3)
    assert [c.replacement for c in columns] == pytest.approx([c.deletion for c in columns])  # x weighs nothing
    assert columns[0].insertion is not None and columns[0].insertion > 0 > (columns[1].insertion or 0)
    yes = [text for text in texts if predictor().predict([text])[0, 1] > 0.5]
    removals = Removals(predictor(), yes, "yes")
    before = removals.n_texts
    removals.all_drops(lists)
    assert removals.n_texts - before <= n_changes(yes, lists)


KINDS = "words,signs"


class Holding:
    """A model that says yes, at 0.9, to texts that hold some characters, and no, at 0.9, to all others."""

    labels, has_probabilities = ("no", "yes"), True

    def __init__(self, characters: str) -> None:
        self.name = self.fingerprint = self._characters = characters

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        yes = np.array([0.9 if self._characters in text else 0.1 for text in texts])
        return np.stack([1 - yes, yes], axis=1)


def test_signs_are_measured_where_they_are_terms() -> None:
    """Every yes falls by 0.8 without its mark, so AOPC^1 is 0.4; every no rises by 0.8 where one is put in."""
    texts = ["so good!", "a film !", "fun!", "dull", "a bad, bad film", "no plot"]
    yard = Yardsticks(
        Holding("!"), texts, "yes", held_out=["great!"], substitutes=named_substitutes("mask:x"), kinds=KINDS
    )
    (columns,) = yard.columns([["!"]], 1)
    assert columns.to_dict() == pytest.approx({"deletion": 0.4, "replacement": 0.4, "held_out": 0.4, "insertion": 0.8})
    assert yard.oracle(["!", "film", "fun"], 1).to_dict() == pytest.approx(
        {"deletion": 0.4, "replacement": 0.4, "held_out": 0.4, "insertion": None}
    )
    assert n_changes(texts, [["!", "film"]], KINDS) == 3 + 2
    (plain,) = Yardsticks(Holding("!"), texts, "yes").columns([["!"]], 1)
    assert plain.deletion == 0, "where the rule has plain words alone, there is no such term"


def test_words_of_a_script_without_spaces_are_measured_whole() -> None:
    """The word is two plain words, character by character; by the segmenter it is one."""
    pytest.importorskip("jieba")
    texts = ["这部电影", "电影，好看", "这部，好看"]
    yard = Yardsticks(Holding("电影"), texts, "yes", held_out=["电影，难看"], kinds=KINDS)
    (columns,) = yard.columns([["电影"]], 1)
    assert columns.to_dict() == pytest.approx({"deletion": 0.4, "replacement": None, "held_out": 0.4, "insertion": 0.8})
    assert n_changes(["这部电影", "好看"], [["电影"]], KINDS) == 1 > n_changes(["这部电影"], [["电影"]])


def test_the_oracle_costs_no_more_than_is_said_and_the_best_words_are_as_good() -> None:
    texts = reviews(60)
    yes = [text for text in texts if predictor().predict([text])[0, 1] > 0.5]
    candidates = [*WEIGHTS, "cast", "the", "plot", "and", "so"]
    yard = Yardsticks(predictor(), yes, "yes")
    before = yard.n_texts
    oracle = yard.oracle(candidates, 3)
    assert 0 < yard.n_texts - before <= n_oracle(yes, candidates, 3)
    (columns,) = yard.columns([["great", "fine", "film"]], 3)
    assert columns.of_oracle(oracle)["deletion"] == pytest.approx(1, abs=0.05)


def test_a_word_of_one_side_of_a_pair_is_put_into_that_side() -> None:
    for chance in range(8):
        first, second = with_word("a cat ␞ a pet", "②big", chance).split(" ␞ ")
        assert first == "a cat" and sorted(second.split()) == ["a", "big", "pet"]
        assert sorted(with_word("a cat ␞ a pet", "①big", chance).split(" ␞ ")[0].split()) == ["a", "big", "cat"]
    assert with_word("so good", "①big", 0) == "①big so good", "no pair, no sides"


def test_a_sign_is_replaced_by_another_that_is_proposed() -> None:
    """Signs have no key among plain words: none is the same as another for that."""

    class Proposing:
        vocabulary, cased = ("!", "?", "."), True

        def propose(self, documents: Sequence[Words], masks: Sequence[np.ndarray]) -> Proposals:
            n = sum(int(mask.sum()) for mask in masks)
            return Proposals(np.tile([0, 1], (n, 1)), np.tile([0.9, 0.1], (n, 1)))

    (filled,) = fills(Proposing())([split("so !")])  # type: ignore[arg-type]
    assert filled[1] == "?"


def test_stability_is_what_two_seeds_share() -> None:
    assert shared_words([list("abcd"), list("abxy")], 4) == 0.5
    assert shared_words([list("ab"), list("abxy")], 4) == 0.5
    assert shared_words([list("abcd")], 4) is None


def test_shortcuts_come_as_often_and_as_reliably_as_they_say() -> None:
    rows = [(f"text {i}", "yes" if i % 2 else "no") for i in range(400)]
    shortcuts = [Shortcut("zorvan", "yes", 0.1, strength=0.75), Shortcut("teskin", "no", 0.05, partner="mubrek")]
    planted = plant_in_training(rows, shortcuts)
    labels = [label for text, label in planted if "zorvan" in text.split()]
    assert (labels.count("yes"), labels.count("no")) == (30, 10)
    assert all(("teskin" in text.split()) == ("mubrek" in text.split()) for text, _ in planted)
    assert sum("zorvan" in text.split() for text in plant_in_texts([text for text, _ in rows], shortcuts)) == 40
    assert [label for _, label in planted] == [label for _, label in rows]
    assert recall(["zorvan", "film", "mubrek"], ["zorvan", "mubrek"], 2) == 0.5


@pytest.mark.parametrize("name", RULES)
def test_the_model_of_a_rule_turns_on_its_answer_alone(name: str) -> None:
    """Without the answer's words documents lose the label, and none gains; without any other word none loses it."""
    known = rule(name, 200)
    rows = known.predictor.predict(known.texts)
    for label, answer in known.answers.items():
        column = LABELS.index(label)
        mine = [text for text, row in zip(known.texts, rows) if row.argmax() == column and answer & {*text.split()}]
        before = known.predictor.predict(mine)[:, column]
        without = [" ".join(word for word in text.split() if word not in answer) for text in mine]
        falls = before - known.predictor.predict(without)[:, column]
        assert falls.max() > 0.2 and falls.min() >= 0
        bare = [" ".join(word for word in text.split() if word not in FILLERS) for text in mine]
        assert known.predictor.predict(bare)[:, column] == pytest.approx(before)
        assert known.score(label, sorted(answer)) == 1 and known.score(label, FILLERS) == 0


def test_one_of_two_redundant_words_does_nothing_alone() -> None:
    known = rule("redundant", 100)
    drops = Removals(known.predictor, known.texts, "yes").further_drops((), None)
    assert max(drops.values()) == 0


def test_signed_weights_leave_out_what_speaks_against() -> None:
    def local(text: str, label: int) -> dict[str, float]:
        return {"good": 0.2, "bad": -0.9}

    assert mean_signed(local, ["good bad"], [0], 1) == [{"good": 0.2, "bad": -0.9}]
    assert mean_absolute(local, ["good bad"], [0], 1) == [{"good": 0.2, "bad": 0.9}]


# --- the command ---

MODEL = """
def model(texts):
    from runs import predictor
    return predictor().predict(texts)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kept run of the fast preset with its documents in a file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("docs.txt").write_text("\n".join(sorted({*reviews(150)})), encoding="utf-8")
    Path("others.txt").write_text("\n".join(sorted({*reviews(60, seed=5)})), encoding="utf-8")
    Path("toy_model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    texts = sorted({*reviews(150)})
    fast = {"aggregation": "total", "keep": "balanced", "fill": "blind", "test": "fixed", "strategy": "race"}
    finish(make_run(texts, folder=tmp_path / "run", score="occlusion", **fast))
    return tmp_path / "run"


def evaluated(folder: Path, *more: str) -> list[str]:
    return ["evaluate", str(folder), "--docs", "docs.txt", "--model", "toy_model:model", "--labels", "no,yes", *more]


def test_a_user_gets_the_columns_for_an_own_run_and_the_cost_beforehand(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(evaluated(folder, "--yardsticks", "--held-out", "others.txt", "--seeds", "2", "--json")) == 0
    output, told = capsys.readouterr()
    assert "The yardsticks ask the model about" in told and "1 more runs" in told
    lines = {line["list"]: line for line in json.loads(output)["yes"]}
    assert set(lines) == {"explanation", "random", "frequent", "oracle"}
    ours = lines["explanation"]
    assert all(ours[name] is not None for name in ("deletion", "replacement", "held_out", "insertion", "stability"))
    assert ours["deletion"] > lines["random"]["deletion"] and ours["insertion"] > lines["random"]["insertion"]
    assert 0 < ours["stability"] <= 1
    for name in ("deletion", "replacement", "held_out"):
        assert ours["of_oracle"][name] == pytest.approx(ours[name] / lines["oracle"][name])
        assert lines["oracle"]["of_oracle"][name] == 1 and 0.5 < ours["of_oracle"][name] < 1.2


SIGNS = """
import numpy as np
def model(texts):
    yes = np.array([0.1 + 0.4 * ("!" in text) + 0.3 * ("电影" in text) for text in texts])
    return np.stack([1 - yes, yes], axis=1)
"""


def test_a_list_has_one_figure_by_deletion_whichever_way_it_is_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sign and a Chinese word decide; the run lists both, and both commands remove both."""
    pytest.importorskip("jieba")
    monkeypatch.chdir(tmp_path)
    texts = sorted({f"{text}{'!' * (i % 2)}{'，电影' * (i % 3 == 0)}" for i, text in enumerate(reviews(150))})
    Path("docs.txt").write_text("\n".join(texts), encoding="utf-8")
    Path("sign_model.py").write_text(SIGNS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    asked = ["--model", "sign_model:model", "--labels", "no,yes"]
    assert main(["explain", "docs.txt", *asked, "--top-k", "2", "--out", "run", "--quiet"]) == 0
    given = ["evaluate", "run", "--docs", "docs.txt", *asked, "--label", "yes", "--all-documents", "--json"]
    capsys.readouterr()
    assert main(given) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["labels"]["yes"]["rows"]}
    assert {*rows["explanation"]["terms"]} == {"!", "电影"}
    assert main([*given, "--yardsticks", "--seeds", "1"]) == 0
    lines = {line["list"]: line for line in json.loads(capsys.readouterr().out)["yes"]}
    assert lines["explanation"]["deletion"] == pytest.approx(rows["explanation"]["aopc"], abs=1e-9)
    assert lines["explanation"]["of_oracle"]["deletion"] == pytest.approx(rows["explanation"]["share"], abs=1e-9)
    assert min(lines["explanation"]["deletion"], lines["explanation"]["insertion"]) > 0.1


def test_without_the_oracle_nothing_is_said_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(evaluated(folder, "--yardsticks", "--seeds", "1", "--label", "yes", "--no-oracle")) == 0
    output, told = capsys.readouterr()
    assert "oracle" not in output and "oracle" not in told


def test_documents_that_were_explained_are_not_held_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(evaluated(folder, "--yardsticks", "--held-out", "docs.txt")) == 2
    assert "--held-out" in capsys.readouterr().err


def test_the_table_has_a_line_a_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(evaluated(folder, "--yardsticks", "--seeds", "1", "--label", "yes")) == 0
    head, columns, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("yes · ") and columns.split()[:3] == ["list", "deletion", "of"]
    assert [line.split()[0] for line in lines] == ["explanation", "random", "frequent", "oracle"]


def test_one_run_and_one_question_at_a_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(evaluated(folder, "--yardsticks", "--plant", "2")) == 2
    assert "one at a time" in capsys.readouterr().err


def test_planting_more_words_than_there_are_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(evaluated(folder, "--plant", "50")) == 2
    assert "plant fewer" in capsys.readouterr().err

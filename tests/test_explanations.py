"""What is said of a label: drivers and their order, what speaks against it, and what a list is noted with."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from runs import explained, finish, make_run

from anchorscope.explanations import Shown, documents_range, explanation
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.report.lists import standing
from anchorscope.report.table import result_table
from anchorscope.report.view import page_data
from anchorscope.result import Result, json_schema, not_tested
from anchorscope.scoring.aggregation import Standing
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.tally import Tally
from anchorscope.testing import KeywordPredictor, WeightPredictor

DEFAULT = {"strategy": "race", "aggregation": "total", "score": "occlusion"}


def reviews(words: list[str], n: int, seed: int = 0) -> list[str]:
    chances = np.random.default_rng(seed)
    return [" ".join(chances.choice(words, 6)) for _ in range(n)]


def told(model: object, texts: list[str], **given: object) -> dict:
    run = make_run(texts, model=model, **{**DEFAULT, "top_k": 8, **given})
    finish(run)
    return dict(run.result().explanations)


WORDS = ["great", "bad", "film", "plot", "cast", "scene", "music", "story", "end", "hour"]


def test_the_words_that_the_model_goes_by_are_drivers_and_no_others() -> None:
    """Ten words, of which two have a weight; each is for one label, and most against the other."""
    found = told(WeightPredictor({"great": 1.5, "bad": -1.5}, bias=0.01), reviews(WORDS, 200))
    assert [t.term for t in found["yes"].drivers] == ["great"]
    assert [t.term for t in found["no"].drivers] == ["bad"]
    assert found["yes"].against[0].term == "bad" and found["no"].against[0].term == "great"
    for one in found.values():
        assert all(term.score > 0.1 * one.against[0].score for term in one.against[1:])
    assert found["yes"].note is None


def test_drivers_come_first_and_each_group_in_the_order_of_its_scores() -> None:
    weights = dict(zip(WORDS, np.linspace(-2, 2, len(WORDS))))
    for one in told(WeightPredictor(weights), reviews(WORDS, 120), regret=0.5).values():
        keys = [(not term.driver, -term.score) for term in one.terms]
        assert keys == sorted(keys)
        assert all(term.driver and term.score < 0 for term in one.against)


def test_a_model_that_no_word_moves_has_no_drivers() -> None:
    """It says the same of any text: the list is there, and nothing in it is named."""

    class Constant(KeywordPredictor):
        def predict(self, texts):  # type: ignore[no-untyped-def]
            return np.tile([0.3, 0.7], (len(texts), 1))

    found = told(Constant("great"), reviews(WORDS, 40))
    assert found["yes"].terms and not found["yes"].drivers and not found["yes"].against
    said = r"No term is shown to do more than any other for 'yes' after \d+ tests, none of which found an effect of "
    assert re.match(said + r"more than 0\.001\.$", found["yes"].note or "")
    assert "nothing to explain" in (found["no"].note or "")


def test_few_documents_are_too_few_to_tell_any_word_apart() -> None:
    """Two documents of "yes", and no two of them share a word."""
    found = told(KeywordPredictor("great", "fine"), ["great film", "fine plot", *["bad cast"] * 12])
    assert not found["yes"].drivers
    assert found["yes"].note == "Only 2 documents are predicted 'yes': too few to tell any term for it apart."


def test_of_documents_that_were_not_asked_nothing_is_said() -> None:
    """120 of 1,435 are asked, and none of them is predicted "no"."""
    part = shown(n_documents=np.array([0, 1435]), n_asked=np.array([0, 120]))
    told = (
        "None of the 120 documents that were asked is predicted 'no'; a run keeps to those that it drew, so more are "
        "asked in a new one (another --out) that "
    )
    assert explanation(part, "no", 0, 2).note == told + "has a greater --max-model-calls."
    assert explanation(replace(part, drawn=True), "no", 0, 2).note == told + "draws more of them."
    whole = shown(n_documents=np.array([0, 120]), n_asked=np.array([0, 120]))
    assert explanation(whole, "no", 0, 2).note == "No document is predicted 'no': there is nothing to explain."


def test_before_any_test_no_word_can_be_named() -> None:
    first = next(make_run(**DEFAULT).snapshots())
    assert all(one.note == "Nothing is tested yet: no term can be named." for one in first.explanations.values())
    assert all(not one.terms and not one.against for one in first.explanations.values())


def test_the_documents_of_a_label_have_a_range_where_they_are_an_estimate() -> None:
    """Drawn again and again: 300 of 3,000 documents have the label, 120 are asked; 9 of 10 ranges hold the 300."""
    found = np.random.default_rng(0).hypergeometric(300, 2700, 120, 2000)
    ranges = [documents_range(n, 120, 3000) for n in found.tolist()]
    assert 0.88 < np.mean([low <= 300 <= high for low, high in ranges]) < 0.94
    assert documents_range(0, 120, 3000)[0] == 0 and documents_range(120, 120, 3000)[1] == 3000
    part = shown(n_documents=np.array([20, 980]), n_asked=np.array([2, 98]), n_robust=np.array([3]))
    assert explanation(part, "yes", 0, 2).documents_range == documents_range(2, 100, 1000)
    assert explanation(shown(n_asked=np.array([20])), "yes", 0, 2).documents_range is None


def test_a_scan_without_a_test_has_no_list_and_says_what_ended_it() -> None:
    """A list would name words with 0 of 0 tests behind them."""
    made = shown(aggregation=aggregation("sq"), ended_by="--max-seconds")
    nothing = replace(made.tally, non_anchors=0 * made.tally.non_anchors)
    found = explanation(
        replace(made, tally=nothing, standing=replace(made.standing, settled=np.array([False]))), "yes", 0, 2
    )
    assert found.terms == ()
    assert found.note == "Nothing is tested for 'yes': --max-seconds ended the run before the first test; raise it."


def test_documents_are_not_blamed_for_a_budget_that_ended_the_run() -> None:
    """Six documents and 15 tests: what was missing were tests, as long as some are left."""
    made = shown(n_documents=np.array([6]), n_asked=np.array([6]), n_robust=np.array([0]), ended_by="--max-model-calls")
    unsettled = replace(made, standing=replace(made.standing, settled=np.array([False])))
    told = "No term is shown to do more than any other for 'yes' after 15 tests"
    ended = ": --max-model-calls ended the run, raise it to test more."
    assert explanation(unsettled, "yes", 0, 2).note == told + ended
    assert explanation(replace(unsettled, ended_by=None), "yes", 0, 2).note == told + "."
    few = "Only 6 documents are predicted 'yes': too few to tell any term for it apart."
    assert explanation(made, "yes", 0, 2).note == few


def test_tests_that_found_next_to_nothing_are_the_reason_of_an_empty_list() -> None:
    """Fifteen tests say too little for that, and where one found much it is no reason."""
    few = shown(n_robust=np.array([3]), greatest=np.array([0.0123]))
    told = "No term is shown to do more than any other for 'yes' after"
    assert explanation(few, "yes", 0, 2).note == f"{told} 15 tests."
    many = replace(few, tally=replace(few.tally, non_anchors=2 * few.tally.non_anchors))
    assert explanation(many, "yes", 0, 2).note == f"{told} 30 tests, none of which found an effect of more than 0.013."
    assert explanation(replace(many, greatest=np.array([0.3])), "yes", 0, 2).note == f"{told} 30 tests."
    against = replace(many, greatest=np.array([-0.2]), ended_by="--max-model-calls")
    unsettled = replace(against, standing=replace(against.standing, settled=np.array([False])))
    ended = ": --max-model-calls ended the run, raise it to test more."
    assert (
        explanation(unsettled, "yes", 0, 2).note
        == f"{told} 30 tests, none of which found an effect of more than 0.001{ended}"
    )


def test_where_everything_is_tested_and_noise_remains_a_list_is_not_settled(tmp_path: Path) -> None:
    """No regret is asked for; six samples of a document leave some, and nothing is left to test."""
    noisy = {"score": "banzhaf", "test": "fixed", "max_samples": 6, "regret": 0.0, "top_k": 3}
    texts = reviews(WORDS, 60)
    model = WeightPredictor({"great": 1.5, "bad": -1.5, "film": 0.4, "plot": 0.4, "cast": 0.4}, bias=0.01)
    run = make_run(texts, model=model, folder=tmp_path / "run", **{**DEFAULT, **noisy})
    last = finish(run)[-1]
    assert last.tests_planned == 0 and run.result().finished
    reader = RunReader(tmp_path / "run")
    kept = Standings(reader, alpha=0.5, k=3).shown(aggregation("total"))
    for label, (name, one) in enumerate(run.result().explanations.items()):
        assert one.regret is not None and one.regret > 0
        assert one.spent and not one.settled
        assert standing(one)[-1] == "all tested, the noise of measuring remains"
        read = explanation(kept, name, label, 3)
        assert (read.spent, read.settled) == (True, False)
    assert not run.result().settled and Result.load(tmp_path / "run")["no"].spent
    reader.close()


def test_a_list_says_how_many_documents_were_measured_again(tmp_path: Path) -> None:
    """The same with a regret that samples can reach: result, file and page say what it took."""
    noisy = {"score": "banzhaf", "test": "fixed", "max_samples": 6, "regret": 0.001, "top_k": 3}
    model = WeightPredictor({"great": 1.5, "bad": -1.5, "film": 0.4, "plot": 0.4, "cast": 0.4}, bias=0.01)
    run = make_run(reviews(WORDS, 60), model=model, folder=tmp_path / "run", **{**DEFAULT, **noisy})
    finish(run)
    kept = Result.load(tmp_path / "run")
    jsonschema.validate(kept.to_dict(), json_schema())
    for name, one in run.result().explanations.items():
        assert 1 < one.measured_again <= one.documents
        assert standing(one)[-1] == f"{one.measured_again} documents measured again"
        assert kept[name].measured_again == one.measured_again


def test_where_everything_is_tested_without_noise_a_list_is_settled() -> None:
    for one in told(WeightPredictor({"great": 1.5, "bad": -1.5}), reviews(WORDS, 60), regret=0.0, top_k=3).values():
        assert one.settled and not one.spent


def test_what_filters_leave_out_is_told(tmp_path: Path) -> None:
    """A model that goes by *he* and *she* has nothing left to be explained by, and it is said why."""
    texts = [f"{who} was {what} and fine" for who in ("he", "she") for what in WORDS] + ["odd one"]
    given = {**DEFAULT, "stop_words": "nltk", "min_occurrences": 2}
    run = make_run(texts, model=WeightPredictor({"he": 2.0, "she": -2.0}, bias=0.1), folder=tmp_path / "run", **given)
    finish(run)
    result = run.result()
    assert not any(one.drivers for one in result.explanations.values())
    assert result.documents["left_out"] == {
        "stop_words": {"terms": 4, "most": ["and", "was", "he", "she"]},
        "min_occurrences": {"terms": 2, "most": ["odd", "one"]},
    }
    told = [
        "--stop-words left out 4 terms, which are not tested: and, was, he, she.",
        "--min-occurrences left out 2 terms, which are not tested: odd, one.",
    ]
    assert " ".join(result_table(result).plain.split()).endswith(" ".join(told))
    assert all(sentence in result._repr_html_() for sentence in told)
    assert page_data(tmp_path / "run")["about"]["not_tested"] == told
    kept = Result.load(tmp_path / "run")
    assert kept.documents == result.documents
    jsonschema.validate(kept.to_dict(), json_schema())
    assert "left_out" not in make_and_finish(texts).documents


def make_and_finish(texts: list[str]) -> Result:
    run = make_run(texts, **DEFAULT)
    finish(run)
    return run.result()


def test_of_many_words_that_are_left_out_the_most_frequent_are_named() -> None:
    found = not_tested({"left_out": {"min_occurrences": {"terms": 1200, "most": ["x", "y"]}}})
    assert found == ["--min-occurrences left out 1,200 terms, which are not tested: x, y …"]


def test_a_word_is_named_on_the_strength_of_two_tests_at_least() -> None:
    """*superb* is in one document, and decides it."""
    texts = [*reviews(["film", "plot", "cast", "scene"], 60), "a superb film"]
    found = told(WeightPredictor({"superb": 4.0, "film": 0.05}, bias=-0.02), texts, regret=0.0)
    (superb,) = (term for term in found["yes"].terms if term.term == "superb")
    assert superb.tested == 1 and superb.score > 0.4 and not superb.driver


def test_where_anchors_are_counted_a_driver_was_an_anchor_once() -> None:
    for one in explained()["labels"].values():
        assert [term["driver"] for term in one["terms"]] == [term["anchors"] > 0 for term in one["terms"]]
        assert one["against"] == []


def test_where_no_term_was_an_anchor_a_note_says_so() -> None:
    """Three terms, each tested five times, and never an anchor."""
    found = explanation(shown(aggregation=aggregation("sq")), "yes", 0, 2)
    assert found.terms and not found.drivers
    assert found.note == "No term was an anchor of 'yes' in 15 tests."


def test_a_baseline_that_reads_no_test_names_no_drivers() -> None:
    """The share of a label among the documents with a term, whatever was tested."""
    for one in told(WeightPredictor({"great": 1.5}), reviews(WORDS, 40), strategy="scan", aggregation="base").values():
        assert one.terms and not one.drivers and not one.against
        assert one.note == "A baseline that counts documents: it reads no test, so nothing is told apart."


def test_no_anchors_are_told_where_none_are_tested() -> None:
    for one in explained(**DEFAULT)["labels"].values():
        assert one["robust"] is None
        assert all(term["anchors"] is None for term in one["terms"])


def test_a_term_is_shown_as_it_is_written_most_often() -> None:
    texts = ["Paris is great", "Paris is fine", "paris is great", "NASA is bad", "NASA is dull", "it is great"]
    run = make_run(texts, **DEFAULT, top_k=20)
    finish(run)
    written = {term.term: term.written for one in run.result().explanations.values() for term in one.terms}
    assert (written["paris"], written["nasa"], written["great"]) == ("Paris", "NASA", "great")


def shown(**given: object) -> Shown:
    """Three terms of one label in twenty documents, each tested five times."""
    zero = Tally.zero(1, 3)
    tally = replace(zero, occurrences=zero.occurrences + 5, non_anchors=zero.non_anchors + 5)
    endless = np.full((1, 3), np.inf)
    made = Shown(
        terms=("a", "b", "c"),
        written=("A", "b", "c"),
        tally=tally,
        scores=np.array([[1.0, 3.0, 2.0]]),
        standing=Standing(-endless, endless, np.array([True]), driver=endless < 0, against=endless < 0),
        aggregation=aggregation("total"),
        counts_anchors=True,
        n_documents=np.array([20]),
        n_asked=np.array([10]),
        n_robust=np.array([19]),
        n_robust_of=np.array([20]),
    )
    return replace(made, **given)  # type: ignore[arg-type]


def test_robust_documents_explain_why_no_word_drives_a_label() -> None:
    """19 of 20 keep their prediction whatever is replaced."""
    found = explanation(shown(), "yes", 0, 2)
    assert [term.term for term in found.terms] == ["b", "c"]
    assert (found.robust, found.robust_of, found.documents, found.asked) == (19, 20, 20, 10)
    assert found.note == "No term drives 'yes': nearly all of its documents are predicted so whatever is replaced."
    assert "shown to do more" in (explanation(shown(n_robust=np.array([3])), "yes", 0, 2).note or "")


def test_robust_documents_are_estimated_from_those_looked_at() -> None:
    """2 of 4 that were looked at: 10 of 20."""
    found = explanation(shown(n_robust=np.array([2]), n_robust_of=np.array([4])), "yes", 0, 2)
    assert (found.robust, found.robust_of) == (10, 4)


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_a_list_has_k_terms_or_all(k: int) -> None:
    assert len(explanation(shown(), "yes", 0, k).terms) == min(k, 3)

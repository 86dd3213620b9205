"""The loop: what a run shows while it goes, how it ends, and what it says about documents, labels and cost."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from runs import PLAIN, WEIGHTS, explained, finish, make_run, outcome, predictor, reviews

from anchorscope.asking.budget import Budget
from anchorscope.asking.predicting import edges
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import DocumentsError, InputError, ModelError, UnknownNameError
from anchorscope.estimate import estimate
from anchorscope.journal.reader import RunReader
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.planning.candidates import choose
from anchorscope.predictors import as_predictor
from anchorscope.result import RESULT, Result
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.testing import KeywordPredictor, WeightPredictor
from anchorscope.text.read import read_texts

# --- snapshots ---


def test_a_snapshot_before_the_first_test_and_one_after_each_round() -> None:
    """30 documents in rounds of 4: rounds 0 to 8, and a last snapshot that is finished."""
    seen = finish(make_run())
    assert [s.round for s in seen] == [*range(9), 8]
    assert [s.finished for s in seen] == [False] * 9 + [True]


def test_the_first_snapshot_knows_the_documents_and_nothing_else() -> None:
    first = finish(make_run(), rounds=0)[0]
    assert sum(e.documents for e in first.explanations.values()) == 30
    assert all(t.tested == 0 for e in first.explanations.values() for t in e.terms)
    assert not first.settled


@pytest.mark.parametrize("name", ["sq", "av", "pr", "h", "total"])
def test_every_shown_score_lies_in_its_interval(name: str) -> None:
    for snapshot in finish(make_run(aggregation=name)):
        for explanation in snapshot.explanations.values():
            for term in explanation.terms:
                assert term.interval[0] - 1e-9 <= term.score <= term.interval[1] + 1e-9


@pytest.mark.parametrize("name", ["sq", "av", "pr", "total"])
def test_what_a_snapshot_calls_settled_is_the_list_of_the_end(name: str) -> None:
    seen = finish(make_run(aggregation=name, top_k=2))
    for snapshot in seen:
        for label, explanation in snapshot.explanations.items():
            if explanation.settled:
                assert [t.term for t in explanation.terms] == [t.term for t in seen[-1][label].terms]


def test_counts_of_a_term_add_up() -> None:
    """Without filter: tested + skipped = occurrences at the end, and no more on the way; some tested are anchors."""
    for snapshot in finish(make_run()):
        for explanation in snapshot.explanations.values():
            for term in explanation.terms:
                total = term.tested + term.skipped
                assert 0 <= term.anchors <= term.tested
                assert total == term.occurrences if snapshot.finished else total <= term.occurrences


def test_terms_come_in_the_order_of_their_scores() -> None:
    for explanation in finish(make_run())[-1].explanations.values():
        found = [(-round(t.score, 14), -t.occurrences, t.term) for t in explanation.terms]
        assert found == sorted(found) and len(found) == 4


def test_planned_tests_go_down_to_zero() -> None:
    planned = [s.tests_planned for s in finish(make_run())]
    assert planned == sorted(planned, reverse=True) and planned[-1] == 0


def test_costs_never_go_down() -> None:
    seen = finish(make_run())
    for name in ("documents", "tests", "samples", "predictor_texts", "perturbator_passes"):
        values = [getattr(s.cost, name) for s in seen]
        assert values == sorted(values)


def test_the_seconds_never_go_down() -> None:
    """A model that takes .2 s to say what it thinks of the documents: it took that time at the end as well."""

    class Slow(WeightPredictor):
        def predict(self, texts):
            if len(texts) == 30:
                time.sleep(0.2)
            return super().predict(texts)

    seen = finish(make_run(model=Slow(predictor().weights, bias=-0.05)), rounds=2)
    seconds = [s.cost.seconds for s in seen]
    assert seconds == sorted(seconds)


def test_the_seconds_begin_with_the_choice_of_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*given):  # type: ignore[no-untyped-def]
        time.sleep(0.2)
        return choose(*given)

    monkeypatch.setattr("anchorscope.run.choose", slowly)
    assert finish(make_run(), rounds=0)[0].cost.seconds >= 0.2


def test_the_documents_of_the_cost_are_the_documents() -> None:
    """Each of 30 documents is judged once; and all candidate tokens and the empty anchor of each are tests."""
    run = make_run()
    cost = finish(run)[-1].cost
    assert cost.documents == 30
    assert cost.tests == 30 + sum(len(text.split()) for text in reviews())


def test_no_document_is_counted_twice() -> None:
    """The certificate of the sound filter comes back to documents; the run still has only so many of them."""
    run = make_run(reviews(24, seed=6), filter="sound", top_k=1, round_size=2)
    assert finish(run)[-1].cost.documents <= 24


# --- what a term is shown with ---


def test_examples_are_documents_in_which_the_term_is_an_anchor() -> None:
    """yes iff great occurs: every example of "great" is the key of a text with it."""
    texts = ["great film", "bad film", "so great", "great", "slow film"]
    run = make_run(texts, model=KeywordPredictor("great"), perturbator=MaskTokenPerturbator(), tau=0.95)
    finish(run)
    (great,) = (t for t in run.result()["yes"].terms if t.term == "great")
    keys = {document.key: document.text for document in read_texts(texts).documents}
    assert len(great.examples) == 3
    assert all("great" in keys[key] for key in great.examples)


def test_examples_are_different_documents() -> None:
    """ "great great" is one document, and an example once."""
    run = make_run(
        ["great great", "great film", "bad"], model=KeywordPredictor("great"), perturbator=MaskTokenPerturbator()
    )
    finish(run)
    for term in run.result()["yes"].terms:
        assert len(set(term.examples)) == len(term.examples)


def test_robust_documents_are_reported() -> None:
    """yes iff great occurs, removal: a "no" stays "no" whatever is removed (robust); "great film" needs its great."""
    texts = ["great film", "so great", "bad film", "slow film", "bad"]
    run = make_run(texts, model=KeywordPredictor("great"), perturbator=MaskTokenPerturbator(), tau=0.95)
    finish(run)
    assert (run.result()["no"].robust, run.result()["yes"].robust) == (3, 0)


def test_robust_drop_counts_the_tokens_of_robust_documents_as_non_anchors() -> None:
    """All "no" documents are robust: with keep each of their words is an anchor, with drop none; "yes" is as it was."""
    texts = ["great film", "so great", "bad film", "slow film", "bad"]
    found = {}
    for robust in ("keep", "drop"):
        run = make_run(
            texts, model=KeywordPredictor("great"), perturbator=MaskTokenPerturbator(), tau=0.95, robust=robust
        )
        finish(run)
        found[robust] = {
            label: {t.term: (t.anchors, t.tested - t.anchors) for t in run.result()[label].terms}
            for label in ("no", "yes")
        }
    assert found["keep"]["no"] == {"bad": (2, 0), "film": (2, 0), "slow": (1, 0)}
    assert found["drop"]["no"] == {"bad": (0, 2), "film": (0, 2), "slow": (0, 1)}
    assert found["keep"]["yes"] == found["drop"]["yes"]


# --- labels ---


def test_a_label_that_is_never_predicted_is_shown_with_a_note() -> None:
    run = make_run(["great film", "so great"], model=KeywordPredictor("great"))
    finish(run)
    no = run.result()["no"]
    assert no.documents == 0 and no.terms == () and "nothing to explain" in (no.note or "")


def test_a_label_that_is_asked_for_and_never_predicted_is_refused() -> None:
    with pytest.raises(InputError, match=r"never predicts the label 'no'.*no 0, yes 2"):
        finish(make_run(["great film", "so great"], model=KeywordPredictor("great"), labels=("no",)))


class Untouchable(WeightPredictor):
    """A model that costs too much to be asked for nothing."""

    def __init__(self) -> None:
        super().__init__({"great": 1.0})
        self.n_asked = 0

    def predict(self, texts):
        self.n_asked += len(texts)
        return super().predict(texts)


def test_an_unknown_label_lists_near_misses() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'yes'"):
        finish(make_run(labels=("yess",)))


@pytest.mark.parametrize("given", [{"labels": ("yess",)}, {"min_occurrences": 1000}])
def test_bad_input_costs_no_model_call(given: dict) -> None:
    """An unknown label and a floor that leaves no word can be told from labels and documents alone."""
    model = Untouchable()
    with pytest.raises(InputError):
        finish(make_run(model=model, **given))
    assert model.n_asked == 0


def test_only_the_labels_asked_for_are_explained() -> None:
    run = make_run(labels=("yes",))
    finish(run)
    assert list(run.result().explanations) == ["yes"]


def test_a_label_asked_for_alone_scores_as_when_all_are() -> None:
    """pr reads each class by itself. (Examples are the first found, and rounds hold other documents.)"""
    alone, among = (explained(labels=labels)["labels"]["yes"]["terms"] for labels in (("yes",), None))
    assert [{**t, "examples": None} for t in alone] == [{**t, "examples": None} for t in among]


def test_few_documents_are_noted() -> None:
    """ "no" has two documents, "yes" twelve."""
    texts = ["bad film", "bad"] + [f"great {word}" for word in "abcdefghijkl"]
    run = make_run(texts, model=KeywordPredictor("great"))
    finish(run)
    assert "Only 2 documents" in (run.result()["no"].note or "")
    assert run.result()["yes"].note is None


# --- documents ---


class Noting(WeightPredictor):
    """Remembers every text that it was asked about."""

    def __init__(self, *weights, **bias) -> None:
        super().__init__(*weights, **bias)
        self.seen: set[str] = set()

    def predict(self, texts):
        self.seen.update(texts)
        return super().predict(texts)


def test_no_word_left_to_test_is_said_with_the_next_step() -> None:
    with pytest.raises(DocumentsError, match="lower --min-occurrences"):
        finish(make_run(["great film", "bad cast"], min_occurrences=2))


def test_a_label_whose_documents_hold_no_candidate_is_kept_without_terms(tmp_path: Path) -> None:
    """Only "film" occurs twice, and in no document of "yes"."""
    texts = ["great", "bad film", "dull film"]
    run = make_run(texts, folder=tmp_path / "run", labels=("yes",), min_occurrences=2)
    finish(run)
    assert run.result()["yes"].documents == 1 and not run.result()["yes"].terms


def test_stop_words_are_no_candidates_but_stay_in_the_text() -> None:
    """ "the" is in our short list: it is not tested, and the model still sees it."""
    run = make_run(["the great film", "the film"], model=KeywordPredictor("the"), stop_words="short")
    finish(run)
    assert {t.term for t in run.result()["yes"].terms} == {"great", "film"}
    assert run.result()["yes"].documents == 2


def test_documents_with_too_many_words_are_counted_and_the_model_is_not_asked_about_them(tmp_path: Path) -> None:
    """Two documents and no third: in the result, in the folder, under its label, and in what the model sees."""
    texts, model = ["great film", "bad film", "slow " * 30], Noting(WEIGHTS, bias=-0.05)
    run = make_run(texts, model=model, max_words=10, folder=tmp_path / "run")
    finish(run)
    found = run.result()
    assert (found.documents["usable"], found.documents["skipped"]) == (2, {"more than 10 words": 1})
    assert [e.documents for e in found.explanations.values()] == [1, 1]
    assert RunReader(tmp_path / "run").documents_per_label().tolist() == [1, 1]
    assert texts[2] not in model.seen and {*texts[:2]} <= model.seen
    assert all(t.term != "slow" for e in found.explanations.values() for t in e.terms)


def test_an_estimate_speaks_of_samples_only_where_some_are_drawn() -> None:
    """Words left out: "great film" and "film" are three tests, and five texts with the documents themselves."""
    given = {"score": "occlusion", "aggregation": "total"}
    found = estimate(read_texts(["great film", "film"]), predictor(), None, Settings(**{**PLAIN, **given}))
    assert (found.occurrences, found.samples, found.predictor_texts) == (3, 0, 5)
    assert "sample" not in found.to_text() and "one without the term" in found.to_text()
    chosen = Settings(**PLAIN)
    drawn = estimate(read_texts(["great film", "film"]), predictor(), MaskTokenPerturbator(), chosen)
    assert drawn.samples > 0 and "from simulated tests" in drawn.to_text()


def test_an_estimate_ends_where_the_calls_do() -> None:
    """Five texts would test everything, and three may be asked: three fifths of the price."""
    given = Settings(**{**PLAIN, "score": "occlusion", "aggregation": "total"})
    texts = read_texts(["great film", "film"])
    found = estimate(texts, predictor(), None, given, price_per_1000=1000, max_model_calls=3)
    assert (found.predictor_texts, found.unlimited_texts, found.price) == (3, 5, 3.0)
    assert "the limit that was set; 5 would test everything" in found.to_text()
    assert estimate(texts, predictor(), None, given, max_model_calls=5).unlimited_texts is None


def test_an_estimate_counts_the_documents_that_a_run_explains() -> None:
    texts, chosen = [*reviews(), "slow " * 30], Settings(**PLAIN, max_words=10, sample_documents=0.5)
    run = Run(read_texts(texts), predictor(), MaskTokenPerturbator(), chosen)
    finish(run)
    expected = estimate(read_texts(texts), predictor(), MaskTokenPerturbator(), chosen)
    assert expected.documents == run.result().documents["usable"]
    assert expected.occurrences == run.result().cost.tests - expected.documents
    everything = estimate(read_texts(texts), predictor(), MaskTokenPerturbator(), Settings(**PLAIN, max_words=10))
    assert everything.documents == len(texts) - 1


def test_a_run_without_its_longest_documents_goes_on_where_it_was_left(tmp_path: Path) -> None:
    texts = [text + " slow" * (30 * (number % 6 == 0)) for number, text in enumerate(reviews())]
    whole = explained(texts=texts, max_words=10)
    finish(make_run(texts, max_words=10, folder=tmp_path / "run"), rounds=2)
    assert explained(texts=texts, max_words=10, folder=tmp_path / "run", resume=True) == whole


def test_where_every_document_is_too_long_the_next_step_is_said() -> None:
    with pytest.raises(DocumentsError, match="raise --max-words"):
        make_run(["great film", "bad film"], max_words=1)


def test_empty_documents_are_counted_and_reported() -> None:
    run = make_run(["great film", " ", "", "bad film"])
    finish(run)
    assert (run.result().documents["usable"], run.result().documents["skipped"]) == (2, {"empty": 2})


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_sample_of_the_documents_is_the_same_in_any_order(share: float) -> None:
    texts = reviews(40)
    found = [explained(texts=some, sample_documents=share) for some in (texts, texts[::-1])]
    assert found[0] == found[1]
    n_explained = round(40 * share)
    assert sum(e["documents"] for e in found[0]["labels"].values()) == n_explained
    assert found[0]["documents"]["usable"] == n_explained
    assert found[0]["documents"]["skipped"] == {"not in the sample": 40 - n_explained}


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="--sample-documents"):
        finish(make_run(sample_documents=share))


# --- budgets ---


def test_a_budget_of_model_calls_ends_the_run_cleanly() -> None:
    """The documents take 30; the run ends with the last document whose tests can be afforded."""
    seen = finish(make_run(budget=Budget(max_model_calls=300)))
    whole = finish(make_run())
    assert seen[-1].finished and 0 < seen[-1].round < whole[-1].round
    assert 0 < seen[-1].cost.tests < whole[-1].cost.tests
    assert seen[-1].cost.predictor_texts <= 300 and not seen[-1].settled


def test_a_run_that_ran_out_of_budget_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    """And then ends where a run without a budget does."""
    finish(make_run(folder=tmp_path / "run", budget=Budget(max_model_calls=300)))
    run = make_run(folder=tmp_path / "run", resume=True)
    finish(run)
    assert outcome(run) == explained()


def test_every_text_that_the_model_is_asked_about_counts(tmp_path: Path) -> None:
    """The evidence of a run folder included."""
    model = Untouchable()
    seen = finish(make_run(model=model, folder=tmp_path / "run", budget=Budget(max_model_calls=300)))
    assert model.n_asked == seen[-1].cost.predictor_texts <= 300


def test_a_scan_that_cannot_predict_its_documents_is_refused_with_the_next_step() -> None:
    model = Untouchable()
    with pytest.raises(InputError, match=r"--max-model-calls 20 is too small .* of 30 documents: allow more calls"):
        finish(make_run(model=model, budget=Budget(max_model_calls=20)))
    assert model.n_asked == 0


def test_little_is_lost_when_time_is_up_while_documents_are_predicted() -> None:
    """Where time is limited, a piece is half as large again as the one before."""
    found = edges(0, 1000, 1, in_time=True)
    sizes = np.diff(found)
    assert found[0] == 0 and found[-1] == 1000 and sizes[0] == 2
    assert (sizes[1:-1] <= 1.5 * sizes[:-2] + 1).all() and sizes.max() <= 256


def test_it_is_told_how_many_documents_are_predicted() -> None:
    """30 documents in pieces of 2 and 28; where a call takes four texts, each call is told."""
    whole, small = make_run(), make_run(model=RetryingPredictor(predictor(), Retry(), batch_size=4))
    told: dict[Run, list[tuple[int, int]]] = {whole: [], small: []}
    for run, heard in told.items():
        run.on_predicted = lambda n, n_documents, heard=heard: heard.append((n, n_documents))
        finish(run)
    assert {*told[whole]} == {(n, 30) for n in (0, 2, 30)}
    assert {*told[small]} == {(n, 30) for n in (0, 2, 6, 10, 14, 18, 22, 26, 30)}
    for heard in told.values():
        assert heard == sorted(heard)


# --- a model that answers nonsense ---


class Nonsense:
    """A Predictor of an outside author, which is taken as it is."""

    name, labels, has_probabilities, fingerprint = "nonsense", ("no", "yes"), True, "nonsense"

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def predict(self, texts):
        rows = np.tile([0.25, 0.75], (len(texts), 1))
        return {
            "NaN": rows * np.nan,
            "a row too few": rows[1:],
            "a column too many": np.hstack([rows, rows]),
            "no distribution": rows * 7,
        }[self.fault]


@pytest.mark.parametrize("fault", ["NaN", "a row too few", "a column too many", "no distribution"])
def test_an_outside_predictor_is_checked_too(fault: str) -> None:
    with pytest.raises(ModelError):
        finish(make_run(model=Nonsense(fault)))


def test_a_result_needs_a_run_that_ran() -> None:
    with pytest.raises(AssertionError, match="snapshots"):
        make_run().result()


# --- the result in the folder ---


def test_a_run_that_ends_has_written_its_result(tmp_path: Path) -> None:
    run = make_run(folder=tmp_path / "run")
    finish(run)
    assert Result.load(tmp_path / "run").to_dict() == run.result().to_dict()
    assert run.result().finished


@pytest.mark.parametrize("rounds", [0, 2])
def test_a_run_that_is_watched_no_more_has_written_what_it_knows(rounds: int, tmp_path: Path) -> None:
    """Before the first test there is nothing to write."""
    run = make_run(folder=tmp_path / "run")
    last = finish(run, rounds=rounds)[-1]
    assert (tmp_path / "run" / RESULT).exists() == (last.cost.tests > 0) == (rounds > 0)
    if rounds:
        assert Result.load(tmp_path / "run").to_dict() == run.result().to_dict()
        assert not run.result().finished


def test_an_interrupted_run_has_written_what_it_knows(tmp_path: Path) -> None:
    class Interrupted(WeightPredictor):
        n_asked = 0

        def predict(self, texts):
            self.n_asked += 1
            if self.n_asked > 9:
                raise KeyboardInterrupt
            return super().predict(texts)

    run = make_run(folder=tmp_path / "run", model=Interrupted(WEIGHTS, bias=-0.05))
    with pytest.raises(KeyboardInterrupt):
        finish(run)
    assert Result.load(tmp_path / "run").to_dict() == run.result().to_dict()
    assert run.result().cost.tests > 0 and not run.result().finished


def test_an_outdated_result_is_gone_as_soon_as_a_run_goes_on(tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"), rounds=2)
    stream = make_run(folder=tmp_path / "run", resume=True).snapshots()
    next(stream)
    assert not (tmp_path / "run" / RESULT).exists()
    stream.close()


def test_what_a_kill_between_result_and_end_leaves_is_tidied_up(tmp_path: Path) -> None:
    """SQLite's files beside the journal stay where a process is killed when its result is written already."""
    folder = tmp_path / "run"
    finish(make_run(folder=folder))
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("INSERT OR REPLACE INTO meta SELECT key, value FROM meta")
        db.commit()
        for name in ("journal.sqlite-wal", "journal.sqlite-shm"):
            (tmp_path / name).write_bytes((folder / name).read_bytes())
    for name in ("journal.sqlite-wal", "journal.sqlite-shm"):
        (tmp_path / name).rename(folder / name)
    kept = make_run(folder=folder, resume=True).kept_result()
    assert kept is not None and kept.finished
    assert not [path.name for path in folder.iterdir() if path.name.startswith("journal.sqlite-")]


def test_a_perturbator_for_nothing_is_refused_before_anything_is_asked() -> None:
    """It was once left aside without a word, and four studies believed that they had tried one."""
    with pytest.raises(InputError, match="only leaves them out"):
        Run(read_texts(reviews()), predictor(), MaskTokenPerturbator(), Settings())
    with pytest.raises(InputError, match="has none to put in their place"):
        Run(read_texts(reviews()), predictor(), None, Settings(score="banzhaf"))


class Tabular:
    """The known model, whose answers are tables in a column order of its own."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, texts: list[str]) -> Any:
        rows = predictor().predict(texts)
        table = pandas.DataFrame({"neg": rows[:, 0], "pos": rows[:, 1]})
        return table[[*self.names]]


def tabular(*names: str) -> Any:
    return as_predictor(Tabular(*names), labels=("no", "yes"))


def test_a_run_goes_on_with_the_columns_that_it_began_with(tmp_path: Path) -> None:
    """A set of names comes in another order in every process: the rows would be read as other labels."""
    given = {"folder": tmp_path / "run", "round_size": 4}
    first, turned = tabular("neg", "pos"), tabular("pos", "neg")
    turned.fingerprint = first.fingerprint = "one model"
    finish(make_run(model=first, **given), rounds=2)
    with pytest.raises(ModelError, match="columns were neg, pos and are now pos, neg"):
        finish(make_run(model=turned, resume=True, **given))
    again = tabular("neg", "pos")
    again.fingerprint = "one model"
    finish(make_run(model=again, resume=True, **given))


class TurnsInWorkers(Tabular):
    """In another process than the first, the columns stand in another order."""

    def __init__(self) -> None:
        super().__init__("neg", "pos")
        self.parent = os.getpid()

    def __call__(self, texts: list[str]) -> Any:
        table = super().__call__(texts)
        return table if os.getpid() == self.parent else table[["pos", "neg"]]


@pytest.mark.parametrize("n", [30, 600])
def test_workers_know_the_columns_of_the_first_answer(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may have started before it, as where they share in cutting the texts."""
    monkeypatch.setattr("anchorscope.planning.tokens.CUT_AT_ONCE", 500)
    monkeypatch.setattr("anchorscope.planning.tokens.CUT_BY_A_HELPER", 700)
    with pytest.raises(ModelError, match="columns were neg, pos and are now pos, neg"):
        finish(make_run(reviews(n), model=as_predictor(TurnsInWorkers(), labels=("no", "yes")), workers=2))

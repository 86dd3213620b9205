"""The laws of the design as properties of whole runs.

1. A verdict depends on no batch, worker, order, crash or other token (with tau~: on no batch, worker or crash).
2. Scores are functions of tallies: any aggregation can be computed from the run folder of another.
3. What is shown is what is known (here: of the race too).
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import explained, finish, make_run, outcome, predictor, reviews

from anchorscope.errors import InputError
from anchorscope.explanations import explanation
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.local_scores import occlusion
from anchorscope.loop import Loop
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.run import Run
from anchorscope.sampling import engine, fills
from anchorscope.scoring import settling
from anchorscope.scoring.aggregations import AGGREGATIONS, aggregation
from anchorscope.scoring.tally import Tally, ranking
from anchorscope.settings import ANCHOR_TEST, PRESETS, preset, preset_for_one_document, score_perturbs
from anchorscope.text.read import read_texts
from anchorscope.types import Explanation, Snapshot, Term

BANZHAF_RACE = {
    "strategy": "race",
    "aggregation": "total",
    "score": "banzhaf",
    "surrogate": False,
    "test": "fixed",
    "max_samples": 12,
}

VARIANTS = {
    "plain": {},
    "paper's": {"keep": "own", "fill": "one-by-one", "max_samples": 20},
    "one pass, present": {"fill": "one-pass", "condition": "present", "max_samples": 20},
    "tau~": {"tau_tilde": True},
    "tau~, optimistic": {"tau_tilde": True, "filter": "optimistic", "top_k": 2},
    "sound": {"filter": "sound", "top_k": 1},
    "total": {"aggregation": "total", "score": "banzhaf", "test": "fixed", "max_samples": 12},
    "race": {**BANZHAF_RACE, "regret": 0.1},
    "leave one out": {"aggregation": "total", "score": "occlusion"},
    "race of pairs": {"strategy": "race", "aggregation": "total", "score": "occlusion", "regret": 0.002},
}
"""Settings whose results the laws must hold for; the race starts after a few documents (see ``early_start``)."""

EVERY = pytest.mark.parametrize("variant", VARIANTS)


def of(variant: str, **more) -> dict:
    """Eighteen documents and the settings of a variant."""
    return {"texts": reviews(18), **VARIANTS[variant], **more}


@pytest.fixture(autouse=True)
def early_start(monkeypatch) -> None:
    monkeypatch.setattr(settling, "START_DOCUMENTS", 4)


@pytest.fixture(scope="module")
def expected() -> dict[str, dict]:
    """The outcome of each variant: one process, nothing changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settling, "START_DOCUMENTS", 4)
        return {name: explained(**of(name)) for name in VARIANTS}


# --- law 1 ---


@EVERY
def test_batches_change_nothing(variant: str, expected: dict, monkeypatch) -> None:
    monkeypatch.setattr(fills, "REQUESTS", 5)
    monkeypatch.setattr(engine, "PREDICTOR_TEXTS", 3)
    monkeypatch.setattr(engine, "SHARED_BLOCK", 0.7)
    monkeypatch.setattr(occlusion, "AT_ONCE", 3)
    monkeypatch.setattr("anchorscope.asking.predicting.AT_ONCE", 5)
    assert explained(**of(variant)) == expected[variant]


@EVERY
def test_two_workers_change_nothing(variant: str, expected: dict) -> None:
    assert explained(workers=2, **of(variant)) == expected[variant]


def test_two_workers_get_over_a_round_in_which_all_is_skipped() -> None:
    """sq, top 1, removal, a document a round: five anchors in the first lead; "film", twice in all, cannot catch up."""
    given = {
        "filter": "optimistic",
        "aggregation": "sq",
        "top_k": 1,
        "round_size": 1,
        "perturbator": MaskTokenPerturbator(),
    }
    texts = ["great great great great great", "film", "film film"]
    assert explained(texts=texts, **given) == explained(texts=texts, workers=2, **given)


@EVERY
def test_the_order_of_the_input_changes_nothing(variant: str, expected: dict) -> None:
    texts = reviews(18)
    random.Random(variant).shuffle(texts)
    assert explained(**of(variant, texts=texts)) == expected[variant]


@EVERY
def test_an_interruption_changes_nothing(variant: str, expected: dict, tmp_path: Path) -> None:
    """Left twice, at random rounds, and taken up again."""
    first, second = sorted(random.Random(variant).sample(range(5), 2))
    finish(make_run(folder=tmp_path / "run", **of(variant)), rounds=first)
    finish(make_run(folder=tmp_path / "run", resume=True, **of(variant)), rounds=second)
    last = make_run(folder=tmp_path / "run", resume=True, **of(variant))
    finish(last)
    assert outcome(last) == expected[variant]


def test_a_finished_run_can_be_resumed_without_one_more_test(tmp_path: Path, expected: dict) -> None:
    cost = finish(make_run(folder=tmp_path / "run", **of("plain")))[-1].cost
    again = make_run(folder=tmp_path / "run", resume=True, **of("plain"))
    assert finish(again)[-1].cost.tests == cost.tests
    assert outcome(again) == expected["plain"]


KILLED = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from runs import make_run, predictor
class Slow(type(predictor())):
    def predict(self, texts):
        time.sleep(0.004)
        return super().predict(texts)
model = Slow(predictor().weights, predictor().bias)
for snapshot in make_run(model=model, folder=Path(sys.argv[1]), resume=True, tau_tilde=True).snapshots():
    print(snapshot.round, flush=True)
"""


def test_kills_change_nothing(tmp_path: Path) -> None:
    """kill -9 at five random moments of one run, from before its first round on; each time it goes on."""
    chances, folder = random.Random(3), tmp_path / "run"
    for until in (-1, 0, 2, 3, 6):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED.format(tests=str(Path(__file__).parent)), str(folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        while until >= 0 and int(process.stdout.readline()) < until:
            pass
        try:
            process.wait(timeout=chances.uniform(0.3, 0.9) if until < 0 else chances.uniform(0, 0.03))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL, "it was over before it could be killed"
    last = make_run(folder=folder, resume=True, tau_tilde=True)
    finish(last)
    assert outcome(last) == explained(tau_tilde=True)


def tally_of(run: Run) -> Tally:
    """The last tally of a run, through its own eyes."""
    seen: list[Tally] = []
    view = Loop._view

    def watched(loop: Loop) -> Snapshot:
        seen.append(loop._ledger.tally)
        return view(loop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Loop, "_view", watched)
        finish(run)
    return seen[-1]


def same(one: Tally, other: Tally) -> bool:
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(Tally))


@pytest.mark.parametrize("variant", ["plain", "paper's", "total"])
def test_the_order_of_the_scan_changes_no_tally_where_tau_tilde_is_off(variant: str) -> None:
    whole = tally_of(make_run(**of(variant)))
    for order, round_size in (("confidence-ascending", 1), ("random", 7), ("length", 30)):
        assert same(tally_of(make_run(order=order, **{**of(variant), "round_size": round_size})), whole)


def test_with_tau_tilde_the_order_may_change_the_tally() -> None:
    """Verdicts then depend on the collection and its order; if they never did, the switch would do nothing."""
    tallies = [
        tally_of(make_run(tau_tilde=True, tau=0.95, order=order)) for order in ("confidence", "confidence-ascending")
    ]
    assert not same(*tallies)


def test_copies_of_a_document_count_as_often_as_they_come() -> None:
    """Every document twice (removal, which learns nothing from them): every count twice."""
    texts = reviews(12)
    single, double = (
        tally_of(make_run(some, perturbator=MaskTokenPerturbator())) for some in (texts, [*texts, *texts])
    )
    assert same(single + single, double)


def test_a_document_judges_the_same_in_another_collection() -> None:
    """Removal learns nothing from the collection: a text's verdicts are the same beside other texts."""
    small, large = (
        tally_of(make_run(texts, perturbator=MaskTokenPerturbator(), aggregation="sq"))
        for texts in (["zebra great", "yak bad"], ["zebra great", "yak bad", *reviews(10)])
    )
    for own in ("zebra", "yak"):
        first, second = (
            sorted(["zebra", "great", "yak", "bad"]),
            sorted({"zebra", "yak", *" ".join(reviews(10)).split(), "great", "bad"}),
        )
        assert small.anchors[:, first.index(own)].tolist() == large.anchors[:, second.index(own)].tolist()


@settings(max_examples=12)
@given(
    st.lists(st.sampled_from(["great", "bad", "film", "slow", "fine", "!"]), min_size=1, max_size=6), st.integers(0, 50)
)
def test_any_text_judges_the_same_alone_and_in_any_place(words: list[str], seed: int) -> None:
    """With removal, over random texts and seeds: as first, last or only document, a rare word has the same counts."""
    text = "zebra " + " ".join(words)
    others = reviews(3)
    found = []
    for texts in ([text], [text, *others], [*others, text]):
        run = make_run(texts, perturbator=MaskTokenPerturbator(), seed=seed, top_k=50)
        finish(run)
        terms = {(label, t.term): t for label, e in run.result().explanations.items() for t in e.terms}
        found.append([(key, t.anchors, t.tested - t.anchors) for key, t in terms.items() if key[1] == "zebra"])
    assert found[0] == found[1] == found[2] != []


# --- law 2 ---


READS = [
    (name, score)
    for name in AGGREGATIONS
    for score in ("anchor", "banzhaf")
    if AGGREGATIONS[name].reads != {"anchor": "values", "banzhaf": "verdicts"}[score]
]
"""Every aggregation, with the local scores whose measurements it can read."""


@pytest.mark.parametrize(("name", "score"), READS)
def test_a_run_made_for_one_aggregation_gives_any_other(name: str, score: str, tmp_path: Path) -> None:
    """Terms and scores read from the folder of a run for pr, or for total, are those of a run for the other."""
    finish(make_run(folder=tmp_path / "run", score=score, aggregation="total" if score == "banzhaf" else "pr"))
    reader = RunReader(tmp_path / "run")
    values = aggregation(name).score(reader.tally(), 0.5)
    direct = explained(aggregation=name, score=score)["labels"]
    for number, label in enumerate(reader.labels):
        top = ranking(values[number], reader.tally().occurrences[number])[:4]
        expected = [(t["term"], t["score"]) for t in direct[label]["terms"]]
        assert [(reader.terms[t], float(values[number, t])) for t in top] == expected


def test_tallies_of_parts_add_up_to_the_tally_of_the_whole() -> None:
    """Two halves with one vocabulary each, removal (which learns nothing): their tallies merge to that of all."""
    vocabulary = "great fine bad dull slow not film cast the plot and so"
    halves = [[vocabulary, *reviews(10, seed)] for seed in (1, 2)]
    parts = [tally_of(make_run(texts, perturbator=MaskTokenPerturbator())) for texts in halves]
    whole = tally_of(make_run([*halves[0], *halves[1]], perturbator=MaskTokenPerturbator()))
    assert same(parts[0] + parts[1], whole)


# --- presets ---


@pytest.mark.parametrize("name", ["fast", "banzhaf"])
@pytest.mark.parametrize("given", [{"score": "anchor", "aggregation": "sq"}, {"score": "anchor", "aggregation": "pr"}])
def test_where_anchors_are_counted_they_are_tested_as_one_document_is(name: str, given: dict[str, Any]) -> None:
    """Whatever is left open is that of ANCHOR_TEST; what is given by hand stays, and other fills have no bank."""
    assert ANCHOR_TEST.items() <= preset(name, **given).to_dict().items()
    assert (
        preset(name, **given, fill="blind", delta=0.2).to_dict().items()
        >= {
            **ANCHOR_TEST,
            "fill": "blind",
            "delta": 0.2,
            "bank_pairs": 1,
        }.items()
    )


@pytest.mark.parametrize("name", ["paper", "paper-optimised"])
def test_a_preset_of_the_paper_keeps_its_own_test(name: str) -> None:
    settings = preset(name)
    assert (settings.test, settings.keep, settings.fill, settings.max_samples) == ("kl", "own", "one-by-one", 1000)
    assert preset_for_one_document(name).anchor_test == settings.anchor_test


@pytest.mark.parametrize("aggregation", ["pr", "sq", "av", "h"])
def test_a_graded_score_counts_no_anchors(aggregation: str) -> None:
    with pytest.raises(InputError, match="counts anchors, and --score banzhaf tests none: use one of --score anchor, "):
        preset("banzhaf", aggregation=aggregation)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_runs(name: str) -> None:
    """On a tiny corpus, with a word often enough to pass the floor of rare words; great must lead "yes"."""
    texts = [f"{word} film" for word in ("great", "bad") for _ in range(8)]
    chosen = preset(name, top_k=3)
    run = Run(read_texts(texts), predictor(), CorpusPerturbator(top_n=12) if score_perturbs(chosen) else None, chosen)
    finish(run)
    assert run.result()["yes"].terms[0].term == "great"
    assert run.result()["no"].terms[0].term == "bad"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (
            "paper",
            {
                "filter": "none",
                "tau_tilde": False,
                "stop_words": "none",
                "min_occurrences": 1,
                "delta": 0.1,
                "top_n": 500,
            },
        ),
        (
            "paper",
            {"keep": "own", "fill": "one-by-one", "test": "kl", "aggregation": "pr", "tau": 0.95, "robust": "keep"},
        ),
        ("paper-optimised", {"filter": "optimistic", "tau_tilde": True, "stop_words": "nltk", "min_occurrences": 5}),
        ("paper-optimised", {"delta": 0.5, "top_n": 50, "omega": 0.4, "sample_documents": 1.0, "aggregation": "pr"}),
        ("paper", {"strategy": "scan", "order": "confidence"}),
        ("paper-optimised", {"strategy": "scan", "order": "confidence"}),
        ("fast", {"score": "occlusion", "aggregation": "total", "strategy": "race", "surrogate": True}),
        ("fast", {"stop_words": "none", "min_occurrences": 1}),
        ("banzhaf", {"score": "banzhaf", "aggregation": "total", "strategy": "race", "surrogate": False}),
        ("banzhaf", {"stop_words": "short", "min_occurrences": 5}),
    ],
)
def test_presets_are_what_the_issue_says(name: str, given: dict) -> None:
    chosen = preset(name).to_dict()
    assert {key: chosen[key] for key in given} == given


# --- the race ---


@pytest.mark.parametrize("name", ["sq", "av", "total", "pr"])
def test_a_race_to_the_end_equals_the_scan(name: str) -> None:
    """Regret 0: everything is tested, and the scores are those of the exhaustive scan exactly."""
    counted = {"score": "anchor", "test": "fixed", "max_samples": 12}
    given = {"score": "occlusion"} if AGGREGATIONS[name].is_graded else counted
    given = {**given, "aggregation": name, "top_k": 99}
    raced, scanned = (explained(strategy=s, regret=0.0, **given)["labels"] for s in ("race", "scan"))
    for label in scanned:
        found, expected = ({t["term"]: t["score"] for t in x[label]["terms"]} for x in (raced, scanned))
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "score"), [("sq", "anchor"), ("av", "anchor"), ("pr", "anchor"), ("total", "occlusion")]
)
def test_at_the_end_of_a_race_the_interval_is_the_score(name: str, score: str) -> None:
    given = {"aggregation": name, "score": score, "test": "fixed", "strategy": "race", "regret": 0.0}
    for one in explained(**given)["labels"].values():
        for term in one["terms"]:
            assert term["interval"] == pytest.approx([term["score"]] * 2, abs=2e-5)


def test_at_the_end_of_a_race_of_noisy_values_the_interval_holds_the_score_and_the_noise() -> None:
    given = {"aggregation": "total", "score": "banzhaf", "test": "fixed", "strategy": "race", "regret": 0.0}
    terms = [term for one in explained(**given)["labels"].values() for term in one["terms"]]
    assert all(term["interval"][0] < term["score"] < term["interval"][1] for term in terms)


def test_the_folder_of_a_race_that_measured_again_says_what_the_race_said(tmp_path: Path) -> None:
    """Values that were measured deeper are added as differences; whoever reads the folder adds up their means."""
    run = make_run(folder=tmp_path / "run", **of("race"))
    found = tally_of(run)
    reader = RunReader(tmp_path / "run")
    assert same(found, reader.tally())
    kept = Standings(reader, alpha=0.5, k=run.result().settings["top_k"]).shown(aggregation("total"))
    for number, (name, said) in enumerate(run.result().explanations.items()):
        assert said.measured_again > 0
        read = explanation(kept, name, number, len(said.terms))
        assert replace(read, terms=without_examples(read), against=()) == replace(
            said, terms=without_examples(said), against=()
        )
    assert reader.tests_left() == 0 and len(reader.measured()) == (found.anchors + found.non_anchors).sum() + 18
    reader.close()


def without_examples(one: Explanation) -> tuple[Term, ...]:
    return tuple(replace(term, examples=()) for term in one.terms)


def test_the_folder_of_a_race_has_the_tally_of_the_race(tmp_path: Path) -> None:
    """Verdicts ahead of a word's prefix wait in both."""
    for name in ("race", "race of pairs"):
        run = make_run(reviews(120), folder=tmp_path / name, **{**VARIANTS[name], "regret": 0.2})
        found = tally_of(run)
        assert found.untested.any() and same(found, RunReader(tmp_path / name).tally())

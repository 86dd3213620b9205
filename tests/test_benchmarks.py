"""The benchmarks' own parts: what they compare is the same work, and their figures are what they say."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.run import Run
from anchorscope.sampling.engine import Engine
from anchorscope.sampling.sequential_test import SequentialTest, one_step_bounds
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from anchorscope.text.words import split
from benchmarks import first_answer, peer_alibi, peer_anchor_exp, peer_own, peers, variants, written
from benchmarks.peer_folder import Judged, Meter, read_task, write_task


def test_the_classifier_of_a_folder_is_the_one_that_was_trained(tmp_path: Path) -> None:
    texts = ["a good film", "a bad film", "good and short", "long and bad"]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, ["yes", "no", "yes", "no"])
    document = Judged(texts[0], texts[0].split(), [1, 2])
    write_task(tmp_path, ["no", "yes"], [document], model)
    documents, classifier = read_task(tmp_path)
    assert documents == [document]
    np.testing.assert_array_equal(classifier.probabilities(texts), model.predict_proba(texts))
    assert classifier.predict(texts).tolist() == [1, 0, 1, 0]
    assert classifier.n_texts == 8


@pytest.mark.parametrize("mean", [0.0, 0.3, 0.9, 0.95, 0.98, 1.0])
@pytest.mark.parametrize("n", [10, 40, 200])
def test_the_paper_s_bound_is_the_same_in_both_places(mean: float, n: int) -> None:
    level = np.log(1 / 0.1) / n
    ours = one_step_bounds(np.array(mean), np.array(level))
    assert peer_anchor_exp.one_step_bounds(mean, level) == pytest.approx([float(bound) for bound in ours], abs=1e-6)


@pytest.mark.parametrize("precision", [0.6, 0.9, 0.95, 0.99])
def test_the_loop_around_anchor_exp_decides_as_our_test_of_the_same_name(precision: float) -> None:
    rule = SequentialTest("kl-one-step", delta=0.1, epsilon=0.05, look=10, max_samples=10_000)
    for seed in range(20):
        chances = random.Random(seed)
        agreed = [sum(chances.random() < precision for _ in range(10)) for _ in range(1000)]
        given = iter(agreed)
        anchor, n = peer_anchor_exp.judge(lambda n, given=given: next(given), peer_anchor_exp.one_step_bounds)
        counts, samples = np.cumsum(agreed), np.arange(1, 1001) * 10
        decisions = rule.decide(counts, samples, np.full(1000, 0.95))
        end = int(np.argmax(decisions != 0))
        assert (anchor, n) == (decisions[end] > 0, samples[end])


def test_the_words_of_an_anchor_are_found_among_the_positions() -> None:
    document = Judged("Good , good film", ["Good", ",", "good", "film"], [0, 3])
    assert peer_alibi.anchors_among(document, [" good"]) == {0}


def test_judging_the_tokens_of_an_arena_finds_the_words_of_a_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short way that is timed against the peers and a whole run give one and the same list."""
    monkeypatch.setattr(peers, "CACHE", tmp_path)
    monkeypatch.setattr(peers, "write_folder", lambda folder: None)
    arena = peers.Arena("rotten-tomatoes", None, {"few": 5, "some": 120, "all": 120})
    settings = preset("banzhaf", strategy="scan", top_k=1000)
    perturbator = CorpusPerturbator(top_n=settings.top_n)
    perturbator = perturbator.fit([split(text) for text in arena.texts])
    engine = Engine(arena.predictor, perturbator, settings.sampling, settings.anchor_test)
    documents, _ = read_task(arena.folder("some"))
    verdicts, cost = peer_own.judge(documents, arena.predictor, engine)
    run = Run(read_texts(arena.texts), arena.predictor, CorpusPerturbator(top_n=settings.top_n), settings)
    *_, last = run.snapshots()
    scanned = {
        label: [term.term for term in sorted(one.terms, key=lambda term: -term.score)[:20]]
        for label, one in last.explanations.items()
    }
    assert arena.lists({"verdicts": verdicts}) == {"total": scanned}
    assert cost.tests == len(verdicts)
    assert cost.predictor_texts <= last.cost.predictor_texts, "a run measures some documents twice"
    for label, terms in scanned.items():
        quality = arena.quality(label, terms, "some")
        assert quality["aopc_same"] == quality["aopc_all"] > 0
        assert 0.5 < quality["share_same"] < 1.2


def test_the_best_list_of_a_peer_is_the_one_with_the_best_mean() -> None:
    rows = [
        {"aggregation": name, "label": label, "aopc_same": value}
        for name, values in {"sq": (0.1, 0.2), "pr": (0.4, 0.0)}.items()
        for label, value in zip("ab", values)
    ]
    assert [row["aggregation"] for row in peers.best(rows)] == ["pr", "pr"]


def test_differences_are_paired_by_seed() -> None:
    """Ours exceeds the other by 0.1 with both seeds, however much the seeds differ: the band has no width."""
    rows = [
        {"task": "t", "label": "l", "variant": name, "seed": seed, "share": share + more}
        for seed, share in enumerate((0.2, 0.8))
        for name, more in (("other", 0.0), ("ours", 0.1))
    ]
    (found,) = variants.against(rows, "ours", "other")
    assert found["more"] == pytest.approx(0.1) and found["band"] == pytest.approx(0, abs=1e-12)
    assert found["seeds"] == 2
    assert variants.band([0.1, 0.3]) == pytest.approx((0.2, 12.706 * 0.1))


@pytest.mark.parametrize("share, seconds", [(0.8, 2), (0.9, 5), (0.0, 2)])
def test_a_useful_answer_stays_useful(share: float, seconds: int) -> None:
    rows = [
        {"seconds": s, "tests": tests, "aopc yes": aopc} for s, tests, aopc in [(1, 0, 0.1), (2, 9, 0.1), (5, 20, 0.12)]
    ]
    figures = first_answer.figures(rows, share)
    assert [figures[name]["seconds"] for name in ("first table", "useful", "complete")] == [2, seconds, 5]


def test_a_meter_counts_work_and_not_waiting() -> None:
    with Meter() as meter:
        sum(range(2_000_000))
    assert 0 < meter.cpu_seconds <= meter.seconds + 0.02


def test_what_is_written_says_where_it_comes_from(tmp_path: Path) -> None:
    arguments = SimpleNamespace(out=tmp_path, data=Path("somewhere"), seeds=2)
    path = written.write("figures", arguments, [{"share": 0.123456789, "n": 3}])  # type: ignore[arg-type]
    assert path.with_suffix(".csv").read_text() == "share,n\n0.12346,3\n"
    content = path.read_text()
    assert '"machine"' in content and '"commit"' in content and '"seeds": 2' in content
    assert "somewhere" not in content

"""The engine: what a verdict says, and all that it does not depend on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isnan
from zlib import crc32

import numpy as np
import pytest

from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.backends.local import InProcess, Processes, local_backend
from anchorscope.errors import AnchorscopeError, InputError, ModelError
from anchorscope.local_scores.banzhaf import BanzhafScore
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.predictors import as_predictor
from anchorscope.sampling import engine as module
from anchorscope.sampling import fills
from anchorscope.sampling.engine import Engine, Sampling
from anchorscope.sampling.sequential_test import SequentialTest
from anchorscope.settings import preset
from anchorscope.testing import KeywordPredictor, WeightPredictor
from anchorscope.text.words import split
from anchorscope.types import EMPTY, Cost, Measurement, Measurements, Occurrence, Positions, Spelled, Unit

TEXTS = (
    "a great film with a great cast",
    "not a bad film",
    "dull and bad and slow",
    "fine",
    "a great but slow film , and fine",
    "bad cast , dull film",
)
WEIGHTS = {"great": 2.0, "fine": 1.0, "bad": -2.0, "dull": -1.2, "slow": -0.7, "not": -0.4, "film": 0.1}
PREDICTOR = WeightPredictor(WEIGHTS, bias=-0.1)
SAMPLING = Sampling(seed=0, keep="shared", fill="bank", condition="kept", bank_pairs=2, bank_draw="position")
TEST = SequentialTest("sprt", 0.1, 0.05, 10, 200)
COMBINATIONS = [
    pytest.param(replace(SAMPLING, keep=keep, fill=fill, condition=condition), id=f"{keep}, {fill}, {condition}")
    for keep, fill, condition in [
        ("own", "one-by-one", "kept"),
        ("own", "one-pass", "present"),
        ("own", "bank", "kept"),
        ("shared", "one-by-one", "present"),
        ("shared", "one-pass", "kept"),
        ("shared", "bank", "present"),
        ("shared", "bank", "kept"),
        ("shared", "blind", "kept"),
    ]
]


def corpus_perturbator() -> CorpusPerturbator:
    perturbator = CorpusPerturbator(top_n=30)
    perturbator = perturbator.fit([split(text) for text in TEXTS])
    return perturbator


def engine(sampling: Sampling = SAMPLING, test: SequentialTest = TEST, predictor=PREDICTOR, perturbator=None) -> Engine:
    return Engine(predictor, perturbator or corpus_perturbator(), sampling, test)


def unit(
    text: str,
    positions: Sequence[Positions] | None = None,
    *,
    document: int = 0,
    tau: float = 0.95,
    predictor=PREDICTOR,
) -> Unit:
    """The empty anchor and all tokens of the text, or some of them."""
    chosen = (EMPTY, *tokens(text)) if positions is None else tuple(positions)
    label = int(predictor.predict([text])[0].argmax())
    return Unit(document, text, label, chosen, (tau,) * len(chosen))


def tokens(text: str) -> list[Positions]:
    return [(position,) for position in range(len(split(text)))]


def units(**given) -> list[Unit]:
    return [unit(text, document=i, **given) for i, text in enumerate(TEXTS)]


def rows(found: Measurements) -> list[Measurement]:
    """Row by row; a variance that cannot be told is -1, which is equal to itself."""
    return [replace(row, variance=-1.0) if isnan(row.variance) else row for row in found.rows()]


def judged(units_: Sequence[Unit], **given) -> list[Measurement]:
    return rows(engine(**given).measure(units_)[0])


def about(units_: Sequence[Unit]) -> list[Occurrence]:
    """What the rows are about, in their order."""
    return [occurrence for unit_ in units_ for occurrence in unit_.occurrences()]


# --- what a verdict is ---


def test_a_keyword_is_an_anchor_and_its_neighbour_is_none() -> None:
    """ "yes" iff great occurs; removal. With great kept every sample agrees; film is kept beside great in half of them.

    The empty anchor reads all samples: great is kept in half of them, too.
    """
    predictor = KeywordPredictor("great")
    found = judged(
        [unit("great film", predictor=predictor)],
        predictor=predictor,
        perturbator=MaskTokenPerturbator(),
        test=SequentialTest("fixed", 0.1, 0.05, 10, 4000),
    )
    empty, great, film = found
    assert (great.anchor, film.anchor, empty.anchor) == (True, False, False)
    assert great.agreements == great.samples
    assert film.agreements / film.samples == pytest.approx(0.5, abs=0.05)
    assert empty.samples == 4000 and empty.agreements == great.samples


def test_own_streams_force_the_token_in_every_sample() -> None:
    """keep own, fixed at 60 samples: the token and the empty anchor read 60 each."""
    found = judged(units(), sampling=replace(SAMPLING, keep="own"), test=SequentialTest("fixed", 0.1, 0.05, 10, 60))
    assert {v.samples for v in found} == {60}


def test_shared_streams_are_read_where_the_token_is_kept() -> None:
    """The first 60 samples of the document's one stream; a token is kept in about half, the empty anchor reads all."""
    found = judged(units(), test=SequentialTest("fixed", 0.1, 0.05, 10, 60))
    samples = [(occurrence.positions, v.samples) for occurrence, v in zip(about(units()), found, strict=True)]
    assert {n for positions, n in samples if positions == EMPTY} == {60}
    of_tokens = [n for positions, n in samples if positions != EMPTY]
    assert min(of_tokens) > 15 and max(of_tokens) < 45
    assert np.mean(of_tokens) == pytest.approx(30, abs=3)


@pytest.mark.parametrize("sampling", COMBINATIONS)
@pytest.mark.parametrize("name", ["kl", "sprt", "fixed"])
def test_a_verdict_is_what_a_slow_reader_makes_of_its_samples(sampling: Sampling, name: str) -> None:
    """Sample by sample: count those in which the token is, ask the test at every look, stop at its first answer."""
    test = SequentialTest(name, 0.1, 0.05, 10, 40)
    made = engine(sampling, test)
    for text in TEXTS[:3]:
        for positions, verdict in zip(unit(text).positions, rows(made.measure([unit(text)])[0]), strict=True):
            (samples,), _ = made.samples([unit(text, [positions])], 4 * 40)
            n_read = n_agreed = decision = 0
            for number, sample in enumerate(samples, start=1):
                if sample.present:
                    n_read, n_agreed = n_read + 1, n_agreed + sample.agreed
                    if n_read % 10 == 0:
                        decision = int(test.decide(np.array([n_agreed]), np.array([n_read]), np.array([0.95]))[0])
                if decision or n_read == 40 or (name == "fixed" and number == 40):
                    break
            assert (verdict.agreements, verdict.samples) == (n_agreed, n_read)
            assert verdict.anchor == (decision > 0 if decision else n_read > 0 and n_agreed / n_read >= 0.95)
            assert verdict.decided == (decision != 0 or name == "fixed")


def test_the_cap_leaves_a_test_undecided_and_the_mean_answers() -> None:
    """sprt with a tiny delta never decides within 20 samples: great (always agreeing) passes by its mean."""
    predictor = KeywordPredictor("great")
    found, cost = engine(
        test=SequentialTest("sprt", 1e-12, 0.05, 10, 20), predictor=predictor, perturbator=MaskTokenPerturbator()
    ).measure([unit("great film", [(0,)], predictor=predictor)])
    (verdict,) = rows(found)
    assert verdict == replace(verdict, anchor=True, decided=False, agreements=20, samples=20)
    assert cost.undecided == 1


def test_the_cap_need_not_be_a_multiple_of_the_look() -> None:
    """Look 10, cap 25: undecided after exactly 25 samples."""
    found = judged(units(), test=SequentialTest("sprt", 1e-12, 0.05, 10, 25), sampling=replace(SAMPLING, keep="own"))
    assert {v.samples for v in found} == {25}
    assert not any(v.decided for v in found)


def test_a_token_that_is_hardly_ever_present_ends_as_undecided() -> None:
    """own, present: "zebra" is not proposed, so it is kept at a rate of .01 and never refilled.

    Within the patience of 4 * 20 samples it is hardly met; the stream ends all the same.
    """
    found = judged(
        [unit("zebra film", [(0,)])],
        sampling=replace(SAMPLING, keep="own", condition="present"),
        test=SequentialTest("sprt", 0.1, 0.05, 10, 20),
    )
    assert found[0].samples < 20 and not found[0].decided


# --- condition ---


class Refiller(MaskTokenPerturbator):
    """Fills every mask with "great", in a vocabulary that knows it."""


def test_condition_present_counts_refills_by_the_same_word() -> None:
    """Every mask becomes "great": position 0 is "great" in each sample, kept or refilled; position 1 only if kept."""
    made = engine(replace(SAMPLING, condition="present", fill="one-pass"), perturbator=Refiller("great"))
    (whole,), _ = made.samples([unit("great film", [(0,)])], 40)
    (half,), _ = made.samples([unit("great film", [(1,)])], 40)
    assert all(sample.present for sample in whole)
    assert [sample.present for sample in half] == [sample.text == "great film" for sample in half]


def test_condition_kept_ignores_refills() -> None:
    made = engine(replace(SAMPLING, condition="kept", fill="one-pass"), perturbator=Refiller("great"))
    present = [sample.present for sample in made.samples([unit("great film", [(0,)])], 200)[0][0]]
    assert 60 < sum(present) < 140


def test_condition_present_does_not_force_the_token_under_own() -> None:
    """It is in a sample because it was kept or refilled, not because it must be: some samples lack "bad"."""
    made = engine(replace(SAMPLING, keep="own", condition="present", fill="one-pass"))
    (samples,), _ = made.samples([unit("bad cast , dull film", [(0,)])], 100)
    assert any(not s.present for s in samples)
    assert all(("bad" in s.text.split()[:1]) == s.present for s in samples)


# --- the value ---


def test_the_value_of_a_keyword_is_one() -> None:
    """P(yes) is 1 where great is kept and 0 where it is removed: 1 - 0. film changes nothing but by chance."""
    predictor = KeywordPredictor("great")
    great, film = judged(
        [unit("great film", [(0,), (1,)], predictor=predictor)],
        predictor=predictor,
        perturbator=MaskTokenPerturbator(),
        test=SequentialTest("fixed", 0.1, 0.05, 10, 4000),
    )
    assert great.value == 1.0
    assert abs(film.value) < 0.06


def test_the_value_is_the_difference_of_two_means() -> None:
    """Over the first 24 samples: mean probability where the token is kept, less that where it is not (6 digits)."""
    made = engine(test=SequentialTest("fixed", 0.1, 0.05, 10, 24))
    text, label = TEXTS[4], int(PREDICTOR.predict([TEXTS[4]])[0].argmax())
    for positions, measured in zip(tokens(text), rows(made.measure([unit(text, tokens(text))])[0]), strict=True):
        (samples,), _ = made.samples([unit(text, [positions])], 24)
        probability = PREDICTOR.predict([s.text for s in samples])[:, label]
        kept = np.array([s.present for s in samples])
        assert measured.value == pytest.approx(probability[kept].mean() - probability[~kept].mean(), abs=5.1e-7)


def test_a_word_that_shares_its_column_with_a_keyword_is_told_to_be_uncertain() -> None:
    """24 words on 23 columns: the keyword has a partner in some of the seeds, which then seems to do what it does; both
    are told to be off by that as likely as not, and all others by nothing much."""
    usual = preset("banzhaf")
    text = " ".join([*(f"w{i}" for i in range(23)), "great"])
    partners = []
    for seed in range(30):
        sampling = replace(usual.sampling, seed=seed)
        judge = engine(sampling, usual.anchor_test, KeywordPredictor("great"), MaskTokenPerturbator())
        found = judge.measure([unit(text, tokens(text))])[0]
        loud = abs(found.value) > 0.9
        partners += np.flatnonzero(loud[:-1]).tolist()
        assert found.value[-1] == 1 and (found.variance[~loud] < 0.01).all()
        expected = 0.325 if loud.sum() == 2 else 0.0  # half of the square of 1, times .65
        assert found.variance[loud] == pytest.approx(np.full(loud.sum(), expected), abs=0.001)
    assert 1 < len(partners) < 10, "one of 23 columns is shared"


def test_there_is_no_value_where_no_sample_replaces_the_token() -> None:
    """keep own forces it; and the empty anchor reads every sample."""
    assert {v.value for v in judged(units(), sampling=replace(SAMPLING, keep="own"))} == {0.0}
    empty = [o.positions == EMPTY for o in about(units())]
    assert {v.value for v, is_empty in zip(judged(units()), empty, strict=True) if is_empty} == {0.0}


# --- what a verdict does not depend on (law 1) ---


@pytest.mark.parametrize("sampling", COMBINATIONS)
def test_a_verdict_depends_on_no_other_token_and_no_other_document(sampling: Sampling) -> None:
    """All tokens of all documents at once, against each token by itself."""
    together = judged(units(), sampling=sampling)
    alone = [
        v
        for u in units()
        for p in u.positions
        for v in judged([unit(u.text, [p], document=u.document)], sampling=sampling)
    ]
    assert together == alone


@pytest.mark.parametrize("sampling", COMBINATIONS)
@pytest.mark.parametrize(("requests", "texts", "shared_block"), [(1, 3, 0.3), (1000, 10000, 9.7)])
def test_a_verdict_depends_on_no_batch(
    sampling: Sampling, requests: int, texts: int, shared_block: float, monkeypatch
) -> None:
    """Texts handed over at once to the perturbator and to the predictor, and samples drawn at a time."""
    expected = judged(units(), sampling=sampling)
    monkeypatch.setattr(fills, "REQUESTS", requests)
    monkeypatch.setattr(module, "PREDICTOR_TEXTS", texts)
    monkeypatch.setattr(module, "SHARED_BLOCK", shared_block)
    assert judged(units(), sampling=sampling) == expected


def test_a_value_that_lies_between_two_digits_depends_on_no_other_test() -> None:
    """Probabilities of 5 digits: one value in six has a 5 behind its last digit, and hangs on the last bits."""

    def predict(texts: Sequence[str]) -> np.ndarray:
        yes = np.round([crc32(text.encode()) / 2**32 for text in texts], 5)
        return np.stack([1 - yes, yes], axis=1)

    given = {
        "predictor": as_predictor(predict, labels=["no", "yes"]),
        "test": SequentialTest("fixed", 0.1, 0.05, 10, 24),
    }
    given["sampling"] = replace(SAMPLING, keep="balanced", fill="blind")
    asked = [Unit(i, f"{text} {i}", i % 2, ((0,),), (0.95,)) for i, text in enumerate(TEXTS * 20)]
    assert judged(asked, **given) == [found for unit_ in asked for found in judged([unit_], **given)]


def test_a_verdict_depends_on_no_order_of_the_units() -> None:
    forward, backward = (dict(zip(about(some), judged(some), strict=True)) for some in (units(), units()[::-1]))
    assert forward == backward


def test_two_copies_of_a_document_get_the_same_verdicts() -> None:
    one, two = (
        judged([unit(TEXTS[0], document=0), unit(TEXTS[0], document=1)])[:8],
        judged([unit(TEXTS[0], document=1)]),
    )
    assert one == two


def test_two_thresholds_see_the_same_samples() -> None:
    """With fixed, the counts are those of the samples alone; tau moves the answer only."""
    test = SequentialTest("fixed", 0.1, 0.05, 10, 40)
    strict, loose = (judged(units(tau=tau), test=test) for tau in (0.95, 0.4))
    assert [(v.agreements, v.samples) for v in strict] == [(v.agreements, v.samples) for v in loose]
    assert sum(v.anchor for v in strict) < sum(v.anchor for v in loose)


def test_another_seed_gives_other_samples() -> None:
    one, two = (judged(units(), sampling=replace(SAMPLING, seed=seed)) for seed in (0, 1))
    assert [(v.agreements, v.samples) for v in one] != [(v.agreements, v.samples) for v in two]


# --- cost ---


class Counting(WeightPredictor):
    """Writes down the batches that it is asked about."""

    def __init__(self) -> None:
        super().__init__(WEIGHTS, bias=-0.1)
        self.batches: list[list[str]] = []

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        self.batches.append(list(texts))
        return super().predict(texts)


def test_equal_texts_are_classified_once_and_counted_once() -> None:
    predictor = Counting()
    _, cost = engine(predictor=predictor).measure(units())
    asked = [text for batch in predictor.batches for text in batch]
    assert len(asked) == len(set(asked)) == cost.predictor_texts
    assert cost.predictor_texts < cost.samples


def test_batches_are_sorted_by_length_and_no_larger_than_said(monkeypatch) -> None:
    monkeypatch.setattr(module, "PREDICTOR_TEXTS", 16)
    predictor = Counting()
    engine(predictor=predictor).measure(units())
    assert max(map(len, predictor.batches)) == 16
    assert all([len(t) for t in batch] == sorted(len(t) for t in batch) for batch in predictor.batches)


class Beginning(Counting):
    """Begins to answer, and writes down when it begins and when it is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[str] = []

    def begin(self, texts: Spelled) -> Callable[[], np.ndarray]:
        number = sum(moment.startswith("begin") for moment in self.moments)
        self.moments.append(f"begin {number}")

        def answer() -> np.ndarray:
            self.moments.append(f"wait {number}")
            return self.predict(texts)

        return answer


@pytest.mark.parametrize("sampling", COMBINATIONS)
def test_a_predictor_that_begins_gives_the_same_verdicts_at_the_same_cost(sampling: Sampling) -> None:
    (begun, cost_begun), (asked, cost) = (
        engine(sampling, predictor=predictor).measure(units()) for predictor in (Beginning(), PREDICTOR)
    )
    assert rows(begun) == rows(asked)
    assert cost_begun == cost


def test_the_next_samples_are_drawn_while_a_predictor_works(monkeypatch) -> None:
    """24 samples a document, two documents at once: three parts of six documents."""
    monkeypatch.setattr(module, "PREDICTOR_TEXTS", 48)
    predictor = Beginning()
    engine(predictor=predictor, test=SequentialTest("fixed", 0.1, 0.05, 10, 24)).measure(units())
    assert predictor.moments == ["begin 0", "begin 1", "wait 0", "begin 2", "wait 1", "wait 2"]


def test_the_cost_counts_documents_tests_and_passes() -> None:
    """6 documents; tokens 7 + 4 + 5 + 1 + 8 + 5 = 30 and an empty anchor each; bank of 2 pairs: 4 passes a document,
    2 for the one of a single word."""
    found, cost = engine(test=SequentialTest("fixed", 0.1, 0.05, 10, 24)).measure(units())
    assert (cost.documents, cost.tests, len(found)) == (6, 36, 36)
    assert cost.samples == 6 * 24
    assert cost.perturbator_passes == 5 * 4 + 2


def test_under_own_the_probability_of_each_word_takes_a_pass_a_word_once() -> None:
    """One document of 5 words twice, bank of 1 pair: 5 + 2 passes, not 10 + 4."""
    sampling = replace(SAMPLING, keep="own", bank_pairs=1)
    _, cost = engine(sampling).measure([unit(TEXTS[5], document=0), unit(TEXTS[5], document=1)])
    assert cost.perturbator_passes == 5 + 2


def test_nothing_to_judge_costs_nothing() -> None:
    found, cost = engine().measure([])
    assert rows(found) == [] and cost.predictor_texts == 0


# --- worker processes ---


class OfEngine(BanzhafScore):
    """The values of an engine that is given, for measurements of any number."""

    def __init__(self, engine: Engine) -> None:
        self._given = engine

    def _engine(self, number: int) -> Engine:
        return self._given


def score(predictor=PREDICTOR) -> MeteredScore:
    asked = RetryingPredictor(predictor, Retry())
    return MeteredScore(OfEngine(engine(predictor=asked)), asked)


@pytest.fixture(scope="module")
def two_workers():
    backend = local_backend(score(), 2)
    yield backend
    backend.close()


def test_two_processes_judge_as_one_does(two_workers) -> None:
    one, cost = InProcess(score()).measure(units())
    two, cost_of_two = two_workers.measure(units())
    assert rows(one) == rows(two)
    assert (cost.documents, cost.tests, cost.samples) == (cost_of_two.documents, cost_of_two.tests, cost_of_two.samples)


def test_more_workers_than_units(two_workers) -> None:
    assert rows(two_workers.measure(units()[:1])[0]) == judged(units()[:1])


def test_a_round_in_which_all_is_skipped_has_no_units(two_workers) -> None:
    """Filters make such rounds (test_scan); one process answers them with nothing, and so must two."""
    assert rows(two_workers.measure([])[0]) == []


def test_there_are_no_samples_of_no_units() -> None:
    """A run that explains a label whose documents hold no candidate shows no terms, and no evidence of them."""
    assert engine().samples([], 5) == ([], Cost())


def test_there_is_no_backend_without_workers() -> None:
    with pytest.raises(InputError, match="at least 1, not 0"):
        local_backend(score(), 0)


class Faulty(WeightPredictor):
    """Says something that is no prediction, or ends its process."""

    def __init__(self, fault: str) -> None:
        super().__init__(WEIGHTS)
        self.fault = fault

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        if self.fault == "dies":
            os._exit(3)
        raise ModelError("the model answered nonsense")


@pytest.mark.parametrize(
    ("fault", "error", "words"), [("fails", ModelError, "nonsense"), ("dies", AnchorscopeError, "--resume")]
)
def test_a_fault_in_a_worker_comes_back_as_one_sentence(fault: str, error: type, words: str) -> None:
    backend = Processes(score(Faulty(fault)), 2)
    try:
        with pytest.raises(error, match=words):
            backend.measure(units())
    finally:
        backend.close()

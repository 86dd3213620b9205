"""What a race of whole documents buys: documents as long as these are what is missing, then samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from planning.test_race import Corpus, settings
from runs import finish, make_run, outcome, predictor, reviews

from anchorscope import Explainer
from anchorscope.asking.budget import Budget
from anchorscope.journal.reader import RunReader
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.planning.candidates import priorities
from anchorscope.planning.offers import MOST_MEASURED, Doubts
from anchorscope.planning.plan import Counted, Round
from anchorscope.planning.race import Race
from anchorscope.scoring import settling
from anchorscope.scoring.tally import Tally
from anchorscope.testing import WeightPredictor

NOISE = 0.15
"""The standard deviation of one measurement of one word."""

KEYED = 8
"""One document in so many is measured twice at first."""


@pytest.fixture(autouse=True)
def short_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "START_DOCUMENTS", 16)


def variance(n: int, m: float, *, n_all: int, between: float, noise: float) -> float:
    """Of the total over ``n_all`` documents, n of which are measured m times: DESIGN's two stages."""
    return n_all**2 * (1 - n / n_all) * between / n + (n_all / n) ** 2 * n * noise / m


@pytest.mark.parametrize(("n", "between", "noise"), [(10, 1.0, 0.5), (39, 1.0, 0.5), (3, 0.1, 2.0), (20, 0.5, 0.0)])
def test_a_document_gains_what_it_takes_from_the_variance(n: int, between: float, noise: float) -> None:
    """The variance with n documents, less that with n + 1 of them."""
    given = {"n_all": 40, "between": between, "noise": noise}
    now = variance(n, 1, **given)
    of_noise = (40 / n) ** 2 * n * noise
    one = Doubts(*(np.array([x]) for x in (0, 40, n, 1.0, now, of_noise)))
    assert one.of_document[0] == pytest.approx(now - variance(n + 1, 1, **given))


def test_a_measurement_gains_what_it_takes_from_the_variance() -> None:
    """Each of 5 documents of 5 measured twice instead of once: half of the noise goes, a fifth of that for each."""
    given = {"n_all": 5, "between": 1.0, "noise": 0.5}
    one = Doubts(*(np.array([x]) for x in (0, 5, 5, 1.0, variance(5, 1, **given), 2.5)))
    assert 5 * one.of_noise[0] * 0.5 / (1 * 2) == pytest.approx(variance(5, 1, **given) - variance(5, 2, **given))
    assert one.of_document[0] == 0


class Noisy(Corpus):
    """A corpus whose values are measured with noise; samples are functions of the document and their number."""

    key: tuple[int, ...] = ()

    def noise(self, occurrence: int, number: int) -> float:
        return float(np.random.default_rng((*self.key, occurrence, number)).normal(0, NOISE))

    def measured(self, round_: Round, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of so many measurements before these, and the second ones that stand beside the first."""
        occurrences = round_.occurrences
        samples = [
            [self.noise(occurrence, k) for k in (n, 1)] for occurrence, n in zip(occurrences.tolist(), number.tolist())
        ]
        value, second = (np.round(self.value[occurrences] + column, 6) for column in np.array(samples).T)
        keyed = (self.collection.occurrence_document[occurrences] % KEYED == 0) & (number == 0)
        return value, np.where(keyed, second, np.nan)

    def bought(self, **given: object) -> tuple[Race, Tally, Counter[int], list[tuple[int, float]]]:
        """The race, its tally, how often each document was measured, and after each round how many occurrences are
        tested, and the regret."""
        chosen = settings(**given)
        strategy, tally = Race(self.collection, chosen), self.collection.tally
        times: Counter[int] = Counter()
        moments = []
        while (round_ := strategy.next_round(tally)) is not None:
            numbers = np.array([unit.number for unit in round_.units for _ in unit.positions])
            for unit in round_.units:
                assert unit.number == times[unit.document]
                times[unit.document] += 1 + (unit.number == 0 and unit.document % KEYED == 0)
            kept = round_.occurrences >= 0  # no empty anchors
            round_, numbers = Round(round_.units, round_.occurrences[kept]), numbers[kept]
            value, repeat = self.measured(round_, numbers)
            n = len(value)
            noise, calls = np.full(n, NOISE**2), np.full(n, 24)
            anchor = np.zeros(n, bool)
            now = strategy.count(Counted(round_.occurrences, anchor, value, noise, repeat, numbers > 0, calls))
            terms = self.collection.occurrence_term[now.occurrences].astype(np.int64)
            labels, new = np.zeros(len(terms), np.int64), ~now.further
            tally = tally.observe(labels[new], terms[new], now.anchor[new], now.value[new])
            tally = tally.deepen(labels[~new], terms[~new], now.value[~new])
            moments.append((strategy.tests_left(tally), float(strategy.standing(tally).regret[0])))
        return strategy, tally, times, moments


GOAL = 0.02


def noisy() -> Noisy:
    corpus = Noisy(7, n_documents=80, n_terms=40)
    keys = [document.key for document in corpus.collection.documents]
    assert (corpus.collection.priority == priorities(0, keys)).all()
    return corpus


def test_where_everything_is_tested_and_noise_is_what_is_missing_samples_are_bought() -> None:
    """80 documents do not suffice for a regret of 2%: the race measures some of them again, and then they do."""
    strategy, tally, times, moments = noisy().bought(regret=GOAL, top_k=5)
    assert strategy.tests_left(tally) == 0
    all_tested = next(regret for left, regret in moments if left == 0)
    assert all_tested > GOAL > moments[-1][1]
    assert strategy.standing(tally).settled[0]
    assert 2 < max(times.values()) <= MOST_MEASURED
    assert len({*times.values()}) > 2, "not all documents alike: those that matter"


def test_a_race_that_is_to_leave_no_regret_tests_everything_once() -> None:
    """No number of samples leaves none."""
    strategy, tally, times, _ = noisy().bought(regret=0.0)
    assert strategy.tests_left(tally) == 0
    assert {number: 1 + (number % KEYED == 0) for number in range(80)} == times
    assert strategy.standing(tally).spent[0] and not strategy.standing(tally).settled[0]


@pytest.mark.parametrize("given", [{"regret": 0.0}, {"regret": 0.5}], ids=["no regret", "nearly all tested"])
def test_a_race_comes_to_its_end_where_few_words_are_in_doubt(
    given: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The regret hangs on 6 words of 150 at a time. Where these are tested wherever they stand, there are documents
    that hold none of them: nothing is to be left, or what has a twentieth of its tests made is tested to the end."""
    monkeypatch.setattr(settling, "NEARLY_ALL", 0.05)
    corpus = Noisy(7, n_documents=200, n_terms=150)
    strategy, tally, times, _ = corpus.bought(top_k=1, **given)
    assert strategy.tests_left(tally) == 0 and len(times) == 200


def test_choosing_what_is_measured_again_does_not_bend_totals() -> None:
    """What came out high by luck is measured again, and what came out low is not: the words that stand in doubt might
    then be too low on average. Here 20 corpora of which all is tested; two standard errors of 800 words are 0.07."""
    off = []
    for seed in range(20):
        corpus = Noisy(seed, n_documents=80, n_terms=40)
        corpus.key = (seed,)
        strategy, tally, _, _ = corpus.bought(regret=0.005, top_k=5)
        assert strategy.tests_left(tally) == 0
        term = corpus.collection.occurrence_term
        found = tally.values[0] / 1e6 - np.bincount(term, corpus.value, minlength=40)
        off += (found / (NOISE * np.sqrt(np.maximum(np.bincount(term, minlength=40), 1)))).tolist()
    assert abs(np.mean(off)) < 0.07 and np.std(off) < 0.8


def test_what_cannot_be_reached_ends_where_each_document_was_measured_so_often() -> None:
    """A regret of a millionth: every document that holds a word in doubt is measured as often as any may be."""
    strategy, tally, times, _ = noisy().bought(regret=1e-6)
    assert max(times.values()) == MOST_MEASURED
    assert strategy.standing(tally).spent[0] or strategy.standing(tally).regret[0] < 1e-6


def test_the_tally_has_the_mean_of_all_measurements() -> None:
    """Whatever was added as a difference: the sum over documents of the mean of what each was found to bring."""
    corpus = noisy()
    _, tally, times, _ = corpus.bought(regret=GOAL, top_k=5)
    expected = np.zeros(40, np.int64)
    documents = corpus.collection.occurrence_document
    for occurrence, term in enumerate(corpus.collection.occurrence_term.tolist()):
        numbers = range(times[int(documents[occurrence])])
        noise = [corpus.noise(occurrence, k) for k in numbers]
        expected[term] += np.rint(np.mean(np.round(corpus.value[occurrence] + noise, 6)) * 1e6)
    assert np.abs(tally.values[0] - expected).max() <= len(documents) / 2, "but for rounding"
    assert tally.anchors.sum() + tally.non_anchors.sum() == len(documents), "a further measurement is no further test"


def test_what_is_bought_is_the_same_again() -> None:
    one, other = (noisy().bought(regret=GOAL)[2:] for _ in range(2))
    assert one == other


def test_without_noise_nothing_is_measured_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Second measurements that show no noise."""
    monkeypatch.setattr(Noisy, "measured", lambda self, round_, number: (self.value[round_.occurrences],) * 2)
    _, _, times, _ = noisy().bought(regret=1e-6)
    assert all(n == 1 + (document % KEYED == 0) for document, n in times.items())


def test_nothing_is_measured_for_a_label_that_is_not_asked_for(tmp_path: Path) -> None:
    """Second measurements of "yes" say how noisy values are of "no", too; but nobody wants to know."""
    given = {"strategy": "race", "aggregation": "total", "score": "banzhaf", "test": "fixed", "max_samples": 12}
    run = make_run(reviews(40), folder=tmp_path / "run", labels=("yes",), surrogate=False, regret=0.001, **given)
    finish(run)
    reader = RunReader(tmp_path / "run")
    assert reader.labels == ("no", "yes")
    assert [n > 0 for n in reader.tested_per_label()] == [False, True]
    assert [n > 0 for n in reader.measured_again_per_label()] == [False, True]
    reader.close()


class CountedTexts(WeightPredictor):
    """A model that counts the texts that reach it."""

    n = 0

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        self.n += len(texts)
        return super().predict(texts)


@pytest.mark.parametrize("limit", [230, 301, 377, 458])
def test_a_budget_holds_while_documents_are_measured_again(limit: int, tmp_path: Path) -> None:
    """Not one text more reaches the model, wherever the calls run out; and what goes on ends as if they had not."""
    given = {"strategy": "race", "aggregation": "total", "score": "banzhaf", "test": "fixed", "max_samples": 12}
    given = {**given, "surrogate": False, "regret": 0.05, "texts": reviews(18)}
    model = CountedTexts(predictor().weights, predictor().bias)
    run = make_run(folder=tmp_path / "cut", model=model, budget=Budget(max_model_calls=limit), **given)
    cut = finish(run)[-1]
    assert limit - 30 < model.n <= limit and cut.cost.predictor_texts == model.n
    finish(resumed := make_run(folder=tmp_path / "cut", resume=True, **given))
    finish(whole := make_run(**given))
    assert outcome(resumed) == outcome(whole)
    assert all(one.measured_again > 0 for one in whole.result().explanations.values())


def test_what_a_budget_cuts_off_is_lost_to_all_labels_alike() -> None:
    """With 250 calls a hundred documents are predicted; of the six blocks that are left each label has two at least."""
    texts = [f"a {word} film number {i}" for i in range(60) for word in ("great", "dull")]
    model = WeightPredictor({"great": 2.0, "dull": -2.0})
    explainer = Explainer(model, preset="banzhaf", perturbator=MaskTokenPerturbator(), max_model_calls=250)
    found = explainer.explain(texts).explanations
    tested = [max(term.tested for term in one.terms) for one in found.values()]
    assert len(tested) == 2 and min(tested) >= 2

"""A budget of calls is a promise: not one text more reaches the model, whatever fails on the way."""

from __future__ import annotations

import pickle
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from runs import WEIGHTS, explained, finish, make_run, outcome, reviews

from anchorscope import Explainer
from anchorscope.asking.budget import Budget, CallsSpentError, Meter, TimeUpError
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import AnchorscopeError, InputError
from anchorscope.explanations import explanation
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.scoring.aggregations import aggregation
from anchorscope.testing import WeightPredictor
from anchorscope.types import Cost

QUICK = Retry(tries=4, first_wait=0.0, sleep=lambda seconds: None)

PAIRS = {"strategy": "race", "aggregation": "total", "score": "occlusion", "round_size": 8}
BLOCKS = {"strategy": "race", "aggregation": "total", "score": "banzhaf", "test": "fixed", "max_samples": 6}
STOPPING = {"aggregation": "pr", "max_samples": 20}
ALL = {"aggregation": "total", "score": "occlusion"}


class Shaky(WeightPredictor):
    """Fails now and then; counts every text that reaches it, answered or not."""

    def __init__(self, rate: float, seed: int) -> None:
        super().__init__(WEIGHTS, bias=-0.05)
        self._rate = rate
        self._chances = random.Random(seed)
        self.n_texts = 0

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        self.n_texts += len(texts)
        if self._chances.random() < self._rate:
            raise ConnectionError("away for a moment")
        return super().predict(texts)


# --- the meter ---


def test_a_meter_lets_no_text_through_beyond_what_is_allowed() -> None:
    """Of five allowed, three go through; three more are refused, and two go through yet."""
    meter = Meter()
    meter.allow(5)
    meter.pass_on(3)
    with pytest.raises(CallsSpentError, match="2 more texts, and 3 are due"):
        meter.pass_on(3)
    meter.pass_on(2)
    assert meter.sent == 5


def test_what_is_tried_again_is_counted_again() -> None:
    """Each text is asked about twice: ten calls for five texts, and no eleventh."""

    class Second(WeightPredictor):
        n_calls = 0

        def predict(self, texts: Sequence[str]) -> np.ndarray:
            self.n_calls += 1
            if self.n_calls % 2:
                raise ConnectionError("once more")
            return super().predict(texts)

    asked = RetryingPredictor(Second(WEIGHTS), QUICK)
    asked.predict(["great"] * 5)
    assert asked.meter.sent == 10
    asked.meter.allow(9)
    with pytest.raises(CallsSpentError):
        asked.predict(["great"] * 5)
    assert asked.meter.sent == 15


@pytest.mark.parametrize("limit", [-1, float("nan"), "5", None])
def test_what_is_no_limit_is_refused(limit: object) -> None:
    with pytest.raises(InputError, match="--max-model-calls must be a number of at least 0"):
        Budget(max_model_calls=limit)  # type: ignore[arg-type]


def test_what_is_left_is_never_less_than_nothing() -> None:
    assert Budget(max_model_calls=10).calls_left(Cost(predictor_texts=4)) == 6
    assert Budget(max_model_calls=10).calls_left(Cost(predictor_texts=14)) == 0
    assert Budget(max_model_calls=10).is_spent(Cost(predictor_texts=10))


# --- whole runs ---


@pytest.mark.parametrize("seed", range(10))
def test_no_text_reaches_the_model_beyond_the_budget(seed: int, tmp_path: Path) -> None:
    """Twenty random runs a seed, two hundred in all: strategies, budgets, rates of failure, with and without a folder.

    A run that a fault or too small a budget ends has kept its promise, too.
    """
    chances = random.Random(seed)
    n_finished = 0
    for number in range(20):
        settings = chances.choice([PAIRS, PAIRS, BLOCKS, STOPPING, ALL])
        n_calls = chances.choice([chances.randint(0, 12), chances.randint(10, 60), chances.randint(40, 250)])
        model = Shaky(chances.choice([0.0, 0.0, 0.05, 0.3]), seed=number)
        folder = tmp_path / str(number) if chances.random() < 0.4 else None
        texts = reviews(chances.randint(3, 14), seed=number)
        run = make_run(
            texts,
            model=RetryingPredictor(model, QUICK),
            folder=folder,
            budget=Budget(max_model_calls=n_calls),
            **{**settings, "seed": number},
        )
        try:
            seen = finish(run)
        except AnchorscopeError:
            assert model.n_texts <= n_calls
            continue
        n_finished += 1
        assert model.n_texts == seen[-1].cost.predictor_texts <= n_calls, (number, settings)
    assert n_finished >= 10


def test_two_workers_keep_to_the_budget_together() -> None:
    for n_calls in (40, 75, 120):
        run = make_run(workers=2, budget=Budget(max_model_calls=n_calls), **PAIRS)
        assert finish(run)[-1].cost.predictor_texts <= n_calls


def test_with_fewer_calls_than_documents_some_are_drawn() -> None:
    """Of 40 calls 16 (four in ten) go to documents, and the others to tests; what is said is about all 100."""
    model = Shaky(0.0, seed=0)
    run = make_run(reviews(100), model=model, budget=Budget(max_model_calls=40), **PAIRS)
    last = finish(run)[-1]
    assert model.n_texts <= 40 and last.cost.tests > 0
    assert sum(e.asked for e in last.explanations.values()) == 16
    assert sum(e.documents for e in last.explanations.values()) in (99, 100, 101)
    assert all(e.documents == round(e.asked * 100 / 16) for e in last.explanations.values())


def test_which_documents_are_drawn_depends_on_no_order() -> None:
    texts = reviews(100)
    one, other = (explained(texts=some, budget=Budget(max_model_calls=40), **PAIRS) for some in (texts, texts[::-1]))
    assert one == other


def test_what_all_documents_hold_is_estimated_from_those_that_are_drawn() -> None:
    """116 of 300 documents are asked about; what they say of the best word is near what all of them say."""
    texts = reviews(300)
    few = explained(texts=texts, budget=Budget(max_model_calls=290), **PAIRS, top_k=2)["labels"]
    everything = explained(texts=texts, **PAIRS, regret=0.0, top_k=2)["labels"]
    for label in ("no", "yes"):
        assert few[label]["asked"] < 100 < everything[label]["asked"]
        assert few[label]["documents"] == pytest.approx(everything[label]["documents"], rel=0.25)
        best = few[label]["terms"][0]
        truth = {term["term"]: term["score"] for term in everything[label]["terms"]}
        assert best["term"] in truth
        low, high = best["interval"]
        width = high - low
        assert low - width < truth[best["term"]] < high + width


def test_a_budget_that_suffices_for_no_document_is_refused_with_the_next_step() -> None:
    model = Shaky(0.0, seed=0)
    says = r"--max-model-calls 1 is too small for one test by --score occlusion, which takes 1 .* allow more calls"
    with pytest.raises(InputError, match=says):
        finish(make_run(model=model, budget=Budget(max_model_calls=1), **PAIRS))
    assert model.n_texts == 0


@pytest.mark.parametrize("n_calls", [3, 4, 5, 6, 8, 10, 12])
def test_the_least_budgets_are_used_to_the_last_call(n_calls: int) -> None:
    """Of documents with several words as many words are tested as there are calls left; of a label without a test no
    regret is known."""
    model = Shaky(0.0, seed=0)
    run = make_run(reviews(120), model=model, budget=Budget(max_model_calls=n_calls), **PAIRS)
    last = finish(run)[-1]
    assert last.cost.tests > 0 and model.n_texts == n_calls
    for one in last.explanations.values():
        is_tested = not (one.note or "").startswith("Nothing is tested")
        assert is_tested == bool(one.terms) == (one.regret is not None), one


@pytest.mark.parametrize("n_calls", [6, 12, 14, 16])
def test_a_block_that_cannot_be_afforded_is_refused_before_any_call(n_calls: int) -> None:
    """Six samples a document, and twelve where it is measured twice, as some are; so many are left of 19 calls."""
    model = Shaky(0.0, seed=0)
    with pytest.raises(InputError, match=r"score banzhaf, which takes 12 after .* allow more calls, 19 at least, or"):
        finish(make_run(reviews(120), model=model, budget=Budget(max_model_calls=n_calls), **BLOCKS))
    assert model.n_texts == 0
    assert finish(make_run(reviews(120), budget=Budget(max_model_calls=19), **BLOCKS))[-1].cost.tests > 0


def test_a_run_without_a_test_says_how_many_calls_bring_one(tmp_path: Path) -> None:
    """Twelve documents take twelve calls, and each of them is asked about twice: nothing is left. It goes on with the
    calls that the note names."""

    class Twice(Shaky):
        n_calls = 0

        def predict(self, texts: Sequence[str]) -> np.ndarray:
            self.n_calls += 1
            self._rate = float(self.n_calls % 2)
            return super().predict(texts)

    asked = RetryingPredictor(Twice(0.0, seed=0), QUICK)
    folder = tmp_path / "run"
    settings = {**PAIRS, "strategy": "scan"}
    run = make_run(reviews(12), model=asked, folder=folder, budget=Budget(max_model_calls=24), **settings)
    last = finish(run)[-1]
    assert last.cost.tests == 0 and last.cost.predictor_texts == 24
    reader = RunReader(folder)
    shown = Standings(reader, alpha=0.5, k=4).shown(aggregation("total"))
    for label, (name, one) in enumerate(last.explanations.items()):
        told = f"Nothing is tested for {name!r}: --max-model-calls ended the run before the first test; raise it to"
        assert one.note == f"{told} about 25." and one.regret is None and not one.terms
        assert explanation(shown, name, label, 4).note == one.note
    reader.close()
    more = make_run(reviews(12), folder=folder, resume=True, budget=Budget(max_model_calls=25), **settings)
    assert finish(more)[-1].cost.tests == 1


@pytest.mark.parametrize("n_calls", [76, 83, 97, 110])
@pytest.mark.parametrize("settings", [PAIRS, ALL, BLOCKS], ids=["pairs", "scan", "blocks"])
def test_a_run_that_goes_on_with_more_calls_ends_as_one_that_had_them(
    settings: dict, n_calls: int, tmp_path: Path
) -> None:
    """The budget ends it in the middle of a round; a second one, a little larger, in the middle of the next."""
    for allowed in (n_calls, n_calls + 9):
        finish(make_run(folder=tmp_path / "run", resume=True, budget=Budget(max_model_calls=allowed), **settings))
    run = make_run(folder=tmp_path / "run", resume=True, **settings)
    finish(run)
    assert outcome(run) == explained(**settings)


def test_a_round_that_was_cut_short_costs_what_it_took_in_all(tmp_path: Path) -> None:
    """No text is asked about twice because a budget came in between, but for the evidence of the folder."""
    whole = finish(make_run(**PAIRS))[-1].cost
    finish(make_run(folder=tmp_path / "run", budget=Budget(max_model_calls=90), **PAIRS))
    last = finish(make_run(folder=tmp_path / "run", resume=True, **PAIRS))[-1].cost
    assert last.tests == whole.tests


@pytest.mark.parametrize("answer", ["names", "rows"])
def test_what_a_head_is_one_of_is_not_asked_for_again(answer: str, tmp_path: Path) -> None:
    """A function that names labels is asked for them once; a run that goes on knows them from its folder, and a budget
    that is spent takes nothing more."""
    n_texts = 0

    def names(texts: list[str]) -> list[object]:
        nonlocal n_texts
        n_texts += len(texts)
        said = ["yes" if "great" in text else "no" for text in texts]
        return said if answer == "names" else [{"yes": float(one == "yes"), "no": float(one == "no")} for one in said]

    for allowed, spent in ((60, 60), (60, 60), (80, 80)):
        explainer = Explainer(names, head="yes", max_model_calls=allowed)
        result = explainer.explain(reviews(100), out=tmp_path / "run", resume=True)
        assert n_texts == spent
        assert [*result.explanations] == ["not yes", "yes"]


# --- a budget of seconds ---

BATCH_SECONDS = 0.05


class Slow(WeightPredictor):
    """Takes 50 ms a call, however many texts it is asked about, and notes when each call began."""

    at_once = 16

    def __init__(self) -> None:
        super().__init__(WEIGHTS, bias=-0.05)
        self.begun: list[float] = []

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        self.begun.append(time.monotonic())
        time.sleep(BATCH_SECONDS)
        return super().predict(texts)


def test_when_time_is_up_nothing_is_passed_on() -> None:
    """Nor is a wait begun that would end too late; and a meter that travels leaves its clock behind."""
    meter = Meter()
    meter.end_in(60)
    meter.pass_on(1)
    with pytest.raises(TimeUpError):
        meter.check_time(wait=61)
    meter.end_in(0)
    with pytest.raises(TimeUpError):
        meter.pass_on(1)
    pickle.loads(pickle.dumps(meter)).pass_on(1)
    assert meter.sent == 1


@pytest.mark.parametrize(
    "settings", [{**PAIRS, "regret": 0.0}, ALL, BLOCKS, STOPPING], ids=["pairs", "scan", "blocks", "anchors"]
)
def test_a_run_ends_within_one_batch_of_its_time(settings: dict, tmp_path: Path) -> None:
    """60 documents and a round of everything would take seconds; no call begins after the time that is allowed."""
    model = Slow()
    limit = 1.2
    budget = Budget(max_seconds=limit)
    run = make_run(reviews(60), model=model, folder=tmp_path / "run", budget=budget, **{**settings, "round_size": 60})
    last = finish(run)[-1]
    # The clock runs when the first call begins; opening the folder, which takes a busy machine long, is not on it.
    assert model.begun[-1] <= model.begun[0] + limit + 0.05
    assert last.cost.tests > 0 and not last.settled
    assert len(model.begun) >= 0.5 * limit / BATCH_SECONDS  # the time was used


@pytest.mark.parametrize("settings", [PAIRS, ALL, BLOCKS], ids=["pairs", "scan", "blocks"])
def test_a_run_that_goes_on_with_more_time_ends_as_one_that_had_it(settings: dict, tmp_path: Path) -> None:
    """Cut off within a round, wherever that was."""
    for limit in (0.45, 0.5):
        budget = Budget(max_seconds=limit)
        cut = make_run(model=Slow(), folder=tmp_path / "run", resume=True, budget=budget, **settings)
        assert not finish(cut)[-1].settled
    run = make_run(folder=tmp_path / "run", resume=True, **settings)
    finish(run)
    assert outcome(run) == explained(**settings)


def test_time_that_does_not_suffice_for_the_predictions_is_refused_with_the_next_step(tmp_path: Path) -> None:
    """Two documents are the probe; what was said is kept for a run that goes on, which begins with a probe, too."""
    model = Slow()
    with pytest.raises(TimeUpError, match=r"--max-seconds 0.1 ends when .* of the 300 documents; --resume") as told:
        finish(make_run(reviews(300), model=model, folder=tmp_path / "run", budget=Budget(max_seconds=0.1), **PAIRS))
    n_calls = len(model.begun)
    n_known = int(re.search(r"for (\d+) of the 300", str(told.value))[1])
    assert n_calls <= 3 and n_known >= 2
    finish(make_run(reviews(300), model=model, folder=tmp_path / "run", resume=True, **PAIRS), rounds=0)
    assert len(model.begun) == n_calls + 1 + -(-(300 - n_known - 2) // 16)  # a probe again, and the others


def test_a_wait_that_would_end_too_late_is_not_begun() -> None:
    """The model is away, and would be asked again in ten seconds; the run has half of one."""
    waits = []
    retry = Retry(tries=4, first_wait=10.0, sleep=waits.append)
    with pytest.raises(TimeUpError):
        finish(make_run(model=RetryingPredictor(Shaky(1.0, seed=0), retry), budget=Budget(max_seconds=0.5), **PAIRS))
    assert not waits


# --- a model that hangs ---


@pytest.fixture
def hanging() -> Iterator[Callable[[list[str]], None]]:
    """A function that does not answer while a test goes on."""
    end = Event()

    def hangs(texts: list[str]) -> None:
        end.wait()

    yield hangs
    end.set()


def test_a_model_that_hangs_with_its_first_documents_is_not_waited_for(hanging: Callable[[list[str]], None]) -> None:
    said = r"max_seconds 0.2 ends before the model has answered about the first of the 30 documents: allow more"
    with pytest.raises(TimeUpError, match=said):
        Explainer(hanging, labels=["no", "yes"], max_seconds=0.2).explain(reviews())


def test_a_model_that_hangs_when_it_is_asked_for_its_labels_is_not_waited_for(
    hanging: Callable[[list[str]], None],
) -> None:
    said = r"max_seconds 0.2 ends before hangs has answered the texts that show its labels; allow more seconds, or giv"
    with pytest.raises(InputError, match=said):
        Explainer(hanging, max_seconds=0.2).explain(reviews())


def test_a_call_for_labels_that_takes_too_long_has_failed(hanging: Callable[[list[str]], None]) -> None:
    said = r"labels of hangs are not known, and it fails .*TimeoutError: no answer within 0.1 seconds.; make it answer"
    with pytest.raises(InputError, match=said):
        Explainer(hanging, retry=Retry(timeout=0.1)).explain(reviews())


def test_the_calls_that_show_label_names_share_the_seconds() -> None:
    """One of them fits into half a second, all of them do not."""

    def slow(texts: list[str]) -> list[str]:
        time.sleep(0.2)
        return ["long" if len(text) > 20 else "short" for text in texts]

    with pytest.raises(InputError, match=r"max_seconds 0.5 ends before slow has answered"):
        Explainer(slow, max_seconds=0.5).explain(reviews(300))


def test_seconds_beyond_any_clock_are_no_limit() -> None:
    model = WeightPredictor(WEIGHTS, bias=-0.05)
    assert finish(make_run(model=model, budget=Budget(max_seconds=1e300), **PAIRS))[-1].finished


def test_what_finding_the_labels_took_is_part_of_the_seconds() -> None:
    def slow(texts: list[str]) -> list[dict[str, float]]:
        time.sleep(0.2)
        return [{"no": 0.5, "yes": 0.5} for _ in texts]

    said = "max_seconds 0.3 ends before the model has answered about the first"
    with pytest.raises(TimeUpError, match=said):
        Explainer(slow, max_seconds=0.3).explain(reviews())

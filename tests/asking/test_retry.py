"""What is tried again and what is not, how long that waits, and who is named in the end."""

from __future__ import annotations

import pickle
import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import explained, finish, make_run, outcome, predictor, reviews

from anchorscope import Explainer
from anchorscope.asking.retry import LONGEST_ASKED, Retry, RetryingPredictor, asked_wait, is_out_of_memory
from anchorscope.errors import InputError, ModelError, ModelFailedError, SomeFailedError
from anchorscope.journal.reader import RunReader
from anchorscope.predictors import as_predictor
from anchorscope.types import BeginningPredictor, Spelled

TEXTS = [f"text {number}" for number in range(100)]


class RateLimitError(Exception):
    """As clients of services have them: it derives from nothing that Python knows."""

    def __init__(self, seconds: float) -> None:
        super().__init__("slow down")
        self.retry_after = seconds


class OutOfMemoryError(RuntimeError):
    """torch's has this name, and is no MemoryError."""


class Scripted:
    """Answers [0.25, 0.75]; before each call ``act(number of the call, texts)`` may raise or answer otherwise."""

    labels = ("bad", "good")
    has_probabilities = True
    name = fingerprint = "scripted"

    def __init__(self, act: Callable[[int, Sequence[str]], Any]) -> None:
        self.act, self.calls = act, list[int]()

    def predict(self, texts: Sequence[str]) -> Any:
        self.calls.append(len(texts))
        answer = self.act(len(self.calls), texts)
        return np.tile([0.25, 0.75], (len(texts), 1)) if answer is None else answer


def retrying(model: Scripted, **given: Any) -> tuple[RetryingPredictor, list[float]]:
    """The model, tried again, and the waits that it took."""
    waits: list[float] = []
    return RetryingPredictor(model, Retry(sleep=waits.append, jitter=0.0, **given)), waits


def failing(first: int, error: BaseException) -> Scripted:
    """Fails in its first calls."""

    def act(call: int, texts: Sequence[str]) -> None:
        if call <= first:
            raise error

    return Scripted(act)


class Begun(Scripted):
    """The same for one that begins; it fails in "begin", in "answer" or nowhere, with ``error``."""

    def __init__(
        self,
        fails: str = "",
        bad: bool = False,
        error: BaseException | None = None,
        act: Callable[[int, Sequence[str]], Any] = lambda *_: None,
    ) -> None:
        super().__init__(act)
        self.fails, self.bad, self.n_begun = fails, bad, 0
        self.error = error or ConnectionError("away")

    def begin(self, texts: Spelled) -> Callable[[], Any]:
        self.n_begun += 1
        if self.fails == "begin":
            raise self.error
        return lambda: self._answer(texts)

    def _answer(self, texts: Spelled) -> Any:
        if self.fails == "answer":
            raise self.error
        return np.tile([np.nan if self.bad else 0.25, 0.75], (len(texts), 1))


SPELLED = Spelled(["text", "fine"], [np.array(row, np.int32).tobytes() for row in ([0], [1], [0, 1])])


class TestBeginning:
    def test_what_was_begun_is_answered_without_another_call(self) -> None:
        model = Begun()
        asked, _ = retrying(model)
        assert isinstance(asked, BeginningPredictor)
        assert asked.begin(SPELLED)().tolist() == [[0.25, 0.75]] * 3
        assert (model.n_begun, model.calls) == (1, [])

    @pytest.mark.parametrize("fails", ["begin", "answer"])
    @pytest.mark.parametrize("error", [ConnectionError("away"), SystemExit(3)])
    def test_a_beginning_that_fails_is_followed_by_all_tries(self, fails: str, error: BaseException) -> None:
        model = Begun(fails, error=error)
        asked, _ = retrying(model)
        assert asked.begin(SPELLED)().tolist() == [[0.25, 0.75]] * 3
        assert (model.n_begun, model.calls) == (1, [3])

    def test_a_bad_answer_names_the_text_and_is_not_asked_for_again(self) -> None:
        model = Begun(bad=True)
        asked, _ = retrying(model)
        with pytest.raises(ModelError, match=r"row for 'text' holds NaN"):
            asked.begin(SPELLED)()
        assert model.calls == []

    def test_a_row_that_is_missing_is_found(self) -> None:
        """What was begun is a row short; asked again, in halves, the model has none for "fine"."""
        model = Begun(act=lambda call, texts: [[0.5, 0.5] for text in texts if text != "fine"])
        model._answer = lambda texts: model.act(0, texts)
        asked, _ = retrying(model)
        with pytest.raises(ModelError, match=r"answered 0 rows for a batch of 1.*the text is 'fine'\."):
            asked.begin(SPELLED)()

    def test_more_texts_than_the_memory_holds_are_not_begun_again(self) -> None:
        """2 of 3 texts are too many: 3, then 1 at a time; the next 3 are not begun, but 1 is."""

        def act(call: int, texts: Sequence[str]) -> None:
            if len(texts) > 1:
                raise MemoryError

        asked, _ = retrying(model := Begun("begin", error=MemoryError(), act=act))
        assert asked.begin(SPELLED)().shape == asked.begin(SPELLED)().shape == (3, 2)
        assert (model.n_begun, model.calls) == (1, [3, 1, 1, 1, 1, 1, 1])
        asked.begin(SPELLED[:1])()
        assert model.n_begun == 2

    def test_a_model_that_cannot_begin_is_not_begun_nor_is_one_with_a_timeout(self) -> None:
        assert not isinstance(retrying(Scripted(lambda *_: None))[0], BeginningPredictor)
        assert not isinstance(retrying(Begun(), timeout=5)[0], BeginningPredictor)

    def test_it_begins_in_a_worker_process_too(self) -> None:
        arrived = pickle.loads(pickle.dumps(RetryingPredictor(WithoutScript(), Retry())))
        assert arrived.begin(SPELLED)().tolist() == [[0.5, 0.5]] * 3
        assert arrived.begin.func.__self__ is arrived


class WithoutScript:
    """One that begins, and can be pickled."""

    labels = ("bad", "good")
    has_probabilities = True
    name = fingerprint = "without script"

    def predict(self, texts: Sequence[str]) -> Any:
        raise AssertionError("it has begun")

    def begin(self, texts: Spelled) -> Callable[[], Any]:
        return lambda: np.full((len(texts), 2), 0.5)


class TestTries:
    def test_a_model_without_fault_is_asked_once(self) -> None:
        model = Scripted(lambda *_: None)
        asked, waits = retrying(model)
        assert asked.predict(TEXTS).tolist() == [[0.25, 0.75]] * 100
        assert model.calls == [100] and not waits

    def test_waits_double(self) -> None:
        """0.1, 0.2, 0.4, 0.8 and 1.6 seconds, cut at 1.5."""
        model = failing(5, ConnectionError("away"))
        asked, waits = retrying(model, longest_wait=1.5)
        assert len(asked.predict(TEXTS)) == 100
        assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.5]) and asked.n_retries == 5

    def test_a_wait_that_is_asked_for_is_kept(self) -> None:
        asked, waits = retrying(failing(2, RateLimitError(7)))
        asked.predict(TEXTS)
        assert waits == [7, 7]

    def test_a_model_that_wants_to_be_left_alone_for_long_is_not_waited_for(self) -> None:
        asked, waits = retrying(failing(9, RateLimitError(LONGEST_ASKED + 1)))
        with pytest.raises(ModelFailedError, match=r"left alone for 601 seconds .*RateLimitError.*--resume"):
            asked.predict(TEXTS)
        assert not waits

    @pytest.mark.parametrize(
        ("holder", "seconds"),
        [({"retry_after": 3}, 3), ({"retry_after": "1.5"}, 1.5), ({"retry_after": -1}, 0), ({"retry_after": None}, 0)],
    )
    def test_what_an_error_asks_for(self, holder: dict[str, Any], seconds: float) -> None:
        assert asked_wait(type("E", (Exception,), holder)()) == seconds

    def test_what_a_response_asks_for(self) -> None:
        response = type("Response", (), {"headers": {"retry-after": "12"}})()
        assert asked_wait(type("E", (Exception,), {"response": response})()) == 12
        dated = type("Response", (), {"headers": {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}})()
        assert asked_wait(type("E", (Exception,), {"response": dated})()) == 0

    def test_a_mistake_in_code_is_tried_twice(self) -> None:
        """And then each half twice, down to the first text and its control: 2 texts need 2 + 2 + 2 calls."""
        model = failing(10**6, KeyError("score"))
        asked, waits = retrying(model)
        with pytest.raises(ModelFailedError, match=r"batch of 2 texts: KeyError: 'score'.*tried 2 times"):
            asked.predict(TEXTS[:2])
        assert model.calls == [2, 2, 1, 1, 1, 1] and len(waits) == 1

    @pytest.mark.parametrize("given", [{"tries": 0}, {"timeout": 0.0}, {"timeout": -1.0}])
    def test_a_retry_that_cannot_be(self, given: dict[str, Any]) -> None:
        with pytest.raises(InputError):
            Retry(**given)

    def test_one_try_waits_for_nothing(self) -> None:
        asked, waits = retrying(failing(10**6, OSError("no")), tries=1)
        with pytest.raises(ModelFailedError):
            asked.predict(TEXTS)
        assert not waits

    def test_an_interrupt_is_no_fault(self) -> None:
        asked, _ = retrying(failing(1, KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            asked.predict(TEXTS)

    def test_a_model_that_ends_the_process_has_failed(self) -> None:
        asked, _ = retrying(failing(10**6, SystemExit(3)))
        with pytest.raises(ModelFailedError, match="SystemExit: 3"):
            asked.predict(TEXTS)


class TestTheTextAtFault:
    @pytest.mark.parametrize("number", [0, 1, 49, 50, 98, 99])
    def test_it_is_found(self, number: int) -> None:
        def act(call: int, texts: Sequence[str]) -> None:
            if TEXTS[number] in texts:
                raise RuntimeError("cannot read this")

        asked, _ = retrying(Scripted(act))
        with pytest.raises(ModelFailedError, match=f"fails on the text 'text {number}': RuntimeError: cannot") as found:
            asked.predict(TEXTS)
        assert found.value.text == TEXTS[number]

    def test_a_model_that_fails_on_all_names_none(self) -> None:
        """Three calls of 100 texts, three of 50, two of 25; then it is asked about fewer, without a wait."""
        asked, waits = retrying(model := failing(10**6, ConnectionError("away")))
        with pytest.raises(ModelFailedError, match=r"of 25 texts: ConnectionError: away.*tried 8 times; ask") as found:
            asked.predict(TEXTS)
        assert model.calls[:9] == [100, 100, 100, 50, 50, 50, 25, 25, 12] and len(waits) == 7
        assert found.value.text is None

    def test_halves_that_work_are_the_answer(self) -> None:
        """A server that takes 30 texts at once: 100 -> 50, 50 -> 25 each."""

        def act(call: int, texts: Sequence[str]) -> None:
            if len(texts) > 30:
                raise ConnectionError("too much at once")

        asked, _ = retrying(Scripted(act))
        assert asked.predict(TEXTS).shape == (100, 2)

    @pytest.mark.parametrize("number", [0, 63, 99])
    def test_a_row_that_is_missing_is_found(self, number: int) -> None:
        def act(call: int, texts: Sequence[str]) -> Any:
            return [[0.5, 0.5] for text in texts if text != TEXTS[number]]

        asked, waits = retrying(Scripted(act))
        with pytest.raises(ModelError, match=rf"answered 0 rows for a batch of 1.*the text is 'text {number}'\."):
            asked.predict(TEXTS)
        assert not waits

    def test_a_count_that_is_wrong_in_large_batches_only_is_an_error(self) -> None:
        asked, _ = retrying(Scripted(lambda call, texts: np.full((min(len(texts), 60), 2), 0.5)))
        with pytest.raises(ModelError, match="answered 60 rows for a batch of 100"):
            asked.predict(TEXTS)

    def test_a_bad_row_is_named_without_another_call(self) -> None:
        def act(call: int, texts: Sequence[str]) -> Any:
            return [[np.nan if text == "text 7" else 0.5, 0.5] for text in texts]

        asked, waits = retrying(model := Scripted(act))
        with pytest.raises(ModelError, match="row for 'text 7' holds NaN"):
            asked.predict(TEXTS)
        assert model.calls == [100] and not waits

    def test_errors_travel_between_processes(self) -> None:
        error = pickle.loads(pickle.dumps(ModelFailedError("no", text="text 3")))
        assert (str(error), error.text, error.somewhere) == ("no", "text 3", False)


class TestBatches:
    def test_no_call_holds_more_texts_than_asked_for(self) -> None:
        model = Scripted(lambda *_: None)
        asked = RetryingPredictor(model, Retry(), batch_size=32)
        assert asked.predict(TEXTS).shape == (100, 2)
        assert model.calls == [32, 32, 32, 4]

    @pytest.mark.parametrize("size", [0, -1, 1.5, "3"])
    def test_a_size_that_cannot_be(self, size: Any) -> None:
        with pytest.raises(InputError, match="batch_size must be a whole number of at least 1"):
            RetryingPredictor(Scripted(lambda *_: None), Retry(), batch_size=size)

    def test_a_batch_that_fails_repeats_none_of_the_others(self) -> None:
        """Four batches of 25; the third fails once: five calls, 125 texts."""
        model = Scripted(lambda call, texts: (_ for _ in ()).throw(ConnectionError("429")) if call == 3 else None)
        asked = RetryingPredictor(model, Retry(sleep=lambda _: None), batch_size=25)
        assert asked.predict(TEXTS).shape == (100, 2)
        assert model.calls == [25] * 5 and asked.meter.sent == 125

    def test_where_single_texts_fail_now_and_then_calls_get_smaller(self) -> None:
        """A function that asks text by text, each failing once in 25 times: 2,000 at once hardly ever go through."""
        chances = random.Random(0)

        def act(call: int, texts: Sequence[str]) -> None:
            for _ in texts:
                if chances.random() < 0.04:
                    raise ConnectionError("503")

        asked, _ = retrying(model := Scripted(act))
        assert asked.predict([f"text {number}" for number in range(2000)]).shape == (2000, 2)
        assert asked.meter.sent < 30_000
        assert max(model.calls[len(model.calls) // 2 :]) <= 64

    def test_only_the_texts_that_failed_are_asked_again(self) -> None:
        """The model answers all but texts 3 and 7, then 7 fails once more."""
        seen: list[list[str]] = []

        def act(call: int, texts: Sequence[str]) -> None:
            seen.append(list(texts))
            failed = [number for number, text in enumerate(texts) if text in ("text 3", "text 7")[call - 1 :]]
            if failed:
                rows = np.tile([0.25, 0.75], (len(texts) - len(failed), 1))
                raise SomeFailedError("429", failed, rows) from ConnectionError("429")

        asked, waits = retrying(Scripted(act))
        assert asked.predict(TEXTS[:10]).tolist() == [[0.25, 0.75]] * 10
        assert seen == [TEXTS[:10], ["text 3", "text 7"], ["text 7"]]
        assert asked.meter.sent == 13 and waits == pytest.approx([0.1, 0.1])

    def test_a_text_that_always_fails_is_named_and_others_are_asked_once(self) -> None:
        def act(call: int, texts: Sequence[str]) -> None:
            if failed := [number for number, text in enumerate(texts) if text == "text 7"]:
                raise SomeFailedError("500", failed, np.tile([0.25, 0.75], (len(texts) - 1, 1))) from OSError("500")

        asked, _ = retrying(model := Scripted(act), tries=3)
        with pytest.raises(ModelFailedError, match="fails on the text 'text 7': OSError: 500"):
            asked.predict(TEXTS)
        assert model.calls[0] == 100 and {*model.calls[1:]} == {1}

    def test_one_text_that_fails_for_a_while_makes_no_later_call_smaller(self) -> None:
        """Text 7 fails five times; the 100 texts after it are asked about in one call all the same."""

        def act(call: int, texts: Sequence[str]) -> None:
            if call <= 5:
                rows = np.tile([0.25, 0.75], (len(texts) - 1, 1))
                raise SomeFailedError("500", [texts.index("text 7")], rows) from OSError("500")

        asked, _ = retrying(model := Scripted(act))
        asked.predict(TEXTS)
        asked.predict(TEXTS)
        assert model.calls == [100, 1, 1, 1, 1, 1, 100]

    def test_calls_grow_again_where_single_texts_still_fail(self) -> None:
        """Nothing is answered three times: calls of 50. Then all but one text are, each time; four such, and 100 go."""

        def act(call: int, texts: Sequence[str]) -> None:
            if call <= 3:
                raise SomeFailedError("503", range(len(texts)), np.empty((0, 2))) from OSError("503")
            if len(texts) > 1:
                raise SomeFailedError("500", [0], np.tile([0.25, 0.75], (len(texts) - 1, 1))) from OSError("500")

        model = Scripted(act)
        asked = RetryingPredictor(model, Retry(sleep=lambda _: None), batch_size=100)
        asked.predict([f"text {number}" for number in range(400)])
        assert model.calls[:8] == [100] * 3 + [50] * 4 + [100]

    def test_what_a_server_finds_too_large_is_halved_for_good(self) -> None:
        """413 is no failure to wait for: 100, 50 and then 25 at a time."""

        class TooLargeError(Exception):
            response = type("Response", (), {"status_code": 413})()

        def act(call: int, texts: Sequence[str]) -> None:
            if len(texts) > 32:
                raise TooLargeError

        asked, waits = retrying(model := Scripted(act))
        asked.predict(TEXTS)
        assert model.calls == [100, 50, 25, 25, 25, 25] and not waits


def test_waits_differ_so_that_not_all_come_back_at_once() -> None:
    waits = {Retry(jitter=0.5).wait(1, None) for _ in range(20)}
    assert len(waits) > 10 and all(0.1 <= wait <= 0.15 for wait in waits)


class TestMemory:
    @pytest.mark.parametrize(
        "error",
        [MemoryError(), OutOfMemoryError("CUDA"), RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")],
        ids=["python", "torch", "text"],
    )
    def test_a_batch_that_is_too_large_is_halved_for_good(self, error: Exception) -> None:
        """30 fit: 100, 50 and then 25 at a time, also in the next call."""

        def act(call: int, texts: Sequence[str]) -> None:
            if len(texts) > 30:
                raise error

        asked, waits = retrying(model := Scripted(act))
        assert asked.predict(TEXTS).shape == (100, 2)
        asked.predict(TEXTS[:50])
        assert model.calls == [100, 50, 25, 25, 25, 25, 25, 25] and not waits

    def test_a_single_text_that_is_too_large_is_named(self) -> None:
        def act(call: int, texts: Sequence[str]) -> None:
            if "text 7" in texts:
                raise MemoryError

        asked, _ = retrying(Scripted(act), tries=2)
        with pytest.raises(ModelFailedError, match="fails on the text 'text 7': MemoryError"):
            asked.predict(TEXTS)

    def test_other_errors_are_about_something_else(self) -> None:
        assert not is_out_of_memory(RuntimeError("CUDA error")) and not is_out_of_memory(None)


class TestTime:
    def test_a_call_that_hangs_is_tried_again(self) -> None:
        hang = threading.Event()
        model = Scripted(lambda call, texts: hang.wait(60) and None if call == 1 else None)
        asked, waits = retrying(model, timeout=0.1)
        assert asked.predict(TEXTS).shape == (100, 2)
        hang.set()
        assert len(waits) == 1

    def test_what_is_raised_in_time_is_raised_here(self) -> None:
        asked, _ = retrying(failing(10**6, ValueError("no")), timeout=5.0)
        with pytest.raises(ModelFailedError, match="ValueError: no"):
            asked.predict(TEXTS)

    def test_a_model_that_always_hangs_is_said(self) -> None:
        hang = threading.Event()
        asked, _ = retrying(Scripted(lambda *_: hang.wait(60)), timeout=0.01, tries=2)
        with pytest.raises(ModelFailedError, match=r"TimeoutError: no answer within 0.01 seconds.*tried 2 times"):
            asked.predict(TEXTS[:2])
        hang.set()


class TestChanges:
    def test_labels_that_change_their_order_are_an_error(self) -> None:
        model = Scripted(lambda *_: None)
        asked, _ = retrying(model)
        asked.predict(TEXTS)
        model.labels = ("good", "bad")
        with pytest.raises(ModelError, match="labels were bad, good and are now good, bad"):
            asked.predict(TEXTS)

    def test_classes_that_change_their_order_are_an_error(self) -> None:
        class Model:
            def __init__(self) -> None:
                self.classes_ = ["bad", "good"]

            def predict_proba(self, texts: list[str]) -> Any:
                return [[0.25, 0.75]] * len(texts)

        adapted = as_predictor(model := Model())
        adapted.predict(TEXTS)
        model.classes_ = ["good", "bad"]
        with pytest.raises(ModelError, match="classes were bad, good and are now good, bad"):
            adapted.predict(TEXTS)

    def test_columns_in_another_order_are_an_error(self) -> None:
        import pandas

        adapted = as_predictor(
            lambda texts: pandas.DataFrame({"good": [0.75] * len(texts), "bad": 0.25}), labels=["bad", "good"]
        )
        with pytest.raises(ModelError, match="columns are good, bad; expected bad, good"):
            adapted.predict(TEXTS)

    def test_names_now_and_probabilities_then_are_an_error(self) -> None:
        answers: list[Any] = [[[0.5, 0.5]], ["bad"]]
        adapted = as_predictor(lambda texts: answers.pop(0), labels=["bad", "good"])
        adapted.predict(["a"])
        with pytest.raises(ModelError, match="answered probabilities before and label names now"):
            adapted.predict(["a"])

    def test_what_a_model_learns_of_itself_shows(self) -> None:
        asked = RetryingPredictor(as_predictor(lambda texts: ["bad"] * len(texts), labels=["bad", "good"]), Retry())
        asked.predict(["a"])
        assert not asked.has_probabilities


class Flaky(type(predictor())):  # type: ignore[misc]
    """The model of the other runs, failing in a share of its calls."""

    def __init__(self, share: float, seed: int = 0) -> None:
        super().__init__(predictor().weights, predictor().bias)
        self.share, self.chances, self.n_calls = share, random.Random(seed), 0

    def predict(self, texts: Sequence[str]) -> Any:
        self.n_calls += 1
        if self.chances.random() < self.share:
            raise self.chances.choice([TimeoutError(), ConnectionError("reset"), RateLimitError(0.5)])
        return super().predict(texts)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_a_run_over_a_flaky_model_has_the_same_result(share: float, tmp_path: Path) -> None:
    """At most 1.1 / (1 - p) calls on the long run; here the calls are few, so three standard deviations are allowed."""
    steady, flaky = Flaky(0.0), Flaky(share)
    expected = explained(model=steady, round_size=1)
    run = make_run(
        model=RetryingPredictor(flaky, Retry(sleep=lambda _: None)), folder=tmp_path / "run", round_size=1, workers=1
    )
    finish(run)
    assert outcome(run) == expected
    n = steady.n_calls
    assert flaky.n_calls <= (n + 20) / (1 - share) + 3 * (n * share) ** 0.5 / (1 - share)


class TestTheDocument:
    def test_a_document_is_named_by_its_key(self) -> None:
        texts = [*reviews(), "the poisoned plot"]

        class Model(type(predictor())):  # type: ignore[misc]
            def predict(self, texts: Sequence[str]) -> Any:
                if "the poisoned plot" in texts:
                    raise ValueError("no")
                return super().predict(texts)

        model = RetryingPredictor(Model(predictor().weights), Retry(sleep=lambda _: None))
        with pytest.raises(ModelFailedError, match=r"\(document [0-9a-f]{16}\)\."):
            finish(make_run(texts, model=model))

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_perturbed_text_is_traced_to_its_document_and_the_rounds_before_are_kept(
        self, workers: int, tmp_path: Path
    ) -> None:
        """The model cannot read one text that only the fifth round or a later one makes."""
        seen = Recording(predictor().weights, predictor().bias)
        run = make_run(model=seen, folder=tmp_path / "all")
        finish(run)
        bad = seen.batches[8][0]
        assert all(bad not in batch for batch in seen.batches[:8])
        model = Choking(predictor().weights, predictor().bias)
        model.bad = bad
        run = make_run(model=RetryingPredictor(model, Retry(first_wait=0)), folder=tmp_path / "run", workers=workers)
        with pytest.raises(ModelFailedError, match=r"a changed text of document [0-9a-f]{16}(-\d+)?\)") as found:
            finish(run)
        key = str(found.value).rpartition("document ")[2].rstrip(").")
        reader = RunReader(tmp_path / "run")
        assert len(reader.closed_rounds()) >= 1
        number = next(n for n, d in reader.documents(range(30)).items() if d[0] == key)
        assert number is not None
        model.bad = None
        resumed = make_run(model=model, folder=tmp_path / "run", resume=True)
        finish(resumed)
        assert outcome(resumed) == explained()


class Recording(type(predictor())):  # type: ignore[misc]
    batches: list[list[str]]

    def predict(self, texts: Sequence[str]) -> Any:
        self.__dict__.setdefault("batches", []).append(list(texts))
        return super().predict(texts)


class Choking(type(predictor())):  # type: ignore[misc]
    bad: str | None = None

    def predict(self, texts: Sequence[str]) -> Any:
        if self.bad in texts:
            raise ValueError("cannot read this")
        return super().predict(texts)


def test_the_explainer_tries_again_too() -> None:
    flaky = Flaky(0.2, seed=2)
    explainer = Explainer(flaky, retry=Retry(first_wait=0), settings={"min_occurrences": 1, "stop_words": "none"})
    assert explainer.explain(reviews()).finished


@pytest.mark.parametrize("told", [-5, 0, "all", 2.5])
def test_a_number_of_texts_that_is_none_is_refused(told: Any) -> None:
    """With fewer than no texts a call there would be no end."""
    model = Scripted(lambda number, texts: None)
    model.at_once = told  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="The at_once of scripted is how many texts"):
        RetryingPredictor(model, Retry())


def test_an_error_that_asks_for_too_much_or_raises_when_asked() -> None:
    class Odd(Exception):
        @property
        def retry_after(self) -> float:
            raise ZeroDivisionError

        def __str__(self) -> str:
            raise ValueError

    assert asked_wait(Odd()) == 0.0 and not is_out_of_memory(Odd())
    assert asked_wait(RateLimitError(10**400)) == float("inf")


def test_labels_that_raise_in_the_middle_are_an_error_of_the_model() -> None:
    class Lying(Scripted):
        @property
        def labels(self) -> Any:  # type: ignore[override]
            if self.calls:
                raise ZeroDivisionError("gone")
            return ("bad", "good")

    predictor = RetryingPredictor(Lying(lambda number, texts: None), Retry())
    predictor.predict(["text"])
    with pytest.raises(ModelError, match=r"cannot say any more what its labels are \(ZeroDivisionError: gone"):
        predictor.predict(["text"])


class Unsent(Exception):
    """As httpx has it: the response can be asked for only once there is a request."""

    @property
    def response(self) -> Any:
        raise RuntimeError("The request has not been sent")


class Coded(Exception):
    """Its code is what a server said, in JSON."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = {"error": message}


@pytest.mark.parametrize("error", [Unsent("busy"), Coded("busy")])
def test_an_error_that_says_odd_things_of_itself_is_tried_again(error: Exception) -> None:
    failures = [error]

    def model(texts: list[str]) -> Any:
        if failures:
            raise failures.pop()
        return [[0.25, 0.75]] * len(texts)

    asked = RetryingPredictor(as_predictor(model, labels=["bad", "good"]), Retry(2, first_wait=0.0))
    assert asked.predict(["a"]).tolist() == [[0.25, 0.75]]
    assert asked.n_retries == 1

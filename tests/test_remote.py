"""Models behind HTTP: stand-in servers on real connections, which speak the documented forms and fail on purpose."""

from __future__ import annotations

import gzip
import json
import pickle
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import WEIGHTS, reviews

from anchorscope import Explainer
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.cli import main
from anchorscope.errors import InputError, ModelError
from anchorscope.predictors import load_predictor
from anchorscope.predictors.remote import forms
from anchorscope.predictors.remote.key import MOST_IN_AN_ANSWER, MOST_READ, WRITTEN, Key
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.predictors.remote.refusals import quoted
from anchorscope.predictors.remote.template import steps
from anchorscope.result import Result
from anchorscope.testing import WeightPredictor
from anchorscope.testing.server import Answer, Faults, StandInServer
from anchorscope.types import Predictor

MODEL = WeightPredictor(WEIGHTS, bias=-0.05)
TEXTS = reviews(40)
QUICK = Retry(first_wait=0.01)
OWN = {"request": '{"documents": "{texts}"}', "answer": "data[*].scores"}
FORMS: dict[str, dict[str, Any]] = {
    **{name: {"api": name} for name in forms.FORMS},
    "openai": {"api": "openai", "api_model": "any"},
    "own": OWN,
}
SOME = Faults(too_many=0.1, dropped=0.1)

Serve = Callable[..., StandInServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda form="torchserve", **given: stack.enter_context(StandInServer(MODEL, form, **given))


def remote(server: StandInServer, form: str = "torchserve", labels: Any = MODEL.labels, **options: Any) -> Predictor:
    return load_predictor(server.url, labels=labels, remote=RemoteOptions(**{**FORMS[form], **options}))


def saying(status: int, body: bytes, **headers: str) -> Callable[[bytes], Answer]:
    return lambda _: (status, headers, body)


# --- forms ---


@pytest.mark.parametrize("form", FORMS)
def test_the_rows_of_a_form_are_those_of_the_model(form: str, serve: Serve) -> None:
    rows = remote(serve(form), form).predict(TEXTS)
    assert np.allclose(rows, MODEL.predict(TEXTS), atol=1e-12)


@pytest.mark.parametrize("form", ["huggingface", "torchserve"])
def test_labels_that_the_answers_name_need_not_be_given(form: str, serve: Serve) -> None:
    """Two texts are asked about for that, and a budget is told."""
    server = serve(form)
    predictor = RetryingPredictor(remote(server, form, labels=None), QUICK)
    assert predictor.labels == ("no", "yes") and predictor.n_probed == sum(server.asked.values()) == 2


def test_votes_are_shares_of_the_answers(serve: Serve) -> None:
    """The seed of a text's draws comes from the text, so they are the same again."""
    predictor = remote(serve("openai"), "openai", votes=10)
    rows = predictor.predict(TEXTS)
    assert np.array_equal(rows * 10, np.round(rows * 10)) and len(np.unique(rows)) > 3
    assert np.array_equal(rows, predictor.predict(TEXTS))


def test_tokens_of_a_label_add_up_whatever_their_case(serve: Serve) -> None:
    """As in the docstring: 0.75 / 0.95 against 0.20 / 0.95."""
    tokens = {"pos": 0.60, " Pos": 0.15, "neg": 0.20, "The": 0.05}
    told = [{"token": token, "logprob": float(np.log(p))} for token, p in tokens.items()]
    answer = {"choices": [{"logprobs": {"content": [{"top_logprobs": told}]}}]}
    server = serve(respond=saying(200, json.dumps(answer).encode()))
    rows = remote(server, "openai", labels=["positive", "negative"]).predict(["fine"])
    assert rows == pytest.approx(np.array([[0.75 / 0.95, 0.20 / 0.95]]))


@pytest.mark.parametrize(("path", "expected"), [("a", ["a"]), ("[*].p", ["*", "p"]), ("a[0][-1]", ["a", "0", "-1"])])
def test_a_path_is_read_step_by_step(path: str, expected: list[str]) -> None:
    assert steps(path) == expected


# --- traffic ---


def test_the_answers_come_in_order_whatever_the_concurrency(serve: Serve) -> None:
    server = serve(faults=SOME, delay=0.001)
    for concurrency in (1, 3, 32):
        predictor = RetryingPredictor(remote(server, concurrency=concurrency), QUICK)
        assert np.array_equal(predictor.predict(TEXTS), MODEL.predict(TEXTS)), concurrency


def test_no_more_requests_are_in_flight_than_allowed(serve: Serve) -> None:
    server = serve(delay=0.02)
    remote(server, concurrency=5).predict(TEXTS)
    assert server.most_in_flight == 5


def test_what_failed_is_asked_again_and_nothing_else_is(serve: Serve) -> None:
    server = serve(faults=Faults(too_many=0.2, internal=0.1, dropped=0.1))
    predictor = RetryingPredictor(remote(server, concurrency=16), QUICK)
    rows = predictor.predict(TEXTS)
    assert np.array_equal(rows, MODEL.predict(TEXTS))
    assert {*server.answered.values()} == {1}
    assert predictor.meter.sent == sum(server.asked.values()) > len(TEXTS)


def test_32_in_flight_are_nearly_32_times_as_fast(serve: Serve) -> None:
    """A second a call: 64 of them take little longer than 2 take one after another; benchmarks/remote.py has 50 ms.

    Other work on the machine slows both down, so the best of some trials counts.
    """
    server = serve(delay=1.0)

    def seconds(concurrency: int, n_texts: int, trial: int) -> float:
        start = time.perf_counter()
        remote(server, concurrency=concurrency).predict([f"film {trial} {number}" for number in range(n_texts)])
        return time.perf_counter() - start

    for trial in range(4):
        if seconds(32, 64, trial) < seconds(1, 2, trial) / 0.8:
            return
    pytest.fail("four times in a row, 32 in flight were below 80% of 32 times the single rate")
    assert server.most_in_flight == 32


def test_a_limit_of_the_rate_is_kept_to(serve: Serve) -> None:
    """10 texts in 0.2 seconds: 429 with Retry-After for what goes beyond. Half of 40 in flight are too many, too."""
    taken: list[float] = []

    def respond(body: bytes) -> Answer:
        now = time.monotonic()
        if len([then for then in taken if then > now - 0.2]) >= 10:
            return 429, {"retry-after": "0.2"}, b"{}"
        taken.append(now)
        return 200, {}, json.dumps(dict(zip(MODEL.labels, MODEL.predict([body.decode()])[0]))).encode()

    server = serve(respond=respond)
    predictor = RetryingPredictor(remote(server, concurrency=40), QUICK)
    assert np.array_equal(predictor.predict(TEXTS), MODEL.predict(TEXTS))
    assert len(taken) == len(TEXTS) and server.n_requests < 3 * len(TEXTS)


def test_a_request_that_is_too_large_is_made_smaller_for_good(serve: Serve) -> None:
    server = serve("kserve", limit=4)
    predictor = RetryingPredictor(remote(server, "kserve"), QUICK)
    assert np.allclose(predictor.predict(TEXTS), MODEL.predict(TEXTS))
    before = server.n_requests
    predictor.predict(TEXTS)
    assert server.n_requests - before == 10


def test_a_server_that_hangs_is_not_waited_for(serve: Serve) -> None:
    predictor = RetryingPredictor(remote(serve(delay=5.0), timeout=0.05), Retry(2, first_wait=0.01))
    with pytest.raises(ModelError, match=r"no answer within 0\.05 seconds"):
        predictor.predict(["great"])


def test_it_travels_without_its_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANCHORSCOPE_KEY", "very-secret")
    predictor = remote(serve(key="very-secret"))
    expected = predictor.predict(TEXTS)
    sent = pickle.dumps(predictor)
    assert b"very-secret" not in sent
    assert np.array_equal(pickle.loads(sent).predict(TEXTS), expected)


# --- bad input ---


def html(_: bytes) -> Answer:
    return 200, {}, b"<!doctype html><title>Welcome</title>"


BAD_ANSWERS = {
    "a page": (
        saying(200, b"<html>Welcome</html>"),
        r"a page of HTML instead of JSON: '<html>Welcome.*address",
    ),
    "schema": (saying(200, b'"yes"'), r"answered '\"yes\"'; expected .*choose the --api"),
    "labels": (
        saying(200, b'{"good": 1.0, "bad": 0.0}'),
        r"the labels good, bad; expected no, yes: .*\(--answer\)",
    ),
    "cut off": (saying(200, b'{"no": 0.2, "y'), r"no JSON, or was cut off: '\{\"no\": 0\.2, \"y'"),
    "missing": (saying(404, b"no such model"), r"There is no model at http://127.*\(404\): 'no such model'"),
    "moved": (saying(302, b"", location="https://elsewhere"), r"\(302\) \(it points to 'https://elsewhere'\)"),
    "refused": (
        saying(422, b'{"detail": "field text"}'),
        r"refuses the request \(422\): .*field text.*compare",
    ),
    "nan": (saying(200, b'{"no": NaN, "yes": 1}'), "holds NaN"),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_a_server_that_says_something_else(case: str, serve: Serve) -> None:
    respond, told = BAD_ANSWERS[case]
    predictor = RetryingPredictor(remote(serve(respond=respond)), Retry(2, first_wait=0.0))
    with pytest.raises(ModelError, match=told) as found:
        predictor.predict(["great"])
    assert "\n" not in str(found.value)


def test_a_server_that_leaves_texts_out_is_told_so(serve: Serve) -> None:
    """One row for two texts: the rows are where they should be, so neither the form nor the path is wrong."""
    server = serve(respond=saying(200, b'{"rows": [[0.5, 0.5]]}'))
    options = RemoteOptions(request='{"documents": "{texts}"}', answer="rows")
    predictor = load_predictor(server.url, labels=["no", "yes"], remote=options)
    with pytest.raises(ModelError, match=r"answered 1 rows for 2 texts; expected one for each text.*--batch-size 1"):
        predictor.predict(["great", "bad"])


@pytest.mark.parametrize(
    ("labels", "said", "told"),
    [
        (("no", "yes"), {"Sure": 0.99}, r"said 'Sure' about 'great', which is none of the labels.*--prompt"),
        (("good", "gone"), {"go": 0.5}, r"labels good and gone begin with the same token"),
        (("no", "yes"), None, r"no log-probabilities.*--votes 10"),
    ],
)
def test_a_language_model_that_does_not_classify(labels: Any, said: Any, told: str, serve: Serve) -> None:
    tokens = said and {
        "content": [{"top_logprobs": [{"token": t, "logprob": float(np.log(p))} for t, p in said.items()]}]
    }
    body = json.dumps({"choices": [{"message": {"content": "?"}, "logprobs": tokens}]}).encode()
    predictor = remote(serve(respond=saying(200, body)), "openai", labels=labels)
    with pytest.raises(ModelError, match=told):
        predictor.predict(["great"])


def chat(*choices: dict[str, Any]) -> Callable[[bytes], Answer]:
    return saying(200, json.dumps({"choices": choices}).encode())


def top(*tokens: tuple[str, Any]) -> dict[str, Any]:
    listed = [{"token": token, "logprob": logprob} for token, logprob in tokens]
    return {"message": {"content": "?"}, "logprobs": {"content": [{"top_logprobs": listed}]}}


@pytest.mark.parametrize("logprob", [float("nan"), float("inf"), 5, 0.1, "-0.1", True, None])
def test_a_log_probability_is_no_other_number(logprob: Any, serve: Serve) -> None:
    predictor = remote(serve(respond=chat(top(("yes", logprob), ("no", -0.7)))), "openai", labels=("no", "yes"))
    with pytest.raises(ModelError, match=r"gives 'yes' the log-probability .*expected a number of at most 0"):
        predictor.predict(["great"])


def test_a_token_that_is_listed_twice_counts_twice(serve: Serve) -> None:
    """0.25 and 0.5 of 0.25 + 0.5 + 0.25."""
    tokens = top(("no", np.log(0.25)), ("no", np.log(0.5)), ("yes", np.log(0.25)), ("Yes", -float("inf")))
    predictor = remote(serve(respond=chat(tokens)), "openai", labels=("no", "yes"))
    assert predictor.predict(["great"]).round(6).tolist() == [[0.75, 0.25]]


@pytest.mark.parametrize(("labels", "said", "expected"), [("1 10", "10", [0, 1]), ("10 1", "1.", [0, 1])])
def test_a_vote_is_for_the_longest_label_that_fits(labels: str, said: str, expected: list[int], serve: Serve) -> None:
    respond = chat(*[{"message": {"content": said}}] * 4)
    predictor = remote(serve(respond=respond), "openai", labels=tuple(labels.split()), votes=4)
    assert predictor.predict(["great"]).tolist() == [expected]


def test_a_wrong_key_is_said_and_not_shown(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in repeats the key that it is sent, as some servers do."""
    monkeypatch.setenv("MY_KEY", "very-secret")
    server = serve(key="another")
    with pytest.raises(ModelError, match=r"\(401\).*variable MY_KEY is refused.*\*\*\*") as found:
        remote(server, key_variable="MY_KEY").predict(TEXTS)
    assert "very-secret" not in str(found.value)
    assert server.n_requests <= 8


@pytest.mark.parametrize("key", ["very-secret\r", "very-secret\n", " very-secret", "very-secret ", "very\nsecret", "é"])
def test_a_key_that_cannot_be_sent_is_said_and_not_shown(
    key: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """White space comes from files that keys are read from; to leave it out in silence would send another key."""
    monkeypatch.setenv("ANCHORSCOPE_KEY", key)
    server = serve()
    with pytest.raises(
        ModelError, match=r"The key in the environment variable ANCHORSCOPE_KEY (begins|holds)"
    ) as found:
        remote(server).predict(["great"])
    assert "very" not in str(found.value) and server.n_requests == 0


@pytest.mark.parametrize("shift", range(2380, 2401, 4))
def test_half_a_key_is_masked_too(shift: int, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is quoted is cut off, and the key may stand where it is."""
    monkeypatch.setenv("ANCHORSCOPE_KEY", "very-secret")
    server = serve(respond=saying(400, b" " * shift + b"very-secret"))
    with pytest.raises(ModelError, match="refuses the request") as found:
        remote(server).predict(["great"])
    assert "ve" not in str(found.value).partition(": ")[2].partition(";")[0]


@pytest.mark.parametrize(
    ("key", "written"),
    [("very-secret", "very-secret"), ("a/very secret", "a%2Fvery%20secret"), ("very-secret", "%76er%2579-secret")],
)
def test_a_redirect_that_repeats_the_key(key: str, written: str, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANCHORSCOPE_KEY", key)
    server = serve(respond=saying(302, b"", location=f"https://elsewhere/?k={written}{'A' * 60_000}"))
    with pytest.raises(ModelError, match=r"points to 'https://elsewhere/\?k=\*\*\*AAA") as found:
        remote(server).predict(["great"])
    assert "secret" not in str(found.value) and len(str(found.value)) < 500


def test_a_label_that_repeats_the_key_does_not_hold_it(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be written into the result."""
    monkeypatch.setenv("ANCHORSCOPE_KEY", "very-secret")
    server = serve(respond=saying(200, b'{"no": 0.5, "very-secret": 0.5}'))
    assert remote(server, labels=None).labels == ("no", "***")


KEY = "very-secret"
ESCAPED = "".join(f"\\u{ord(character):04x}" for character in KEY)
LABELLED = '{"no": 0.5, "%s": 0.5}'


@pytest.mark.parametrize(
    "body",
    [
        (LABELLED % ESCAPED).encode(),
        (LABELLED % r"\u0076ery-secret").encode(),
        (LABELLED % "%76ery-secret").encode(),
        (LABELLED % KEY).encode("utf-16"),
        (LABELLED % KEY).encode("utf-32-le"),
        (LABELLED % "a").replace("a", r"\u0076\u0065ry&#45;secret").encode(),
    ],
)
def test_nor_does_one_that_spells_it_otherwise(body: bytes, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANCHORSCOPE_KEY", KEY)
    assert remote(serve(respond=saying(200, body)), labels=None).labels == ("no", "***")


@pytest.mark.parametrize(
    "body",
    [
        f'{{"detail": "{ESCAPED}"}}'.encode(),
        KEY.encode("utf-16"),
        KEY.encode("utf-32"),
        b"error: " + KEY.encode("utf-16-le"),
    ],
)
def test_a_quoted_answer_does_not_spell_the_key(body: bytes, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANCHORSCOPE_KEY", KEY)
    with pytest.raises(ModelError, match=r"refuses the request \(400\): .*\*\*\*"):
        remote(serve(respond=saying(400, body))).predict(["great"])


class Recorder:
    """Looks as the expression does, and counts what it looks at."""

    def __init__(self) -> None:
        self.n_read = 0

    def subn(self, read: Any, text: str) -> tuple[str, int]:
        self.n_read += len(text)
        return WRITTEN.subn(read, text)


@pytest.mark.parametrize("sign", ["\\", "%41", "&#", "\0", "&#x00000"])
def test_megabytes_of_signs_are_not_searched_to_their_end(sign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of characters, in one text and in many; each is looked at three times at most."""
    recorder = Recorder()
    monkeypatch.setattr("anchorscope.predictors.remote.key.WRITTEN", recorder)
    key = Key(KEY, RemoteOptions())
    whole = sign * (8_000_000 // len(sign))
    assert len(quoted(f"{KEY} {whole}".encode(), key)) < 1000
    assert len(key.masked_answer([f"{KEY}{whole}"])[0]) <= MOST_READ
    assert recorder.n_read <= 6 * (MOST_READ + 100)
    short = sign * (16 // len(sign)) + "very-"
    masked = key.masked_answer([short] * 400_000)
    assert masked[0] == short and masked[-1] == "***" and len(masked) == 400_000
    assert recorder.n_read <= 6 * (MOST_READ + 100) + 3 * MOST_IN_AN_ANSWER


@pytest.mark.parametrize("written", [KEY, "%76ery-secret", ESCAPED])
@pytest.mark.parametrize("shift", [-60, -30, -11, -5, -1, 0])
def test_a_key_where_a_long_text_is_cut_is_not_shown_in_half(shift: int, written: str) -> None:
    key = Key(KEY, RemoteOptions())
    text = "a" * (MOST_READ + shift) + written + "b" * 100
    assert not {*"very"} & {*key.masked(text)} and "\\u" not in key.masked(text)
    assert not {*"very"} & {*key.masked(written * 20_000)}


def test_nor_does_the_name_of_a_packing(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANCHORSCOPE_KEY", KEY)
    server = serve(respond=saying(200, b"{}", **{"content-encoding": "x" * 35 + KEY}))
    with pytest.raises(ModelError, match=r"is packed as 'x+\*\*\*'"):
        remote(server).predict(["great"])


@pytest.mark.parametrize("wait", ["1000000", "inf"])
def test_a_server_that_wants_to_be_left_alone_is_not_waited_for_before_its_labels_are_known(
    wait: str, serve: Serve
) -> None:
    server = serve(respond=saying(429, b"slow", **{"retry-after": wait}))
    with pytest.raises(InputError, match=r"asks to be left alone for .* ask again when it is back"):
        remote(server, labels=None)


@pytest.mark.parametrize("packed", [True, False])
def test_an_answer_that_is_too_large_is_not_read_to_its_end(
    packed: bool, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anchorscope.predictors.remote.connection.LARGEST_ANSWER", 1 << 20)
    body = gzip.compress(bytes(300 << 20)) if packed else bytes(2 << 20)
    server = serve(respond=saying(200, body, **({"content-encoding": "gzip"} if packed else {})))
    predictor = RetryingPredictor(remote(server), QUICK)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match="is larger than 1 MB; is this the address"):
            predictor.predict(["great"])
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_how_large_an_answer_may_be_goes_by_the_texts(serve: Serve) -> None:
    """A megabyte, and a quarter for each of them: two are 1.5."""
    server = serve(respond=saying(200, b'{"predictions": [' + b"[0.5, 0.5], " * 200_000 + b"[0.5, 0.5]]}"))
    with pytest.raises(ModelError, match=r"is larger than 1\.5 MB; is this the address"):
        remote(server, "mlflow").predict(["great", "bad"])


def test_an_answer_that_can_be_read_in_two_ways_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANCHORSCOPE_KEY", KEY)
    for name in ("no", KEY):
        body = f'{{"{name}": 0.5, "{name}": 0.9, "yes": 0.5}}'.encode()
        with pytest.raises(ModelError, match=r"the name '(no|\*\*\*)' stands twice in one place") as found:
            remote(serve(respond=saying(200, body))).predict(["great"])
        assert KEY not in str(found.value)


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
def test_an_answer_may_be_packed(packing: str, serve: Serve) -> None:
    pack = gzip.compress if packing == "gzip" else zlib.compress
    server = serve(respond=saying(200, pack(b'{"no": 0.25, "yes": 0.75}'), **{"content-encoding": packing}))
    assert remote(server).predict(["great"]).tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize(
    ("packing", "told"), [("zstd", "is packed as 'zstd', and gzip was asked for"), ("gzip", "cannot be unpacked")]
)
def test_an_answer_that_cannot_be_unpacked(packing: str, told: str, serve: Serve) -> None:
    server = serve(respond=saying(200, b"{}", **{"content-encoding": packing}))
    with pytest.raises(ModelError, match=told):
        RetryingPredictor(remote(server), Retry(2, first_wait=0.0)).predict(["great"])


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("HTTP_PROXY", "garbage://x", "The proxy that the environment names .*garbage"),
        ("HTTP_PROXY", "http://[::1", "The proxy that the environment names"),
        ("SSL_CERT_FILE", "/nonexistent", "The certificates that the environment names .*SSL_CERT_FILE=/nonexistent"),
    ],
)
def test_an_environment_that_cannot_be_used_is_said(
    name: str, value: str, told: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ModelError, match=told):
        remote(serve()).predict(["great"])


def test_a_header_that_cannot_be_sent_is_not_tried_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two headers that contradict each other are found out when the request is written."""
    monkeypatch.setenv("ANCHORSCOPE_KEY", "very-secret")
    monkeypatch.setattr("anchorscope.predictors.remote.options.OF_THE_REQUEST", ())
    predictor = RetryingPredictor(remote(serve(), key_header="Content-Length"), QUICK)
    with pytest.raises(ModelError, match=r"cannot be sent .*is --key-header the name of a header for keys") as found:
        predictor.predict(["great"])
    assert predictor.n_retries == 0 and "secret" not in str(found.value)


def test_a_host_that_is_not_there_is_said_at_once() -> None:
    predictor = load_predictor("http://127.0.0.1:9/predict", labels=MODEL.labels, remote=RemoteOptions(api="mlflow"))
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:9/predict cannot be reached .*is the server running"):
        RetryingPredictor(predictor, Retry()).predict(["great"])


@pytest.mark.parametrize(
    ("url", "options", "told"),
    [
        ("http://host/p", {}, "needs --api"),
        ("http://host/p", {"api": "opnai"}, "did you mean 'openai'"),
        ("http://host/p", {"api": "kserve", "votes": 3}, "kserve has no use for --votes"),
        ("http://host/p", {"api": "torchserve", "batch_size": 3}, "one text a request; leave out --batch-size"),
        ("http://host/p", {"api": "openai"}, "--api-model NAME"),
        ("http://host/p", {"request": "{", "answer": "p"}, "--request is no JSON"),
        ("http://host/p", {"request": "{}", "answer": "p"}, "no hole for the texts"),
        ("http://host/p", {"request": '["{texts}"]', "answer": "p[x"}, "is no path"),
        ("http://me:word@host/p", {"api": "mlflow"}, "holds a password"),
        ("http://host/p?api_key=1", {"api": "mlflow"}, "holds the key 'api_key'"),
        ("http:///p", {"api": "mlflow"}, "names no host"),
        ("http://[::1", {"api": "mlflow"}, "is no address .*write it as in"),
        ("http://host:99999/p", {"api": "mlflow"}, "is no address .*Port out of range"),
        ("http://host/\x01", {"api": "mlflow"}, "is no address .*non-printable"),
        ("http://host/p", {"request": "[" * 5000, "answer": "p"}, "--request holds lists in lists"),
        ("http://host/p", {"request": "[" * 900 + '"{text}"' + "]" * 900, "answer": "p"}, "lists in lists"),
        ("http://host/p", {"api": "mlflow", "key_header": "my key"}, "--key-header 'my key' is no name of a header"),
        ("http://host/p", {"api": "mlflow", "key_header": "Content-Length"}, "says something else"),
    ],
)
def test_what_cannot_be_asked_is_refused(url: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        load_predictor(url, labels=MODEL.labels, remote=RemoteOptions(**options))


def test_lists_in_lists_are_refused_however_deep_python_may_go() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        with pytest.raises(InputError, match="lists in lists"):
            load_predictor(
                "http://host/p",
                labels=MODEL.labels,
                remote=RemoteOptions(request="[" * 900 + '"{text}"' + "]" * 900, answer="p"),
            )
    finally:
        sys.setrecursionlimit(before)


def test_options_of_a_server_are_refused_for_other_models() -> None:
    assert main(["explain", "--document", "great", "--model", "runs:predictor", "--concurrency", "3"]) == 2


def test_a_language_model_needs_label_words() -> None:
    with pytest.raises(InputError, match="no labels of its own"):
        load_predictor("http://host/p", remote=RemoteOptions(api="openai", api_model="m"))


# --- whole runs ---


def explained(model: Any, **given: Any) -> dict[str, Any]:
    settings = {"min_occurrences": 1, "stop_words": "none"}
    result = Explainer(model, top_k=5, settings=settings, retry=QUICK, **given).explain(TEXTS).to_dict()
    return {name: result[name] for name in ("labels", "finished", "settled")}


def test_a_run_over_a_shaky_server_ends_as_the_local_model_does(serve: Serve) -> None:
    server = serve(faults=SOME, delay=0.001)
    assert explained(remote(server, concurrency=16)) == explained(MODEL)
    assert sum(server.asked.values()) > sum(server.answered.values())


@pytest.mark.parametrize("n_calls", [45, 90, 200])
def test_a_budget_is_kept_to_whatever_fails(n_calls: int, serve: Serve) -> None:
    server = serve(faults=Faults(too_many=0.15, dropped=0.15))
    explainer = Explainer(
        remote(server, concurrency=16), max_model_calls=n_calls, retry=QUICK, settings={"min_occurrences": 1}
    )
    cost = explainer.explain(TEXTS).cost
    assert sum(server.asked.values()) == cost.predictor_texts <= n_calls


def test_the_command_line_keeps_no_key(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", "very-secret")
    server = serve(key="very-secret", faults=SOME)
    (tmp_path / "docs.txt").write_text("\n".join(TEXTS))
    given = [
        "explain",
        str(tmp_path / "docs.txt"),
        "--model",
        server.url,
        "--api",
        "torchserve",
        "--min-occurrences",
        "1",
    ]
    given += ["--key-variable", "MY_KEY", "--concurrency", "8", "--out", str(tmp_path / "run"), "-v"]
    assert main(given) == 0
    shown = "".join(capfd.readouterr())
    assert "great" in shown and "very-secret" not in shown
    for file in (tmp_path / "run").iterdir():
        assert b"very-secret" not in file.read_bytes()


@pytest.mark.parametrize("paid", [100, 30])
def test_a_run_that_a_server_ends_goes_on_where_it_was(
    paid: int, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is taken back after 100 texts, or while documents are being predicted: status 1.

    With it again, --resume ends alike; no answer is paid twice."""
    monkeypatch.setenv("ANCHORSCOPE_CACHE", str(tmp_path / "kept"))
    answered: list[str] = []
    limit = [paid]

    def respond(body: bytes) -> Answer:
        if len(answered) >= limit[0]:
            return 401, {}, b"the key was taken back"
        answered.append(body.decode())
        return 200, {}, json.dumps(dict(zip(MODEL.labels, MODEL.predict([body.decode()])[0]))).encode()

    server = serve(respond=respond)
    (tmp_path / "docs.txt").write_text("\n".join(TEXTS))
    given = ["explain", str(tmp_path / "docs.txt"), "--model", server.url, "--api", "torchserve", "--labels", "no,yes"]
    given += ["--min-occurrences", "1", "--round-size", "2", "--concurrency", "2", "-q"]
    assert main([*given, "--out", str(tmp_path / "run")]) == 1
    limit[0] = 10**6
    assert main([*given, "--out", str(tmp_path / "run"), "--resume"]) == 0
    monkeypatch.setenv("ANCHORSCOPE_CACHE", "off")
    once = len(answered)
    assert main([*given, "--out", str(tmp_path / "whole")]) == 0
    ends = [json.loads((tmp_path / name / "result.json").read_text())["labels"] for name in ("run", "whole")]
    assert ends[0] == ends[1]
    assert once - len({*answered[:once]}) <= 4  # what was in flight when the key went


@pytest.mark.parametrize("workers", [1, 2])
def test_tokens_that_a_server_tells_are_counted(
    workers: int, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in says 20 tokens an answer; what is found among kept answers takes none."""
    monkeypatch.setenv("ANCHORSCOPE_CACHE", str(tmp_path / "cache"))
    server = serve("openai")
    for number in range(2):
        explainer = Explainer(remote(server, "openai"), workers=workers, settings={"min_occurrences": 1})
        result = explainer.explain(reviews(20), out=tmp_path / str(number))
        assert result.cost.predictor_tokens == 20 * result.cost.predictor_texts
        assert (result.cost.predictor_tokens > 0) == (number == 0)
        assert Result.load(tmp_path / str(number)).cost == result.cost

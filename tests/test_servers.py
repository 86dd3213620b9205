"""Hostile servers: some kinds of the study, and whether the study would see what it looks for."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reliability import servers
from reliability.certificates import certificates
from reliability.hostile_server import HostileServer, Request, answer, well
from reliability.servers import KEY, Done, Kind, Peace


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("servers")
    servers.write_documents(folder)
    return folder


@pytest.fixture(scope="module")
def peace(place: Path) -> Peace:
    return servers.peaceful(place)


@pytest.fixture
def elsewhere() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


KINDS = (
    *("a body without end, as fast as it goes", "a gzip bomb", "a redirect elsewhere", "a name twice", "cut off"),
    *("a megabyte of backslashes", "401, the key in escapes", "429, Retry-After 10^9", "no HTTP", "a cookie"),
    *("TLS: a certificate of its own", "TLS: a certificate of another host", "TLS: none, but HTTP"),
    *("TLS: a right answer", "a proxy: a right answer", "a proxy: a certificate of its own"),
    *("a proxy: a right answer through a tunnel", "a proxy: a connection that drops, of a tunnel"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_server_gets_one_sentence(kind: str, place: Path, peace: Peace, elsewhere: HostileServer) -> None:
    found = servers.judged(place, peace, servers.kinds(elsewhere.url)[kind], "first")
    assert found["as_promised"] and not elsewhere.requests, found


def test_a_run_that_a_server_ends_goes_on(place: Path, peace: Peace) -> None:
    found = servers.judged(place, peace, servers.kinds("")["another schema"], "later")
    assert found["as_promised"] and found["status"] == 1, found


@pytest.mark.parametrize("kind", ["a proxy: 407", "a proxy: 407, of a tunnel"])
def test_a_proxy_that_wants_a_password_is_named(kind: str, place: Path, peace: Peace) -> None:
    found = servers.judged(place, peace, servers.kinds("")[kind], "first")
    assert found["as_promised"] and "http://user:password@host:port" in found["said"], found


# --- the study itself ---


def test_it_sees_another_result(place: Path, peace: Peace) -> None:
    found = servers.judged(place, replace(peace, result="another"), Kind(well, is_taken=True), "later")
    assert found["faults"] == ["resumed to something else: "]


def test_it_sees_what_is_not_refused(place: Path, peace: Peace) -> None:
    found = servers.judged(place, peace, Kind(well), "first")
    assert found["faults"] == ["status 0 instead of 2", "a folder was left"]


def test_it_sees_a_key_that_is_written_down(place: Path, peace: Peace) -> None:
    """A label that is not the key, and holds what the study takes for it."""
    spelled = base64.b64encode(KEY.encode()).decode()

    def respond(request: Request) -> list[bytes]:
        return [answer({"no": 0.5, spelled: 0.5})]

    found = servers.judged(place, peace, Kind(respond, is_taken=True), "labels")
    assert found["faults"] == ["the key is there"]


def test_it_sees_a_key_that_is_told(place: Path, peace: Peace) -> None:
    """A server whose certificate is right, if the study did not know it."""
    certificates().contexts["mine"] = certificates().contexts["right"]
    kind = Kind(is_taken=True, is_secure=True, certificate="mine")
    assert servers.judged(place, peace, kind, "first")["faults"] == ["the key was told to who should not know it"]


GOOD = Done(2, "", "anchorscope: error: It is so; do that.\n", 1.0, 100.0)


@pytest.mark.parametrize(
    ("done", "fault"),
    [
        (GOOD, None),
        (replace(GOOD, status=1), "status 1 instead of 2"),
        (replace(GOOD, said="Traceback\n" + GOOD.said), "not one sentence"),
        (replace(GOOD, said="anchorscope: error: \x1b]0;owned\x07\n"), "not one sentence"),
        (replace(GOOD, said=f"anchorscope: error: {'x' * 1000}\n"), "not one sentence"),
        (replace(GOOD, said="anchorscope: error: KeyError (this should not happen)\n"), "not one sentence"),
        (replace(GOOD, seconds=31.0), "too slow"),
        (replace(GOOD, memory=501.0), "too large"),
    ],
)
def test_it_sees_a_bad_end(done: Done, fault: str | None) -> None:
    found = servers._faults(done, Kind(well), "first", Peace("", 1, 100.0))
    assert found == ([] if fault is None else [fault])

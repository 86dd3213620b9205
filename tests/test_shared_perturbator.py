"""One perturbator given to several runs: what each has learnt is its own, and the hash on record is the one it used."""

from __future__ import annotations

from threading import Thread

import pytest
from runs import explained, finish, make_run, outcome, reviews

from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.run import Run
from anchorscope.text.words import split


@pytest.fixture
def two() -> tuple[Run, Run]:
    """Two runs over other documents, with the same perturbator."""
    shared = CorpusPerturbator(top_n=12)
    return make_run(perturbator=shared), make_run(reviews(30, seed=5), perturbator=shared)


ALONE = (explained(), explained(texts=reviews(30, seed=5)))


def test_the_two_differ_by_what_was_learnt() -> None:
    assert ALONE[0]["perturbator"]["sha256"] != ALONE[1]["perturbator"]["sha256"]


def test_streams_that_overlap(two: tuple[Run, Run]) -> None:
    """Each has begun before the other goes on."""
    streams = [run.snapshots() for run in two]
    for stream in streams:
        next(stream)
    for stream in streams:
        for _ in stream:
            pass
    assert (outcome(two[0]), outcome(two[1])) == ALONE


def test_threads(two: tuple[Run, Run]) -> None:
    threads = [Thread(target=finish, args=(run,)) for run in two]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outcome(two[0]), outcome(two[1])) == ALONE


def test_what_was_given_has_learnt_nothing() -> None:
    given = CorpusPerturbator(top_n=12)
    learnt = given.fit([split("a great film")])
    assert learnt is not given and not given.vocabulary and learnt.vocabulary == ("a", "film", "great")
    assert learnt.fit([split("bad")]).vocabulary == ("bad",) and learnt.vocabulary == ("a", "film", "great")

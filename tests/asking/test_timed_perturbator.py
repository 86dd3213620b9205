"""A perturbator within a budget of seconds: the same answers, or none when time is up."""

from __future__ import annotations

import pickle
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from runs import finish, make_run

from anchorscope.asking.budget import Budget, Meter, TimeUpError
from anchorscope.asking.timed_perturbator import TimedPerturbator
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.text.words import split
from anchorscope.types import DrawingPerturbator, Perturbator


class Slow(CorpusPerturbator):
    """A tenth of a second for each pass; what is slow is not the model."""

    n_passes = 0

    def fit(self, texts):  # type: ignore[no-untyped-def]
        fitted = super().fit(texts)
        slow = Slow(top_n=self.top_n)
        slow.__dict__.update(fitted.__dict__)
        return slow

    def propose(self, texts, masks):  # type: ignore[no-untyped-def]
        Slow.n_passes += 1
        sleep(0.1)
        return super().propose(texts, masks)


def test_it_answers_as_the_perturbator_does_until_time_is_up() -> None:
    text = split("a fine film")
    meter = Meter()
    plain = CorpusPerturbator(top_n=3).fit([text, split("a dull film")])
    timed = TimedPerturbator(plain, meter)
    asked = [text], [np.array([False, True, False])]
    assert isinstance(timed, Perturbator)
    assert isinstance(timed, DrawingPerturbator) == isinstance(plain, DrawingPerturbator)
    assert (timed.name, timed.fingerprint, tuple(timed.vocabulary)) == (
        *(plain.name, plain.fingerprint),
        tuple(plain.vocabulary),
    )
    for one in (timed, pickle.loads(pickle.dumps(timed))):
        assert np.array_equal(one.propose(*asked).words, plain.propose(*asked).words)
    meter.end_in(0)
    with pytest.raises(TimeUpError):
        timed.propose(*asked)


def test_a_document_that_takes_longer_than_the_time_is_given_up(tmp_path: Path) -> None:
    """Sixty words one by one, a tenth of a second each: six seconds for the first document, of which 0.5 are there."""
    texts = [" ".join(f"w{i}x{j}" for j in range(60)) for i in range(3)]
    given = {"score": "anchor", "test": "fixed", "keep": "own", "fill": "one-by-one", "max_samples": 4}
    budget = Budget(max_seconds=0.5)
    run = make_run(texts, perturbator=Slow(top_n=5), budget=budget, folder=tmp_path / "run", **given)
    last = finish(run)[-1]
    assert last.cost.tests == 0 and Slow.n_passes <= 8
    assert last.ended_by == "--max-seconds"
    notes = [one.note or "" for one in last.explanations.values() if one.documents]
    assert notes and all("--max-seconds ended the run before the first test" in note for note in notes)

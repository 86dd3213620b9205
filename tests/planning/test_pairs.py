"""A race of pairs: to which words its tests go, and how many a word has before it is shown."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from runs import finish, make_run, reviews

from anchorscope.journal.reader import RunReader
from anchorscope.planning import race
from anchorscope.planning.race import apportioned
from anchorscope.result import Result
from anchorscope.scoring.forecasts import FEWEST_TESTS
from anchorscope.scoring.running_sums import RunningSums
from anchorscope.scoring.settling import LISTED_TESTS
from anchorscope.testing import WeightPredictor

K = 3
PAIRS = {"strategy": "race", "score": "occlusion", "aggregation": "total", "top_k": K}


def counted(folder: Path) -> tuple[Result, dict[str, int], RunningSums]:
    """What a run has found, the numbers of its terms, and its sums."""
    with closing(RunReader(folder)) as run:
        return Result.load(folder), {term: number for number, term in enumerate(run.terms)}, run.sums()


def test_what_is_shown_of_a_settled_label_has_its_tests(tmp_path: Path) -> None:
    """Five for a listed word, two for one against it; a word that fewer documents hold is tested in all of them."""
    finish(make_run(reviews(400), folder=tmp_path / "run", **PAIRS))
    result, number, sums = counted(tmp_path / "run")
    for label, explanation in enumerate(result.explanations.values()):
        assert explanation.settled
        for words, least in ((explanation.terms, LISTED_TESTS), (explanation.against, FEWEST_TESTS)):
            assert words
            for word in words:
                n_documents = sums.documents[label, number[word.term]]
                assert sums.counted[label, number[word.term]] >= min(least, n_documents), word.term


SIXTY_WORDS = {f"w{i}": (i - 29.5) / 60 for i in range(60)}


def brought_by_round(number: int, folder: Path, texts: list[str]) -> NDArray[np.int64]:
    """The tests that a round brought to each word of each label, (labels, terms)."""
    after = []
    for rounds in (number - 1, number):
        run = make_run(
            texts, model=WeightPredictor(SIXTY_WORDS), folder=folder / str(rounds), round_size=400, regret=0.0, **PAIRS
        )
        finish(run, rounds=rounds)
        after.append(counted(folder / str(rounds))[2].counted)
    return after[1] - after[0]


def test_the_round_after_the_survey_has_two_kinds_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all tests for the pool it meets 3k words at most; with none others, those that the regret hangs on."""
    draw = random.Random(0)
    texts = [" ".join(draw.choices(list(SIXTY_WORDS), k=8)) for _ in range(300)]
    met = {}
    for share in (1.0, 0.0):
        monkeypatch.setattr(race, "POOL_SHARE", share)
        met[share] = brought_by_round(2, tmp_path / str(share), texts) > 0
    assert (met[1.0].sum(axis=1) <= 3 * K).all() and (met[0.0].sum(axis=1) <= 6 * K).all()
    assert (met[1.0] != met[0.0]).any(axis=1).all()


def test_tests_are_given_out_in_proportion_to_weights_and_to_what_was_had() -> None:
    """To words without weight none, and with one word alone all."""
    given = apportioned(100, [1.0, 2.0, 0.0, 1.0], [0, 0, 0, 30])
    assert given == [33, 65, 0, 2]
    assert apportioned(4, [0.3], [9]) == [4] and apportioned(4, [], []) == [] and apportioned(4, [0.0], [0]) == [0]


WORDS = st.tuples(st.one_of(st.just(0.0), st.just(0.5), st.floats(1e-6, 1)), st.integers(0, 300))


@given(n=st.integers(0, 400), words=st.lists(WORDS, max_size=20))
def test_each_test_goes_to_the_word_that_has_fewest_for_its_weight(n: int, words: list[tuple[float, int]]) -> None:
    """As one by one; and where two are level, to the first of them."""
    weights, had = [weight for weight, _ in words], [before for _, before in words]
    given = [0] * len(words)
    for _ in range(n if any(weights) else 0):
        behind = [((had[i] + given[i] + 0.5) / weights[i], i) for i in range(len(words)) if weights[i] > 0]
        given[min(behind)[1]] += 1
    assert apportioned(n, weights, had) == given


def test_a_race_to_the_end_goes_on_to_other_words_when_the_pool_is_tested() -> None:
    """400 words, of which each stands in two documents or three: a pool of 3k would need a round for every few."""
    words = [f"w{i}" for i in range(400)]
    draw = random.Random(1)
    texts = [" ".join(draw.sample(words, k=5)) for _ in range(200)]
    model = WeightPredictor({word: draw.uniform(-1, 1) for word in words})
    last = finish(make_run(texts, model=model, regret=0.0, min_occurrences=1, **PAIRS))[-1]
    assert (last.cost.tests, last.settled) == (1000, True)
    assert last.round <= 25

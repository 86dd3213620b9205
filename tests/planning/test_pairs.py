"""A race of pairs: to which words its tests go, and how many a word has before it is shown."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from runs import finish, make_run, reviews

from anchorscope.journal.reader import RunReader
from anchorscope.planning import race
from anchorscope.planning.race import apportioned
from anchorscope.result import Result
from anchorscope.scoring.forecasts import FEWEST_TESTS
from anchorscope.scoring.running_sums import RunningSums
from anchorscope.scoring.settling import LISTED_TESTS, START_WORDS

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


def test_the_round_after_the_survey_has_two_kinds_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all tests for the pool it meets 3k words at most; with none it meets those that the regret hangs on, 6k."""
    n_words = {}
    for share in (1.0, 0.0):
        monkeypatch.setattr(race, "POOL_SHARE", share)
        folder = tmp_path / str(share)
        finish(make_run(reviews(400), folder=folder, regret=0.0, **PAIRS), rounds=2)
        _, _, sums = counted(folder)
        n_words[share] = (sums.counted > 0).sum(axis=1) - START_WORDS
    assert (n_words[1.0] <= race.POOL * K).all()
    assert (n_words[1.0] < n_words[0.0]).all() and (n_words[0.0] <= race.FOCUS * K).all()


def test_tests_are_given_out_in_proportion_to_weights_and_to_what_was_had() -> None:
    """To words without weight none, and with one word alone all."""
    given = apportioned(100, [1.0, 2.0, 0.0, 1.0], [0, 0, 0, 30])
    assert given == [33, 65, 0, 2]
    assert apportioned(4, [0.3], [9]) == [4] and apportioned(4, [], []) == [] and apportioned(4, [0.0], [0]) == [0]

"""When the list of a label in a race is settled: the one rule by which a race ends, and by which its folder is read.

A label is settled when everything is tested; or when the race has started, what is left is not so little that it is
tested to the end, the expected regret of the list is below the share that was asked for, and each word that would be
shown has a few tests.
"""

from __future__ import annotations

from anchorscope.scoring.forecasts import FEWEST_TESTS, LabelForecast
from anchorscope.scoring.running_sums import RunningSums

START_DOCUMENTS = 256
"""Documents a label that are tested in plain priority order, before the words are told apart, where a block serves
all."""

START_WORDS = 15
START_TESTS = 2
"""Words a label that are tested first, so many times each, where a test serves one: a random choice, by how many
documents hold them, from which is learnt what words are like."""

LISTED_TESTS = 5
"""Tests that a word of the list has at least when its label is settled: its place may be sure with fewer, but not its
score, and not whether it drives anything."""

ROUNDING = 1e-9
"""Regret that is none: sums of numbers with their last digits."""

NEARLY_ALL = 0.75
"""A label with this share of its tests made is tested to the end: that costs a third more at most, and then its scores
are exact."""


def is_settled(
    sums: RunningSums, label: int, now: LabelForecast, *, regret: float, n_tested_documents: int | None
) -> bool:
    """Whether the list of a label is settled, by what is counted and how it stands now.

    ``n_tested_documents`` is how many documents of the label are tested with all their words, where a block serves all
    of these; None where a test serves one word, and words against the label have to be asked for, too.
    """
    counted, documents = sums.counted[label], sums.documents[label]
    if (counted == documents).all():
        return True
    if n_tested_documents is None:
        has_started = int(counted.sum()) >= START_WORDS * START_TESTS
    else:
        has_started = n_tested_documents >= START_DOCUMENTS
    is_nearly_all_tested = bool(counted.sum() >= NEARLY_ALL * documents.sum())
    return (
        has_started
        and not is_nearly_all_tested
        and bool(now.forecast.regret < regret)
        and not tests_needed(sums, label, now, also_against=n_tested_documents is None)
    )


def is_spent(sums: RunningSums, label: int, now: LabelForecast, *, regret: float) -> bool:
    """Whether everything that a label has is tested, and its list is still expected to lack more than was asked: the
    noise of measuring remains, or what documents would say that were not drawn."""
    is_all_tested = bool((sums.counted[label] == sums.documents[label]).all())
    return is_all_tested and bool(now.forecast.regret > max(regret, ROUNDING))


def tests_needed(sums: RunningSums, label: int, now: LabelForecast, *, also_against: bool) -> dict[int, int]:
    """The tests that words still need before they are shown: the best, and with ``also_against`` those that seem to
    speak against the label."""
    enough = dict.fromkeys(now.worst.tolist(), FEWEST_TESTS) if also_against else {}
    enough.update(dict.fromkeys(now.best.tolist(), LISTED_TESTS))
    # A word with a single document cannot be tested twice.
    documents, counted = sums.documents[label], sums.counted[label]
    need = {term: min(n, int(documents[term])) - int(counted[term]) for term, n in enough.items()}
    return {term: n for term, n in need.items() if n > 0}

"""Which words may be tested."""

from __future__ import annotations

import warnings

import pytest

from anchorscope.planning.candidates import LONGEST_TERM, find_candidates
from anchorscope.settings import Settings
from anchorscope.text.read import read_texts


def candidates(*texts: str) -> tuple[str, ...]:
    documents = read_texts(list(texts)).documents
    return find_candidates(documents, Settings(min_occurrences=1, stop_words="none")).terms


def test_a_word_of_data_is_no_candidate_and_that_is_said() -> None:
    """One character more than a term may have: no list could show it, and a result would not hold many."""
    with pytest.warns(UserWarning, match="^1 word has more than 1,000 characters and is not tested"):
        assert candidates(f"a great {'x' * (LONGEST_TERM + 1)} film") == ("a", "film", "great")


def test_the_longest_term_is_a_candidate() -> None:
    long = "x" * LONGEST_TERM
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert candidates(f"great {long}") == ("great", long)

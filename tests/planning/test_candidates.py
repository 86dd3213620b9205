"""Which words may be tested."""

from __future__ import annotations

import warnings

import pytest

from anchorscope.planning import candidates as planning
from anchorscope.planning.candidates import LONGEST_TERM, find_candidates
from anchorscope.settings import Settings, preset
from anchorscope.text.read import read_texts
from anchorscope.types import Document


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


@pytest.mark.parametrize("at_once", [1, 2, 4096])
@pytest.mark.parametrize(
    ("kind", "terms", "document", "term", "first_position", "positions"),
    [
        # One occurrence a term and document, in the order of terms: "!!!" is three words, and "so" stands twice.
        (
            *("fast", ("!!!", "good", "so"), [0, 0, 0, 2, 2], [0, 1, 2, 1, 2]),
            *([0, 3, 4, 6, 7, 8], [3, 4, 5, 1, 0, 2, 0, 1]),
        ),
        # One a token, as they stand; signs are no terms.
        ("banzhaf", ("good", "so"), [0, 0, 0, 2, 2], [1, 0, 1, 0, 1], [0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1]),
    ],
)
def test_occurrences_are_the_same_however_many_documents_are_grouped_at_once(
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
    kind: str,
    terms: tuple[str, ...],
    document: list[int],
    term: list[int],
    first_position: list[int],
    positions: list[int],
) -> None:
    monkeypatch.setattr(planning, "GROUPED_AT_ONCE", at_once)
    documents = [Document(str(number), text) for number, text in enumerate(["so good so!!!", "", "good so"])]
    found = find_candidates(documents, preset(kind, min_occurrences=1, stop_words="none"))
    assert found.terms == terms
    assert found.occurrence_document.tolist() == document
    assert found.occurrence_term.tolist() == term
    assert found.first_position.tolist() == first_position
    assert found.positions.tolist() == positions
    assert found.first_occurrence.tolist() == [0, 3, 3, 5]

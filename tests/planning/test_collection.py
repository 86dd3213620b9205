"""What is found in the documents: compared with a plain count, over the joins between parts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorscope.errors import DocumentsError
from anchorscope.planning import candidates, tokens
from anchorscope.planning.candidates import choose, find_candidates, sample
from anchorscope.planning.collection import Predictions, collect
from anchorscope.settings import Settings
from anchorscope.text.words import split, stop_words, terms
from anchorscope.types import Document

WORDS = st.sampled_from(["the", "The", "film", "FILM", "great", "Straße", "strasse", "don’t", "don't", "!", "👍", "19"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), min_size=1, max_size=9)


@pytest.fixture(autouse=True, scope="module")
def small_parts():  # type: ignore[no-untyped-def]
    """Documents are cut three at a time."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (candidates, tokens):
            patch.setattr(module, "CUT_AT_ONCE", 3)
        yield


def plain(texts: list[str], settings: Settings) -> tuple[list[tuple[int, int, str]], Counter[str]]:
    """(document, position, term) of every word that is no stop word, in order; and the count of each term."""
    rows = []
    for number, text in enumerate(texts):
        cut = terms(split(text))
        rows += [(number, p, t) for p, t in enumerate(cut) if t and t not in stop_words(settings.stop_words)]
    return rows, Counter(t for _, _, t in rows)


@given(TEXTS, st.integers(1, 3))
def test_candidates_are_those_of_a_plain_count(texts: list[str], least: int) -> None:
    settings = Settings(score="banzhaf", min_occurrences=least)
    documents = [Document(f"{number:02}", text) for number, text in enumerate(texts)]
    rows, counts = plain(texts, settings)
    expected = sorted(t for t, n in counts.items() if n >= least)
    if not expected:
        with pytest.raises(DocumentsError, match=f"of {len(counts)} words none occurs {least} times"):
            find_candidates(documents, settings)
        return
    found = find_candidates(documents, settings, training_texts=[*texts, "great great"])
    assert list(found.terms) == expected
    columns = (found.occurrence_document, found.positions, found.occurrence_term)
    there = [(d, p, expected[t]) for d, p, t in zip(*(column.tolist() for column in columns))]
    assert there == [row for row in rows if row[2] in expected]
    assert np.diff(found.first_occurrence).tolist() == [sum(d == n for d, _, _ in there) for n in range(len(texts))]
    everything = Counter(t for text in texts for t in terms(split(text))) + Counter(great=2)
    assert found.training.tolist() == [everything[t] for t in expected]
    assert find_candidates(documents, settings).training.tolist() == [counts[t] for t in expected]


@given(TEXTS, st.integers(1, 8), st.sampled_from([1.0, 0.5]))
def test_every_document_is_chosen_or_left_out_for_a_reason(texts: list[str], max_words: int, share: float) -> None:
    """In the order of their keys, which are given here from the last to the first."""
    settings = Settings(max_words=max_words, sample_documents=share)
    documents = [Document(f"{100 - number}", text) for number, text in enumerate(texts)]
    sampled = sample(documents, share, settings.seed)
    short = sorted(d.key for d in sampled if len(split(d.text)) <= max_words)
    if not short:
        with pytest.raises(DocumentsError, match=f"Each of the {len(sampled)} documents has more than {max_words}"):
            choose(documents, settings)
        return
    chosen, left_out = choose(documents, settings)
    assert [document.key for document in chosen] == short
    assert left_out.get("not in the sample", 0) == len(texts) - len(sampled)
    assert left_out.get(f"more than {max_words} words", 0) == len(sampled) - len(short)
    assert len(chosen) + sum(left_out.values()) == len(texts) and all(left_out.values())


@given(TEXTS, st.randoms(use_true_random=False))
def test_a_tally_before_any_test_counts_occurrences_and_documents(texts: list[str], random) -> None:  # type: ignore[no-untyped-def]
    settings = Settings(score="banzhaf")
    rows, counts = plain(texts, settings)
    if not counts:
        return
    labels = np.array([random.randrange(2) for _ in texts], np.int64)
    labels[0] = 0
    documents = [Document(f"{number:02}", text) for number, text in enumerate(texts)]
    made = collect(documents, ("no", "yes"), Predictions(labels, np.ones(len(texts))), settings)
    for label in (0, 1):
        mine = [(d, t) for d, _, t in rows if labels[d] == label]
        assert made.tally.occurrences[label].tolist() == [sum(t == word for _, t in mine) for word in made.terms]
        assert made.tally.documents[label].tolist() == [len({d for d, t in mine if t == w}) for w in made.terms]

"""Spelled texts are the texts that would be written, and equal ones have equal numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anchorscope.sampling import lexicon
from anchorscope.sampling.lexicon import Lexicon
from anchorscope.text.words import compose, match_case, split

VOCABULARY = ["good", "film", ",", ".", "'s", "x1", "🙂", "é"]
TEXTS = st.text(alphabet="ab1,.!' \n\tÉ🙂", min_size=1, max_size=24).filter(lambda text: len(split(text)) > 0)


def perturbator(words: list[str], *, cased: bool = False) -> Any:
    return SimpleNamespace(vocabulary=words, cased=cased)


def written(texts: list[str], kept: np.ndarray, fills: np.ndarray, vocabulary: list[str]) -> list[str]:
    """The samples of each document by the rule of ``compose``, a word at a time."""
    found, start = [], 0
    for words in map(split, texts):
        for row, numbers in zip(kept[:, start : start + len(words)], fills[:, start:], strict=True):
            filled = [
                word if keep else match_case(word, vocabulary[number])
                for word, keep, number in zip(words.words, row, numbers, strict=False)
            ]
            found += compose(words, np.array([filled], object))
        start += len(words)
    return found


@pytest.mark.parametrize("more", [[], [""], ["new york"]])
def test_spelled_samples_are_the_written_ones_and_equal_texts_have_equal_numbers(more: list[str]) -> None:
    """Also where a fill removes a word, or brings a space of its own."""
    vocabulary = [*VOCABULARY, *more]
    speller = Lexicon(perturbator(vocabulary))

    @settings(max_examples=150, deadline=None)
    @given(st.lists(TEXTS, min_size=1, max_size=3), st.integers(0, 2**32))
    @example(["A film, a  film", "a film a  film", " a\n,b \n"], 0)
    def compare(texts: list[str], seed: int) -> None:
        documents, random = [split(text) for text in texts], np.random.default_rng(seed)
        shape = (4, sum(map(len, documents)))
        kept, fills = random.random(shape) < 0.5, random.integers(0, len(vocabulary), shape).astype(np.int32)
        spelled = speller.spell(documents, kept, fills)
        assert list(spelled) == [spelled[i] for i in range(len(spelled))] == written(texts, kept, fills, vocabulary)
        assert len(set(spelled)) == len(set(spelled.numbers))
        used = np.frombuffer(b"".join(spelled.numbers), np.int32)
        assert not any(" " in spelled.stretches[number] for number in used)

    compare()


def test_a_comma_that_becomes_a_word_gives_the_text_of_another_document() -> None:
    """ "good, film" with "x1" for its comma, and "good x1 film" as it stands."""
    speller = Lexicon(perturbator(VOCABULARY))
    kept, fills = np.array([[True, False, True, True, True, True]]), np.full((1, 6), 5, np.int32)
    spelled = speller.spell([split("good, film"), split("good x1 film")], kept, fills)
    assert list(spelled) == ["good x1 film"] * 2 and len(set(spelled.numbers)) == 1


def test_what_was_spelled_before_can_still_be_read_when_the_lexicon_forgets(monkeypatch) -> None:
    monkeypatch.setattr(lexicon, "REMEMBERED", 2)
    speller = Lexicon(perturbator(VOCABULARY))
    kept, fills = np.ones((1, 4), bool), np.zeros((1, 4), np.int32)
    first = speller.spell([split("so, so long")], kept, fills)
    speller.forget()
    second = speller.spell([split("not, so long")], kept, fills)
    assert list(first) == ["so, so long"] and list(second) == ["not, so long"]
    assert len(second.stretches) < len({*first.stretches, *second.stretches})


@pytest.mark.parametrize("text", ["so, so long, so good", "好".join("一二三四五六七八九十")], ids=["spaces", "none"])
def test_what_is_remembered_has_a_limit(text: str, monkeypatch) -> None:
    """Also of texts that are one stretch, and where words that touch are kept apart and make no new stretch."""
    monkeypatch.setattr(lexicon, "REMEMBERED", 500)
    words, random = split(text), np.random.default_rng(0)
    speller = Lexicon(perturbator([f"x{number}" for number in range(40)]))
    for _ in range(200):
        speller.forget()
        fills = random.integers(0, 40, (1, len(words))).astype(np.int32)
        spelled = speller.spell([words], random.random(fills.shape) < 0.5, fills)
        n_touching = sum(len(row) // 4 for known in speller._touching.values() for row in known)
        assert sum(map(len, spelled.stretches)) + n_touching < 1000

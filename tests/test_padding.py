"""Batches with little padding, and with none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorscope.predictors.encoding import Direct, batches, encoder
from anchorscope.predictors.padding import of_like_length

TEXTS = ["bad", "a film", "good", "a film of some length that takes a while to read", "fine film", "no"]


def ways_to_cut(n: int) -> Iterator[list[int]]:
    """Every set of places at which n texts in a row can be cut, with both ends."""
    for chosen in range(1 << (n - 1)):
        yield [0, *(place for place in range(1, n) if chosen >> (place - 1) & 1), n]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=9), st.integers(1, 4), st.integers(0, 60))
def test_no_other_batches_of_texts_by_length_are_less_work(lengths: list[int], size: int, overhead: int) -> None:
    """All ways to cut them are tried."""
    by_length = sorted(lengths)
    least = min(
        sum((end - start) * by_length[end - 1] + overhead for start, end in pairwise(cuts))
        for cuts in ways_to_cut(len(lengths))
        if all(end - start <= size for start, end in pairwise(cuts))
    )
    found = list(of_like_length(lengths, size, overhead))
    assert sum(len(some) * max(lengths[i] for i in some.tolist()) + overhead for some in found) == least
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))


def test_no_texts_are_no_batch() -> None:
    assert list(of_like_length([], 4, 10)) == []


@pytest.mark.parametrize("overhead", [None, 4, 1000])
def test_each_text_is_in_one_batch_with_its_own_pieces(overhead: float | None) -> None:
    import transformers

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({word for text in TEXTS for word in text.split()})]
    tokenizer = transformers.BertTokenizer(vocab={word: number for number, word in enumerate(words)})
    encode = encoder(tokenizer, {"truncation": True, "max_length": 8})
    assert isinstance(encode, Direct)
    seen = {}
    for numbers, inputs in batches(encode, TEXTS, 4, overhead):
        assert len(numbers) <= 4
        for number, ids, mask in zip(numbers.tolist(), inputs["input_ids"], inputs["attention_mask"]):
            seen[number] = ids[mask.bool()].tolist()
    assert seen == {number: encode([text])["input_ids"][0].tolist() for number, text in enumerate(TEXTS)}

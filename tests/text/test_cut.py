import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorscope.text import cut as module
from anchorscope.text.cut import cut
from anchorscope.text.rule import words_in

WESTERN = st.text(st.sampled_from("abzAZ059éÉßøÿ×'’‘“”…–—-_.,;!?#@$%&*()[]{}<>~`^|\\/+=\" \t\n\r"), max_size=60)
LONG_WORDS = st.text(st.sampled_from("ab' "), max_size=120)
OTHER = st.text(st.sampled_from("aé' ŁÞ漢カก👍🏽\u00ad\u0301\u00a0\0\ud83d"), max_size=20)


def words_by_text(texts: list[str]) -> list[list[str]]:
    """The words of each text, read from the numbers."""
    found = cut(texts)
    words = iter([found.words[number] for number in found.numbers])
    return [[next(words) for _ in range(n)] for n in found.sizes.tolist()]


@given(st.lists(WESTERN | LONG_WORDS | OTHER, max_size=8))
def test_the_words_are_those_of_each_text_by_itself(texts):
    assert words_by_text(texts) == [words_in(text) for text in texts]


@given(st.lists(WESTERN | LONG_WORDS, max_size=8))
def test_words_whose_numbers_mix_into_the_same_one_are_told_apart(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FACTOR", np.uint64(0))  # now only the second eight letters count
        assert words_by_text(texts) == [words_in(text) for text in texts]


def test_a_word_is_found_once_however_often_it_stands_in_a_batch():
    """Words of up to sixteen letters have one number; one of seventeen has a number wherever it stands."""
    found = cut(["so good so good", "abcdefghijklmnop", "abcdefghijklmnop good", 2 * "abcdefghijklmnopq "])
    a, b, c = found.numbers[[0, 1, 4]].tolist()
    assert found.numbers[:7].tolist() == [a, b, a, b, c, c, b]
    assert len({a, b, c, *found.numbers[7:].tolist()}) == 5


@pytest.mark.parametrize(
    "texts", [["abcdefghijklmnop", "abcdefghijklmnopq"], ["abcdefghijklmnopq", "abcdefghijklmnop"]]
)
def test_a_word_is_no_copy_of_a_longer_one_that_begins_like_it(texts):
    assert words_by_text(texts) == [[text] for text in texts]


def test_a_text_that_is_too_long_for_a_batch_is_cut_by_itself(monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 5)
    monkeypatch.setattr(module, "words_in", lambda text: ["asked", text])
    assert words_by_text(["a b c", "a b c d"]) == [["a", "b", "c"], ["asked", "a b c d"]]

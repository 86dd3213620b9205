"""Samples are pure functions of their key, whatever the blocks; and they are what they claim to be, by chi-square."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from anchorscope.sampling.draws import (
    KEEP_UNKNOWN,
    SHARED,
    Draws,
    KeyedGenerator,
    draw,
    half_masks,
    keep_probabilities,
    sharers,
    uniforms,
)

TOO_UNLIKELY = 1e-4


def draws(
    start: int, stop: int, *, seed: int = 0, text: str = "a b c", stream: int = 0, n_words: int = 3, forced=()
) -> Draws:
    keep = np.full(n_words, 0.5)
    return draw(seed=seed, text=text, stream=stream, keep=keep, forced=forced, start=start, stop=stop)


def same(one: Draws, other: Draws) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("kept", "fill", "choice"))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 9), st.integers(-2, 3))
def test_blocks_of_any_size_join_to_the_same_samples(sizes: list[int], n_words: int, stream: int) -> None:
    whole = draws(0, sum(sizes), n_words=n_words, stream=stream)
    ends = np.cumsum([0, *sizes]).tolist()
    parts = [draws(a, b, n_words=n_words, stream=stream) for a, b in pairwise(ends)]
    for name in ("kept", "fill", "choice"):
        assert np.array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name))


def test_blocks_can_be_drawn_in_any_order() -> None:
    late, early = draws(10, 20), draws(0, 10)
    whole = draws(0, 20)
    assert np.array_equal(np.concatenate([early.kept, late.kept]), whole.kept)


@pytest.mark.parametrize("other", [{"seed": 1}, {"text": "a b d"}, {"stream": 1}, {"stream": -1}, {"text": " a b c"}])
def test_another_key_gives_other_samples(other: dict) -> None:
    """64 samples of 3 words agree by chance with probability 2 ** -192."""
    assert not np.array_equal(draws(0, 64).kept, draws(0, 64, **other).kept)


def test_seed_and_stream_cannot_be_mistaken_for_each_other() -> None:
    """Seed 1, stream 2 is not seed 12 or seed 2, stream 1; nor does a digit move into the text."""
    keys = [(1, 2, "3 x"), (2, 1, "3 x"), (12, 3, "x"), (1, 23, "x"), (1, 2, "3x")]
    found = {uniforms(seed, text, stream, 0, 1, 4).tobytes() for seed, stream, text in keys}
    assert len(found) == len(keys)


def philox(key: tuple[int, int], counter: int) -> list[int]:
    """Philox4x64-10 as Salmon et al. (2011) define it: ten rounds of two multiplications, the key bumped in between."""
    mask = 2**64 - 1
    x, (k0, k1) = [counter & mask, counter >> 64, 0, 0], key
    for _ in range(10):
        left, right = 0xD2E7470EE14C6C93 * x[0], 0xCA5A826395121157 * x[2]
        x = [(right >> 64) ^ x[1] ^ k0, right & mask, (left >> 64) ^ x[3] ^ k1, left & mask]
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & mask, (k1 + 0xBB67AE8584CAA73B) & mask
    return x


@pytest.mark.parametrize(("seed", "stream", "sample"), [(0, 0, 0), (7, -1, 3), (1, 12, 1000)])
def test_a_sample_stands_at_a_fixed_counter_of_philox(seed: int, stream: int, sample: int) -> None:
    """Width 6 takes two blocks of four numbers a sample; numpy counts from 1, and a double is the upper 53 bits.

    The key is the BLAKE2b hash of "seed stream text". Philox is written out here from its definition.
    """
    digest = blake2b(f"{seed} {stream} a b".encode(), digest_size=16).digest()
    key = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
    numbers = philox(key, 1 + 2 * sample) + philox(key, 2 + 2 * sample)
    expected = [(number >> 11) * 2.0**-53 for number in numbers][:6]
    assert uniforms(seed, "a b", stream, sample, sample + 1, 6)[0].tolist() == expected


def test_lone_surrogates_have_samples_too() -> None:
    assert draws(0, 4, text="\ud800 b c").kept.shape == (4, 3)


def test_no_word_is_no_sample_width() -> None:
    assert draws(0, 4, n_words=0).kept.shape == (4, 0)


def test_the_forced_word_is_always_kept_and_the_others_do_not_notice() -> None:
    free, forced = draws(0, 50), draws(0, 50, forced=(1,))
    assert forced.kept[:, 1].all() and not free.kept[:, 1].all()
    assert np.array_equal(free.kept[:, [0, 2]], forced.kept[:, [0, 2]])
    assert np.array_equal(free.fill, forced.fill)


@pytest.mark.parametrize("seed", range(5))
def test_words_are_kept_at_their_rates(seed: int) -> None:
    """8,000 samples, keep probabilities .5, .2, .01 and 1: a chi-square a word."""
    keep, n = np.array([0.5, 0.2, KEEP_UNKNOWN, 1.0]), 8000
    kept = draw(seed=seed, text="w x y z", stream=3, keep=keep, forced=(), start=0, stop=n).kept.sum(axis=0)
    assert kept[3] == n
    for count, p in zip(kept[:3], keep[:3], strict=True):
        assert chisquare([count, n - count], [n * p, n * (1 - p)]).pvalue > TOO_UNLIKELY


def test_words_are_kept_independently_of_each_other_and_of_the_sample_before() -> None:
    """The eight patterns of three words, and of one word over three samples, are equally frequent."""
    kept = draws(0, 8000).kept
    across = np.bincount(kept @ [1, 2, 4], minlength=8)
    along = np.bincount(kept[: 8000 // 3 * 3, 0].reshape(-1, 3) @ [1, 2, 4], minlength=8)
    assert chisquare(across).pvalue > TOO_UNLIKELY
    assert chisquare(along).pvalue > TOO_UNLIKELY


def test_the_streams_of_a_document_are_independent() -> None:
    """Word 0 in stream 0 against word 0 in stream 1: four patterns, equally frequent."""
    pairs = draws(0, 8000, stream=0).kept[:, 0] + 2 * draws(0, 8000, stream=1).kept[:, 0]
    assert chisquare(np.bincount(pairs, minlength=4)).pvalue > TOO_UNLIKELY


def test_the_chances_of_the_fill_are_uniform_and_no_function_of_what_is_kept() -> None:
    sample = draws(0, 8000)
    for chances in (sample.fill, sample.choice):
        assert chances.min() >= 0 and chances.max() < 1
        for kept in (True, False):
            values = chances[sample.kept == kept]
            assert chisquare(np.histogram(values, bins=10, range=(0, 1))[0]).pvalue > TOO_UNLIKELY


@given(st.integers(1, 15), st.integers(1, 4))
def test_half_masks_come_in_complementary_halves(n_words: int, n_pairs: int) -> None:
    """Every word is hidden once in each pair, and a mask hides half of the words (the first the odd one)."""
    masks = half_masks(seed=0, text="x", stream=-2, n_words=n_words, n_pairs=n_pairs)
    assert masks.shape == (2 * n_pairs, n_words)
    assert np.array_equal(masks[0::2], ~masks[1::2])
    assert (masks[0::2].sum(axis=1) == -(-n_words // 2)).all()


def test_half_masks_hide_every_word_equally_often() -> None:
    """4 words, 2 hidden by the first mask of a pair: each word in half of 4,000 pairs, each of 6 halves in a sixth."""
    first = half_masks(seed=0, text="x", stream=-2, n_words=4, n_pairs=4000)[0::2]
    patterns = np.unique(first @ [1, 2, 4, 8], return_counts=True)[1]
    assert len(patterns) == 6
    assert chisquare(patterns).pvalue > TOO_UNLIKELY


def test_more_pairs_begin_with_the_same_pairs() -> None:
    few, many = (half_masks(seed=0, text="x", stream=-2, n_words=5, n_pairs=n) for n in (2, 4))
    assert np.array_equal(few, many[:4])


def test_keep_probabilities_by_hand() -> None:
    """min(1/2, p); .01 for a word that is not proposed at all."""
    assert keep_probabilities(np.array([0.5, 0.50001, 1.0, 0.004, 0.0])).tolist() == [0.5, 0.5, 0.5, 0.004, 0.01]


# --- balanced blocks ---


def kept(text: str, start: int, stop: int, *, seed: int = 0) -> np.ndarray:
    keep = np.full(len(text.split()), 0.5)
    return draw(seed=seed, text=text, stream=SHARED, keep=keep, forced=(), start=start, stop=stop, balanced=True).kept


def test_balanced_samples_are_weighed_against_each_other() -> None:
    """In every block of 24, each of 23 words is kept in 12 samples, and any two of them are kept together in 6."""
    table = kept(" ".join("abcdefghijklmnopqrstuvw"), 0, 72)
    for block in table.reshape(3, 24, 23).astype(int):
        together = block.T @ block
        assert (np.diag(together) == 12).all()
        assert (together[~np.eye(23, dtype=bool)] == 6).all()
    assert (table[:24] != table[24:48]).any()


def test_balanced_samples_are_the_same_in_any_piece() -> None:
    whole = kept("a b c d e", 0, 60)
    pieces = [kept("a b c d e", start, stop) for start, stop in ((0, 5), (5, 30), (30, 31), (31, 60))]
    assert (np.concatenate(pieces) == whole).all()


def test_balanced_words_beyond_the_columns_share_them_by_chance() -> None:
    """40 words on 23 columns: each is kept in half of the samples; who shares a column, and how, is chance."""
    text = " ".join(f"w{i}" for i in range(40))
    tables = [kept(text, 0, 24, seed=seed).astype(int) for seed in range(2)]
    assert all((table.sum(axis=0) == 12).all() for table in tables)
    together = tables[0].T @ tables[0]
    assert {0, 12} <= {*together[~np.eye(40, dtype=bool)].tolist()}, "some always together, some never"
    partners = [np.isin(table.T @ table, (0, 12)) for table in tables]
    assert (partners[0] != partners[1]).any()


def test_words_that_share_a_column_are_found() -> None:
    """24 words on 23 columns: two of them share one, all others have their own."""
    text = " ".join(f"w{i}" for i in range(24))
    assert sorted(sharers(kept(text, 0, 24)).tolist()) == [1] * 22 + [2, 2]


def test_every_word_and_pair_is_kept_as_often_as_by_independent_chances() -> None:
    """Over seeds, the masks of one sample: each word in half of them, each pair in a quarter (3 standard errors)."""
    rows = np.stack([kept("a b c", 7, 8, seed=seed)[0] for seed in range(2000)])
    assert abs(rows.mean(axis=0) - 0.5).max() < 3 * np.sqrt(0.25 / 2000)
    pairs = [(rows[:, i] & rows[:, j]).mean() for i, j in ((0, 1), (0, 2), (1, 2))]
    assert max(abs(pair - 0.25) for pair in pairs) < 3 * np.sqrt(0.1875 / 2000)


def test_a_generator_moved_to_a_place_is_one_made_for_it() -> None:
    """Also in the middle of what it drew elsewhere: nothing is left over from there."""
    generator, key = KeyedGenerator(), np.array([7, 2**63], np.uint64)
    for counter in (0, 5, 2**40, 5):
        made = np.random.Generator(np.random.Philox(key=key, counter=counter))
        moved = generator.at(key, counter)
        assert np.array_equal(moved.random(6), made.random(6))
        moved.integers(3, dtype=np.int32)

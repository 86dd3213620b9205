"""What comes to stand at masked positions, with a perturbator that writes down what it is asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from anchorscope.errors import InputError
from anchorscope.sampling import fills
from anchorscope.sampling.draws import Draws, draw, half_masks
from anchorscope.sampling.fills import (
    KEPT,
    PLACES,
    Bank,
    Blind,
    BlindProposals,
    Block,
    OneByOne,
    OnePass,
    filling,
    original_probabilities,
    pick,
)
from anchorscope.sampling.lexicon import Lexicon
from anchorscope.settings import preset
from anchorscope.text.words import split
from anchorscope.types import Proposals, Words

VOCABULARY = ("a", "b", "c", "d", "e", "f", "g", "h")


class Parrot:
    """Proposes number 2i with 3/4 and 2i + 1 with 1/4 at position i, and writes down what it is asked."""

    name = "parrot"
    vocabulary: Sequence[str] = VOCABULARY
    cased = True
    knows_originals = True
    fingerprint = "parrot"

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[str, ...], tuple[bool, ...]]] = []

    def fit(self, texts: Sequence[Words]) -> None:
        pass

    def propose(self, texts: Sequence[Words], masks: Sequence[np.ndarray]) -> Proposals:
        self.asked += [(text.words, tuple(mask.tolist())) for text, mask in zip(texts, masks, strict=True)]
        positions = [int(i) for mask in masks for i in np.flatnonzero(mask)]
        words = np.array([[2 * i, 2 * i + 1] for i in positions], np.int32).reshape(-1, 2)
        return Proposals(words, np.tile(np.array([0.75, 0.25], np.float32), (len(words), 1)))


class Painter(Parrot):
    """Draws by itself: always the second of its two proposals."""

    def draw(
        self, texts: Sequence[Words], masks: Sequence[np.ndarray], rows: np.ndarray, chances: np.ndarray
    ) -> np.ndarray:
        drawn: np.ndarray = self.propose(texts, masks).words[rows, 1]
        return drawn


class Echo(Parrot):
    """Proposes, for certain, the word to the left of the position (number 0 at the start)."""

    def propose(self, texts: Sequence[Words], masks: Sequence[np.ndarray]) -> Proposals:
        self.asked += [(text.words, tuple(mask.tolist())) for text, mask in zip(texts, masks, strict=True)]
        rows = [
            VOCABULARY.index(text.words[i - 1]) if i else 0
            for text, mask in zip(texts, masks, strict=True)
            for i in np.flatnonzero(mask)
        ]
        return Proposals(np.array(rows, np.int32)[:, None], np.ones((len(rows), 1), np.float32))


def block(text: str, kept: list[list[int]], fill: float = 0.0, choice: float = 0.0) -> Block:
    mask = np.array(kept, bool)
    return Block(text, split(text), Draws(mask, np.full(mask.shape, fill), np.full(mask.shape, choice)))


# --- pick ---


def test_pick_passes_the_cumulated_probability() -> None:
    """.2, .3, .5: chances below .2 take the first, below .5 the second, the others the third."""
    proposals = Proposals(np.array([[7, 8, 9]], np.int32), np.array([[0.2, 0.3, 0.5]], np.float32))
    chances = np.array([0.0, 0.19, 0.21, 0.49, 0.51, 0.999999])
    assert pick(proposals, np.zeros(6, np.intp), chances).tolist() == [7, 7, 8, 8, 9, 9]


def test_pick_never_takes_padding() -> None:
    """Probability 0, at either end of the row, is never reached; not even by the least or the greatest chance."""
    proposals = Proposals(np.array([[7, 8, 9]], np.int32), np.array([[0.0, 1.0, 0.0]], np.float32))
    assert pick(proposals, np.zeros(2, np.intp), np.array([0.0, np.nextafter(1, 0)])).tolist() == [8, 8]


def test_pick_reads_the_row_it_is_told() -> None:
    proposals = Proposals(np.array([[1, 2], [3, 4]], np.int32), np.array([[1.0, 0.0], [0.0, 1.0]], np.float32))
    assert pick(proposals, np.array([1, 0]), np.array([0.5, 0.5])).tolist() == [4, 1]


def test_pick_follows_the_probabilities() -> None:
    """8,000 uniform chances, by chi-square; a row that sums to .8 only is read as shares."""
    shares = np.array([0.4, 0.3, 0.1], np.float32)
    proposals = Proposals(np.array([[0, 1, 2]], np.int32), shares[None])
    chances = np.random.default_rng(0).random(8000)
    counts = np.bincount(pick(proposals, np.zeros(8000, np.intp), chances), minlength=3)
    assert chisquare(counts, 8000 * np.array([4, 3, 1]) / 8).pvalue > 1e-4


@given(st.lists(st.floats(0.0009765625, 1, width=32), min_size=1, max_size=6), st.floats(0, 1, exclude_max=True))
def test_pick_is_the_first_word_whose_cumulated_share_exceeds_the_chance(weights: list[float], chance: float) -> None:
    row = np.array([weights], np.float32)
    shares = np.cumsum(row[0].astype(np.float64))
    expected = next(i for i, share in enumerate(shares) if share > chance * shares[-1])
    proposals = Proposals(np.arange(len(weights), dtype=np.int32)[None], row)
    assert pick(proposals, np.array([0]), np.array([chance])).tolist() == [expected]


# --- one pass ---


def test_one_pass_fills_every_mask_by_its_own_chance() -> None:
    """Positions 1 and 2 masked. Chance .5 < 3/4 takes the first proposal of each: numbers 2 and 4; .8 the second."""
    filling_ = OnePass(Parrot())
    low, high = filling_.fill([block("a b c", [[1, 0, 0]], 0.5), block("a b c", [[1, 0, 0]], 0.8)])
    assert low.tolist() == [[KEPT, 2, 4]]
    assert high.tolist() == [[KEPT, 3, 5]]


def test_one_pass_asks_equal_requests_once() -> None:
    """Three samples with the same mask and one with another, over two blocks of the same text: two requests."""
    parrot = Parrot()
    one_pass = OnePass(parrot)
    one_pass.fill([block("a b c", [[1, 0, 0], [1, 0, 0]]), block("a b c", [[1, 0, 0], [0, 1, 1]])])
    assert parrot.asked == [(("a", "b", "c"), (False, True, True)), (("a", "b", "c"), (True, False, False))]
    assert one_pass.n_passes == 2


def test_one_pass_tells_texts_apart() -> None:
    parrot = Parrot()
    OnePass(parrot).fill([block("a b", [[1, 0]]), block("a c", [[1, 0]])])
    assert len(parrot.asked) == 2


def test_one_pass_shows_the_original_words_of_kept_positions_only_through_the_mask() -> None:
    """The perturbator gets the whole text and the mask; the mask is the complement of what is kept."""
    parrot = Parrot()
    OnePass(parrot).fill([block("a b c", [[0, 1, 0]])])
    assert parrot.asked == [(("a", "b", "c"), (True, False, True))]


@pytest.mark.parametrize(
    "make",
    [
        OneByOne,
        OnePass,
    ],
)
def test_a_sample_without_masks_takes_no_pass(make) -> None:
    """Nothing is masked, so there is nothing to ask."""
    made = make(Parrot())
    assert made.fill([block("a b", [[1, 1]])])[0].tolist() == [[KEPT, KEPT]]
    assert made.n_passes == 0


@pytest.mark.parametrize("make", [OnePass, OneByOne])
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_fills_do_not_depend_on_how_many_texts_are_handed_over_at_once(make, limit: int, monkeypatch) -> None:
    blocks = [random_block(text, seed) for seed, text in enumerate(("a b c d", "a a b", "d c"))]
    whole = make(Parrot()).fill(blocks)
    monkeypatch.setattr(fills, "REQUESTS", limit)
    parts = make(Parrot()).fill(blocks)
    assert all(np.array_equal(one, other) for one, other in zip(whole, parts, strict=True))


def random_block(text: str, seed: int, n: int = 12) -> Block:
    words = split(text)
    chances = draw(seed=seed, text=text, stream=0, keep=np.full(len(words), 0.5), forced=(), start=0, stop=n)
    return Block(text, words, chances)


# --- one by one ---


def test_one_by_one_sees_the_fills_before_it() -> None:
    """Echo copies its left neighbour. "c" is kept, three masks follow: each sees the copy before it, so all are c.

    In one pass each would see the original: "c d e f" gives c, d, e.
    """
    request = block("c d e f", [[1, 0, 0, 0]])
    assert OneByOne(Echo()).fill([request])[0].tolist() == [[KEPT, 2, 2, 2]]
    assert OnePass(Echo()).fill([request])[0].tolist() == [[KEPT, 2, 3, 4]]


def test_one_by_one_masks_what_is_not_filled_yet() -> None:
    """Left to right: first both masks, then only the second, with the first fill ("a", number 0) in its place."""
    echo = Echo()
    OneByOne(echo).fill([block("b c", [[0, 0]])])
    assert echo.asked == [(("b", "c"), (True, True)), (("a", "c"), (False, True))]


def test_one_by_one_takes_a_pass_a_mask() -> None:
    """One sample with two masks and two with one, no two requests alike: four passes."""
    one_by_one = OneByOne(Parrot())
    one_by_one.fill([block("b d", [[0, 0], [1, 0], [0, 1]], 0.1)])
    assert one_by_one.n_passes == 4


def test_one_by_one_asks_equal_requests_once() -> None:
    """Two samples with one and the same mask: one request."""
    parrot = Parrot()
    OneByOne(parrot).fill([block("a b", [[1, 0], [1, 0]])])
    assert len(parrot.asked) == 1


def test_one_pass_lets_a_perturbator_draw_that_can() -> None:
    painter = Painter()
    found = OnePass(painter).fill([block("a b c", [[0, 1, 0], [0, 0, 1], [0, 1, 0]]), block("d", [[0]])])
    assert [rows.tolist() for rows in found] == [[[1, KEPT, 5], [1, 3, KEPT], [1, KEPT, 5]], [[1]]]
    assert len(painter.asked) == 3


def test_one_by_one_leaves_the_draws_alone() -> None:
    request = block("a b", [[0, 0]])
    OneByOne(Parrot()).fill([request])
    assert request.draws.kept.tolist() == [[False, False]]


# --- the bank ---


def test_the_bank_takes_two_passes_a_pair_and_no_more() -> None:
    """Two documents, two pairs: 8 passes for the first samples, none for a hundred more."""
    parrot = Parrot()
    bank = Bank(parrot, seed=0, n_pairs=2, draw="position")
    bank.fill([random_block("a b c d", 0), random_block("b c d", 0)])
    assert bank.n_passes == len(parrot.asked) == 8
    bank.fill([random_block("a b c d", 1, 100), random_block("b c d", 2)])
    assert bank.n_passes == len(parrot.asked) == 8


def test_the_bank_asks_with_half_masks_of_the_document() -> None:
    parrot = Parrot()
    Bank(parrot, seed=3, n_pairs=2, draw="position").fill([random_block("a b c d", 0)])
    masks = half_masks(seed=3, text="a b c d", stream=fills.BANK_STREAM, n_words=4, n_pairs=2)
    assert [mask for _, mask in parrot.asked] == [tuple(mask) for mask in masks.tolist()]


def test_the_bank_gives_each_position_its_own_proposals() -> None:
    """Parrot's numbers tell the position: at i, 2i or 2i + 1 and never another's; 3 to 1 over many samples."""
    found = Bank(Parrot(), seed=0, n_pairs=3, draw="position").fill([random_block("a b c d", 0, 3000)])[0]
    for i in range(4):
        filled = found[:, i][found[:, i] != KEPT]
        assert set(filled.tolist()) == {2 * i, 2 * i + 1}
        counts = np.bincount(filled - 2 * i)
        assert chisquare(counts, len(filled) * np.array([0.75, 0.25])).pvalue > 1e-4


class Counter(Parrot):
    """Proposes, for certain, the number of masks that it has been asked with before."""

    def propose(self, texts: Sequence[Words], masks: Sequence[np.ndarray]) -> Proposals:
        start = len(self.asked)
        self.asked += [(text.words, tuple(mask.tolist())) for text, mask in zip(texts, masks, strict=True)]
        rows = [start + number for number, mask in enumerate(masks) for _ in range(int(mask.sum()))]
        return Proposals(np.array(rows, np.int32)[:, None], np.ones((len(rows), 1), np.float32))


@pytest.mark.parametrize(("choice", "pair"), [(0.0, 0), (0.49, 0), (0.5, 1), (0.99, 1)])
def test_the_choice_picks_the_pair(choice: float, pair: int) -> None:
    """Counter answers the number of the mask: position i must be told by the mask of the chosen pair that hides it."""
    counter = Counter()
    found = Bank(counter, seed=0, n_pairs=2, draw="position").fill([block("a b c", [[0, 0, 0]], 0.5, choice)])[0]
    hidden_by = [mask for _, mask in counter.asked]
    for position, number in enumerate(found[0].tolist()):
        assert number // 2 == pair
        assert hidden_by[number][position]


@pytest.mark.parametrize(("draw_", "n_pairs_in_a_sample"), [("position", 2), ("sample", 1)])
def test_a_bank_draws_its_pair_by_position_or_by_sample(draw_: str, n_pairs_in_a_sample: int) -> None:
    """Nine words: over 200 samples, "sample" never mixes the two pairs, "position" does."""
    counter = Counter()
    found = Bank(counter, seed=0, n_pairs=2, draw=draw_).fill([random_block("a b c d e f g h a", 0, 200)])[0]
    most = max(len({n // 2 for n in row if n != KEPT}) for row in found.tolist())
    assert most == n_pairs_in_a_sample


def test_a_bank_of_a_one_word_document_needs_one_pass_a_pair() -> None:
    """The second mask of each pair hides nothing: it is not asked."""
    bank = Bank(Parrot(), seed=0, n_pairs=2, draw="position")
    assert bank.fill([block("a", [[0]], 0.5)])[0].tolist() == [[0]]
    assert bank.n_passes == 2


@pytest.mark.parametrize("limit", [1, 4, 9])
def test_a_bank_does_not_depend_on_how_many_texts_are_handed_over_at_once(limit: int, monkeypatch) -> None:
    blocks = [random_block(text, 0) for text in ("a b c d", "a a b", "d c", "a")]
    whole = Bank(Parrot(), seed=0, n_pairs=2, draw="position").fill(blocks)
    monkeypatch.setattr(fills, "REQUESTS", limit)
    parts = Bank(Parrot(), seed=0, n_pairs=2, draw="position").fill(blocks)
    assert all(np.array_equal(one, other) for one, other in zip(whole, parts, strict=True))


@pytest.mark.parametrize("given", [{"bank_pairs": 2}, {"bank_draw": "sample"}])
def test_how_a_bank_is_drawn_from_is_refused_where_there_is_none(given: dict) -> None:
    assert preset("fast", fill="bank", **given).fill == "bank"
    with pytest.raises(InputError, match="--bank-pairs and --bank-draw belong to a bank: use --fill bank"):
        preset("fast", **given)


# --- blind ---


class Ruler(Parrot):
    """Proposes the number of the position, or with a quarter of the probability the one after it."""

    vocabulary = tuple(f"w{i}" for i in range(PLACES + 1))

    def propose(self, texts: Sequence[Words], masks: Sequence[np.ndarray]) -> Proposals:
        answer = super().propose(texts, masks)
        return Proposals(answer.words // 2 + np.array([0, 1], np.int32), answer.probabilities)


def test_blind_fills_take_one_pass_and_see_no_word() -> None:
    parrot = Ruler()
    unseen = BlindProposals(parrot)
    blind = Blind(unseen)
    blind.fill([random_block("a b c d", 0), random_block("d c b a", 0), random_block("b c d", 0)])
    ((words, mask),) = parrot.asked
    assert all(mask) and not set(words) & set(VOCABULARY)
    assert (blind.n_passes, Blind(unseen).n_passes) == (1, 0)


def test_a_blind_fill_is_drawn_for_its_place() -> None:
    """Of 4 words the first two are counted from the start, the last two from the end."""
    request = random_block("a b c d", 0, 3000)
    (found,) = Blind(BlindProposals(Ruler())).fill([request])
    assert ((found == KEPT) == request.draws.kept).all()
    for position, place in enumerate((0, 1, PLACES - 2, PLACES - 1)):
        drawn = found[~request.draws.kept[:, position], position]
        counts = [(drawn == place).sum(), (drawn == place + 1).sum()]
        assert sum(counts) == len(drawn)
        assert chisquare(counts, len(drawn) * np.array([0.75, 0.25])).pvalue > 0.001


@pytest.mark.parametrize("place", range(PLACES))
def test_a_blind_draw_passes_the_cumulated_probability_and_stays_at_its_place(place: int) -> None:
    """3/4 and 1/4: chances below .75 take the first, the others the second, even the last number below 1."""
    chances = np.array([0.0, 0.74, 0.76, np.nextafter(1.0, 0.0)])
    drawn = BlindProposals(Ruler()).draw(np.full(4, place), chances)
    assert drawn.tolist() == [place, place, place + 1, place + 1]


class Padded(Ruler):
    """Proposes the number of the position alone, and pads the row with word 0."""

    def propose(self, texts: Sequence[Words], masks: Sequence[np.ndarray]) -> Proposals:
        words = super().propose(texts, masks).words
        return Proposals(words * np.array([1, 0], np.int32), np.tile(np.array([1, 0], np.float32), (len(words), 1)))


def test_a_blind_draw_never_takes_padding() -> None:
    """At place 20 the last number below 1 is rounded up to the next place."""
    assert 20 + np.nextafter(1.0, 0.0) == 21
    assert BlindProposals(Padded()).draw(np.full(2, 20), np.array([0.0, np.nextafter(1.0, 0.0)])).tolist() == [20, 20]


@pytest.mark.parametrize("probability", [0.0, np.nan])
def test_blind_fills_of_a_perturbator_without_proposals_are_refused(probability: float) -> None:
    parrot = Ruler()
    proposals = Proposals(np.zeros((PLACES, 2), np.int32), np.full((PLACES, 2), probability, np.float32))
    parrot.propose = lambda texts, masks: proposals
    with pytest.raises(InputError, match=r"asked for words at 32 masks and proposes none at some"):
        Blind(BlindProposals(parrot)).fill([random_block("a b c d", 0)])


@pytest.mark.parametrize("name", ["blind", "bank", "one-pass", "one-by-one"])
def test_kept_words_are_left_alone_by_every_filling(name: str) -> None:
    parrot, request = Parrot(), random_block("a b c d", 5, 40)
    found = filling(name, parrot, BlindProposals(parrot), seed=0, bank_pairs=2, bank_draw="position").fill([request])[0]
    assert np.array_equal(found == KEPT, request.draws.kept)


# --- the lexicon, and the probability of the original words ---


def test_samples_keep_words_and_gaps_and_fill_the_rest() -> None:
    lexicon = Lexicon(Parrot())
    kept, numbers = (
        np.array([[True, False, True], [False, False, True]]),
        np.array([[KEPT, 3, KEPT], [0, 1, KEPT]], np.int32),
    )
    assert list(lexicon.spell([split(" Oh so  well\n")], kept, numbers)) == [" Oh d  well\n", " a b  well\n"]


class Uncased(Parrot):
    cased = False


def test_fills_of_an_uncased_vocabulary_take_the_capitals_of_what_they_replace() -> None:
    """Great -> D, GREAT -> D (of one letter), great -> d; a cased vocabulary stays as it is."""
    words, kept, numbers = split("Great GREAT great"), np.zeros((1, 3), bool), np.array([[3, 3, 3]], np.int32)
    assert list(Lexicon(Uncased()).spell([words], kept, numbers)) == ["D D d"]
    assert list(Lexicon(Parrot()).spell([words], kept, numbers)) == ["d d d"]


def test_numbers_match_by_term() -> None:
    """A and a are one term; what is not in the vocabulary has no number."""
    assert Lexicon(Parrot()).numbers(split("A a zebra")).tolist() == [0, 0, -1]


def test_original_probabilities_mask_one_word_at_a_time() -> None:
    """Parrot proposes a (3/4) and b (1/4) at position 0, c and d at 1, e and f at 2.

    "b c x": b has 1/4, c 3/4, and x is not proposed.
    """
    parrot = Parrot()
    found = original_probabilities(parrot, Lexicon(parrot), [split("b c x")])[0]
    assert found.tolist() == [0.25, 0.75, 0.0]
    assert [mask for _, mask in parrot.asked] == [(True, False, False), (False, True, False), (False, False, True)]


class TwoCases(Parrot):
    """Proposes "A" with 3/4 and "a" with 1/4, everywhere."""

    vocabulary = ("A", "a")

    def propose(self, texts: Sequence[Words], masks: Sequence[np.ndarray]) -> Proposals:
        n = sum(int(mask.sum()) for mask in masks)
        return Proposals(
            np.tile(np.array([0, 1], np.int32), (n, 1)), np.tile(np.array([0.75, 0.25], np.float32), (n, 1))
        )


def test_a_word_is_not_given_the_probability_of_another_spelling() -> None:
    """The probability of "a" is 1/4, or 1 if all spellings of the term count; but not the 3/4 of "A" alone."""
    perturbator = TwoCases()
    assert original_probabilities(perturbator, Lexicon(perturbator), [split("a")])[0].tolist() in ([0.25], [1.0])

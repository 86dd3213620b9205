"""How often a word does something, for models that seldom change their mind: most words, and the few that differ.

A model may jump, for no word's sake: a label that three texts in a hundred have by chance, a threshold of length. Then
most tests find nothing, and the others find the same whatever was taken out. Means of such values look like those of
strong words where two tests of three were lucky; what tells luck from words is how the *rates* of words differ, so
that is what is estimated here. Of the words most are alike, and a few are not (the two groups of Efron 2008):

    rate of most words  =  rate of any word + slope (expected - expected of any word)
    rate of the few     ~  uniform

The slope credits what the surrogate foresaw, where the tests bear it out beyond doubt: it is as good as they make it.
So a word is named for what its own tests show beyond luck, or for what was foreseen and came true of many.

>>> n, hits = np.full(50, 40), np.zeros(50)
>>> for found in (1.0, 30.0):
...     hits[3] = found                                           # one word is lucky once; it turns 30 of 40 documents
...     tests = WordTests(n, hits, np.ones(50), hits, 0 * hits, 0 * hits, 0.0)
...     doubts(tests, np.array([3, 4]), margin=1.2, generator=np.random.default_rng(0)).round(1).tolist()
[1.0, 1.0]
[0.0, 1.0]
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

NOTHING = 0.001
"""An effect of no more is none."""

SELDOM = 0.5
"""Where most words do something in more of their tests, the model does not jump, and means say what there is to say."""

FEWEST_TESTS = 2
"""Fewer tests say nothing of how a word differs from others."""

BEYOND_DOUBT = 3.0
"""Standard errors above nothing from which on the slope is believed."""

FEW = 0.01
"""The share of the words that is expected to differ, before anything is seen; it counts as much as what is seen."""

STEPS = 10
"""Steps in which the words that differ are told apart from the others."""

DRAWS = 200

SURELY = 0.99
"""A word that is alike with such a probability is not asked what it would be otherwise."""

LEAST = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class WordTests:
    """What the tests of a label found of each term, in parallel columns.

    How many there are, what their values add up to, the greatest of them without its sign, how many are above and how
    many below ``NOTHING``, and what was expected of them together; ``expected_of_any`` is what is expected of a test of
    any word.
    """

    n: NDArray[np.int64]
    total: Floats
    greatest: Floats
    above: Floats
    below: Floats
    expected: Floats
    expected_of_any: float

    def against(self) -> WordTests:
        """The same, asked what speaks against the label."""
        return replace(
            self,
            total=-self.total,
            above=self.below,
            below=self.above,
            expected=-self.expected,
            expected_of_any=-self.expected_of_any,
        )

    def hits(self, scale: float | None) -> Floats:
        """In how many tests each word does something, a test counting as its share of a scale, or as one."""
        if scale is None:
            return self.above
        shares: Floats = np.clip(self.total / scale, 0.0, self.n)
        return shares

    def of(self, words: NDArray[np.intp]) -> WordTests:
        """Those of some words."""
        columns = {field.name: getattr(self, field.name)[words] for field in fields(self)[:-1]}
        return replace(self, **columns)


def doubts(tests: WordTests, words: NDArray[np.intp], *, margin: float, generator: np.random.Generator) -> Floats:
    """The probability of each of some words to do something no more often than ``margin`` times any word does.

    None where the model does not jump. Values that are large count for more where effects have all sizes, and a small
    one for as much as a large one where labels are all that is told: the tests are counted in both ways, and what
    either of them shows is believed.
    """
    tested = tests.of(np.flatnonzero(tests.n >= 1))
    if not len(tested.n) or float(np.median((tested.above + tested.below) / tested.n)) > SELDOM:
        return np.zeros(len(words))
    of_these = tests.of(words)
    greatest = float(tested.greatest.max())
    if greatest <= 0 or np.count_nonzero(tested.n >= FEWEST_TESTS) < 2:
        return np.ones(len(words))
    by_size, by_number = (
        _Rates.fit(tested, tested.hits(scale), greatest).doubts(of_these, of_these.hits(scale), margin, generator)
        for scale in (greatest, None)
    )
    return np.minimum(by_size, by_number)


@dataclass(frozen=True, slots=True)
class _Rates:
    """How the rates of words differ: the rate of any word, how it rises with what is expected of a test, as a share of
    the greatest effect, and the share of the words that are not alike."""

    of_any: float
    slope: float
    few: float
    greatest: float

    @classmethod
    def fit(cls, tests: WordTests, hits: Floats, greatest: float) -> _Rates:
        """Learnt from all words that were tested, in steps: who is alike, and what those that are alike do."""
        alike = np.ones(len(hits))
        foreseen = _foreseen(tests, greatest)
        for _ in range(STEPS):
            n = alike * tests.n
            # One more hit: a rate of nothing is not known from so many tests without one.
            of_any = min(float((alike @ hits + 1) / (n.sum() + 1)), 1 - LEAST)
            slope = _slope(n, foreseen, hits / tests.n - of_any)
            # The mean of the share that is seen and the one that was expected.
            few = float(((1 - alike).sum() + FEW * len(hits)) / (2 * len(hits)))
            rates = cls(of_any, slope, few, greatest)
            alike = rates.alike(tests, hits)
        return rates

    def expected(self, tests: WordTests) -> Floats:
        """The rate that a word like any other has, given what was expected of its tests."""
        rate = self.of_any + self.slope * np.maximum(_foreseen(tests, self.greatest), 0.0)
        return np.minimum(rate, 1 - LEAST)

    def alike(self, tests: WordTests, hits: Floats) -> Floats:
        """The probability of each word to be one of the many."""
        n, m = tests.n, self.expected(tests)
        x = hits / np.maximum(n, 1)
        # A binomial: exp(-n KL(x, m)) is it up to a factor, which Stirling's formula gives. Of the few, any number of
        # hits is as probable as another.
        apart = x * np.log(np.maximum(x, LEAST) / m) + (1 - x) * np.log(np.maximum(1 - x, LEAST) / (1 - m))
        of_many = np.exp(-n * apart) / np.sqrt(1 + 2 * np.pi * n * x * (1 - x))
        many, few = (1 - self.few) * of_many, self.few / (n + 1)
        found: Floats = many / (many + few)
        return found

    def doubts(self, tests: WordTests, hits: Floats, margin: float, generator: np.random.Generator) -> Floats:
        """The probability of each word's rate to be no more than ``margin`` times that of any word."""
        bar = margin * self.of_any
        alike = self.alike(tests, hits)
        of_few = np.ones(len(alike))
        # Of one of the few its tests alone tell: draws of a beta distribution, where it may be one.
        unlike = np.flatnonzero(alike < SURELY)
        own, n = hits[unlike], tests.n[unlike]
        of_few[unlike] = (generator.beta(1 + own, 1 + n - own, (DRAWS, len(unlike))) <= bar).mean(axis=0)
        found: Floats = np.where(self.expected(tests) <= bar, alike, 0.0) + (1 - alike) * of_few
        return found


def _foreseen(tests: WordTests, greatest: float) -> Floats:
    """How much more was expected of a test of each word than of one of any word, as a share of the greatest effect."""
    found: Floats = (tests.expected / np.maximum(tests.n, 1) - tests.expected_of_any) / greatest
    return found


def _slope(n: Floats, foreseen: Floats, beyond: Floats) -> float:
    """How a rate rises with what was expected: the least that is left when any one word is left out, or nothing."""
    # Weighted least squares through the rate of any word, with an error that holds for any scatter (White 1980).
    products, squares = n * foreseen * beyond, n * foreseen**2
    if squares.sum() <= LEAST:
        return 0.0
    least = float(((products.sum() - products) / np.maximum(squares.sum() - squares, LEAST)).min())
    slope = float(products.sum() / squares.sum())
    error = float(np.sqrt(((products - slope * squares) ** 2).sum()) / squares.sum())
    return least if least > BEYOND_DOUBT * error else 0.0

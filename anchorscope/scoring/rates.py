"""How often a word does something, for models that seldom change their mind: most words, and the few that differ.

A model may jump, for no word's sake: a label that three texts in a hundred have by chance, a threshold of length. Then
most tests find nothing, and the others find the same whatever was taken out. Means of such values look like those of
strong words where two tests of three were lucky; what tells luck from words is how the *rates* of words differ, so
that is what is estimated here. Of the words most are alike, and a few are not (the two groups of Efron 2008):

    rate of most words  ~  Beta(K m, K (1 - m))        m = rate of any word + slope (expected - expected of any word)
    rate of the few     ~  uniform

The slope, which credits what the surrogate foresaw, and 1 / K, how much words differ, are the least that the tests are
consistent with: nothing of it is believed before it shows.

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

CAUTION = 1.645
"""Standard errors by which the slope and the differences between words are taken for less than they seem."""

FEW = 0.01
"""The share of the words that is expected to differ, before anything is seen; it counts as much as what is seen."""

STEPS = 10
"""Steps in which the words that differ are told apart from the others."""

DRAWS = 200

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
    """How the rates of words differ: the rate of any word, how it rises with what is expected of a test, how far words
    that are alike differ (1 / (K + 1)), and the share of the words that are not alike."""

    of_any: float
    slope: float
    differ: float
    few: float
    greatest: float

    @classmethod
    def fit(cls, tests: WordTests, hits: Floats, greatest: float) -> _Rates:
        """Learnt from all words that were tested, in steps: who is alike, and what those that are alike do."""
        alike = np.ones(len(hits))
        for _ in range(STEPS):
            n, own = alike * tests.n, alike * hits
            # One more hit: a rate of nothing is not known from so many tests without one.
            of_any = float((own.sum() + 1) / (n.sum() + 1))
            foreseen = _foreseen(tests, greatest)
            slope = _slope(n, foreseen, hits / tests.n - of_any)
            rates = cls(min(of_any, 1 - LEAST), slope, 0.0, 0.0, greatest)
            differ = _differences(tests.n, hits, rates.expected(tests), alike)
            few = float(((1 - alike).sum() + FEW * len(hits)) / (2 * len(hits)))
            rates = replace(rates, differ=differ, few=few)
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
        # A binomial of as many tests as these are worth, given how words differ: exp(-n KL(x, m)) is it up to a
        # factor, which Stirling's formula gives. Of the few, any number of hits is as probable as another.
        less = 1 + (n - 1).clip(0) * self.differ
        apart = x * np.log(np.maximum(x, LEAST) / m) + (1 - x) * np.log(np.maximum(1 - x, LEAST) / (1 - m))
        of_many = np.exp(-n / less * apart) / np.sqrt(1 + 2 * np.pi * n * less * x * (1 - x))
        many, few = (1 - self.few) * of_many, self.few / (n + 1)
        found: Floats = many / (many + few)
        return found

    def doubts(self, tests: WordTests, hits: Floats, margin: float, generator: np.random.Generator) -> Floats:
        """The share of the draws of each word's rate that are no more than ``margin`` times that of any word; all of
        a word that is expected to have no greater one."""
        m, n, alike = self.expected(tests), tests.n, self.alike(tests, hits)
        bar = margin * self.of_any
        k = 1 / max(self.differ, LEAST) - 1
        # Both groups' beta distributions, (2, words): the prior's, and what the tests add to them.
        a = np.stack([k * m, np.ones(len(n))]) + hits
        b = np.stack([k * (1 - m), np.ones(len(n))]) + n - hits
        rate = (np.stack([alike, 1 - alike]) * a / (a + b)).sum(axis=0)
        found = np.ones(len(n))
        likely = np.flatnonzero(rate > bar)
        group = np.where(generator.random((DRAWS, len(likely))) < alike[likely], 0, 1)
        found[likely] = (generator.beta(a[group, likely], b[group, likely]) <= bar).mean(axis=0)
        return found


def _foreseen(tests: WordTests, greatest: float) -> Floats:
    """How much more was expected of a test of each word than of one of any word, as a share of the greatest effect."""
    found: Floats = (tests.expected / np.maximum(tests.n, 1) - tests.expected_of_any) / greatest
    return found


def _slope(n: Floats, foreseen: Floats, beyond: Floats) -> float:
    """How a rate rises with what was expected: the least that is left when any one word is left out, less its error."""
    # Weighted least squares through the rate of any word, with an error that holds for any scatter (White 1980).
    products, squares = n * foreseen * beyond, n * foreseen**2
    if squares.sum() <= LEAST:
        return 0.0
    least = float(((products.sum() - products) / np.maximum(squares.sum() - squares, LEAST)).min())
    slope = float(products.sum() / squares.sum())
    error = float(np.sqrt(((products - slope * squares) ** 2).sum()) / squares.sum())
    return max(0.0, least - CAUTION * error)


def _differences(n: NDArray[np.int64], hits: Floats, m: Floats, alike: Floats) -> float:
    """How far the rates of words differ beyond chance: 1 / (K + 1), less its error."""
    # Pearson's squared residuals have the mean 1 + (n - 1) / (K + 1) and, without differences, about this variance.
    of_one = m * (1 - m)
    beyond = (hits - n * m) ** 2 / (n * of_one) - 1
    weight = alike / (2 + 1 / (n * of_one))
    squares = weight * (n - 1.0) ** 2
    if squares.sum() <= LEAST:
        return 0.0
    found = float((weight * (n - 1) * beyond).sum() / squares.sum())
    off = weight * (n - 1) * (beyond - found * (n - 1))
    error = float(np.sqrt((off**2).sum()) / squares.sum())
    return float(np.clip(found - CAUTION * error, 0.0, 0.5))

"""What the documents that are not tested yet may still bring: membership in the top k, and expected regret.

In docs/method.md it is *How much the rest will bring*, with why each part is there.

The score of a word rests on a total over the N documents that hold it: of its values, or of its anchors. n of these
documents, a simple random sample, are tested. What document d brings is

    e_d = o_d + y_d + noise

o_d is what is expected of it beforehand (``surrogate.py``; 0 where nothing is), y_d how far that is off, and the
noise is that of measuring, with variance v_d. The y of a word have a mean mu and a variance of their own. The prior
of both is pooled over the words, so a word with few tests is taken to be like the others:

    mu         a mixture of normal distributions: one around a centre, of words that differ little, and on either side
               of it others, of words that differ more; words of a label's documents say more for it than against it,
               so each side has shares of its own; and one as wide as values can be, for words unlike all others
    variance   scaled inverse chi-squared; the pooled one of its component counts as much as PRIOR_TESTS tests
    total      = sum of o + r (sum of e - o over the tested) + (N - r n) mu + sqrt(N - n) scatter + noise

The centre is the median of the words' means; the shares of the components and the pooled variances are those under
which the words are likeliest (EM). That a few tests agree does not mean that all documents do: the total of a word is
as uncertain, at the least, as if one more test of it had brought nothing (``doubt_of_total``).

r is the share of the variance between a word's measured values that is no noise, 1 where measuring has none: a test
that is half noise tells half as much of its own document, and for the rest that document counts as an untested one. The
word that came out best by luck is so drawn back towards the others, and its total is not certain when n = N. With the
variance s^2 between measured values (noise included) and V the sum of the v_d, the variance of the total is, if the
prior is wide, (N - r n)^2 s^2 / n + (N - n) r s^2 + r V.

Where the model was asked about a sample of the documents only, the total is over all of them: how many of the others
are of the label and hold the word is known up to ``beyond_variance``, and each is taken to be like those that were
asked about.

Draws of all totals together, and of the scores that follow from them, give for each word the share of draws in which
fewer than k others are better (its membership), and for the shown list the mean of what it gives away to the best one
(its expected regret, as a share of the best).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

N_DRAWS = 400
PRIOR_TESTS = 6.0
FLOOR = 1e-9

NORMALITY = 0.25
"""The greatest ``normality``: most documents bring next to nothing and some a lot, so a few that agree do not mean that
others will."""

PRIOR_WORDS = 1000
"""The prior is fitted to at most so many words: the most frequent ones, as those tested most are no random choice."""

# A grid of normal distributions with fitted shares is adaptive shrinkage (Stephens 2017, "False discovery rates: a new
# deal"); components on either side let the mixture lean to one of them.
LOCATIONS: Floats = np.array([0.0, -1.0, 1.0, -3.0, 3.0, 0.0])
"""Where the means of each component lie, from the centre, in standard deviations of what one document brings."""

DEVIATIONS: Floats = np.array([0.5, 1.0, 1.0, 3.0, 3.0, 10.0])
"""Their standard deviation in each component, in the same unit. None is smaller than a half: where most tests bring
nothing, the tested words seem to be all alike, and intervals would be too short. The last one's is ``WIDEST`` at the
least."""

WIDEST = 1.0
"""The standard deviation of the means of words unlike all others: values are differences of probabilities. A word that
a model goes by alone does a hundred times what others do; without a component for it, it is drawn towards them."""

OUTLIERS = 1e-7
"""The share of these words, which is not fitted: so small that no untested word is taken for one."""

PSEUDO_WORDS = 0.5
"""The words that each component has before any is looked at."""

FITS = 4
EM_STEPS = 40
"""How often the prior is fitted to its own components, and the steps in which their shares are found each time."""

TIED = 1e-9
"""Two words are as good as each other if they differ by no more than this share of the best."""

UNTESTED_SCALE = 0.05
"""How far a document's value may be from what is expected of it, while nothing is tested: a standard deviation."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelSums:
    """What is known of each word of one label, each (words,).

    ``documents`` hold it, ``tested`` of them are tested; ``total`` and ``squares`` sum what these brought beyond what
    was expected. ``offset`` is what is expected of all its documents together, tested or not, and ``noise`` the
    summed variance of measuring the tested ones. Of documents that the model was not asked about, ``beyond`` are
    expected to be of the label and to hold the word, give or take ``beyond_variance``. Words are no two alike:
    ``scale`` is how much the values of one differ, relative to others.
    ``placebo`` is what taking out any word like it does in a document that holds it (``placebo.py``), and is among what
    is expected, give or take ``placebo_error``; ``tilt`` is by how much the rest of what is expected, a document, may
    be wrong for all words alike. ``normality`` is what a test says of the scatter of its word, compared with one of
    normal values: 2 / (kurtosis - 1).
    """

    documents: NDArray[np.int64]
    tested: NDArray[np.int64]
    total: Floats
    squares: Floats
    offset: Floats
    noise: Floats
    beyond: Floats
    beyond_variance: Floats
    scale: Floats
    placebo: Floats
    placebo_error: Floats
    tilt: Floats
    normality: Floats

    @classmethod
    def plain(
        cls, documents: NDArray[np.int64], tested: NDArray[np.int64], total: Floats, squares: Floats
    ) -> LabelSums:
        """Without expectations, without noise, and with all documents at hand."""
        nothing = np.zeros(len(documents))
        alike = np.ones(len(documents))
        return cls(
            *(documents, tested, total, squares, nothing, nothing, nothing, nothing, alike),
            *(nothing, nothing, nothing, NORMALITY * alike),
        )

    def of(self, words: NDArray[np.intp]) -> LabelSums:
        """The same of some words."""
        return LabelSums(*(getattr(self, name)[words] for name in self.__slots__))

    @property
    def left(self) -> NDArray[np.int64]:
        """Documents that are not tested."""
        return self.documents - self.tested

    @property
    def means(self) -> Floats:
        """What a tested document brings beyond what was expected, on average, in units of ``scale``; 0 without any."""
        return self.total / self.scale / np.maximum(self.tested, 1)

    @property
    def scatter(self) -> Floats:
        """The squared distances of the tested documents from that mean, summed."""
        return np.maximum(self.squares / self.scale**2 - self.total / self.scale * self.means, 0.0)

    @property
    def doubt_of_total(self) -> Floats:
        """The variance of the total by which the scatter falls short of what one more test, of a document in which the
        word did nothing, would make of it: tests that agree are no proof (the rule of succession)."""
        n = np.maximum(self.tested, 1)
        brought = self.total / n + self.offset / np.maximum(self.documents, 1)
        with_nothing = np.where(self.tested > 0, brought**2 * n / (n + 1), 0.0)
        lacking = (
            self.normality * np.maximum(with_nothing - self.scatter * self.scale**2, 0.0) / _degrees_of_freedom(self)
        )
        return lacking * (self.left**2 / n + self.left)

    @property
    def noise_of_test(self) -> Floats:
        """The variance of measuring one document, on average over the tested ones; 0 without any."""
        return self.noise / np.maximum(self.tested, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What a document brings beyond what is expected, over all words: the centre of the words' means, and, each
    (components,), where the means lie, how much words differ (the variance between their means), the share of the
    component, and how much the documents of a word differ (the variance within)."""

    centre: float
    location: Floats
    between: Floats
    share: Floats
    within: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """Where the words of one label stand: intervals and memberships (words,), and the regret of the list.

    ``driver`` and ``against`` (words,): told apart from what words do on average, and doing something against the
    label.
    """

    low: Floats
    high: Floats
    membership: Floats
    regret: float
    driver: Booleans
    against: Booleans


def pooled_prior(sums: LabelSums) -> Prior:
    """The prior that the words themselves suggest."""
    seen = np.flatnonzero(sums.tested > 1)
    if len(seen) < 3:
        variance = np.full(1, UNTESTED_SCALE**2)
        return Prior(0.0, np.zeros(1), variance, np.ones(1), variance)
    # The most frequent words with two tests at least; where equally frequent, the first of them.
    known = sums.of(seen[np.lexsort((seen, -sums.documents[seen]))][:PRIOR_WORDS])
    # The pooled variance: all squared distances over all degrees of freedom, a word giving one of them up for its mean.
    within = max(float(known.scatter.sum() / (known.tested - 1).sum()), FLOOR)
    # To begin with all components have as many words; then each fit sorts the words anew. The centre stays the median:
    # the words that are tested most are those that do most, and would draw a mean towards them.
    n = len(DEVIATIONS)
    centre = float(np.median(known.means))
    location = centre + np.sqrt(within) * LOCATIONS
    between = within * DEVIATIONS**2
    between[-1] = max(between[-1], WIDEST**2)
    prior = Prior(centre, location, between, np.full(n, 1 / n), np.full(n, within))
    for _ in range(FITS):
        prior = _fitted(prior, known, within)
    return prior


def _fitted(prior: Prior, known: LabelSums, within: float) -> Prior:
    """The prior under which words, each in part of every component, are likeliest: expectation and maximisation."""
    likelihood = _likelihood(known, prior)
    # EM for the shares alone: each word is in part of every component, by how likely it is there.
    share = prior.share
    for _ in range(EM_STEPS):
        # (words, components) @ (components,): how likely each word is on the whole. Dividing by it makes of each row
        # the word's parts in the components, and summed over words these are the components' sizes (Dempster et al.
        # 1977).
        n_words = share * (likelihood.T @ (1 / (likelihood @ share)))
        # Pseudo-words are a Dirichlet prior: no component dies out for want of words, so later words can still be in
        # it.
        share = (n_words + PSEUDO_WORDS) / (len(likelihood) + PSEUDO_WORDS * len(share))
        share = np.append(share[:-1] / share[:-1].sum() * (1 - OUTLIERS), OUTLIERS)
    components = _normalised(likelihood * share)
    # The variance within a component is that of its words' tests, with a few tests at the variance of all words.
    freedom = components.T @ (known.tested - 1)
    return Prior(
        centre=prior.centre,
        location=prior.location,
        between=prior.between,
        share=share,
        within=(components.T @ known.scatter + PRIOR_TESTS * within) / (freedom + PRIOR_TESTS),
    )


def draw_totals(
    sums: LabelSums, prior: Prior, generator: np.random.Generator, n: int = N_DRAWS
) -> tuple[Floats, Floats]:
    """Draws (n, words) of every word's total over all its documents, and of the mean that lies behind it.

    The mean is that of any such documents, these or others; so it stays uncertain when all of them are tested.
    """
    shape = (n, len(sums.tested))
    component = _drawn_components(sums, prior, generator, shape)
    mean, precision, variance = _drawn_words(sums, prior, generator, component)
    standard = generator.standard_normal(shape)
    # total = r tested + expected + (N - r n) mu + sqrt(N - n) scatter + noise, the formula at the top. Three parts are
    # open: the mean behind the untested documents, their scatter about it, and the noise; the first two have one
    # standard normal here, so that a high mean goes with a high total. Given mean and variance, ``left`` documents
    # bring left mean, with the variance left^2 / precision of the mean, which is one error for all of them, and left
    # variance of their scatter, in which errors cancel.
    reliability = _reliability(sums, variance)
    left = sums.documents - reliability * sums.tested
    open_variance = left**2 / precision + sums.left * reliability * variance + sums.doubt_of_total
    totals = reliability * sums.total + sums.offset + left * mean + np.sqrt(open_variance) * standard
    if sums.noise.any():
        totals += np.sqrt(reliability * sums.noise) * generator.standard_normal(shape)
    # One draw for all words: if the slope is wrong, it is wrong for all of them.
    tilt = sums.tilt * generator.standard_normal((n, 1))
    totals += left * tilt
    means = sums.offset / np.maximum(sums.documents, 1) + tilt + mean + standard / np.sqrt(precision)
    if sums.beyond.any():
        totals += _drawn_beyond(sums, means, variance, generator)
    return totals, means


def _drawn_components(
    sums: LabelSums, prior: Prior, generator: np.random.Generator, shape: tuple[int, int]
) -> NDArray[np.int8]:
    """A component for each draw and word: how many of the cumulated probabilities its chance has passed."""
    chance = generator.random(shape)
    # Inversion, without the array (n, words, components) that a comparison with all of them at once would take.
    component = np.zeros(shape, np.int8)
    for reached in np.cumsum(_components(sums, prior), axis=1).T[:-1]:
        component += chance > reached
    return component


def _drawn_words(
    sums: LabelSums, prior: Prior, generator: np.random.Generator, component: NDArray[np.int8]
) -> tuple[Floats, Floats, Floats]:
    """What a document brings beyond what is expected, under the drawn components, each (n, words): the expected mean of
    the word, the precision of that mean, and the drawn variance between its documents.

    Conjugate: the variance is scaled inverse chi-squared. Given it, the mean is normal; precisions add up, and its mean
    is that of prior and tests, weighted by them (Gelman et al., Bayesian Data Analysis, 2.5 and 3.3).
    """
    # In units of ``scale``, in which all words are alike.
    squares = PRIOR_TESTS * prior.within.take(component) + sums.normality * sums.scatter
    drawn = squares / generator.chisquare(_degrees_of_freedom(sums), component.shape)
    # Values differ by no less than their noise.
    variance = np.maximum(drawn, sums.noise_of_test / sums.scale**2)
    between = prior.between.take(component)
    # What a word's tests say has the variance of one test over their number.
    precision = 1 / between + sums.tested / variance
    mean = (prior.location.take(component) / between + sums.total / sums.scale / variance) / precision * sums.scale
    # Back to the units of values: variances go with their square.
    return mean, precision / sums.scale**2, variance * sums.scale**2


def _drawn_beyond(sums: LabelSums, means: Floats, variance: Floats, generator: np.random.Generator) -> Floats:
    """What the documents bring that the model was not asked about, (n, words): so many, of this mean and variance."""
    drawn = sums.beyond + np.sqrt(sums.beyond_variance) * generator.standard_normal(means.shape)
    # A normal distribution for a count: no fewer than none.
    beyond = np.maximum(drawn, 0.0)
    found: Floats = beyond * means + np.sqrt(beyond * variance) * generator.standard_normal(means.shape)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class MixtureTotals:
    """Every word's total as the mixture has it: the probability of each component, (words, components), and under it
    the mean and the standard deviation of the total."""

    components: Floats
    mean: Floats
    deviation: Floats

    @property
    def expected(self) -> Floats:
        """The mean of every word's total, (words,)."""
        return (self.components * self.mean).sum(axis=1)

    @property
    def spread(self) -> Floats:
        """The standard deviation of every word's total: that within the components, and that of their means."""
        # The law of total variance.
        between = (self.mean - self.expected[:, None]) ** 2
        return np.sqrt((self.components * (self.deviation**2 + between)).sum(axis=1))

    def chance_above(self, level: float) -> Floats:
        """The probability that the total of each word is above a level, (words,)."""
        z = (self.mean - level) / np.maximum(self.deviation, FLOOR)
        return (self.components * normal_cdf(z)).sum(axis=1)


def normal_cdf(z: Floats) -> Floats:
    """The cumulative normal distribution, to three digits.

    >>> normal_cdf(np.array([0.0, 1.645, -3.0])).round(3).tolist()
    [0.5, 0.95, 0.001]
    """
    z = np.clip(z, -8.0, 8.0)
    # Page 1977: off by less than 0.0002. A power would take ten times as long.
    return 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * z * (1 + 0.044715 * z * z)))


def all_totals(sums: LabelSums, prior: Prior) -> MixtureTotals:
    """The total of every word, tested or not."""
    components = _components(sums, prior)
    variances = _variances(sums, prior)
    # As in ``draw_totals``, but with the variance of each component at its mean instead of drawn: no draw is made.
    precision = 1 / prior.between + sums.tested[:, None] / variances
    scale = sums.scale[:, None]
    mu = (prior.location / prior.between + (sums.total / sums.scale)[:, None] / variances) / precision * scale
    # (words, components) from here on: how uncertain the mean is, and how much documents differ about it.
    of_mu = scale**2 / precision
    within = scale**2 * variances
    reliability = _reliability(sums, within.T).T
    left = sums.documents[:, None] - reliability * sums.tested[:, None]
    beyond = sums.beyond[:, None]
    mean = (sums.offset / np.maximum(sums.documents, 1))[:, None] + mu
    # As above, with the slope's error; then the documents beyond: their mean, their scatter, and their number.
    variance = left**2 * (of_mu + sums.tilt[:, None] ** 2) + sums.left[:, None] * reliability * within
    variance += reliability * sums.noise[:, None] + sums.doubt_of_total[:, None]
    variance += beyond**2 * of_mu + beyond * within + sums.beyond_variance[:, None] * mean**2
    expected = reliability * sums.total[:, None] + sums.offset[:, None] + left * mu + beyond * mean
    return MixtureTotals(components, expected, np.sqrt(variance))


def _components(sums: LabelSums, prior: Prior) -> Floats:
    """The probability of each component for each word, (words, components): Bayes' rule; the shares without a test."""
    likelihood = np.where(sums.tested[:, None] > 0, _likelihood(sums, prior), 1.0)
    return _normalised(likelihood * prior.share)


def _likelihood(sums: LabelSums, prior: Prior) -> Floats:
    """How likely mean and scatter of each word are under each component, (words, components), up to a factor a word."""
    # The mean of a word's tests is off from that of its component by how words differ and by how its tests do.
    of_means = prior.between + _variance_of_mean(sums, prior)
    # Minus twice the logarithms: of the mean a normal distribution, of the scatter what is left when its variance is
    # averaged out.
    of_mean = np.log(of_means) + (sums.means[:, None] - prior.location) ** 2 / of_means
    pooled = PRIOR_TESTS * prior.within
    # Marginal likelihood of the scatter: the inverse chi-squared prior is conjugate, so the variance integrates out.
    freedom = _degrees_of_freedom(sums)[:, None]
    of_scatter = freedom * np.log(pooled + (sums.normality * sums.scatter)[:, None]) - PRIOR_TESTS * np.log(pooled)
    logs = -0.5 * (of_mean + of_scatter)
    # Relative to the best component of each word, so that nothing underflows.
    return np.exp(logs - logs.max(axis=1, keepdims=True))


def _variance_of_mean(sums: LabelSums, prior: Prior) -> Floats:
    """That of each word's mean over its tested documents, in each component: (words, components)."""
    return _variances(sums, prior) / np.maximum(sums.tested, 1)[:, None]


def _variances(sums: LabelSums, prior: Prior) -> Floats:
    """The variance of what a document brings, for each word, in each component: (words, components)."""
    # The posterior's scale: squares of prior and tests over both degrees of freedom.
    found = (PRIOR_TESTS * prior.within + (sums.normality * sums.scatter)[:, None]) / _degrees_of_freedom(sums)[:, None]
    return np.maximum(found, (sums.noise_of_test / sums.scale**2)[:, None])


def _reliability(sums: LabelSums, variance: Floats) -> Floats:
    """The share of a variance between measured values, (..., words), that is not the noise of measuring: 1 without any
    noise."""
    if not sums.noise.any():  # one row stands for all
        return np.ones((1, len(sums.tested)))
    # Spearman's reliability of a measurement; the factor of shrinkage of James and Stein.
    return 1 - np.minimum(sums.noise_of_test / np.maximum(variance, FLOOR**2), 1.0)


def _degrees_of_freedom(sums: LabelSums) -> Floats:
    return PRIOR_TESTS + sums.normality * np.maximum(sums.tested - 1, 0)


def _normalised(weights: Floats) -> Floats:
    return weights / weights.sum(axis=1, keepdims=True)


def summarise(
    draws: Floats,
    best: NDArray[np.intp],
    level: float,
    *,
    driver: Booleans,
    against: Booleans,
    least_worth: float = 0.0,
) -> Forecast:
    """Read draws of scores, (draws, words): intervals at a level, memberships, and the regret of a list.

    The list is of the ``best`` words, those with the greatest expected scores. A list that is worth less than
    ``least_worth`` counts as worth so much: nobody is to search for what is nothing.
    """
    k = len(best)
    # In each draw the k best words, in no order. A word is a member as often as it is no worse than the last of them:
    # where labels are all that a model tells, many are as good as that one, and it is chance who is in the list.
    order = np.argpartition(-draws, k - 1, axis=1)[:, :k]
    chosen = np.take_along_axis(draws, order, axis=1)
    size = np.abs(chosen).max(axis=1, keepdims=True, initial=0.0)
    least = chosen.min(axis=1, keepdims=True, initial=np.inf) - TIED * size
    membership = (draws >= least).mean(axis=0)
    low, high = quantiles(draws, [(1 - level) / 2, (1 + level) / 2])
    worths = chosen.sum(axis=1)
    return Forecast(
        low=low,
        high=high,
        membership=membership,
        regret=_regret(worths, draws[:, best].sum(axis=1), least_worth),
        driver=driver,
        against=against,
    )


def quantiles(draws: Floats, shares: Sequence[float]) -> list[Floats]:
    """The quantiles of each word's draws, (draws, words), at some shares; between two draws, in proportion.

    Of n draws, a share (n + 1) p lies below the p-th one: the rule "weibull" covers as stated, whatever n is.

    >>> [of_word.tolist() for of_word in quantiles(np.array([[3.0], [1.0], [2.0]]), [0.25, 0.5, 0.625])]
    [[1.0], [2.0], [2.5]]
    """
    ordered = np.sort(draws.T)  # numpy's own quantiles take six times as long
    n = len(draws)
    found = []
    for share in shares:
        place = min(max(n * share + share - 1, 0), n - 1)
        below = int(place)
        at, over = ordered[:, below], ordered[:, min(below + 1, n - 1)]
        # From the nearer of the two, as numpy does it: so the last digits are the same.
        part = place - below
        found.append(at + (over - at) * part if part < 0.5 else over - (over - at) * (1 - part))
    return found


def _regret(worths: Floats, listed: Floats, least_worth: float) -> float:
    """What a list, which cannot know, gives away to the best one of each draw, (draws,): a share, on average."""
    given_away = np.maximum(worths - listed, 0.0)  # rounding: no list is better than the best
    worth = max(float(worths.mean()), least_worth)
    return float(given_away.mean()) / worth if worth > 0 else float(given_away.any())

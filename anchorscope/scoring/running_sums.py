"""What the counted documents of every (label, term) brought: sums, to which documents are added as they come.

How many documents hold a term, how many of them are counted (the first ones in the order of priority, so a simple
random sample), and the sums and sums of squares of what these brought: values, and anchors. No row is kept. What the
posterior of one label has to go by (``posterior.LabelSums``) follows from them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from anchorscope.scoring.aggregation import Additive
from anchorscope.scoring.posterior import NORMALITY, LabelSums
from anchorscope.scoring.rates import NOTHING, WordTests

REPEAT_UNIT = 1e-9
"""The unit in which variances of second measurements are added up."""

SLOPE_TESTS = 10
"""The slope of what was expected counts as 1 in so many tests, before any is made."""

STEEPEST = 2.0

HEAVIER_TAILS = 0.4
"""What a test says of the scatter of its word, compared with one of values with a gamma distribution."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RunningSums:
    """Documents that hold a term, those counted, and what they brought; each (labels, terms).

    ``expected_of_all`` is what a surrogate expects of all documents of a term together; ``expected`` what it expected
    of the counted ones, with its squares and its products with their values, from which its slope is read.
    ``greatest`` is the greatest value without its sign; ``above`` and ``below`` count those that are not nothing.
    ``placebo`` (2, labels, terms) is what any words like it would do in all its documents together, and by how much
    that may be wrong. ``repeats`` (labels, 2) sums the variances that second measurements show, and those that were
    told of the same rows, in units of ``REPEAT_UNIT``: whole numbers, whose sum does not depend on their order.
    """

    documents: NDArray[np.int64]
    beyond: NDArray[np.int64]
    expected_of_all: Floats
    counted: NDArray[np.int64]
    values: Floats
    values_squared: Floats
    greatest: Floats
    above: Floats
    below: Floats
    noise: Floats
    expected: Floats
    expected_squared: Floats
    products: Floats
    anchors: Floats
    anchors_squared: Floats
    placebo: Floats
    repeats: NDArray[np.int64]

    @classmethod
    def zero(
        cls,
        documents: NDArray[np.int64],
        expected_of_all: Floats | None = None,
        beyond: NDArray[np.int64] | None = None,
    ) -> RunningSums:
        """Nothing counted yet; ``beyond`` (terms,) documents hold each term that the model was not asked about."""
        shape = documents.shape
        expected = np.zeros(shape) if expected_of_all is None else expected_of_all
        others = np.zeros(shape[1], np.int64) if beyond is None else beyond
        nothing = {field.name: np.zeros(shape) for field in fields(cls)[4:-2]}
        counted = np.zeros(shape, np.int64)
        repeats = np.zeros((shape[0], 2), np.int64)
        return cls(documents, others, expected, counted, **nothing, placebo=np.zeros((2, *shape)), repeats=repeats)

    def count(
        self,
        label: int,
        terms: NDArray[np.int64],
        value: Floats,
        anchors: Floats,
        noise: Floats,
        expected: Floats,
    ) -> None:
        """Count documents of some terms, one a row: what each brought, and what was expected of it.

        ``noise`` is the variance of measuring, as a row tells it.

        Rows of one term are added in their order, so that a sum of floats does not depend on how they were batched.
        """
        # ``np.add.at`` adds rows of one term one after another, as a plain loop would; sums of batches that
        # are added up afterwards would round differently with other batches.
        for column, brought in (
            (self.counted, np.ones(len(terms), np.int64)),
            (self.values, value),
            (self.values_squared, value**2),
            (self.above, value > NOTHING),
            (self.below, value < -NOTHING),
            (self.noise, noise),
            (self.expected, expected),
            (self.expected_squared, expected**2),
            (self.products, value * expected),
            (self.anchors, anchors),
            (self.anchors_squared, anchors**2),
        ):
            np.add.at(column[label], terms, brought)
        np.maximum.at(self.greatest[label], terms, np.abs(value))

    def compare(
        self,
        label: NDArray[np.int64],
        document: NDArray[np.int64],
        term: NDArray[np.int64],
        value: Floats,
        noise: Floats,
        repeat: Floats,
    ) -> None:
        """Hold the variances that first measurements tell against what second ones show; an occurrence a row, with NaN
        for a ``repeat`` where there is none."""
        twice = np.isfinite(repeat)
        # What a document brings to a term is the sum over the term's occurrences in it.
        place = document[twice] * self.documents.shape[1] + term[twice]
        pair, first, number = np.unique(place, return_index=True, return_inverse=True)
        once, told, again = (np.bincount(number, column[twice], len(pair)) for column in (value, noise, repeat))
        # Half the squared difference of two measurements has their variance as its mean.
        shown = 0.5 * np.square(once - again)
        for column, variances in enumerate((shown, told)):
            units = np.rint(variances / REPEAT_UNIT).astype(np.int64)
            np.add.at(self.repeats[:, column], label[twice][first], units)

    def forget(self, label: int, terms: NDArray[np.int64]) -> None:
        """Take all documents of some terms back, to count them anew."""
        for column in (self.counted, *(getattr(self, field.name) for field in fields(self)[4:-2])):
            column[label, terms] = 0

    def of_label(self, label: int, additive: Additive) -> LabelSums:
        """What an additive form has to go by."""
        documents, tested = self.documents[label], self.counted[label]
        if additive.quantity == "anchors":
            return LabelSums.plain(documents, tested, self.anchors[label], self.anchors_squared[label])
        # A test is off by its value less slope times what was expected, less the placebo: e - b s - p. Its sums
        # follow from those of e, s, e^2, s^2 and e s, so that no row is kept. The regression estimator of a total
        # (Cochran 1977, Sampling Techniques, chapter 7): the surrogate is known of all documents, and only what it
        # leaves has to be estimated from the tested ones.
        b = self.slope(label)
        expected, products = self.expected[label], self.products[label]
        beyond, beyond_variance = self._beyond(label)
        placebo, placebo_error = self.placebo[:, label] / np.maximum(documents, 1)
        total = self.values[label] - b * expected
        squares = self.values_squared[label] - 2 * b * products + b**2 * self.expected_squared[label]
        # Differences of sums: rounding may leave a little less than nothing.
        off = np.maximum(squares - 2 * placebo * total + tested * placebo**2, 0.0)
        return LabelSums(
            documents=documents,
            tested=tested,
            total=total - tested * placebo,
            squares=off,
            offset=b * self.expected_of_all[label] + documents * placebo,
            noise=self.noise[label] * self.noise_factor(label),
            beyond=beyond,
            beyond_variance=beyond_variance,
            scale=self._scale(label, b),
            placebo=placebo,
            placebo_error=placebo_error,
            tilt=self._slope_error(label, float(off.sum())) * self.expected_of_all[label] / np.maximum(documents, 1),
            normality=np.full(len(documents), self._normality(label)),
        )

    def tests_of_label(self, label: int) -> WordTests:
        """How often the words of a label do something, and what was expected of them."""
        documents = max(1, int(self.documents[label].sum()))
        return WordTests(
            n=self.counted[label],
            total=self.values[label],
            greatest=self.greatest[label],
            above=self.above[label],
            below=self.below[label],
            expected=self.expected[label],
            expected_of_any=float(self.expected_of_all[label].sum()) / documents,
        )

    def _normality(self, label: int) -> float:
        """What a test says of the scatter of its word: the less, the more the values of a word differ."""
        # The squared coefficient of variation within words is scatter over means. A gamma distribution has a kurtosis
        # of 3 + 6 times that, and 2 / (kurtosis - 1) is 1 / (1 + 3 of it); values of models have heavier tails.
        twice = self.counted[label] > 1
        n, total = self.counted[label][twice], self.values[label][twice]
        scatter = float((self.values_squared[label][twice] - total**2 / n).sum())
        means = float(((n - 1) * (total / n) ** 2).sum())
        return min(NORMALITY, HEAVIER_TAILS * means / (means + 3 * scatter)) if means > 0 else NORMALITY

    def noise_factor(self, label: int) -> float:
        """What second measurements make of the variances that were told, for all rows of a label alike; half of what
        counts are the second measurements of all labels, as those of one can be few."""
        shown, told = (self.repeats[label] + self.repeats.sum(axis=0)).tolist()
        return float(shown / told) if told > 0 else 1.0

    def _scale(self, label: int, b: float) -> Floats:
        """How much the values of each word may differ: the more, the more is expected of it; 1 for words on average."""
        documents = self.documents[label]
        # What is expected of a document of the word, against the square that is usual over all documents.
        mean = b * self.expected_of_all[label] / np.maximum(documents, 1)
        usual = float((mean**2 * documents).sum() / max(1, documents.sum()))
        return np.sqrt((mean**2 + usual) / (2 * usual)) if usual > 0 else np.ones(len(documents))

    def _beyond(self, label: int) -> tuple[Floats, Floats]:
        """How many of the documents that the model was not asked about are of the label and hold each term, and give
        or take how many: a share of them as among the others, for which a document of any label speaks, too
        (beta-binomial).
        """
        if not self.beyond.any():
            nothing = np.zeros(len(self.beyond))
            return nothing, nothing
        # A word that n documents hold, some of them of the label, has that share up to a beta distribution; one
        # document's worth of it is the share of the label on the whole.
        asked = self.documents.sum(axis=0)
        of_label = float(self.documents[label].sum() / max(1, asked.sum()))
        n = asked + 1.0
        share = (self.documents[label] + of_label) / n
        spread = share * (1 - share)
        # The variance of a beta-binomial count: m q (1 - q) (1 + (m - 1) / (a + b + 1)), with a + b = n.
        return self.beyond * share, self.beyond * spread * (1 + (self.beyond - 1) / (n + 1))

    def slope(self, label: int) -> float:
        """How much a value, beyond the placebo, rises with what was expected of it: least squares, with a few tests'
        worth of trust in 1."""
        # Least squares through the origin, (e - p) s over s^2, with SLOPE_TESTS rows of average s at slope 1 added.
        squares = float(self.expected_squared[label].sum())
        n = max(1, int(self.counted[label].sum()))
        trust = SLOPE_TESTS * squares / n
        if squares + trust <= 0:
            return 1.0
        placebo = self.placebo[0, label] / np.maximum(self.documents[label], 1)
        products = float((self.products[label] - placebo * self.expected[label]).sum())
        return float(np.clip((products + trust) / (squares + trust), 0.0, STEEPEST))

    def _slope_error(self, label: int, off: float) -> float:
        """By how much the slope may be wrong: a standard deviation."""
        # The usual standard error of a slope, residual variance over the sum of squares; the trusted rows count in
        # it, too.
        squares = float(self.expected_squared[label].sum())
        n = max(1, int(self.counted[label].sum()))
        return float(np.sqrt(off / n / (squares * (1 + SLOPE_TESTS / n)))) if squares > 0 else 0.0

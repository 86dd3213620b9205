"""One of everything that can be exchanged, written by somebody who has nothing but the documentation."""

import numpy as np

from anchorscope.errors import InputError
from anchorscope.scoring.aggregation import Aggregation, Standing
from anchorscope.scoring.tally import ratio
from anchorscope.text.words import replace, split
from anchorscope.types import Cost, Measurements, Proposals

PER_DOCUMENT = Aggregation(
    name="per-document",
    help="the sum of a term's values, a document that holds it",
    reads="values",
    score=lambda tally, alpha: ratio(tally.values * 1e-6, tally.documents),
)


class Shouting:
    """Says "loud" the more, the more of a text is in capitals, and "loud" too where a keyword stands."""

    labels = ("calm", "loud")
    has_probabilities = True

    def __init__(self, keyword):
        self.keyword = keyword
        self.name = self.fingerprint = f"shouting {keyword}"

    def predict(self, texts):
        loud = np.array([0.1 + 0.5 * (self.keyword in text.lower()) + 0.3 * text.isupper() for text in texts])
        return np.stack([1 - loud, loud], axis=1).reshape(-1, 2)


def shouting(argument, options):
    return Shouting(argument)


class Dots:
    """Every masked word becomes dots."""

    name = "dots"
    vocabulary = ("…",)
    cased = True
    knows_originals = False
    fingerprint = "dots"

    def fit(self, texts):
        return self

    def propose(self, texts, masks):
        n = sum(int(mask.sum()) for mask in masks)
        return Proposals(np.zeros((n, 1), np.int32), np.ones((n, 1), np.float32))


def dots(argument, *, top_n, device):
    return Dots()


class Replacement:
    """A plain local score: put the likeliest other word in the place of the term, and look."""

    name = "replacement"
    help = "what putting another word in its place costs the label"
    call = "the text with another word in the place of the term"
    noise = "none"
    is_graded = True
    grain = "term"
    shares_calls = False
    tests_anchors = False
    perturbs = True

    def __init__(self, predictor, perturbator, settings):
        self._predictor = predictor
        self._perturbator = perturbator

    def calls(self, unit):
        return len(unit)

    def measure(self, units):
        texts = [self._changed(split(unit.text), positions) for unit in units for positions in unit.positions]
        rows = self._predictor.predict(texts) if texts else np.zeros((0, 2))
        n = [len(unit) for unit in units]
        labels = np.repeat([unit.label for unit in units], n).astype(int)
        before = np.repeat([unit.probability for unit in units], n)
        after = rows[np.arange(len(texts)), labels]
        ones = np.ones(len(texts), np.int64)
        cost = Cost(tests=len(texts), predictor_texts=len(texts))
        return Measurements.of_values(np.round(before - after, 6), np.zeros(len(texts)), ones), cost

    def _changed(self, words, positions):
        mask = np.isin(np.arange(len(words)), positions)
        proposed = self._perturbator.propose([words], [mask])
        best = proposed.words[np.arange(len(proposed.words)), proposed.probabilities.argmax(axis=1)]
        return replace(words, {p: self._perturbator.vocabulary[n] for p, n in zip(positions, best)})


class Backwards:
    """The documents from the last to the first."""

    help = "the documents from the last to the first"
    interval_level = 0.8
    draws_documents = True
    uses_surrogate = True
    counts_prefixes = False
    ends_early = False
    reads = ()

    def __init__(self, collection, settings):
        self._collection, self._settings = collection, settings
        self._left = list(range(len(collection.documents)))

    def next_round(self, tally):
        if not self._left:
            return None
        document = self._left.pop()
        here = self._collection.occurrences_of(document)
        asked = np.arange(here.start, here.stop)
        return self._collection.round_of([(document, asked)], lambda some: np.full(len(some), self._settings.tau))

    def count(self, measured):
        return measured

    def counted(self, tally):
        return tally

    def standing(self, tally):
        endless = np.full(tally.anchors.shape, np.inf)
        return Standing(-endless, endless, np.full(len(tally.anchors), not self._left))

    def placebo(self):
        return np.zeros((2, len(self._collection.labels), len(self._collection.terms)))

    def prefixes(self):
        return []

    def tests_left(self, tally):
        return int(tally.untested.sum())


class OneByOne:
    """A unit at a time, in this process."""

    def __init__(self, score, workers):
        if workers is not None and workers < 1:
            raise InputError(f"One by one takes at least 1 worker, not {workers}.")
        self._score = score

    def measure(self, units, max_calls=float("inf")):
        parts, spent = [], Cost()
        for unit in units:
            found, cost = self._score.measure([unit], max_calls - spent.predictor_texts)
            spent += cost
            if len(found) < len(unit):
                break
            parts.append(found)
        return Measurements.join(parts), spent

    def close(self):
        pass


class Ticks:
    """A tick a snapshot."""

    def __init__(self, stream):
        self._stream = stream

    def open(self):
        pass

    def update(self, snapshot):
        print(f"tick {snapshot.round}", file=self._stream)

    def close(self):
        print("tock", file=self._stream)

"""Our strategy: the words race for the top k, and only those whose place is open are tested on.

The cost of a race does not grow with the collection. Documents have a priority, a hash of seed and key; the
documents of a word are tested in that order, so those tested so far are a simple random sample of them. A word counts a
document only when all before it in the order are tested (its *prefix*); measurements ahead of the prefix wait. Only
the documents up to a threshold of priority are indexed by word (``inverted_index.py``), and what is kept of the others
is one place in the order.

How many documents hold a word is known after one prediction a document, and what the untested ones may bring is in
``posterior.py``. What these predictions say themselves about every word (``surrogate.py``) is where the race starts
from, where the local score is graded. Which prefixes a round extends depends on what a call buys:

    a term in a document   (occlusion) each pair costs a call of its own. Four fifths go to a pool of words, those that
                           would be the best if each did somewhat better than expected, in proportion to the doubt
                           whether each is among the best; the others where a wrong guess would cost most
    a whole document       (banzhaf, anchor) one block of samples serves all its words: the documents that most of the
                           words in doubt want. Where values are noisy, and that is known, further blocks for documents
                           that are tested compete with new ones (``offers.py``), until the regret is what was asked for

In docs/method.md it is *Which pair is tested next*.

A race ends when every label is settled (``settling.py``); where everything is tested it equals the exhaustive scan
exactly, if measuring has no noise; else its scores are drawn towards each other (``scoring/posterior.py``).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.planning.collection import Collection
from anchorscope.planning.inverted_index import InvertedIndex
from anchorscope.planning.offers import MOST_MEASURED, Doubts, calls_of
from anchorscope.planning.plan import EMPTY_ANCHOR, VALUE_DIGITS, Counted, Round, added_up, mean_of
from anchorscope.scoring import settling
from anchorscope.scoring.aggregation import Aggregation, Standing
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.forecasts import (
    LEVEL,
    QUANTILE,
    LabelForecast,
    expected_tally,
    forecast_standing,
    label_forecasts,
)
from anchorscope.scoring.running_sums import RunningSums
from anchorscope.scoring.tally import Tally, ranking
from anchorscope.settings import Settings
from anchorscope.text.cut import distinct

Numbers = NDArray[np.int64]

GROWTH = 0.25
"""A round asks for at least this share of the pairs that were tested before: rounds are few, however long a race is."""

POOL = 3
"""Words that may be the best, in multiples of k."""

POOL_SHARE = 0.8
"""What they get of the tests of a round of pairs. What is left goes to the words that the regret hangs on: else a race
comes to good lists at once, and to its end late or never."""

LEAST_DOUBT = 0.025
"""The doubt of a word whose place seems sure: it gets a twentieth of the tests of a word that may be in or out."""

FOCUS = 6
"""Words that the regret hangs on, in multiples of k."""


class Race:
    """The race of all labels; its state is a pure function of the measurements counted so far."""

    help = "the documents of the words whose place is open, until the top terms are settled"
    interval_level = LEVEL
    draws_documents = True
    uses_surrogate = True
    counts_prefixes = True
    ends_early = True
    reads = ("regret",)

    def __init__(self, collection: Collection, settings: Settings) -> None:
        self._collection = collection
        self._settings = settings
        self._aggregation: Aggregation = aggregation(settings.aggregation)
        score = registry.resolve("score", str(settings.score))
        self._serves_all = score.shares_calls
        self._known = collection.tally
        self._label_of = collection.predictions.labels
        order = np.argsort(collection.priority, kind="stable")
        # By priority, without documents that hold no candidate; then by label, as each label runs a race of its own.
        # (documents,) in the order of their hashes: any prefix of it is a simple random sample.
        order = order[np.diff(collection.first_occurrence)[order] > 0]
        by_label = [order[self._label_of[order] == label] for label in range(len(collection.labels))]
        n_start = settling.START_DOCUMENTS
        self._first_documents = [documents[:n_start] for documents in by_label]
        self._index = [InvertedIndex(collection, *row, n_start) for row in zip(by_label, self._known.documents)]
        self._sums = RunningSums.zero(self._known.documents, collection.expected_of_all(), collection.beyond)
        self._visited = np.zeros(len(collection.documents), bool)
        self._n_tested_documents = np.zeros(len(collection.labels), np.int64)
        n_occurrences = len(collection.occurrence_term)
        # A row an occurrence, be it asked for or not: a measurement ahead of its prefix waits here until it is passed.
        # Values and variances are those of all its measurements added up, ``_n_measured`` of them in each document.
        self._asked = np.zeros(n_occurrences, bool)
        self._measured = np.zeros(n_occurrences, bool)
        self._passed = np.zeros(n_occurrences, bool)
        self._anchor = np.zeros(n_occurrences, bool)
        self._value = np.zeros(n_occurrences)
        self._noise = np.zeros(n_occurrences)
        self._n_measured = np.zeros(len(collection.documents), np.int64)
        self._measured_again = np.zeros(len(collection.documents), bool)
        self._calls = np.zeros(len(collection.documents))  # of one measurement
        self._n_open = int(self._known.occurrences[collection.explained].sum())
        self._n_rounds = 0
        self._changed: tuple[Numbers, Numbers] = (np.empty(0, np.int64), np.empty(0, np.int64))
        self._forecasts = self._forecast()

    def count(self, measured: Counted) -> Counted:
        """Take what a round measured; answer what counts now: prefixes may have grown over earlier ones too."""
        new, again = (measured.occurrences[kind] for kind in (~measured.further, measured.further))
        again = again[self._passed[again]]
        before, _ = self._means(again)
        self._add_up(measured)
        # The first round is a random choice of words, or all words of random documents: it tells what any word does.
        if self._n_rounds == 0:
            self._sums.placebo[:] = self._collection.placebo_of_all(new, self._means(new)[0])
        n_terms = len(self._collection.terms)
        labels = self._collection.occurrence_label[measured.occurrences].astype(np.int64)
        terms = self._collection.occurrence_term[measured.occurrences]
        # The (label, term) pairs that were measured now: only their prefixes can have grown.
        self._changed = np.divmod(distinct(labels * n_terms + terms), n_terms)
        # Sums of floats depend on their order: what has changed is added up anew from the first document on.
        for label in np.unique(self._collection.occurrence_label[again]).tolist():
            mine = again[self._collection.occurrence_label[again] == label]
            self._recount(label, distinct(self._collection.occurrence_term[mine].astype(np.int64)))
        passed = [
            self._extend(label, self._changed[1][self._changed[0] == label])
            for label in range(len(self._first_documents))
        ]
        self._n_rounds += 1
        self._forecasts = self._forecast()
        return self._what_counts(np.concatenate(passed), again, before)

    def _add_up(self, measured: Counted) -> None:
        """Add what was measured to what each occurrence has. It counts when a prefix passes it (``_extend``)."""
        occurrences = measured.occurrences
        new = occurrences[~measured.further]
        n, values, noise = added_up(measured.value, measured.noise, measured.repeat)
        self._measured[new] = True
        self._anchor[new] = measured.anchor[~measured.further]
        self._value[occurrences] += values
        self._noise[occurrences] += noise
        documents = self._collection.occurrence_document[occurrences].astype(np.int64)
        # Where a test serves one word, a document has many, each of them measured once.
        here, first = np.unique(documents, return_index=True)
        self._n_measured[here] = self._n_measured[here] + n[first].astype(np.int64) if self._serves_all else 1
        self._measured_again[documents[measured.further]] = True
        np.maximum.at(self._calls, documents, measured.calls)
        self._n_open -= len(new)
        tested = distinct(documents[~measured.further])
        self._n_tested_documents += np.bincount(self._label_of[tested], minlength=len(self._first_documents))
        terms = self._collection.occurrence_term[occurrences].astype(np.int64)
        noted = measured.value, measured.noise, measured.repeat
        self._sums.compare(self._label_of[documents], documents, terms, *noted)

    def _means(self, occurrences: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean of all measurements of some occurrences, and the variance of that mean."""
        n = self._n_measured[self._collection.occurrence_document[occurrences]].astype(np.float64)
        return mean_of(n, self._value[occurrences], self._noise[occurrences])

    def _what_counts(self, passed: Numbers, again: Numbers, before: NDArray[np.float64]) -> Counted:
        """Occurrences that count from now on, and what has changed about those that did before."""
        now = np.concatenate([passed, again])
        self._passed[passed] = True
        value, noise = self._means(now)
        value[len(passed) :] -= np.round(before, VALUE_DIGITS)
        further = np.arange(len(now)) >= len(passed)
        once = np.full(len(now), np.nan)
        return Counted(now, self._anchor[now], value, noise, once, further, np.zeros(len(now), np.int64))

    def next_round(self, tally: Tally) -> Round | None:
        """Occurrences of the words whose place is open, or None when every list is settled."""
        n_labels = len(self._first_documents)
        open_labels = [n for n in range(n_labels) if not self._is_settled(n) or self._may_measure_again(n)]
        tau = self._settings.tau
        parts = list(self._documents(open_labels) if self._serves_all else self._pairs(open_labels))
        if not parts:
            return None
        n_measured = self._n_measured if self._serves_all else None
        return self._collection.round_of(parts, lambda some: np.full(len(some), tau), n_measured=n_measured)

    def counted(self, tally: Tally) -> Tally:
        """The tally that scores are read from: what all documents are expected to give."""
        return expected_tally(self._forecasts, tally, self._aggregation)

    def standing(self, tally: Tally) -> Standing:
        """Intervals, memberships and regret, as the posterior tells."""
        explained = np.flatnonzero(self._collection.explained)
        settled = np.array([self._is_settled(label) for label in range(len(self._first_documents))])
        spent = np.zeros(len(settled), bool)
        spent[explained] = [
            settling.is_spent(self._sums, label, self._forecasts[label], regret=self._settings.regret)
            for label in explained.tolist()
        ]
        found = forecast_standing(self._forecasts, explained, settled & ~spent, tally)
        again = np.bincount(self._label_of[self._measured_again], minlength=len(settled))
        return replace(found, spent=spent, measured_again=again)

    def prefixes(self) -> list[tuple[int, int, int]]:
        """(label, term, documents counted) of the words that the last round may have moved: for the journal."""
        labels, terms = self._changed
        return list(zip(labels.tolist(), terms.tolist(), self._sums.counted[labels, terms].tolist()))

    def placebo(self) -> NDArray[np.float64]:
        """As the first round tells."""
        return self._sums.placebo

    def tests_left(self, tally: Tally) -> int:
        """At most so many tests are still to come."""
        return self._n_open

    @property
    def n_indexed(self) -> int:
        """The documents that are indexed by their words: those up to the threshold of each label."""
        return sum(index.n_indexed for index in self._index)

    def _forecast(self) -> list[LabelForecast]:
        """Where every label stands now."""
        s = self._settings
        return label_forecasts(
            self._sums, self._known, self._aggregation, alpha=s.alpha, k=s.top_k, seed=s.seed, n_rounds=self._n_rounds
        )

    def _is_settled(self, label: int) -> bool:
        if not self._collection.explained[label]:
            return True
        return settling.is_settled(
            self._sums,
            label,
            self._forecasts[label],
            regret=self._settings.regret,
            n_tested_documents=int(self._n_tested_documents[label]) if self._serves_all else None,
        )

    def _extend(self, label: int, terms: Numbers) -> Numbers:
        """Move the prefixes of some words over every document that is tested by now; the occurrences that they pass."""
        # In the flat arrays: where each prefix ends, and where it ends now that more is measured, (terms,).
        start = self._sums.counted[label, terms]
        stop = self._index[label].reached(terms, start, self._measured)
        return self._count_postings(label, terms, start, stop)

    def _recount(self, label: int, terms: Numbers) -> None:
        """Add up anew what the documents of the prefixes of some words brought."""
        stop = self._sums.counted[label, terms]
        self._sums.forget(label, terms)
        self._count_postings(label, terms, np.zeros_like(stop), stop)

    def _count_postings(self, label: int, terms: Numbers, start: Numbers, stop: Numbers) -> Numbers:
        """Count the documents of some words, from one number to another each; the occurrences in them."""
        occurrences, sizes = self._index[label].occurrences(terms, start, stop)
        # What a document brings to a word is the sum over the word's occurrences in it, one after another: a journal
        # that is read adds them up in this order, too.
        posting = np.repeat(np.arange(len(sizes)), sizes)
        value, noise = self._means(occurrences)
        columns = value, self._anchor[occurrences].astype(np.float64), noise, self._collection.expected[occurrences]
        brought = [np.bincount(posting, column, minlength=len(sizes)).astype(np.float64) for column in columns]
        self._sums.count(label, np.repeat(terms, stop - start), *brought)
        return occurrences

    # --- where a test serves one word: pairs of a word and a document ---

    def _pairs(self, labels: list[int]) -> Iterator[tuple[int, Numbers]]:
        """The next occurrences of the words of the pools, by document."""
        chosen = [self._next_pairs(label, max(1, len(labels))) for label in labels]
        asked = np.concatenate([np.empty(0, np.int64), *chosen])
        self._asked[asked] = True
        document = self._collection.occurrence_document[asked]
        # The documents in the order of their first mention: what matters most comes first, if not all can be afforded.
        _, first = np.unique(document, return_index=True)
        order = np.argsort(document, kind="stable")
        groups = np.split(asked[order], np.flatnonzero(np.diff(document[order])) + 1) if len(asked) else []
        for group in sorted(zip(first.tolist(), groups), key=lambda pair: pair[0]):
            yield int(self._collection.occurrence_document[group[1][0]]), group[1]

    def _next_pairs(self, label: int, n_labels: int) -> Numbers:
        """The occurrences that a label asks for: more of a word the more is in doubt about it."""
        counted = self._sums.counted[label]
        wanted = self._last_tests(label)
        if not counted.any():
            wanted = dict.fromkeys(self._survey(label), settling.START_TESTS)
        elif not wanted:
            # Rounds grow with what is tested, so that their number grows with its logarithm only.
            wanted = self._shares(label, max(self._settings.round_size // n_labels, int(GROWTH * counted.sum())))
        index = self._index[label]
        pieces = [index.next_occurrences(term, int(counted[term]), n, self._asked) for term, n in wanted.items()]
        return np.concatenate([np.empty(0, np.int64), *pieces])

    def _last_tests(self, label: int) -> dict[int, int]:
        """Where the list is good enough, what its words still need before they are shown."""
        now = self._forecasts[label]
        if now.forecast.regret >= self._settings.regret:
            return {}
        return settling.tests_needed(self._sums, label, now, also_against=True)

    def _survey(self, label: int) -> list[int]:
        """A random choice of words, the chance of each in proportion to its documents.

        A word with weight w and a uniform u has the key log(u) / w; the largest are chosen (Efraimidis, Spirakis 2006).
        """
        documents = self._known.documents[label]
        key = np.array([self._settings.seed, label], np.uint64)
        # A draw without replacement by weights in one pass: the key of a word is log(u) / w, and the largest are taken.
        chance = np.random.Generator(np.random.Philox(key=key)).random(len(documents))
        return ranking(np.log(chance) / np.maximum(documents, 1), documents, settling.START_WORDS).tolist()

    def _shares(self, label: int, size: int) -> dict[int, int]:
        """How many tests each word gets now: most go to the pool, so that what a word of it has had in all is in
        proportion to its doubt; the others to the words that the regret hangs on."""
        counted = self._sums.counted[label]
        left = self._known.documents[label] - counted
        n_pool = round(POOL_SHARE * size)
        pool = self._pool(label, n_pool)
        doubt = np.maximum(self._doubt(label), LEAST_DOUBT)
        given = Counter(dict(zip(pool, apportioned(n_pool, doubt[pool].tolist(), counted[pool].tolist()))))
        at_stake = self._at_stake(label)
        focus = self._focus(label, at_stake)
        given.update(dict(zip(focus, apportioned(size - n_pool, at_stake[focus].tolist(), [0] * len(focus)))))
        return {word: min(n, int(left[word])) for word, n in given.items() if n > 0}

    def _pool(self, label: int, n: int) -> list[int]:
        """The words that may be the best; where these have fewer than ``n`` tests left, so many more that there are."""
        least = POOL * self._settings.top_k
        words = self._unfinished(label, self._forecasts[label].hoped, max(least, n))
        left = (self._known.documents[label] - self._sums.counted[label])[words]
        enough = int(np.searchsorted(np.cumsum(left), n)) + 1
        return words[: max(least, enough)].tolist()

    # --- where a block of samples serves all words of a document ---

    def _documents(self, labels: list[int]) -> Iterator[tuple[int, Numbers]]:
        """The next documents, each with all its candidates."""
        quota = max(1, self._settings.round_size // max(1, len(labels)))
        # In turn: what a budget cuts off at the end is lost to all labels alike.
        in_turn = zip_longest(*(self._next_documents(label, quota) for label in labels))
        chosen = [document for of_each in in_turn for document in of_each if document is not None]
        self._visited[chosen] = True
        for document in chosen:
            here = self._collection.occurrences_of(document)
            is_new = not self._n_measured[document]
            first = [EMPTY_ANCHOR] if is_new and self._settings.tests_empty_anchor else []
            yield document, np.concatenate([np.array(first, np.int64), np.arange(here.start, here.stop)])

    def _next_documents(self, label: int, quota: int) -> list[int]:
        """The next documents of one label, at most ``quota`` of them."""
        # First the documents at the front of the order: no word is in doubt more than others yet.
        first = self._first_documents[label]
        waiting = first[~self._visited[first]]
        if len(waiting):
            return waiting[:quota].tolist()
        if self._may_measure_again(label):
            return self._gaining_most(label, quota)
        return self._most_wanted(label, quota)

    def _most_wanted(self, label: int, quota: int) -> list[int]:
        """The documents that most of the words in doubt want; none is measured twice."""
        wanted = Counter(document for _, found in self._wishes(label, quota) for document in found)
        return sorted(wanted, key=lambda document: (-wanted[document], document))[:quota]

    def _wishes(self, label: int, quota: int) -> Iterator[tuple[int, list[int]]]:
        """The next documents of each word that the regret hangs on: twice the quota in all, so that there is something
        to choose from."""
        focus = self._focus(label, self._at_stake(label))
        each = -(-2 * quota // max(1, len(focus)))  # rounded up
        for term in focus:
            prefix = int(self._sums.counted[label, term])
            yield term, self._index[label].next_documents(term, prefix, each, self._visited)

    def _may_measure_again(self, label: int) -> bool:
        """Whether samples may be what the list lacks: where second measurements have shown how noisy values are."""
        knows_noise = self._serves_all and bool(self._sums.repeats.any())
        # Measuring comes to no end: a race that is to leave no regret at all tests everything once.
        lacks = 0 < self._settings.regret <= self._forecasts[label].forecast.regret
        return knows_noise and lacks and bool(self._collection.explained[label])

    def _gaining_most(self, label: int, quota: int) -> list[int]:
        """The documents that gain most for a call, be they new or measured before."""
        gain = self._gain_of_new(label, quota)
        again = self._gain_of_further(label)
        gain |= {document: float(again[document]) for document in np.flatnonzero(again).tolist()}
        calls = calls_of(self._calls, np.diff(self._collection.first_occurrence))
        return sorted(gain, key=lambda document: (-gain[document] / calls[document], document))[:quota]

    def _doubts(self, label: int, words: NDArray[np.intp]) -> Doubts:
        """What is in doubt about some words."""
        at_stake = self._at_stake(label)
        doubt = self._doubt(label)[words]
        width = at_stake[words] / np.maximum(doubt, LEAST_DOUBT)
        return Doubts(
            words=words,
            documents=self._known.documents[label, words],
            tested=self._sums.counted[label, words],
            worth=np.divide(doubt, width, out=np.zeros(len(words)), where=width > 0),
            variance=(width / (2 * QUANTILE)) ** 2,
            noise=self._noise_of(label, words),
        )

    def _noise_of(self, label: int, words: Numbers) -> NDArray[np.float64]:
        """The variance of the total of each word by measuring."""
        sums = self._sums
        share = self._known.documents[label, words] / np.maximum(sums.counted[label, words], 1)
        return share**2 * sums.noise[label, words] * sums.noise_factor(label)

    def _gain_of_new(self, label: int, quota: int) -> dict[int, float]:
        """What the next documents of the words in doubt gain."""
        wishes = dict(self._wishes(label, quota))
        worth = self._doubts(label, np.array([*wishes], np.intp)).of_document.tolist()
        gain: Counter[int] = Counter()
        for term, gained in zip(wishes, worth):
            gain.update(dict.fromkeys(wishes[term], gained))
        return dict(gain)

    def _gain_of_further(self, label: int) -> NDArray[np.float64]:
        """What one more measurement of each document gains, (documents,)."""
        # The words that the regret hangs on, tested wherever they stand or not.
        words = ranking(self._at_stake(label), self._known.documents[label], FOCUS * self._settings.top_k)
        doubts = self._doubts(label, words)
        occurrences, sizes = self._index[label].occurrences(doubts.words, np.zeros_like(doubts.tested), doubts.tested)
        worth = np.repeat(np.repeat(doubts.of_noise, doubts.tested), sizes)
        document = self._collection.occurrence_document[occurrences]
        m = self._n_measured[document]
        # The variance of the mean of m measurements, less that of m + 1.
        taken = self._noise[occurrences] / m * self._sums.noise_factor(label) / (m * (m + 1))
        gain = np.bincount(document, worth * taken, minlength=len(self._n_measured))
        return np.where(self._n_measured < MOST_MEASURED, gain, 0.0)

    # --- the words that are to be tested on ---

    def _doubt(self, label: int) -> NDArray[np.float64]:
        """How uncertain the membership of each word is, (terms,): 1/2 where it is a toss of a coin."""
        m = self._forecasts[label].forecast.membership
        doubt = np.zeros(len(self._collection.terms))
        doubt[self._forecasts[label].contenders] = np.sqrt(m * (1 - m))
        return doubt

    def _at_stake(self, label: int) -> NDArray[np.float64]:
        """What a wrong guess about the membership of each word may cost, (terms,): doubt times the width of the
        interval."""
        now = self._forecasts[label]
        at_stake = self._doubt(label)
        at_stake[now.contenders] *= now.forecast.high - now.forecast.low
        return at_stake

    def _unfinished(self, label: int, order: NDArray[np.float64], n: int) -> NDArray[np.intp]:
        """The first n words in an order, the greatest first, among those that are not tested wherever they stand."""
        documents = self._known.documents[label]
        unfinished = self._sums.counted[label] < documents
        return ranking(order, np.where(unfinished, documents, 0), n)

    def _focus(self, label: int, at_stake: NDArray[np.float64]) -> list[int]:
        """The words that the regret hangs on."""
        return self._unfinished(label, at_stake, FOCUS * self._settings.top_k).tolist()


def apportioned(n: int, weights: list[float], had: list[int]) -> list[int]:
    """Give out n tests so that what each word has had in all is as nearly in proportion to its weight as can be: the
    method of Webster and Sainte-Lague for the seats of a parliament.

    >>> apportioned(7, weights=[1.0, 1.0, 0.5], had=[4, 0, 0])
    [1, 4, 2]
    """
    given = _first_given(n, np.array(weights), np.array(had)).tolist() if weights else []
    # The next test goes to the word that has fewest for its weight.
    waiting = [
        ((before + now + 0.5) / weight, i)
        for i, (before, now, weight) in enumerate(zip(had, given, weights))
        if weight > 0
    ]
    heapq.heapify(waiting)
    for _ in range(n - sum(given) if waiting else 0):
        _, i = waiting[0]
        given[i] += 1
        heapq.heapreplace(waiting, ((had[i] + given[i] + 0.5) / weights[i], i))
    return given


def _first_given(n: int, weights: NDArray[np.float64], had: Numbers) -> Numbers:
    """Tests that are surely among the n to be given out, (words,): nearly all of them, at a stroke.

    If all words that are behind came to the same tests for their weight, given out in fractions, that level would take
    exactly n. A word gets what it lacks to it, less one for rounding.
    """
    level = _level(n, weights, had)
    return np.maximum(np.floor(level * weights - had - 1.0), 0.0).astype(np.int64)


def _level(n: int, weights: NDArray[np.float64], had: Numbers) -> float:
    """The level of tests for a weight that n tests in fractions lift the lowest words to."""
    heavy = weights > 0
    order = np.argsort(had[heavy] / weights[heavy], kind="stable")
    # With the first m words at one level: (n + what they had) / what they weigh. m is the first that leaves the next
    # word above it.
    level = (n + np.cumsum(had[heavy][order])) / np.cumsum(weights[heavy][order])
    above = np.append((had[heavy] / weights[heavy])[order][1:], np.inf)
    return float(level[np.argmax(level <= above)]) if heavy.any() else 0.0

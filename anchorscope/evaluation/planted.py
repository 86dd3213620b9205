"""Can this list be believed? Words planted in the user's own model, with the same settings and documents.

What a model really goes by nobody knows. So some neutral words of the collection are made to matter: a wrapper around
the model shifts the log-odds of one label wherever a planted word stands,

    log(p / (1 - p))  ->  log(p / (1 - p)) + shift          the other labels keep their proportions

each word by an amount of its own, from a little to a lot. Then the run is made again on the wrapped model. What a
planted word is worth there is known, and so is what the run should have found.

Words are neutral by measurement: from each of several frequencies some that no list shows are drawn, left out of a few
documents each, and the one that changes the model's answer least is planted. The shifts are dealt to them at random.
Where a word stands is what the run calls so (its setting ``terms``), for the wrapper, the choice and the truth alike.

Where the local score is occlusion, the true score of a planted word is its summed fall over all documents that the
wrapped model gives the label: it is worked out in full and compared with the run's interval. Other scores have no
truth that is cheap; there, ranks are reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import blake2b
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answers_in_batches
from anchorscope.asking.removals import Removals
from anchorscope.errors import InputError
from anchorscope.evaluation.kept import KeptRun
from anchorscope.evaluation.planted_model import PlantedModel
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.result import Result
from anchorscope.scoring.aggregations import aggregation, total
from anchorscope.settings import Settings
from anchorscope.text.terms import terms_of, terms_of_all
from anchorscope.text.words import removals, split, terms

SHIFTS = (0.3, 3.0)
"""The least and the greatest shift, in logits; the others lie between them, each the same times the one before."""

FEWEST_DOCUMENTS = 5
MOST_DOCUMENTS = 0.1
"""A planted word stands in at least so many documents, and at most in this share of them."""

DRAWN = 4
LOOKED_AT = 8
"""Words drawn of each frequency, and documents that each is left out of to see whether it does anything."""

SLACK = 1e-6
"""Values are rounded to this when they are counted: an end of an interval may be off by it, times the documents."""


@dataclass(frozen=True, slots=True)
class Plant:
    """A word to plant: its shift, the documents that hold it, and how much it did by itself (a mean probability)."""

    term: str
    shift: float
    documents: int
    own_effect: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a run found of a planted word; ``truth`` is its true score, where that can be known."""

    plant: Plant
    rank: int
    is_shown: bool
    score: float
    interval: tuple[float, float]
    truth: float | None

    @property
    def is_inside(self) -> bool | None:
        """Whether the true score lies in the interval; None where there is no truth, or no interval yet."""
        if self.truth is None or not isfinite(self.interval[0]) or not isfinite(self.interval[1]):
            return None
        slack = SLACK * self.plant.documents
        return self.interval[0] - slack <= self.truth <= self.interval[1] + slack


@dataclass(frozen=True, slots=True)
class Planting:
    """What a run found of all planted words, the strongest first.

    ``due`` counts those that belong among the top k: whose true score is one of the k best of the true scores of the
    planted words and the scores that the run gives the others; ``texts`` what the model was asked in all.
    """

    label: str
    k: int
    found: tuple[Found, ...]
    due: int | None
    texts: int

    @property
    def n_shown(self) -> int:
        """Planted words in the list."""
        return sum(one.is_shown for one in self.found)

    @property
    def inside(self) -> tuple[int, int]:
        """Planted words whose true score is in its interval, and those that have both."""
        known = [one.is_inside for one in self.found if one.is_inside is not None]
        return sum(known), len(known)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = [
            {**asdict(one), "interval": [x if isfinite(x) else None for x in one.interval], "inside": one.is_inside}
            for one in self.found
        ]
        inside, of = self.inside
        return {**asdict(self), "found": found, "shown": self.n_shown, "inside": inside, "inside_of": of}


def choose(run: KeptRun, label: str, n: int, seed: int = 0) -> list[Plant]:
    """Neutral words over all frequencies, with their shifts; asks the model about ``n_choosing`` texts at most."""
    drawn = _drawn(run, n, seed)
    holders = _holders(run.texts, {word for words in drawn for word in words}, str(run.settings.terms))
    effects = _own_effects(run, label, holders, seed)
    chosen = [min(words, key=lambda word: (effects[word], word)) for words in drawn]
    shifts = np.geomspace(*SHIFTS, n)
    np.random.Generator(np.random.Philox(key=seed)).shuffle(shifts)
    plants = [Plant(w, round(float(s), 3), len(holders[w]), effects[w]) for w, s in zip(chosen, shifts)]
    return sorted(plants, key=lambda plant: -plant.shift)


def n_choosing(n: int) -> int:
    """The texts that choosing n words asks about, at most."""
    return 2 * n * DRAWN * LOOKED_AT


def n_truth(run: KeptRun, n: int) -> int:
    """The texts that the truth about n planted words asks about, at most: each holder, with and without the word."""
    eligible = _eligible(run)
    most = np.sort(_document_counts(run)[eligible])[::-1][:n].sum()
    return int(2 * most) if has_truth(run.settings) else 0


def has_truth(settings: Settings) -> bool:
    """Whether the true score of a planted word can be worked out."""
    adds_up_falls = aggregation(settings.aggregation).score is total and settings.weight == "equal"
    return settings.score == "occlusion" and adds_up_falls


def look_up(
    folder: Path, plants: Sequence[Plant], label: str, model: PlantedModel, texts: Sequence[str], texts_before: int = 0
) -> Planting:
    """What the run in a folder, which was made on the planted model over these texts, found."""
    with closing(RunReader(folder)) as reader:
        settings = reader.settings
        standings = Standings(reader, alpha=settings.alpha, k=settings.top_k)
        rule = aggregation(settings.aggregation)
        row = reader.labels.index(label)
        number = {term: i for i, term in enumerate(reader.terms)}
        scores = standings.scores(rule)[row]
        standing = standings.standing(rule)
        order = standings.ranking(rule, row).tolist()
    result = Result.load(folder)
    shown = {term.term for term in result[label].terms}
    rank = {term: place for place, term in enumerate(order, start=1)}
    truths, n_asked = _truths(plants, label, model, texts) if has_truth(settings) else ({}, 0)
    found = tuple(
        Found(
            plant,
            rank.get(number[plant.term], len(order) + 1),
            plant.term in shown,
            float(scores[number[plant.term]]),
            (float(standing.low[row, number[plant.term]]), float(standing.high[row, number[plant.term]])),
            truths.get(plant.term),
        )
        for plant in plants
        if plant.term in number
    )
    others = [float(scores[term]) for term in order if reader.terms[term] not in truths]
    due = n_due([*truths.values()], others, settings.top_k) if truths else None
    return Planting(label, settings.top_k, found, due, texts_before + result.cost.predictor_texts + n_asked)


def n_due(truths: Sequence[float], others: Sequence[float], k: int) -> int:
    """How many of the true scores are among the k best of them and of the other words' scores.

    >>> n_due([5.0, 2.0, 1.0], [9.0, 4.0, 3.0], 4)
    1
    >>> n_due([5.0, 2.0, 1.0], [9.0, 4.0, 3.0], 5)
    2
    """
    best = sorted([*truths, *others], reverse=True)[:k]
    return sum(truth >= best[-1] for truth in truths)


def _truths(
    plants: Sequence[Plant], label: str, model: PlantedModel, texts: Sequence[str]
) -> tuple[dict[str, float], int]:
    """The summed fall of each planted word over the documents of the label that hold it; and the texts asked."""
    found = {}
    n_asked = 0
    for plant, held in zip(plants, _holders(texts, [plant.term for plant in plants], model.kinds).values()):
        rows = answers_in_batches(model, held, 4096)
        column = model.labels.index(label)
        mine = np.flatnonzero(rows.argmax(axis=1) == column).tolist()
        known = Removals.known(model, [held[i] for i in mine], label, rows[mine, column], kinds=model.kinds)
        found[plant.term] = known.further_drops((), [plant.term]).get(plant.term, 0.0)
        n_asked += len(held) + known.n_texts
    return found, n_asked


def _document_counts(run: KeptRun) -> NDArray[np.int64]:
    """How many documents hold each candidate."""
    return np.asarray(run.tally.documents.sum(axis=0), np.int64)


def _eligible(run: KeptRun) -> NDArray[np.intp]:
    """The candidates that could be planted: plain words, neither too rare nor too frequent, and in no list."""
    counts = _document_counts(run)
    listed = {term.term for one in run.result.explanations.values() for term in (*one.terms, *one.against)}
    # Signs, links and hashtags are no words, though the run may know them; what is planted is to be read as one.
    is_free = np.array([term not in listed and terms(split(term)) == (term,) for term in run.candidates])
    most = max(MOST_DOCUMENTS * len(run.texts), FEWEST_DOCUMENTS)
    return np.flatnonzero(is_free & (counts >= FEWEST_DOCUMENTS) & (counts <= most))


def _drawn(run: KeptRun, n: int, seed: int) -> list[list[str]]:
    """For each of n frequencies, evenly spread on a scale of ratios, some words that are about as frequent."""
    eligible = _eligible(run)
    if len(eligible) < n:
        raise InputError(
            f"--plant {n} needs as many words that stand in {FEWEST_DOCUMENTS} documents and in no list, and there are "
            f"{len(eligible)}: plant fewer, or explain more documents."
        )
    counts = _document_counts(run)[eligible]
    shuffled = sorted(range(len(eligible)), key=lambda i: _hash(seed, run.candidates[eligible[i]]))
    left = {i: int(counts[i]) for i in shuffled}
    wanted = np.geomspace(counts.min(), counts.max(), n)
    each = max(1, min(DRAWN, len(eligible) // n))
    drawn = []
    for frequency in wanted.tolist():
        nearest = sorted(left, key=lambda i: abs(left[i] - frequency))[:each]
        drawn.append([run.candidates[eligible[i]] for i in nearest])
        for i in nearest:
            del left[i]
    return drawn


def _own_effects(run: KeptRun, label: str, holders: Mapping[str, Sequence[str]], seed: int) -> dict[str, float]:
    """How much leaving a word out changes the label's probability, whichever way, in the mean of a few documents."""
    some = {word: sorted(texts, key=lambda text: _hash(seed, text))[:LOOKED_AT] for word, texts in holders.items()}
    pairs = [(word, text) for word, texts in some.items() for text in texts]
    changed = [_without(text, word, str(run.settings.terms)) for word, text in pairs]
    column = run.predictor.labels.index(label)
    rows = answers_in_batches(run.predictor, [*(text for _, text in pairs), *changed], 4096)[:, column]
    changes = np.abs(rows[: len(pairs)] - rows[len(pairs) :])
    words = np.array([word for word, _ in pairs])
    return {word: float(changes[words == word].mean()) for word in some}


def _without(text: str, word: str, kinds: str) -> str:
    places = tuple(place for term, places in terms_of(text, kinds) if term == word for place in places)
    return removals(text, [places])[0]


def _holders(texts: Sequence[str], words: Sequence[str] | set[str], kinds: str) -> dict[str, list[str]]:
    """The texts that hold each word as a term of its own."""
    found: dict[str, list[str]] = {word: [] for word in words}
    for text, held in zip(texts, terms_of_all(texts, kinds)):
        for word in {term for term, _ in held} & found.keys():
            found[word].append(text)
    return found


def _hash(seed: int, text: str) -> bytes:
    return blake2b(f"{seed} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()

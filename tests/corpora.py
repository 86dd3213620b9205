"""Small corpora with verdicts that are fixed beforehand: a scan can be played through without model or engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from anchorscope.planning.collection import Collection, Predictions, collect
from anchorscope.planning.plan import EMPTY_ANCHOR, Round
from anchorscope.planning.scan import Scan
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.tally import Tally, ranking
from anchorscope.settings import Settings
from anchorscope.types import EMPTY, Document


def settings(**given) -> Settings:
    """Settings without stop words, rare words or anything else that stands between a word and its test."""
    plain = {
        "aggregation": "pr",
        "test": "kl",
        "keep": "shared",
        "stop_words": "none",
        "min_occurrences": 1,
        "top_k": 2,
    }
    return Settings(**{**plain, "strategy": "scan", "max_samples": 1000, "round_size": 2, **given})


def corpus(
    texts: Sequence[str],
    predicted: Sequence[int],
    chosen: Settings,
    *,
    labels: Sequence[str] = ("no", "yes"),
    confidence: Sequence[float] | None = None,
) -> Collection:
    """A collection whose predictions are given; without confidences the documents stand in the order of their keys."""
    documents = [Document(f"{i:03}", text) for i, text in enumerate(texts)]
    known = np.array([1.0] * len(texts) if confidence is None else confidence)
    return collect(documents, labels, Predictions(np.array(predicted, np.int64), known), chosen)


@dataclass
class Played:
    """What became of a scan: the tally at the end, the rounds, and how many occurrences were tested."""

    tally: Tally
    scan: Scan
    rounds: list[Round] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)

    @property
    def n_tested(self) -> int:
        return int((self.tally.anchors + self.tally.non_anchors).sum())

    def top(self, label: int, chosen: Settings) -> list[int]:
        values = aggregation(chosen.aggregation).score(self.scan.counted(self.tally), chosen.alpha)
        return ranking(values[label], self.tally.occurrences[label])[: chosen.top_k].tolist()


def play(
    collection: Collection,
    chosen: Settings,
    truth: np.ndarray,
    *,
    values: np.ndarray | None = None,
    scan: Scan | None = None,
) -> Played:
    """Plan rounds and answer them from ``truth``, which says of each occurrence whether it is an anchor."""
    everything = np.arange(len(collection.occurrence_term))
    places = zip(collection.occurrence_document.tolist(), collection.positions_of(everything), strict=True)
    number = {place: occurrence for occurrence, place in enumerate(places)}
    played = Played(collection.tally, scan or Scan(collection, chosen))
    while (round_ := played.scan.next_round(played.tally)) is not None:
        asked = [EMPTY_ANCHOR if p == EMPTY else number[u.document, p] for u in round_.units for p in u.positions]
        assert round_.occurrences.tolist() == asked, "the numbers of a round are not those of its units"
        tested = [occurrence for occurrence in asked if occurrence != EMPTY_ANCHOR]
        labels = collection.predictions.labels[collection.occurrence_document[tested]]
        terms = collection.occurrence_term[tested].astype(np.int64)
        value = None if values is None else values[tested]
        played.tally = played.tally.observe(labels, terms, truth[tested], value)
        for label, term, n in round_.skips:
            played.tally = played.tally.skip(np.array([label]), np.array([term]), np.array([n]))
        played.rounds.append(round_)
        played.tallies.append(played.tally)
        assert len(played.rounds) < 1000, "the scan does not end"
    return played


def random_corpus(
    seed: int, chosen: Settings, n_labels: int = 2, *, anchors: tuple[float, float] = (0.5, 0.9)
) -> tuple[Collection, np.ndarray]:
    """4 to 14 documents over 5 to 9 words of unequal frequency, and a verdict for each occurrence by word and label.

    The share of anchors of a word in a label is drawn from the beta distribution ``anchors``.
    """
    chances = np.random.default_rng(seed)
    words = list("abcdefghi"[: chances.integers(5, 10)])
    frequency = chances.dirichlet(np.full(len(words), 0.8))
    texts = [
        " ".join(chances.choice(words, chances.integers(1, 8), p=frequency)) for _ in range(chances.integers(4, 15))
    ]
    predicted = chances.integers(0, n_labels, len(texts))
    made = corpus(
        texts, predicted, chosen, labels=tuple(f"c{i}" for i in range(n_labels)), confidence=chances.random(len(texts))
    )
    rates = chances.beta(*anchors, (n_labels, len(made.terms)))
    labels = made.predictions.labels[made.occurrence_document]
    return made, chances.random(len(made.occurrence_term)) < rates[labels, made.occurrence_term]

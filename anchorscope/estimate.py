"""What a run would take, said before a costly model is called more than once.

The documents are read and their candidates counted; this is exact, but for the labels: the predictions are not known
yet, so every candidate counts, and neither the filters nor the early end of a race, which can only lessen it, do. How
many samples the tests draw is simulated, with the precisions of a typical task: in a document whose prediction survives
perturbation with probability b, a token's precision is b plus a little. How long a text takes is measured on one batch
each of model and perturbator, after a single text to warm up; large batches are often faster.

>>> from anchorscope.settings import preset
>>> own, shared = preset("paper"), preset("paper", keep="shared")
>>> samples_a_document(shared, n_tests=10) < samples_a_document(own, n_tests=10)
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from math import inf
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.planning.candidates import check_scripts, choose, find_candidates
from anchorscope.planning.collection import check_labels
from anchorscope.sampling.draws import half_masks
from anchorscope.sampling.engine import SHARED_BLOCK
from anchorscope.settings import Settings, check_score, strategy
from anchorscope.text.read import Documents
from anchorscope.text.words import LazyWords
from anchorscope.types import Perturbator, Predictor, Unit, Words

BATCH = 16
"""Texts that the model and the perturbator are asked about, to measure them."""

BACKGROUND = (0.38, 0.52, 0.61, 0.69, 0.75, 0.82, 0.87, 0.92, 0.95, 0.99)
RISE = (-0.07, -0.04, -0.02, 0.0, 0.0, 0.02, 0.03, 0.04, 0.07, 0.12)
"""Precisions in tenths of the cases: that of the empty anchor, and how far a token's lies above it.

Measured on Rotten Tomatoes with TF-IDF, logistic regression and the corpus perturbator, 400 samples a token.
"""

MASKED = {"shared": 0.5, "balanced": 0.5, "own": 0.7}
"""The share of a document's words that a sample masks; under ``own`` it depends on the perturbator."""

OWN_SECONDS = 20e-6
"""What a sample costs besides model and perturbator: to draw it, to write its text, to count it."""

SIMULATED = 400

LOOKED_AT = 1000
"""Documents whose calls are counted, where the local score tells them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Counts and times; ``occurrences`` bounds the tests, the rest is expected.

    ``at_most``: where a strategy may end early, that is what it takes to test everything; most races end before.
    ``unlimited_texts`` are the model calls that it would take without a limit on them, if that is more.
    """

    documents: int
    terms: int
    occurrences: int
    samples: int
    predictor_texts: int
    perturbator_passes: int
    predictor_seconds: float
    perturbator_seconds: float
    own_seconds: float
    measured_on: int
    at_most: bool
    price_per_1000: float | None = None
    predictor_tokens: int = 0
    unlimited_texts: int | None = None

    @property
    def price(self) -> float | None:
        """What the model calls cost, if that is known."""
        return None if self.price_per_1000 is None else self.predictor_texts * self.price_per_1000 / 1000

    @property
    def seconds(self) -> float:
        """All of the time."""
        return self.predictor_seconds + self.perturbator_seconds + self.own_seconds

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = {**asdict(self), "seconds": self.seconds}
        rate = values.pop("price_per_1000")
        return values if rate is None else {**values, "price_per_1000": rate, "price": self.price}

    def to_text(self) -> str:
        """The same as a table for people."""
        parts = (self.predictor_seconds, self.perturbator_seconds, self.own_seconds)
        model, perturbator, own = (timedelta(seconds=round(part)) for part in parts)
        rows = [
            ("documents", self.documents, ""),
            ("candidate terms", self.terms, ""),
            ("tests", self.occurrences, "at most: all labels, no filter, no race won early"),
            *self._asked(),
        ]
        lines = [f"{name:20}{number:>14,}  {remark}".rstrip() for name, number, remark in rows]
        total = timedelta(seconds=round(self.seconds))
        bound = "at most: " if self.at_most else ""
        lines.append(f"{'time':20}{total!s:>14}  {bound}model {model}, perturbator {perturbator}, rest {own}")
        if self.predictor_tokens:
            lines.append(f"{'tokens':20}{self.predictor_tokens:>14,}  {bound}as many a text as the server told here")
        if self.price is not None:
            remark = f"{bound}at {self.price_per_1000:g} per 1,000 calls; kept answers are free"
            lines.append(f"{'price':20}{self.price:>14,.2f}  {remark}")
        measured = f"Times are measured on one text to warm up and one batch of {self.measured_on} texts"
        return "\n".join([*lines, f"{measured}; large batches are often faster."])

    def _asked(self) -> list[tuple[str, int, str]]:
        """The model calls, and what they come from: samples, or documents without a term."""
        if self.unlimited_texts is not None:
            remark = f"the limit that was set; {self.unlimited_texts:,} would test everything"
            return [("model calls", self.predictor_texts, remark)]
        if not self.samples:
            is_one_each = self.predictor_texts == self.documents + self.occurrences
            remark = "the documents, and " + (
                "for each test one without the term" if is_one_each else "those of the score"
            )
            return [("model calls", self.predictor_texts, remark)]
        return [
            ("samples", self.samples, f"{'at most' if self.at_most else 'expected'}, from simulated tests"),
            ("model calls", self.predictor_texts, "the documents and the samples"),
            ("perturbator passes", self.perturbator_passes, ""),
        ]


def estimate(
    documents: Documents,
    predictor: Predictor,
    perturbator: Perturbator | None,
    settings: Settings,
    *,
    workers: int = 1,
    price_per_1000: float | None = None,
    max_model_calls: float = inf,
) -> Estimate:
    """What explaining the documents would take within a number of model calls; asks the model about one batch."""
    check_score(settings, predictor)
    check_labels(predictor.labels, settings)
    chosen, _ = choose(documents.documents, settings)
    check_scripts(chosen, settings)
    texts = [document.text for document in chosen]
    candidates = find_candidates(chosen, settings)
    sizes = np.diff(candidates.first_occurrence)
    n_tested = int((sizes > 0).sum())
    words = LazyWords(texts)
    some = words[:BATCH]
    n_tests = len(candidates.occurrence_term)
    n_samples, n_passes, a_pass = 0, 0, 0.0
    if perturbator is not None:
        fitted = perturbator.fit(words)
        n_words = sum(map(len, some)) / len(some)
        n_samples = round(n_tested * samples_a_document(settings, n_tests=round(sizes.sum() / n_tested)))
        n_passes = round(_passes(settings, n_tested, n_samples, n_words, fitted.knows_originals))
        a_pass = _seconds_a_text(partial(_propose, fitted), some)
    n_changed = n_samples if perturbator is not None else round(_calls(predictor, settings, texts, sizes))
    n_needed = len(chosen) + n_changed
    n_texts = round(min(n_needed, max_model_calls))
    share = n_texts / max(1, n_needed)  # of the rest, too
    a_text = _seconds_a_text(predictor.predict, texts[:BATCH])
    return Estimate(
        documents=len(chosen),
        terms=len(candidates.terms),
        occurrences=n_tests,
        samples=n_samples,
        predictor_texts=n_texts,
        perturbator_passes=n_passes,
        predictor_seconds=a_text * n_texts / workers,
        perturbator_seconds=share * a_pass * n_passes / workers,
        own_seconds=share * OWN_SECONDS * n_changed / workers,
        measured_on=len(some),
        at_most=strategy(settings.strategy).ends_early,
        price_per_1000=price_per_1000,
        predictor_tokens=round(_tokens_a_text(predictor) * n_texts),
        unlimited_texts=n_needed if n_texts < n_needed else None,
    )


def samples_a_document(settings: Settings, *, n_tests: int) -> float:
    """How many samples the tests of a typical document draw, by simulation; the first is of the empty anchor."""
    chance = np.random.default_rng(0)
    test = settings.anchor_test
    background = chance.choice(BACKGROUND, (SIMULATED, 1))
    rise = np.concatenate([np.zeros((SIMULATED, 1)), chance.choice(RISE, (SIMULATED, n_tests))], axis=1)
    precision = np.clip(background + rise, 0.0, 1.0)
    agreements = np.zeros(precision.shape, np.int64)
    samples = np.zeros(precision.shape, np.int64)
    open_ = np.ones(precision.shape, bool)
    tau = np.full(precision.shape, settings.tau)
    while open_.any():
        agreements += np.where(open_, chance.binomial(test.look, precision), 0)
        samples += np.where(open_, test.look, 0)
        open_ &= (test.decide(agreements, samples, tau) == 0) & (samples < test.max_samples)
    if settings.keep == "own":
        read = samples if settings.tests_empty_anchor else samples[:, 1:]
        return float(read.sum(axis=1).mean())
    if test.name == "fixed":
        return test.max_samples
    # A token is in half of the shared samples, the empty anchor in all; the last test to close sets the number.
    samples[:, 1:] *= 2
    block = round(SHARED_BLOCK * test.look)
    return float((np.ceil(samples.max(axis=1) / block) * block).mean())


def _calls(predictor: Predictor, settings: Settings, texts: Sequence[str], sizes: NDArray[np.int64]) -> float:
    """Texts for the model where none is perturbed: as many as the local score says of some documents, for all."""
    score = registry.resolve("score", str(settings.score))(predictor, None, settings)
    if not score.shares_calls:
        return float(sizes.sum())
    tested = np.flatnonzero(sizes)
    if not len(tested):
        return 0.0
    some = [score.calls(Unit(0, texts[number], 0, ((0,),), (1.0,))) for number in tested[:LOOKED_AT].tolist()]
    return float(np.mean(some)) * len(tested)


def _passes(settings: Settings, n_tested: int, n_samples: int, n_words: float, knows_originals: bool) -> float:
    """Texts for the perturbator."""
    own = n_tested * n_words if settings.keep == "own" and knows_originals else 0.0
    fills = {
        "blind": 1,
        "bank": n_tested * 2 * settings.bank_pairs,
        "one-pass": n_samples,
        "one-by-one": n_samples * MASKED[settings.keep] * n_words,
    }
    return own + fills[settings.fill]


def _propose(perturbator: Perturbator, texts: Sequence[Words]) -> None:
    masks = [half_masks(seed=0, text="", stream=0, n_words=len(words), n_pairs=1)[0] for words in texts]
    perturbator.propose(texts, masks)


def _tokens_a_text(predictor: Predictor) -> float:
    """The tokens a text of all answers so far; 0 where nobody tells them."""
    meter = getattr(predictor, "meter", None)
    return meter.tokens / meter.sent if meter is not None and meter.sent else 0.0


def _seconds_a_text(ask: Callable[[Any], Any], texts: Sequence[Any]) -> float:
    ask(texts[:1])
    start = perf_counter()
    ask(texts)
    return (perf_counter() - start) / len(texts)

"""The loop of a run: plan a round, have it measured, write it down, count it, say what is known.

A round that the calls or the seconds left do not suffice for is measured as far as they do, and ends the run. Where
time is limited a round is measured in pieces, each of which is to take a share of what is left; when time is up in one
of them all the same, that piece is lost. A run that goes on with more measures the rest of the round first, and ends as
if there had been enough at once. Closed rounds of a journal are planned again (planning is a pure function of what was
counted) and their measurements are read instead of made. The loop knows no screen and no files but the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite
from pathlib import Path
from time import monotonic

import numpy as np

from anchorscope import registry
from anchorscope.asking.answers import about
from anchorscope.asking.budget import MAX_MODEL_CALLS, Budget, CallsSpentError
from anchorscope.asking.predicting import least_calls
from anchorscope.asking.retry import RetryingPredictor
from anchorscope.errors import ModelError, RunFolderError
from anchorscope.explanations import Shown, explanation
from anchorscope.journal import evidence
from anchorscope.journal.measurements import measurements_in, rows_of
from anchorscope.journal.writer import Journal
from anchorscope.local_scores.culprit import unit_of
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.planning.collection import Collection
from anchorscope.planning.ledger import Ledger
from anchorscope.planning.plan import Round, Strategy
from anchorscope.sampling.engine import Engine
from anchorscope.scoring.aggregations import aggregation
from anchorscope.settings import Settings
from anchorscope.types import Backend, Cost, Measurements, Perturbator, Snapshot, Unit, counts_anchors

TIME_SHARE = 0.25
"""The share of the time left that a piece of a round is to take."""


class Clock:
    """Time in pieces that add up."""

    def __init__(self) -> None:
        self._last = monotonic()

    def spent(self) -> Cost:
        """The time since this was last asked."""
        now = monotonic()
        last, self._last = self._last, now
        return Cost(seconds=now - last)

    def running(self) -> Cost:
        """The time since the last piece was taken, which is still open."""
        return Cost(seconds=monotonic() - self._last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a loop works with; ``folder`` is where its journal is, for sentences. Whoever made the backend closes it.

    Of ``n_documents`` all are predicted, unless the strategy ``draws`` as many as the calls suffice for.
    """

    predictor: RetryingPredictor
    perturbator: Perturbator | None
    settings: Settings
    budget: Budget
    score: MeteredScore
    backend: Backend
    journal: Journal | None
    folder: Path | None
    keep_texts: bool
    n_documents: int
    draws: bool


class Loop:
    """The rounds of one run over one collection; ``finished`` says that nothing was left to do."""

    def __init__(self, collection: Collection, parts: Parts, cost: Cost, clock: Clock) -> None:
        self.finished = False
        self._collection = collection
        self._parts = parts
        self._clock = clock
        self._cost = cost + clock.spent()
        self._number = 0
        settings = parts.settings
        self._aggregation = aggregation(settings.aggregation)
        self._score = parts.score
        self._counts_anchors = counts_anchors(parts.score)
        self._backend = parts.backend
        self._strategy: Strategy = registry.resolve("strategy", settings.strategy)(collection, settings)
        self._ledger = Ledger(collection, self._strategy, settings.empty_anchor_rule)
        self._closed = parts.journal.closed_rounds() if parts.journal else {}
        self._n_measured = 0
        self._pace = inf  # seconds that a unit took in the last piece
        self._is_short = False  # whether the last round could not be afforded in full
        self._ended_by: str | None = None
        self._rest: Round | None = None  # what of the last round could not be measured
        self._takes: int | None = None

    def snapshots(self) -> Iterator[Snapshot]:
        """What is known after each round; the last one is finished."""
        journal = self._parts.journal
        if journal and journal.meta().get("ended_by"):
            journal.begin({"ended_by": None})  # it goes on
        shown = self._view()
        yield shown
        while self._may_go_on():
            round_ = self._strategy.next_round(self._ledger.tally)
            if round_ is None:
                self.finished = True
                break
            if not self._close(round_):
                break
            shown = self._view()
            if journal:
                journal.write_moment(self._number, evidence.moment(shown))
            yield shown
        if not self.finished:
            self._ended_by = self._parts.budget.ended_by(self._cost + self._clock.running())
        if self._ended_by == MAX_MODEL_CALLS:
            self._takes = self._calls_to_first_test()
        self._write_evidence(shown)
        self._cost += self._clock.spent()
        if journal and self._ended_by:
            journal.begin({"ended_by": self._ended_by, "takes": self._takes})
        yield replace(self._view(), finished=True)

    def _may_go_on(self) -> bool:
        if self._number in self._closed:
            return True
        return not self._is_short and not self._parts.budget.is_spent(self._cost + self._clock.running())

    def _close(self, round_: Round) -> bool:
        """Measure a round, or read what it measured; False if not even its first unit could be afforded."""
        journal = self._parts.journal
        found, spent = self._known(round_)
        n_known = len(found)
        first, rest = _divided(round_, n_known)
        # What is written down is not measured again; the rest comes in pieces, as far as time and calls go.
        while rest is not None and not self._parts.budget.is_spent(self._cost + spent + self._clock.running()):
            more, cost = self._measure(rest, self._cost + spent)
            spent += cost
            if not len(more):
                break
            found = Measurements.join((found, more))
            first, rest = _divided(round_, len(found))
        n_found = len(found)
        is_new = self._number not in self._closed or n_found > n_known
        if is_new:  # a round that was only read has its seconds written down
            spent += self._clock.spent()
        self._cost += spent
        self._is_short = rest is not None
        self._rest = rest
        if round_.units and not n_found:
            return False
        # Counted before it is written: the prefixes that are written are those after this round.
        self._ledger.add(first, found)
        if journal is not None and is_new:
            rows = rows_of(first, found, self._collection)
            journal.write_round(self._number, rows, first.skips, self._strategy.prefixes(), spent)
        if journal is not None and self._number == 0:
            journal.write_placebo(self._strategy.placebo())
        self._n_measured += n_found
        self._number += 1
        return True

    def _calls_to_first_test(self) -> int | None:
        """How many calls a run would take, about, to come to its first test, whether it goes on or draws its documents
        anew; None where there was a test."""
        if self._n_measured:
            return None
        planned = self._rest or self._strategy.next_round(self._ledger.tally)
        if planned is None or not planned.units:
            return None
        unit = planned.units[0]
        n_calls = self._most_calls(unit if self._score.shares_calls else unit.first(1))
        spent = self._cost.answers
        n_besides = spent - int(self._collection.n_documents.sum())  # tries that failed, for example
        anew = least_calls(self._parts.n_documents, n_besides + n_calls, draws=self._parts.draws)
        return max(ceil(spent + n_calls), anew)

    def _most_calls(self, unit: Unit) -> float:
        """What a unit takes at most: where a test stops when it can tell, as many samples as it may take."""
        n_calls = self._score.calls(unit)
        return n_calls if isfinite(n_calls) else self._parts.settings.max_samples * len(unit)

    def _known(self, round_: Round) -> tuple[Measurements, Cost]:
        """What is written down of a round, if it is the one that is planned now, or its first units; and its cost."""
        journal = self._parts.journal
        if journal is None or self._number not in self._closed:
            return Measurements.join(()), Cost()
        rows = journal.read_round(self._number)
        divided = round_.split(len(rows))
        found = measurements_in(rows, divided[0], self._collection) if divided else None
        if found is None:
            raise RunFolderError(
                f"Round {self._number} in the journal of {self._parts.folder} holds other tests than this version "
                "plans; start afresh in another --out."
            )
        return found, self._closed[self._number]

    def _measure(self, round_: Round, cost: Cost) -> tuple[Measurements, Cost]:
        """What a round measures after so much cost; where the model is at fault, the error names the document."""
        parts = self._parts
        meter = parts.predictor.meter
        before = meter.answers
        begun = monotonic()
        left = parts.budget.calls_left(cost)
        seconds = parts.budget.seconds_left(cost + self._clock.running())
        units = self._in_time(round_.units, seconds)
        meter.end_in(seconds)
        try:
            found = self._backend.measure(units, left)
            self._pace = max(monotonic() - begun, 1e-9) / len(units)
            return found
        except ModelError as error:
            # To find the document its texts are made again; where a test may stop early that asks the model, so no more
            # than what is left.
            meter.allow(max(0.0, left - (meter.answers - before)))
            unit = unit_of(error.text, round_.units, parts.predictor, parts.perturbator, parts.settings)
            if unit is None:
                raise
            key = self._collection.documents[unit.document].key
            raise about(error, f"a changed text of document {key}") from error.__cause__
        finally:
            meter.end_in(inf)

    def _in_time(self, units: Sequence[Unit], seconds: float) -> Sequence[Unit]:
        """As many of the first units as take a share of the time left, by the pace of the last ones; one at least."""
        if not isfinite(seconds):
            return units
        return units[: max(1, int(min(len(units), seconds * TIME_SHARE / self._pace)))]

    def _write_evidence(self, shown: Snapshot) -> None:
        """Write down what a report shows besides counts, as far as the calls left suffice."""
        journal, settings = self._parts.journal, self._parts.settings
        if journal is None or journal.meta().get("evidence") == self._n_measured:
            return
        if self._parts.keep_texts:
            texts = evidence.texts_of_terms(self._collection, self._ledger, shown, by_value=not self._counts_anchors)
            journal.write_texts(texts)
        budget = self._parts.budget
        if budget.is_spent(self._cost + self._clock.running()):
            return
        meter = self._parts.predictor.meter
        # The meter has counted all along: what it counts from here on is the evidence's.
        before = Cost(predictor_texts=-meter.sent, predictor_tokens=-meter.tokens, kept_answers=-meter.found)
        meter.allow(budget.calls_left(self._cost))
        meter.end_in(budget.seconds_left(self._cost + self._clock.running()))
        # Where calls run out on the way, what is written stays, without the mark that the evidence is complete.
        with suppress(CallsSpentError):
            curves = evidence.aopc_curves(self._parts.predictor, self._collection, shown, settings)
            journal.begin({"aopc": curves})
            if self._score.tests_anchors:
                rows = self._samples(shown)
                journal.write_evidence(rows if self._parts.keep_texts else evidence.without_texts(rows))
            journal.begin({"evidence": self._n_measured})
        meter.allow(inf)
        meter.end_in(inf)
        self._cost += before + Cost(predictor_texts=meter.sent, predictor_tokens=meter.tokens, kept_answers=meter.found)

    def _samples(self, shown: Snapshot) -> list[evidence.Row]:
        """Perturbed texts of the shown terms."""
        parts, settings = self._parts, self._parts.settings
        assert parts.perturbator is not None, "anchors are tested on perturbed texts"
        engine = Engine(parts.predictor, parts.perturbator, settings.sampling, settings.anchor_test)
        return evidence.samples_of_terms(engine, self._collection, self._ledger, shown, settings.tau)

    def _view(self) -> Snapshot:
        """The snapshot of this moment."""
        tally = self._ledger.tally
        settings = self._parts.settings
        collection = self._collection
        shown = Shown(
            terms=collection.terms,
            written=collection.written,
            tally=tally,
            scores=self._aggregation.score(self._strategy.counted(tally), settings.alpha),
            standing=self._strategy.standing(tally),
            aggregation=self._aggregation,
            counts_anchors=self._counts_anchors,
            n_documents=collection.n_documents_in_all,
            n_asked=collection.n_documents,
            n_robust=self._ledger.n_robust(),
            n_robust_of=self._ledger.n_visited(),
            drawn=not isfinite(self._parts.budget.max_model_calls),
            ended_by=self._ended_by,
            takes=self._takes,
            greatest=self._ledger.greatest,
        )
        explanations = {
            collection.labels[label]: explanation(
                shown, collection.labels[label], label, settings.top_k, examples=self._ledger.example_keys
            )
            for label in np.flatnonzero(collection.explained).tolist()
        }
        return Snapshot(
            explanations=explanations,
            round=self._number,
            tests_planned=self._strategy.tests_left(tally),
            settled=all(e.settled for e in explanations.values()),
            interval_level=self._strategy.interval_level,
            cost=self._cost,
            ended_by=self._ended_by,
        )


def _divided(round_: Round, n_rows: int) -> tuple[Round, Round | None]:
    if n_rows == len(round_.occurrences):  # as most often: all of it
        return round_, None
    divided = round_.split(n_rows)
    assert divided is not None, "a backend answers whole units"
    return divided

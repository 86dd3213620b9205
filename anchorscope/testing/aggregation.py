"""What every aggregation promises. What makes one takes nothing: ``lambda: MY_AGGREGATION``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from anchorscope.scoring.aggregation import Aggregation, DrawnTotals
from anchorscope.scoring.tally import VALUE_UNIT, Tally
from anchorscope.testing.work import random_tally

CORPORA = 40
SLACK = 1e-9

Make = Callable[[], Aggregation]


def has_what_the_contract_names(make: Make) -> None:
    """A name, a line of help, and what it reads."""
    one = make()
    assert isinstance(one, Aggregation)
    assert one.name and one.help and "\n" not in one.help
    assert one.reads in ("values", "verdicts", "counts")


def scores_every_label_and_term(make: Make) -> None:
    """(labels, terms), finite, whatever was counted; nothing counted included."""
    one = make()
    generator = np.random.default_rng(0)
    for tally in (Tally.zero(2, 3), *(random_tally(generator, complete=bool(i % 2)) for i in range(CORPORA))):
        scores = one.score(tally, 0.5)
        assert scores.shape == tally.anchors.shape
        assert np.isfinite(scores).all()


def leaves_the_tally_as_it_is(make: Make) -> None:
    """A score is a function: the same tally gives the same score, and stays."""
    one = make()
    tally = random_tally(np.random.default_rng(1), complete=True)
    before = [getattr(tally, name).copy() for name in tally.__slots__]
    first = one.score(tally, 0.5)
    second = one.score(tally, 0.5)
    assert np.array_equal(first, second)
    assert all(np.array_equal(old, getattr(tally, name)) for old, name in zip(before, tally.__slots__))


def holds_the_final_score_in_its_interval(make: Make) -> None:
    """However the open occurrences turn out; where it has no interval, there is nothing to hold."""
    one = make()
    generator = np.random.default_rng(2)
    for _ in range(CORPORA if one.is_bounded else 0):
        tally = random_tally(generator, complete=False)
        low, high = one.interval(tally, 0.5)
        final = one.score(_finished(tally, generator), 0.5)
        assert (final >= low - SLACK).all() and (final <= high + SLACK).all()


def reads_totals_as_it_reads_tallies(make: Make) -> None:
    """Where it can race: the scores of the true totals are the scores of the complete tally, in its own scale."""
    one = make()
    generator = np.random.default_rng(3)
    if one.additive is None:
        return
    tally = random_tally(generator, complete=True)
    expected = one.score(tally, 0.5)
    for label in range(len(expected)):
        drawn = tally.anchors[label] if one.additive.quantity == "anchors" else tally.values[label] * VALUE_UNIT
        totals = DrawnTotals(
            drawn=drawn[None].astype(np.float64),
            occurrences=tally.occurrences[label],
            training=tally.training,
            of_all=np.array([[float(drawn.sum())]]),
            n_of_all=int(tally.occurrences[label].sum()),
            alpha=0.5,
        )
        scores = totals.drawn if one.additive.scores is None else one.additive.scores(totals)
        shown = scores if one.additive.shown is None else one.additive.shown(scores, scores)
        assert np.allclose(shown[0], expected[label])


def _finished(tally: Tally, generator: np.random.Generator) -> Tally:
    """The open occurrences tested, with any outcome."""
    open_ = tally.untested
    anchors = generator.integers(0, open_ + 1)
    values = tally.values + np.rint(generator.uniform(-1, 1, open_.shape) * open_ / VALUE_UNIT).astype(np.int64)
    return replace(
        tally, anchors=tally.anchors + anchors, non_anchors=tally.non_anchors + open_ - anchors, values=values
    )


CHECKS = (
    has_what_the_contract_names,
    scores_every_label_and_term,
    leaves_the_tally_as_it_is,
    holds_the_final_score_in_its_interval,
    reads_totals_as_it_reads_tallies,
)

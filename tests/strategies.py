"""Random tallies and corpora for the tests of the core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product

import numpy as np
from hypothesis import strategies as st

from anchorscope.scoring.tally import Tally


def tally(anchors, non_anchors, untested=None, *, skipped=None, documents=None, training=None) -> Tally:
    """A tally from rows (labels) of counts a term; ``untested`` occurrences have no verdict yet."""
    a, b = np.atleast_2d(np.array(anchors, np.int64)), np.atleast_2d(np.array(non_anchors, np.int64))
    r = np.zeros_like(a) if untested is None else np.atleast_2d(np.array(untested, np.int64))
    n = a + b + r
    return replace(
        Tally.zero(*a.shape),
        anchors=a,
        non_anchors=b,
        skipped=np.zeros_like(a) if skipped is None else np.atleast_2d(np.array(skipped, np.int64)),
        occurrences=n,
        documents=n if documents is None else np.atleast_2d(np.array(documents, np.int64)),
        training=n.sum(axis=0) if training is None else np.array(training, np.int64),
    )


def random_tally(chances: np.random.Generator, n_labels: int, n_terms: int, most: int, most_open: int) -> Tally:
    """Up to ``most`` anchors and non-anchors and ``most_open`` untested occurrences in each cell."""
    shape = n_labels, n_terms
    return tally(
        chances.integers(0, most + 1, shape),
        chances.integers(0, most + 1, shape),
        chances.integers(0, most_open + 1, shape),
    )


def completions(open_: Tally) -> Iterator[Tally]:
    """Every way in which the untested occurrences can turn out."""
    r = open_.untested
    for extra in product(*(range(n + 1) for n in r.ravel().tolist())):
        more = np.array(extra, np.int64).reshape(r.shape)
        yield replace(
            open_,
            anchors=open_.anchors + more,
            non_anchors=open_.non_anchors + r - more,
            skipped=np.zeros_like(open_.skipped),
        )


def tallies(n_labels: int = 2, n_terms: int = 3, most: int = 5) -> st.SearchStrategy[Tally]:
    """Tallies of one shape, for sums."""
    zero = Tally.zero(n_labels, n_terms)

    def counts(shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
        size = int(np.prod(shape))
        cells = st.lists(st.integers(0, most), min_size=size, max_size=size)
        return cells.map(lambda values: np.array(values, np.int64).reshape(shape))

    return st.builds(Tally, *(counts(getattr(zero, field.name).shape) for field in fields(Tally)))

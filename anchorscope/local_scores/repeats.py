"""Some documents are measured twice, so that it is known how good the variances are that measurements tell.

Samples that are weighed against each other differ less from one measurement to the next than independent ones would; a
regression on few samples differs in ways of its own. Either way a single measurement tells its variance badly. One
document in ``REPEATED``, by a hash of its text, is measured with a second seed, and what the two tell of each other is
pooled over all words (``forecasts.py``).
"""

from __future__ import annotations

from hashlib import blake2b

from anchorscope.types import Unit

REPEATED = 8
"""One document in so many is measured twice."""

_PLACE = 62
"""Bits of a seed: the number of a measurement stands before them."""


def is_repeated(unit: Unit) -> bool:
    """Whether a document is measured twice at first; that depends on its text alone."""
    digest = blake2b(unit.text.encode("utf-8", "surrogatepass"), digest_size=2).digest()
    return not unit.number and digest[0] % REPEATED == 0


def seed_of_measurement(seed: int, number: int) -> int:
    """The seed of a document's measurement of a number: the run's own for the first, 0.

    >>> seed_of_measurement(7, 0), seed_of_measurement(7, 1) == 7 + 2**62
    (7, True)
    """
    return seed ^ (number << _PLACE)

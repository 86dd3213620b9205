"""Numbers as they are shown, the same in the terminal, in a notebook and on the page (``page/dom.js``).

A score has three digits that count. Halves go away from zero; what is rounded is the decimal value to nine digits,
which is what the page holds, so that 0.285 is 0.29 for every reader, though a computer's 0.285 is a little less.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from math import isfinite

DIGITS = 3
"""Of a score, those that count."""

SMALLEST, LARGEST = 0.001, 1e6
"""What is less, or not less, is written as a power of ten."""

NO_NUMBER = "–"
"""What stands where a value is infinite or none."""

EXACT = Context(prec=400)
"""Every digit of the largest float, 309 before the point, and of its places: the usual 28 digits do not hold 1e300."""


def figure(value: float, digits: int = DIGITS) -> str:
    """A number with so many digits that count, the whole part always in full.

    >>> figure(20), figure(-9.755), figure(1234.5), figure(0.00001234), figure(617.3, 2)
    ('20.0', '-9.76', '1,235', '1.2e-5', '617')
    """
    if not isfinite(value):
        return NO_NUMBER
    exact = _decimal(value)
    if not exact:
        return "0"
    if not SMALLEST <= abs(exact) < LARGEST:
        shown = _to_places(exact, 1 - exact.adjusted())
        return f"{shown.scaleb(-shown.adjusted()):.1f}e{shown.adjusted()}"
    shown = _to_places(exact, max(0, digits - 1 - exact.adjusted()))
    return f"{shown:,.{max(0, digits - 1 - shown.adjusted())}f}"  # 9.996 has become 10.00: a digit less


def fixed(value: float, places: int) -> str:
    """A number with so many places behind the point; there is no minus before a 0.

    >>> fixed(0.0125, 3), fixed(-0.285, 2), fixed(-0.0001, 2), fixed(float("nan"), 2)
    ('0.013', '-0.29', '0.00', '–')
    """
    if not isfinite(value):
        return NO_NUMBER
    return f"{EXACT.plus(_to_places(_decimal(value), places)):f}"


def signed(value: float, places: int) -> str:
    """The same with a plus before what is more than 0.

    >>> signed(0.0125, 3), signed(-0.0125, 3), signed(0.0001, 3)
    ('+0.013', '-0.013', '0.000')
    """
    shown = fixed(value, places)
    return f"+{shown}" if isfinite(value) and float(shown) > 0 else shown


def percent(share: float, places: int = 0) -> str:
    """A share as a percentage.

    >>> percent(0.285), percent(0.0145, 1)
    ('29%', '1.5%')
    """
    shown = fixed(100 * share, places)
    return shown if shown == NO_NUMBER else f"{shown}%"


def _decimal(value: float) -> Decimal:
    return Decimal(f"{value:.9g}")


def _to_places(exact: Decimal, places: int) -> Decimal:
    return exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, EXACT)

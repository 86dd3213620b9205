"""Numbers as they are shown: any float that there is has a figure, the largest ones and those that are none too."""

from __future__ import annotations

from math import inf, nan
from sys import float_info

import pytest

from anchorscope.report.figures import figure, fixed, percent, signed

LARGE = "1" + 300 * "0"


def test_a_large_number_has_all_its_digits() -> None:
    """1e300 is a one and three hundred zeros, and has places as any other number."""
    assert fixed(1e300, 3) == f"{LARGE}.000" and fixed(-1e300, 0) == f"-{LARGE}"
    assert signed(1e300, 2) == f"+{LARGE}.00" and signed(-1e300, 2) == f"-{LARGE}.00"
    assert percent(1e298) == f"{LARGE}%" and figure(1e300) == "1.0e300"


@pytest.mark.parametrize("value", [float_info.max, -float_info.max, float_info.min, -5e-324])
def test_the_largest_and_the_smallest_numbers_are_shown(value: float) -> None:
    shown = fixed(value, 3)
    assert float(shown) == pytest.approx(value, rel=1e-8, abs=1e-3)
    assert signed(value, 3) == (f"+{shown}" if value > 1 else shown)
    assert figure(value) in ("1.8e308", "-1.8e308", "2.2e-308", "-4.9e-324")


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_what_is_no_number_has_no_sign_and_no_digits(value: float) -> None:
    assert figure(value) == fixed(value, 3) == signed(value, 3) == percent(value, 1) == "–"


def test_a_sign_stands_before_what_is_more_than_nothing() -> None:
    assert [signed(value, 1) for value in (0.05, 0.04, 0.0, -0.04, -0.05)] == ["+0.1", "0.0", "0.0", "0.0", "-0.1"]

"""Names that every JavaScript object has are names like any other: of a label, a term, or in the address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from runs import finish, make_run

from anchorscope.report.page import write_report
from anchorscope.testing import WeightPredictor

NAMES = ("constructor", "__proto__")
TEXTS = [
    "the constructor was toString",
    "a hasOwnProperty valueOf film",
    "constructor valueOf",
    "toString and film",
] * 4


class Named(WeightPredictor):
    labels = NAMES


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("names") / "run"
    finish(make_run(TEXTS, model=Named({"constructor": 2.0, "film": -2.0}), folder=folder, tau=0.6))
    return write_report(folder, against=folder).as_uri()


def test_labels_and_terms(report: str, open_page: Callable[..., Any]) -> None:
    watched = open_page(report)
    shown = watched.page.inner_text("body")
    assert all(name in shown for name in NAMES) and not watched.faults


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString", "words/constructor", "%"])
def test_behind_the_address(name: str, report: str, open_page: Callable[..., Any]) -> None:
    """It shows the first view, as for any name that there is not."""
    first = open_page(report).page.inner_text("nav")
    watched = open_page(f"{report}#{name}")
    assert watched.page.inner_text("nav") == first and not watched.faults

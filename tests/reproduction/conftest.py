"""A task's data, and a pass over it."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproductions import SETTINGS, a_drawing, a_plan, a_subject, sentences, settings_of, write_table

from anchorscope.reproduction import driver
from anchorscope.reproduction.measure import draw


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tasks as text,label files."""
    folder = tmp_path_factory.mktemp("data")
    write_table(folder / "rotten_tomatoes.csv", ["text", "label"], [list(row) for row in sentences(120)])
    write_table(folder / "corona_train_3class.csv", ["text", "label"], [list(row) for row in sentences(120, seed=1)])
    return folder


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Agreements of the setting that reads deepest with a fixed threshold, as they come back from the disk."""
    folder = tmp_path_factory.mktemp("drawn")
    for name in ("unoptimised", "masking"):
        drawing = a_drawing(folder, settings_of(name).top_n)
        draw(a_subject(), settings_of(name, 40), drawing)
        drawing.agreements.save()
        drawing.keep.save()
    return folder


@pytest.fixture(scope="session")
def a_pass(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small pass through most of the grid, in two calls with different seeds."""
    out = tmp_path_factory.mktemp("pass")
    for seed in (42, 84):
        plan = a_plan(out, data, seeds=[seed])
        outcome = driver.reproduce(plan, lambda sentence: None)
        assert (outcome.made, outcome.left) == (len(SETTINGS), 0), outcome.left_out
    return out

"""The benchmark of scale: what it plays is what it says, and lines are varied only where there are too few."""

from __future__ import annotations

from pathlib import Path
from time import thread_time

import numpy as np

from anchorscope.testing import WeightPredictor
from anchorscope.text.blocks import ParquetBlocks
from benchmarks import scale_page
from benchmarks.busy import BusyPredictor
from benchmarks.scale import write_lines, write_parquet
from benchmarks.scale_simulation import LINK, Pass, play


def test_two_workers_take_half_as_long_until_the_driver_is_the_slowest() -> None:
    """Four blocks of a second by two workers: the last two answers come at 2, and are merged at 2.25 and 2.5."""
    assert play(Pass("quick driver", 1.0, 0.25, 0.0), 4, 2).seconds == 2.5
    slow = play(Pass("slow driver", 1.0, 2.0, 0.0), 4, 2)
    assert (slow.seconds, slow.driver) == (9.0, 8.0)


def test_answers_pass_one_link() -> None:
    """Two answers that take the link a second each: it is free after 1 + 2."""
    assert play(Pass("large answers", 1.0, 0.0, LINK), 2, 2).seconds == 3.0


def test_lines_are_varied_where_there_are_too_few(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    assert write_lines(["a b c", "d e"], 5, path) == 3
    written = path.read_text(encoding="utf-8").splitlines()
    assert written[:2] == ["a b c", "d e"] and len(written) == 5
    assert [sorted(line.split()) for line in written[2:]] == [["a", "b", "c"], ["d", "e"], ["a", "b", "c"]]
    write_parquet(path)
    assert [*ParquetBlocks([tmp_path / "lines"]).over(list)] == [written]


def test_a_busy_model_answers_the_same_and_works_so_long() -> None:
    """Twenty texts at 5 milliseconds are a tenth of a second of this thread's own time."""
    model = WeightPredictor({"great": 2.0})
    texts = ["a great film", "a film"] * 10
    before = thread_time()
    rows = BusyPredictor(model, 5).predict(texts)
    assert thread_time() - before >= 0.1
    assert np.array_equal(rows, model.predict(texts))


def test_the_tables_of_the_page_are_those_of_the_rows() -> None:
    page = scale_page.PAGE.read_text(encoding="utf-8")
    assert scale_page.redrawn(page) == page
    assert {name for name in scale_page.TABLES if f"<!-- scale: {name} -->" not in page} == set()

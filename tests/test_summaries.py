"""What the first lines of a page say in short is what its rows say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import written

Rows = list[dict[str, Any]]


def rows(name: str) -> Rows:
    """The rows of a file of docs/data."""
    return list(json.loads((written.DATA / f"{name}.json").read_text(encoding="utf-8"))["rows"])


def row(name: str, **known: Any) -> dict[str, Any]:
    """The one row that has these values."""
    (found,) = (row for row in rows(name) if known.items() <= row.items())
    return found


def in_short(page: str) -> str:
    """The list at the top of a page, in one line."""
    text = (written.DATA.parent / f"{page}.md").read_text(encoding="utf-8")
    return " ".join(text.split("In short", 1)[1].split("\n## ", 1)[0].split())


def share(value: float) -> str:
    """Two digits, without a zero before the point."""
    return f"{value:.2f}".lstrip("0") if value < 1 else f"{value:.1f}"


def of_performance() -> list[str]:
    """What the page of performance has to say."""
    own = [row for row in rows("own_time") if row["regret"] == 0.02]
    least, most = (pick(row["own"] for row in own) for pick in (min, max))
    cheap, dear = (pick(row["a call"] for row in own) for pick in (min, max))
    fast, scan = ([row(name, run=run)["share"] for name in ("encoder", "encoder_cuda")] for run in RUNS)
    first, last = rows("many_labels")[0], rows("many_labels")[-1]
    return [
        f"takes {least:.0f} and {most:.0f} times the model's own time",
        f"What is added is {cheap:.0f} and {dear:.0f} microseconds a call",
        f"the default reaches {fast[0]:.0%} (CPU) and {fast[1]:.0%} (H200) of the throughput",
        f"A scan of the same texts reaches {scan[0]:.0%} and {scan[1]:.0%}",
        f"a first table after {first['seconds']:.0f} seconds, all lists settled after {last['seconds']:.0f}",
    ]


RUNS = ("fast", "fast, every document")


def of_scale() -> list[str]:
    """What the page of scale has to say."""
    held = row("scale_workers", documents=10**6, by="local:1")
    drawn = row("scale_drawn_here", documents=10**7)
    slow, *cheap = (
        row(name, documents=n, by="local:1")["linear_seconds"] / row(name, documents=n, by="local:2")["linear_seconds"]
        for name, n in (("scale_busy", 60_000), ("scale_workers", 10**5), ("scale_workers", 10**6))
    )
    tests = [found["tests"] for name in ("scale_busy", "scale_workers") for found in rows(name)]
    return [
        f"{held['linear_cpu']:.0f} CPU seconds to read, cut and predict them, {held['beyond_seconds']:.0f} seconds by",
        f"{held['peak_mb'] / 1000:.1f} GB of memory",
        f"{drawn['linear_cpu']:.0f} CPU seconds, {drawn['peak_mb']:.0f} MB of memory",
        f"{share(slow)} times as fast with a millisecond a text",
        f"{share(cheap[0])} and {share(cheap[1])} times as fast",
        f"grow little: {min(tests)} to {max(tests)} from 10,000 to 1,000,000 documents",
    ]


@pytest.mark.parametrize("page, told", [("performance", of_performance()), ("scale", of_scale())])
def test_the_first_lines_of_a_page_say_what_its_rows_say(page: str, told: list[str]) -> None:
    said = in_short(page)
    assert [sentence for sentence in told if sentence not in said] == []

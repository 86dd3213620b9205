"""The pictures of docs/rules.md and docs/growth.md, drawn from the tables in docs/data.

python -m benchmarks.pictures          # writes docs/pictures/{rules,tests,settled}.svg
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parents[1] / "docs"
QUIET, OURS, THEIRS = "#b5b5b5", "#0b6e99", "#c2571a"
STYLE = {
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "svg.hashsalt": "anchorscope",
    "svg.fonttype": "none",
}
KINDS = {"linear": "logistic regression", "small": "7 × 256 encoder", "large": "12 × 768 encoder"}


def read(name: str) -> list[dict[str, str]]:
    """The rows of a table."""
    with (DOCS / "data" / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@contextmanager
def picture(name: str, columns: int, size: tuple[float, float], **given: Any) -> Iterator[Sequence[Any]]:
    """Axes to draw on; the file is written at the end."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, columns, figsize=size, squeeze=False, **given)
        yield axes[0]
        figure.tight_layout()
        path = DOCS / "pictures" / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)
        print(f"written to {path.relative_to(DOCS.parent)}")


def rules() -> None:
    """The share of the oracle's AOPC^20: a dot a task and class (mean over seeds), a line at their mean."""
    shares: dict[tuple[str, str], dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in read("rules.csv"):
        shares[row["kind"], row["rule"]][row["task"], row["label"]].append(float(row["share"]))
    names = list(dict.fromkeys(rule for _, rule in shares))[::-1]
    with picture("rules", len(KINDS), (9.5, 1.9), sharey=True, sharex=True) as axes:
        for axis, (kind, title) in zip(axes, KINDS.items()):
            for height, rule in enumerate(names):
                means = [float(np.mean(values)) for values in shares[kind, rule].values()]
                colour = OURS if "gain" in rule else THEIRS
                axis.plot(means, [height] * len(means), "o", color=colour, alpha=0.45, markersize=4, markeredgewidth=0)
                axis.plot([np.mean(means)] * 2, [height - 0.32, height + 0.32], color=colour, linewidth=2)
            axis.axvline(1, color=QUIET, linewidth=0.8, linestyle=":")
            axis.set(title=title, yticks=range(len(names)), yticklabels=names, xlim=(0.3, 1.04))
            axis.tick_params(length=0)
        axes[1].set_xlabel("AOPC$^{20}$ as a share of the oracle's")


def tests() -> None:
    """What each test calls an anchor, and after how many samples, by the true precision of the token."""
    rows = [row for row in read("tests.csv") if float(row["delta"]) == 0.1]
    colours = {"kl": THEIRS, "kl-one-step": QUIET, "sprt": OURS}
    with picture("tests", 2, (8, 2.9)) as (accepted, samples):
        for name, colour in colours.items():
            mine = [row for row in rows if row["test"] == name and float(row["precision"]) >= 0.8]
            precision = [float(row["precision"]) for row in mine]
            accepted.plot(precision, [float(row["accepted"]) for row in mine], color=colour, label=name)
            samples.plot(precision, [float(row["samples"]) for row in mine], color=colour, label=name)
        for axis in (accepted, samples):
            axis.axvline(0.95, color=QUIET, linewidth=0.8, linestyle=":")
            axis.set(xlabel="true precision of the token (τ = 0.95)", xticks=[0.8, 0.85, 0.9, 0.95, 1])
        accepted.set(title="called an anchor", ylim=(0, 1.02))
        samples.set(title="mean samples", ylim=(0, None))
        accepted.legend(frameon=False)


def settled() -> None:
    """Tests a class until the list is settled, beside those of a scan, by the size of the collection."""
    rows = read("settled_corona.csv")
    with picture("settled", 1, (5.5, 3.2)) as (axis,):
        sizes = sorted({int(row["size"]) for row in rows})
        axis.loglog(sizes, [size / 2 for size in sizes], color=THEIRS, label="scan: every occurrence")
        for regret, style in ((0.02, "-"), (0.05, "--")):
            mine = [row for row in rows if float(row["regret_asked"]) == regret]
            means = [np.mean([float(row["tests"]) for row in mine if int(row["size"]) == size]) for size in sizes]
            axis.loglog(sizes, means, style, color=OURS, label=f"race, regret {regret:.0%}")
            axis.loglog(
                [int(row["size"]) for row in mine],
                [float(row["tests"]) for row in mine],
                "o",
                color=OURS,
                alpha=0.35,
                markersize=3,
                markeredgewidth=0,
            )
        axis.set(title="tests a class until settled", xlabel="candidate occurrences in the collection")
        axis.legend(frameon=False)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rules()
    tests()
    settled()

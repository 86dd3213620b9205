"""The pictures of the docs: the tests of docs/rules.md from the table in docs/data, and the page of the README's run.

python -m benchmarks.pictures          # writes docs/pictures/tests.svg and report.png, which needs chromium
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import skops.io

from anchorscope.cli import main
from anchorscope.demo import reviews, train

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


def report() -> None:
    """The page of the run that the README shows, as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise SystemExit("The picture of the page needs a browser: install chromium.")
    path = DOCS / "pictures" / "report.png"
    training, explained = reviews(seed=0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, texts, run = folder / "reviews.skops", folder / "reviews.csv", folder / "runs" / "reviews"
        skops.io.dump(train(training), model)
        with texts.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["text"], *zip(explained.texts)])
        main(["explain", f"{texts}", "--model", f"{model}", "--top-k", "8", "--out", f"{run}", "--quiet"])
        command = [browser, *QUIETLY, f"--user-data-dir={folder / 'own'}", f"--screenshot={path}"]
        subprocess.run([*command, (run / "report.html").as_uri()], check=True, capture_output=True)
    print(f"written to {path.relative_to(DOCS.parent)}")


QUIETLY = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,1100"),
    # Until the page stands still: without the wait it is caught half drawn.
    "--virtual-time-budget=5000",
)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    tests()
    report()

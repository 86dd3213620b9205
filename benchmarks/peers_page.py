"""The tables of the peers in docs/performance.md, from the rows in docs/data: nothing is run again.

    python -m benchmarks.peers_page

Cost is divided by two costs of ours for the very same work, verdicts on the same tokens of the same documents: by that
of our test of anchors, and by that of the same test with a pass of the masked language model a sample. A row over
other documents, that tests no anchors, or of a tool that answers another question, is not divided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import written
from benchmarks.peers import best
from benchmarks.yardsticks_page import read

ANCHORS = "anchorscope, anchors"
A_PASS_A_SAMPLE = f"{ANCHORS}, a pass a sample"
SAME_QUESTION = (ANCHORS, A_PASS_A_SAMPLE, "anchor-exp, own bound")
"""What tells of every token whether it is an anchor."""

HEADS = (
    *("", "documents", "CPU ms a document", "over ours", "over ours, a pass a sample"),
    *("texts, passes a document", "list by"),
)
QUALITY = "AOPC^20 on the same documents; on all (share of the oracle's)"
Row = Mapping[str, str]


def table(rows: Sequence[Row], task: str) -> str:
    """A row a contender, that of our test of anchors first."""
    mine = [row for row in rows if row["task"] == task]
    labels = [*dict.fromkeys(row["label"] for row in mine)]
    names = sorted(dict.fromkeys(row["contender"] for row in mine), key=lambda name: name != ANCHORS)
    ours = {name: next(row for row in mine if row["contender"] == name) for name in (ANCHORS, A_PASS_A_SAMPLE)}
    heads = [*HEADS, f"{labels[0]}: {QUALITY}", *labels[1:]]
    lines = [_line([row for row in mine if row["contender"] == name], ours) for name in names]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *lines))


def _line(rows: Sequence[Row], ours: Mapping[str, Row]) -> list[str]:
    chosen = best([{**row, "aopc_same": float(row["aopc_same"])} for row in rows])
    one = chosen[0]
    return [
        one["contender"],
        f"{int(one['documents']):,}",
        _figure(float(one["cpu_ms_per_document"])),
        _times(one, ours[ANCHORS]),
        _times(one, ours[A_PASS_A_SAMPLE]),
        f"{float(one['texts_per_document']):,.0f}, {_figure(float(one['passes_per_document']))}",
        one["aggregation"],
        *(
            "; ".join(f"{float(row[f'aopc_{s}']):.3f} ({float(row[f'share_{s}']):.2f})" for s in ("same", "all"))
            for row in chosen
        ),
    ]


def _times(row: Row, ours: Row) -> str:
    """Its cost over ours; a dash where it had other documents, or another question."""
    if row["contender"] not in SAME_QUESTION or row["documents"] != ours["documents"]:
        return "–"
    return _figure(float(row["cpu_ms_per_document"]) / float(ours["cpu_ms_per_document"]))


def _figure(value: float) -> str:
    """Two digits behind the point, none from 10 on.

    >>> _figure(0.561), _figure(703.4)
    ('0.56', '703')
    """
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def main() -> None:
    """Print the tables."""
    rows = read(written.DATA / "peers.csv")
    for task in dict.fromkeys(row["task"] for row in rows):
        print(f"{task}:\n\n{table(rows, task)}\n")


if __name__ == "__main__":
    main()

"""The tables of the peers in docs/performance.md, from the rows in docs/data: nothing is run again.

    python -m benchmarks.peers_page

Cost is divided by two costs of ours for the very same tokens of the same documents: by that of the *bank*, which shows
every document to the masked language model, as anchor-exp does; and, in a column of its own, by that of blind fills,
which show it none. A row over other documents, or of a tool that answers another question, is not divided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import written
from benchmarks.peers import best
from benchmarks.yardsticks_page import read

BANK = "anchorscope, same tokens, bank"
BLIND = "anchorscope, same tokens"
SAME_QUESTION = (BANK, BLIND, f"{BLIND}, corpus", "anchor-exp, own bound")
"""What judges every token, as ours do."""

HEADS = (
    *("", "documents", "CPU ms a document", "over ours, bank", "over ours, blind"),
    *("texts, passes a document", "list by"),
)
QUALITY = "AOPC^20 on the same documents; on all (share of the oracle's)"
NAMES_ON_THE_PAGE = {"gain": "total", "mean |weight|": "mean weight"}
"""Of aggregations that were called otherwise when the rows were made, or would break a table."""

Row = Mapping[str, str]


def table(rows: Sequence[Row], task: str) -> str:
    """A row a contender, the bank first."""
    mine = [row for row in rows if row["task"] == task]
    labels = [*dict.fromkeys(row["label"] for row in mine)]
    names = sorted(dict.fromkeys(row["contender"] for row in mine), key=lambda name: name != BANK)
    ours = {name: next(row for row in mine if row["contender"] == name) for name in (BANK, BLIND)}
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
        _times(one, ours[BANK]),
        _times(one, ours[BLIND]),
        f"{float(one['texts_per_document']):,.0f}, {_figure(float(one['passes_per_document']))}",
        NAMES_ON_THE_PAGE.get(one["aggregation"], one["aggregation"]),
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

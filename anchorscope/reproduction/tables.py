"""Every table of the experiments as a CSV file; and the table of claims in a README, from the one of them.

The README's table stands between two marks, and is written from the CSV file that lies beside the page, so that a test
can compare the two.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anchorscope.errors import InputError
from anchorscope.files import refuse_irregular, write_whole
from anchorscope.reproduction.claims import judge_all
from anchorscope.reproduction.summary import Row, Summary

BEGIN = "<!-- claims: written by anchorscope reproduce --draw --readme -->"
END = "<!-- end of claims -->"


def _claim_rows(summary: Summary) -> Iterable[Row]:
    return [finding.row() for finding in judge_all(summary)]


TABLES: Mapping[str, Callable[[Summary], Iterable[Row]]] = {
    "aggregations": Summary.aggregation_rows,
    "settings": Summary.setting_rows,
    "over_time": Summary.time_rows,
    "top_terms": Summary.top_rows,
    "side_by_side": Summary.side_by_side_rows,
    "positions": Summary.position_rows,
    "accuracy_drop": Summary.sentence_rows,
    "claims": _claim_rows,
}


def write_all(summary: Summary, folder: Path, *, prefix: str = "") -> list[Path]:
    """Write every table that has a row; the paths."""
    written = []
    for name, rows_of in TABLES.items():
        rows = list(rows_of(summary))
        if rows:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{prefix}{name}.csv"
            _write(path, rows)
            written.append(path)
    return written


def _write(path: Path, rows: Sequence[Row]) -> None:
    """A table as a CSV file; one of the same columns is known to be ours."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    header = text.getvalue().encode()
    writer.writerows({column: _rounded(value) for column, value in row.items()} for row in rows)
    write_whole(path, text.getvalue(), is_ours=lambda head: head.startswith(header))


def claims_table(path: Path) -> str:
    """The claims of a CSV file as a Markdown table, a line each; what fills gaps stands in the page alone."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [f"| {row['claim']} | {row['measured']} | {row['verdict']} |".replace("\n", " ") for row in rows]
    table = ["| the paper's claim | measured here | verdict |", "|---|---|---|", *lines]
    return re.sub(r" \(\S+ fills\)", "", "\n".join(table)) + "\n"


def write_into(readme: Path, table: str) -> None:
    """Put the table between the marks of a README."""
    refuse_irregular(readme)
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InputError(f"{readme} has no place for the claims; put these two lines there: {BEGIN} and {END}")
    readme.write_text(f"{before}{BEGIN}\n\n{table}\n{END}{after}", encoding="utf-8")


def _rounded(value: Any) -> Any:
    """Five digits are plenty; what is not known is empty.

    >>> _rounded(0.123456789), _rounded(12345.678), _rounded(None)
    (0.12346, 12345.68, '')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return round(float(value), 5 if abs(value) < 100 else 2)
    return value

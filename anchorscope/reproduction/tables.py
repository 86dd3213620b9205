"""Every table of the experiments as a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from anchorscope.reproduction.summary import Row, Summary

TABLES: Mapping[str, Callable[[Summary], Iterable[Row]]] = {
    "aggregations": Summary.aggregation_rows,
    "settings": Summary.setting_rows,
    "over_time": Summary.time_rows,
    "top_terms": Summary.top_rows,
    "side_by_side": Summary.side_by_side_rows,
    "positions": Summary.position_rows,
    "accuracy_drop": Summary.sentence_rows,
}


def write_all(summary: Summary, folder: Path, *, prefix: str = "") -> list[Path]:
    """Write every table that has a row; the paths."""
    written = []
    for name, rows_of in TABLES.items():
        rows = list(rows_of(summary))
        if rows:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{prefix}{name}.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows({column: _rounded(value) for column, value in row.items()} for row in rows)
            written.append(path)
    return written


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

"""Writes the table of docs/reliability.md from the JSON files of the studies, between its two marks."""

from __future__ import annotations

import json
from typing import Any

from reliability.tables import DATA, ROOT

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table: python -m reliability.page -->\n", "<!-- end of table -->\n"

STUDIES = (
    *("kills", "signals", "same", "faults", "bad_answers", "bad_inputs", "poison", "fuzz", "hostile_folders"),
    *("writers", "full_disk", "memory", "model_files", "servers", "live_page", "printed", "lost_workers", "soak"),
)


def table() -> str:
    """A row a study, as it was last run in full; what was not is said."""
    lines = ["| study | goal | found | reached | commit |", "|---|---|---|---|---|"]
    for name in STUDIES:
        path = DATA / f"reliability_{name}.json"
        if not path.exists():
            lines.append(f"| `{name}` | | not run in full yet | | |")
            continue
        study: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = (study["question"], study["goal"], study["found"], "yes" if study["reached"] else "**no**")
        question, goal, found, reached = (str(cell).replace("|", "\\|") for cell in cells)
        lines.append(f"| `{name}`: {question} | {goal} | {found} | {reached} | {study['commit']} |")
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """The page with the table of now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(table())

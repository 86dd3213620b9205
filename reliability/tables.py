"""What every script here ends with: a table on the screen, and a JSON with machine, commit and seed beside its rows."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import monotonic, strftime
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "data"


@dataclass
class Study:
    """One question: its name, the goal, and the rows that answer it."""

    name: str
    question: str
    goal: str
    seed: int
    quick: bool
    rows: list[dict[str, Any]] = field(default_factory=list)
    begun: float = field(default_factory=monotonic)

    def add(self, **row: Any) -> None:
        """One more row, shown at once."""
        self.rows.append(row)
        print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)

    def last_rows(self) -> list[dict[str, Any]]:
        """The rows that the last pass has written."""
        return list(json.loads(self._path.read_text(encoding="utf-8"))["rows"])

    @property
    def _path(self) -> Path:
        return DATA / f"reliability_{self.name}.json"

    def end(self, *, reached: bool, found: str, **more: Any) -> int:
        """Print the answer, write it down, and give the exit status."""
        values = {
            "question": self.question,
            "goal": self.goal,
            "found": found,
            "reached": reached,
            "seed": self.seed,
            "seconds": round(monotonic() - self.begun, 1),
            "date": strftime("%Y-%m-%d"),
            **machine(),
            **more,
            "rows": self.rows,
        }
        if not self.quick:
            DATA.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
        print(f"{'reached' if reached else 'MISSED'}: {self.question}\n  goal: {self.goal}\n  found: {found}")
        return 0 if reached else 1


class Options(argparse.ArgumentParser):
    """Options that tell whether the study is run in full: no number of it is another one than the default."""

    def parse_args(self, *args: Any, **kwargs: Any) -> Any:
        """The options, and ``in_full``."""
        given = super().parse_args(*args, **kwargs)
        chosen = [a for a in self._actions if a.dest not in ("help", "seed", "processes")]
        given.in_full = all(getattr(given, action.dest) == action.default for action in chosen)
        return given


def options(description: str | None, **defaults: Any) -> Options:
    """The options that every script has."""
    parser = Options(description=(description or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the small form; nothing is written")
    parser.add_argument("--seed", type=int, default=0)
    for name, value in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return parser


def machine() -> Mapping[str, Any]:
    """Where and with what this was measured; RELIABILITY_COMMIT names the commit of a copy that is no checkout."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "anchorscope": version("anchorscope"),
        "commit": os.environ.get("RELIABILITY_COMMIT") or commit.stdout.strip(),
    }


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

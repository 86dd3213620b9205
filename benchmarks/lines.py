"""Documents in great numbers: the lines of plain texts, and what a process holds of them."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

HELD_OUT = "heldout.txt.xz"


def lines(folder: Path) -> list[str]:
    """All lines of a folder's ``*.txt.xz`` but the held-out ones, each once, in the order of a hash."""
    files = [path for path in sorted(folder.glob("*.txt.xz")) if path.name != HELD_OUT]
    if not files or not (folder / HELD_OUT).exists():
        raise SystemExit(
            f"--data needs a folder with texts, a document a line, in *.txt.xz, and {HELD_OUT} beside them."
        )
    found = {line for path in files for line in _read(path)} - set(_read(folder / HELD_OUT))
    return sorted(found, key=lambda line: blake2b(line.encode(), digest_size=8).digest())


def _read(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file)


def memory(field: str) -> float:
    """What the system says of this process, in megabytes: VmRSS is held now, VmHWM was the most."""
    rows = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith(field)) / 1024

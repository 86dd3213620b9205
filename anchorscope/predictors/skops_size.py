"""How much a .skops file becomes once it is read: a few megabytes can be packed so that they fill any memory.

The file is a zip archive: schema.json describes the object, and each array in it names the entry that holds its
numbers. An entry may be a zip archive again (sparse matrices), and many arrays may name the same one. All sizes are in
the archives' directories, and no entry is read beyond the size that stands there.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from zipfile import ZipFile

SCHEMA_FILE = "schema.json"
ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")
"""How a zip archive begins."""

HARMLESS = 256 << 20
LARGEST = 4 << 30
MOST_TIMES = 100


def allowed_size(n_bytes: int) -> int:
    """Bytes that a file of ``n_bytes`` may become: 100 times as many up to 4 GB, and always 256 MB or twice as many.

    >>> [allowed_size(n_bytes) >> 20 for n_bytes in (1 << 10, 10 << 20, 1 << 30, 3 << 30)]
    [256, 1000, 4096, 6144]
    """
    return max(HARMLESS, min(MOST_TIMES * n_bytes, LARGEST), 2 * n_bytes)


def unpacked_size(data: bytes) -> int:
    """Bytes of all entries, and of all arrays that name one; what cannot be read raises as zipfile and json do.

    Where the entries alone are too many, they are what is counted: nothing is unpacked then.
    """
    with ZipFile(BytesIO(data)) as archive:
        entries = sum(entry.file_size for entry in archive.infolist())
        if entries > allowed_size(len(data)):
            return entries
        sizes = {name: _size_of_entry(archive, name) for name in archive.namelist()}
        return entries + sum(sizes.get(name, 0) for name in _named(json.loads(archive.read(SCHEMA_FILE))))


def _size_of_entry(archive: ZipFile, name: str) -> int:
    """Bytes of an entry; of an archive in it, those of its entries, too."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as entry:
        if entry.read(4) not in ARCHIVE:
            return size
    with ZipFile(BytesIO(archive.read(name))) as inner:
        return size + sum(entry.file_size for entry in inner.infolist())


def _named(schema: Any) -> list[str]:
    """The entry that each array of a schema names; an array that stands there again, under its number, is read once."""
    named: list[str] = []
    seen: set[Any] = set()
    left = [schema]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += node
        elif isinstance(node, dict):
            left += node.values()
            file, number = node.get("file"), node.get("__id__")
            if isinstance(file, str) and (file, number) not in seen:
                named.append(file)
                if number:
                    seen.add((file, number))
    return named

"""A line of JSON a snapshot, for programs that watch a run."""

from __future__ import annotations

import json
from typing import TextIO

from anchorscope.result import snapshot_to_dict
from anchorscope.types import Snapshot


class JsonLines:
    """Writes each snapshot when it comes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def open(self) -> None:
        """Nothing to prepare."""

    def update(self, snapshot: Snapshot) -> None:
        """Write the line, and hand it over at once."""
        print(json.dumps(snapshot_to_dict(snapshot), allow_nan=False), file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing to take away."""

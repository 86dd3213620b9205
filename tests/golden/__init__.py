"""Files that hold what is expected; REWRITE_GOLDEN=1 writes them anew, to be read before they are committed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).parent


def assert_golden(path: Path, text: str, but: Callable[[str], str] = str) -> None:
    """The file says the text; ``but`` leaves out what may differ."""
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is missing: run the tests with REWRITE_GOLDEN=1"
    assert but(text) == but(path.read_text(encoding="utf-8")), f"{path} differs: read it, then REWRITE_GOLDEN=1"

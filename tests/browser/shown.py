"""What the tests of the page read from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

KeepRun = Callable[..., Path]


def shown(watched: Any, label: int, parts: str = "drivers below") -> list[str]:
    panel = f'.panel[data-label="{label}"]'
    return [term for part in parts.split() for term in watched.texts(f"{panel} .rows.{part} .term")]


def attributes(watched: Any, selector: str, name: str) -> list[str]:
    return [element.get_attribute(name) for element in watched.page.locator(selector).all()]

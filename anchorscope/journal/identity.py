"""What must be the same for a run to go on, compared with what a journal says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from anchorscope.errors import listed
from anchorscope.settings import Settings


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What a journal and a new call do not agree on, in words."""
    found = [
        f"{kind} {then[kind].get('name', '')} has changed".replace("  ", " ")
        for kind in ("documents", "model", "perturbator", "training texts")
        if then[kind]["sha256"] != now[kind]["sha256"]
    ]
    if then["labels"] != now["labels"]:
        found.append(f"labels were {listed(then['labels'])}, now {listed(now['labels'])}")
    if then["texts"] != now["texts"]:
        found.append("texts were kept, now they are not" if then["texts"] else "texts were not kept, now they are")
    cut_then = then.get("segmenters", {})
    if cut_then != now["segmenters"]:
        found.append(f"words were cut by {_named(cut_then)}, now by {_named(now['segmenters'])}")
    settings_then = Settings.from_dict(then["settings"]).to_dict()
    found += [
        f"{name} was {settings_then[name]}, now {value}"
        for name, value in now["settings"].items()
        if settings_then[name] != value
    ]
    return found


def _named(packages: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in packages.items()) or "no segmenter"


def digest(texts: Sequence[str] | None) -> str | None:
    """A hash of some texts, whatever their order."""
    if texts is None:
        return None
    return sha256("\0".join(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()

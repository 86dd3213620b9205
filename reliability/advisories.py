"""Versions of packages against a copy of the advisories: does a version that the tests run on, or a floor, have a hole?

    git clone https://github.com/pypa/advisory-database
    python -m reliability.advisories advisory-database requirements/test.lock .venv-tools/floors.txt

``make audit`` asks the advisories over the network. This reads a copy of them instead: a folder of files in the format
of OSV, one for each hole, which names the versions that have it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole that a version has."""

    package: str
    version: str
    number: str


def main() -> int:
    """Print the holes of all versions; status 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("advisories", type=Path, help="the folder with the advisories")
    parser.add_argument("requirements", type=Path, nargs="+", help="files with lines package==version")
    given = parser.parse_args()
    advisories = [*read(given.advisories)]
    if not advisories:
        parser.error(f"there is no advisory in {str(given.advisories)!r}; expected .yaml or .json files of OSV.")
    versions = sorted({pair for path in given.requirements for pair in pinned(path.read_text("utf-8"))})
    found = [*holes(versions, advisories)]
    for hole in found:
        print(f"{hole.package} {hole.version}: {hole.number}")
    latest = max(str(advisory.get("modified", "")) for advisory in advisories)
    print(f"{len(versions)} versions, {len(advisories):,} advisories up to {latest[:10]}: {len(found)} holes")
    return bool(found)


def read(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Every advisory in a folder and those below it."""
    import yaml

    for path in sorted(folder.rglob("*")):
        if path.suffix in (".yaml", ".yml", ".json") and path.is_file() and not path.is_symlink():
            found = yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            if isinstance(found, dict) and "affected" in found and not found.get("withdrawn"):
                yield found


def pinned(requirements: str) -> list[tuple[str, str]]:
    """Names and versions.

    >>> pinned("Torch_Audio[x]==2.13.0 ; python_version > '3'\\nnumpy>=1\\n")
    [('torch-audio', '2.13.0')]
    """
    return [(normalised(name), version) for name, version in PINNED.findall(requirements)]


def normalised(name: str) -> str:
    """The name of a package as the index writes it."""
    return re.sub("[-_.]+", "-", name).lower()


def holes(versions: Iterable[tuple[str, str]], advisories: Sequence[Mapping[str, Any]]) -> Iterator[Hole]:
    """Every hole of every version."""
    by_package: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for advisory in advisories:
        for affected in advisory["affected"]:
            package = affected.get("package", {})
            if package.get("ecosystem") == "PyPI":
                by_package.setdefault(normalised(package["name"]), []).append((advisory["id"], affected))
    for name, version in versions:
        for number, affected in by_package.get(name, ()):
            if has_hole(version, affected):
                yield Hole(name, version, number)


def has_hole(version: str, affected: Mapping[str, Any]) -> bool:
    """Whether a version is listed, or lies where a hole was there already and not mended yet.

    >>> affected = {"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.5"}]}]}
    >>> has_hole("1.4.9", affected), has_hole("1.5", affected)
    (True, False)
    """
    if version in map(str, affected.get("versions", ())):
        return True
    ranges = [one["events"] for one in affected.get("ranges", ()) if one["type"] == "ECOSYSTEM"]
    return any(_within(Version(version), events) for events in ranges)


def _within(version: Version, events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last event up to a version has brought the hole."""
    is_in = False
    for event in sorted(events, key=lambda event: Version(str(next(iter(event.values()))))):
        (kind, at), *_ = event.items()
        if kind == "last_affected":
            is_in = is_in and version <= Version(str(at))
        elif Version(str(at)) <= version:
            is_in = kind == "introduced"
    return is_in


if __name__ == "__main__":
    raise SystemExit(main())

"""The static page: one HTML file with data, style and script inside. It opens from disk and asks the network nothing.

Markup, style and script are files in ``page/``; nothing is built. Its Content-Security-Policy names the hash of the one
style and the one script that may be used, so nothing that came with the data can run, whatever it is.
"""

from __future__ import annotations

import os
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from anchorscope.errors import InputError, StorageError
from anchorscope.files import no_run_folder, refuse_foreign, write_whole
from anchorscope.report.texts import embed
from anchorscope.report.view import page_data

REPORT = "report.html"

SCRIPTS = (
    "scores.js",
    "dom.js",
    "state.js",
    "effects.js",
    "words.js",
    "term.js",
    "documents.js",
    "curves.js",
    "table.js",
    "compare.js",
    "try.js",
    "page.js",
)
"""The scripts in the order in which they are read."""

STYLE = "page.css"

GENERATOR = '<meta name="generator" content="anchorscope">\n'
"""The line of a page by which it is known to be ours: it stands where our markup has it, and the policy follows."""

POLICY = '<meta http-equiv="Content-Security-Policy" content="'


def write_report(folder: Path, *, out: Path | None = None, against: Path | None = None) -> Path:
    """Write the report of a kept run, whole or not at all; into its folder, unless told otherwise."""
    path = out or folder / REPORT
    if not os.path.isdir(folder):
        raise no_run_folder(folder)
    refuse_foreign(path, is_report)
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {path.parent} to write {path.name} into; make it first.")
    try:
        write_whole(path, report(page_data(folder, against=against)), is_ours=is_report)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written ({error.strerror}); make room, then: anchorscope report {folder}."
        ) from error
    return path


def is_report(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a report of ours."""
    before, generator, _ = asset("page.html").partition(GENERATOR)
    return head.startswith((before + generator + POLICY).encode())


def report(data: object) -> str:
    """The page with its data inside."""
    style = asset(STYLE)
    script = "".join(asset(name) for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return _page(
        policy=f'{POLICY}{policy}">',
        style=f"<style>{style}</style>",
        data=f'<script type="application/json" id="data">{embed(data)}</script>',
        script=f"<script>{script}</script>",
    )


def live_page() -> str:
    """The page without data: its parts come from the server, and so does its policy."""
    return _page(
        policy="",
        style=f'<link rel="stylesheet" href="/page/{STYLE}">',
        data="",
        script="\n".join(f'<script src="/page/{name}"></script>' for name in SCRIPTS),
    )


@lru_cache
def asset(name: str) -> str:
    """A file of the page: markup, style or script."""
    return (files("anchorscope.report") / "page" / name).read_text(encoding="utf-8")


def _page(**parts: str) -> str:
    # In one pass from the template: what is put in is not looked at again.
    pieces = asset("page.html").split("{{")
    rest = (piece.partition("}}") for piece in pieces[1:])
    return pieces[0] + "".join(parts[name] + after for name, _, after in rest)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"

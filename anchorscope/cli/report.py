"""``anchorscope report``: a kept run as one HTML file that opens from disk."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, TextIO

from anchorscope.cli import options
from anchorscope.report.page import write_report

DESCRIPTION = "Write a kept run as one HTML file that opens from disk and asks the network nothing."


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("run", type=options.a_path, metavar="RUN", help="the folder of a run")
    parser.add_argument("--against", type=options.a_path, metavar="RUN", help="another run to stand beside it")
    parser.add_argument(
        "--to", type=options.a_path, metavar="FILE", help="where to write it (report.html in the folder)"
    )


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Write the file, print where it is, and give the exit status."""

    print(write_report(given["run"], out=given.get("to"), against=given.get("against")), file=output)
    return 0

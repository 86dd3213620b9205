"""The command line: arguments in, one call to the library, a reporter out; a file a command.

Data goes to the standard output, everything else to the error output. The exit status is

    0    done
    1    the run failed after its first snapshot
    2    bad usage, bad input, or a model that fails on its first batch
    130  interrupted; with --out, go on with --resume
    141  whoever read the output has gone

An option that is not given is absent, so that the defaults are the library's and a setting given by hand goes before
the preset's. Nothing heavy is imported here, nor by the commands before they run.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from difflib import get_close_matches
from typing import Any, NoReturn, TextIO

from anchorscope.cli import compare, demo, evaluate, explain, export_mlm, report, reproduce, serve, top
from anchorscope.errors import AnchorscopeError, InputError

FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141

Command = Callable[[Mapping[str, Any], TextIO], int]
COMMANDS: Mapping[str, Command] = {
    "explain": explain.run,
    "top": top.run,
    "compare": compare.run,
    "evaluate": evaluate.run,
    "report": report.run,
    "serve": serve.run,
    "export-mlm": export_mlm.run,
    "reproduce": reproduce.run,
    "demo": demo.run,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that ``argv`` (the process's own arguments if None) asks for, and give its exit status."""
    given: dict[str, Any] = {}
    try:
        given = parse(argv)
        _set_up_streams(given)
        output = sys.stdout
        with redirect_stdout(sys.stderr):  # what a model prints is no data
            status = COMMANDS[given["command"]](given, output)
        output.flush()
    except KeyboardInterrupt:
        print("anchorscope: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python flushes once more, and fails
        return BROKEN_PIPE
    except Exception as error:
        _tell(error, with_traceback="verbose" in given)
        return BAD_INPUT if isinstance(error, InputError) else FAILED
    return status


def parse(argv: Sequence[str] | None) -> dict[str, Any]:
    """The options that were given, by name."""
    parsers = make_parsers()
    arguments, unread = parsers["anchorscope"].parse_known_args(argv)
    given = vars(arguments)
    if unread:
        parser = parsers[given["command"]]
        known = {*re.findall(r"--[a-z][a-z-]*", parser.format_help())}
        near = get_close_matches(unread[0].partition("=")[0], known, n=3)
        advice = f"did you mean {' or '.join(near)}?" if near else "name all files in one place."
        raise InputError(f"{unread[0]!r} is not understood; {advice} See {parser.prog} --help.")
    return given


def make_parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of the whole command line, called ``anchorscope``, and those of its commands."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("-q", "--quiet", action="store_true", help="errors only")
    common.add_argument("-v", "--verbose", action="store_true", help="say more, and show where errors come from")
    parser = _Parser(
        prog="anchorscope",
        description="Which words make a text classifier say what it says?",
        parents=[common],
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="show the version and exit"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for command in (explain, top, compare, evaluate, report, serve, export_mlm, reproduce, demo):
        command.add_parser(commands, common)
    return {"anchorscope": parser, **commands.choices}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong the way the rest of the package does."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")


class _Version(argparse.Action):
    def __call__(self, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"anchorscope {version('anchorscope')}")
        raise SystemExit(0)


def _set_up_streams(given: dict[str, Any]) -> None:
    """A character that the terminal cannot show is no reason to fail; log messages follow -q and -v."""
    import logging
    from io import TextIOWrapper

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    if "verbose" in given:
        logging.basicConfig(level=logging.INFO, format="anchorscope: %(message)s")
    elif "quiet" in given:
        logging.disable(logging.WARNING)


def _tell(error: Exception, *, with_traceback: bool) -> None:
    """One sentence; a failure that nobody foresaw says where to find the rest."""
    if with_traceback:
        from traceback import print_exception

        print_exception(error)
    if isinstance(error, AnchorscopeError | OSError):
        told = str(error)
    else:
        told = f"{type(error).__name__}: {error} (this should not happen; -v shows where it did)"
    one_line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in told)
    print(f"anchorscope: error: {one_line}", file=sys.stderr)

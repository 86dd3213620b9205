"""The command line: arguments in, one call to the library, a reporter out; a file a command.

Data goes to the standard output, everything else to the error output. The exit status is

    0    done
    1    the run failed after the model had answered about the first documents
    2    bad usage, bad input, or a model that fails on its first batch
    130  interrupted; with --out, go on with --resume
    141  whoever read the output has gone

An option that is not given is absent, so that the defaults are the library's and a setting given by hand goes before
the preset's. A command is loaded when it is named; models bring what they need when they are loaded.

In: words of a command line. Out: data, messages, an exit status. May import: text, asking, scoring, settings, planning,
explanations, journal, predictors, perturbators, embedded_model, backends, result, run, estimate, explainer, demo,
report, evaluation, reproduction.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn, TextIO, cast

from anchorscope.asking.printed import HarmlessStream, harmless, messages, show_warning
from anchorscope.cli import explain, options
from anchorscope.errors import AnchorscopeError, InputError, StorageError, clipped

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

COMMANDS = {
    "explain": "the top words of each label",
    "top": "the terms of a kept run, by any aggregation",
    "compare": "two kept runs: what changed",
    "evaluate": "how good a kept run's words are",
    "report": "a kept run as one HTML file",
    "serve": "the live page of a run",
    "export-mlm": "the embedded masked language model as a Hugging Face folder",
    "reproduce": "the paper's experiments",
    "demo": "explain a classifier of film reviews, trained on the spot",
}
"""A file a command: what it does, in a line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that ``argv`` (the process's own arguments if None) asks for, and give its exit status."""
    given: dict[str, Any] = {}
    occupy_closed_streams()
    sys.stderr = sys.stderr or io.StringIO()  # closed: there is nobody to tell
    voice = cast(TextIO, _KeptOpen(sys.stderr, 2))
    try:
        given = parse(argv)
        output = _set_up_streams(given, voice)
        # What a model prints is no data, and it has no voice but ours: it may not close it.
        printed = cast(TextIO, HarmlessStream(voice)) if voice.isatty() else voice
        with redirect_stderr(voice), redirect_stdout(printed), warnings.catch_warnings():
            warnings.showwarning = (lambda *_: None) if "quiet" in given else show_warning
            status = _module(given["command"]).run(given, output)
        output.flush()
    except KeyboardInterrupt:
        print("anchorscope: interrupted", file=voice)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python flushes once more, and fails
        return BROKEN_PIPE
    except Exception as error:
        _tell(error, voice, with_traceback="verbose" in given)
        return BAD_INPUT if isinstance(error, InputError) else FAILED
    return status


def parse(argv: Sequence[str] | None) -> dict[str, Any]:
    """The options that were given, by name."""
    words = sys.argv[1:] if argv is None else list(argv)
    named = [word for word in words if word in COMMANDS][:1]
    parsers = make_parsers(named)
    arguments, unread = parsers["anchorscope"].parse_known_args(words)
    given = vars(arguments)
    if unread:
        parser = parsers[given["command"]]
        known = {*re.findall(r"--[a-z][a-z-]*", parser.format_help())}
        near = get_close_matches(unread[0].partition("=")[0], known, n=3)
        advice = f"did you mean {' or '.join(near)}?" if near else "name all files in one place."
        raise InputError(f"{unread[0]!r} is not understood; {advice} See {parser.prog} --help.")
    _refuse_no_value(parsers[given["command"]], given)
    return given


def _refuse_no_value(parser: argparse.ArgumentParser, given: Mapping[str, Any]) -> None:
    """Refuse ``--option=--``: argparse takes the two dashes for a separator, and hands over an empty list."""
    for action in parser._actions:
        if action.nargs in (None, argparse.ONE_OR_MORE) and action.option_strings:
            value = given.get(action.dest)
            if value == [] or (isinstance(value, list) and [] in value):
                raise InputError(
                    f"{action.option_strings[-1]} takes a value, and -- is none; see {parser.prog} --help."
                )


def make_parsers(named: Collection[str] = tuple(COMMANDS)) -> dict[str, argparse.ArgumentParser]:
    """The parser of the whole command line, called ``anchorscope``, and those of its commands.

    Only the named ones get their options, so that the others need not be loaded.
    """
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
    commands: Any = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, told in COMMANDS.items():
        module = _module(name) if name in named else None
        command = commands.add_parser(
            name,
            parents=[common],
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
            formatter_class=options.Formatter,
            help=told,
            usage=getattr(module, "USAGE", None),
            description=getattr(module, "DESCRIPTION", None),
            epilog=getattr(module, "EPILOG", None),
        )
        if module is not None:
            module.add_options(command)
    return {"anchorscope": parser, **commands.choices}


def _module(command: str) -> Any:
    """The file of a command."""
    return explain if command == "explain" else import_module(f"anchorscope.cli.{command.replace('-', '_')}")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong the way the rest of the package does."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")


class _Version(argparse.Action):
    def __call__(self, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"anchorscope {version('anchorscope')}")
        raise SystemExit(0)


def _set_up_streams(given: dict[str, Any], voice: TextIO) -> TextIO:
    """Where data goes. A character that a terminal cannot show is no reason to fail; messages follow -q and -v."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    logging.basicConfig(level=logging.INFO if "verbose" in given else logging.WARNING, handlers=[messages(voice)])
    if "quiet" in given:
        logging.disable(logging.WARNING)
    if sys.stdout is None or sys.stdout.closed:
        raise InputError("Standard output is closed, and what is found goes there; leave it open, or redirect it.")
    output = cast(TextIO, _KeptOpen(sys.stdout, _number_of(sys.stdout), is_data=True))
    return cast(TextIO, HarmlessStream(output)) if output.isatty() else output


def _number_of(stream: TextIO) -> int:
    """The number of its file; 1, the standard output's, of a stream in the memory."""
    try:
        return stream.fileno()
    except OSError:
        return 1


def occupy_closed_streams() -> None:
    """What is opened gets the lowest free number: no file of ours may get one to which messages are written."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the number: those below are taken


class _KeptOpen:
    """A stream that nobody closes; one that was closed all the same is opened again by the number of its file."""

    def __init__(self, stream: TextIO, number: int, *, is_data: bool = False) -> None:
        self._stream = stream
        self._number = number
        self._is_data = is_data

    def close(self) -> None:
        """Leave it open."""

    def write(self, text: str) -> int:
        """Write the text."""
        with self._named():
            return self._open().write(text)

    def flush(self) -> None:
        """Write what is held back."""
        with self._named():
            self._open().flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Where results cannot be written, say that it is these; that nobody reads them any more is no fault."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            if not self._is_data:
                raise
            raise StorageError(
                f"What was found cannot be written to standard output ({error.strerror}); make room there, or send it "
                "elsewhere."
            ) from error

    def _open(self) -> TextIO:
        try:
            is_closed = self._stream.closed
        except ValueError:  # somebody has taken its buffer
            is_closed = True
        if is_closed:
            self._stream = open(self._number, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        return self._stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._open(), name)


LONGEST_TOLD = 10_000
"""Characters of an error that are shown, whoever made it."""


def _tell(error: Exception, voice: TextIO, *, with_traceback: bool) -> None:
    """One sentence; a failure that nobody foresaw says where to find the rest."""
    if with_traceback:
        from traceback import format_exception

        print(harmless("".join(format_exception(error))), end="", file=voice)
    if isinstance(error, AnchorscopeError | OSError):
        told = str(error)
    else:
        told = f"{type(error).__name__}: {error} (this should not happen; -v shows where it did)"
    one_line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in clipped(told, LONGEST_TOLD))
    print(f"anchorscope: error: {one_line}", file=voice)

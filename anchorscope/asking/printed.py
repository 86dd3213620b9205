"""What a model prints: no data of ours, and in a terminal no commands.

It may print the texts that it gets, which are a stranger's, or whatever it likes: with ``print``, as bytes, while a
live table is drawn, in a worker process, in a thread that goes on when all is done. A terminal is shown its control
characters instead of being sent them.

>>> import io
>>> shown = io.StringIO()
>>> stream = HarmlessStream(shown)
>>> n = stream.write("a \\x1b[31mfilm"), stream.buffer.write(b"\\x07 caf\\xc3\\xa9")
>>> shown.getvalue()
'a �[31mfilm� café'
"""

from __future__ import annotations

import codecs
import io
import logging
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from traceback import format_exception
from typing import TYPE_CHECKING, Any, TextIO, cast

import regex

if TYPE_CHECKING:
    from rich.console import Console

_UNSAFE = regex.compile(r"[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200c\u200d\U000e0020-\U000e007f]]", regex.V1)


def safe(text: str) -> str:
    """A stranger's text as one harmless line.

    >>> safe("a\\x1b[31m b\\u202e")
    'a�[31m b�'
    """
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def harmless(text: str) -> str:
    """The same of several lines.

    >>> harmless("a\\x07\\nb")
    'a�\\nb'
    """
    return "\n".join(safe(line) for line in text.split("\n"))


class HarmlessStream:
    """A terminal to which nothing is written that it would take for a command, be it as text or as bytes."""

    def __init__(self, terminal: Any) -> None:
        self.terminal = terminal
        self.buffer = _HarmlessBytes(self)

    def write(self, text: str) -> int:
        """Write the text, with control characters shown instead of sent."""
        self.terminal.write(harmless(text))
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        """Write texts, one after another."""
        for text in texts:
            self.write(text)

    def detach(self) -> _HarmlessBytes:
        """The bytes below; they are no rawer."""
        return self.buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.terminal, name)


class _HarmlessBytes(io.BufferedIOBase):
    """The same for bytes, which are text in UTF-8."""

    def __init__(self, stream: HarmlessStream) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write the bytes; half a character waits for its other half."""
        self._stream.write(self._decoder.decode(bytes(data)))
        return memoryview(data).nbytes

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return int(self._stream.fileno())

    def close(self) -> None:
        """Leave it open."""


def show_uncaught_harmlessly() -> None:
    """From now on exceptions that nobody catches, in a thread of a model or as it is thrown away, are shown without
    commands for a terminal: they may quote texts. Python writes them to the error output by itself."""

    def in_thread(said: threading.ExceptHookArgs) -> None:
        if said.exc_type is not SystemExit:
            name = said.thread.name if said.thread else "which has ended"
            _show(f"Exception in thread {name}", said.exc_value)

    def unraisable(said: Any) -> None:
        _show(str(said.err_msg or "Exception that was ignored"), said.exc_value)

    threading.excepthook = in_thread
    sys.unraisablehook = unraisable


def _show(what: str, error: BaseException | None) -> None:
    told = "".join(format_exception(error)) if error is not None else "\n"
    print(harmless(f"{what}:\n{told}"), end="", file=sys.stderr)


def messages(voice: Any) -> logging.Handler:
    """Who writes log messages; they may hold a model's or a stranger's words."""
    handler = logging.StreamHandler(voice)
    handler.setFormatter(_Harmless("anchorscope: %(message)s"))
    return handler


class _Harmless(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """The message, with control characters shown instead of sent."""
        return harmless(super().format(record))


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning of ours is a sentence; that of a library says where it comes from."""
    source = "" if category is UserWarning else f" ({filename}, line {lineno})"
    print(harmless(f"anchorscope: {message}{source}"), file=sys.stderr)


def speak_harmlessly(disabled: int) -> None:
    """In a process of ours: log messages above a level, and warnings where that is none of theirs, are shown without
    commands for a terminal."""
    logging.basicConfig(level=logging.WARNING, handlers=[messages(sys.stderr)])
    logging.disable(disabled)
    warnings.showwarning = show_warning if disabled < logging.WARNING else (lambda *_: None)


class _LinesAbove:
    """Whole lines above what rich draws at the foot of a terminal."""

    def __init__(self, console: Console, stream: Any) -> None:
        self._console = console
        self._stream = stream
        self._begun = ""

    def write(self, text: str) -> int:
        """Write the lines that have come to their end."""
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._write(line)
        return len(text)

    def flush(self) -> None:
        """A line that has only begun cannot be shown yet."""

    def end(self) -> None:
        """Write what has no end."""
        if self._begun:
            self._write(self._begun)
            self._begun = ""

    def _write(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text(line))  # no str, in which rich would look for markup, links among it

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printed_above(console: Console) -> Iterator[None]:
    """While rich draws on a terminal: what is printed goes above that, in whole and harmless lines.

    rich's own way, which is to be switched off (``redirect_stdout=False``), lets control characters through.
    """
    if not console.is_terminal:
        yield
        return
    before = sys.stdout
    above = _LinesAbove(console, before)
    sys.stdout = cast(TextIO, HarmlessStream(above))
    try:
        yield
    finally:
        sys.stdout = before
        above.end()

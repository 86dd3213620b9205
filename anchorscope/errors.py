"""What can go wrong, as a small family; each message is one sentence with the next step in it.

    AnchorscopeError
    ├── InputError              what the caller gave cannot be used: nothing was computed
    │   ├── UnknownNameError    no such column, label, perturbator …; near misses are listed
    │   ├── DocumentsError      the documents cannot be read, or none of them is usable
    │   ├── ModelFileError      a model file of an unknown or unsafe kind
    │   ├── RunFolderError      a run folder that exists, is missing, is busy, or belongs to another run
    │   └── MissingPackageError an optional package is needed; the extra to install is named
    ├── StorageError            what was found cannot be written down: the disk is full, or fails
    └── ModelError              the model answered with something that is no prediction
        └── ModelFailedError    the model raised instead of answering, again and again
            └── SomeFailedError it raised for some of the texts, and answered the others

The command line exits with 2 on an InputError, and on a ModelError or StorageError before the model has answered about
the first documents; with 1 on one later in the run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from reprlib import repr as short_repr
from typing import Any


class AnchorscopeError(Exception):
    """The base of everything that this package raises on purpose."""


class InputError(AnchorscopeError):
    """What the caller gave cannot be used."""


class UnknownNameError(InputError):
    """A name that stands for nothing here."""

    def __init__(self, kind: str, name: str, known: Iterable[str], then: str = "") -> None:
        """``then`` is what to do next, where a known name is not typed in the place of the other.

        >>> print(UnknownNameError("perturbator", "corpsu", ["corpus", "mask-token"]))
        There is no perturbator 'corpsu'; did you mean 'corpus'? Known: corpus, mask-token.
        """
        self.kind = kind
        self.name = name
        self.known = sorted(known)
        self.then = then
        folded = {known.casefold(): known for known in self.known}
        near = [folded[match] for match in get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
        super().__init__(
            f"There is no {kind} {clipped(name, LONGEST_LISTED)!r}{hint} Known: {listed(self.known) or 'none'}{then}."
        )

    def __reduce__(self) -> tuple[type, tuple[str, str, list[str], str]]:
        return type(self), (self.kind, self.name, self.known, self.then)


class DocumentsError(InputError):
    """The documents cannot be read, or none of them is usable."""


class ModelFileError(InputError):
    """A model file of an unknown or unsafe kind."""


class RunFolderError(InputError):
    """A run folder that exists already, is missing, is busy, or belongs to another run."""


class MissingPackageError(InputError):
    """An optional package is needed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        """
        >>> print(MissingPackageError("pyarrow", "parquet", "reading .parquet files"))
        The package 'pyarrow' is needed for reading .parquet files; install it with: pip install 'anchorscope[parquet]'.
        """
        self.package = package
        self.extra = extra
        self.purpose = purpose
        super().__init__(
            f"The package {package!r} is needed for {purpose}; install it with: pip install 'anchorscope[{extra}]'."
        )

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.package, self.extra, self.purpose)


class StorageError(AnchorscopeError):
    """What was found cannot be written down."""


class ModelError(AnchorscopeError):
    """The model answered with something that is no prediction.

    ``text`` is the text at fault, where that is known; ``somewhere`` says that one of the texts may be at fault.
    """

    def __init__(self, message: str, *, text: str | None = None, somewhere: bool = False) -> None:
        super().__init__(message)
        self.text = text
        self.somewhere = somewhere


class ModelFailedError(ModelError):
    """The model raised instead of answering; ``__cause__`` is what it raised."""

    def __init__(self, message: str, *, text: str | None = None) -> None:
        super().__init__(message, text=text, somewhere=text is None)


class SomeFailedError(ModelFailedError):
    """The model raised for the texts number ``failed``; ``rows`` are its answers about the others, in their order.

    Raised by a predictor that asks about texts one by one or a few at a time, so that only these are asked again.
    """

    def __init__(self, message: str, failed: Sequence[int] = (), rows: Any = None) -> None:
        super().__init__(message)
        self.failed = failed
        self.rows = rows


MOST_LISTED = 50
"""Of more names a sentence lists the first."""

LONGEST_LISTED = 60
"""Characters of a name, of which a sentence gives the first."""


def listed(names: Collection[Any]) -> str:
    """Names in a sentence: not all where they are many, and no long one in full.

    >>> listed(["bad", "good"])
    'bad, good'
    >>> listed(range(200_000)).endswith("48, 49, … (200,000 in all)")
    True
    """
    shown = [clipped(str(name), LONGEST_LISTED) for name in islice(names, MOST_LISTED)]
    if len(names) > MOST_LISTED:
        shown.append(f"… ({len(names):,} in all)")
    return ", ".join(shown)


def plural(n: int, noun: str) -> str:
    """A number and what it counts.

    >>> plural(1, "document"), plural(4265, "document")
    ('1 document', '4,265 documents')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def clipped(text: str, length: int) -> str:
    """The beginning of a text, with a sign where it goes on.

    >>> clipped("word word", 4), clipped("word", 4)
    ('word…', 'word')
    """
    return text if len(text) <= length else f"{text[:length]}…"


def in_a_line(value: Any) -> str:
    """A value of any kind, short enough for a sentence.

    >>> import numpy as np
    >>> in_a_line(np.arange(99.0).reshape(-1, 1))
    'array([[ 0.],... [98.]])'
    """
    return " ".join(short_repr(value).split())

"""Files on other file systems, named by a URI: whatever pyarrow reads (``s3://``, ``gs://``, ``abfs://`` …).

    s3://bucket/reviews.parquet     a file
    s3://bucket/reviews             a folder: the .parquet files in it and below
    s3://bucket/2024-*/*.parquet    a pattern; a star stands for no slash
    file:///data/reviews.parquet    a file of this machine, which is read as one

Who may read is what the environment says (the keys of S3, say), here and on every worker: a password in a URI is
refused, as the names of files are written down with a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from anchorscope.errors import DocumentsError, MissingPackageError

REACHED_WITHIN = 10
"""Seconds for which Google's storage is tried, unless the URI says otherwise: by itself it is tried for minutes."""

WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A file in the file system of a URI, by its path there."""

    uri: str
    path: str

    def __str__(self) -> str:
        return f"{_scheme(self.uri)}://{self.path.lstrip('/')}"

    def open(self) -> Any:
        """The file, to be read anywhere in it."""
        with telling(str(self)):
            return _file_system(self.uri)[0].open_input_file(self.path)


def is_uri(name: str) -> bool:
    """Whether a name is one of another file system.

    >>> is_uri("s3://bucket/a.parquet"), is_uri("C:/a.parquet"), is_uri("a://b")
    (True, False, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", name) is not None


def found_at(uri: str) -> list[str | Elsewhere]:
    """The files that a URI names: one, those in a folder or of a pattern; a path where that is of this machine."""
    with telling(uri):
        system, path = _file_system(uri)
        if _is_local(system):
            return [path]
        from pyarrow.fs import FileSelector, FileType

        [there] = system.get_file_info([path])
        if there.type == FileType.File:
            return [Elsewhere(uri, path)]
        if there.type == FileType.Directory:
            below = system.get_file_info(FileSelector(path, recursive=True))
            files = [one.path for one in below if one.type == FileType.File and one.path.endswith(".parquet")]
        elif wild := WILD.search(path):
            above = path[: wild.start()].rpartition("/")[0]
            below = system.get_file_info(FileSelector(above, recursive=True, allow_not_found=True))
            files = [one.path for one in below if one.type == FileType.File and _matches(one.path, path)]
        else:
            files = []
    return [Elsewhere(uri, file) for file in sorted(files)]


def one_file(uri: str) -> str | Elsewhere:
    """The file of a URI that is to name a single one."""
    files = found_at(uri)
    if not files:
        raise DocumentsError(f"There is no file {uri}; check its bucket and its path.")
    if len(files) > 1 or (isinstance(files[0], Elsewhere) and files[0].path != _file_system(uri)[1]):
        raise DocumentsError(f"{uri} is a folder or a pattern; name its files, or draw from them with --draw.")
    return files[0]


@contextmanager
def telling(source: str) -> Iterator[None]:
    """Turns what pyarrow says of a file system that cannot be read into one sentence."""
    try:
        from pyarrow import ArrowException
    except ImportError as error:
        raise MissingPackageError("pyarrow", "parquet", f"reading {_scheme(source)}://…") from error
    try:
        yield
    except FileNotFoundError as error:
        raise DocumentsError(f"There is no file {source}; check its bucket and its path.") from error
    except (ArrowException, OSError, ValueError, ImportError) as error:
        told = " ".join(str(error).split())[:200]
        if "nrecognized filesystem" in told:
            raise DocumentsError(
                f"{source} is on no file system that pyarrow reads (s3, gs, abfs, hdfs, file, among others); name one "
                "of these, or a path where it is mounted."
            ) from error
        raise DocumentsError(
            f"{source} cannot be read ({told}); check the address, the network, and the credentials in the environment."
        ) from error


def _file_system(uri: str) -> tuple[Any, str]:
    """The file system of a URI, and the path in it."""
    if re.match(r"[^/]+://[^/@]*:[^/@]*@", uri):
        raise DocumentsError(
            f"A {_scheme(uri)}:// address holds a password, which would be written down with the run; leave it out, "
            "and put the credentials into the environment."
        )
    if uri.startswith(("gs://", "gcs://")) and "retry_limit_seconds" not in uri:
        uri += f"{'&' if '?' in uri else '?'}retry_limit_seconds={REACHED_WITHIN}"
    return _from_uri(uri)


def _from_uri(uri: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    found: tuple[Any, str] = FileSystem.from_uri(uri)
    return found


def _is_local(system: Any) -> bool:
    from pyarrow.fs import LocalFileSystem

    return isinstance(system, LocalFileSystem)


def _matches(path: str, pattern: str) -> bool:
    """Whether a path is one of a pattern, part by part.

    >>> _matches("bucket/a/b.parquet", "bucket/*/*.parquet"), _matches("bucket/a/b.parquet", "bucket/*.parquet")
    (True, False)
    """
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _scheme(uri: str) -> str:
    return uri.partition("://")[0]

"""Parquet files on Ray: blocks are read, and a function applied to them, by whoever is free; only answers come here.

Ray Data reads no further ahead than its memory allows, so a slow consumer slows the readers down.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pickle import dumps, loads
from typing import Any, TypeVar

from anchorscope.asking.answers import brief
from anchorscope.backends.ray_session import Session, open_session
from anchorscope.errors import AnchorscopeError, DocumentsError
from anchorscope.text.blocks import Blocks, blocks_of, checked_column, n_groups, parquet_files
from anchorscope.text.elsewhere import Elsewhere

T = TypeVar("T")

MOST_BLOCKS = 4096
"""Tasks of one pass, at most; each may take several row groups."""


@contextmanager
def ray_blocks(
    paths: Sequence[str | Path], column: str | None, limit: int, address: str | None, workers: int | None
) -> Iterator[Blocks]:
    """The blocks of some files, as long as Ray is there; a group of rows may hold ``limit`` bytes of text."""
    files = parquet_files(paths)
    name = checked_column(files, column)
    session = open_session(address, workers)
    try:
        yield RayBlocks(session, files, name, limit, ", ".join(map(str, paths)))
    finally:
        session.close()


class RayBlocks:
    """Parquet files, read by the workers of a cluster, which see them at the same paths."""

    def __init__(
        self, session: Session, files: Sequence[str | Elsewhere], column: str, limit: int, source: str
    ) -> None:
        self.source = source
        self._ray = session.ray
        self._files = [file if isinstance(file, Elsewhere) else str(Path(file).resolve()) for file in files]
        self._column = column
        self._limit = limit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Ray Data warns of its own defaults
            import ray.data

            context = ray.data.DataContext.get_current()
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context.enable_progress_bars = False
        context.print_on_execution_start = False

    def over(self, function: Callable[[list[str]], T]) -> Iterator[T]:
        """What the function answers to each block, as it comes."""
        import ray.data

        column = self._column
        limit = self._limit

        def answered(row: dict[str, Any]) -> list[dict[str, bytes]]:
            blocks = blocks_of(row["file"], column, limit, [row["group"]])
            return [{"answer": dumps(function(texts))} for texts in blocks]

        try:
            # A row group is the least that can be read of a file by itself.
            groups = [{"file": file, "group": group} for file in self._files for group in range(n_groups(file))]
            data = ray.data.from_items(groups, override_num_blocks=min(len(groups), MOST_BLOCKS))
            for row in data.flat_map(answered).iter_rows():
                yield loads(row["answer"])
        except (self._ray.exceptions.RayError, OSError) as error:
            raise _told(error, self.source) from error


def _told(error: BaseException, source: str) -> AnchorscopeError:
    """What went wrong at a worker, in one sentence."""
    cause: Any = error
    while cause is not None and not isinstance(cause, AnchorscopeError | OSError):
        cause = getattr(cause, "cause", None) or cause.__cause__
    if isinstance(cause, AnchorscopeError):
        return cause
    if isinstance(cause, OSError):
        return DocumentsError(f"A worker cannot read {source} ({brief(cause)}); put it where every node sees it.")
    return AnchorscopeError(f"Reading {source} on Ray failed ({brief(error)}); try again, or with --backend local.")

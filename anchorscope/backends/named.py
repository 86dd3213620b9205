"""A backend by its name, with what stands behind a colon: ``local``, ``ray``, ``ray:10.0.0.1:6379``, ``ray:auto``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path

from anchorscope import registry
from anchorscope.backends import BLOCKS
from anchorscope.errors import InputError
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.text.blocks import Blocks, ParquetBlocks
from anchorscope.text.unpack import LIMIT
from anchorscope.types import Backend

MakeBackend = Callable[[MeteredScore, int | None], Backend]


def named_backend(spec: str) -> MakeBackend:
    """What makes the backend; nothing is started before it is called.

    >>> named_backend("local:10.0.0.1")
    Traceback (most recent call last):
    anchorscope.errors.InputError: The backend 'local' takes nothing behind a colon, and '10.0.0.1' stands there.
    """
    if not isinstance(spec, str):
        raise InputError(f"backend must be a name ({', '.join(registry.names('backend'))}), not {spec!r}.")
    name, colon, argument = spec.partition(":")
    make = registry.resolve("backend", name)
    if not colon:
        return lambda score, workers: make(score, workers)
    try:
        signature(make).bind(None, None, argument)
    except TypeError as error:
        raise InputError(
            f"The backend {name!r} takes nothing behind a colon, and {argument!r} stands there."
        ) from error
    return lambda score, workers: make(score, workers, argument)


@contextmanager
def named_blocks(
    spec: str, paths: Sequence[str | Path], column: str | None, workers: int | None, max_unpacked: int = LIMIT
) -> Iterator[Blocks]:
    """Parquet files, read by the workers of a backend where it has a way to, else here; each may hold
    ``max_unpacked`` bytes of text, on workers each of its groups of rows."""
    name, _, argument = spec.partition(":")
    named_backend(spec)
    if name not in BLOCKS:
        yield ParquetBlocks(paths, column, max_unpacked)
        return
    read_blocks = registry.load(BLOCKS[name])
    with read_blocks(paths, column, max_unpacked, argument or None, workers) as blocks:
        yield blocks

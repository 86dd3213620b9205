"""Packed files (.gz .bz2 .xz .zst), unpacked as a stream and no further than a limit.

A few megabytes can be unpacked into terabytes, so what comes out is counted, and a file that yields more than was
allowed is refused (``max_unpacked`` raises it). A file may consist of several packed pieces, one after another. What
follows the last of them and is no packed data is not passed over: somebody has put two things into one file, and only
they know which one was meant.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from anchorscope.errors import DocumentsError, MissingPackageError

LIMIT = 2 << 30
"""Bytes that a packed file may hold, unless told otherwise."""

PIECE = 1 << 16
"""Bytes that are read, and at most so many that are unpacked, at a time."""

MEMORY = 1 << 28
"""Bytes that a file may ask for to be unpacked: those that ``xz -9`` writes take a quarter of it."""

SMALL_PIECE = 1 << 10
"""Bytes that are read at a time where nothing limits what comes out of them: one may become thirty thousand."""


@dataclass(frozen=True, slots=True)
class Packing:
    """How files of a kind begin, what unpacks a piece of one, step by step, and whether zeros may fill up its end."""

    magic: bytes
    new_piece: Callable[[], Any]
    step: Callable[[Any, bytes], tuple[bytes, bytes]]
    piece_size: int = PIECE
    may_be_padded: bool = False


def _zlib_step(piece: Any, given: bytes) -> tuple[bytes, bytes]:
    """What comes out, and what is left to give: zlib hands back what it could not unpack yet."""
    return piece.decompress(given, PIECE), piece.unconsumed_tail


def _buffering_step(piece: Any, given: bytes) -> tuple[bytes, bytes]:
    """The same where the piece keeps what it could not unpack yet."""
    return piece.decompress(given, PIECE), b""


def _unlimited_step(piece: Any, given: bytes) -> tuple[bytes, bytes]:
    """The same where all of it comes out at once."""
    return piece.decompress(given), b""


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise MissingPackageError("zstandard", "zstd", "reading .zst files") from error
    return zstandard.ZstdDecompressor().decompressobj()


PACKINGS = {
    ".gz": Packing(b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31), _zlib_step, may_be_padded=True),
    ".bz2": Packing(b"BZh", bz2.BZ2Decompressor, _buffering_step),
    ".xz": Packing(b"\xfd7zXZ", lambda: lzma.LZMADecompressor(memlimit=MEMORY), _buffering_step, may_be_padded=True),
    ".zst": Packing(b"\x28\xb5\x2f\xfd", _zstandard, _unlimited_step, SMALL_PIECE),
}
"""By the ending of a file."""


def packing_of(head: bytes) -> str:
    """The ending that the first bytes of a stream suggest; none if it is not packed.

    >>> packing_of(b"BZh91AY"), packing_of(b"text")
    ('.bz2', '')
    """
    return next((ending for ending, packing in PACKINGS.items() if head.startswith(packing.magic)), "")


def unpacked(packed: BinaryIO, ending: str, source: str, limit: int = LIMIT) -> io.BufferedReader:
    """What a packed stream holds, as a stream."""
    return io.BufferedReader(_Unpacked(packed, PACKINGS[ending], source, limit))


def too_large(source: str, limit: int) -> DocumentsError:
    """What is said of a file that holds more than it may."""
    return DocumentsError(
        f"{source} unpacks to more than {limit:,} bytes; if that is meant, allow more with --max-unpacked."
    )


class _Unpacked(io.RawIOBase):
    """The bytes in a packed stream; notices where it breaks off, goes on too long, or is followed by something else."""

    def __init__(self, packed: BinaryIO, packing: Packing, source: str, limit: int) -> None:
        self._packed = packed
        self._packing = packing
        self._source = source
        self._limit = limit
        self._n_bytes = 0
        self._piece: Any = packing.new_piece()
        self._input = b""
        self._output = memoryview(b"")
        self._at_start = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._output:
            if not self._unpack():
                return 0
        n_bytes = min(len(buffer), len(self._output))
        buffer[:n_bytes] = self._output[:n_bytes]
        self._output = self._output[n_bytes:]
        return n_bytes

    def _unpack(self) -> bool:
        """Unpack a little more; False at the end of the file."""
        self._input = self._input or self._packed.read(self._packing.piece_size)
        if self._at_start and not self._another_piece():
            return False
        if not self._input and not self._has_more_inside():
            raise EOFError("it breaks off in the middle")
        try:
            data, self._input = self._packing.step(self._piece, self._input)
        except (OSError, EOFError):
            raise
        except Exception as error:  # zlib, lzma and zstandard each raise a class of their own
            raise OSError(str(error)) from error
        self._n_bytes += len(data)
        if self._n_bytes > self._limit:
            raise too_large(self._source, self._limit)
        self._output = memoryview(data)
        if self._piece.eof:
            self._input = self._piece.unused_data
            self._piece = self._packing.new_piece()
            self._at_start = True
        return True

    def _another_piece(self) -> bool:
        """Whether another piece begins here; padding is passed over, anything else is refused."""
        if self._packing.may_be_padded and self._n_bytes:
            self._input = self._input.lstrip(b"\0")
            while not self._input and (more := self._packed.read(self._packing.piece_size)):
                self._input = more.lstrip(b"\0")
        if not self._input:
            return False
        if len(self._input) < len(self._packing.magic):
            self._input += self._packed.read(self._packing.piece_size)
        if not self._input.startswith(self._packing.magic):
            what = "does not begin with packed data" if not self._n_bytes else "goes on after its packed data"
            raise OSError(f"it {what}: {bytes(self._input[:16])!r}")
        self._at_start = False
        return True

    def _has_more_inside(self) -> bool:
        """Whether the piece itself still holds what it was given: bz2 and lzma do, up to what they may unpack."""
        return not getattr(self._piece, "needs_input", True)

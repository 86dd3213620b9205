"""One connection to a server, asked one request at a time; certificates are checked.

Requests go through httpx's transport. Its client prepares each of them anew (cookies, redirects, authentication), which
takes a quarter of the time that a request takes on this side: with many in flight, they wait for that. So the client is
asked only where the environment names a proxy, which it finds.

An answer is read and unpacked a piece at a time, and no further than a limit: a few kilobytes can be unpacked into
gigabytes, and a server may never come to an end.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies

USUAL = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "anchorscope"}

LARGEST_ANSWER = 64 << 20
"""Bytes of an answer, unpacked; to be read as JSON takes twenty times as much memory."""

LARGEST_OF_NONE = 1 << 20
LARGEST_OF_A_TEXT = 256 << 10
"""What of them an answer may have that is about no text, and how much more for each: a thousand labels have a tenth."""

GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
"""Tells zlib to find out which of the two headers there is."""


class UnreadableAnswer(Exception):
    """An answer that is too large, or packed in a way that nobody asked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, unpacked."""

    status: int
    headers: Any
    content: bytes


class Connection:
    """Posts bodies to ``url``, with these headers besides the usual ones."""

    def __init__(self, url: str, headers: dict[str, str], certificates: Any) -> None:
        import httpx

        self._url = httpx.URL(url)
        self._headers = httpx.Headers({**USUAL, **headers})
        self._client: Any = None
        self._transport: Any = None
        if getproxies():
            # One limit of time for a request, set where it is sent: httpx would set one for each of its steps.
            self._client = httpx.AsyncClient(timeout=None, verify=certificates)
        else:
            self._transport = httpx.AsyncHTTPTransport(verify=certificates)

    async def post(self, body: bytes, kind: str, largest: int) -> Answer:
        """What comes back for a body of this kind, read to its end; a zlib.error where it is packed badly.

        An answer of more than ``largest`` bytes is an UnreadableAnswer.
        """
        import httpx

        headers = [*self._headers.raw, (b"content-type", kind.encode("ascii"))]
        request = httpx.Request("POST", self._url, headers=headers, content=body)
        if self._client is not None:
            response = await self._client.send(request, stream=True)
        else:
            response = await self._transport.handle_async_request(request)
        try:
            content = await _content(response, largest)
        finally:
            await response.aclose()
        return Answer(response.status_code, response.headers, content)

    async def aclose(self) -> None:
        """Let go of it."""
        await (self._client or self._transport).aclose()


def largest_answer(n_texts: int) -> int:
    """Bytes of an answer about so many texts.

    >>> largest_answer(1), largest_answer(10_000) == LARGEST_ANSWER
    (1310720, True)
    """
    return min(LARGEST_ANSWER, LARGEST_OF_NONE + LARGEST_OF_A_TEXT * n_texts)


async def _content(response: Any, largest: int) -> bytes:
    """The body of a response, unpacked."""
    pieces = _Pieces(response.headers.get("content-encoding", "identity").strip().lower(), largest)
    async for piece in response.aiter_raw():
        pieces.add(piece)
    return pieces.whole()


class _Pieces:
    """The pieces of an answer, unpacked and counted as they come.

    >>> pieces = _Pieces("gzip", largest=100)
    >>> pieces.add(zlib.compress(b"[0.25, 0.75]"))
    >>> pieces.whole()
    b'[0.25, 0.75]'
    """

    def __init__(self, packing: str, largest: int) -> None:
        if packing not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise UnreadableAnswer(f"is packed as {packing!r}, and gzip was asked for")
        self._unpack = None if packing in ("", "identity") else zlib.decompressobj(wbits=GZIP_OR_ZLIB)
        self._pieces: list[bytes] = []
        self._largest = largest
        self._n_left = largest

    def add(self, piece: bytes) -> None:
        """One more; a limit on what comes out of it keeps the memory small."""
        if self._unpack is not None:
            piece = self._unpack.decompress(piece, self._n_left + 1)
        self._n_left -= len(piece)
        if self._n_left < 0:
            raise UnreadableAnswer(f"is larger than {self._largest / (1 << 20):.3g} MB")
        self._pieces.append(piece)

    def whole(self) -> bytes:
        """All that came."""
        return b"".join(self._pieces)

"""One connection to a server, asked one request at a time; certificates are checked.

Requests go through httpx's transport. Its client prepares each of them anew (cookies, redirects, authentication), which
takes a quarter of the time that a request takes on this side: with many in flight, they wait for that. So the client is
asked only where the environment names a proxy, which it finds.
"""

from __future__ import annotations

from typing import Any
from urllib.request import getproxies

USUAL = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "anchorscope"}


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

    async def post(self, body: bytes, kind: str) -> Any:
        """What comes back for a body of this kind, read to its end."""
        import httpx

        headers = [*self._headers.raw, (b"content-type", kind.encode("ascii"))]
        request = httpx.Request("POST", self._url, headers=headers, content=body)
        if self._client is not None:
            return await self._client.send(request)
        response = await self._transport.handle_async_request(request)
        await response.aread()
        return response

    async def aclose(self) -> None:
        """Let go of it."""
        await (self._client or self._transport).aclose()

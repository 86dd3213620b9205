"""One connection to a server, asked one request at a time; certificates are checked.

Requests go through httpx's transport. Its client prepares each of them anew (cookies, redirects, authentication), which
takes a quarter of the time that a request takes on this side: with many in flight, they wait for that. So the client is
asked only where the environment names a proxy, which it finds.
"""

from __future__ import annotations

from typing import Any
from urllib.request import getproxies


class Connection:
    """Posts bodies to ``url``, with these headers besides the usual ones."""

    def __init__(self, url: str, headers: dict[str, str], certificates: Any) -> None:
        import httpx

        self._url = httpx.URL(url)
        # One limit of time for a request, set where it is sent: httpx would set one for each of its steps.
        self._client = httpx.AsyncClient(headers=headers, timeout=None, verify=certificates)
        self._headers = self._client.build_request("POST", self._url).headers
        self._transport = None if getproxies() else httpx.AsyncHTTPTransport(verify=certificates)

    async def post(self, body: bytes, kind: str) -> Any:
        """What comes back for a body of this kind, read to its end."""
        import httpx

        headers = [*self._headers.raw, (b"Content-Type", kind.encode("ascii"))]
        if self._transport is None:
            return await self._client.post(self._url, content=body, headers={"content-type": kind})
        headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
        request = httpx.Request("POST", self._url, headers=headers, content=body)
        response = await self._transport.handle_async_request(request)
        await response.aread()
        return response

    async def aclose(self) -> None:
        """Let go of it."""
        await self._client.aclose()
        if self._transport is not None:
            await self._transport.aclose()

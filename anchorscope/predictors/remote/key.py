"""The key that a server wants: read from the environment, checked before it is sent, and shown to nobody.

>>> key = Key("sk-secret", RemoteOptions())
>>> key.headers
{'Authorization': 'Bearer sk-secret'}
>>> key.masked("no such key: sk-secret")
'no such key: ***'
"""

from __future__ import annotations

import json
import os
import re
from urllib.parse import quote, quote_plus

from anchorscope.errors import ModelError
from anchorscope.predictors.remote.options import RemoteOptions

MASK = "***"

SHORTEST_IN_AN_ANSWER = 8
"""A shorter key, and one of digits alone, may be part of an answer by chance."""


class Key:
    """The value of a key, if there is one; it is made for a request, and kept nowhere."""

    def __init__(self, value: str, options: RemoteOptions) -> None:
        if value and not re.fullmatch(r"[!-~]([ -~]*[!-~])?", value):
            is_framed = value != value.strip()
            fault = "begins or ends with white space" if is_framed else "holds characters that no header can hold"
            raise ModelError(
                f"The key in the environment variable {options.key_variable} {fault}; set it to the key alone."
            )
        self.variable = options.key_variable
        self._value = value
        self._header = options.key_header

    @classmethod
    def from_environment(cls, options: RemoteOptions) -> Key:
        """The key that the options name."""
        return cls(os.environ.get(options.key_variable, ""), options)

    def __bool__(self) -> bool:
        return bool(self._value)

    @property
    def headers(self) -> dict[str, str]:
        """The header that it is sent in."""
        if not self._value:
            return {}
        return {self._header: f"Bearer {self._value}" if self._header.lower() == "authorization" else self._value}

    def masked(self, text: str) -> str:
        """A text without the key, however it is written there."""
        for written in self._spellings():
            text = text.replace(written, MASK)
        return text

    def masked_answer(self, content: bytes) -> bytes:
        """An answer without the key: a label that repeats it would be written down."""
        if len(self._value) < SHORTEST_IN_AN_ANSWER or self._value.isdigit():
            return content
        for written in self._spellings():
            content = content.replace(written.encode(), MASK.encode())
        return content

    def _spellings(self) -> list[str]:
        """The key as it is, as an address holds it and as JSON does; the longest first."""
        value = self._value
        written = {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1]} - {""}
        return sorted(written, key=len, reverse=True)

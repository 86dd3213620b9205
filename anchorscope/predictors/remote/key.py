"""The key that a server wants: read from the environment, checked before it is sent, and shown to nobody.

>>> key = Key("sk-secret", RemoteOptions())
>>> key.headers
{'Authorization': 'Bearer sk-secret'}
>>> key.masked("no such key: sk-secret"), key.masked("?k=%73k-secret")
('no such key: ***', '?k=***')

A server that repeats the key may write it otherwise, in whole or in part: as JSON does (\\u0073), as an address (%73),
as a page (&#115;), or two bytes a character. So a text is looked at as it is and as it reads, and an answer once it is
read from JSON. Only so much of it is looked at: a server may send megabytes in which every sign is written otherwise.
What is not looked at is not shown.
"""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus

from anchorscope.errors import ModelError
from anchorscope.predictors.remote.options import RemoteOptions

MASK = "***"

SHORTEST_IN_AN_ANSWER = 8
"""A shorter key, and one of digits alone, may be part of an answer by chance."""

WRITTEN = re.compile(
    r"(?<!\\)\\+(?:u00|x)([0-9a-f]{2})|%(?:25){0,3}([0-9a-f]{2})|&#x0{0,5}([0-9a-f]{2});|&#0{0,5}([0-9]{2,3});|\0",
    re.IGNORECASE,
)
"""A character of a key, written in another way; or the second byte of one."""

DEEP = 3
"""How often a character may be written in another way, and the outcome in yet another."""


SIGNS = ("\\", "%", "&", "\0")
"""One of them is in whatever is written in another way."""

MOST_READ = 1 << 16
"""Characters of a text that are looked at."""

END = 1 << 12
"""Characters before the place where it is cut, which are not shown: half a key would not be found there."""

MOST_IN_AN_ANSWER = 1 << 22
"""Characters of an answer that are looked at as they read; a text beyond them in which there are signs is masked."""


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
        """A text without the key, however it is written there; where it is written otherwise, the text as it reads.

        A long one is cut.
        """
        if not self._value:
            return text
        if len(text) > MOST_READ:
            return self._masked(text[:MOST_READ])[:-END]
        return self._masked(text)

    def _masked(self, text: str) -> str:
        text = self._masked_as_it_is(text)
        read = text
        for _ in range(DEEP):
            read, n_read = WRITTEN.subn(_character, read)
            if not n_read:
                break
            if self._value in read:
                return read.replace(self._value, MASK)
        return text

    def _masked_as_it_is(self, text: str) -> str:
        for written in self._spellings:
            text = text.replace(written, MASK)
        return text

    def masked_answer(self, answer: Any) -> Any:
        """An answer, read from JSON, without the key: a label that repeats it would be written down.

        >>> Key("sk-secret", RemoteOptions()).masked_answer([{"sk-secret": 0.5}, "good"])
        [{'***': 0.5}, 'good']
        """
        if len(self._value) < SHORTEST_IN_AN_ANSWER or self._value.isdigit():
            return answer
        return self._masked_part(answer, _Allowance(MOST_IN_AN_ANSWER))

    def _masked_part(self, part: Any, allowed: _Allowance) -> Any:
        if isinstance(part, str):
            return self._masked_string(part, allowed)
        if isinstance(part, list):
            return [self._masked_part(inside, allowed) for inside in part]
        if isinstance(part, dict):
            return {self._masked_string(name, allowed): self._masked_part(p, allowed) for name, p in part.items()}
        return part

    def _masked_string(self, text: str, allowed: _Allowance) -> str:
        if len(text) < len(self._value):
            return text
        if not any(sign in text for sign in SIGNS):
            return self._masked_as_it_is(text)
        return self.masked(text) if allowed.take(min(len(text), MOST_READ)) else MASK

    @cached_property
    def _spellings(self) -> list[str]:
        """The key as it is, as an address holds it and as JSON does; the longest first."""
        value = self._value
        written = {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1]} - {""}
        return sorted(written, key=len, reverse=True)


class _Allowance:
    """How much may still be looked at."""

    def __init__(self, n_left: int) -> None:
        self._n_left = n_left

    def take(self, n: int) -> bool:
        """Whether there is so much left; it is gone then."""
        self._n_left -= n
        return self._n_left >= 0


def _character(written: re.Match[str]) -> str:
    r"""What is written in another way.

    >>> WRITTEN.sub(_character, r"\u0076 \\x76 %76 %2576 &#118; &#x76;")
    'v v v v v v'
    """
    in_json, in_address, in_page, in_decimals = written.groups()
    if in_decimals:
        return chr(int(in_decimals))
    digits = in_json or in_address or in_page
    return chr(int(digits, 16)) if digits else ""

"""What can be said of a model behind HTTP, besides its address."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from anchorscope.errors import InputError, in_a_line

KEY_VARIABLE = "ANCHORSCOPE_KEY"
"""The environment variable in which a key is looked for, unless another is named."""

OF_THE_REQUEST = ("host", "connection", "content-length", "content-type", "transfer-encoding")
"""Headers that say how a request is to be read: none of them can hold a key."""

CONCURRENCY = 8
TIMEOUT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """How a server is asked.

    ``api``           the form, by name; None where ``request`` and ``answer`` say it
    ``request``       JSON in which "{texts}" stands for a list of texts, or {text}, within a string, for one
    ``answer``        the path to the rows in what comes back, such as predictions[*].scores
    ``api_model``     the name of the model, where the server has several
    ``prompt``        what a language model is told to do
    ``votes``         answers a text of a language model that gives no log-probabilities
    ``api_input``     the name of the input of a KServe model
    ``key_variable``  the environment variable that holds the key, if the server wants one
    ``key_header``    the header that the key is sent in; Authorization says "Bearer" before it
    ``concurrency``   requests in flight at once, at most
    ``timeout``       the seconds after which a request has failed
    ``batch_size``    texts a request, at most, where the form takes several
    """

    api: str | None = None
    request: str | None = None
    answer: str | None = None
    api_model: str | None = None
    prompt: str | None = None
    votes: int | None = None
    api_input: str | None = None
    key_variable: str = KEY_VARIABLE
    key_header: str = "Authorization"
    concurrency: int = CONCURRENCY
    timeout: float = TIMEOUT
    batch_size: int | None = None

    def __post_init__(self) -> None:
        for name in ("concurrency", "votes", "batch_size"):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or number < 1):
                raise InputError(f"{name} must be a whole number of at least 1, not {number!r}.")

        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", self.key_header):
            raise InputError(
                f"--key-header {in_a_line(self.key_header)} is no name of a header; write it as in --key-header "
                "X-API-Key."
            )
        if self.key_header.lower() in OF_THE_REQUEST:
            raise InputError(f"The header {self.key_header} says something else; name another with --key-header.")

    def refuse_unread(self, read: tuple[str, ...], form: str) -> None:
        """Refuse an option that a form has no use for."""
        defaults = RemoteOptions()
        for name in OF_A_FORM:
            if name not in read and getattr(self, name) != getattr(defaults, name):
                raise InputError(f"The form {form} has no use for --{name.replace('_', '-')}; leave it out.")


OF_A_FORM = ("request", "answer", "api_model", "prompt", "votes", "api_input")
NAMES = tuple(field.name for field in fields(RemoteOptions) if field.name not in ("timeout", "batch_size"))
"""The options that only a model behind HTTP has a use for."""

"""What a server says instead of an answer, as a sentence with the next step.

status 401, 403      the key is wrong: no other text would fare better, so this ends it
407                  a proxy wants a password; likewise
404, 405, 3xx        the address is wrong; likewise
400, 422 …           the request is: what came is quoted
HTML, another schema likewise
413                  the request was too large: the next are smaller
408, 429, 5xx        a failure: this text is asked about again
not JSON             likewise, as an answer that was cut off
"""

from __future__ import annotations

import json
from typing import Any

from anchorscope.errors import ModelError
from anchorscope.predictors.remote.connection import Answer
from anchorscope.predictors.remote.key import MOST_READ, Key

QUOTED = 120
"""Characters of an answer that a sentence quotes."""


class RemoteFailure(Exception):
    """A request that may do better the next time; ``retry_after`` seconds from now, if the server says so.

    ``slow_down`` says that the server is asked too much.
    """

    def __init__(self, message: str, retry_after: float | None = None, *, slow_down: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.slow_down = slow_down


class TooLarge(RemoteFailure):
    """A request that holds too much at once."""


def checked_answer(answer: Answer, where: str, key: Key) -> Any:
    """The JSON of an answer, or an error: a RemoteFailure where it is worth another try."""
    status = answer.status
    content = answer.content
    if status < 300:
        return _read_json(content, where, key)
    said = quoted(content, key)
    if status in (401, 403):
        held = "is refused" if key else "is missing"
        raise ModelError(
            f"{where} lets nobody in without a key ({status}), and the one in the environment variable {key.variable} "
            f"{held}: {said}; put a valid key there, or name another variable with --key-variable."
        )
    if status == 407:
        raise refused_by_proxy(where, f"407: {said}")
    if status in (404, 405) or status < 400:
        location = answer.headers.get("location", "")
        moved = f" (it points to {quoted(location.encode(), key)})" if location else ""
        raise ModelError(
            f"There is no model at {where} ({status}){moved}: {said}; check the address, to its last part."
        )
    if status == 413:
        raise TooLarge("413: the request is too large")
    if status in (408, 425, 429) or status >= 500:
        wait = _seconds(answer.headers.get("retry-after"))
        raise RemoteFailure(f"status {status}: {said}", wait, slow_down=status == 429 or wait is not None)
    raise ModelError(f"{where} refuses the request ({status}): {said}; compare the form with what the server expects.")


def refused_by_proxy(where: str, said: str) -> ModelError:
    """A proxy that helps only those whom it knows."""
    return ModelError(
        f"The proxy that the environment names (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) does not let us speak with {where} "
        f"without a password ({said}); name it there as http://user:password@host:port, or another one, or none."
    )


class _Ambiguous(Exception):
    """A name that stands twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; readers differ in which of two values of one name they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Ambiguous(next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number])))
    return found


def _read_json(content: bytes, where: str, key: Key) -> Any:
    try:
        return key.masked_answer(json.loads(content, object_pairs_hook=_object))
    except _Ambiguous as error:
        name = quoted(str(error).encode("utf-8", "replace"), key)
        raise ModelError(
            f"{where} answered JSON in which the name {name} stands twice in one place, so that it can be read in two "
            "ways; mend the server."
        ) from None
    except (ValueError, RecursionError) as error:
        said = quoted(content, key)
        if content.lstrip()[:1] == b"<":
            raise ModelError(
                f"{where} answered a page of HTML instead of JSON: {said}; is this the address of the API?"
            ) from error
        raise RemoteFailure(f"the answer is no JSON, or was cut off: {said}") from error


def other_schema(answer: Any, expected: str, where: str, key: Key) -> ModelError:
    """An answer that does not look as it should."""
    came = quoted(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"), key)
    return ModelError(f"{where} answered {came}; expected {expected}: choose the --api or the --answer that fits.")


def quoted(content: bytes, key: Key) -> str:
    """The beginning of an answer, in quotes; a key that the server repeats is not.

    The key is masked before anything is cut off: half a key would not be found any more.
    """
    begun = content[: 4 * MOST_READ + 4]  # four bytes a character, at most, and one more than are looked at
    text = key.masked(begun.decode(json.detect_encoding(begun), "replace"))
    text = " ".join(text[: 20 * QUOTED].split())
    return repr(text if len(text) <= QUOTED else f"{text[:QUOTED]}…")


def _seconds(said: str | None) -> float | None:
    try:
        return max(0.0, float(said)) if said is not None else None
    except ValueError:  # a date
        return None

"""What a Ray worker holds: a copy of the local score, loaded once, which measures the units that it is given.

This side of the wire imports no Ray. A replica is made empty and loads afterwards, so that whatever goes wrong with the
model there (a package of another version, a file that this node does not have) is an ordinary error with its sentence.
"""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pickle import loads
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import brief
from anchorscope.errors import AnchorscopeError, InputError
from anchorscope.local_scores.metered import MeteredScore
from anchorscope.types import Cost, Measurements, Unit

PACKAGES = (
    "anchorscope",
    "numpy",
    "regex",
    "scikit-learn",
    "scipy",
    "torch",
    "transformers",
    "tokenizers",
    "onnxruntime",
)
"""What a measurement may depend on."""


class Replica:
    """A local score in another process, perhaps on another machine."""

    def __init__(self) -> None:
        self._score: MeteredScore | None = None

    def load(self, score: NDArray[np.uint8], search_path: Sequence[str], here: Mapping[str, str]) -> tuple[str, int]:
        """Read the pickled score, if this worker has what it was made with; answers the host and the process."""
        refuse_other_versions(here, versions(here), socket.gethostname())
        # A model of a module beside the user's script: where this node has that folder, it is found as it was there.
        sys.path += [folder for folder in search_path if folder not in sys.path]
        try:
            self._score = loads(score.data)
        except AnchorscopeError as error:
            raise InputError(f"On the worker {socket.gethostname()}: {error}") from error
        except Exception as error:
            raise InputError(
                f"The worker {socket.gethostname()} cannot load the model ({brief(error)}); modules and files that it "
                "needs must be at the same place on every node."
            ) from error
        return socket.gethostname(), os.getpid()

    def measure(
        self, units: Sequence[Unit], max_calls: float, columns: Sequence[str] | None = None
    ) -> tuple[Measurements, Cost]:
        """As the local score does; ``columns`` are what the model called its columns where it was asked first."""
        assert self._score is not None, "a replica loads before it measures"
        self._score.columns.remember(columns)
        return self._score.measure(units, max_calls)

    def predict(
        self, texts: Sequence[str], max_calls: float, columns: Sequence[str] | None = None
    ) -> tuple[NDArray[np.float64], Cost]:
        """What the model says of some texts, and what that took."""
        assert self._score is not None, "a replica loads before it predicts"
        self._score.columns.remember(columns)
        return self._score.predict(texts, max_calls)

    def call(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """What a function answers here."""
        return function(argument)


def versions(names: Sequence[str] | Mapping[str, str] = PACKAGES) -> dict[str, str]:
    """The versions of Python and of those packages that there are.

    >>> versions(["no-such-package"]).keys()
    dict_keys(['python'])
    """
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in names:
        try:
            found.setdefault(name, version(name))
        except PackageNotFoundError:
            continue
    return found


def refuse_other_versions(here: Mapping[str, str], there: Mapping[str, str], host: str) -> None:
    """Refuse a worker that would measure with something else.

    >>> refuse_other_versions({"numpy": "2.1"}, {"numpy": "2.0"}, "node-7")
    Traceback (most recent call last):
    anchorscope.errors.InputError: The worker node-7 has numpy 2.0, and here is 2.1; install the same on every node.
    """
    for name, ours in here.items():
        if there.get(name) != ours:
            theirs = f"{name} {there[name]}" if name in there else f"no {name}"
            raise InputError(f"The worker {host} has {theirs}, and here is {ours}; install the same on every node.")

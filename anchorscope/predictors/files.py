"""Models in a file: .skops, whose types are looked at before anything is built, and pickles, which can run any code."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from anchorscope.errors import ModelFileError, RunFolderError
from anchorscope.files import read_regular
from anchorscope.predictors.adapt import adapted, put_current_folder_on_path
from anchorscope.predictors.options import ModelOptions
from anchorscope.predictors.scikit import ScikitPredictor, read_pickle, read_skops
from anchorscope.types import Predictor

LARGEST = 1 << 40
"""Bytes beyond which a file is not read, whatever the memory."""


def from_skops(path: str, options: ModelOptions) -> Predictor:
    """A .skops file: nothing is loaded unless each type in it is known to be safe or trusted by the caller."""
    file = Path(path).expanduser()
    if options.trust:
        _put_current_folder_last()
    data = _contents(file)
    predictor = _adapted(read_skops(data, file.name, options.trust), file, data, options)
    if isinstance(predictor, ScikitPredictor):
        predictor.is_fully_fingerprinted = not options.trust
    return predictor


def from_pickle(path: str, options: ModelOptions) -> Predictor:
    """A pickle or joblib file: refused unless the caller allows it, as it can run any code."""
    file = Path(path).expanduser()
    data = _contents(file)
    if not options.allow_pickle:
        raise ModelFileError(
            f"{file.name!r} is a pickle, which can run any code when it is read; save the model with skops "
            "instead, or, if you trust the file as you would a program, add --allow-pickle."
        )
    _put_current_folder_last()
    return _adapted(read_pickle(data, file.name), file, data, options)


def _adapted(model: Any, file: Path, data: bytes, options: ModelOptions) -> Predictor:
    return adapted(model, options, name=file.name, fingerprint=sha256(data).hexdigest())


def _put_current_folder_last() -> None:
    """No file that lies here may stand in for an installed module."""
    put_current_folder_on_path(len(sys.path))


def _contents(path: Path) -> bytes:
    """The bytes of a regular file; a link that the caller names is followed."""
    try:
        return read_regular(path.resolve(), at_most=LARGEST)
    except (OSError, ValueError, RuntimeError) as error:  # a RuntimeError: links that lead in a circle
        reason = getattr(error, "strerror", error)
        raise ModelFileError(f"The model file {str(path)!r} cannot be read: {reason}.") from error
    except (RunFolderError, MemoryError) as error:
        raise ModelFileError(
            f"The model file {str(path)!r} is no regular file (it is a pipe or the like), or does not fit into memory; "
            "name a file that was saved whole."
        ) from error

"""Packages that only some models and local scores need, imported when one of these comes."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from anchorscope.errors import MissingPackageError


def needed(package: str, extra: str, purpose: str) -> Any:
    """The module ``package``; where it is not installed, an error names the extra that brings it.

    >>> needed("json", "standard", "reading JSON").loads("[1]")
    [1]
    >>> needed("no_such_package", "scikit", "reading .skops files")
    Traceback (most recent call last):
    anchorscope.errors.MissingPackageError: The package 'no_such_package' is needed for reading .skops files; \
install it with: pip install 'anchorscope[scikit]'.
    """
    try:
        with warnings.catch_warnings():  # what a package does with those that it needs itself is not ours to mend
            warnings.simplefilter("ignore")
            return import_module(package)
    except ImportError as error:
        raise MissingPackageError(package.partition(".")[0], extra, purpose) from error

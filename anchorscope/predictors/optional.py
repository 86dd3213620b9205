"""Packages that only some models need, imported when such a model comes."""

from __future__ import annotations

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
        return import_module(package)
    except ImportError as error:
        raise MissingPackageError(package.partition(".")[0], extra, purpose) from error

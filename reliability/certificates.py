"""Certificates of servers: one that is right, and others that are not, each in one way."""

from __future__ import annotations

import ssl
import tempfile
import warnings
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import trustme

HOSTS = ("127.0.0.1", "model.invalid")
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificates:
    """What a server can show, by name, and the folder with the authority that vouches for what is right."""

    folder: tempfile.TemporaryDirectory[str]
    contexts: dict[str, ssl.SSLContext]

    @property
    def authority(self) -> Path:
        """Its file."""
        return Path(self.folder.name) / "authority.pem"


@cache
def certificates() -> Certificates:
    """The same ones in the whole process."""
    authority = trustme.CA()
    now = datetime.now(timezone.utc)
    shown = {
        "right": authority.issue_cert(*HOSTS),
        "of its own": trustme.CA().issue_cert(*HOSTS),
        "of another host": authority.issue_cert("127.0.0.2", "another.invalid"),
        "that has ended": authority.issue_cert(*HOSTS, not_before=now - 9 * DAY, not_after=now - DAY),
        "that has not begun": authority.issue_cert(*HOSTS, not_before=now + DAY, not_after=now + 9 * DAY),
    }
    contexts = {name: _context(certificate) for name, certificate in shown.items()}
    contexts["of an old TLS"] = _old(_context(shown["right"]))
    found = Certificates(tempfile.TemporaryDirectory(prefix="anchorscope-certificates-"), contexts)
    authority.cert_pem.write_to_path(found.authority)
    return found


def _old(context: ssl.SSLContext) -> ssl.SSLContext:
    """Make it speak a TLS that nobody should speak any more."""
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    return context


def _context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context

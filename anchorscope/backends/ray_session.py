"""A Ray to work on: one that this process uses already, one that is joined by its address, or one started here.

What was started or joined here is let go at the end; what was there before stays. Ray waits minutes for an address
where nobody listens, or somebody else, writes lines of its log meanwhile, and then ends the process: whether somebody
listens who speaks as Ray's head does (gRPC, over HTTP/2) is asked first.
"""

from __future__ import annotations

import logging
import os
import socket
from time import monotonic
from types import ModuleType

from anchorscope.asking.answers import brief
from anchorscope.errors import InputError, MissingPackageError

AUTO = "auto"
"""The address of the cluster that this machine belongs to."""

REACHED_WITHIN = 5.0
"""Seconds in which a cluster has to answer."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""What a client of HTTP/2 says first: a line of its own, and a frame of settings, which are as usual."""

LENGTH_OF_HEAD = 9
SETTINGS = 4
"""Bytes before what is in a frame, and the kind of frame (byte 3) with which a server answers first."""

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray would report to its makers
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a worker without a GPU of its own keeps what the environment says
    "RAY_DEDUP_LOGS": "0",
}


class Session:
    """A connection to Ray; ``ray`` is the module."""

    def __init__(self, ray: ModuleType, *, is_ours: bool) -> None:
        self.ray = ray
        self._is_ours = is_ours

    def close(self) -> None:
        """Leave Ray, or end it if it was started here."""
        if self._is_ours:
            self._is_ours = False
            self.ray.shutdown()


def open_session(address: str | None, workers: int | None) -> Session:
    """Ray at an address; without one, that of this process, or a new one with room for so many workers."""
    ray = _package()
    if ray.is_initialized():
        if address is not None:
            raise InputError(
                f"This process is connected to Ray already: leave out the address {address!r}, or call ray.shutdown() "
                "first."
            )
        return Session(ray, is_ours=False)
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    how = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        cpus = max(workers or 1, os.cpu_count() or 1)
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, **how)
        _say_nothing(ray)
        return Session(ray, is_ours=True)
    _refuse_unreachable(address)
    try:
        ray.init(address=address, **how)
    except (Exception, SystemExit) as error:
        raise InputError(_refused(address, error)) from error
    _say_nothing(ray)
    return Session(ray, is_ours=True)


def _package() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise MissingPackageError("ray", "ray", "the backend 'ray'") from error
    return ray


def _say_nothing(ray: ModuleType) -> None:
    """Ray prints what becomes of workers on the standard output, which is for data; no public switch ends that."""
    ray._private.worker._worker_logs_enabled = False


def _refuse_unreachable(address: str) -> None:
    if address == AUTO:
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise InputError(
            f"{address!r} is no address of a Ray cluster; expected HOST:PORT of its head, such as 10.0.0.1:6379, or "
            f"{AUTO} on one of its machines."
        )
    end = monotonic() + REACHED_WITHIN
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN)
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(
            f"Nobody answers at {address} ({brief(error)}); start a cluster there with: ray start --head --port {port}."
        ) from error

    with connection:
        # Behind TLS the first word is another one, and Ray finds out by itself.
        if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true") and not _speaks_http2(connection, end):
            raise InputError(
                f"Who answers at {address} is not the head of a Ray cluster; name its address and port, which ray "
                "start --head told (6379 unless it was given another)."
            )


def _speaks_http2(connection: socket.socket, end: float) -> bool:
    """Whether the other side answers with a frame of settings before the clock is at ``end``."""
    head = b""
    try:
        connection.sendall(PREFACE)
        while len(head) < LENGTH_OF_HEAD:
            connection.settimeout(max(0.001, end - monotonic()))
            if not (piece := connection.recv(LENGTH_OF_HEAD - len(head))):
                return False
            head += piece
    except OSError:  # it has gone, or says nothing
        return False
    return head[3] == SETTINGS


def _refused(address: str, error: BaseException) -> str:
    """Why a cluster that answers was not joined, in one sentence."""
    said = str(error)
    if "ersion mismatch" in said:
        told = " ".join(line.strip() for line in said.splitlines() if line.strip())
        return f"The cluster at {address} runs on other versions ({told[:300]}); install the same here as there."
    if address == AUTO:
        return "This machine belongs to no Ray cluster; start one with: ray start --head, or leave out the address."
    return f"The cluster at {address} cannot be joined ({brief(error)}); is this machine one of its nodes?"

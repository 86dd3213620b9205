"""Where a torch model computes, and in what: the CPU in float32, a GPU in bfloat16 unless it is told otherwise.

On a CPU digits matter more than speed, and its short types are slow or missing; a GPU is bought for speed. An answer in
bfloat16 differs from the CPU's in the third digit, and compiling a model moves its last ones, so a model has a
fingerprint of its own for each way to compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from anchorscope.errors import InputError

DTYPES = ("float32", "bfloat16", "float16")


def is_card(device: str) -> bool:
    """Whether a device is a GPU.

    >>> is_card("cuda:1"), is_card("cpu")
    (True, False)
    """
    return device.partition(":")[0] == "cuda"


def checked_device(device: str) -> str:
    """The device, if this machine has it."""
    if device == "cpu":
        return device
    import torch

    number = device.partition(":")[2] or "0"
    if is_card(device) and number.isdigit() and int(number) < torch.cuda.device_count():
        return device
    cards = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    raise InputError(f"There is no device {device!r} here; there is: {', '.join(['cpu', *cards])}.")


def checked_dtype(dtype: str | None, device: str) -> str:
    """The type to compute in: the one that was asked for, or the device's own.

    >>> checked_dtype(None, "cuda"), checked_dtype("float16", "cuda:1"), checked_dtype(None, "cpu")
    ('bfloat16', 'float16', 'float32')
    """
    if dtype is None:
        return "bfloat16" if is_card(device) else "float32"
    if dtype not in DTYPES:
        raise InputError(f"There is no type {dtype!r} to compute in; there is: {', '.join(DTYPES)}.")
    if dtype != "float32" and not is_card(device):
        raise InputError(f"On a CPU models compute in float32, not in {dtype}: leave it out, or name a card (cuda).")
    return dtype


def computed_in(fingerprint: str, dtype: str, *, compiled: bool = False) -> str:
    """The fingerprint of a model that computes in a type, as it is or compiled."""
    ways = [*([dtype] if dtype != "float32" else []), *(["compiled"] if compiled else [])]
    return sha256(" ".join([fingerprint, *ways]).encode()).hexdigest() if ways else fingerprint


def to_device(model: Any, device: str, dtype: str) -> Any:
    """The model on the device, in the type, ready to answer."""
    import torch

    return model.to(device, getattr(torch, dtype)).eval()


@contextmanager
def answering(device: str) -> Iterator[None]:
    """No gradients; and on a card no kernel of attention that is planned anew for every shape, as cuDNN's is."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with torch.inference_mode():
        if not is_card(device):
            yield
            return
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
            yield

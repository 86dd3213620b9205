"""Where a torch model computes: the CPU in float32, or a GPU in bfloat16.

The type belongs to the device: on a CPU digits matter more than speed, and a GPU is bought for speed. An answer in
bfloat16 differs from the CPU's in the third digit, so a model on a card has a fingerprint of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from anchorscope.errors import InputError


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


def on_device(fingerprint: str, device: str) -> str:
    """The fingerprint of a model on a device."""
    return sha256(f"{fingerprint} bfloat16".encode()).hexdigest() if is_card(device) else fingerprint


def to_device(model: Any, device: str) -> Any:
    """The model on the device, in the device's type, ready to answer."""
    import torch

    return model.to(device, torch.bfloat16 if is_card(device) else torch.float32).eval()


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

"""What several test files share: hypothesis profiles, a quiet numpy, and one Ray."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

os.environ["ANCHORSCOPE_CACHE"] = "off"  # tests that keep answers name a folder of their own

settings.register_profile(
    "anchorscope",
    deadline=None,  # two busy cores: time says nothing
    derandomize=True,  # the same examples on every machine
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("anchorscope")


@pytest.fixture(scope="session")
def local_ray() -> Iterator[ModuleType]:
    """One Ray of two CPUs for all tests that use it: it takes seconds to start."""
    from anchorscope.backends.ray_session import open_session

    session = open_session(None, 2)
    yield session.ray
    session.close()

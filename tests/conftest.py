"""What several test files share: hypothesis profiles and a quiet numpy."""

from __future__ import annotations

import os

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

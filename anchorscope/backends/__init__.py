"""Where units of work are measured; every backend honours ``anchorscope.types.Backend``.

In: a local score, the number of workers, perhaps an address; then units. Out: its measurements, whoever did the work.
May import: text, asking, local_scores.
"""

from types import MappingProxyType

BACKENDS = MappingProxyType(
    {"local": "anchorscope.backends.local:local_backend", "ray": "anchorscope.backends.ray_actors:ray_backend"}
)
"""Each is called with a local score and the number of workers, and with what stands behind a colon of its name."""

BLOCKS = MappingProxyType({"ray": "anchorscope.backends.ray_blocks:ray_blocks"})
"""What reads Parquet files where the workers of a backend are; for the others they are read in this process."""

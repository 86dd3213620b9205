"""Where units of work are measured; every backend honours ``anchorscope.types.Backend``.

In: a local score and the number of workers. Out: its measurements, whoever did the work. May import: asking.
"""

from types import MappingProxyType

BACKENDS = MappingProxyType({"local": "anchorscope.backends.local:local_backend"})
"""Each is called with a local score and the number of workers."""

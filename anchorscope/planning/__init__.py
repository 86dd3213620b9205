"""Which occurrences to measure next: documents and predictions in, rounds out, the tally of what came back.

In: documents, the model's predictions, settings. Out: rounds of units, and how sure the scores are. May import: text,
asking, sampling, scoring, settings.
"""

from types import MappingProxyType

STRATEGIES = MappingProxyType({"race": "anchorscope.planning.race:Race", "scan": "anchorscope.planning.scan:Scan"})
"""Each is called with a collection and the settings."""

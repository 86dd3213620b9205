"""The run folder: what a run writes down as it goes, and what can be read from it long after.

In: rounds, measurements, snapshots. Out: the same again, read with distrust, for a run that goes on, for tables and for
pages. May import: asking, sampling, scoring, settings, planning, explanations.
"""

"""From measurements to scores: counts that add up, what every aggregation makes of them, and how sure that is.

In: measurements. Out: tallies, scores, intervals, forecasts. Numpy alone: no model, no clock. May import: no other
room.
"""

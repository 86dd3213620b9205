"""Asking a model: texts in, checked answers out, tried again where it fails.

In: a predictor and texts. Out: rows of probabilities that have been looked at. May import: text.
"""

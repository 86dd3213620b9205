"""Perturbed texts: which words of a document are kept, what replaces the others, and what the model makes of it.

In: units (a document and some occurrences in it). Out: measurements, read from samples that are pure functions of their
keys. May import: text, asking.
"""

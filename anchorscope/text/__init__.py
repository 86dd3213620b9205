"""Documents and their words: files and Python objects in, texts, words and terms out.

In: files, lists of texts. Out: documents; words and the gaps around them, without losing a character. May import: no
other room.
"""

"""Readers of snapshots and results: what a run knows, as something to look at.

table        terms as lines of text, for the terminal and for files
terminal     the live table, and plain lines of progress where there is no terminal
local        one document's own anchors
json_lines   a line of JSON a snapshot
flat         CSV, Markdown and JSON, a row a term
"""

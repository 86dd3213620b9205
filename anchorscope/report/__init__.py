"""Readers of snapshots and results: what a run knows, as something to look at.

lists        what the list of a label shows, and where it ends
names        what each number is
table        terms as lines of text, for the terminal and for files
terminal     the live table, and plain lines of progress where there is no terminal
local        one document: what its words do
json_lines   a line of JSON a snapshot
flat         CSV, Markdown and JSON, a row a term
view         all that the page shows of a run, as plain values: kept reads the run, texts its documents and evidence
page         the static report: one HTML file
live, server, guard  the live page: the run's thread, what a browser may ask it, and who may ask
notebook     static HTML, and a display that follows a run
plot         pictures for papers

In: snapshots, results, run folders. Out: text, HTML, pictures; nothing that a run reads. May import: text, asking,
scoring, settings, journal, explanations, result, local, run.
"""

from types import MappingProxyType

DRAWINGS = MappingProxyType(
    {
        "document": "anchorscope.report.notebook:document_html",
        "figure": "anchorscope.report.plot:plot",
        "html": "anchorscope.report.notebook:html",
    }
)
"""Each is called with explanations and the level of their intervals; ``document`` with the explanation of one."""

REPORTERS = MappingProxyType(
    {
        "json-lines": "anchorscope.report.json_lines:JsonLines",
        "lines": "anchorscope.report.terminal:ProgressLines",
        "table": "anchorscope.report.terminal:live_table",
    }
)
"""Each is called with the stream to write to."""

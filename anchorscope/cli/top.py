"""``anchorscope top``: the terms of a kept run again, by any aggregation, from its journal alone: no model is called.

The lists are those of the page (``standings.py``). Where tests are missing (the run goes on, was interrupted, or a
filter or a race left out what its own aggregation did not need) the interval says what a score can still become.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, TextIO

from anchorscope.cli import options
from anchorscope.cli.watch import hidden_words, print_table, say_names
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.explanations import Shown, explanation
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.report import flat
from anchorscope.report.table import explanations_table
from anchorscope.scoring.aggregations import aggregation
from anchorscope.settings import Settings
from anchorscope.types import Explanation

FORMATS = ("table", "csv", "md", "json")


DESCRIPTION = "The terms of a kept run again, by any aggregation, without calling a model."
EPILOG = "What is not given is as the run had it."


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("run", type=options.a_path, metavar="RUN", help="the folder of a run")
    options.add_hiding(options.add_view(parser))
    parser.add_argument("--format", metavar="F", help="table, csv, md or json (table)")


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Print the terms, and give the exit status."""

    form = given.get("format", "table")
    if form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS)
    hide = hidden_words(given, is_table=form == "table")
    with closing(RunReader(given["run"])) as finished:
        settings = _settings(finished, given)
        standings = Standings(finished, alpha=settings.alpha, k=settings.top_k)
        wanted = aggregation(settings.aggregation)
        explanations = _explanations(finished, standings.shown(wanted), settings.top_k, _labels(finished, given))
        level = standings.interval_level(wanted)
    if form == "table":
        print_table(lambda width: explanations_table(explanations, width, hide=hide), output)
        say_names(given, settings.to_dict(), level)
    elif form == "csv":
        output.write(flat.to_csv(explanations))
    elif form == "md":
        output.write(flat.to_markdown(explanations))
    else:
        output.write(flat.to_json(explanations, aggregation=settings.aggregation, alpha=settings.alpha))
    return 0


def _settings(finished: RunReader, given: Mapping[str, Any]) -> Settings:
    """The run's own settings but for what is given; they check that the aggregation makes sense of this run."""

    asked = {name: given[name] for name in ("aggregation", "alpha", "top_k") if name in given}
    values = {**finished.meta["settings"], **asked, "filter": "none"}
    wanted = aggregation(values["aggregation"])
    if "alpha" in given and wanted.reads != "verdicts":
        raise InputError(f"--alpha belongs to counts of anchors, not to {wanted.name}: leave it out.")
    if wanted.reads == "verdicts" and not finished.counts_anchors:
        raise InputError(
            "This run tested no anchors, so it cannot count them: run explain with --preset paper-optimised, or "
            f"without a preset and with --aggregation {wanted.name}{'' if wanted.can_race else ' --strategy scan'}."
        )
    if not wanted.can_race:
        values["strategy"] = "scan"
    if not wanted.is_graded:
        values["weight"] = "equal"
    return Settings.from_dict(values)


def _labels(finished: RunReader, given: Mapping[str, Any]) -> Sequence[str]:
    """The labels to show, out of those that the run explained."""
    explained = finished.meta["settings"]["labels"] or finished.labels
    for label in given.get("label", ()):
        if label not in explained:
            raise UnknownNameError("label in this run", label, explained)
    return [label for label in explained if label in given.get("label", explained)]


def _explanations(finished: RunReader, shown: Shown, k: int, labels: Sequence[str]) -> dict[str, Explanation]:
    return {label: explanation(shown, label, finished.labels.index(label), k) for label in labels}

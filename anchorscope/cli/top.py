"""``anchorscope top``: the terms of a kept run again, by any aggregation, from its journal alone: no model is called.

Scores are functions of the tally. Where tests are missing (the run goes on, was interrupted, or a filter or a race left
out what its own aggregation did not need) the interval says what a score can still become. What a race expects of
the rest is in its result, so its own list is read there.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from anchorscope.cli import options
from anchorscope.errors import UnknownNameError

if TYPE_CHECKING:
    from anchorscope.journal import FinishedRun
    from anchorscope.settings import Settings
    from anchorscope.types import Explanation

FORMATS = ("table", "csv", "md", "json")


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser = commands.add_parser(
        "top",
        parents=[common],
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
        help="the terms of a kept run, by any aggregation",
        description="The terms of a kept run again, by any aggregation, without calling a model.",
        epilog="What is not given is as the run had it.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    options.add_view(parser)
    parser.add_argument("--format", metavar="F", help="table, csv, md or json (table)")


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Print the terms, and give the exit status."""
    from anchorscope.cli.watch import print_table
    from anchorscope.journal import FinishedRun
    from anchorscope.report import flat
    from anchorscope.report.table import explanations_table

    form = given.get("format", "table")
    if form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS)
    finished = FinishedRun(given["run"])
    settings = _settings(finished, given)
    explanations = _of_race(given["run"], settings) or _explanations(finished, settings)
    if form == "table":
        print_table(lambda width: explanations_table(explanations, width), output)
    elif form == "csv":
        output.write(flat.to_csv(explanations))
    elif form == "md":
        output.write(flat.to_markdown(explanations))
    else:
        about = {"aggregation": settings.aggregation, "alpha": settings.alpha, "interval_level": 1.0}
        output.write(flat.to_json(explanations, **about))
    return 0


def _settings(finished: FinishedRun, given: Mapping[str, Any]) -> Settings:
    """The run's own settings but for what is given; they check that the aggregation makes sense of this run."""
    from anchorscope.settings import Settings

    asked = {name: given[name] for name in ("aggregation", "alpha", "top_k") if name in given}
    own = finished.meta["settings"]
    explained = tuple(own["labels"] or finished.labels)
    for label in given.get("label", ()):
        if label not in explained:
            raise UnknownNameError("label in this run", label, explained)
    labels = tuple(given.get("label", explained))
    return Settings.from_dict({**own, **asked, "labels": labels, "filter": "none"})


def _of_race(folder: Path, settings: Settings) -> dict[str, Explanation] | None:
    """The terms in the result of a race, if they are asked for."""
    from dataclasses import replace

    from anchorscope.result import FILE, Result

    if settings.strategy != "race" or not (folder / FILE).exists():
        return None
    result = Result.load(folder)
    if any(result.settings[name] != getattr(settings, name) for name in ("aggregation", "alpha")):
        return None
    if settings.top_k > result.settings["top_k"]:
        return None
    chosen = [result[label] for label in settings.labels or ()]
    return {e.label: replace(e, terms=e.terms[: settings.top_k]) for e in chosen}


def _explanations(finished: FinishedRun, settings: Settings) -> dict[str, Explanation]:
    import numpy as np

    from anchorscope import bounds, scores
    from anchorscope.run import term_view
    from anchorscope.scan import Standing
    from anchorscope.types import Explanation

    name, alpha, tally = settings.aggregation, settings.alpha, finished.tally()
    filtered = finished.meta["settings"]["filter"] == "optimistic"
    counted = tally.with_skipped_as_non_anchors() if filtered else tally
    values = scores.aggregation(name, alpha=alpha)(counted)
    known = Standing(*bounds.intervals(name, tally, alpha=alpha), settled=np.asarray((tally.untested == 0).all(axis=1)))
    found = {}
    for label in settings.labels or ():
        row = finished.labels.index(label)
        best = scores.ranking(values[row], tally.occurrences[row])[: settings.top_k]
        is_final = name in bounds.FILTERED and bounds.is_final(name, tally, row, best, alpha=alpha)
        found[label] = Explanation(
            label=label,
            documents=int(finished.documents_per_label()[row]),
            robust=0,  # not shown here
            settled=is_final or bool(known.settled[row]),
            regret=None,
            terms=tuple(term_view(finished.terms, tally, values, known, row, int(t)) for t in best),
        )
    return found

"""``anchorscope reproduce``: the paper's experiments; pictures, tables and a page of claims."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

from anchorscope.cli import options
from anchorscope.cli.watch import say
from anchorscope.errors import InputError, MissingPackageError, UnknownNameError
from anchorscope.files import refuse_foreign

if TYPE_CHECKING:
    from anchorscope.reproduction.driver import Plan

QUICK: Mapping[str, Any] = {
    "tasks": ["rotten-tomatoes"],
    "models": ["logistic-regression"],
    "seeds": [42, 84],
    "documents": 150,
    "perturbator": "mask-token",
}
"""What --quick runs unless told otherwise: minutes on two cores, with the data of the demo."""

DESCRIPTION = (
    "Measure the settings of the paper's experiments, and draw its figures and tables. The samples of a task, model "
    "and seed are drawn once, and kept; every setting is a run that is replayed on them. What is stored in --out is "
    "not made again; what was stopped goes on."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument(
        "--out", type=options.a_path, metavar="DIR", required=True, help="where runs, figures and tables go"
    )
    parser.add_argument("--quick", action="store_true", help="a small pass of everything, in minutes")
    parser.add_argument(
        "--serial", action="store_true", help="runs of their own, to be timed by the clock, instead of replays"
    )
    parser.add_argument("--draw", action="store_true", help="draw what is stored, run nothing")
    parser.add_argument(
        "--page", type=options.a_path, metavar="FILE", help="where to write the page of claims (in --out)"
    )
    parser.add_argument(
        "--readme", type=options.a_path, metavar="FILE", help="where to write the table of claims, between two marks"
    )
    group = parser.add_argument_group("what to run")
    group.add_argument("--data", type=options.a_path, metavar="DIR", help="the folder with the files of the tasks")
    group.add_argument("--tasks", nargs="+", metavar="T", help="corona, dilemma, rotten-tomatoes, amazon, toys, home")
    group.add_argument("--models", nargs="+", metavar="M", help="logistic-regression, small-bert, deberta")
    group.add_argument("--settings", nargs="+", metavar="S", help="names of anchorscope/reproduction/grid.py (all)")
    group.add_argument("--seeds", nargs="+", type=int, metavar="N", help="(42 84 126 168 210)")
    group.add_argument("--documents", type=options.above_zero(int), metavar="N", help="explain at most so many (7000)")
    group.add_argument("--deadline", type=options.above_zero(float), metavar="S", help="end after so many seconds")
    group = parser.add_argument_group("models")
    group.add_argument("--device", metavar="D", help="cpu or cuda, for neural models and the perturbator (cpu)")
    group.add_argument("--perturbator", metavar="P", help="embedded, corpus, mask-token or masked-lm:FOLDER (embedded)")
    group.add_argument(
        "--corpus", nargs="+", type=options.a_path, metavar="FILE", help="text files to train deberta on first"
    )
    group.add_argument("--pretrained", nargs="+", metavar="MODEL=DIR", help="folders of pretrained models to fine-tune")
    group.add_argument("--epochs", type=options.above_zero(int), metavar="N", help="passes of fine-tuning (4)")
    group.add_argument(
        "--pretraining-steps", type=options.above_zero(int), metavar="N", help="steps of training deberta (6000)"
    )


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Run what is missing, draw all that is there, and give the exit status."""
    from anchorscope.reproduction import records
    from anchorscope.reproduction.driver import reproduce
    from anchorscope.reproduction.page import is_page, write_page
    from anchorscope.reproduction.tables import claims_table, write_into

    out: Path = given["out"]
    page = given.get("page", out / "reproduction.md")
    refuse_foreign(page, is_page)
    if "draw" not in given:
        outcome = reproduce(plan(given), lambda sentence: say(given, sentence))
        cannot = f", {len(outcome.left_out)} of them cannot be made here" if outcome.left_out else ""
        say(given, f"{outcome.made} runs made, {outcome.left} left{cannot}.")
    stored = records.read(out)
    serial = records.read(out, records.SERIAL)
    if not stored:
        raise InputError(f"There is no run in {out} to draw; make some first, without --draw.")
    try:
        for path in write_page(stored, page, serial=serial, png="page" not in given):
            print(path, file=output)
        if "readme" in given:
            write_into(given["readme"], claims_table(page.parent / "data" / f"{page.stem}_claims.csv"))
            print(given["readme"], file=output)
    except MissingPackageError as error:
        if "draw" in given:
            raise
        say(given, f"The runs are stored, and can be drawn elsewhere with --draw: {error}")
    return 0


def plan(given: Mapping[str, Any]) -> Plan:
    """What the options ask for."""
    from anchorscope.reproduction import grid, models, tasks
    from anchorscope.reproduction.driver import Plan

    chosen = {**(QUICK if "quick" in given else {}), **given}
    deadline = monotonic() + given["deadline"] if "deadline" in given else float("inf")
    workshop = models.Workshop(
        folder=chosen["out"] / "models",
        device=chosen.get("device", "cpu"),
        corpus=chosen.get("corpus", ()),
        pretrained=_folders(chosen.get("pretrained", ())),
        deadline=deadline,
        **{name: chosen[name] for name in ("epochs", "pretraining_steps") if name in chosen},
    )
    return Plan(
        out=chosen["out"],
        data=chosen.get("data"),
        tasks=chosen.get("tasks", tasks.HERE),
        models=chosen.get("models", models.NAMES),
        settings=chosen.get("settings", list(grid.SETTINGS)),
        seeds=chosen.get("seeds", grid.SEEDS),
        documents=chosen.get("documents"),
        perturbator=chosen.get("perturbator", "embedded"),
        workshop=workshop,
        deadline=deadline,
        serial="serial" in given,
    )


def _folders(pairs: Any) -> dict[str, Path]:
    """Model names and the folders given for them."""
    from anchorscope.reproduction.models import RATES

    found = {}
    for pair in pairs:
        name, equals, folder = pair.partition("=")
        if not equals or not Path(folder).is_dir():
            raise InputError(f"--pretrained takes a model and its folder, as in deberta=FOLDER; {pair!r} is none.")
        if name not in RATES:
            raise UnknownNameError("model to fine-tune", name, RATES)
        found[name] = Path(folder)
    return found

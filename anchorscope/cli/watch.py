"""A run under watch: its snapshots go to the reporters, its result to the standard output and into its folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from shlex import quote
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from anchorscope import registry
from anchorscope.asking.budget import Budget
from anchorscope.asking.printed import printed_above
from anchorscope.errors import AnchorscopeError, InputError, ModelError, StorageError, plural
from anchorscope.files import JOURNAL
from anchorscope.journal.reader import RunReader
from anchorscope.report.json_lines import JsonLines
from anchorscope.report.lists import NOTHING_HIDDEN
from anchorscope.report.page import REPORT, write_report
from anchorscope.report.table import WIDTH, names_lines, result_table, safe
from anchorscope.report.terminal import LiveTable, ProgressLines, clock
from anchorscope.result import Result
from anchorscope.run import Run
from anchorscope.text.words import function_words
from anchorscope.types import Reporter, Snapshot

INTERRUPTED = 130

MANY_COPIES = 0.1
"""The share of the documents from which on copies are told."""


def watch(run: Run, given: Mapping[str, Any], output: TextIO, *, folder: Path | None, first: str) -> int:
    """Let the run go to its end, or to the interrupt; show and keep what it found. ``first`` is said till it begins."""
    last: Snapshot | None = None
    interrupted = False
    readers = _reporters(given, output, first)
    for reader in readers:
        reader.open()
    shown = [reader for reader in readers if isinstance(reader, LiveTable | ProgressLines)]

    def say_predicted(n: int, n_documents: int) -> None:
        for reader in shown:
            reader.predicted(n, n_documents)

    run.on_predicted = say_predicted
    try:
        snapshots = run.snapshots()
        assert isinstance(snapshots, Generator)  # closed by hand: it holds a lock and worker processes
        with closing(snapshots):
            for snapshot in snapshots:
                last = snapshot
                for reader in readers:
                    reader.update(snapshot)
    except KeyboardInterrupt:
        interrupted = True
    except (ModelError, StorageError, OSError) as error:
        kept = f"What was found so far is kept in {folder}: the same command with --resume goes on."
        if last is None:
            has_begun = folder is not None and (folder / JOURNAL).exists()
            told = f"{error} {kept}" if has_begun else str(error)
            # What the model has answered may have been paid for: no input was refused that one could have known of.
            raise (AnchorscopeError(told) if run.has_predicted else InputError(told)) from error
        if folder:
            say(given, kept)
        raise
    finally:
        for reader in readers:
            reader.close()
    if last is None or (interrupted and not last.cost.tests):
        say(given, "Interrupted before the first test: there is nothing to show yet.")
        return INTERRUPTED
    result = run.result()
    if folder:
        write_report(folder)
    show(result, given, output)
    if sys.stderr.isatty():
        say(given, "")
    about_documents = [*_of_drawn(run.n_drawn, result), *_of_copies(run.n_copies, result)]
    for sentence in [*_remarks(result, last, folder, interrupted), *about_documents]:
        say(given, sentence)
    return INTERRUPTED if interrupted else 0


def show(result: Result, given: Mapping[str, Any], output: TextIO) -> None:
    """The result on the standard output, in the form that was asked for."""
    if "json" in given:
        output.write(result.to_json())
    elif "stream" not in given:
        hide = hidden_words(given, is_table=True)
        print_table(lambda width: result_table(result, width, hide=hide), output)
        say_names(given, result.settings, result.interval_level)


def hidden_words(given: Mapping[str, Any], *, is_table: bool) -> frozenset[str]:
    """The words that the table is not to show; where there is none, they are asked for in vain."""
    if "hide_function_words" not in given:
        return NOTHING_HIDDEN
    if not is_table:
        raise InputError("--hide-function-words is a view of the table, which other formats are not: leave it out.")
    return function_words()


def say_names(given: Mapping[str, Any], settings: Mapping[str, Any], level: float) -> None:
    """With --verbose, what each number of the table is; else a person is told how to learn it."""
    if "verbose" in given:
        say(given, "\n".join(["", *names_lines(settings, level, WIDTH)]))
    elif sys.stderr.isatty():
        say(given, "\nWhat the columns say: the same with -v.")


def show_kept(result: Result, folder: Path, given: Mapping[str, Any], output: TextIO) -> None:
    """The result that a folder holds already; for --stream, as the line that its run ended with."""
    if "stream" not in given:
        show(result, given, output)
        return
    with closing(RunReader(folder)) as finished:
        n_rounds = len(finished.closed_rounds())
        left = finished.tests_left()
    last = Snapshot(
        explanations=result.explanations,
        round=n_rounds,
        tests_planned=left,
        settled=result.settled,
        interval_level=result.interval_level,
        cost=result.cost,
        finished=True,
    )
    JsonLines(output).update(last)


def print_table(make: Callable[[int], Text], output: TextIO) -> None:
    """A table in colours and as wide as the terminal, or else plain and 80 columns wide."""
    console = Console(file=getattr(output, "terminal", output), highlight=False)
    if console.is_terminal:
        console.print(make(console.width), no_wrap=True)
    else:
        print(make(WIDTH).plain, file=output)


@contextmanager
def waiting(given: Mapping[str, Any], sentence: str) -> Iterator[None]:
    """In a terminal, a sign of life."""
    console = Console(stderr=True, highlight=False, quiet="quiet" in given)
    if not console.is_terminal:
        yield
        return
    sign = Spinner("dots", Text(sentence, "dim"), style="status.spinner")
    with (
        printed_above(console),
        Live(sign, console=console, refresh_per_second=12.5, transient=True, redirect_stdout=False),
    ):
        yield


def say(given: Mapping[str, Any], sentence: str) -> None:
    """A sentence on the error output, unless it should be quiet there; nothing in it reaches a terminal as it is."""
    if "quiet" not in given:
        print("\n".join(safe(line) for line in sentence.split("\n")), file=sys.stderr, flush=True)


def _reporters(given: Mapping[str, Any], output: TextIO, first: str) -> list[Reporter]:
    """Who reads the snapshots. A live table and JSON lines in one terminal would write over each other."""
    chosen: list[Reporter] = [JsonLines(output)] if "stream" in given else []
    if "reporter" in given:
        return [*chosen, registry.resolve("reporter", given["reporter"])(sys.stderr)]
    if "quiet" in given:
        return chosen
    price = given.get("price_per_1000")
    budget = Budget.of(given.get("max_seconds"), given.get("max_model_calls"))
    console = Console(stderr=True, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal and not (chosen and output.isatty()):
        return [*chosen, LiveTable(console, first, price_per_1000=price, budget=budget)]
    return [*chosen, ProgressLines(sys.stderr, price_per_1000=price, budget=budget)]


def _remarks(result: Result, last: Snapshot, folder: Path | None, interrupted: bool) -> list[str]:
    """What it took, what was left out, and how to go on."""
    cost = result.cost
    skipped = result.documents["skipped"]
    told = [
        f"{'Interrupted after' if interrupted else 'Done in'} {clock(cost.seconds)}: "
        f"{plural(result.documents['usable'], 'document')}, {plural(cost.tests, 'test')}, "
        + (f"{plural(cost.samples, 'sample')}, " if cost.samples else "")
        + plural(cost.predictor_texts, "model call")
        + (f" ({plural(cost.predictor_tokens, 'token')})" if cost.predictor_tokens else "")
        + (f", {result.price:,.2f} to be paid for them." if result.price is not None else ".")
    ]
    if cost.kept_answers:
        were = "answer was" if cost.kept_answers == 1 else "answers were"
        told.append(f"{cost.kept_answers:,} {were} kept from before and cost nothing: --no-cache would ask again.")
    told += [f"Left out: {plural(n, 'document')} ({reason})." for reason, n in skipped.items()]
    if cost.undecided:
        told.append(f"{plural(cost.undecided, 'test')} reached the cap on samples and went by the mean.")
    if last.tests_planned and not (result.finished or (last.finished and last.settled)):
        go_on = "give the same command again with --resume" if folder else "a run with --out can be resumed"
        if last.ended_by:
            go_on = f"{last.ended_by} ended the run; raise it" + (f", and {go_on}" if folder else f" ({go_on})")
        told.append(f"At most {plural(last.tests_planned, 'test')} left: {go_on}.")
    if folder:
        # Lines of their own: a terminal that breaks a long sentence would break the command in it, too.
        told.append(f"Kept in {folder}: open its report, or list more terms:")
        told += [f"  {folder / REPORT}", f"  anchorscope top {quote(str(folder))} --top-k 40"]
    return told


def _of_drawn(n_drawn: int, result: Result) -> list[str]:
    """A sentence where the calls were enough to ask about a part of the documents only."""
    n_documents = result.documents["usable"]
    if not 0 < n_drawn < n_documents:
        return []
    return [
        f"Asked about: {n_drawn:,} of {plural(n_documents, 'document')}; a run keeps to those that it drew, so more "
        "are asked in a new one (another --out) with a greater --max-model-calls."
    ]


def _of_copies(n_copies: int, result: Result) -> list[str]:
    """A sentence where many documents are the same."""
    n_documents = result.documents["usable"]
    if n_copies <= MANY_COPIES * n_documents:
        return []
    return [f"Copies of others: {n_copies:,} of {plural(n_documents, 'document')}; each of them counts."]

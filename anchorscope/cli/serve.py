"""``anchorscope serve``: the live page of a run in progress, or of a kept one."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, TextIO

from anchorscope.cli import inputs, options
from anchorscope.cli.watch import say, waiting
from anchorscope.errors import InputError
from anchorscope.files import JOURNAL, no_run_folder
from anchorscope.journal.reader import RunReader
from anchorscope.report.page import write_report
from anchorscope.report.view import waiting_data
from anchorscope.settings import NO_PERTURBATOR, Settings, score_perturbs
from anchorscope.text.words import LazyWords

if TYPE_CHECKING:
    from anchorscope.report.live import LiveRun

OF_A_KEPT_RUN = {
    *("command", "quiet", "verbose", "documents", "port"),
    *("model", "names", "head", "trust", "allow_pickle", "model_tries", "model_timeout", "device", "perturbator"),
    *("dtype", "compiled"),
}
"""The options that a kept run has a use for."""

DESCRIPTION = (
    "Show a kept run, or explain documents, on a page of this machine: it prints the address. "
    "With a model, texts can be tried on the page."
)
USAGE = "anchorscope serve RUN [--model M] [--port N]\n       anchorscope serve DOCS... --model M [options]"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command: those of ``explain``, and where the page is."""
    options.add_documents(parser)
    options.add_model(parser)
    options.add_view(parser)
    options.add_tests(parser)
    options.add_filters(parser)
    options.add_budgets(parser)
    group = parser.add_argument_group("page")
    group.add_argument("--out", type=options.a_path, metavar="RUN", help="keep the run in this folder")
    group.add_argument("--resume", action="store_true", help="go on with the run in --out, or start it")
    options.add_no_texts(group)
    group.add_argument("--port", type=int, metavar="N", help="the port on 127.0.0.1 (8765, or any that is free)")


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Serve until interrupted, and give the exit status."""
    from anchorscope.report.server import serve

    documents: Sequence[str] = given.get("documents", [])
    if not documents:
        raise InputError("Name a run folder, or the documents to explain with --model M.")
    with _ended_in_order(), TemporaryDirectory(prefix="anchorscope-") as scratch:
        kept = len(documents) == 1 and os.path.isfile(Path(documents[0]) / JOURNAL)  # whatever that is, no error
        if not kept and _means_a_run(given):
            raise no_run_folder(documents[0])
        live = _kept_run(given, Path(documents[0])) if kept else _new_run(given, Path(scratch))

        def announce(address: str) -> None:
            say(given, "Open this address; Ctrl-C ends it.")
            print(address, file=output, flush=True)

        with suppress(KeyboardInterrupt):
            serve(live, port=given.get("port"), announce=announce)
        if not live.is_done and "out" in given:
            say(given, f"What was found so far is kept in {given['out']}: the same command with --resume goes on.")
    return 0


def _means_a_run(given: Mapping[str, Any]) -> bool:
    """Whether one argument is meant as a run folder: it is no file, and nothing else speaks for documents."""
    (first, *more) = given["documents"]
    if more or first == "-" or os.path.isfile(first):
        return False
    return not Path(first).suffix if "model" not in given else not (Path(first).suffix or os.path.exists(first))


ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals beside Ctrl-C's that end a process in the middle of what it does."""


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """A signal that ends the process interrupts it first, so that no texts stay behind in a scratch folder."""
    came: list[int] = []

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        if len(came) == 1:  # nothing interrupts the tidying up
            raise KeyboardInterrupt

    is_ours = current_thread() is main_thread()  # Python lets no other thread choose
    chosen = [number for number in ENDING if is_ours and signal.getsignal(number) is signal.SIG_DFL]
    for number in chosen:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in chosen:
            signal.signal(number, signal.SIG_DFL)
        if came:
            signal.raise_signal(came[0])  # whoever sent it sees that it was this that ended the process


def _kept_run(given: Mapping[str, Any], folder: Path) -> LiveRun:
    """A finished run; with --model, texts can be tried on it."""
    from anchorscope.report.live import LiveRun, Trial

    if unread := sorted(given.keys() - OF_A_KEPT_RUN):
        raise InputError(f"The run in {folder} is made: leave out --{unread[0].replace('_', '-')}.")
    finished = RunReader(folder)
    texts = list(finished.texts().values())
    meta = finished.meta
    finished.close()
    if "model" not in given:
        return LiveRun(folder)
    settings = Settings.from_dict(meta["settings"])
    if not score_perturbs(settings):
        return LiveRun(folder, trial=Trial(inputs.given_predictor(given, texts), lambda: None, settings))
    if not texts and meta["perturbator"]["name"] == "corpus" and "perturbator" not in given:
        raise InputError(
            f"The run in {folder} keeps no texts to draw words from; leave out --model, or name another --perturbator."
        )
    perturbator = inputs.kept_perturbator(given, meta["perturbator"]["name"], settings).fit(LazyWords(texts))
    return LiveRun(folder, trial=Trial(inputs.given_predictor(given, texts), lambda: perturbator, settings))


def _new_run(given: Mapping[str, Any], scratch: Path) -> LiveRun:
    """A run that is to be played; without --out it is kept in a scratch folder while the page is open."""
    from anchorscope.report.live import LiveRun, Trial, UntilStopped

    settings = inputs.given_settings(given)
    folder = given.get("out", scratch / (Path(given["documents"][0]).stem or "run"))
    inputs.check_folder(folder, "resume" in given)
    with waiting(given, "reading documents and model"):
        documents = inputs.given_documents(given, settings)
        texts = [document.text for document in documents.documents]
        predictor = inputs.given_predictor(given, texts)
        perturbator = inputs.given_perturbator(given, texts, settings)
    budget = UntilStopped(**inputs.chosen(given, ("max_seconds", "max_model_calls")))
    models = (predictor, perturbator)
    training = inputs.given_training(given)
    run = inputs.given_run(given, documents, models, settings, training=training, folder=folder, budget=budget)

    before = waiting_data(
        folder.name,
        model=predictor.name,
        perturbator=perturbator.name if perturbator else NO_PERTURBATOR,
        labels=predictor.labels,
        n_documents=len(texts),
        settings=settings,
    )
    trial = Trial(predictor, lambda: run.perturbator, settings)
    return LiveRun(folder, run=run, budget=budget, waiting=before, trial=trial, at_end=lambda: write_report(folder))

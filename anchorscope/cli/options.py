"""The options of ``explain``, in the groups of its help; what is not given is absent.

The names are those of the library: an option of a setting is the setting's name, and the help shows its default.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import asdict
from math import inf
from pathlib import Path
from textwrap import wrap

from anchorscope import registry
from anchorscope.asking.answers import brief, shortened
from anchorscope.asking.devices import DTYPES
from anchorscope.asking.kept_answers import LIMIT as LIMIT_MB
from anchorscope.predictors.remote.forms import FORMS
from anchorscope.predictors.remote.options import CONCURRENCY, KEY_VARIABLE
from anchorscope.settings import Settings
from anchorscope.text.rule import KINDS
from anchorscope.text.unpack import LIMIT

PLUG_HELP = {
    "aggregation": "how the values of a term's occurrences become its score",
    "backend": "where the work is done; ray:HOST:PORT joins a cluster",
    "perturbator": "what replaces words, or none where no word is replaced; [:ARGUMENT] where it takes one",
    "reporter": "who shows the run while it goes, on the error output",
    "score": "what is measured of a term in a document",
    "strategy": "which occurrences are measured next",
}
"""The options that name something of the registry: the help lists the names, outside ones included."""

FORMS_HELP = "how the server is spoken to"

DEFAULTS = {
    "backend": "local",
    "perturbator": "embedded for English, else corpus",
    "reporter": "table in a terminal, else lines",
    "score": "occlusion, or anchor where an aggregation counts anchors",
}
"""What is not among the settings, or depends on others of them."""


class Formatter(argparse.HelpFormatter):
    """Help at the width of a page, with the defaults of the settings behind the words."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Names with a hyphen stay whole."""
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _get_help_string(self, action: argparse.Action) -> str | None:

        told = action.help
        if action.dest in PLUG_HELP:
            told = f"{PLUG_HELP[action.dest]}: {', '.join(registry.names(action.dest))}"
        default = DEFAULTS.get(action.dest, asdict(Settings()).get(action.dest))
        return told if default is None or default is False else f"{told} ({default})"


def add_documents(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """What is explained; the group, for what a command has besides."""
    group = parser.add_argument_group("documents")
    group.add_argument(
        "documents",
        nargs="*",
        metavar="DOCS",
        help=".csv .tsv .jsonl .parquet .txt, also packed, or at s3://… and the like; - is standard input",
    )
    group.add_argument(
        "--format",
        metavar="F",
        help="csv, tsv, jsonl, parquet or txt (by the file's name; standard input is guessed)",
    )
    group.add_argument(
        "--text-column",
        metavar="NAME",
        help="the column with the texts, also of a model that reads tables (text); A,B: pairs; a.b: inside JSON",
    )
    group.add_argument("--label-column", metavar="NAME", help="a column of true labels, kept with the run")
    group.add_argument("--encoding", metavar="NAME", help="how the files are encoded (utf-8)")
    group.add_argument("--clean", metavar="HOW", help="none, or tweets: as the paper cleans them (none)")
    group.add_argument(
        "--draw",
        type=above_zero(int),
        metavar="N",
        help="hold so many documents of Parquet files or folders; the others are only counted, where they are",
    )
    add_max_unpacked(group)
    group.add_argument("--training", nargs="+", metavar="DOCS", help="the model's training texts, for aggregation av5")
    return group


def add_max_unpacked(group: argparse._ArgumentGroup) -> None:
    """How far packed documents are unpacked."""
    group.add_argument(
        "--max-unpacked", type=above_zero(int), metavar="BYTES", help=f"a packed file may hold so many bytes ({LIMIT})"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """What explains itself, and what disturbs it."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model", metavar="M", help="a .skops or .onnx file, a Hugging Face folder, module:attribute, http(s)://…"
    )
    group.add_argument(
        "--labels",
        metavar="A,B",
        dest="names",
        help="""names for the model's labels, in its order; one with a comma in double quotes ('a,"b, c"')""",
    )
    group.add_argument("--head", metavar="L", help="the one label of a multi-label model to ask about: it or not")
    group.add_argument(
        "--trust", action="append", metavar="TYPE", help="a type that a .skops file may hold (repeatable)"
    )
    group.add_argument(
        "--allow-pickle",
        action="store_true",
        help="read a pickled model: whoever made the file can then do on this machine whatever you can",
    )
    group.add_argument(
        "--batch-size", type=above_zero(int), metavar="N", help="texts a call of the model, at most (all there are)"
    )
    group.add_argument(
        "--model-tries", type=above_zero(int), metavar="N", help="how often a failing call of the model is made (8)"
    )
    group.add_argument(
        "--model-timeout",
        type=above_zero(float),
        metavar="S",
        help="a call that takes longer has failed; it is left behind, as nothing can end it",
    )
    group.add_argument(
        "--device", type=a_device, metavar="D", help="where Hugging Face models compute: cpu, or cuda (cpu)"
    )
    group.add_argument(
        "--dtype", choices=DTYPES, help="what Hugging Face models compute in (float32; bfloat16 on a card)"
    )
    group.add_argument(
        "--compile", action="store_true", dest="compiled", help="put a Hugging Face model through torch.compile"
    )
    group.add_argument("--perturbator", metavar="P", help=PLUG_HELP["perturbator"])
    add_remote(parser)
    add_cache(parser)


def add_remote(parser: argparse.ArgumentParser) -> None:
    """How a server is asked."""
    group = parser.add_argument_group("model behind HTTP", "docs/your-model.md has an example of each form.")
    group.add_argument("--api", metavar="FORM", help=f"{FORMS_HELP}: {', '.join(FORMS)}")
    group.add_argument(
        "--request", metavar="JSON", help='a form of your own: "{texts}" stands for a list of texts, {text} for one'
    )
    group.add_argument("--answer", metavar="PATH", help="where the rows are in its answer: predictions[*].scores")
    group.add_argument("--api-model", metavar="NAME", help="the language model that the server is to use")
    group.add_argument("--prompt", metavar="TEXT", help="what a language model is told to do")
    group.add_argument(
        "--votes", type=above_zero(int), metavar="N", help="answers a text, where there are no log-probabilities"
    )
    group.add_argument("--api-input", metavar="NAME", help="the name of a KServe model's input (text)")
    group.add_argument(
        "--key-variable", metavar="NAME", help=f"the environment variable that holds the key ({KEY_VARIABLE})"
    )
    group.add_argument("--key-header", metavar="NAME", help="the header that it is sent in (Authorization)")
    group.add_argument(
        "--concurrency", type=above_zero(int), metavar="N", help=f"requests in flight, at most ({CONCURRENCY})"
    )


def add_cache(parser: argparse.ArgumentParser) -> None:
    """Whether answers are kept from run to run."""
    group = parser.add_argument_group(
        "kept answers", "Answers of models behind HTTP, and of slow ones in files, are kept for all runs; no texts are."
    )
    either = group.add_mutually_exclusive_group()
    either.add_argument("--cache", action="store_true", help="keep those of any model: of your function, too")
    either.add_argument("--no-cache", action="store_false", dest="cache", help="keep none, and use none that are kept")
    group.add_argument(
        "--cache-size",
        type=above_zero(float),
        metavar="MB",
        help=f"beyond so many megabytes the oldest go ({LIMIT_MB})",
    )


def add_view(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """What is shown of what was found; the group, for what a command has besides."""
    group = parser.add_argument_group("what to show")
    group.add_argument("--label", action="append", metavar="L", help="this label only (repeatable)")
    group.add_argument("--top-k", type=int, metavar="K", help="terms a label")
    group.add_argument("--aggregation", metavar="G", help=PLUG_HELP["aggregation"])
    group.add_argument("--alpha", type=float, metavar="X", help="the share of anchors that pr expects")
    return group


def add_hiding(group: argparse._ArgumentGroup) -> None:
    """What a table does not show; no score and no rank depends on it."""
    group.add_argument(
        "--hide-function-words",
        action="store_true",
        help="leave words such as of and the out of the table; a line names them with their ranks",
    )


def add_tests(parser: argparse.ArgumentParser) -> None:
    """How a token is tested."""
    group = parser.add_argument_group("how to test", "Defaults are those of the preset fast.")
    group.add_argument("--preset", metavar="NAME", help="fast, banzhaf, paper or paper-optimised (fast)")
    group.add_argument("--score", metavar="S", help=PLUG_HELP["score"])
    group.add_argument("--seed", type=int, metavar="N", help="another seed draws other samples")
    group.add_argument("--test", metavar="NAME", help="fixed, sprt, kl or kl-one-step")
    group.add_argument("--tau", type=float, metavar="X", help="the precision that makes an anchor")
    group.add_argument("--delta", type=float, metavar="X", help="the risk of a test; higher is faster, and lossy")
    group.add_argument("--epsilon", type=float, metavar="X", help="how near to tau a test need not tell")
    group.add_argument("--look", type=int, metavar="N", help="samples from one look to the next")
    group.add_argument("--max-samples", type=int, metavar="N", help="at most so many samples a test")
    group.add_argument(
        "--keep", metavar="POLICY", help="balanced or shared: one stream of samples a document; own: one a token"
    )
    group.add_argument("--fill", metavar="HOW", help="blind, bank, one-pass or one-by-one")
    group.add_argument("--bank-pairs", type=int, metavar="N", help="pairs of half-masks in a document's bank")
    group.add_argument("--bank-draw", metavar="HOW", help="choose among them by position or by sample")
    group.add_argument("--top-n", type=int, metavar="N", help="words that may fill a mask; fewer is faster, and lossy")
    group.add_argument("--condition", metavar="EVENT", help="kept; or present: a refill by the same word counts too")
    group.add_argument("--robust", metavar="HOW", help="keep, or drop: no anchors where any would do")
    group.add_argument("--lift", type=float, metavar="X", help="the share of failures that an anchor must end")
    group.add_argument("--weight", metavar="HOW", help="equal, or fragile: values count less where nothing shakes them")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """What is not tested."""
    group = parser.add_argument_group("what to leave out", "docs/switches.md says what each of them costs.")
    group.add_argument("--strategy", metavar="NAME", help=PLUG_HELP["strategy"])
    group.add_argument(
        "--regret",
        type=float,
        metavar="X",
        help="a list is settled if it is expected to lack less than this share of the best one",
    )
    group.add_argument(
        "--surrogate", action="store_true", help="a race starts from what the documents' predictions say of each word"
    )
    group.add_argument(
        "--no-surrogate", action="store_false", dest="surrogate", help="a race starts from how often words occur alone"
    )
    group.add_argument("--filter", metavar="NAME", help="none, sound (lossless) or optimistic (the paper's, lossy)")
    group.add_argument("--tau-tilde", action="store_true", help="a lower tau for words that were anchors before, lossy")
    group.add_argument("--no-tau-tilde", action="store_false", dest="tau_tilde", help="the same tau for all words")
    group.add_argument("--omega", type=float, metavar="X", help="how far tau-tilde goes below tau")
    group.add_argument(
        "--terms",
        metavar="KINDS",
        help=f"what is tested: {','.join(KINDS)}; or plain, words as the paper has them (all but punctuation; plain "
        "where words are replaced)",
    )
    group.add_argument("--stop-words", metavar="LIST", help="words that are never tested: none, short or nltk")
    group.add_argument("--min-occurrences", type=int, metavar="N", help="rarer words are never tested")
    group.add_argument("--sample-documents", type=float, metavar="X", help="explain a share of the documents, lossy")
    group.add_argument("--max-words", type=int, metavar="N", help="longer documents are left out")
    group.add_argument("--order", metavar="NAME", help="first come: confidence, confidence-ascending, random or length")
    group.add_argument("--round-size", type=int, metavar="N", help="documents from one snapshot to the next")


def add_budgets(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """How much it may take; the group, for what a command has besides."""
    group = parser.add_argument_group("budgets")
    group.add_argument(
        "--max-seconds", type=above_zero(float), metavar="S", help="end after so long with what is known"
    )
    group.add_argument("--max-model-calls", type=above_zero(int), metavar="TEXTS", help="end after so many texts")
    group.add_argument(
        "--price-per-1000", type=above_zero(float), metavar="X", help="what 1,000 model calls cost, to be told"
    )
    group.add_argument("--backend", metavar="B", help=PLUG_HELP["backend"])
    group.add_argument(
        "--workers", type=above_zero(int), metavar="N", help="processes that share the work (1; ray: one a GPU or CPU)"
    )
    return group


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where it goes."""
    group = parser.add_argument_group("output")
    group.add_argument("--out", type=a_path, metavar="RUN", help="keep the run in this folder")
    group.add_argument("--resume", action="store_true", help="go on with the run in --out, or start it")
    add_no_texts(group)
    group.add_argument("--reporter", metavar="R", help=PLUG_HELP["reporter"])
    form = group.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the result as JSON instead of a table")
    form.add_argument("--stream", action="store_true", help="every snapshot as a line of JSON instead")


def add_no_texts(group: argparse._ArgumentGroup) -> None:
    """Whether other people's texts are kept."""
    group.add_argument(
        "--no-texts",
        action="store_true",
        help="keep the documents' texts out of journal, result and report: words, counts and keys remain",
    )


def a_path(text: str) -> Path:
    """A reader of paths, which need not lead anywhere yet; ~ and ~user stand for their folders, as in --model.

    >>> a_path("runs/first").name
    'first'
    """
    try:
        path = Path(text).expanduser() if text else Path()
        os.lstat(path if text else text)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        if not text:
            raise argparse.ArgumentTypeError("must be a path, not an empty text") from None
    except (OSError, ValueError, RuntimeError) as error:  # too long, or a NUL in it, or no such user
        raise argparse.ArgumentTypeError(f"must be a path, not {shortened(text)} ({brief(error)})") from error
    return path


def a_device(text: str) -> str:
    """A reader of devices; whether this machine has it is seen when something is to compute there.

    >>> a_device("cuda:1")
    'cuda:1'
    """
    if not re.fullmatch(r"cpu|cuda(:\d+)?", text):
        raise argparse.ArgumentTypeError(f"must be cpu, cuda or cuda:N, not {shortened(text)}")
    return text


def above_zero(kind: Callable[[str], float], at_most: float = inf) -> Callable[[str], float]:
    """A reader of numbers above 0.

    >>> above_zero(int)("3")
    3
    """
    bounds = "above 0" if at_most == inf else f"from 1 to {at_most:,}"

    def read(text: str) -> float:
        number = kind(text)
        if not 0 < number <= at_most or number == inf:
            raise argparse.ArgumentTypeError(f"must be a number {bounds}, not {text}")
        return number

    read.__name__ = kind.__name__  # argparse names it: invalid int value
    return read

"""Does the exported model answer as the trained one, and the same whatever surrounds a text?

    python -m training.check_export MODEL.onnx REFERENCE.onnx VOCABULARY LINES [--out JSON]

Agreement: at masked places of the lines, the share of the reference's ten most probable words that the model has among
its own ten; and how often the most probable word is the same. Invariance: words and probabilities of each window alone,
unpadded, on one thread, against the same window in batches of 64 and 256, at other paddings and on two threads, to the
last bit. Pieces: how many lines the package cuts into other pieces than the training does. Exits with 1 if a single bit
differs.
"""

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnxruntime

from anchorscope.perturbators.wordpieces import WordPieces
from anchorscope.text.words import split
from training.evaluate import RATES, mask_line, read_text
from training.proposals import Proposals, Propose, feed, open_session, propose_with_onnx
from training.wordpiece import MASK, Vocabulary, fold, split_words

BATCHES = (1, 64, 256)
PADDINGS = (None, 32, 48, 64, 128)
N_PROPOSALS = 50


@dataclass(frozen=True)
class Agreement:
    """How alike two models answer at one mask rate."""

    rate: float
    n_words: int
    same_top_1: float
    shared_top_10: float


@dataclass(frozen=True)
class Invariance:
    """How many answers were compared with the window's own, and how many differed in a bit."""

    n_windows: int
    n_compared: int
    n_different: int


def measure_agreement(model: Propose, reference: Propose, windows: list[list[int]], rate: float) -> Agreement:
    """The two shares over all masks of the windows."""
    windows = sorted(windows, key=len)
    batches = [windows[start : start + 64] for start in range(0, len(windows), 64)]
    ours = np.concatenate([model(batch, 10).words for batch in batches])
    theirs = np.concatenate([reference(batch, 10).words for batch in batches])
    shared = (ours[:, :, None] == theirs[:, None, :]).any(2).mean()
    return Agreement(rate, len(ours), float((ours[:, 0] == theirs[:, 0]).mean()), float(shared))


def measure_invariance(path: Path, windows: list[list[int]]) -> Invariance:
    """Each window in every setting against itself alone."""
    sessions = [open_session(path, n_threads) for n_threads in (1, 2)]
    alone = [ask(sessions[0], [window], None)[0] for window in windows]
    n_compared = n_different = 0
    for session in sessions:
        for padding in PADDINGS:
            fitting = [i for i, window in enumerate(windows) if padding is None or len(window) <= padding]
            for size in BATCHES:
                for start in range(0, len(fitting), size):
                    chosen = fitting[start : start + size]
                    answers = ask(session, [windows[i] for i in chosen], padding)
                    n_compared += len(chosen)
                    n_different += sum(not is_same(alone[i], answer) for i, answer in zip(chosen, answers, strict=True))
    return Invariance(len(windows), n_compared, n_different)


def ask(session: onnxruntime.InferenceSession, windows: list[list[int]], padding: int | None) -> list[Proposals]:
    """The answers for each window of one batch."""
    words, probabilities = session.run(["words", "probabilities"], feed(windows, N_PROPOSALS, padding))
    ends = np.cumsum([window.count(MASK) for window in windows])[:-1]
    return [Proposals(*pair) for pair in zip(np.split(words, ends), np.split(probabilities, ends), strict=True)]


def is_same(one: Proposals, other: Proposals) -> bool:
    """Whether two answers are equal to the last bit."""
    return np.array_equal(one.words, other.words) and np.array_equal(one.probabilities, other.probabilities)


def count_other_cuts(lines: list[str], vocabulary: Vocabulary) -> int:
    """How many lines have other pieces in the package than in the training."""
    package = WordPieces(vocabulary.numbers)
    return sum(
        [piece for word in split(line).words for piece in package[word]]
        != [piece for word in split_words(line) for piece in vocabulary.encode(fold(word))]
        for line in lines
    )


def main() -> None:
    """Checks one model, prints what was found and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--n-lines", type=int, default=1000)
    parser.add_argument("--n-invariant", type=int, default=320, help="how many lines the bits are compared on")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    vocabulary = Vocabulary.read(arguments.vocabulary)
    lines = read_text(arguments.lines)[: arguments.n_lines]
    models = [propose_with_onnx(open_session(path)) for path in (arguments.model, arguments.reference)]
    agreements = []
    for rate in RATES:
        windows = [next(mask_line(line, vocabulary, rate, 128, 0, i)).pieces for i, line in enumerate(lines)]
        agreements.append(measure_agreement(*models, windows, rate))
        print(agreements[-1], flush=True)
    windows = [next(mask_line(line, vocabulary, 0.5, 128, 0, i)).pieces for i, line in enumerate(lines)]
    invariance = measure_invariance(arguments.model, windows[: arguments.n_invariant])
    n_other_cuts = count_other_cuts(lines, vocabulary)
    print(invariance, f"{n_other_cuts} of {len(lines)} lines in other pieces", sep="\n")
    if arguments.out:
        found = {
            "agreement": [asdict(agreement) for agreement in agreements],
            "invariance": asdict(invariance),
            "pieces": {"n_lines": len(lines), "n_different": n_other_cuts},
        }
        arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.exit(invariance.n_different > 0)


if __name__ == "__main__":
    main()

"""How often a masked language model finds the words that were masked: the project's one measure for it.

    python -m training.evaluate MODEL.onnx VOCABULARY LINES [--out JSON]

Of each line a share of the words is masked, at random by seed and line (the words masked at 15% are among those masked
at 50%). A masked word becomes ONE [MASK], however many pieces it has. It is found at 1 if it is the most probable whole
word at its place, at 10 if it is among the ten most probable; upper and lower case count as the same. Reported over

    all      every masked word; a word that is no single piece can never be found
    single   the masked words that are one piece of the vocabulary
    letters  the masked words with a letter or digit in them, one piece or not (no punctuation)

Words are those of `training.wordpiece.split_words`, so punctuation marks count as words. A line longer than the window
is cut into windows between words. Left out on purpose: perplexity, which depends on the vocabulary.
"""

import argparse
import json
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from training.proposals import Propose, open_session, propose_with_onnx
from training.wordpiece import CLS, MASK, SEP, Vocabulary, fold, split_words

RATES = (0.15, 0.5, 0.8)
BATCH = 64


@dataclass(frozen=True)
class Accuracy:
    """Shares of the masked words found at one mask rate, over one kind of words."""

    rate: float
    kind: str
    n_words: int
    top_1: float
    top_10: float


@dataclass(frozen=True)
class Evaluation:
    """All rates and kinds."""

    n_lines: int
    seed: int
    accuracies: tuple[Accuracy, ...]

    def print(self) -> None:
        """One table."""
        print("masked  kind     words    top-1  top-10")
        for row in self.accuracies:
            print(f"{row.rate:5.0%}   {row.kind:8s}{row.n_words:6d}   {row.top_1:.4f}  {row.top_10:.4f}", flush=True)


@dataclass(frozen=True)
class Window:
    """A masked window: pieces from [CLS] to [SEP] and the folded word behind each [MASK]."""

    pieces: list[int]
    answers: list[str]


def evaluate(
    lines: Sequence[str], vocabulary: Vocabulary, propose: Propose, window: int = 128, *, seed: int = 0
) -> Evaluation:
    """Accuracies of a model on lines."""
    rows: list[Accuracy] = []
    for rate in RATES:
        windows = [
            w for number, line in enumerate(lines) for w in mask_line(line, vocabulary, rate, window, seed, number)
        ]
        rows += summarise(rate, *find_answers(windows, vocabulary, propose), vocabulary)
    return Evaluation(len(lines), seed, tuple(rows))


def mask_line(line: str, vocabulary: Vocabulary, rate: float, window: int, seed: int, number: int) -> Iterator[Window]:
    """The windows of a line, at least one word masked in all, those without a mask left out."""
    words = [fold(word) for word in split_words(line)]
    random = np.random.Generator(np.random.Philox(key=[seed, number]))
    n_masked = max(1, round(rate * len(words)))
    masked = set(random.permutation(len(words))[:n_masked].tolist())
    pieces: list[int] = []
    answers: list[str] = []
    for place, word in enumerate(words):
        numbers = (MASK,) if place in masked else vocabulary.encode(word)[: window - 2]
        if len(pieces) + len(numbers) > window - 2:
            yield Window([CLS, *pieces, SEP], answers)
            pieces, answers = [], []
        pieces += numbers
        answers += [word] if place in masked else []
    yield Window([CLS, *pieces, SEP], answers)


def find_answers(windows: list[Window], vocabulary: Vocabulary, propose: Propose) -> tuple[list[str], np.ndarray]:
    """All answers and, for each, its rank among ten proposals (0 to 9, or 10)."""
    windows = sorted((w for w in windows if w.answers), key=lambda w: len(w.pieces))
    answers: list[str] = []
    ranks: list[np.ndarray] = []
    for start in range(0, len(windows), BATCH):
        batch = windows[start : start + BATCH]
        expected = [answer for w in batch for answer in w.answers]
        numbers = np.array([vocabulary.numbers.get(answer, -1) for answer in expected])
        proposed = propose([w.pieces for w in batch], 10).words
        hits = proposed == numbers[:, None]
        ranks.append(np.where(hits.any(1), hits.argmax(1), 10))
        answers += expected
    return answers, np.concatenate(ranks)


def summarise(rate: float, answers: list[str], ranks: np.ndarray, vocabulary: Vocabulary) -> list[Accuracy]:
    """One row for each kind of words."""
    kinds = {
        "all": np.ones(len(answers), bool),
        "single": np.array([answer in vocabulary.numbers for answer in answers]),
        "letters": np.array([any(map(str.isalnum, answer)) for answer in answers]),
    }
    return [
        Accuracy(rate, kind, int(chosen.sum()), float((ranks[chosen] == 0).mean()), float((ranks[chosen] < 10).mean()))
        for kind, chosen in kinds.items()
    ]


def read_text(path: Path) -> list[str]:
    """The lines of a text file, plain or .xz."""
    content = path.read_bytes()
    text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")
    return text.removesuffix("\n").split("\n")


def main() -> None:
    """Evaluates an exported model, prints the table and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("lines", type=Path, help="a text file, one line a document, or the same as .xz")
    parser.add_argument("--window", type=int, default=128)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    lines = read_text(arguments.lines)
    propose = propose_with_onnx(open_session(arguments.model))
    found = evaluate(lines, Vocabulary.read(arguments.vocabulary), propose, arguments.window)
    found.print()
    if arguments.out:
        arguments.out.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

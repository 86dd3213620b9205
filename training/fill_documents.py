"""Twenty documents with half of their words filled by the embedded model, for the eye: the table of the model card.

    python -m training.fill_documents LINES

Of every tenth line half of the words are masked at once, and each is drawn from the 50 most probable words by their
probabilities, with the package's own perturbator. All fills of a document are drawn at the same time, so neighbouring
fills know nothing of each other. Prints Markdown.
"""

import argparse
from pathlib import Path

import numpy as np

from anchorscope.perturbators.embedded import EmbeddedPerturbator
from anchorscope.text.words import match_case, replace, split
from training.evaluate import read_text

N_DOCUMENTS = 20
EVERY = 10


def fill_document(text: str, perturbator: EmbeddedPerturbator, random: np.random.Generator) -> str:
    """The text with half of its words replaced."""
    words = split(text)
    masked = np.zeros(len(words), bool)
    masked[random.permutation(len(words))[: len(words) // 2]] = True
    proposals = perturbator.propose([words], [masked])
    fills = {
        int(place): match_case(words.words[place], perturbator.vocabulary[random.choice(row, p=normalise(chances))])
        for place, row, chances in zip(np.flatnonzero(masked), proposals.words, proposals.probabilities, strict=True)
    }
    return replace(words, fills)


def normalise(chances: np.ndarray) -> np.ndarray:
    """Float64 chances that sum to 1 as closely as the drawing asks for."""
    return chances.astype(np.float64) / chances.sum(dtype=np.float64)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    perturbator = EmbeddedPerturbator(top_n=50)
    random = np.random.default_rng(arguments.seed)
    print("| original | half of its words filled |\n|---|---|")
    for text in read_text(arguments.lines)[::EVERY][:N_DOCUMENTS]:
        print(f"| {text} | {fill_document(text, perturbator, random)} |")


if __name__ == "__main__":
    main()

"""What a word does where it has never been: put into documents of other labels, one word at a time.

Removal looks at documents that have the words. Insertion looks at documents that the model gives another label, puts
one listed word into each of them, at a place that is drawn once for each document, and takes the mean rise of the
label's probability. A list's score is the mean over its k words; one that ends early has nothing to bring for the rest.
A word of a side of a pair of texts is put into that side. Where a script has no spaces, the place is at the front.

>>> from anchorscope.testing import KeywordPredictor
>>> insertions = Insertions(KeywordPredictor("great"), ["a dull film", "great"], "yes")
>>> insertions.score(["great", "film"], k=2), insertions.score(["great"], k=4)
(0.5, 0.25)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from anchorscope.asking.answers import answers_in_batches
from anchorscope.errors import UnknownNameError
from anchorscope.text.pairs import MARKS, SEPARATOR, is_pair, unmarked
from anchorscope.text.words import spans, split
from anchorscope.types import Predictor

DOCUMENTS = 100
"""Documents of other labels, at most, that every word is put into."""

TEXTS_AT_ONCE = 4096


class Insertions:
    """Documents of other labels, ready to have words put in; ``n_texts`` counts what the model was asked."""

    def __init__(
        self, predictor: Predictor, texts: Sequence[str], label: str, *, documents: int = DOCUMENTS, seed: int = 0
    ) -> None:
        if label not in predictor.labels:
            raise UnknownNameError("label", label, predictor.labels)
        self._predictor = predictor
        self._label = predictor.labels.index(label)
        self.n_texts = len(texts)
        rows = answers_in_batches(predictor, texts, TEXTS_AT_ONCE)
        others = [texts[i] for i in np.flatnonzero(rows.argmax(axis=1) != self._label).tolist()]
        chosen = sorted(others, key=lambda text: _hash(seed, text))[:documents]
        self._before = self._ask(chosen)
        self._chances = [(text, _hash(seed + 1, text)) for text in chosen]
        self._rises: dict[str, float] = {}

    def __len__(self) -> int:
        """The number of documents that words are put into."""
        return len(self._chances)

    def score(self, words: Sequence[str], k: int) -> float:
        """The mean rise over the first k words of a list."""
        rises = self.rises(words[:k])
        return sum(rises[word] for word in words[:k]) / k

    def rises(self, words: Iterable[str]) -> dict[str, float]:
        """The mean rise that each word brings; a word that was asked about before is not asked about again."""
        wanted = [*dict.fromkeys(words)]
        new = [word for word in wanted if word not in self._rises]
        texts = [with_word(text, word, chance) for word in new for text, chance in self._chances]
        after = self._ask(texts).reshape(len(new), len(self))
        for word, row in zip(new, after):
            self._rises[word] = float((row - self._before).mean()) if len(row) else 0.0
        return {word: self._rises[word] for word in wanted}

    def _ask(self, texts: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The label's probability for each text."""
        self.n_texts += len(texts)
        return answers_in_batches(self._predictor, texts, TEXTS_AT_ONCE)[:, self._label]


def with_word(text: str, word: str, chance: int) -> str:
    """The text with a word put in; in a pair of texts, on the side that the word is marked with.

    >>> with_word("so good", "really", 1), with_word("a cat ␞ a pet", "②big", 1)
    ('so really good', 'a cat ␞ a big pet')
    """
    mark, bare = unmarked(word)
    if not mark or not is_pair(text):
        return _put(text, word, chance).rstrip()
    first, _, second = text.partition(SEPARATOR)
    if mark == MARKS[0]:
        return f"{_put(first, bare, chance)}{SEPARATOR}{second}".rstrip()
    return f"{first}{SEPARATOR}{_put(second, bare, chance)}".rstrip()


def _put(text: str, word: str, chance: int) -> str:
    at = place(text, chance)
    return f"{text[:at]}{word} {text[at:]}"


def place(text: str, chance: int) -> int:
    """Where a word is put into a text, in characters: before a word that has a gap before it, or is the first.

    >>> place("so good, really", 1), place("so good, really", 5)                # the places are 0, 3 and 9
    (3, 9)
    """
    words = split(text)
    free = [start for i, (start, _) in enumerate(spans(words)) if i == 0 or words.gaps[i]]
    return free[chance % len(free)] if free else 0


def _hash(seed: int, text: str) -> int:
    return int.from_bytes(blake2b(f"{seed} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")

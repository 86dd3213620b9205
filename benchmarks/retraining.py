"""ROAR: what is lost where a classifier has to learn without the words of a list?

A list is good if a classifier that never sees its words, neither in training nor in testing, is less accurate. The
lists of all labels go together. Here the classifier is the linear one, and a fifth of its training texts, from which it
does not learn, tests it.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from anchorscope.text.words import replace, split, terms
from benchmarks import classifiers


def without(text: str, words: Collection[str]) -> str:
    """The text without some terms.

    >>> without("A great film, great fun", {"great"})
    'A film, fun'
    """
    cut = split(text)
    return replace(cut, {i: "" for i, key in enumerate(terms(cut)) if key in words})


def accuracy_without(rows: Sequence[tuple[str, str]], words: Collection[str], seed: int = 0) -> float:
    """The accuracy of a linear classifier that learns from and is tested on texts without some words."""
    changed = [(without(text, words), label) for text, label in rows]
    random.Random(seed).shuffle(changed)
    n_train = len(changed) * 4 // 5
    model = classifiers.train("linear", changed[:n_train])
    tested = changed[n_train:]
    answers = model.predict([text for text, _ in tested]).argmax(axis=1).tolist()
    return sum(model.labels[answer] == label for answer, (_, label) in zip(answers, tested)) / len(tested)

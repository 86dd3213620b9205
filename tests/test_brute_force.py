"""The README's first table against the truth, by a few lines that use nothing of the package but the demo's model and
reviews: each listed word is taken out of every document of its label that holds it.

``REWRITE_README=1`` writes anew how many intervals hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from anchorscope.demo import reviews, train

README = Path(__file__).parent.parent / "README.md"
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
LABEL = re.compile(r"(\w+) · ")
ROW = re.compile(r"\s+\d+  (?P<word>\S+) .*?(?P<low>-?[\d.]+)…(?P<high>-?[\d.]+) .*/(?P<of>[\d,]+)$")
HELD = re.compile(r"(\d+) of these (\d+) intervals hold")


def without(text: str, word: str) -> str:
    """The text without any occurrence of the word, each with the space after it, or before it where there is none.

    >>> without("So good, so bad", "so"), without("it is bad", "bad")
    ('good, bad', 'it is')
    """
    kept, done = "", 0
    for found in WORD.finditer(text):
        if found.group().lower() == word:
            start, end = found.span()
            if text[end : end + 1] == " ":
                end += 1
            elif text[start - 1 : start] == " ":
                start -= 1
            kept += text[done:start]
            done = end
    return kept + text[done:]


def test_how_many_of_the_intervals_of_the_readme_hold_the_truth() -> None:
    training, explained = reviews(seed=0)
    model = train(training)
    probabilities = model.predict_proba(explained.texts)
    column, held = 0, []
    text = README.read_text(encoding="utf-8")
    for line in text.partition("--out runs/reviews\n\n```\n")[2].partition("\n```")[0].splitlines():
        if label := LABEL.match(line):
            column = [*model.classes_].index(label[1])
        if row := ROW.match(line):
            holders = [
                i
                for i in np.flatnonzero(probabilities.argmax(axis=1) == column)
                if row["word"] in words(explained.texts[i])
            ]
            assert len(holders) == int(row["of"].replace(",", ""))
            left = model.predict_proba([without(explained.texts[i], row["word"]) for i in holders])
            true_score = (probabilities[holders] - left)[:, column].sum()
            held.append(float(row["low"]) <= true_score <= float(row["high"]))
    told = f"{sum(held)} of these {len(held)} intervals hold"
    if os.environ.get("REWRITE_README"):
        README.write_text(HELD.sub(told, text), encoding="utf-8")
    assert told in README.read_text(encoding="utf-8").replace("\n", " ")
    assert np.mean(held) > 0.8


def words(text: str) -> Sequence[str]:
    """The words of a text, in lower case."""
    return [word.lower() for word in WORD.findall(text)]

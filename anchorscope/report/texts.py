"""The texts that a page shows: documents with what was measured of their words, and the cards of the shown terms.

A card is a document in which a term was measured: its effect there, how far off that may be, and the probability of the
label with the term. Where no word is replaced, the probability without the term is that less the effect: the card's
numbers are its own. Where words are replaced, perturbed texts that kept and that lost the prediction stand beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.journal.columns import Rows
from anchorscope.report.kept import Kept
from anchorscope.text.terms import terms_of
from anchorscope.text.words import spans, split
from anchorscope.types import Positions

TEXT_BUDGET = 400_000
EVIDENCE_BUDGET = 600_000
"""Bytes, as they stand in the page."""

LONGEST_TEXT = 6_000
LONGEST_SAMPLE = 600
SAMPLES_OF_A_KIND = 3

STRONGEST = 4
WEAKEST = 2
"""Cards of a term: where it does most for the label, and as many where it does least and most against it."""

KINDS = ("kept_with", "lost_with", "kept_without", "lost_without")
"""What became of the prediction in a perturbed text, and whether the term is in it."""

Sample = tuple[str, bool, bool]
"""A perturbed text, whether the term is in it, and whether the prediction stayed."""


def documents(kept: Kept) -> list[dict[str, Any]]:
    """The kept texts, each with what was measured of its words; where most is to be seen, first."""
    texts = kept.run.texts()
    left = TEXT_BUDGET
    found = []
    about = kept.run.documents(texts)
    for number, text in texts.items():
        shown = text[:LONGEST_TEXT]
        left -= size(shown)
        if left < 0:
            break
        key, label, predicted, confidence = about[number]
        rows = kept.run.measured_in(number)
        found.append(
            {
                "key": key,
                "label": label,
                "predicted": predicted,
                "confidence": confidence,
                "text": shown,
                "cut": len(text) > len(shown),
                "robust": bool(rows["anchor"][rows["term"] < 0].any())
                if kept.run.settings.tests_empty_anchor
                else None,
                "n_words": sum(map(len, _positions_of_terms(kept, text).values())),
                "words": _marks(kept, rows, text, len(shown)),
            }
        )
    return sorted(found, key=_interest if kept.score.is_graded else _anchors_first)


def _interest(document: dict[str, Any]) -> float:
    return -max((abs(word[3]) for word in document["words"]), default=0.0)


def _anchors_first(document: dict[str, Any]) -> tuple[bool, int]:
    """Most anchors first; robust documents, of which any word is one, last."""
    return bool(document["robust"]), -sum(word[5] for word in document["words"])


def _marks(kept: Kept, rows: Rows, text: str, length: int) -> list[list[Any]]:
    """(start, end, term, value, deviation) of every measured word within the shown text, places as JavaScript counts.

    Where words are tested for anchors: the verdict, and in how many of the samples the prediction stayed, besides.
    """
    positions = _positions_of_terms(kept, text)
    places = spans(split(text))
    units = utf16(text)
    marks = []
    for row in rows[rows["term"] >= 0]:
        there = positions.get(kept.run.terms[row["term"]], [])
        here = there if kept.score.grain == "term" else there[row["ordinal"] : row["ordinal"] + 1]
        found: list[Any] = [kept.place.get(int(row["term"]), -1), float(row["value"]), _deviation(row)]
        if not kept.score.is_graded:
            found += [int(row["anchor"]), int(row["agreements"]), int(row["samples"])]
        marks += [[int(units[places[of[0]][0]]), int(units[places[of[-1]][1]]), *found] for of in here]
    end = int(units[length])
    return sorted((mark for mark in marks if mark[1] <= end), key=lambda mark: mark[:3])


def _deviation(row: Any) -> float | None:
    """How far off a value may be; None where nobody knows."""
    variance = float(row["variance"])
    return float(f"{sqrt(variance):.3g}") if isfinite(variance) else None


def _positions_of_terms(kept: Kept, text: str) -> dict[str, list[Positions]]:
    """Where each term of a text stands."""
    found: dict[str, list[Positions]] = {}
    for term, positions in terms_of(text, str(kept.settings.terms)):
        found.setdefault(term, []).append(positions)
    return found


def cards(kept: Kept) -> list[dict[str, Any]]:
    """The cards of the shown terms, those of the first terms of every label first; of each by its effects."""
    texts = kept.run.texts()
    samples = _samples(kept)
    left = EVIDENCE_BUDGET
    found: list[dict[str, Any]] = []
    for label, term in _shown_terms(kept):
        for row in _chosen_rows(kept, label, term, texts):
            key = (label, term, int(row["document"]), int(row["ordinal"]))
            card = _card(kept, label, row, samples.get(key, []), texts)
            left -= size(card)
            if left < 0:
                return found
            found.append(card)
    return found


def _shown_terms(kept: Kept) -> list[tuple[int, int]]:
    """Label and term of everything that is shown, the first term of every label first."""
    numbers = {term: number for number, term in enumerate(kept.run.terms)}
    ranked = [
        (rank, label, numbers[term.term])
        for label, explanation in kept.explanations.items()
        for terms_ in (explanation.terms, explanation.against)
        for rank, term in enumerate(terms_)
    ]
    return [(label, term) for _, label, term in sorted(ranked)]


def _chosen_rows(kept: Kept, label: int, term: int, texts: Iterable[int]) -> list[Any]:
    """What was measured of a term in some documents of a label, by its value: the ends, and what is next to 0."""
    rows = kept.run.measured_of(term)
    about = kept.run.documents(set(rows["document"].tolist()))
    is_shown = np.isin(rows["document"], list(texts)) if kept.run.meta["texts"] else np.ones(len(rows), bool)
    rows = rows[is_shown & np.array([about[d][2] == label for d in rows["document"].tolist()], bool)]
    # A document is one card: of several occurrences, the one that does most.
    rows = rows[np.lexsort((-np.abs(rows["value"]), rows["document"]))]
    rows = rows[np.unique(rows["document"], return_index=True)[1]]
    order = np.lexsort((rows["document"], -rows["value"])).tolist()
    nearest = np.argsort(np.abs(rows["value"]), kind="stable").tolist()
    picked = {*order[:STRONGEST], *nearest[:WEAKEST], *order[-WEAKEST:]}
    return [rows[i] for i in order if i in picked]


def _card(kept: Kept, label: int, row: Any, samples: list[Sample], texts: dict[int, str]) -> dict[str, Any]:
    term = int(row["term"])
    document = int(row["document"])
    key, _, _, confidence = kept.run.documents([document])[document]
    card = {
        "label": label,
        "term": kept.place.get(term, -1),
        "document": key,
        "value": float(row["value"]),
        "deviation": _deviation(row),
        "confidence": confidence,
        "anchor": None if kept.score.is_graded else bool(row["anchor"]),
    }
    if not kept.score.is_graded:
        card |= {"agreements": int(row["agreements"]), "samples": int(row["samples"])}
    if not samples:
        return card
    start = _start_of(kept, texts.get(document, ""), kept.run.terms[term], int(row["ordinal"]))
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for text, present, agreed in samples:
        kinds[f"{'kept' if agreed else 'lost'}_{'with' if present else 'without'}"].append(text)
    n_shown = SAMPLES_OF_A_KIND if kept.run.meta["texts"] else 0
    some = {kind: [_excerpt(text, start) for text in all_[:n_shown]] for kind, all_ in kinds.items()}
    return {**card, "counts": {kind: len(all_) for kind, all_ in kinds.items()}, **some}


def _samples(kept: Kept) -> dict[tuple[int, int, int, int], list[Sample]]:
    """The perturbed texts that are kept, by label, term, document and ordinal."""
    found: dict[tuple[int, int, int, int], list[Sample]] = {}
    for label, term, document, ordinal, _, *sample in kept.run.evidence():
        found.setdefault((label, term, document, ordinal), []).append((*sample,))  # type: ignore[arg-type]
    return found


def embed(data: Any) -> str:
    """JSON that can stand in a script element: no ``<``, ``>``, ``&``, U+2028 or U+2029 is left in it.

    >>> embed({"</script>": "a & b"})
    '{"\\\\u003c/script\\\\u003e":"a \\\\u0026 b"}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate is no UTF-8
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def size(data: Any) -> int:
    """The bytes that a value takes in the page."""
    return len(embed(data).encode())


def utf16(text: str) -> NDArray[np.int64]:
    """Where each character starts as JavaScript counts, and the end of the text.

    >>> utf16("a😀b").tolist()
    [0, 1, 3, 4]
    """
    widths = [2 if ord(character) > 0xFFFF else 1 for character in text]
    return np.concatenate([[0], np.cumsum(np.array(widths, np.int64))])


def _start_of(kept: Kept, text: str, term: str, ordinal: int) -> int:
    """Where an occurrence of a term starts in a long text."""
    if len(text) <= LONGEST_SAMPLE:
        return 0
    positions = _positions_of_terms(kept, text).get(term, [])
    return spans(split(text))[positions[ordinal][0]][0] if ordinal < len(positions) else 0


def _excerpt(text: str, start: int) -> str:
    """A text, or what stands around a place in a long one."""
    if len(text) <= LONGEST_SAMPLE:
        return text
    begin = max(0, min(start - LONGEST_SAMPLE // 2, len(text) - LONGEST_SAMPLE))
    return f"{'…' if begin else ''}{text[begin : begin + LONGEST_SAMPLE]}…"

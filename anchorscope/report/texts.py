"""The texts that a page shows: documents with what was measured of their words, and the cards of the shown terms.

A card is a document in which a term was measured: its effect there, how far off that may be, and the probability of the
label with the term. Where no word is replaced, the probability without the term is that less the effect: the card's
numbers are its own. Where words are replaced, perturbed texts that kept and that lost the prediction stand beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.journal.evidence import telling
from anchorscope.journal.measurements import Rows
from anchorscope.report.kept import Kept
from anchorscope.text.terms import terms_of_all
from anchorscope.text.words import spans, split
from anchorscope.types import Positions

TEXT_BUDGET = 400_000
EVIDENCE_BUDGET = 600_000
"""Bytes, as they stand in the page."""

LONGEST_TEXT = 6_000
LONGEST_SAMPLE = 600
SAMPLES_OF_A_KIND = 3

KINDS = ("kept_with", "lost_with", "kept_without", "lost_without")
"""What became of the prediction in a perturbed text, and whether the term is in it."""

Sample = tuple[str, bool, bool]
"""A perturbed text, whether the term is in it, and whether the prediction stayed."""


def documents(kept: Kept) -> list[dict[str, Any]]:
    """The kept texts, each with what was measured of its words; where most is to be seen, first."""
    sizes = np.cumsum([size(text[:LONGEST_TEXT]) for text in kept.texts.values()])
    texts = dict([*kept.texts.items()][: int((sizes <= TEXT_BUDGET).sum())])
    about = kept.run.documents(texts.keys())
    positions = _positions_of_terms(kept, texts)
    tests_empty_anchor = kept.settings.tests_empty_anchor
    found = []
    for number, text in texts.items():
        shown = text[:LONGEST_TEXT]
        key, label, predicted, confidence = about[number]
        first, end = np.searchsorted(kept.rows["document"], [number, number + 1])
        rows = kept.rows[first:end]
        found.append(
            {
                "key": key,
                "label": label,
                "predicted": predicted,
                "confidence": confidence,
                "text": shown,
                "cut": len(text) > len(shown),
                "robust": bool(rows["anchor"][rows["term"] < 0].any()) if tests_empty_anchor else None,
                "n_testable": _n_testable(kept, positions[number]),
                "words": _marks(kept, rows, positions[number], text, len(shown)),
            }
        )
    return sorted(found, key=_interest if kept.score.is_graded else _anchors_first)


def _interest(document: dict[str, Any]) -> float:
    return -max((abs(word[3]) for word in document["words"]), default=0.0)


def _anchors_first(document: dict[str, Any]) -> tuple[bool, int]:
    """Most anchors first; robust documents, of which any word is one, last."""
    return bool(document["robust"]), -sum(word[5] for word in document["words"])


def _marks(kept: Kept, rows: Rows, positions: Mapping[str, list[Positions]], text: str, length: int) -> list[list[Any]]:
    """(start, end, term, value, deviation) of every measured word within the shown text, places as JavaScript counts.

    Where words are tested for anchors: the verdict, and in how many of the samples the prediction stayed, besides.
    """
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


def _n_testable(kept: Kept, positions: Mapping[str, list[Positions]]) -> int:
    """The tests that a document allows: of each term, or of each of its occurrences."""
    return len(positions) if kept.score.grain == "term" else sum(map(len, positions.values()))


def _deviation(row: Any) -> float | None:
    """How far off a value may be; None where nobody knows."""
    variance = float(row["variance"])
    return float(f"{sqrt(variance):.3g}") if isfinite(variance) else None


def _positions_of_terms(kept: Kept, texts: Mapping[int, str]) -> dict[int, dict[str, list[Positions]]]:
    """Where each term of each text stands, by the number of its document."""
    found: dict[int, dict[str, list[Positions]]] = {}
    for number, terms in zip(texts, terms_of_all([*texts.values()], str(kept.settings.terms))):
        here = found.setdefault(number, {})
        for term, positions in terms:
            here.setdefault(term, []).append(positions)
    return found


def cards(kept: Kept) -> list[dict[str, Any]]:
    """The cards of the shown terms, those of the first terms of every label first; of each by its effects."""
    samples = _samples(kept)
    is_kept = np.zeros(len(kept.run.predicted), bool)
    is_kept[[*kept.texts] if kept.run.meta["texts"] else slice(None)] = True
    by_term = kept.rows[np.argsort(kept.rows["term"], kind="stable")]
    chosen = [
        (label, row) for label, term in _shown_terms(kept) for row in _chosen(kept, by_term, is_kept, label, term)
    ]
    about = kept.run.documents({int(row["document"]): None for _, row in chosen}.keys())
    left = EVIDENCE_BUDGET
    found: list[dict[str, Any]] = []
    for label, row in chosen:
        key = (label, int(row["term"]), int(row["document"]), int(row["ordinal"]))
        card = _card(kept, label, row, about[key[2]], samples.get(key, []))
        left -= size(card)
        if left < 0:
            break
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


def _chosen(kept: Kept, by_term: Rows, is_kept: NDArray[np.bool_], label: int, term: int) -> list[Any]:
    """What was measured of a term in documents of a label and says most, a document a card.

    ``by_term`` are all rows in the order of terms, ``is_kept`` says of each document whether it is shown.
    """
    first, end = np.searchsorted(by_term["term"], [term, term + 1])
    rows = by_term[first:end]
    rows = rows[is_kept[rows["document"]] & (kept.run.predicted[rows["document"]] == label)]
    return [rows[i] for i in telling(rows["document"].astype(np.int64), rows["value"])]


def _card(
    kept: Kept, label: int, row: Any, about: tuple[str, str | None, int, float], samples: list[Sample]
) -> dict[str, Any]:
    term = int(row["term"])
    key, _, _, confidence = about
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
    start = _start_of(kept, int(row["document"]), kept.run.terms[term], int(row["ordinal"]))
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for text, present, agreed in samples:
        kinds[f"{'kept' if agreed else 'lost'}_{'with' if present else 'without'}"].append(text)
    n_shown = SAMPLES_OF_A_KIND if kept.run.meta["texts"] else 0
    some = {kind: [_excerpt(text, start) for text in all_[:n_shown]] for kind, all_ in kinds.items()}
    return {**card, "counts": {kind: len(all_) for kind, all_ in kinds.items()}, **some}


def _samples(kept: Kept) -> dict[tuple[int, int, int, int], list[Sample]]:
    """The perturbed texts that are kept, by label, term, document and ordinal."""
    found: dict[tuple[int, int, int, int], list[Sample]] = {}
    for label, term, document, ordinal, _, *sample in kept.samples:
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


def _start_of(kept: Kept, document: int, term: str, ordinal: int) -> int:
    """Where an occurrence of a term starts in a long text."""
    text = kept.texts.get(document, "")
    if len(text) <= LONGEST_SAMPLE:
        return 0
    positions = _positions_of_terms(kept, {document: text})[document].get(term, [])
    return spans(split(text))[positions[ordinal][0]][0] if ordinal < len(positions) else 0


def _excerpt(text: str, start: int) -> str:
    """A text, or what stands around a place in a long one."""
    if len(text) <= LONGEST_SAMPLE:
        return text
    begin = max(0, min(start - LONGEST_SAMPLE // 2, len(text) - LONGEST_SAMPLE))
    return f"{'…' if begin else ''}{text[begin : begin + LONGEST_SAMPLE]}…"

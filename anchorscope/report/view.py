"""The one view of a run that the report and the live page show: a journal in, plain values for JSON out.

    about      model, documents, settings, cost, and for each label where its list stands
    terms      the candidates as columns: for each label counts, and what all documents are expected to give
    standings  for each aggregation and label: intervals and memberships of the words that matter
    documents  texts with the verdict about each word; evidence: perturbed texts that kept and that lost the prediction
    history    quality and interval width after each round; aopc: the curve of the lists at the end

The scores of every aggregation that fits the run are among the columns, so that another one needs nothing but a click.
Everything is bounded: a page of ten thousand documents stays below two megabytes. A run without texts has no documents,
its evidence has counts only, and the page says so.

The texts are hostile. They are values here; ``embed`` writes them so that no markup can be read into them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry, result
from anchorscope.journal.database import reading
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.result import Result
from anchorscope.scoring.aggregation import Aggregation
from anchorscope.scoring.aggregations import aggregation
from anchorscope.scoring.forecasts import LEVEL
from anchorscope.settings import Settings, score_is_graded
from anchorscope.text.words import spans, split, terms
from anchorscope.types import Cost, Snapshot

SCHEMA = 1

CELLS = 16_000
"""Labels times terms that a page holds; the terms that rank best under any aggregation stay."""

MOST_TERMS = 4_000
FEWEST_TERMS = 100
STANDINGS = 120
"""Words a label and aggregation with an interval."""

TEXT_BUDGET = 400_000
EVIDENCE_BUDGET = 600_000
"""Bytes, as they stand in the page."""

LONGEST_TEXT = 6_000
LONGEST_SAMPLE = 600
LONGEST_TERM = 100
SAMPLES_OF_A_KIND = 3
HISTORY = 300

COUNTS = ("anchors", "non_anchors", "skipped", "occurrences", "documents")
"""What the page shows of the tally."""


def page_data(folder: Path, *, against: Path | None = None) -> dict[str, Any]:
    """What the page shows of the run in a folder; ``against`` is another run to stand beside it."""
    with closing(RunReader(folder)) as run, reading(folder):
        kept = _Kept(run)
        return {
            "schema": SCHEMA,
            "name": folder.resolve().name,
            "about": _about(kept, folder),
            "terms": _terms(kept),
            "standings": _standings(kept),
            "documents": _documents(kept),
            "evidence": _evidence(kept),
            "history": _history(kept),
            "aopc": finite(run.meta.get("aopc", {})),
            "other": None if against is None else other_run(against),
        }


def waiting_data(
    name: str, *, model: str, perturbator: str, labels: Sequence[str], n_documents: int, settings: Settings
) -> dict[str, Any]:
    """What the live page shows of a run before its first round."""
    asked = settings.labels or tuple(labels)
    blank = {"documents": 0, "robust": 0, "settled": False, "regret": None}
    return {
        "schema": SCHEMA,
        "name": name,
        "about": {
            "model": model,
            "perturbator": perturbator,
            "settings": settings.to_dict(),
            "documents": n_documents,
            "skipped": {},
            "texts": True,
            "labels": [{"name": label, "explained": label in asked, **blank} for label in labels],
            "interval_level": LEVEL if settings.strategy == "race" else 1.0,
            "settled": False,
            "rounds": 0,
            "tests_left": 0,
            "cost": asdict(Cost()),
            "versions": {},
        },
        "terms": None,
        "standings": {},
        "documents": [],
        "evidence": [],
        "history": [],
        "aopc": {},
        "other": None,
    }


def event_data(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot for the live page: what changes from round to round."""
    values: dict[str, Any] = finite(result.snapshot_to_dict(snapshot))
    return values


def other_run(folder: Path) -> dict[str, Any]:
    """The lists of another run, to compare with."""
    found = Result.load(folder)
    values: dict[str, Any] = finite(found.to_dict())
    return {"name": folder.resolve().name, **{key: values[key] for key in ("labels", "settings", "model")}}


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


def finite(value: Any) -> Any:
    """The same with None for every number that JSON does not know.

    >>> finite({"interval": [0.5, float("inf")]})
    {'interval': [0.5, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


class _Kept:
    """What several parts of the view need of a run, read once."""

    def __init__(self, run: RunReader) -> None:
        self.run = run
        self.settings = run.settings
        self.explained = [i for i, name in enumerate(run.labels) if name in (self.settings.labels or run.labels)]
        self.rounds = run.closed_rounds()
        self.standings = Standings(run, alpha=self.settings.alpha, k=self.settings.top_k)
        self.tally = self.standings.tally
        self.counted = self.standings.counted
        self.chosen = self._chosen()

    @cached_property
    def aggregations(self) -> list[Aggregation]:
        """Those that what was measured can feed; the run's own comes first."""
        is_graded = score_is_graded(str(self.settings.score))
        every = [aggregation(name) for name in registry.names("aggregation")]
        fitting = [one for one in every if is_graded or not one.is_graded]
        return sorted(fitting, key=lambda one: (one.name != self.settings.aggregation, one.name))

    @property
    def is_race(self) -> bool:
        return self.standings.is_race

    def _chosen(self) -> NDArray[np.intp]:
        """The terms that the page holds, in their own order: those that rank best in any label and aggregation."""
        n_terms = len(self.run.terms)
        room = min(MOST_TERMS, max(FEWEST_TERMS, CELLS // len(self.run.labels)))
        if n_terms <= room:
            return np.arange(n_terms)
        best = np.full(n_terms, n_terms)
        for one in self.aggregations:
            for label in self.explained:
                order = self.standings.ranking(one, label)
                best[order] = np.minimum(best[order], np.arange(len(order)))
        return np.sort(np.argsort(best, kind="stable")[:room])


def _about(kept: _Kept, folder: Path) -> dict[str, Any]:
    run = kept.run
    moments = kept.run.moments()
    documents = run.documents_per_label()
    robust = run.robust_per_label()
    last = moments[-1]["labels"] if moments else {}
    labels = []
    for number, name in enumerate(run.labels):
        here = last.get(name, {})
        labels.append(
            {
                "name": name,
                "explained": number in kept.explained,
                "documents": int(documents[number]),
                "robust": int(robust[number]),
                "settled": bool(here.get("settled", False)),
                "regret": here.get("regret"),
            }
        )
    done = Result.load(folder) if (folder / result.FILE).exists() else None
    cost = done.cost if done else reduce(add, kept.rounds.values(), Cost(predictor_texts=int(documents.sum())))
    return {
        "model": run.meta["model"]["name"],
        "perturbator": run.meta["perturbator"]["name"],
        "settings": finite(run.meta["settings"]),
        "documents": int(documents.sum()),
        "skipped": dict(done.documents["skipped"]) if done else {},
        "texts": run.meta["texts"],
        "labels": labels,
        "interval_level": LEVEL if kept.is_race else 1.0,
        "settled": all(labels[i]["settled"] for i in kept.explained),
        "rounds": len(kept.rounds),
        "tests_left": run.tests_left(),
        "cost": asdict(cost),
        "versions": dict(done.versions) if done else {},
    }


def _terms(kept: _Kept) -> dict[str, Any]:
    """The chosen terms as columns; totals are over all candidates, chosen or not."""
    chosen = kept.chosen
    tally = kept.tally
    scores = {one.name: kept.standings.scores(one)[:, chosen] for one in kept.aggregations}
    columns = [
        {
            **{name: getattr(tally, name)[label, chosen].tolist() for name in COUNTS},
            "scores": {name: _short(of_all[label]) for name, of_all in scores.items()},
        }
        for label in range(len(kept.run.labels))
    ]
    return {
        "term": [_cut(kept.run.terms[i]) for i in chosen],
        "n_terms": len(kept.run.terms),
        "aggregations": [{"name": one.name, "help": one.help, "graded": one.is_graded} for one in kept.aggregations],
        "labels": columns,
    }


def _standings(kept: _Kept) -> dict[str, list[dict[str, Any] | None]]:
    """For each aggregation and label: the page's numbers of some words, with low, high and membership."""
    known = [one for one in kept.aggregations if (one.can_race if kept.is_race else one.is_bounded)]
    return {one.name: [_standing(kept, one, label) for label in range(len(kept.run.labels))] for one in known}


def _standing(kept: _Kept, one: Aggregation, label: int) -> dict[str, Any] | None:
    if label not in kept.explained:
        return None
    place = {int(term): i for i, term in enumerate(kept.chosen)}
    best = [int(term) for term in kept.standings.ranking(one, label)[:STANDINGS] if int(term) in place]
    if kept.is_race:
        now = kept.standings.forecasts(one)[label]
        row = {int(term): i for i, term in enumerate(now.contenders)}
        best = [term for term in best if term in row]
        at = [row[term] for term in best]
        low, high = (side[at] for side in now.shown_interval())
        membership = now.forecast.membership[at]
        regret = now.forecast.regret
        certain = {"membership": _short(membership, 3), "regret": float(f"{regret:.4g}")}
    else:
        low, high = (side[label, best] for side in one.interval(kept.tally, kept.settings.alpha))
        certain = {}
    return {"terms": [place[term] for term in best], "low": _short(low), "high": _short(high), **certain}


def _documents(kept: _Kept) -> list[dict[str, Any]]:
    """The kept texts, each with the test of its words; most anchors first, robust ones (any word is one) last."""
    texts = kept.run.texts()
    left = TEXT_BUDGET
    found = []
    about = kept.run.documents(texts)
    for number, text in texts.items():
        shown = text[:LONGEST_TEXT]
        left -= _size(shown)
        if left < 0:
            break
        key, label, predicted, confidence = about[number]
        found.append(
            {
                "key": key,
                "label": label,
                "predicted": predicted,
                "confidence": confidence,
                "text": shown,
                "cut": len(text) > len(shown),
                "robust": bool(kept.run.measured_in(number)["anchor"][:1].any()),
                "words": _marks(kept, number, text, len(shown)),
            }
        )
    return sorted(found, key=lambda document: (document["robust"], -sum(word[3] for word in document["words"])))


def _marks(kept: _Kept, number: int, text: str, length: int) -> list[list[Any]]:
    """(start, end, term, anchor, agreements, samples, value) of every tested word within the shown text."""
    place = {term: i for i, term in enumerate(kept.chosen.tolist())}
    positions = _positions_of_terms(text)
    spans_ = spans(split(text))
    units = utf16(text)
    marks = []
    for row in kept.run.measured_in(number):
        there = positions.get(kept.run.terms[row["term"]], []) if row["term"] >= 0 else []
        if row["ordinal"] >= len(there) or spans_[there[row["ordinal"]]][1] > length:
            continue
        start, end = spans_[there[row["ordinal"]]]
        found = [int(row["anchor"]), int(row["agreements"]), int(row["samples"]), float(row["value"])]
        marks.append([int(units[start]), int(units[end]), place.get(int(row["term"]), -1), *found])
    return sorted(marks)


def _positions_of_terms(text: str) -> dict[str, list[int]]:
    """Where each term of a text stands."""
    found: dict[str, list[int]] = {}
    for position, term in enumerate(terms(split(text))):
        if term is not None:
            found.setdefault(term, []).append(position)
    return found


@dataclass(slots=True)
class _Occurrence:
    """A place at which a shown term was tested, and its samples, (text, present, agreed) each."""

    label: int
    term: int
    document: int
    ordinal: int
    anchor: bool
    samples: list[tuple[str, bool, bool]]


def _evidence(kept: _Kept) -> list[dict[str, Any]]:
    """Samples of shown terms, a few of each kind, and how many there were of each kind."""
    place = {int(term): i for i, term in enumerate(kept.chosen)}
    occurrences: dict[tuple[int, int, int, int], _Occurrence] = {}
    for label, term, document, ordinal, anchor, *sample in kept.run.evidence():
        key = (label, term, document, ordinal)
        occurrences.setdefault(key, _Occurrence(*key, anchor, [])).samples.append((*sample,))  # type: ignore[arg-type]
    texts = kept.run.texts()
    left = EVIDENCE_BUDGET
    found = []
    about = kept.run.documents({o.document for o in occurrences.values()})
    for o in occurrences.values():
        if o.term not in place:
            continue
        start = _start_of(texts.get(o.document, ""), kept.run.terms[o.term], o.ordinal)
        kinds: dict[str, list[str]] = {"kept_with": [], "lost_with": [], "kept_without": [], "lost_without": []}
        for text, present, agreed in o.samples:
            kinds[f"{'kept' if agreed else 'lost'}_{'with' if present else 'without'}"].append(text)
        shown = SAMPLES_OF_A_KIND if kept.run.meta["texts"] else 0
        some = {kind: [_excerpt(t, start) for t in all_[:shown]] for kind, all_ in kinds.items()}
        left -= sum(_size(text) for all_ in some.values() for text in all_)
        if left < 0:
            break
        found.append(
            {
                "label": o.label,
                "term": place[o.term],
                "document": about[o.document][0],
                "anchor": o.anchor,
                "counts": {kind: len(all_) for kind, all_ in kinds.items()},
                **some,
            }
        )
    return found


def _history(kept: _Kept) -> list[dict[str, Any]]:
    """Some of the moments; ``overlap`` is the share of the final list that was shown already."""
    moments = kept.run.moments()
    if not moments:
        return []
    last = {label: set(here["terms"]) for label, here in moments[-1]["labels"].items()}
    steps = np.unique(np.linspace(0, len(moments) - 1, HISTORY).astype(int))
    return [finite(_point(moments[i], last)) for i in steps.tolist()]


def _point(moment: Mapping[str, Any], last: Mapping[str, set[str]]) -> dict[str, Any]:
    labels = {
        label: {
            "regret": here["regret"],
            "width": here["width"],
            "overlap": len(last[label] & set(here["terms"])) / max(1, len(last[label])),
        }
        for label, here in moment["labels"].items()
        if label in last
    }
    return {**{key: moment[key] for key in ("round", "seconds", "tests", "predictor_texts")}, "labels": labels}


def _short(values: NDArray[Any] | Sequence[float], digits: int = 9) -> list[float | int | None]:
    """To so many significant digits, whole numbers without a point: half the bytes.

    >>> _short([2.0, 0.1234567891234, float("inf")])
    [2, 0.123456789, None]
    """
    rounded = (float(f"{float(value):.{digits}g}") for value in values)
    return [int(x) if x.is_integer() else x if math.isfinite(x) else None for x in rounded]


def _size(text: str) -> int:
    return len(embed(text).encode())


def _cut(term: str) -> str:
    return term if len(term) <= LONGEST_TERM else f"{term[: LONGEST_TERM - 1]}…"


def utf16(text: str) -> NDArray[np.int64]:
    """Where each character starts as JavaScript counts, and the end of the text.

    >>> utf16("a😀b").tolist()
    [0, 1, 3, 4]
    """
    widths = [2 if ord(character) > 0xFFFF else 1 for character in text]
    return np.concatenate([[0], np.cumsum(np.array(widths, np.int64))])


def _start_of(text: str, term: str, ordinal: int) -> int:
    """Where an occurrence of a term starts in a long text."""
    if len(text) <= LONGEST_SAMPLE:
        return 0
    positions = _positions_of_terms(text).get(term, [])
    return spans(split(text))[positions[ordinal]][0] if ordinal < len(positions) else 0


def _excerpt(text: str, start: int) -> str:
    """A text, or what stands around a place in a long one."""
    if len(text) <= LONGEST_SAMPLE:
        return text
    begin = max(0, min(start - LONGEST_SAMPLE // 2, len(text) - LONGEST_SAMPLE))
    return f"{'…' if begin else ''}{text[begin : begin + LONGEST_SAMPLE]}…"

"""What a run found, as a value: read it, write it, make a table of it.

``result.json`` follows the schema in ``result.schema.json`` (version 1); nothing in it but the cost depends on
batches, workers or crashes. ``finished`` says that the run had nothing left to do: no budget and no interrupt ended it.

A file may come from elsewhere: what is no result is refused with one sentence, and nothing in it is believed to be of a
kind that was not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry
from anchorscope.errors import RunFolderError, StorageError, UnknownNameError
from anchorscope.files import read_regular, write_whole
from anchorscope.planning.plan import Standing
from anchorscope.scoring.tally import Tally, ranking
from anchorscope.types import Cost, Explanation, Snapshot, Term

SCHEMA = 1
FILE = "result.json"

LARGEST = 1 << 28
"""Bytes that no result has."""

FEW_DOCUMENTS = 10
"""Of fewer documents a label's terms do not say much."""

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Result:
    """The top terms of every label, what they rest on, and what it took."""

    explanations: Mapping[str, Explanation]
    finished: bool
    settled: bool
    interval_level: float
    settings: Mapping[str, Any]
    cost: Cost
    documents: Mapping[str, Any]
    model: Mapping[str, str]
    perturbator: Mapping[str, str]
    versions: Mapping[str, str]

    def __getitem__(self, label: str) -> Explanation:
        if label not in self.explanations:
            raise UnknownNameError("label", label, self.explanations)
        return self.explanations[label]

    def to_dict(self) -> dict[str, Any]:
        """Plain values in the shape of ``result.json``."""
        return {
            "schema": SCHEMA,
            "labels": {label: explanation_to_dict(e) for label, e in self.explanations.items()},
            "finished": self.finished,
            "settled": self.settled,
            "interval_level": self.interval_level,
            "settings": dict(self.settings),
            "seed": self.settings["seed"],
            "cost": asdict(self.cost),
            "documents": dict(self.documents),
            "model": dict(self.model),
            "perturbator": dict(self.perturbator),
            "versions": dict(self.versions),
        }

    def to_json(self) -> str:
        """The text of ``result.json``."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"

    def save(self, folder: Path) -> Path:
        """Write ``result.json`` whole or not at all."""
        path = folder / FILE
        try:
            write_whole(path, self.to_json(), is_ours=is_result)
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written ({error.strerror}); make room, then go on with --resume."
            ) from error
        return path

    @classmethod
    def load(cls, folder: Path) -> Result:
        """The result in a run folder."""
        path = folder / FILE
        try:
            values = json.loads(read_regular(path, at_most=LARGEST).decode("utf-8"), parse_constant=_refuse_constant)
            if values["schema"] != SCHEMA:
                raise RunFolderError(f"{path} has schema {values['schema']}, this version reads {SCHEMA}.")
            return cls(
                explanations={
                    label: explanation_from_dict(label, e) for label, e in _typed(values["labels"], dict).items()
                },
                finished=_typed(values["finished"], bool),
                settled=_typed(values["settled"], bool),
                interval_level=_number(values["interval_level"]),
                settings={**values["settings"], "seed": _typed(values["settings"]["seed"], int)},
                cost=_cost(values["cost"]),
                documents={
                    **values["documents"],
                    "usable": _typed(values["documents"]["usable"], int),
                    "skipped": {reason: _typed(n, int) for reason, n in values["documents"]["skipped"].items()},
                },
                **{part: _names(values[part]) for part in ("model", "perturbator", "versions")},
            )
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise RunFolderError(
                f"{path} cannot be read ({type(error).__name__}: {error}); go on with --resume to write it."
            ) from error

    def to_pandas(self) -> Any:
        """A table with a row a term."""
        from anchorscope.errors import MissingPackageError

        try:
            import pandas
        except ImportError as error:
            raise MissingPackageError("pandas", "pandas", "Result.to_pandas()") from error
        return pandas.DataFrame(rows(self.explanations))

    def plot(self) -> Any:
        """A matplotlib figure: ranked bars with their intervals; ``.savefig("words.svg")`` for a paper."""
        return registry.resolve("drawing", "figure")(self.explanations, level=self.interval_level)

    def _repr_html_(self) -> str:
        drawn: str = registry.resolve("drawing", "html")(self.explanations, level=self.interval_level)
        return drawn


def explanation(
    name: str,
    label: int,
    terms: Sequence[str],
    tally: Tally,
    scores: NDArray[np.float64],
    standing: Standing,
    *,
    k: int,
    n_documents: int,
    n_robust: int,
    examples: Callable[[int, int], tuple[str, ...]] = lambda label, term: (),
) -> Explanation:
    """The top terms of one label, and where its list stands."""
    return Explanation(
        label=name,
        documents=n_documents,
        robust=n_robust,
        settled=bool(standing.settled[label]),
        regret=None if standing.regret is None else float(standing.regret[label]),
        terms=tuple(
            Term(
                term=terms[term],
                score=float(scores[label, term]),
                interval=(float(standing.low[label, term]), float(standing.high[label, term])),
                membership=None if standing.membership is None else float(standing.membership[label, term]),
                anchors=int(tally.anchors[label, term]),
                non_anchors=int(tally.non_anchors[label, term]),
                skipped=int(tally.skipped[label, term]),
                occurrences=int(tally.occurrences[label, term]),
                examples=examples(label, term),
            )
            for term in ranking(scores[label], tally.occurrences[label], k).tolist()
        ),
        note=_note(name, n_documents),
    )


def _note(label: str, n_documents: int) -> str | None:
    if n_documents == 0:
        return f"No document is predicted {label!r}: there is nothing to explain."
    if n_documents < FEW_DOCUMENTS:
        return f"Only {n_documents} documents are predicted {label!r}: too few to say much."
    return None


def rows(explanations: Mapping[str, Explanation]) -> list[dict[str, Any]]:
    """A flat row a term, for tables and CSV."""
    return [
        {
            "label": label,
            "rank": rank,
            "term": term.term,
            "score": term.score,
            "low": term.interval[0],
            "high": term.interval[1],
            "membership": term.membership,
            "anchors": term.anchors,
            "non_anchors": term.non_anchors,
            "skipped": term.skipped,
            "occurrences": term.occurrences,
            "tested": term.tested,
        }
        for label, explanation in explanations.items()
        for rank, term in enumerate(explanation.terms, start=1)
    ]


def snapshot_to_dict(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot as plain values: a line of ``--stream``."""
    return {
        "round": snapshot.round,
        "finished": snapshot.finished,
        "settled": snapshot.settled,
        "tests_planned": snapshot.tests_planned,
        "interval_level": snapshot.interval_level,
        "labels": {label: explanation_to_dict(e) for label, e in snapshot.explanations.items()},
        "cost": asdict(snapshot.cost),
    }


def explanation_to_dict(explanation: Explanation) -> dict[str, Any]:
    """An explanation as plain values."""
    return {
        "documents": explanation.documents,
        "robust": explanation.robust,
        "settled": explanation.settled,
        "regret": explanation.regret,
        "note": explanation.note,
        "terms": [
            {
                **asdict(term),
                "interval": [_finite(x) for x in term.interval],
                "examples": list(term.examples),
                "tested": term.tested,
            }
            for term in explanation.terms
        ],
    }


def explanation_from_dict(label: str, values: Mapping[str, Any]) -> Explanation:
    """The explanation that ``explanation_to_dict`` wrote."""
    return Explanation(
        label=label,
        documents=_typed(values["documents"], int),
        robust=_typed(values["robust"], int),
        settled=_typed(values["settled"], bool),
        regret=None if values["regret"] is None else _number(values["regret"]),
        terms=tuple(_term(term) for term in _typed(values["terms"], list)),
        note=None if values["note"] is None else _typed(values["note"], str),
    )


def _term(values: Mapping[str, Any]) -> Term:
    low, high = (side if end is None else _number(end) for end, side in zip(values["interval"], (-inf, inf)))
    return Term(
        term=_typed(values["term"], str),
        score=_number(values["score"]),
        interval=(low, high),
        membership=None if values["membership"] is None else _number(values["membership"]),
        examples=tuple(_typed(key, str) for key in values["examples"]),
        **{name: _typed(values[name], int) for name in ("anchors", "non_anchors", "skipped", "occurrences")},
    )


def _cost(values: Mapping[str, Any]) -> Cost:
    counts = {name: _typed(values[name], int) for name in Cost.__slots__ if name != "seconds"}
    return Cost(seconds=_number(values["seconds"]), **counts)


def _names(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: _typed(value, str) for key, value in values.items()}


def _typed(value: Any, kind: type[Kind]) -> Kind:
    if type(value) is not kind:
        raise TypeError(f"expected a value of type {kind.__name__}, not {type(value).__name__}")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"expected a number, not a value of type {type(value).__name__}")
    return float(value)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def is_result(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a ``result.json``."""
    return head.startswith(b'{\n  "schema": ')


def json_schema() -> dict[str, Any]:
    """The JSON Schema of ``result.json``."""
    text = (files("anchorscope") / "result.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _finite(value: float) -> float | None:
    """JSON has no infinity: an end that is not known is null."""
    return value if isfinite(value) else None

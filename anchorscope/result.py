"""What a run found, as a value: read it, write it, make a table of it.

``result.json`` follows the schema in ``result.schema.json`` (version 2; version 1 is read, too); nothing in it but
the cost depends on batches, workers or crashes. ``finished`` says that the run had nothing left to do: no budget and
no interrupt ended it.

A file may come from elsewhere: what is no result is refused with one sentence, and nothing in it is believed to be of a
kind that was not looked at.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeVar

from anchorscope import registry
from anchorscope.errors import RunFolderError, StorageError, UnknownNameError, plural
from anchorscope.files import JOURNAL, OF_LABELS, no_run_folder, read_regular, refuse_irregular, write_whole
from anchorscope.types import Cost, Explanation, Snapshot, Term, taken_out

RESULT_SCHEMA = 2
READ_SCHEMAS = (1, 2)
RESULT = "result.json"

_BEGINNING = re.compile(OF_LABELS + rb'"documents": \d')

LARGEST = 1 << 26
"""Bytes that no result has: a hundred thousand terms take so many, and to read them as many as twenty times that."""

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
    price: float | None = None

    def __getitem__(self, label: str) -> Explanation:
        if label not in self.explanations:
            raise UnknownNameError("label", label, self.explanations)
        return taken_out(self.explanations, label, self.interval_level)

    def to_dict(self) -> dict[str, Any]:
        """Plain values in the shape of ``result.json``."""
        return {
            "schema": RESULT_SCHEMA,
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
            **({} if self.price is None else {"price": self.price}),
        }

    def to_json(self) -> str:
        """The text of ``result.json``."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"

    def save(self, folder: str | Path) -> Path:
        """Write ``result.json`` whole or not at all."""
        path = Path(folder) / RESULT
        text = self.to_json()
        if len(text) > LARGEST:
            raise StorageError(
                f"{path} would have {len(text):,} bytes, and no result may have more than {LARGEST:,}; ask for fewer "
                "terms with --top-k."
            )
        try:
            write_whole(path, text, is_ours=is_result)
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written ({error.strerror}); make room, then go on with --resume."
            ) from error
        return path

    @classmethod
    def load(cls, folder: str | Path) -> Result:
        """The result in a run folder."""
        folder = Path(folder)
        path = folder / RESULT
        try:
            values = _read_json(read_regular(path, at_most=LARGEST))
            schema = values["schema"]
            if schema not in READ_SCHEMAS:
                raise RunFolderError(f"{path} has schema {schema!r}, this version reads 1 and {RESULT_SCHEMA}.")
            return cls(
                explanations={
                    label: explanation_from_dict(label, e, schema)
                    for label, e in _typed(values["labels"], dict).items()
                },
                finished=_typed(values["finished"], bool),
                settled=_typed(values["settled"], bool),
                interval_level=_number(values["interval_level"]),
                settings=_settings(values["settings"]),
                cost=_cost(values["cost"]),
                documents={
                    **_known_documents(values["documents"]),
                    "usable": _typed(values["documents"]["usable"], int),
                    "skipped": {reason: _typed(n, int) for reason, n in values["documents"]["skipped"].items()},
                },
                price=_number(values["price"]) if "price" in values else None,
                **{part: _names(values[part]) for part in ("model", "perturbator", "versions")},
            )
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            if is_missing and not os.path.lexists(folder / JOURNAL):
                raise no_run_folder(folder) from error
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
        draw = registry.resolve("drawing", "html")
        drawn: str = draw(self.explanations, level=self.interval_level, documents=self.documents)
        return drawn


def not_tested(documents: Mapping[str, Any]) -> list[str]:
    """What of the documents is not tested: what the model does not read, and what filters of candidates leave out.

    >>> not_tested({"left_out": {"stop_words": {"terms": 3, "most": ["the", "he", "she"]}}})
    ['--stop-words left out 3 terms, which are not tested: the, he, she.']
    """
    told = [unseen_sentence(documents)]
    for setting, found in documents.get("left_out", {}).items():
        n = found["terms"]
        those = f"{plural(n, 'term')}, which {'is' if n == 1 else 'are'} not tested"
        named = ", ".join(found["most"]) + (" …" if n > len(found["most"]) else ".")
        told.append(f"--{setting.replace('_', '-')} left out {those}: {named}")
    return [sentence for sentence in told if sentence]


def unseen_sentence(documents: Mapping[str, Any]) -> str | None:
    """How much of the documents a model does not read, if it says so of any.

    >>> unseen_sentence({"usable": 5, "unseen": {"documents": 2, "words": 1}})
    'The model reads only a part of 2 documents: 1 word beyond that was never seen by it, nor tested.'
    """
    unseen = documents.get("unseen")
    if not unseen:
        return None
    return (
        f"The model reads only a part of {plural(unseen['documents'], 'document')}: "
        f"{plural(unseen['words'], 'word')} beyond that {'was' if unseen['words'] == 1 else 'were'} never seen by it, "
        "nor tested."
    )


def rows(explanations: Mapping[str, Explanation]) -> list[dict[str, Any]]:
    """A flat row a term, for tables and CSV."""
    return [
        {
            "label": label,
            "rank": rank,
            "term": term.term,
            "written": term.written,
            "score": term.score,
            "low": term.interval[0],
            "high": term.interval[1],
            "membership": term.membership,
            "driver": term.driver,
            "tested": term.tested,
            "anchors": term.anchors,
            "skipped": term.skipped,
            "occurrences": term.occurrences,
            "side": side,
        }
        for label, explanation in explanations.items()
        for side, terms in (("for", explanation.terms), ("against", explanation.against))
        for rank, term in enumerate(terms, start=1)
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
        **{name: getattr(explanation, name) for name in ("documents", "asked", "robust", "robust_of")},
        **{name: getattr(explanation, name) for name in ("settled", "regret", "note")},
        "terms": [_term_to_dict(term) for term in explanation.terms],
        "against": [_term_to_dict(term) for term in explanation.against],
        **({"drawn": True} if explanation.drawn else {}),
        **({"spent": True} if explanation.spent else {}),
        **({"measured_again": explanation.measured_again} if explanation.measured_again else {}),
        **({"documents_range": list(explanation.documents_range)} if explanation.documents_range else {}),
    }


def _term_to_dict(term: Term) -> dict[str, Any]:
    return {**asdict(term), "interval": [_none_if_endless(x) for x in term.interval], "examples": list(term.examples)}


def explanation_from_dict(label: str, values: Mapping[str, Any], schema: int = RESULT_SCHEMA) -> Explanation:
    """The explanation that ``explanation_to_dict`` wrote, or the version before it."""
    if schema == 1:
        values = _from_schema_1(values)
    return Explanation(
        label=label,
        documents=_count(values["documents"]),
        asked=_count(values["asked"]),
        robust=None if values["robust"] is None else _count(values["robust"]),
        robust_of=_count(values["robust_of"]),
        settled=_typed(values["settled"], bool),
        regret=None if values["regret"] is None else _number(values["regret"]),
        terms=tuple(_term(term) for term in _typed(values["terms"], list)),
        against=tuple(_term(term) for term in _typed(values["against"], list)),
        note=None if values["note"] is None else _typed(values["note"], str),
        drawn=_typed(values.get("drawn", False), bool),
        spent=_typed(values.get("spent", False), bool),
        measured_again=_typed(values.get("measured_again", 0), int),
        documents_range=_range(values["documents_range"]) if "documents_range" in values else None,
    )


def _from_schema_1(values: Mapping[str, Any]) -> dict[str, Any]:
    """An explanation of schema 1 in the shape of schema 2: it knew of no drivers, so it calls none of its terms one."""
    known = ("term", "score", "interval", "membership", "anchors", "skipped", "occurrences", "examples", "tested")
    terms = [
        {**{name: term[name] for name in known}, "written": term["term"], "driver": False}
        for term in _typed(values["terms"], list)
    ]
    return {**values, "asked": values["documents"], "robust_of": values["documents"], "terms": terms, "against": []}


def _range(values: Any) -> tuple[int, int]:
    low, high = _typed(values, list)
    return _typed(low, int), _typed(high, int)


def _term(values: Mapping[str, Any]) -> Term:
    low, high = _typed(values["interval"], list)
    return Term(
        term=_typed(values["term"], str),
        written=_typed(values["written"], str),
        score=_number(values["score"]),
        interval=(-inf if low is None else _number(low), inf if high is None else _number(high)),
        membership=None if values["membership"] is None else _number(values["membership"]),
        driver=_typed(values["driver"], bool),
        anchors=None if values["anchors"] is None else _count(values["anchors"]),
        examples=tuple(_typed(key, str) for key in values["examples"]),
        **{name: _count(values[name]) for name in ("tested", "skipped", "occurrences")},
    )


def _cost(values: Mapping[str, Any]) -> Cost:
    told = {"predictor_tokens": 0, "kept_answers": 0, **values}  # results of before do not count them
    counts = {name: _count(told[name]) for name in Cost.__slots__ if name != "seconds"}
    return Cost(seconds=_number(values["seconds"]), **counts)


def _settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, of which those that say what the numbers mean are of their kind."""
    for name in ("seed", "top_k"):
        _typed(values[name], int)
    for name in ("score", "aggregation", "strategy"):
        _typed(values[name], str)
    for name in ("tau", "regret"):
        _number(values[name])
    return {**values}


def _known_documents(values: Mapping[str, Any]) -> dict[str, Any]:
    found = {**values}
    if "unseen" in values:
        found["unseen"] = {name: _typed(values["unseen"][name], int) for name in ("documents", "words")}
    if "left_out" in values:
        found["left_out"] = {setting: _left_out(told) for setting, told in _typed(values["left_out"], dict).items()}
    return found


def _left_out(told: Mapping[str, Any]) -> dict[str, Any]:
    return {"terms": _typed(told["terms"], int), "most": [_typed(term, str) for term in _typed(told["most"], list)]}


def _names(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: _typed(value, str) for key, value in values.items()}


def _typed(value: Any, kind: type[Kind]) -> Kind:
    if type(value) is not kind:
        raise TypeError(f"expected a value of type {kind.__name__}, not {type(value).__name__}")
    return value


def _count(value: Any) -> int:
    """A whole number from 0 on, which a page can tell from the next one."""
    if not 0 <= _typed(value, int) < LARGEST_COUNT:
        raise ValueError(f"{value} is no count")
    return int(value)


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"expected a number, not a value of type {type(value).__name__}")
    return float(value)


LONGEST_NUMBER = 20
"""Characters of a whole number, beyond which no run counts."""


LARGEST_COUNT = 1 << 53
"""What no run counts to: beyond it, whole numbers are no longer told apart in JSON and on a page."""


def _read_json(text: bytes) -> Any:
    """The values of a file, every number of them one that a run can have written, and no name twice."""
    return json.loads(
        text.decode("utf-8"),
        object_pairs_hook=_each_once,
        parse_constant=_finite_number,
        parse_float=_finite_number,
        parse_int=_whole,
    )


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name stands twice in one place")
    return values


def _finite_number(digits: str) -> float:
    if not isfinite(number := float(digits)):
        raise ValueError(f"a number is {number}")
    return number


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)


def is_finished(folder: Path) -> bool:
    """Whether the run in a folder has a result and nothing left to do."""
    if not refuse_irregular(folder / JOURNAL) or not refuse_irregular(folder / RESULT):
        return False
    try:
        return Result.load(folder).finished
    except RunFolderError:  # a run that goes on writes it again
        return False


def is_result(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a ``result.json``.

    >>> is_result(b'{\\n  "schema": 2,\\n  "labels": {\\n    "no": {\\n      "documents": 5,')
    True
    >>> is_result(b'{\\n  "schema": "http://example.org/mine",')
    False
    """
    return _BEGINNING.match(head) is not None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of ``result.json``."""
    text = (files("anchorscope") / "result.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _none_if_endless(value: float) -> float | None:
    """JSON has no infinity: an end that is not known is null."""
    return value if isfinite(value) else None
